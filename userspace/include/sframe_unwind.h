/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libsframe_unwind: stacks of one's own threads from /dev/sframe_unwind, SFrame
 * V3 sections for code that is generated at run time, and sections from outside
 * for files that have none.
 *
 * Conventions
 *
 * - Functions return 0 or a number that is not negative, or a negative errno.
 *   They leave errno itself undefined unless said otherwise.
 * - sframe_unwind_error() has a sentence about the last failure.
 * - Limits and errors that come from the kernel are described where they are
 *   made: <linux/sframe_unwind.h>.
 * Threads, signals and forks
 *
 * - "Any thread": any number of threads may be in the function with the same
 *   handle at the same time. The library has no lock; what is said to be for
 *   one thread at a time the caller has to order.
 * - "Async-signal-safe": may be called anywhere, also in a signal handler that
 *   has interrupted malloc() or this library, in malloc() itself, and in a child
 *   of vfork(). It makes a system call, or none, and touches no lock, no memory
 *   of malloc(), no thread-local variable, neither errno nor the message. No
 *   function is unless that is said; in a child of vfork() no other may be
 *   called.
 * - sframe_unwind_read() and sframe_unwind_read_stack() are points where a
 *   thread can be cancelled, as read(2) is; the handle can be used afterwards.
 * - A child of fork() may use all functions. Where other threads ran in its
 *   parent, it may not call sframe_unwind_register_objects(), unless it executes
 *   a program first: these threads may have had locks of the dynamic linker.
 *   What its parent has registered it has inherited.
 * - A handle that a child inherits is the same client of the kernel. Stacks that
 *   either asks for come to that client, and each record is read once, by one of
 *   them; what the parent had taken from the kernel, but not returned yet, both
 *   return. So let one of them read, and the other open a handle of its own.
 *   Closing it in one changes nothing in the other.
 * - exec ends all: files are closed on exec, registrations are the address
 *   space's.
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

/* An open /dev/sframe_unwind, with the buffer that its records are read to. */
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
 * and what else open(2) returns. sframe_unwind_error(NULL) tells more.
 */
int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags);

/**
 * sframe_unwind_open_fd() - make a handle from a file that is open already
 * @handle: set to a new handle, or to NULL on failure.
 * @fd: the open device. It stays the caller's: sframe_unwind_close() leaves it
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
 * were not read are lost. Nobody may be using the handle: no thread, and no
 * signal handler of one.
 */
void sframe_unwind_close(struct sframe_unwind *handle);

/**
 * sframe_unwind_fd() - the file of a handle, to poll(2) for records
 * @handle: the handle.
 *
 * Any thread; async-signal-safe. A record that has been taken from the kernel
 * but not yet returned by sframe_unwind_read() does not make the file
 * readable: call that until it returns -EAGAIN before polling.
 */
int sframe_unwind_fd(const struct sframe_unwind *handle);

/**
 * sframe_unwind_error() - what went wrong
 * @handle: a handle, or NULL for an open that failed.
 *
 * Any thread. Each thread sees its own last failure and only until it has one
 * with another handle. sframe_unwind_request() and sframe_unwind_request_self()
 * leave no message, so that signal handlers can use them.
 *
 * Names in it are as they are in the system: who prints it on a terminal has to
 * escape what is there. Not async-signal-safe.
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
 * sframe_unwind_register() - have a section used for a range of code
 * @handle: the handle.
 * @sframe_start: the section, in memory that stays until unregistered.
 * @sframe_size: its size in bytes; more than the table has is fine.
 * @text_start: the code that it describes.
 * @text_size: size of that code in bytes.
 * @flags: SFRAME_UNWIND_REGISTER_* bits.
 * @id: set to what sframe_unwind_unregister() takes; NULL if not wanted.
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
 * @id: what sframe_unwind_register() gave.
 *
 * Any thread.
 *
 * Return: 0, or -ENOENT if it is not registered (any more), or another error
 * of SFRAME_UNWIND_IOC_UNREGISTER.
 */
int sframe_unwind_unregister(struct sframe_unwind *handle, uint64_t id);

/**
 * sframe_unwind_unregister_section() - end all uses of a section
 * @handle: any handle of this process.
 * @sframe_start: the section's address when it was registered.
 *
 * Any thread.
 *
 * Return: how many registrations ended, at least 1, or -ENOENT, or another
 * error of SFRAME_UNWIND_IOC_UNREGISTER.
 */
int sframe_unwind_unregister_section(struct sframe_unwind *handle,
				     const void *sframe_start);

/**
 * typedef sframe_unwind_refused_fn - told of an object that was refused
 * @data: from the caller of sframe_unwind_register_objects().
 * @object: file name of the object, as it is: to be escaped when printed.
 * @error: negative errno of SFRAME_UNWIND_IOC_REGISTER.
 * @message: what was wrong with its section.
 *
 * Must not load or unload objects.
 */
typedef void (*sframe_unwind_refused_fn)(void *data, const char *object,
					 int error, const char *message);

/**
 * sframe_unwind_register_objects() - register every loaded object
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_REGISTER_* bits.
 * @refused: called for each object whose section the kernel does not take, or
 *	NULL. Such an object does not stop the others.
 * @data: for @refused.
 *
 * Registers the PT_GNU_SFRAME segment of the program and of each shared object
 * for each executable segment of that object. Objects without such a segment,
 * with an empty one, or registered before are passed over: to cover what
 * dlopen(3) brought, call this again. What dlclose(3) unmaps needs no call.
 *
 * Any thread, but not in a child of fork() whose parent has several: holds locks
 * of the dynamic linker meanwhile, as dl_iterate_phdr(3) does.
 *
 * Return: number of objects newly registered, which may be 0, or the error
 * that ended it before all objects were seen: -ENOSPC, -ENOMEM, -EINTR,
 * -EBADF, -ENOTTY. Objects registered by then stay so. With no error,
 * sframe_unwind_error() tells of the last refused object, if any was.
 */
int sframe_unwind_register_objects(struct sframe_unwind *handle,
				   unsigned int flags,
				   sframe_unwind_refused_fn refused,
				   void *data);

/**
 * sframe_unwind_list() - sections in use in this address space
 * @handle: any handle of this process.
 * @from: list those whose code starts at or above this address.
 * @sections: array to be filled, ascending by address of the code.
 * @nr: entries that it has room for.
 * @total: set to the number of all there are; NULL if not wanted.
 *
 * To see all, call again with @from behind the last one until it returns 0.
 * Any thread.
 *
 * Return: entries filled, or the error of SFRAME_UNWIND_IOC_LIST.
 */
int sframe_unwind_list(struct sframe_unwind *handle, uint64_t from,
		       struct sframe_unwind_section *sections, unsigned int nr,
		       unsigned int *total);

/**
 * sframe_unwind_section_name() - the file that a section's code is from
 * @handle: any handle of this process.
 * @section: what sframe_unwind_list() gave.
 * @name: filled with a string, empty for code in anonymous memory, cut to
 *	@size bytes.
 * @size: bytes that it has room for, at least 1.
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
 * Sections from outside
 */

/**
 * sframe_unwind_attach() - give a file SFrame data that it does not have
 * @handle: the handle, whose closing ends it.
 * @attach: as <linux/sframe_unwind.h> says; @size, @message and @message_size
 *	are set here. On success @id and @memory are filled, on -EINVAL and
 *	-EOPNOTSUPP @defect_offset.
 *
 * libsframe_unwind_convert makes such data of .eh_frame. Any thread.
 *
 * With SFRAME_UNWIND_ATTACH_INODE it is used for that very file only. Who attaches
 * for others, to files that are not his own, should say so, and tell in @segments
 * what the data was made for: build IDs are names that anybody may choose, and
 * files change. A module without SFRAME_UNWIND_FEATURE_ATTACH_INODE fails with
 * -EINVAL or -E2BIG.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_ATTACH; -EPERM if it was to be
 * for all processes and the caller has neither CAP_SYS_ADMIN nor both CAP_PERFMON
 * and CAP_SYS_PTRACE; -EEXIST if there is something for all processes already and
 * SFRAME_UNWIND_ATTACH_REPLACE was not given; -ESTALE if the file's segments are
 * not those of @segments; -ENOENT if @share_id is unknown.
 */
int sframe_unwind_attach(struct sframe_unwind *handle,
			 struct sframe_unwind_attach *attach);

/**
 * sframe_unwind_attach_sized() - the same, with the structure's size
 * @handle: the handle, whose closing ends it.
 * @attach: as for sframe_unwind_attach().
 * @size: bytes of it that there are, 112 at least.
 *
 * What sframe_unwind_attach() is in C. The function of that name is for programs
 * that were built when the structure had 112 bytes. Any thread.
 *
 * Return: as sframe_unwind_attach().
 */
int sframe_unwind_attach_sized(struct sframe_unwind *handle,
			       struct sframe_unwind_attach *attach,
			       size_t size);
#define sframe_unwind_attach(handle, attach)				\
	sframe_unwind_attach_sized(handle, attach,			\
				   sizeof(struct sframe_unwind_attach))

/**
 * sframe_unwind_detach() - end the use of an attached section
 * @handle: the handle that it was attached by.
 * @id: what sframe_unwind_attach() gave.
 *
 * Any thread.
 *
 * Return: 0, or -ENOENT if this handle has attached no such section, or another
 * error of SFRAME_UNWIND_IOC_DETACH.
 */
int sframe_unwind_detach(struct sframe_unwind *handle, uint64_t id);

/**
 * sframe_unwind_list_attached() - what a handle has attached
 * @handle: the handle.
 * @from: list those whose id is at or above this one.
 * @attached: array to be filled, ascending by id; NULL with @nr 0.
 * @nr: entries that it has room for.
 * @total: set to the number of all; NULL if not wanted.
 * @memory: set to the bytes of kernel memory of all; NULL if not wanted.
 *
 * To see all, call again with @from behind the last one until it returns 0.
 * Any thread.
 *
 * Return: entries filled, or the error of SFRAME_UNWIND_IOC_LIST_ATTACHED.
 */
int sframe_unwind_list_attached(struct sframe_unwind *handle, uint64_t from,
				struct sframe_unwind_attached *attached,
				unsigned int nr, unsigned int *total,
				uint64_t *memory);

/*
 * Requests
 */

/**
 * sframe_unwind_request() - ask for the stack of a thread of this process
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_REQUEST_* bits.
 * @tid: the thread; 0 is the calling one.
 * @max_depth: largest number of frames wanted; 0 is 128.
 * @user_data: returned in the record.
 * @cookie: set to what identifies the walk in its record; NULL if not wanted.
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
 * sframe_unwind_request_self() - ask for the stack of the calling thread
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

/*
 * Records
 */

/**
 * sframe_unwind_events() - be told of what happens to sections
 * @handle: the handle that gets records of it.
 * @flags: SFRAME_UNWIND_EVENTS_* bits; 0 ends it.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_EVENTS.
 */
int sframe_unwind_events(struct sframe_unwind *handle, unsigned int flags);

/* Flag of sframe_unwind_read(): return -EAGAIN instead of waiting. */
#define SFRAME_UNWIND_READ_NONBLOCK	0x01U
/* Flag of sframe_unwind_read(): return records of unknown types as well. */
#define SFRAME_UNWIND_READ_ANY		0x02U

/**
 * sframe_unwind_read() - the next record
 * @handle: the handle.
 * @flags: SFRAME_UNWIND_READ_* bits.
 * @record: set to the record, which is valid until the next call.
 *
 * Stacks, and what sframe_unwind_events() has asked for. To tell which, give
 * the record to sframe_unwind_stack_from() and sframe_unwind_removed_from().
 * Takes as many records from the kernel at once as there are. One thread at a
 * time for each handle; requests and registrations may go on meanwhile.
 *
 * Return: 0, or
 * -EAGAIN	no record, and the file or the call is non-blocking.
 * -EINTR	a signal handler ran while it waited.
 * -EINVAL	unknown flag.
 * -EBADMSG	what was read is no sequence of records; it is dropped.
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
 * As sframe_unwind_read(); records that are no stacks are skipped.
 */
int sframe_unwind_read_stack(struct sframe_unwind *handle, unsigned int flags,
			     const struct sframe_unwind_stack **stack);

/**
 * sframe_unwind_stack_from() - a record as a stack, if it is one
 * @record: a record of which at least @size bytes are there.
 * @size: that number.
 *
 * The accessors below may be used on what this or sframe_unwind_read_stack()
 * returns, and on nothing else. Any thread; async-signal-safe.
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
	/* Per frame an address and a byte that says how it was found. */
	if (stack->nr_frames > (stack->record.size - sizeof(*stack)) /
			       (sizeof(stack->ips[0]) + 1))
		return NULL;
	return stack;
}

/**
 * sframe_unwind_removed_from() - a record as a section's removal, if it is one
 * @record: a record of which at least @size bytes are there.
 * @size: that number.
 *
 * Any thread; async-signal-safe.
 *
 * Return: the removal, whose strings end, or NULL if the record is of another
 * type, incomplete, or too short.
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

/* Number of frames, the innermost one being number 0. */
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

/* How frame @i was found, bits of enum sframe_unwind_frame; 0 if there is none. */
static inline unsigned int
sframe_unwind_stack_how(const struct sframe_unwind_stack *stack, unsigned int i)
{
	const uint8_t *how = (const uint8_t *)(stack->ips + stack->nr_frames);

	return i < stack->nr_frames ? how[i] : 0;
}

/* Is the address of frame @i an instruction to run next, not one to return to? */
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
 * The address whose function and source line frame @i is in: a return address
 * may be the first byte behind its function, so the byte before it counts.
 */
static inline uint64_t
sframe_unwind_stack_lookup(const struct sframe_unwind_stack *stack,
			   unsigned int i)
{
	const uint64_t ip = sframe_unwind_stack_ip(stack, i);

	return ip && !sframe_unwind_stack_is_exact(stack, i) ? ip - 1 : ip;
}

/*
 * What a value of enum sframe_unwind_stop, _frame, _cause, _section_state or
 * _section_source means, in a few English words; never NULL. Any thread;
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

#include <sframe_unwind_writer.h>

#endif /* SFRAME_UNWIND_H */
