/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Function tables: a runtime publishes and removes functions without system calls, as
 * <linux/sframe_unwind_table.h> describes. For runtimes that compile thousands of
 * functions a second. Include <sframe_unwind.h>.
 *
 * Only one thread at a time may use a table; tables are independent of each other. Walks
 * of all threads may read the table at any time. Nothing here is async-signal-safe. A
 * child of fork() inherits the tables of its parent as copies with registrations of
 * their own, and may use those that no thread was using at the fork.
 */
#ifndef SFRAME_UNWIND_TABLE_H
#define SFRAME_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sframe_unwind;
struct sframe_unwind_function;

/* A registered function table. */
struct sframe_unwind_table;

/**
 * sframe_unwind_table_create() - make and register a table for a range of code
 * @table: set to the table, or to NULL on failure.
 * @handle: a handle. It must stay open as long as the table is used.
 * @text_start: the code, which is mapped but need not be executable yet.
 * @text_size: its size in bytes, at most 4 GiB.
 * @granule_bits: log2 of the alignment of functions: no two functions may have bytes in
 *	the same 2^@granule_bits bytes, counted from @text_start. 4 to 6 is usual. The
 *	table has 4 bytes for each granule.
 * @max_functions: functions that may exist at a time; each has 16 bytes in the table.
 * @rows_size: bytes for the rows of functions; 0 for 1 MiB. Functions with equal rows
 *	share them. Rows are kept when functions are removed.
 *
 * Memory of the table is used as it is written to. Any thread.
 *
 * Return: 0, or -EINVAL, -EFAULT, -EEXIST, -ENOSPC, -ENOMEM, -EINTR, -EOPNOTSUPP as
 * SFRAME_UNWIND_IOC_REGISTER_TABLE; -ENOTTY if the module has no function tables.
 * sframe_unwind_error() has details.
 */
int sframe_unwind_table_create(struct sframe_unwind_table **table,
			       struct sframe_unwind *handle,
			       const void *text_start, size_t text_size,
			       unsigned int granule_bits, uint32_t max_functions,
			       size_t rows_size);

/**
 * sframe_unwind_table_free() - unregister and free a table
 * @table: the table, or NULL.
 *
 * No thread may be in a function of the table any more. If it cannot be unregistered,
 * its memory stays mapped, without functions.
 */
void sframe_unwind_table_free(struct sframe_unwind_table *table);

/**
 * sframe_unwind_table_add() - publish a function
 * @table: the table.
 * @function: the function, completely in the table's code. Nothing of it is kept.
 *
 * Call it when the code is complete, before a thread can run it. The store that lets
 * threads run it must have release semantics, as usual. Makes no system call, but may
 * allocate memory for rows that no function has had before.
 *
 * Return: 0, or, with sframe_unwind_table_error(),
 * -EINVAL	not a function as described in sframe_unwind_writer.h; not in the
 *		table's code; a pointer is NULL.
 * -EEXIST	a granule of the function has bytes of another one.
 * -EFBIG	the function has more than 65535 rows.
 * -ENOSPC	there are max_functions functions, or no room for more rows.
 * -ENOMEM	no memory.
 */
int sframe_unwind_table_add(struct sframe_unwind_table *table,
			    const struct sframe_unwind_function *function);

/**
 * sframe_unwind_table_remove() - remove a function
 * @table: the table.
 * @start: address of its first byte.
 *
 * Call it when no thread is in the function or can get there, neither by a return, and
 * before its memory is overwritten or freed. Makes no system call.
 *
 * Return: 0, -ENOENT if no function starts there, or -EINVAL if @table is NULL.
 */
int sframe_unwind_table_remove(struct sframe_unwind_table *table,
			       const void *start);

/**
 * sframe_unwind_table_id() - id of the registration, as in lists
 * @table: the table; with NULL, the id is 0.
 *
 * Any thread.
 */
uint64_t sframe_unwind_table_id(const struct sframe_unwind_table *table);

/**
 * sframe_unwind_table_error() - message of the last sframe_unwind_table_add()
 * @table: the table.
 *
 * Return: a sentence, empty after success; valid until the next call with the table.
 */
const char *
sframe_unwind_table_error(const struct sframe_unwind_table *table);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_TABLE_H */
