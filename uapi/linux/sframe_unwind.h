/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: unwind user stacks by SFrame on an unmodified kernel.
 *
 * This header is the reference of the ABI. An open file of /dev/sframe_unwind
 * is called a client. Through it, a process registers the .sframe sections of
 * its own address space, and requests stacks of threads. A requested stack is
 * unwound when its thread next returns to user space. The result is a record,
 * which the client's reader gets by read(2).
 *
 * Conventions
 *
 * - Every ioctl takes a pointer to a structure whose first member, size, is
 *   sizeof() of the structure that the caller was compiled with. A structure
 *   shorter than the first published one fails with EINVAL. A structure longer
 *   than the one the module knows is accepted if all bytes beyond that are
 *   zero, else it fails with E2BIG; one of more than 4096 bytes always does.
 *   Only output members inside the caller's size are written.
 * - Unknown flags, and reserved members that are not zero, fail with EINVAL.
 * - Addresses and pointers are __u64. The layout is the same for 32-bit and
 *   64-bit callers; 32-bit and x32 callers get EOPNOTSUPP where noted.
 * - message and message_size specify an optional buffer for a NUL-terminated
 *   English sentence that says what was wrong, and where. It is written only if
 *   the ioctl fails, truncated to message_size bytes. 0/0 asks for no message.
 *   If the buffer cannot be written, it is ignored, and the errno stays the
 *   same. The sentence is also available by the kernel's dynamic debug.
 * - An unknown ioctl fails with ENOTTY, an unreadable structure with EFAULT.
 * - Kernel memory for registrations, attached sections, clients with their
 *   rings, and requests is charged to a user, and counts against RLIMIT_MEMLOCK
 *   together with other memory that the same user has locked. A call that would
 *   exceed the limit fails with ENOMEM, unless the caller has CAP_IPC_LOCK.
 *   Registrations and attachments are charged to the caller's user; clients,
 *   rings and requests to the user who opened the client.
 *
 * Contents, in this order; each structure precedes its ioctl:
 *
 *	QUERY				what the module supports
 *	REGISTER, UNREGISTER		sections of the caller's address space
 *	REGISTER_BATCH, UNREGISTER_BATCH
 *	REQUEST				a stack
 *	STACK				the calling thread's, at once
 *	STATS
 *	LIST				the sections of the address space
 *	EVENTS				records of sections that are removed
 *	ATTACH, DETACH, LIST_ATTACHED	sections for files, and for memory of a
 *					process
 *	records				what read(2) returns: stacks, removals
 *
 * and in <linux/sframe_unwind_sample.h>, which this header includes:
 *
 *	SAMPLER, SAMPLE			stacks at perf events, in mapped rings
 *	SAMPLE_CONTROL, SAMPLE_STATS
 *
 * and in <linux/sframe_unwind_stack_map.h>, which that one includes:
 *
 *	CLEAR_STACK_MAP			each stack stored once, and counted
 *
 * <linux/sframe_unwind_files.h> describes frames as places in files. And in
 * <linux/sframe_unwind_table.h>, which this header includes:
 *
 *	REGISTER_TABLE			code that a runtime describes in its memory
 *
 * ABI policy: the numbers and layouts below never change their meaning.
 * Structures grow at their end. SFRAME_UNWIND_IOC_QUERY tells what the module
 * supports.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_H
#define _UAPI_LINUX_SFRAME_UNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SFRAME_UNWIND_DEVICE	"/dev/sframe_unwind"

/* The current value of struct sframe_unwind_query.abi_version. */
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
#define SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED	0x1000ULL
#define SFRAME_UNWIND_FEATURE_SAMPLE		0x2000ULL
#define SFRAME_UNWIND_FEATURE_STACK		0x4000ULL
#define SFRAME_UNWIND_FEATURE_STACK_MAP		0x8000ULL
#define SFRAME_UNWIND_FEATURE_BUILD_IDS		0x10000ULL /* of samples */
#define SFRAME_UNWIND_FEATURE_OVERWRITE		0x20000ULL /* in rings */
#define SFRAME_UNWIND_FEATURE_LIST_PROCESS	0x40000ULL
/*
 * An FDE with one row, CFA = FP + 16 with the caller's FP at CFA - 16, may be for any
 * code that keeps frame pointers: in the frame that a thread or a signal was in, the
 * next instructions tell if its frame is not set up yet, or not any more.
 */
#define SFRAME_UNWIND_FEATURE_KEEPS_FP		0x80000ULL
#define SFRAME_UNWIND_FEATURE_TABLE		0x100000ULL /* REGISTER_TABLE */
#define SFRAME_UNWIND_FEATURE_ATTACH_PROCESS	0x200000ULL
#define SFRAME_UNWIND_FEATURE_BPF		0x400000ULL /* linux/sframe_unwind_bpf.h */
#define SFRAME_UNWIND_FEATURE_ATTACH_UNCHANGED	0x800000ULL
/*
 * KEEPS_FP also in extended sections, for code that calls functions on another stack, and
 * in all frames of either, FP 0 marks the outermost one.
 */
#define SFRAME_UNWIND_FEATURE_KEEPS_FP_SWITCH	0x1000000ULL

/**
 * struct sframe_unwind_query - version, features and limits of the module
 *
 * @size: in: sizeof(struct sframe_unwind_query).
 * @abi_version: out: SFRAME_UNWIND_ABI_VERSION of the module.
 * @features: out: SFRAME_UNWIND_FEATURE_* bits.
 * @sframe_version: out: the SFrame version that is supported (3).
 * @max_depth: out: largest @max_depth of a request, in frames.
 * @max_sections: out: sections that one address space may have.
 * @max_pending: out: requests that one client may have outstanding.
 * @max_sframe_size: out: largest @sframe_size, in bytes.
 * @ring_size: out: bytes of unread records that a client can hold.
 * @max_record_size: out: bytes of the largest record; a read(2) with a buffer
 *	of this size never fails because the buffer is too small.
 * @max_attached: out: sections that one client may have attached.
 * @reserved: out: 0.
 * @max_attached_memory: out: bytes of kernel memory that these may use, if
 *	attached for all processes. The limit for sections attached for one
 *	address space is 64 MiB.
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
 * Flag of struct sframe_unwind_register: check the whole section first, and
 * refuse it at its first defect. The time this takes is proportional to the
 * size of the section.
 */
#define SFRAME_UNWIND_REGISTER_VALIDATE	0x01U

/**
 * struct sframe_unwind_register - describe one range of the caller's code
 *
 * @size: in: sizeof(struct sframe_unwind_register).
 * @flags: in: SFRAME_UNWIND_REGISTER_* bits.
 * @sframe_start: in: address of the section's first byte.
 * @sframe_size: in: its size in bytes. The header of the SFrame table
 *	determines where the table ends. Bytes after it are ignored, so the size
 *	of a segment, which can be larger, may be used.
 * @text_start: in: first address of the code that the section describes.
 * @text_size: in: size of that code in bytes.
 * @id: out: identifies this registration in SFRAME_UNWIND_IOC_UNREGISTER;
 *	unique in the system, never 0.
 * @defect_offset: out: if EINVAL or EOPNOTSUPP is due to the section's
 *	contents: offset in the section of the defect.
 * @message: in: address of a buffer for an error message, or 0.
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
 * Only the header is copied. The tables stay in the caller's memory, and are
 * read when a walk needs them. The registration belongs to the address space,
 * not to the client: it survives closing the file. Threads share it. A child
 * created by fork() inherits all registrations of its parent; later changes
 * affect one of the two only. A child created by vfork() shares them until
 * exec. exec and exit end them. The same section may be registered for several
 * ranges of code.
 *
 * With the first registration, the module maps one page without access in the
 * address space, named "[sframe_unwind]" in /proc/PID/maps. Unmapping that page
 * ends all registrations. MADV_DONTFORK on it keeps a child from inheriting
 * them.
 *
 * A registration ends by itself when the code or the section is no longer
 * mapped as it was when it was registered. Each walk checks these mappings
 * before it uses the section.
 *
 * - Code and sections mapped from files: munmap, mremap, and mapping another
 *   file, or another part of the same file, in their place end the
 *   registration. Truncating the section's file ends it when a walk next needs
 *   a page that does not exist any more.
 * - Code and sections in anonymous memory (JIT): the registration ends if a
 *   walk finds the memory unmapped. But different anonymous mappings cannot be
 *   told apart, so the program must unregister before it frees or reuses the
 *   code or the section. Register after both are complete. Do not modify a
 *   registered section: to change it, register a new one.
 * - mprotect() of the code does not end it, so that the code may be made
 *   writable and executable in turns. A section that is not readable when a
 *   walk needs it is removed.
 * - A section that is split into more than 256 mappings, for instance by
 *   mprotect() of its pages, is removed.
 * - If a child lacks the code or the section (MADV_DONTFORK), the child's
 *   registration ends at its first use; that of the parent does not.
 * - Section bytes that were swapped out or dropped from the page cache are read
 *   in again. In memory registered with userfaultfd, the walk waits for the
 *   program's handler, as any access by the thread does; a fatal signal ends
 *   the wait.
 *
 * Rules that walks have found are cached as long as the registration exists:
 * the section is not read again for them.
 *
 * A section that a walk finds malformed is removed from the walk's address
 * space only. So is a section that can never be read again. A section that
 * cannot be read at present, for lack of memory, is kept.
 *
 * EINVAL	size, flags or reserved; a range that is empty, wraps around or
 *		leaves user space; sframe_size too large; a section that is not
 *		well-formed or not sorted or whose function starts are not
 *		relative to their field; a section or a text that is not mapped
 *		contiguously from one file or from anonymous memory; section and
 *		text that are in more than 256 mappings together.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written; the section or the
 *		text is not mapped, or the section's bytes cannot be read.
 * EACCES	the section is mapped without read permission, or the text
 *		without execute permission.
 * EOPNOTSUPP	a well-formed section of another version (1, 2 or above 3) or
 *		for another machine; a 32-bit or x32 caller.
 * EEXIST	the text range overlaps a registered one whose mappings have not
 *		changed.
 * ENOSPC	the address space has max_sections already.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 */
#define SFRAME_UNWIND_IOC_REGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x01)

/**
 * struct sframe_unwind_unregister - end one or more registrations
 *
 * @size: in: sizeof(struct sframe_unwind_unregister).
 * @flags: in: must be 0.
 * @id: in: the id that SFRAME_UNWIND_IOC_REGISTER returned, or 0.
 * @sframe_start: in: if @id is 0: address of a section; all registrations of
 *	that section are removed. Else must be 0.
 * @removed: out: number of registrations removed.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
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
 * SFRAME_UNWIND_IOC_UNREGISTER: remove registrations. No walk that starts after
 * the return uses the section. A walk of another thread that is in progress may
 * use it until it ends.
 *
 * EINVAL	size or flags; both or neither of id and sframe_start given.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	no such registration in the caller's address space.
 * ENOMEM	no memory; some of several registrations may have been removed.
 * EINTR	a fatal signal arrived; some of several registrations may have been
 *		removed.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_UNREGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x02)

/**
 * struct sframe_unwind_batch_entry - one entry of a batch
 *
 * @sframe_start: in: as in struct sframe_unwind_register or, for
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH, struct sframe_unwind_unregister.
 * @sframe_size: in: as in struct sframe_unwind_register.
 * @text_start: in: as in struct sframe_unwind_register.
 * @text_size: in: as in struct sframe_unwind_register.
 * @id: out: id of the registration, 0 if it failed. For
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH in: as in struct
 *	sframe_unwind_unregister.
 * @defect_offset: out: as in struct sframe_unwind_register.
 * @error: out: 0, or the errno of this entry; errnos are those of
 *	SFRAME_UNWIND_IOC_REGISTER or SFRAME_UNWIND_IOC_UNREGISTER.
 * @removed: out: for SFRAME_UNWIND_IOC_UNREGISTER_BATCH: number of
 *	registrations removed.
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
 * struct sframe_unwind_batch - register or unregister many sections
 *
 * @size: in: sizeof(struct sframe_unwind_batch).
 * @flags: in: SFRAME_UNWIND_REGISTER_* bits for all entries; 0 for
 *	SFRAME_UNWIND_IOC_UNREGISTER_BATCH.
 * @entries: in: address of an array of struct sframe_unwind_batch_entry.
 * @nr: in: number of entries in that array. out: number of entries processed,
 *	from the first on.
 * @nr_failed: out: number of processed entries with an @error.
 * @message: in: address of a buffer for an error message, or 0.
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
 * SFRAME_UNWIND_IOC_REGISTER_BATCH, SFRAME_UNWIND_IOC_UNREGISTER_BATCH: as
 * SFRAME_UNWIND_IOC_REGISTER and SFRAME_UNWIND_IOC_UNREGISTER, for each entry
 * in turn. If an entry fails, its error is set and the next one is processed.
 * The ioctl succeeds if all entries were processed, even if some have an error.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure or the array cannot be accessed; nr entries have been
 *		processed, and up to eight more may have been.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_REGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0a)
#define SFRAME_UNWIND_IOC_UNREGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0b)

/*
 * Flag of struct sframe_unwind_request: where there is no rule for an address,
 * use the frame pointer. Such frames are marked SFRAME_UNWIND_FRAME_FP. In code
 * without frame pointers they may be wrong. The next instructions are looked at, as
 * for SFRAME_UNWIND_FEATURE_KEEPS_FP.
 */
#define SFRAME_UNWIND_REQUEST_FP_FALLBACK	0x01U

/*
 * Flag of struct sframe_unwind_request: if the thread sleeps in a system call,
 * interrupt that, so that its stack is unwound now. No signal is delivered.
 * These system calls are restarted transparently: nanosleep, clock_nanosleep,
 * read of a pipe or eventfd, futex, poll, ppoll, select, recv, msgrcv, waitpid.
 * These return EINTR to the program, as they do after SIGSTOP/SIGCONT:
 * epoll_wait, epoll_pwait, semtimedop, sigtimedwait, and recv on a socket with
 * SO_RCVTIMEO. Uninterruptible sleep, a stopped thread and the parent of a
 * vfork() child are not woken. No effect on a request for the calling thread.
 * For a thread of another process, the caller also needs CAP_SYS_PTRACE or
 * CAP_SYS_ADMIN in the initial user namespace, as for tracing it.
 */
#define SFRAME_UNWIND_REQUEST_INTERRUPT		0x02U

/**
 * struct sframe_unwind_request - ask for the stack of a thread
 *
 * @size: in: sizeof(struct sframe_unwind_request).
 * @flags: in: SFRAME_UNWIND_REQUEST_* bits.
 * @tid: in: id, in the caller's PID namespace, of a thread of the caller's
 *	process, or of any process with CAP_PERFMON or CAP_SYS_ADMIN. 0 is the
 *	calling thread.
 * @max_depth: in: maximum number of frames, at most the module's max_depth; 0
 *	means 128.
 * @user_data: in: returned in the record.
 * @cookie: out: identifies the walk; the same value is in the record. All
 *	requests made until the thread returns to user space share one walk and
 *	its cookie, except one for the calling thread, which may have a walk of
 *	its own. Unique in the system, never 0.
 * @message: in: address of a buffer for an error message, or 0.
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
 * SFRAME_UNWIND_IOC_REQUEST: request the stack of a thread. It is unwound when
 * the thread next returns to user space. For the calling thread, that is this
 * ioctl, or the return from it: the first frame is the instruction after its
 * system call, and the record can be read when the ioctl has returned. Another
 * thread's stack is unwound when it next leaves the kernel: within microseconds
 * if it runs; when its system call ends if it sleeps (see
 * SFRAME_UNWIND_REQUEST_INTERRUPT).
 *
 * Each accepted request results in one SFRAME_UNWIND_RECORD_STACK record, or is
 * counted as lost (struct sframe_unwind_stats).
 *
 * EINVAL	size, flags, reserved, max_depth, or a negative tid.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ESRCH	no such thread in the caller's process, or, with privilege, at
 *		all, or it is exiting; with SFRAME_UNWIND_REQUEST_INTERRUPT
 *		also if a signal has ended it and it dumps core.
 * EPERM	SFRAME_UNWIND_REQUEST_INTERRUPT for another process without the
 *		capabilities that it needs.
 * EAGAIN	the client has max_pending requests outstanding; or all clients
 *		together have 4096 for the thread; or requests for the thread
 *		arrive faster than its stack can be delivered.
 * ENOMEM	no memory.
 * EOPNOTSUPP	a 32-bit or x32 caller, or a thread that never runs in user
 *		space (an io_uring worker).
 */
#define SFRAME_UNWIND_IOC_REQUEST	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x03)

/* Flag of struct sframe_unwind_own_stack: as SFRAME_UNWIND_REQUEST_FP_FALLBACK. */
#define SFRAME_UNWIND_STACK_FP_FALLBACK		0x01U

/**
 * struct sframe_unwind_own_stack - the stack of the calling thread
 *
 * @size: in: sizeof(struct sframe_unwind_own_stack).
 * @flags: in: SFRAME_UNWIND_STACK_* bits.
 * @ips: in: address of an array of @max_depth __u64. out: the frames' addresses,
 *	innermost first.
 * @how: in: address of an array of @max_depth __u8, or 0. out: how each frame was
 *	found, enum sframe_unwind_frame.
 * @max_depth: in: maximum number of frames, 1 to the module's max_depth.
 * @nr_frames: out: number of frames; 0 if the ioctl fails.
 * @stop: out: enum sframe_unwind_stop, why the stack ends there; 0 if the ioctl
 *	fails.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
 */
struct sframe_unwind_own_stack {
	__u32 size;
	__u32 flags;
	__u64 ips;
	__u64 how;
	__u32 max_depth;
	__u32 nr_frames;
	__u32 stop;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_STACK: unwind the stack of the calling thread, and return
 * the frames in the caller's arrays. The first frame is the instruction after
 * the system call. The result is what a request for the calling thread would
 * get, but there is no record, and it is not counted in struct
 * sframe_unwind_stats. Elements of the arrays beyond nr_frames are not written.
 *
 * EINVAL	size, flags or max_depth.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written, or the arrays cannot be
 *		written; part of them may have been.
 * ENOMEM	no memory.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_STACK		_IO(SFRAME_UNWIND_IOC_MAGIC, 0x10)

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
 * @corrupt: out: sections removed from the caller's address space because they
 *	were corrupt, or could never be read again. If the process has
 *	registered nothing, it may be reset, see Discovery.
 * @stale: out: sections removed from the caller's address space because their
 *	code or bytes were no longer mapped as registered.
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
 * enum sframe_unwind_section_state - whether a section is valid
 *
 * @SFRAME_UNWIND_SECTION_ACTIVE: walks use it.
 * @SFRAME_UNWIND_SECTION_STALE: its code or bytes are no longer mapped as they
 *	were; the next walk that needs it removes it.
 */
enum sframe_unwind_section_state {
	SFRAME_UNWIND_SECTION_ACTIVE	= 1,
	SFRAME_UNWIND_SECTION_STALE	= 2,
};

/**
 * enum sframe_unwind_section_source - the source of a section
 *
 * @SFRAME_UNWIND_SECTION_REGISTERED: SFRAME_UNWIND_IOC_REGISTER.
 * @SFRAME_UNWIND_SECTION_FOUND: the file that the code is mapped from.
 * @SFRAME_UNWIND_SECTION_ATTACHED: SFRAME_UNWIND_IOC_ATTACH.
 * @SFRAME_UNWIND_SECTION_TABLE: SFRAME_UNWIND_IOC_REGISTER_TABLE.
 */
enum sframe_unwind_section_source {
	SFRAME_UNWIND_SECTION_REGISTERED	= 1,
	SFRAME_UNWIND_SECTION_FOUND		= 2,
	SFRAME_UNWIND_SECTION_ATTACHED		= 3,
	SFRAME_UNWIND_SECTION_TABLE		= 4,
};

/**
 * struct sframe_unwind_section - one section in use
 *
 * @id: unique in the system; for a registered section, the id that registration
 *	returned.
 * @sframe_start: its address; 0 if it is not in user memory.
 * @sframe_size: bytes of the table, which may be less than registered.
 * @text_start: first address of its code.
 * @text_size: bytes of its code.
 * @hits: number of rules found in it, not counting rules from the cache. Parent
 *	and child share the counter after fork().
 * @num_fdes: functions in the section; of a function table, entries that it has.
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
 * struct sframe_unwind_list - sections of an address space
 *
 * @size: in: sizeof(struct sframe_unwind_list).
 * @flags: in: must be 0.
 * @from: in: list sections whose text_start is at or above this address.
 * @sections: in: address of an array of struct sframe_unwind_section.
 * @nr: in: entries in that array. out: entries written.
 * @total: out: number of sections of the address space, of all sources.
 * @name: in: address of a buffer for the name of the file that the section's
 *	code is mapped from, or 0; only with @nr 1. A NUL-terminated string is
 *	written, truncated to @name_size bytes; it is empty for code in
 *	anonymous memory.
 * @name_size: in: size of that buffer in bytes, or 0.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
 * @pid: in: id, in the caller's PID namespace, of a process or one of its threads,
 *	whose sections are listed: the caller's, or any with CAP_PERFMON or
 *	CAP_SYS_ADMIN. 0 is the caller's.
 * @reserved: must be 0.
 *
 * Members from @pid on that are not inside the caller's size are taken as 0.
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
	__s32 pid;
	__u32 reserved;
};

/*
 * SFRAME_UNWIND_IOC_LIST: list the sections of an address space, of all sources,
 * in ascending order of text_start. To get all of them, call again with from set
 * to the end of the last one's text, until nr is 0. Sections that no walk has
 * needed are not known, and are dropped some time after the last walk: see
 * Discovery.
 *
 * Only sections of the caller's address space are compared with its mappings:
 * those of other processes are always SFRAME_UNWIND_SECTION_ACTIVE.
 *
 * EINVAL	size, flags or reserved; a negative pid; name given with nr other
 *		than 1, or for another process.
 * ESRCH	no such process, or none that the caller may observe.
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
 * struct sframe_unwind_events - which events a client gets
 *
 * @size: in: sizeof(struct sframe_unwind_events).
 * @flags: in: SFRAME_UNWIND_EVENTS_* bits; 0 for no events.
 * @message: in: address of a buffer for an error message, or 0.
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
 * SFRAME_UNWIND_IOC_EVENTS: from now on, put records of events in the caller's
 * address space into this client, until that address space ends. A child
 * created by fork() has another address space. A client gets the events of one
 * address space only: that of the last call.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOSPC	64 clients get the events of the address space already; this client
 *		gets no events from now on.
 * ENOMEM	no memory, or the address space cannot take another mapping.
 * EINTR	a fatal signal arrived.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_EVENTS	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x06)

/*
 * Discovery
 *
 * If a walk gets to code that is mapped from a file and that no registered
 * section covers, the module examines the file, once in each address space. If
 * it is an ELF file with a PT_GNU_SFRAME segment, that is used as if it were
 * registered for the executable segment that contains the address. The result,
 * also if there is no section, is cached as long as the code is mapped. The
 * program does not have to do anything, and walks do not change its address
 * space. Unless the program has the marker page of SFRAME_UNWIND_IOC_REGISTER,
 * the results are dropped after 10 seconds without a walk, when no client is
 * left that has requested a stack, or when memory is short; the next walk finds
 * them again. A child created by fork() does not inherit them. A registration
 * replaces a section that was found for the same code.
 *
 * The section is read where the program has it mapped, or from the file if no
 * PT_LOAD maps it. The header of the table determines where it ends, whatever
 * the size of the segment. The vDSO is treated like a file.
 *
 * A walk reads files from the page cache only, and does not wait for I/O. If
 * data is not cached, a kernel thread reads it, and the stack (with fallback,
 * the part of it that does not depend on the fallback) ends with
 * SFRAME_UNWIND_STOP_PENDING. Files on FUSE are never read for walks, because
 * their servers may not answer: no section is found for their code until
 * something else has read their ELF headers into the page cache. If a file
 * cannot be read, this is not cached, but the file is not read again for a
 * second. Files on DAX and hugetlbfs are not supported.
 */

/*
 * Flags of struct sframe_unwind_attach.
 *
 * SYSTEM	attach for all processes. Needs CAP_SYS_ADMIN, or CAP_PERFMON and
 *		CAP_SYS_PTRACE, in the initial user namespace, because the
 *		section's rules determine which words of other processes' memory
 *		are reported as addresses. Without this flag: attach for the
 *		caller's address space only, not for children forked from it.
 * PREFER	use the attached section rather than that of the file itself.
 *		Registered sections take precedence in any case.
 * INODE	attach to the file of elf_fd only, by its inode, because anybody
 *		can create another file with the same build ID and segments.
 *		Ends when the file is deleted or its file system is unmounted;
 *		it prevents neither. On overlayfs, this is the underlying file.
 * REPLACE	with SYSTEM: do not fail if any client has attached a section to
 *		the same file or files already. The earlier one is used again
 *		when this one is detached. Without SYSTEM, the last one attached
 *		is always used.
 * SHARE	with INODE: use the section of attachment @share_id also for
 *		another file with the same build ID and segments, instead of a
 *		section of its own. Each is detached by its own id, in any order;
 *		the section is freed with the last one. The caller is responsible
 *		for the section to be right for both files.
 * EXTENDED	the section may use the extensions of SFrame V3 that the
 *		project's converter writes: rules that V3 has no form for, and
 *		where functions save registers. They are private to the project:
 *		other versions of it may use others, and refuse these. Without
 *		this flag, and in all sections that are not attached, such a
 *		section is not well-formed. With SHARE, the flag is that of the
 *		attachment @share_id, and must not be set.
 * PROCESS	attach to the addresses [text_start, text_start + text_size) of
 *		process pid, not to a file: for code in anonymous memory, which
 *		a just-in-time compiler has generated. For another process than
 *		the caller's, needs the privilege of SYSTEM. Only with EXTENDED,
 *		REPLACE and UNCHANGED. With REPLACE, attachments to addresses that overlap
 *		are ended, those of other clients, too; 16 at a time, so some
 *		may be ended although the call fails with EINTR or ENOSPC.
 * UNCHANGED	with PROCESS: the range must be private anonymous memory,
 *		executable, not writable, and not registered with
 *		userfaultfd. The caller has a copy of the code, and the section
 *		is used only for functions with the same bytes: see
 *		SFRAME_UNWIND_IOC_ATTACH.
 */
#define SFRAME_UNWIND_ATTACH_SYSTEM	0x01U
#define SFRAME_UNWIND_ATTACH_PREFER	0x02U
#define SFRAME_UNWIND_ATTACH_INODE	0x04U
#define SFRAME_UNWIND_ATTACH_REPLACE	0x08U
#define SFRAME_UNWIND_ATTACH_SHARE	0x10U
#define SFRAME_UNWIND_ATTACH_EXTENDED	0x20U
#define SFRAME_UNWIND_ATTACH_PROCESS	0x40U
#define SFRAME_UNWIND_ATTACH_UNCHANGED	0x80U

/* Maximum size of a build ID in bytes. */
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
 * struct sframe_unwind_attach - attach an SFrame section
 *
 * @size: in: sizeof(struct sframe_unwind_attach).
 * @flags: in: SFRAME_UNWIND_ATTACH_* bits.
 * @elf_fd: in: the ELF file, open for reading. For the vDSO, a file with a copy
 *	of it. Only its headers and build ID are read, and only by this call. -1
 *	with PROCESS.
 * @sframe_fd: in: a file with an SFrame V3 section, open for reading; -1 with
 *	SHARE.
 * @sframe_offset: in: offset of the section in that file, in bytes.
 * @sframe_size: in: size of the section in bytes. The section must be made for
 *	address 0 in the ELF file's address space: offset in the section of a
 *	function's start field + value of the field = address of the function in
 *	the ELF file. With SHARE, @sframe_offset and @sframe_size must be 0.
 *	With PROCESS, the sum is the address of the function minus @text_start.
 * @build_id: in: the expected build ID; that of the ELF file must be equal.
 * @build_id_size: in: bytes of @build_id; 0 if the file must have none, and with
 *	PROCESS.
 * @reserved: must be 0.
 * @id: out: identifies the attachment in SFRAME_UNWIND_IOC_DETACH; unique in
 *	the system, never 0.
 * @memory: out: bytes of kernel memory that the attachment uses; with SHARE,
 *	without the shared section.
 * @defect_offset: out: if EINVAL or EOPNOTSUPP is due to the section's
 *	contents: offset in the section of the defect.
 * @message: in: address of a buffer for an error message, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @reserved2: must be 0.
 * @segments: in: address of an array of struct sframe_unwind_segment: the
 *	executable segments of the file that the section was made for; those of
 *	the ELF file must be equal. All executable segments with a memory size
 *	above 0, in the order of their program headers.
 * @nr_segments: in: entries in that array, at most 8. With 0, @segments must be
 *	0 and segments are not compared.
 * @reserved3: must be 0.
 * @share_id: in: with SHARE, an id that SFRAME_UNWIND_IOC_ATTACH of the same
 *	client returned; else 0.
 * @pid: in: with PROCESS, id, in the caller's PID namespace, of the process or
 *	one of its threads; 0 is the caller's. Else must be 0.
 * @reserved4: must be 0.
 * @text_start: in: with PROCESS, first address of the code that the section
 *	describes; else must be 0.
 * @text_size: in: with PROCESS, size of that code in bytes; else must be 0.
 * @code: in: with UNCHANGED, address of a copy of that code in the caller's memory,
 *	@text_size bytes, of which only those of the section's functions are read;
 *	for the caller's own process, may be @text_start. Else must be 0.
 *
 * Members from @segments on that are not inside the caller's size are taken as
 * 0.
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
	__s32 pid;
	__u32 reserved4;
	__u64 text_start;
	__u64 text_size;
	__u64 code;
};

/*
 * SFRAME_UNWIND_IOC_ATTACH: attach a section from elsewhere to a file, to
 * unwind code mapped from that file, until it is detached or the client is
 * closed. It also applies to processes that have mapped the file already. With
 * PROCESS: attach it to addresses of one process.
 *
 * The section is validated as a whole and copied; changes of sframe_fd have no
 * effect afterwards. It is used for every file with the same build ID and the
 * same executable segments, according to the headers of the mapped file at the
 * time of the walk. With INODE, or if the file has no build ID, it is used for
 * that file only. A file may have 128 program headers and 8 executable
 * segments; 64 notes are read; a build ID of more than 32 bytes is ignored. If
 * several sections are attached to a file, those for the address space have
 * precedence over those for all processes; among these, those for the file
 * alone over those for all files with its build ID and segments; among these,
 * the last one.
 *
 * With PROCESS, the section is used for these addresses of that process, as long
 * as the code there is mapped executable from where it was mapped at the time of
 * the call: from the same file and offset, or from no file. Registered sections
 * take precedence over it, and so does the section of a file, its own or an
 * attached one: there, it is used for addresses that they have no rule for. It
 * ends with the address space, that is, by
 * exec and exit of the process; when a walk finds other memory at an address;
 * and when the process unmaps the page "[sframe_unwind]", if it has one.
 * Children forked from it do not inherit it. As with SFRAME_UNWIND_IOC_REGISTER,
 * different anonymous memory cannot be told apart: detach the section when the
 * process has freed the code or has generated other code there, or use UNCHANGED. An
 * attachment that has ended is not used any more, but still is the client's until it
 * is detached.
 *
 * With UNCHANGED, the section is not used where the memory is writable, is not
 * executable or is registered with userfaultfd; it may be again when that is over. If a
 * walk finds that a function is not that of the caller's copy, it ends. A
 * function of at most 4096 bytes is compared as a whole. Of a longer one, in pieces of
 * 2048 bytes, the first one is, and the one with the address that the rule is for. A
 * function is what an entry of the section's index describes, so it should be one, from its
 * beginning on: nothing before an entry is compared. This is done when a rule for an address
 * is looked up for the first time, and again after any change of the process's mappings (where the
 * kernel does not count these, as 6.1, in each stack): without one, the memory can be
 * changed only by ptrace, /proc/PID/mem, MADV_DONTNEED, MADV_FREE and guard pages, which
 * make it zero, and I/O to pages that were pinned while it was writable, and this is not
 * noticed. All that only makes the stacks of this process wrong. The call does not read the
 * process's memory. So that the copy is of the code that the section is for, make it when
 * it is known for which code the section is, and find that out once more before the call.
 * What is kept, 8 bytes for a function or for each piece of a longer one, and 8 bytes more
 * for that, counts as memory of the section.
 *
 * The id of a process may be used again, and a process may execute another
 * program, before the call and after the caller has found out what is mapped. So
 * read its mappings again after the call, and detach the section if they have
 * changed: the attachment belongs to the address space that the process had at
 * the time of the call, and to no later one.
 *
 * EINVAL	size, flags or reserved; build_id_size or nr_segments too large;
 *		not an ELF file, or a malformed one; a build ID that is not the
 *		file's; a section that is not well-formed, or has a function
 *		outside of the file's executable segments; extensions without
 *		EXTENDED, or ones of another version; SHARE without INODE, with
 *		a section, with EXTENDED, or with the section of a file that has
 *		another build ID or other segments; share_id without SHARE;
 *		UNCHANGED without PROCESS; code without UNCHANGED;
 *		PROCESS with a file, with a flag other than EXTENDED, REPLACE and
 *		UNCHANGED, with a range that is empty, wraps around or leaves user
 *		space, that is not mapped contiguously from one file or from
 *		anonymous memory, or is in more than 256 mappings, or with a
 *		section that has a function outside of the range; pid,
 *		text_start or text_size without PROCESS; a negative pid.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written, or the segments cannot
 *		be read; with PROCESS, the range is not mapped; with UNCHANGED, a
 *		function cannot be read in the copy of the code.
 * EACCES	with PROCESS, the range is mapped without execute permission; with
 *		UNCHANGED, it is mapped writable, shared, or from a file, or is
 *		registered with userfaultfd.
 * EBADF	a file that is not a regular one, or not open for reading.
 * EEXIST	SYSTEM without REPLACE: a section is attached for all processes
 *		already: to the same file, if this is for one file only; else to
 *		all files with the same build ID and segments. PROCESS without
 *		REPLACE: a section is attached to addresses that overlap.
 * ESRCH	with PROCESS, no such process, or it has no address space.
 * ESTALE	the ELF file's executable segments are not those in segments.
 * ENOENT	the client has not attached share_id.
 * EPERM	SYSTEM, or PROCESS for another process, without its privilege.
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
 * struct sframe_unwind_detach - detach a section
 *
 * @size: in: sizeof(struct sframe_unwind_detach).
 * @flags: in: must be 0.
 * @id: in: an id that SFRAME_UNWIND_IOC_ATTACH of the same client returned.
 * @message: in: address of a buffer for an error message, or 0.
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
 * section for the files it was attached to. Its memory is freed, unless it is
 * shared.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	the client has not attached such a section.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_DETACH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x08)

/*
 * Bit of struct sframe_unwind_attached.flags, only with PROCESS: no walk uses the
 * section any more, because the address space has ended, because a walk has found
 * other memory or (UNCHANGED) other code at its addresses, or because it was replaced.
 */
#define SFRAME_UNWIND_ATTACHED_ENDED	0x80000000U

/**
 * struct sframe_unwind_attached - one attached section
 *
 * @id: the id that SFRAME_UNWIND_IOC_ATTACH returned.
 * @sframe_size: bytes of the table.
 * @memory: bytes of kernel memory that it uses, including a shared section.
 * @hits: number of rules found in the section, by all processes and for all
 *	attachments that share it, not counting rules from the cache.
 * @num_fdes: functions in it.
 * @flags: SFRAME_UNWIND_ATTACH_* bits it was attached with, and
 *	SFRAME_UNWIND_ATTACHED_* bits.
 * @build_id: of the file.
 * @build_id_size: bytes of it; 0 if the file has none, and with PROCESS.
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
 * struct sframe_unwind_list_attached - attachments of the client
 *
 * @size: in: sizeof(struct sframe_unwind_list_attached).
 * @flags: in: must be 0.
 * @from: in: list attachments whose id is at or above this one.
 * @attached: in: address of an array of struct sframe_unwind_attached.
 * @nr: in: entries in that array. out: entries written.
 * @total: out: number of attachments of the client.
 * @memory: out: bytes of kernel memory that they use; shared sections count
 *	once.
 * @message: in: address of a buffer for an error message, or 0.
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
 * SFRAME_UNWIND_IOC_LIST_ATTACHED: list the client's attachments in ascending
 * order of id.
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
 * read(2) returns as many whole records as fit into the buffer, in the order of
 * their walks. If there is none, it sleeps, or fails with EAGAIN on a
 * non-blocking file. If the buffer is shorter than the next record, it fails
 * with EINVAL and removes no record. If the buffer cannot be written, it fails
 * with EFAULT and removes no record. A signal that arrives while it sleeps, or
 * waits for another reader, interrupts it: without SA_RESTART it fails with
 * EINTR. On a non-blocking file it also fails with EAGAIN while another thread
 * reads from the client, even if there is a record; that thread may wait long
 * for a page of its buffer. poll(2) and epoll report EPOLLIN while there is a
 * record. Readers must skip records of unknown type by their size.
 */

/**
 * struct sframe_unwind_record - header of every record
 *
 * @size: bytes of the whole record, including this header; a multiple of 8.
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
 *	section has no rule for it, and the fallback was not used or failed.
 * @SFRAME_UNWIND_STOP_SECTION_REMOVED: the section that covers the last address
 *	was corrupt, or can never be read again, and was removed.
 * @SFRAME_UNWIND_STOP_SECTION_UNREADABLE: the section that covers the last
 *	address cannot be read at present; it is kept.
 * @SFRAME_UNWIND_STOP_STACK_UNREADABLE: a word of the stack could not be read.
 * @SFRAME_UNWIND_STOP_NO_PROGRESS: the caller's frame would not be above the
 *	last one, or not aligned to 8 bytes.
 * @SFRAME_UNWIND_STOP_NO_REGISTER: the rule needs a register whose value is
 *	not known in this frame.
 * @SFRAME_UNWIND_STOP_BAD_ADDRESS: the return address, or the address in a
 *	signal frame, is not in user space, or not in memory mapped executable.
 *	It is not in the record.
 * @SFRAME_UNWIND_STOP_UNSUPPORTED_TASK: not 64-bit code.
 * @SFRAME_UNWIND_STOP_EXITED: the thread exited or executed another program
 *	before it returned to user space. No frames.
 * @SFRAME_UNWIND_STOP_KILLED: a fatal signal ended the walk.
 * @SFRAME_UNWIND_STOP_NO_MEMORY: no memory for the walk. No frames.
 * @SFRAME_UNWIND_STOP_BUDGET: the walk has read as many rows of sections, or
 *	visited as many mappings, as a single walk may.
 * @SFRAME_UNWIND_STOP_PENDING: the file that contains the last address has to
 *	be read first, which is in progress, and the fallback was not used or
 *	failed. Try again.
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
 * @SFRAME_UNWIND_FRAME_SFRAME: return address found by a rule of a section.
 * @SFRAME_UNWIND_FRAME_FP: return address found by the frame pointer; may be
 *	wrong.
 * @SFRAME_UNWIND_FRAME_SIGNAL: instruction pointer saved in a signal frame.
 *	Exact: the instruction that the signal interrupted.
 * @SFRAME_UNWIND_FRAME_UNSURE: flag, set in addition to one of the above: an
 *	earlier frame was found by the frame pointer, so this one may be wrong,
 *	too.
 *
 * A return address is that of the instruction after a call. To find the
 * function or source line of the call, look up the address minus 1.
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
 * @record: header; type SFRAME_UNWIND_RECORD_STACK.
 * @cookie: identifies the walk.
 * @user_data: from the request.
 * @time: time of the request, CLOCK_MONOTONIC, in nanoseconds.
 * @pid: process id in the PID namespace of the client's opener; 0 if it is not
 *	visible there.
 * @tid: thread id in that namespace, or 0.
 * @nr_frames: number of frames.
 * @stop: enum sframe_unwind_stop.
 * @reserved: 0.
 * @ips: @nr_frames addresses, innermost first. They are followed by @nr_frames
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
 * enum sframe_unwind_cause - why a section was removed
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
 * struct sframe_unwind_removed - record of a section removed by a walk
 *
 * Registered sections are reported with every cause; sections of files and
 * attached ones not with SFRAME_UNWIND_CAUSE_STALE.
 *
 * @record: header; type SFRAME_UNWIND_RECORD_REMOVED.
 * @time: time of the removal, CLOCK_MONOTONIC, in nanoseconds.
 * @id: of the section, see struct sframe_unwind_section.
 * @sframe_start: address of the section; 0 if it was not in user memory.
 * @text_start: first address of its code.
 * @text_size: bytes of its code.
 * @ip: the address that was looked up.
 * @defect_offset: offset in the section of the defect.
 * @pid: process id in the PID namespace of the client's opener; 0 if it is not
 *	visible there.
 * @tid: id in that namespace, or 0, of the thread whose walk removed it.
 * @cause: enum sframe_unwind_cause.
 * @reserved: 0.
 * @defect: NUL-terminated text that says what is wrong.
 * @name: file that the code is mapped from, NUL-terminated; empty for
 *	anonymous memory; only the end of the name if it is too long.
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

#include <linux/sframe_unwind_sample.h>
#include <linux/sframe_unwind_table.h>

#endif /* _UAPI_LINUX_SFRAME_UNWIND_H */
