/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: function tables, by which a runtime describes code without system
 * calls. <linux/sframe_unwind.h> includes this header.
 *
 * A runtime that compiles and frees functions all the time registers the range of its
 * code once, together with a table in its memory. Afterwards it publishes and removes
 * functions by writing to the table. Walks read the table when they get to the code.
 *
 * The table has four parts. All numbers are little-endian and aligned to their size.
 *
 *	offset
 *	0			struct sframe_unwind_table_header
 *	64			entries: max_functions struct sframe_unwind_table_entry
 *	64 + 16 * max_functions	map: one __u32 for each granule of the code
 *	behind the map		rows
 *
 * The map leads from an address to the function: a walk does not search, so a lookup
 * takes the same time with one function and with millions. A granule is 2^granule_bits
 * bytes of code; the first one begins at text_start. For each granule that a function
 * has bytes in, the map has the number of the function's entry plus 1. So at most one
 * function may have bytes in a granule: align functions to granules. 0 is for granules
 * that have never had a function. Pages of the map whose code does not exist yet need
 * not be touched.
 *
 * The rows of a function are those of an SFrame V3 section: the attribute of an FDE (5
 * bytes), followed by its FREs. Functions may share rows.
 *
 * To publish a function, the runtime
 *
 *  1. writes the rows, unless they exist already; then rows and start of an entry that
 *     is unused or removed; then the entry's number plus 1 to the map,
 *  2. stores the function's size to the entry, with release semantics,
 *  3. if the entry is new: stores its number plus 1 to header.used, with release
 *     semantics,
 *  4. and lets threads run the code.
 *
 * To remove a function that no thread is in, or will return to, the runtime
 *
 *  1. stores 0 to the size of its entry,
 *  2. adds 1 to header.removed, with release semantics; many functions can be removed
 *     before one addition,
 *  3. and may then reuse the code, the entry, and rows that no other entry uses. Map
 *     elements of removed functions may stay as they are.
 *
 * In every other respect an entry, its rows and its part of the map must not change
 * while its size is not 0. Changes are made by one thread at a time. Publish a changed
 * function by removing it first.
 *
 * The walk of a thread begins by reading header.removed, with acquire semantics, in the
 * thread itself. Then it reads, each value once and in this order: header.used (acquire),
 * the map, the size of the entry (acquire), the entry, the rows. Rules from the table are
 * cached for walks that read the same value of header.removed. A removal invalidates
 * cached rules of function tables, those of all tables of the address space, but of
 * nothing else. That the table has no function for an address is never cached. So a walk
 * never uses a rule of a removed function for a function published in its place: the
 * thread cannot have got to the new code before the walk could read the new header.removed.
 *
 * Each value is checked when it is used. A function that is not completely in the code,
 * an entry number above used or max_functions, or malformed rows are as no function: the
 * stack ends with SFRAME_UNWIND_STOP_NO_RULE. The table stays registered, as a value may
 * have been read while it was being changed.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_TABLE_H
#define _UAPI_LINUX_SFRAME_UNWIND_TABLE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Largest value of struct sframe_unwind_register_table.granule_bits. */
#define SFRAME_UNWIND_TABLE_GRANULE_BITS	16

/* Tables that one address space may have. */
#define SFRAME_UNWIND_MAX_TABLES		16

/**
 * struct sframe_unwind_table_header - the start of a function table
 *
 * @used: number of entries that have been used: all entries of published functions
 *	are below it. It may only increase. If it is above max_functions, it means that.
 * @reserved: 0; not read.
 * @removed: counts removals. It may only increase.
 * @reserved2: 0; not read.
 */
struct sframe_unwind_table_header {
	__u32 used;
	__u32 reserved;
	__u64 removed;
	__u64 reserved2[6];
};

/**
 * struct sframe_unwind_table_entry - a function
 *
 * @start: offset from text_start of its first byte.
 * @size: in bytes; 0 if the function is not published or removed.
 * @rows: offset from table_start of its rows.
 * @unused: of the runtime; not read.
 */
struct sframe_unwind_table_entry {
	__u32 start;
	__u32 size;
	__u32 rows;
	__u32 unused;
};

/**
 * struct sframe_unwind_register_table - describe code by a function table
 *
 * @size: in: sizeof(struct sframe_unwind_register_table).
 * @flags: in: must be 0.
 * @table_start: in: address of the table, a multiple of 8.
 * @table_size: in: its size in bytes, including the rows; at most max_sframe_size.
 * @text_start: in: first address of the code.
 * @text_size: in: size of the code in bytes, at most 4 GiB.
 * @id: out: identifies the registration in SFRAME_UNWIND_IOC_UNREGISTER; unique in
 *	the system, never 0.
 * @max_functions: in: entries of the table, at least 1.
 * @granule_bits: in: log2 of the bytes of a granule, 0 to
 *	SFRAME_UNWIND_TABLE_GRANULE_BITS.
 * @message: in: address of a buffer for an error message, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_register_table {
	__u32 size;
	__u32 flags;
	__u64 table_start;
	__u64 table_size;
	__u64 text_start;
	__u64 text_size;
	__u64 id;
	__u32 max_functions;
	__u32 granule_bits;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_REGISTER_TABLE: use a function table of the caller's address space
 * for all walks through [text_start, text_start + text_size) from now on. The table may
 * have functions already. Nothing of it is copied.
 *
 * The registration is one of SFRAME_UNWIND_IOC_REGISTER, and ends as one: the same
 * holds for threads, fork, vfork, exec, exit, munmap and the marker page, and
 * SFRAME_UNWIND_IOC_UNREGISTER takes its id, or table_start. With these differences:
 *
 * - The code must be mapped as a whole, contiguously from one file or from anonymous
 *   memory, but need not be executable yet: PROT_NONE suffices where the runtime has
 *   reserved addresses only. Where a walk finds another mapping, or none, in the range,
 *   the registration ends, for all of its code.
 * - After fork, the child has the parent's table if that is in shared memory. Then the
 *   code should be, too. A table in private memory is the child's own.
 * - A walk reads header.removed of each table when it begins. If that cannot be read,
 *   as the table is not mapped or not readable any more, its registration ends.
 *
 * EINVAL	size, flags or reserved; granule_bits, max_functions or text_size too
 *		large, or 0; a table that is misaligned, too large, or too small for
 *		header, entries and map; a range that is empty, wraps around or leaves
 *		user space; a table or a code that is not mapped contiguously from one
 *		file or from anonymous memory, or is in more than 256 mappings.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written; the table or the code is not
 *		mapped, or the header cannot be read.
 * EACCES	the table is mapped without read permission.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 * EEXIST	the code overlaps a registered range whose mappings have not changed.
 * ENOSPC	the address space has max_sections sections or SFRAME_UNWIND_MAX_TABLES
 *		tables already.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 */
#define SFRAME_UNWIND_IOC_REGISTER_TABLE	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x12)

#endif /* _UAPI_LINUX_SFRAME_UNWIND_TABLE_H */
