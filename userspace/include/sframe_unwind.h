/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libsframe_unwind: stacks of the calling process's threads from
 * /dev/sframe_unwind, SFrame V3 sections for code that is generated at run time,
 * and sections attached to files and code that have none.
 *
 * Conventions
 *
 * - Functions return 0 or a positive number on success, a negative errno on
 *   failure. They leave errno itself undefined unless noted otherwise.
 * - sframe_unwind_error() returns a sentence about the last failure.
 * - <linux/sframe_unwind.h> describes the kernel's limits and errors.
 *
 * Threads, signals and forks
 *
 * - "Any thread": any number of threads may be in the function with the same
 *   handle at the same time. The library has no lock: for "one thread at a time"
 *   the caller must serialize the calls.
 * - "Async-signal-safe": may be called anywhere, including in a signal handler
 *   that has interrupted malloc() or this library, in malloc() itself, and in a
 *   child of vfork(). Such a function makes at most one system call and touches
 *   no lock, no malloc() memory, no thread-local variable, neither errno nor the
 *   error message. Functions not marked so are not async-signal-safe, and must
 *   not be called in a child of vfork().
 * - sframe_unwind_read() and sframe_unwind_read_stack() are cancellation points,
 *   as read(2) is; the handle remains usable after a cancellation.
 * - A child of fork() may use all functions, with one exception: if its parent
 *   had other threads, the child must not call sframe_unwind_register_objects()
 *   before it executes a program, because these threads may have held locks of
 *   the dynamic linker. The child inherits its parent's registrations.
 * - A handle that a child inherits is the same client of the kernel. That client
 *   gets the stacks which parent and child request, and each record is read by
 *   only one of the two; but records already in the handle's buffer at the fork
 *   are returned in both. So let one of them read, and have the other open a
 *   handle of its own. Closing the handle in one does not affect the other.
 * - exec ends everything: the device is closed on exec, and registrations belong
 *   to the address space.
 */
#ifndef SFRAME_UNWIND_H
#define SFRAME_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/sframe_unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The device
 */

/* An open /dev/sframe_unwind and the buffer that its records are read into. */
struct sframe_unwind;

/* Flag of sframe_unwind_open(): reads never wait for a record. */
#define SFRAME_UNWIND_OPEN_NONBLOCK	0x01U

/**
 * sframe_unwind_open() - open the device
 * @handle: set to a new handle, or to NULL on failure.
 * @flags: SFRAME_UNWIND_OPEN_* bits.
 *
 * Opens SFRAME_UNWIND_DEVICE; the file is closed on exec. Any thread.
 *
 * Return: 0, or
 * -EINVAL	unknown flag.
 * -ENOENT	no such device: the module is not loaded.
 * -EACCES	no permission to open it.
 * -ENOTTY	it is not the device of this module.
 * -EOPNOTSUPP	the module does not speak this library's ABI.
 * -ENOMEM	no memory.
 * and other errors of open(2). sframe_unwind_error(NULL) has details.
 */
int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags);

/**
 * sframe_unwind_open_fd() - make a handle from a file that is open already
 * @handle: set to a new handle, or to NULL on failure.
 * @fd: the open device, owned by the caller: sframe_unwind_close() leaves it
 *	open, and it must stay open as long as the handle is used.
 *
 * Any thread.
 *
 * Return: 0, or -EBADF, -ENOTTY, -EOPNOTSUPP, -ENOMEM as for
 * sframe_unwind_open().
 */
int sframe_unwind_open_fd(struct sframe_unwind **handle, int fd);

/**
 * sframe_unwind_close() - free a handle
 * @handle: the handle, or NULL.
 *
 * Sections stay registered: they belong to the address space. Stacks that
 * were not read are lost. No thread and no signal handler may be using the
 * handle.
 */
void sframe_unwind_close(struct sframe_unwind *handle);

/**
 * sframe_unwind_fd() - the file of a handle, to poll(2) for records
 * @handle: the handle.
 *
 * Any thread; async-signal-safe. Records in the handle's buffer do not make the
 * file readable: before polling, call sframe_unwind_read() until it returns
 * -EAGAIN.
 */
int sframe_unwind_fd(const struct sframe_unwind *handle);

/**
 * sframe_unwind_error() - message of the last failure
 * @handle: a handle, or NULL for an open that failed.
 *
 * Any thread. Each thread sees its own last failure, until it calls a function
 * with another handle. sframe_unwind_request(), sframe_unwind_request_self()
 * and sframe_unwind_own_stack() leave no message, so that signal handlers can use
 * them.
 *
 * File names in the message are not escaped: escape the message before printing
 * it on a terminal. Not async-signal-safe.
 *
 * Return: an English sentence, empty if there is none; never NULL. It is valid
 * until the thread calls a function of this library again.
 */
const char *sframe_unwind_error(const struct sframe_unwind *handle);

/**
 * sframe_unwind_query() - version, features and limits of the module
 * @handle: the handle.
 * @query: filled.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_QUERY.
 */
int sframe_unwind_query(struct sframe_unwind *handle,
			struct sframe_unwind_query *query);

/**
 * sframe_unwind_stats() - counters of this client and this address space
 * @handle: the handle.
 * @stats: filled.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_STATS.
 */
int sframe_unwind_stats(struct sframe_unwind *handle,
			struct sframe_unwind_stats *stats);

/*
 * Sections
 */

/**
 * sframe_unwind_register() - use a section for a range of code
 * @handle: the handle.
 * @sframe_start: the section, in memory that stays until it is unregistered.
 * @sframe_size: its size in bytes; may be larger than the table.
 * @text_start: the code that it describes.
 * @text_size: size of that code in bytes.
 * @flags: SFRAME_UNWIND_REGISTER_* bits.
 * @id: set to the id for sframe_unwind_unregister(); NULL if not wanted.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_REGISTER; -EEXIST if a section
 * is registered for part of that code.
 */
int sframe_unwind_register(struct sframe_unwind *handle,
			   const void *sframe_start, size_t sframe_size,
			   const void *text_start, size_t text_size,
			   unsigned int flags, uint64_t *id);

/**
 * sframe_unwind_unregister() - end the use of a registered section
 * @handle: any handle of this process.
 * @id: the id that sframe_unwind_register() returned.
 *
 * Any thread.
 *
 * Return: 0, or -ENOENT if the section is not registered (any more), or another
 * error of SFRAME_UNWIND_IOC_UNREGISTER.
 */
int sframe_unwind_unregister(struct sframe_unwind *handle, uint64_t id);

/**
 * sframe_unwind_unregister_section() - end all uses of a section
 * @handle: any handle of this process.
 * @sframe_start: the section's address when it was registered.
 *
 * Any thread.
 *
 * Return: number of registrations that ended, at least 1, or -ENOENT, or another
 * error of SFRAME_UNWIND_IOC_UNREGISTER.
 */
int sframe_unwind_unregister_section(struct sframe_unwind *handle,
				     const void *sframe_start);

/**
 * typedef sframe_unwind_refused_fn - called for an object that was refused
 * @data: from the caller of sframe_unwind_register_objects().
 * @object: file name of the object, not escaped.
 * @error: negative errno of SFRAME_UNWIND_IOC_REGISTER.
 * @message: what was wrong with its section.
 *
 * The callback must not load or unload objects.
 */
typedef void (*sframe_unwind_refused_fn)(void *data, const char *object,
					 int error, const char *message);

/**
 * sframe_unwind_register_objects() - register every loaded object
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_REGISTER_* bits.
 * @refused: called for each object whose section the kernel refuses, or NULL.
 *	The other objects are registered all the same.
 * @data: for @refused.
 *
 * Registers the PT_GNU_SFRAME segment of the program and of each shared object
 * for each executable segment of that object. Skips objects that have no such
 * segment, an empty one, or are registered already: call it again after
 * dlopen(3) to register the new objects. dlclose(3) needs no call.
 *
 * Any thread, but not in a child of fork() whose parent had several: like
 * dl_iterate_phdr(3), it holds locks of the dynamic linker.
 *
 * Return: number of objects newly registered, which may be 0, or the error
 * that stopped it before it had seen all objects: -ENOSPC, -ENOMEM, -EINTR,
 * -EBADF, -ENOTTY. Objects registered by then stay registered. On success,
 * sframe_unwind_error() describes the last refused object, if there was one.
 */
int sframe_unwind_register_objects(struct sframe_unwind *handle,
				   unsigned int flags,
				   sframe_unwind_refused_fn refused,
				   void *data);

/**
 * sframe_unwind_list() - sections in use in this address space
 * @handle: any handle of this process.
 * @from: list sections whose code starts at or above this address.
 * @sections: array to be filled, ascending by address of the code.
 * @nr: entries that the array has room for.
 * @total: set to the number of all sections; NULL if not wanted.
 *
 * To list all, call it again with @from just above the last entry's text_start
 * until it returns 0. Any thread.
 *
 * Return: entries filled, or the error of SFRAME_UNWIND_IOC_LIST.
 */
int sframe_unwind_list(struct sframe_unwind *handle, uint64_t from,
		       struct sframe_unwind_section *sections, unsigned int nr,
		       unsigned int *total);

/**
 * sframe_unwind_section_name() - the file that a section's code is mapped from
 * @handle: any handle of this process.
 * @section: an entry filled by sframe_unwind_list().
 * @name: filled with a string, empty for code in anonymous memory, truncated to
 *	@size bytes.
 * @size: bytes that @name has room for, at least 1.
 *
 * Any thread.
 *
 * Return: 0, or -ENOENT if the section is not in use any more, or another error
 * of SFRAME_UNWIND_IOC_LIST.
 */
int sframe_unwind_section_name(struct sframe_unwind *handle,
			       const struct sframe_unwind_section *section,
			       char *name, size_t size);

/*
 * Requests
 */

/**
 * sframe_unwind_request() - request the stack of a thread
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_REQUEST_* bits.
 * @tid: a thread of this process or, with CAP_PERFMON or CAP_SYS_ADMIN, of any;
 *	0 is the calling thread.
 * @max_depth: largest number of frames wanted; 0 means 128.
 * @user_data: returned in the record.
 * @cookie: set to the number that identifies the walk in its record; NULL if
 *	not wanted.
 *
 * Any thread; async-signal-safe; leaves errno and the message alone. Makes the
 * system call in its own code, because libc's may have no SFrame data: the
 * first frame of the calling thread's stack is in this function, the second
 * in its caller. The calling thread's record can be read on return.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_REQUEST.
 */
int sframe_unwind_request(const struct sframe_unwind *handle,
			  unsigned int flags, pid_t tid,
			  unsigned int max_depth, uint64_t user_data,
			  uint64_t *cookie);

/**
 * sframe_unwind_request_self() - request the stack of the calling thread
 * @handle: the handle.
 * @user_data: returned in the record.
 *
 * sframe_unwind_request() with no flags, the default depth and no cookie. Any
 * thread; async-signal-safe; leaves errno and the message alone.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_REQUEST.
 */
int sframe_unwind_request_self(const struct sframe_unwind *handle,
			       uint64_t user_data);

/**
 * sframe_unwind_own_stack() - unwind the stack of the calling thread at once
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_STACK_* bits.
 * @ips: array of @max_depth elements that gets the frames' addresses.
 * @how: array of @max_depth elements that gets how each frame was found,
 *	enum sframe_unwind_frame; NULL if not wanted.
 * @max_depth: largest number of frames wanted, at least 1.
 * @stop: set to why the stack ends; NULL if not wanted.
 *
 * Makes no record. The first frame is in this function, as with
 * sframe_unwind_request(). Any thread; async-signal-safe; leaves errno and the
 * message alone.
 *
 * Return: the number of frames, or the error of SFRAME_UNWIND_IOC_STACK.
 */
int sframe_unwind_own_stack(const struct sframe_unwind *handle,
			    unsigned int flags, uint64_t *ips, uint8_t *how,
			    unsigned int max_depth,
			    enum sframe_unwind_stop *stop);

/*
 * Records
 */

/**
 * sframe_unwind_events() - get records of events in this address space
 * @handle: the handle that gets the records.
 * @flags: SFRAME_UNWIND_EVENTS_* bits; 0 stops them.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_EVENTS.
 */
int sframe_unwind_events(struct sframe_unwind *handle, unsigned int flags);

/* Flag of sframe_unwind_read(): return -EAGAIN instead of waiting. */
#define SFRAME_UNWIND_READ_NONBLOCK	0x01U
/* Flag of sframe_unwind_read(): return records of unknown types, too. */
#define SFRAME_UNWIND_READ_ANY		0x02U

/**
 * sframe_unwind_read() - the next record
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_READ_* bits.
 * @record: set to the record, which is valid until the next call.
 *
 * Returns stacks, and the events that sframe_unwind_events() has enabled. To
 * tell them apart, pass the record to sframe_unwind_stack_from() and
 * sframe_unwind_removed_from(). One read(2) fetches as many records as the
 * buffer holds. One thread at a time for each handle; other threads may make
 * requests and registrations meanwhile.
 *
 * Return: 0, or
 * -EAGAIN	no record, and the file or the call is non-blocking.
 * -EINTR	a signal handler ran while it waited.
 * -EINVAL	unknown flag.
 * -EBADMSG	the file had ended, or returned malformed records; these are
 *		dropped.
 * -ENOMEM	no memory for the buffer.
 */
int sframe_unwind_read(struct sframe_unwind *handle, unsigned int flags,
		       const struct sframe_unwind_record **record);

/**
 * sframe_unwind_read_stack() - the next stack
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_READ_NONBLOCK or 0.
 * @stack: set to the record, which is valid until the next call.
 *
 * As sframe_unwind_read(), but skips records that are no stacks.
 */
int sframe_unwind_read_stack(struct sframe_unwind *handle, unsigned int flags,
			     const struct sframe_unwind_stack **stack);

/**
 * sframe_unwind_stack_from() - check that a record is a stack
 * @record: a record.
 * @size: bytes that can be read at @record.
 *
 * Use the accessors below only on a stack that this function or
 * sframe_unwind_read_stack() returned. Any thread; async-signal-safe.
 *
 * Return: the stack, or NULL if the record is of another type, incomplete, or
 * too short for the frames it claims.
 */
static inline const struct sframe_unwind_stack *
sframe_unwind_stack_from(const void *record, size_t size)
{
	const struct sframe_unwind_stack *stack =
		(const struct sframe_unwind_stack *)record;

	if (size < sizeof(*stack) || stack->record.size > size ||
	    stack->record.size < sizeof(*stack) ||
	    stack->record.type != SFRAME_UNWIND_RECORD_STACK)
		return NULL;
	/* Each frame has an address and a byte that tells how it was found. */
	if (stack->nr_frames > (stack->record.size - sizeof(*stack)) /
			       (sizeof(stack->ips[0]) + 1))
		return NULL;
	return stack;
}

/**
 * sframe_unwind_removed_from() - check that a record is a section's removal
 * @record: a record.
 * @size: bytes that can be read at @record.
 *
 * Any thread; async-signal-safe.
 *
 * Return: the removal, whose strings are NUL-terminated, or NULL if the record
 * is of another type, incomplete, too short, or has a string without an end.
 */
static inline const struct sframe_unwind_removed *
sframe_unwind_removed_from(const void *record, size_t size)
{
	const struct sframe_unwind_removed *removed =
		(const struct sframe_unwind_removed *)record;

	if (size < sizeof(*removed) || removed->record.size > size ||
	    removed->record.size < sizeof(*removed) ||
	    removed->record.type != SFRAME_UNWIND_RECORD_REMOVED ||
	    removed->defect[sizeof(removed->defect) - 1] ||
	    removed->name[sizeof(removed->name) - 1])
		return NULL;
	return removed;
}

/* Number of frames. Frame 0 is the innermost. */
static inline unsigned int
sframe_unwind_stack_frames(const struct sframe_unwind_stack *stack)
{
	return stack->nr_frames;
}

/* Address of frame @i; 0 if there is no such frame. */
static inline uint64_t
sframe_unwind_stack_ip(const struct sframe_unwind_stack *stack, unsigned int i)
{
	return i < stack->nr_frames ? stack->ips[i] : 0;
}

/* How frame @i was found, enum sframe_unwind_frame; 0 if there is no such frame. */
static inline unsigned int
sframe_unwind_stack_how(const struct sframe_unwind_stack *stack, unsigned int i)
{
	const uint8_t *how = (const uint8_t *)(stack->ips + stack->nr_frames);

	return i < stack->nr_frames ? how[i] : 0;
}

/*
 * Returns whether the address of frame @i is the instruction that runs next, not
 * a return address.
 */
static inline bool
sframe_unwind_stack_is_exact(const struct sframe_unwind_stack *stack,
			     unsigned int i)
{
	const unsigned int how = sframe_unwind_stack_how(stack, i) &
				 ~SFRAME_UNWIND_FRAME_UNSURE;

	return how == SFRAME_UNWIND_FRAME_REGS ||
	       how == SFRAME_UNWIND_FRAME_SIGNAL;
}

/*
 * Address to look up the function and source line of frame @i: a return address
 * minus 1, because it may be the first byte after the calling function.
 */
static inline uint64_t
sframe_unwind_stack_lookup(const struct sframe_unwind_stack *stack,
			   unsigned int i)
{
	const uint64_t ip = sframe_unwind_stack_ip(stack, i);

	return ip && !sframe_unwind_stack_is_exact(stack, i) ? ip - 1 : ip;
}

/*
 * A value of enum sframe_unwind_stop, _frame, _cause, _section_state or
 * _section_source in a few English words; never NULL. Any thread;
 * async-signal-safe.
 */
const char *sframe_unwind_stop_name(unsigned int stop);
const char *sframe_unwind_frame_name(unsigned int how);
const char *sframe_unwind_cause_name(unsigned int cause);
const char *sframe_unwind_state_name(unsigned int state);
const char *sframe_unwind_source_name(unsigned int source);

#ifdef __cplusplus
}
#endif

#include <sframe_unwind_attach.h>
#include <sframe_unwind_sampler.h>
#include <sframe_unwind_table.h>
#include <sframe_unwind_writer.h>

#endif /* SFRAME_UNWIND_H */
