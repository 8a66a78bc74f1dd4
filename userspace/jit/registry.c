// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * One lock protects everything here, across fork(), too. Who has it only makes system calls:
 * it waits for no other lock, neither malloc()'s nor one that a program's own allocator holds
 * across fork(). All signals are blocked meanwhile, so that no handler can wait for its own
 * thread here, and the thread cannot be cancelled. System calls are made by syscall(): libc's
 * functions may be cancellation points, or be replaced by the program's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "convert/base/message.h"
#include "jit/descriptors.h"
#include "jit/eh_frame.h"
#include "jit/intervals.h"
#include "jit/registry.h"
#include "jit/section.h"
#include "syscall.h"

/* Bytes of memory that are kept for the next announcement, at most. */
#define MAX_KEPT 262144

/* Kernel's size of a signal set. */
#define SIGNAL_SET_SIZE 8

/**
 * struct range - code of a section; or what the program names sections by
 *
 * @interval: its addresses.
 * @entry: the section.
 * @id: of its registration; 0 if it waits to become executable.
 */
struct range {
	struct interval interval;
	struct entry *entry;
	uint64_t id;
};

/**
 * struct entry - a section
 *
 * @key: what the program will name it by, an interval of one byte.
 * @next: another section with the same key, behind the one that is in the set of keys.
 * @space: bytes behind this structure.
 * @bytes: the section, behind the ranges.
 * @size: its size in bytes.
 * @nr_ranges: number of @ranges.
 * @nr_left: ranges that could not be unregistered.
 * @is_over: the program has taken it back.
 */
struct entry {
	struct range key;
	struct entry *next;
	size_t space;
	unsigned char *bytes;
	size_t size;
	size_t nr_ranges;
	size_t nr_left;
	bool is_over;
	struct range ranges[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t signals_at_fork;

static bool is_on;

/*
 * Entries by key. Their ranges: those that are registered; those that wait. Also the ranges
 * that could not be unregistered, by id.
 */
static struct intervals keys, registered, waiting, left;

/* Ranges that wait, or are about to. Read without the lock. */
static size_t nr_waiting;

/*
 * What a conversion has allocated, for the next one: whoever sets @is_taken has it, without
 * the lock. Else each call would pay for a dozen of malloc() and free().
 */
static struct jit_section kept;
static bool is_taken;

/*
 * An entry that is not used any more, for the next one, or NULL. Without the lock: who exchanges
 * it has it.
 */
static struct entry *spare;

/*
 * _dl_find_object() of glibc from 2.35 on, which looks for an object among all loaded ones without
 * a lock; else NULL.
 */
static int (*find_object)(void *address, void *found);

static uint64_t block_signals(void)
{
	const uint64_t all = ~0ULL;
	uint64_t old = 0;

	/* Not sigprocmask(), which excludes the signals of the C library. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, SIGNAL_SET_SIZE);
	return old;
}

static void restore_signals(uint64_t old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGNAL_SET_SIZE);
}

static uint64_t enter(void)
{
	const uint64_t old = block_signals();

	pthread_mutex_lock(&lock);
	return old;
}

static void leave(uint64_t old)
{
	pthread_mutex_unlock(&lock);
	restore_signals(old);
}

/* Returns whether the registration @id is over. */
static bool unregister(int fd, uint64_t id)
{
	struct sframe_unwind_unregister arg = {
		.size = sizeof(arg),
		.id = id,
	};
	const int err = ioctl_inline(fd, SFRAME_UNWIND_IOC_UNREGISTER, &arg);

	return !err || err == -ENOENT;
}

/* Returns 0 or an errno; with @message, of 128 bytes, what the module says. */
static int register_range(int fd, struct range *range, char *message)
{
	struct sframe_unwind_register arg = {
		.size = sizeof(arg),
		.sframe_start = (uintptr_t)range->entry->bytes,
		.sframe_size = range->entry->size,
		.text_start = range->interval.start,
		.text_size = range->interval.end - range->interval.start,
		.message = (uintptr_t)message,
		.message_size = message ? 128 : 0,
	};
	const int err = -ioctl_inline(fd, SFRAME_UNWIND_IOC_REGISTER, &arg);

	if (!err)
		range->id = arg.id;
	return err;
}

static struct range *range_of(struct interval *interval)
{
	return (struct range *)interval;
}

/* Put @entry, which is in no set any more, on the list of what is to be freed. */
static void discard(struct entry *entry, struct entry **garbage)
{
	entry->next = *garbage;
	*garbage = entry;
}

/* Take @range out of its set, and end its registration. */
static void end_range(int fd, struct range *range)
{
	if (!range->id) {
		sfu_intervals_remove(&waiting, &range->interval);
		__atomic_fetch_sub(&nr_waiting, 1, __ATOMIC_SEQ_CST);
		return;
	}
	sfu_intervals_remove(&registered, &range->interval);
	if (unregister(fd, range->id))
		return;
	/* The module still reads the section. Try again when something else is done. */
	range->interval.start = range->id;
	range->interval.end = range->id + 1;
	sfu_intervals_add(&left, &range->interval);
	range->entry->nr_left++;
}

/* End what could not be ended before. */
static void end_left(int fd, struct entry **garbage)
{
	struct interval *interval;

	while ((interval = sfu_intervals_find(&left, 0, UINT64_MAX)) &&
	       unregister(fd, range_of(interval)->id)) {
		struct entry *entry = range_of(interval)->entry;

		sfu_intervals_remove(&left, interval);
		if (!--entry->nr_left && entry->is_over)
			discard(entry, garbage);
	}
}

/* Returns whether @range is in one of the sets of code. */
static bool is_used(const struct range *range)
{
	const struct interval *interval = &range->interval;

	return interval == sfu_intervals_find(range->id ? &registered : &waiting,
					      interval->start, interval->end);
}

static struct interval *find_key(const void *key)
{
	return sfu_intervals_find(&keys, (uintptr_t)key, (uintptr_t)key + 1);
}

/* Remove what the program names @key. */
static void drop(int fd, const void *key, struct entry **garbage)
{
	struct interval *interval = find_key(key);
	struct entry *entry, *next;

	if (!interval)
		return;
	sfu_intervals_remove(&keys, interval);
	for (entry = range_of(interval)->entry; entry; entry = next) {
		next = entry->next;
		for (size_t i = 0; i < entry->nr_ranges; i++)
			if (is_used(&entry->ranges[i]))
				end_range(fd, &entry->ranges[i]);
		entry->is_over = true;
		if (!entry->nr_left)
			discard(entry, garbage);
	}
}

/* Returns some code that is known between @start and @end, or NULL. */
static struct interval *find_code(uint64_t start, uint64_t end)
{
	struct interval *interval = sfu_intervals_find(&registered, start, end);

	return interval ? interval : sfu_intervals_find(&waiting, start, end);
}

static void end_between(int fd, uint64_t start, uint64_t end)
{
	struct interval *older;

	while ((older = find_code(start, end)))
		end_range(fd, range_of(older));
}

/*
 * End what is known of the code of @code: the program has reused its memory. Also of what lies
 * between the functions of @entry, perhaps NULL: the ranges in a set must not overlap.
 */
static void end_older(int fd, const struct eh_frame *code, const struct entry *entry)
{
	const size_t nr = nr_functions(code);

	/* In most cases nothing is. */
	if (!nr || !find_code(code->start, code->end))
		return;
	for (size_t i = 0; i < nr; i++)
		end_between(fd, function_at(code, i)->start, code_end(function_at(code, i)));
	for (size_t i = 0; entry && i < entry->nr_ranges; i++)
		end_between(fd, entry->ranges[i].interval.start,
			    entry->ranges[i].interval.end);
}

/*
 * Register @range, which is in no set, or let it wait. Returns 0, or the errno of code that
 * will not be registered.
 */
static int place(int fd, struct range *range, char *message)
{
	int err;

	/* Before it is tried: what becomes executable from now on waits for the lock. */
	__atomic_fetch_add(&nr_waiting, 1, __ATOMIC_SEQ_CST);
	err = register_range(fd, range, message);
	/* Not executable, or not mapped. */
	if (err == EACCES || err == EFAULT) {
		sfu_intervals_add(&waiting, &range->interval);
		return 0;
	}
	__atomic_fetch_sub(&nr_waiting, 1, __ATOMIC_SEQ_CST);
	if (!err)
		sfu_intervals_add(&registered, &range->interval);
	return err;
}

/* Register what waits between @start and @end, and is executable now. */
static void register_waiting(int fd, uint64_t start, uint64_t end)
{
	struct interval *interval;
	int err;

	while ((interval = sfu_intervals_find(&waiting, start, end))) {
		struct range *range = range_of(interval);

		start = interval->end;
		err = register_range(fd, range, NULL);
		if (err == EACCES || err == EFAULT)
			continue;
		sfu_intervals_remove(&waiting, interval);
		__atomic_fetch_sub(&nr_waiting, 1, __ATOMIC_SEQ_CST);
		if (!err)
			sfu_intervals_add(&registered, interval);
	}
}

/* Returns memory for an entry, and @space bytes behind it; or NULL. */
static struct entry *allocate_entry(size_t space)
{
	struct entry *entry = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);

	/* It may be kept for long. */
	if (entry && entry->space >= space && entry->space / 2 <= space)
		return entry;
	free(entry);
	entry = malloc(sizeof(*entry) + space);
	if (entry)
		entry->space = space;
	return entry;
}

static void free_entry(struct entry *entry)
{
	if (entry->space <= MAX_KEPT)
		entry = __atomic_exchange_n(&spare, entry, __ATOMIC_ACQ_REL);
	free(entry);
}

/* Make an entry of @section. Returns NULL without memory. */
static struct entry *create_entry(const void *key, const struct jit_section *section)
{
	const size_t nr = nr_jit_ranges(&section->ranges);
	struct entry *entry = allocate_entry(nr * sizeof(entry->ranges[0]) + section->size);

	if (!entry)
		return NULL;
	*entry = (struct entry){
		.key.interval.start = (uintptr_t)key,
		.key.interval.end = (uintptr_t)key + 1,
		.key.entry = entry,
		.space = entry->space,
		.bytes = (unsigned char *)&entry->ranges[nr],
		.size = section->size,
		.nr_ranges = nr,
	};
	for (size_t i = 0; i < nr; i++)
		entry->ranges[i] = (struct range){
			.interval.start = jit_range_at(&section->ranges, i)->start,
			.interval.end = jit_range_at(&section->ranges, i)->end,
			.entry = entry,
		};
	sfu_jit_section_write(section, entry->bytes);
	return entry;
}

/* Add @entry, or with NULL nothing, in place of what was there. Returns as place(). */
static int add_entry(int fd, struct entry *entry, const struct eh_frame *code,
		     char *message)
{
	struct interval *same;
	int err, failure = 0;

	end_older(fd, code, entry);
	if (!entry)
		return 0;
	same = sfu_intervals_find(&keys, entry->key.interval.start,
				  entry->key.interval.end);
	if (same) {
		entry->next = range_of(same)->entry->next;
		range_of(same)->entry->next = entry;
	} else {
		sfu_intervals_add(&keys, &entry->key.interval);
	}
	for (size_t i = 0; i < entry->nr_ranges; i++) {
		err = place(fd, &entry->ranges[i], message);
		if (err)
			failure = err;
	}
	return failure;
}

static void free_all(struct entry *garbage)
{
	while (garbage) {
		struct entry *next = garbage->next;

		free_entry(garbage);
		garbage = next;
	}
}

static bool is_in_object(const void *address)
{
	/* There is room for more than it has in any release. */
	uintptr_t found[32];
	Dl_info info;

	return find_object ? !find_object((void *)(uintptr_t)address, found) :
			     dladdr(address, &info);
}

/*
 * Returns whether the .eh_frame at @begin is that of a loaded object, which its own start code
 * announces if there is somebody to announce it to: no generated code.
 */
static bool is_of_object(const void *begin)
{
	return is_in_object(begin) &&
	       is_in_object((const void *)(uintptr_t)sfu_eh_frame_first(begin));
}

/*
 * Returns the section to convert to: @own while the one that is kept is taken by another
 * thread, or by the code that a signal handler has interrupted. If this process was forked
 * meanwhile, it stays so for ever.
 */
static struct jit_section *take_section(struct jit_section *own)
{
	if (!__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQUIRE))
		return &kept;
	memset(own, 0, sizeof(*own));
	return own;
}

static void give_section(struct jit_section *section)
{
	if (section != &kept || sfu_jit_section_space(section) > MAX_KEPT)
		sfu_jit_section_free(section);
	if (section == &kept)
		__atomic_store_n(&is_taken, false, __ATOMIC_RELEASE);
}

/* @replaces: in place of what was added with @key before. */
static void add(const void *key, const void *begin, bool replaces)
{
	struct entry *entry = NULL, *garbage = NULL;
	struct jit_section own, *section;
	char message[128] = "";
	uint64_t signals;
	int fd, err;

	if (is_of_object(begin))
		return;
	section = take_section(&own);
	if (sfu_jit_section_make(begin, section))
		sfu_jit_tell(key, "not converted: %s", sfu_message_text());
	else
		entry = create_entry(key, section);
	signals = enter();
	fd = sfu_jit_device();
	end_left(fd, &garbage);
	if (replaces)
		drop(fd, key, &garbage);
	err = add_entry(fd, entry, &section->eh_frame, message);
	leave(signals);
	free_all(garbage);
	if (err)
		sfu_jit_tell(key, "not registered: %s: %s", strerror(err), message);
	give_section(section);
}

void sfu_jit_remove(const void *key)
{
	const int old_errno = errno;
	struct entry *garbage = NULL;
	uint64_t signals;
	int fd;

	if (!is_on)
		return;
	signals = enter();
	/* Without need, no system calls that a sandbox may kill for: objects take back at exit. */
	if (find_key(key)) {
		fd = sfu_jit_device();
		end_left(fd, &garbage);
		drop(fd, key, &garbage);
	}
	leave(signals);
	free_all(garbage);
	errno = old_errno;
}

void sfu_jit_add(const void *key, const void *const *begins)
{
	const int old_errno = errno;

	for (size_t i = 0; is_on && begins[i]; i++)
		add(key, begins[i], !i);
	errno = old_errno;
}

void sfu_jit_protected(const void *start, size_t size)
{
	const uint64_t from = (uintptr_t)start;
	const uint64_t to = from + size < from ? UINT64_MAX : from + size;
	const int old_errno = errno;
	uint64_t signals;

	if (!__atomic_load_n(&nr_waiting, __ATOMIC_SEQ_CST))
		return;
	signals = enter();
	/* As in sfu_jit_remove(). */
	if (sfu_intervals_find(&waiting, from, to))
		register_waiting(sfu_jit_device(), from, to);
	leave(signals);
	errno = old_errno;
}

static void before_fork(void)
{
	signals_at_fork = enter();
}

static void in_parent(void)
{
	leave(signals_at_fork);
}

static void in_child(void)
{
	const int old_errno = errno;

	/* What the parent has made executable since its memory was copied is the parent's. */
	if (nr_waiting)
		register_waiting(sfu_jit_device(), 0, UINT64_MAX);
	leave(signals_at_fork);
	errno = old_errno;
}

void sfu_jit_open(bool is_verbose)
{
	const int old_errno = errno;
	int fd;

	if (is_verbose)
		sfu_jit_keep_standard_error();
	*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	fd = sfu_jit_device();
	if (fd < 0)
		sfu_jit_tell(NULL, "%s: %s", SFRAME_UNWIND_DEVICE, strerror(errno));
	/* Later there may be room for another descriptor. */
	is_on = (fd >= 0 || errno == EMFILE || errno == ENFILE) &&
		!pthread_atfork(before_fork, in_parent, in_child);
	errno = old_errno;
}
