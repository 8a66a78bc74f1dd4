/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: user stacks by SFrame on an unmodified kernel.
 *
 * This header is the reference of the ABI. A process opens /dev/sframe_unwind
 * and gets a client. Through it the process registers the .sframe sections of
 * its own address space and requests stacks of its own threads. A requested
 * stack is unwound when its thread next returns to user space and arrives as
 * a record in the client, to be taken with read(2).
 *
 * Conventions
 *
 * - Every ioctl takes a pointer to a structure whose first member, size, is
 *   sizeof() of the structure that the caller was compiled with. A structure
 *   shorter than the first published one gets EINVAL. A longer one than the
 *   kernel knows is accepted if all bytes it does not know are zero, else
 *   E2BIG; one of more than 4096 bytes gets E2BIG in any case. Of output
 *   members only those inside the caller's size are written.
 * - Unknown flags and reserved members that are not zero get EINVAL.
 * - Addresses and pointers travel as __u64. The layout is the same for 32-bit
 *   and 64-bit callers; 32-bit and x32 callers get EOPNOTSUPP where noted.
 * - message and message_size name an optional buffer for a NUL-terminated
 *   English sentence saying what was wrong and where. It is written only when
 *   the ioctl fails, cut to message_size bytes. 0/0 asks for no message; a
 *   buffer that cannot be written is ignored, the errno stays the same. The
 *   same sentence goes to the kernel's dynamic debug.
 * - An unknown ioctl gets ENOTTY, an unreadable structure EFAULT.
 * - Memory that a call makes the kernel keep counts against RLIMIT_MEMLOCK, with
 *   what the same user has locked otherwise: registrations, attached sections,
 *   clients with their rings, and requests. Who would exceed it gets ENOMEM, but
 *   not with CAP_IPC_LOCK. What a registration or an attachment takes belongs to
 *   the caller, what a client takes to who has opened it.
 *
 * Contents, in this order; each structure stands before its call:
 *
 *	QUERY				what the module supports
 *	REGISTER, UNREGISTER		sections of the caller's address space
 *	REGISTER_BATCH, UNREGISTER_BATCH
 *	REQUEST				a stack
 *	STATS
 *	LIST				what is registered and found
 *	EVENTS				be told of sections that are removed
 *	ATTACH, DETACH, LIST_ATTACHED	sections for files
 *	records				what read(2) returns: stacks, removals
 *
 * ABI policy: numbers and layouts below never change meaning; structures grow
 * at their end; SFRAME_UNWIND_IOC_QUERY tells what the module supports.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_H
#define _UAPI_LINUX_SFRAME_UNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SFRAME_UNWIND_DEVICE	"/dev/sframe_unwind"

/* What struct sframe_unwind_query.abi_version says today. */
#define SFRAME_UNWIND_ABI_VERSION	1

#define SFRAME_UNWIND_IOC_MAGIC		0xDE

/* Bits of struct sframe_unwind_query.features. */
#define SFRAME_UNWIND_FEATURE_FLEX		0x01ULL /* flexible FDEs */
#define SFRAME_UNWIND_FEATURE_FP_FALLBACK	0x02ULL
#define SFRAME_UNWIND_FEATURE_OTHER_THREAD	0x04ULL
#define SFRAME_UNWIND_FEATURE_SIGNAL_FRAME	0x08ULL
#define SFRAME_UNWIND_FEATURE_VALIDATE		0x10ULL
#define SFRAME_UNWIND_FEATURE_LIST		0x20ULL
#define SFRAME_UNWIND_FEATURE_EVENTS		0x40ULL
#define SFRAME_UNWIND_FEATURE_DISCOVERY		0x80ULL /* sections of files */
#define SFRAME_UNWIND_FEATURE_ATTACH		0x100ULL
#define SFRAME_UNWIND_FEATURE_OTHER_PROCESS	0x200ULL
#define SFRAME_UNWIND_FEATURE_BATCH		0x400ULL
#define SFRAME_UNWIND_FEATURE_ATTACH_INODE	0x800ULL /* and REPLACE, SHARE */

/**
 * struct sframe_unwind_query - what this module is and can do
 *
 * @size: in: sizeof(struct sframe_unwind_query).
 * @abi_version: out: SFRAME_UNWIND_ABI_VERSION of the module.
 * @features: out: SFRAME_UNWIND_FEATURE_* bits.
 * @sframe_version: out: the SFrame version that can be registered (3).
 * @max_depth: out: largest @max_depth of a request, in frames.
 * @max_sections: out: sections that one address space may have.
 * @max_pending: out: requests that one client may have outstanding.
 * @max_sframe_size: out: largest @sframe_size, in bytes.
 * @ring_size: out: bytes of undelivered records that a client can hold.
 * @max_record_size: out: bytes of the largest record; a read(2) with a buffer
 *	of this size never fails for want of space.
 * @max_attached: out: sections that one client may have attached.
 * @reserved: out: 0.
 * @max_attached_memory: out: bytes of kernel memory that they may take; what is
 *	attached for one address space only, 64 MiB.
 */
struct sframe_unwind_query {
	__u32 size;
	__u32 abi_version;
	__u64 features;
	__u32 sframe_version;
	__u32 max_depth;
	__u32 max_sections;
	__u32 max_pending;
	__u64 max_sframe_size;
	__u32 ring_size;
	__u32 max_record_size;
	__u32 max_attached;
	__u32 reserved;
	__u64 max_attached_memory;
};

/*
 * SFRAME_UNWIND_IOC_QUERY: version, features and limits. Works for 32-bit
 * callers too.
 *
 * EINVAL	size is too small.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 */
#define SFRAME_UNWIND_IOC_QUERY		_IO(SFRAME_UNWIND_IOC_MAGIC, 0x00)

/*
 * Flag of struct sframe_unwind_register: examine the whole section first and
 * refuse it at its first defect. Takes time in proportion to the section.
 */
#define SFRAME_UNWIND_REGISTER_VALIDATE	0x01U

/**
 * struct sframe_unwind_register - describe one range of the caller's code
 *
 * @size: in: sizeof(struct sframe_unwind_register).
 * @flags: in: SFRAME_UNWIND_REGISTER_* bits.
 * @sframe_start: in: address of the section's first byte.
 * @sframe_size: in: its size in bytes. The table's own header decides where
 *	it ends; bytes after it are ignored, so a segment size that is too
 *	large, as linkers emit, is fine.
 * @text_start: in: first address of the code that the section describes.
 * @text_size: in: size of that code in bytes.
 * @id: out: identifies this registration in SFRAME_UNWIND_IOC_UNREGISTER;
 *	unique in the system, never 0.
 * @defect_offset: out, on EINVAL and EOPNOTSUPP for the section's contents:
 *	byte of the section at which they are wrong.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_register {
	__u32 size;
	__u32 flags;
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 id;
	__u64 defect_offset;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_REGISTER: use a section of the caller's address space for
 * all walks through [text_start, text_start + text_size) from now on.
 *
 * Only the header is copied; the tables stay in the caller's memory and are
 * read when a walk needs them. The registration belongs to the address space,
 * not to the client: closing the file leaves it in force. Threads share it, a
 * child made by fork() starts with all of its parent's and both then change
 * their own, vfork() shares until exec, exec and exit end it. The same section
 * may be registered again for another range of code.
 *
 * The address space gets one page of address range without access, named
 * "[sframe_unwind]" in /proc/PID/maps, whose life is the life of its
 * registrations: unmapping that page ends them all, MADV_DONTFORK on it keeps
 * a child from inheriting them.
 *
 * A registration ends by itself when what it describes is no longer mapped as
 * it was: each walk that is about to use it looks at the mappings of the code
 * and of the section first.
 *
 * - Code and sections mapped from files: munmap, mremap, and mapping something
 *   else in their place end it, another file as well as another part of the
 *   same one. Truncating the section's file ends it when a walk next needs a
 *   page that is gone.
 * - Code and sections in anonymous memory (JIT): that memory was unmapped is
 *   noticed as long as nothing anonymous has been mapped there again. One piece
 *   of anonymous memory looks like another, so the program must unregister
 *   before it frees or reuses the code or the section. Register after both are
 *   in place; to change a section publish a new one and register that, do not
 *   edit one that is in use.
 * - mprotect() of the code changes nothing, so that it may be made writable
 *   and executable by turns. A section that is not readable when a walk needs
 *   it is gone.
 * - A section that comes to lie in more than 256 mappings, as by mprotect() of
 *   its pages, ends, too.
 * - Where a child lacks the code or the section (MADV_DONTFORK), its
 *   registration ends at its first use there; the parent's does not.
 * - Section bytes that have been swapped out or dropped from the page cache are
 *   read in again. In memory registered with userfaultfd the walk waits for
 *   the program's handler, as any access of the thread does; a fatal signal
 *   ends the wait.
 *
 * Rules that walks have found are remembered for as long as the registration
 * lasts: sections are not read again for them.
 *
 * A section with malformed data, met in a walk, is removed from the address
 * space that the walk was in, and no other. So is one that can never be read
 * again; one that cannot be read just now, for want of memory, stays.
 *
 * EINVAL	size, flags or reserved; a range that is empty, wraps around or
 *		leaves user space; sframe_size too large; a section that is not
 *		well-formed or not sorted or whose function starts are not
 *		relative to their field; a section or a text that is mapped from
 *		more than one place (several anonymous mappings are one), or both
 *		in more than 256 mappings together.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written; the section or the
 *		text is not mapped, or the section's bytes cannot be read.
 * EACCES	the section is mapped without read permission, or the text
 *		without execute permission.
 * EOPNOTSUPP	a well-formed section of another version (1, 2 or above 3) or
 *		for another machine; a 32-bit or x32 caller.
 * EEXIST	the text range overlaps a registered one whose code is mapped
 *		as it was.
 * ENOSPC	the address space has max_sections already.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 */
#define SFRAME_UNWIND_IOC_REGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x01)

/**
 * struct sframe_unwind_unregister - end the use of a section
 *
 * @size: in: sizeof(struct sframe_unwind_unregister).
 * @flags: in: must be 0.
 * @id: in: what registration returned, or 0.
 * @sframe_start: in: with @id 0, the address that was registered; all ranges
 *	of code registered with it go. Must be 0 with another @id.
 * @removed: out: number of registrations that ended.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for what was wrong, or 0.
 */
struct sframe_unwind_unregister {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 sframe_start;
	__u32 removed;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_UNREGISTER: no walk that starts after the return uses the
 * section; one that another thread is in at this moment may use it to its end.
 *
 * EINVAL	size or flags; both or neither of id and sframe_start given.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	no such registration in the caller's address space.
 * ENOMEM	no memory; of several, some may have ended.
 * EINTR	a fatal signal arrived; of several, some may have ended.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_UNREGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x02)

/**
 * struct sframe_unwind_batch_entry - one registration of several
 *
 * @sframe_start: in: as in struct sframe_unwind_register; for
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH as in struct
 *	sframe_unwind_unregister.
 * @sframe_size: in: as in struct sframe_unwind_register.
 * @text_start: in: likewise.
 * @text_size: in: likewise.
 * @id: out: identifies the registration, 0 if there is none; in: for
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH, as in struct
 *	sframe_unwind_unregister.
 * @defect_offset: out: as in struct sframe_unwind_register.
 * @error: out: 0, or the errno that the ioctl for one would have failed with.
 * @removed: out: by SFRAME_UNWIND_IOC_UNREGISTER_BATCH, registrations that
 *	ended.
 */
struct sframe_unwind_batch_entry {
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 id;
	__u64 defect_offset;
	__u32 error;
	__u32 removed;
};

/**
 * struct sframe_unwind_batch - many registrations by one ioctl
 *
 * @size: in: sizeof(struct sframe_unwind_batch).
 * @flags: in: SFRAME_UNWIND_REGISTER_* bits, for all; for
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH 0.
 * @entries: in: address of an array of struct sframe_unwind_batch_entry.
 * @nr: in: entries in that array. out: entries that have been dealt with, the
 *	first ones.
 * @nr_failed: out: of these, with an @error.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_batch {
	__u32 size;
	__u32 flags;
	__u64 entries;
	__u32 nr;
	__u32 nr_failed;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_REGISTER_BATCH, SFRAME_UNWIND_IOC_UNREGISTER_BATCH: as the
 * ioctls for one, entry after entry. One that fails does not stop the others,
 * and its error is the entry's, not the ioctl's: that succeeds if all entries
 * have been dealt with.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure or the array cannot be accessed; entries counted by
 *		nr have been dealt with, and some of the eight behind them may
 *		have been.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_REGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0a)
#define SFRAME_UNWIND_IOC_UNREGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0b)

/*
 * Flag of struct sframe_unwind_request: where no section covers an address,
 * assume a frame pointer. Such frames are marked SFRAME_UNWIND_FRAME_FP; in
 * code without frame pointers they are a guess.
 */
#define SFRAME_UNWIND_REQUEST_FP_FALLBACK	0x01U

/*
 * Flag of struct sframe_unwind_request: if the thread sleeps in a system call,
 * wake it so that its stack is taken now. No signal is delivered. These are
 * restarted without the program noticing: nanosleep, clock_nanosleep, read
 * of a pipe or eventfd, futex, poll, ppoll, select, recv, msgrcv, waitpid.
 * These return EINTR to the program, as they do after SIGSTOP/SIGCONT:
 * epoll_wait, epoll_pwait, semtimedop, sigtimedwait, and recv on a socket with
 * SO_RCVTIMEO. Uninterruptible sleep, a stopped thread and the parent of a
 * vfork() child are not woken. No effect on a request for the caller itself.
 * For a thread of another process the caller also needs CAP_SYS_PTRACE or
 * CAP_SYS_ADMIN in the initial user namespace, as to trace it.
 */
#define SFRAME_UNWIND_REQUEST_INTERRUPT		0x02U

/**
 * struct sframe_unwind_request - ask for the stack of a thread
 *
 * @size: in: sizeof(struct sframe_unwind_request).
 * @flags: in: SFRAME_UNWIND_REQUEST_* bits.
 * @tid: in: thread of the caller's own process, or, with CAP_PERFMON or
 *	CAP_SYS_ADMIN, of any, as the caller numbers it; 0 is the calling
 *	thread.
 * @max_depth: in: largest number of frames wanted, at most the module's
 *	max_depth; 0 means 128.
 * @user_data: in: returned in the record.
 * @cookie: out: identifies the walk; the same value is in the record. All
 *	requests made until the thread returns to user space share one walk and
 *	its cookie. Unique in the system, never 0.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_request {
	__u32 size;
	__u32 flags;
	__s32 tid;
	__u32 max_depth;
	__u64 user_data;
	__u64 cookie;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_REQUEST: have a stack unwound when the thread next returns
 * to user space. For the calling thread that is the return from this ioctl:
 * the first frame is the instruction after its system call, and the record can
 * be read when the ioctl has returned. Another thread's stack is taken when it
 * leaves the kernel next: within microseconds if it runs, when its system call
 * ends if it sleeps (see SFRAME_UNWIND_REQUEST_INTERRUPT).
 *
 * Each accepted request ends as one SFRAME_UNWIND_RECORD_STACK record, or is
 * counted as lost (struct sframe_unwind_stats).
 *
 * EINVAL	size, flags, reserved, max_depth, or a negative tid.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ESRCH	no such thread in the caller's process, or, with privilege, at
 *		all, or it is exiting; with SFRAME_UNWIND_REQUEST_INTERRUPT
 *		also if a signal has ended it and it dumps core.
 * EPERM	SFRAME_UNWIND_REQUEST_INTERRUPT for another process without
 *		the capabilities named there.
 * EAGAIN	the client has max_pending requests outstanding; or there are
 *		4096 for the thread, of all clients; or requests for it come
 *		faster than its stack can be delivered.
 * ENOMEM	no memory.
 * EOPNOTSUPP	a 32-bit or x32 caller, or a thread that never runs in user
 *		space (an io_uring worker).
 */
#define SFRAME_UNWIND_IOC_REQUEST	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x03)

/**
 * struct sframe_unwind_stats - accounting of one client
 *
 * @size: in: sizeof(struct sframe_unwind_stats).
 * @pending: out: requests accepted and not yet delivered or lost.
 * @accepted: out: requests accepted; always @pending + @delivered + @lost_full.
 * @delivered: out: stack records put into the ring.
 * @lost_full: out: stacks dropped because the ring was full.
 * @lost_events: out: other records dropped because the ring was full.
 * @sections: out: sections registered in the caller's address space.
 * @reserved: out: 0.
 * @corrupt: out: sections removed from the caller's address space because
 *	they were found corrupt, or could never be read again. Forgotten with
 *	what was found, see Discovery, if the process has registered nothing.
 * @stale: out: sections removed from it because their code or bytes were no
 *	longer mapped as registered.
 */
struct sframe_unwind_stats {
	__u32 size;
	__u32 pending;
	__u64 accepted;
	__u64 delivered;
	__u64 lost_full;
	__u64 lost_events;
	__u32 sections;
	__u32 reserved;
	__u64 corrupt;
	__u64 stale;
};

/*
 * SFRAME_UNWIND_IOC_STATS: counters of the client and of the caller's address
 * space. Works for 32-bit callers too.
 *
 * EINVAL	size is too small.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 */
#define SFRAME_UNWIND_IOC_STATS		_IO(SFRAME_UNWIND_IOC_MAGIC, 0x04)

/**
 * enum sframe_unwind_section_state - what a registration is worth now
 *
 * @SFRAME_UNWIND_SECTION_ACTIVE: walks use it.
 * @SFRAME_UNWIND_SECTION_STALE: its code or its bytes are not mapped as they
 *	were registered; the next walk that meets it removes it.
 */
enum sframe_unwind_section_state {
	SFRAME_UNWIND_SECTION_ACTIVE	= 1,
	SFRAME_UNWIND_SECTION_STALE	= 2,
};

/**
 * enum sframe_unwind_section_source - where a section comes from
 *
 * @SFRAME_UNWIND_SECTION_REGISTERED: SFRAME_UNWIND_IOC_REGISTER.
 * @SFRAME_UNWIND_SECTION_FOUND: the file that the code is mapped from.
 * @SFRAME_UNWIND_SECTION_ATTACHED: SFRAME_UNWIND_IOC_ATTACH.
 */
enum sframe_unwind_section_source {
	SFRAME_UNWIND_SECTION_REGISTERED	= 1,
	SFRAME_UNWIND_SECTION_FOUND		= 2,
	SFRAME_UNWIND_SECTION_ATTACHED		= 3,
};

/**
 * struct sframe_unwind_section - one section in use
 *
 * @id: what registration returned; a section that was found has one, too.
 * @sframe_start: its address; 0 if it is not in user memory.
 * @sframe_size: bytes of the table, which may be less than registered.
 * @text_start: first address of its code.
 * @text_size: bytes of it.
 * @hits: rules looked up and found in it; not those that were remembered.
 *	Counted together with the copies that processes forked since have of
 *	it.
 * @num_fdes: functions in the section.
 * @state: enum sframe_unwind_section_state.
 * @source: enum sframe_unwind_section_source.
 * @reserved: 0.
 */
struct sframe_unwind_section {
	__u64 id;
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 hits;
	__u32 num_fdes;
	__u32 state;
	__u32 source;
	__u32 reserved;
};

/**
 * struct sframe_unwind_list - sections of the caller's address space
 *
 * @size: in: sizeof(struct sframe_unwind_list).
 * @flags: in: must be 0.
 * @from: in: list those whose text_start is at or above this address.
 * @sections: in: address of an array of struct sframe_unwind_section.
 * @nr: in: entries in that array. out: entries written.
 * @total: out: registrations of the address space.
 * @name: in: with @nr 1, address of a buffer for the name of the file that the
 *	first listed registration's code is mapped from, or 0. Gets a string,
 *	empty for code in anonymous memory, cut to @name_size bytes.
 * @name_size: in: size of that buffer in bytes, or 0.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for what was wrong, or 0.
 */
struct sframe_unwind_list {
	__u32 size;
	__u32 flags;
	__u64 from;
	__u64 sections;
	__u32 nr;
	__u32 total;
	__u64 name;
	__u32 name_size;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_LIST: the registrations of the caller's address space,
 * ascending by address. To see all, call again with from set behind the last
 * one until nr is 0.
 *
 * EINVAL	size or flags; name given with nr other than 1.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure, the array or the name cannot be accessed.
 * ENOMEM	no memory.
 * EINTR	a fatal signal arrived.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_LIST		_IO(SFRAME_UNWIND_IOC_MAGIC, 0x05)

/* Flag of struct sframe_unwind_events: SFRAME_UNWIND_RECORD_REMOVED records. */
#define SFRAME_UNWIND_EVENTS_REMOVED	0x01U

/**
 * struct sframe_unwind_events - which events of its process a client wants
 *
 * @size: in: sizeof(struct sframe_unwind_events).
 * @flags: in: SFRAME_UNWIND_EVENTS_* bits; 0 ends it.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_events {
	__u32 size;
	__u32 flags;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_EVENTS: have records of events in the caller's address
 * space put into this client, from now on until that address space ends. A
 * child made by fork() is another address space. A client gets the events of
 * one address space: the last one that it has been told to.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOSPC	64 clients get the events of the address space already; this one
 *		gets none from now on.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_EVENTS	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x06)

/*
 * Discovery
 *
 * Where a walk meets an address in a file's mapping that no registered section
 * covers, the module looks at the file, once in each address space: an ELF
 * file's PT_GNU_SFRAME segment is used as if it had been registered for the
 * executable segment that the address is in. What was found, and that nothing
 * was, is remembered as long as that code is mapped. The program need not do
 * anything, and walks leave nothing in it: unless it has the marker page of
 * SFRAME_UNWIND_IOC_REGISTER, what was found for it is forgotten after 10 seconds
 * without a walk, when no client is left that has requested anything, or when
 * memory is short, and found again by the next walk; a child made by fork()
 * begins anew. A registration takes precedence: what was found gives way to it.
 *
 * The section is read where the program has it mapped, or from the file if no
 * PT_LOAD maps it. The table's own header decides where it ends, whatever the
 * segment's size. The vDSO is treated as a file, too.
 *
 * A walk takes what it needs of a file from the page cache, and does not wait
 * for the rest: a thread of the kernel's reads that, and the stack, or, with
 * fallback, the part of it that is sure, ends with SFRAME_UNWIND_STOP_PENDING.
 * Files of FUSE, whose servers need not answer, are never read for walks: there
 * is nothing for their code until something else has brought the pages with
 * their ELF headers into the page cache. What cannot be read is not remembered,
 * and a file that has failed to be read is left alone for a second. Files on DAX
 * and of hugetlbfs have no section.
 */

/*
 * Flags of struct sframe_unwind_attach.
 *
 * SYSTEM	for all processes; needs CAP_SYS_ADMIN, or CAP_PERFMON and
 *		CAP_SYS_PTRACE, in the initial user namespace: the section's
 *		rules say which words of their memory are told as addresses.
 *		Else for the caller's address space only; not for children
 *		forked from it.
 * PREFER	rather than the file's own section, if it has one. Registered
 *		sections take precedence all the same.
 * INODE	for the file of elf_fd only, by its inode: anybody may give another
 *		file the same build ID and segments. It serves until that file is
 *		deleted, or its file system unmounted, neither of which it is in
 *		the way of. Of overlayfs the file is the one underneath.
 * REPLACE	with SYSTEM: also if something is attached for the same already,
 *		by whatever client. That is used again when this one is detached.
 *		Without SYSTEM the last one is used in any case.
 * SHARE	with INODE: no section of its own, but that of @share_id, for
 *		another file with the same build ID and segments. Each is detached
 *		by its own id, in any order; the section stays until the last is.
 *		What is the same in both files is for the caller to know.
 */
#define SFRAME_UNWIND_ATTACH_SYSTEM	0x01U
#define SFRAME_UNWIND_ATTACH_PREFER	0x02U
#define SFRAME_UNWIND_ATTACH_INODE	0x04U
#define SFRAME_UNWIND_ATTACH_REPLACE	0x08U
#define SFRAME_UNWIND_ATTACH_SHARE	0x10U

/* Bytes of the longest build ID. */
#define SFRAME_UNWIND_BUILD_ID_SIZE	32

/**
 * struct sframe_unwind_segment - an executable PT_LOAD of an ELF file
 *
 * @address: p_vaddr, in bytes.
 * @size: p_memsz, in bytes.
 * @offset: p_offset, in bytes.
 * @file_size: p_filesz, in bytes.
 */
struct sframe_unwind_segment {
	__u64 address;
	__u64 size;
	__u64 offset;
	__u64 file_size;
};

/**
 * struct sframe_unwind_attach - give a file SFrame data that it does not have
 *
 * @size: in: sizeof(struct sframe_unwind_attach).
 * @flags: in: SFRAME_UNWIND_ATTACH_* bits.
 * @elf_fd: in: the ELF file, open for reading. For the vDSO, a file with a copy
 *	of its image. Only its headers and build ID are looked at, now.
 * @sframe_fd: in: a file with an SFrame V3 section, open for reading; -1 with
 *	SHARE.
 * @sframe_offset: in: where in it the section starts, in bytes.
 * @sframe_size: in: its size in bytes. The section is made as if it lay at
 *	address 0 of the ELF file's own addresses: start of a function =
 *	offset in the section of the start's field + its value = the address
 *	that the ELF file gives it. With SHARE both must be 0.
 * @build_id: in: the ELF file's build ID, which it is compared with.
 * @build_id_size: in: bytes of it; 0 says that the file has none.
 * @reserved: must be 0.
 * @id: out: identifies it in SFRAME_UNWIND_IOC_DETACH; unique in the system,
 *	never 0.
 * @memory: out: bytes of kernel memory that it takes; with SHARE, that it takes
 *	in addition.
 * @defect_offset: out, on EINVAL and EOPNOTSUPP for the section's contents:
 *	byte of the section at which they are wrong.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved2: must be 0.
 * @segments: in: address of an array of struct sframe_unwind_segment: what the
 *	section was made for, which the ELF file is compared with. All
 *	executable segments of more than 0 bytes of memory, in the order of
 *	their program headers.
 * @nr_segments: in: entries in that array, 8 at most; 0, with @segments 0, and
 *	nothing is compared.
 * @reserved3: must be 0.
 * @share_id: in: with SHARE, what SFRAME_UNWIND_IOC_ATTACH of the same client
 *	returned; else 0.
 *
 * Of the members from @segments on, those that the caller's size leaves out are
 * as 0.
 */
struct sframe_unwind_attach {
	__u32 size;
	__u32 flags;
	__s32 elf_fd;
	__s32 sframe_fd;
	__u64 sframe_offset;
	__u64 sframe_size;
	__u8 build_id[SFRAME_UNWIND_BUILD_ID_SIZE];
	__u32 build_id_size;
	__u32 reserved;
	__u64 id;
	__u64 memory;
	__u64 defect_offset;
	__u64 message;
	__u32 message_size;
	__u32 reserved2;
	__u64 segments;
	__u32 nr_segments;
	__u32 reserved3;
	__u64 share_id;
};

/*
 * SFRAME_UNWIND_IOC_ATTACH: unwind code mapped from a file with a section from
 * elsewhere, until detached or the client is closed. Files that are mapped
 * already are included.
 *
 * The section is examined as a whole, copied, and belongs to the kernel from
 * then on. It is used for every file with the same build ID and the same
 * executable segments, as the headers of the file that is mapped say when a walk
 * meets it; with INODE, and without a build ID, for that file only. A file may
 * have 128 program headers, 8 executable segments and 64 notes; a build ID of
 * more than 32 bytes is as none. Where several are attached to a file, one for
 * the address space comes before one for all, of these one for the file alone
 * before one for all such files, and of these the last one.
 *
 * EINVAL	size, flags or reserved; build_id_size or nr_segments too large;
 *		not an ELF file, or a malformed one; a build ID that is not the
 *		file's; a section that is not well-formed, or has a function
 *		outside of the file's executable segments; SHARE without INODE,
 *		with a section, or with the section of a file that has another
 *		build ID or other segments; share_id without SHARE.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written, or the segments cannot
 *		be read.
 * EBADF	a file that is not open for reading.
 * EEXIST	SYSTEM without REPLACE: a section is attached for all processes
 *		already, to the same file if it is for that only, else to all with
 *		the same build ID and segments.
 * ESTALE	the ELF file's executable segments are not those in segments.
 * ENOENT	the client has not attached share_id.
 * EPERM	SYSTEM without its privilege.
 * EOPNOTSUPP	an ELF file or a section for another machine or of another
 *		version; a 32-bit or x32 caller.
 * ENOSPC	the client has max_attached sections, or their memory would
 *		exceed max_attached_memory.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EIO		a file could not be read to its end.
 * EINTR	a fatal signal arrived.
 */
#define SFRAME_UNWIND_IOC_ATTACH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x07)

/**
 * struct sframe_unwind_detach - end the use of an attached section
 *
 * @size: in: sizeof(struct sframe_unwind_detach).
 * @flags: in: must be 0.
 * @id: in: what SFRAME_UNWIND_IOC_ATTACH of the same client returned.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_detach {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_DETACH: no lookup that starts after the return uses the
 * section for what it was attached to, and its memory is freed, if it is not
 * shared.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	the client has not attached such a section.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_DETACH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x08)

/**
 * struct sframe_unwind_attached - one attached section
 *
 * @id: what SFRAME_UNWIND_IOC_ATTACH returned.
 * @sframe_size: bytes of the table.
 * @memory: bytes of kernel memory; of those that share a section, each with all
 *	of it.
 * @hits: rules looked up and found in it, by all processes, for all that share
 *	it; not those that were remembered.
 * @num_fdes: functions in it.
 * @flags: SFRAME_UNWIND_ATTACH_* bits it was attached with.
 * @build_id: of the file.
 * @build_id_size: bytes of it; 0 if the file has none.
 * @reserved: 0.
 */
struct sframe_unwind_attached {
	__u64 id;
	__u64 sframe_size;
	__u64 memory;
	__u64 hits;
	__u32 num_fdes;
	__u32 flags;
	__u8 build_id[SFRAME_UNWIND_BUILD_ID_SIZE];
	__u32 build_id_size;
	__u32 reserved;
};

/**
 * struct sframe_unwind_list_attached - what the client has attached
 *
 * @size: in: sizeof(struct sframe_unwind_list_attached).
 * @flags: in: must be 0.
 * @from: in: list those whose id is at or above this one.
 * @attached: in: address of an array of struct sframe_unwind_attached.
 * @nr: in: entries in that array. out: entries written.
 * @total: out: sections that the client has attached.
 * @memory: out: bytes of kernel memory that they take; what is shared, once.
 * @message: in: address of a buffer for what was wrong, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved: must be 0.
 */
struct sframe_unwind_list_attached {
	__u32 size;
	__u32 flags;
	__u64 from;
	__u64 attached;
	__u32 nr;
	__u32 total;
	__u64 memory;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_LIST_ATTACHED: what the client has attached, ascending by
 * id.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure or the array cannot be accessed.
 * EINTR	a fatal signal arrived.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_LIST_ATTACHED	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x09)

/*
 * Records
 *
 * read(2) returns as many whole records as fit into the buffer, in the order
 * of their walks. It sleeps while there is none, or fails with EAGAIN on a
 * non-blocking file; with a buffer shorter than the next record it fails with
 * EINVAL and takes nothing. A non-blocking file gets EAGAIN also while another
 * thread reads from it, for however long that waits for a page of its buffer,
 * although there may be a record. poll(2) and epoll report EPOLLIN while a
 * record waits. A record whose type is not known is to be skipped by its size.
 */

/**
 * struct sframe_unwind_record - head of every record
 *
 * @size: bytes of the whole record with this head; a multiple of 8.
 * @type: SFRAME_UNWIND_RECORD_*.
 * @reserved: 0.
 */
struct sframe_unwind_record {
	__u32 size;
	__u16 type;
	__u16 reserved;
};

#define SFRAME_UNWIND_RECORD_STACK	1
#define SFRAME_UNWIND_RECORD_REMOVED	2

/**
 * enum sframe_unwind_stop - why a stack ends where it does
 *
 * @SFRAME_UNWIND_STOP_COMPLETE: the last frame is the outermost one.
 * @SFRAME_UNWIND_STOP_DEPTH: there are more frames than max_depth.
 * @SFRAME_UNWIND_STOP_NO_RULE: no section covers the last address, or the
 *	section has no rule for it, and no fallback led on.
 * @SFRAME_UNWIND_STOP_SECTION_REMOVED: the section covering the last address
 *	was found corrupt and has been removed.
 * @SFRAME_UNWIND_STOP_SECTION_UNREADABLE: the section covering the last
 *	address could not be read just now; it stays registered.
 * @SFRAME_UNWIND_STOP_STACK_UNREADABLE: a word of the stack could not be read.
 * @SFRAME_UNWIND_STOP_NO_PROGRESS: the next frame would not lie above this one,
 *	or not be aligned to 8 bytes.
 * @SFRAME_UNWIND_STOP_NO_REGISTER: the rule needs a register whose value is
 *	not known in this frame.
 * @SFRAME_UNWIND_STOP_BAD_ADDRESS: the return address, or the one in a signal
 *	frame, is not in user space, or not in memory mapped executable. It is
 *	not told.
 * @SFRAME_UNWIND_STOP_UNSUPPORTED_TASK: not 64-bit code.
 * @SFRAME_UNWIND_STOP_EXITED: the thread exited or executed another program
 *	before it returned to user space. No frames.
 * @SFRAME_UNWIND_STOP_KILLED: a fatal signal ended the walk.
 * @SFRAME_UNWIND_STOP_NO_MEMORY: no memory for the walk. No frames.
 * @SFRAME_UNWIND_STOP_BUDGET: the walk examined as many rows of sections, or as
 *	many mappings, as one walk may.
 * @SFRAME_UNWIND_STOP_PENDING: what is to be known of the file that the last
 *	address is in is being read, and no fallback led on. Ask again.
 */
enum sframe_unwind_stop {
	SFRAME_UNWIND_STOP_COMPLETE		= 1,
	SFRAME_UNWIND_STOP_DEPTH		= 2,
	SFRAME_UNWIND_STOP_NO_RULE		= 3,
	SFRAME_UNWIND_STOP_SECTION_REMOVED	= 4,
	SFRAME_UNWIND_STOP_SECTION_UNREADABLE	= 5,
	SFRAME_UNWIND_STOP_STACK_UNREADABLE	= 6,
	SFRAME_UNWIND_STOP_NO_PROGRESS		= 7,
	SFRAME_UNWIND_STOP_NO_REGISTER		= 8,
	SFRAME_UNWIND_STOP_BAD_ADDRESS		= 9,
	SFRAME_UNWIND_STOP_UNSUPPORTED_TASK	= 10,
	SFRAME_UNWIND_STOP_EXITED		= 11,
	SFRAME_UNWIND_STOP_KILLED		= 12,
	SFRAME_UNWIND_STOP_NO_MEMORY		= 13,
	SFRAME_UNWIND_STOP_BUDGET		= 14,
	SFRAME_UNWIND_STOP_PENDING		= 15,
};

/**
 * enum sframe_unwind_frame - how the address of a frame was found
 *
 * @SFRAME_UNWIND_FRAME_REGS: the thread's own instruction pointer. Exact: the
 *	next instruction to run. Always and only the first frame.
 * @SFRAME_UNWIND_FRAME_SFRAME: return address by a rule of a section.
 * @SFRAME_UNWIND_FRAME_FP: return address by the frame pointer; a guess.
 * @SFRAME_UNWIND_FRAME_SIGNAL: instruction pointer saved in a signal frame.
 *	Exact: the instruction that the signal interrupted.
 * @SFRAME_UNWIND_FRAME_UNSURE: set in addition to one of the above behind a
 *	frame found by the frame pointer: as good as that guess.
 *
 * A return address names the instruction after a call; to find the function
 * or source line of the call, look up the address minus 1.
 */
enum sframe_unwind_frame {
	SFRAME_UNWIND_FRAME_REGS		= 1,
	SFRAME_UNWIND_FRAME_SFRAME		= 2,
	SFRAME_UNWIND_FRAME_FP			= 3,
	SFRAME_UNWIND_FRAME_SIGNAL		= 4,
	SFRAME_UNWIND_FRAME_UNSURE		= 0x80,
};

/**
 * struct sframe_unwind_stack - record of one unwound stack
 *
 * @record: head; type SFRAME_UNWIND_RECORD_STACK.
 * @cookie: identifies the walk.
 * @user_data: from the request.
 * @time: of the request, CLOCK_MONOTONIC, in nanoseconds.
 * @pid: process, numbered as the opener of the client sees it; 0 if it can't.
 * @tid: thread, likewise.
 * @nr_frames: number of frames.
 * @stop: enum sframe_unwind_stop.
 * @reserved: 0.
 * @ips: @nr_frames addresses, innermost first. Behind them follow @nr_frames
 *	bytes of enum sframe_unwind_frame, in the same order, and zero bytes up
 *	to a multiple of 8.
 */
struct sframe_unwind_stack {
	struct sframe_unwind_record record;
	__u64 cookie;
	__u64 user_data;
	__u64 time;
	__u32 pid;
	__u32 tid;
	__u32 nr_frames;
	__u16 stop;
	__u16 reserved;
	__u64 ips[];
};

/**
 * enum sframe_unwind_cause - why a registration was removed
 *
 * @SFRAME_UNWIND_CAUSE_CORRUPT: its contents are malformed.
 * @SFRAME_UNWIND_CAUSE_UNREADABLE: its bytes can never be read again.
 * @SFRAME_UNWIND_CAUSE_STALE: its code or bytes are not mapped as registered.
 */
enum sframe_unwind_cause {
	SFRAME_UNWIND_CAUSE_CORRUPT	= 1,
	SFRAME_UNWIND_CAUSE_UNREADABLE	= 2,
	SFRAME_UNWIND_CAUSE_STALE	= 3,
};

/**
 * struct sframe_unwind_removed - record of a registration removed by a walk
 *
 * @record: head; type SFRAME_UNWIND_RECORD_REMOVED.
 * @time: CLOCK_MONOTONIC, in nanoseconds.
 * @id: what registration returned.
 * @sframe_start: as registered.
 * @text_start: as registered.
 * @text_size: as registered.
 * @ip: the address that was looked up.
 * @defect_offset: byte of the section at which it is wrong.
 * @pid: process, numbered as the opener of the client sees it; 0 if it can't.
 * @tid: thread whose walk met it, likewise.
 * @cause: enum sframe_unwind_cause.
 * @reserved: 0.
 * @defect: what is wrong with the contents, a NUL-terminated sentence.
 * @name: file that the code is mapped from, NUL-terminated; empty for
 *	anonymous memory, and cut at its start if it is longer.
 */
struct sframe_unwind_removed {
	struct sframe_unwind_record record;
	__u64 time;
	__u64 id;
	__u64 sframe_start;
	__u64 text_start;
	__u64 text_size;
	__u64 ip;
	__u64 defect_offset;
	__u32 pid;
	__u32 tid;
	__u32 cause;
	__u32 reserved;
	char defect[64];
	char name[128];
};

#endif /* _UAPI_LINUX_SFRAME_UNWIND_H */
