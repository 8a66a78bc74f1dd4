// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "convert/base/message.h"
#include "jit/registry.h"
#include "jit/section.h"
#include "syscall.h"

/* The device's descriptor is moved out of the way of programs that count on low ones. */
#define LOWEST_FD 512

#define FIRST_BUCKETS 64

/**
 * struct entry - a section that was made
 *
 * @next: in the bucket.
 * @next_waiting, @last_waiting: in the list of those that wait. @last_waiting is the link
 *	that leads here, or NULL.
 * @key: what the program will name it by.
 * @section: the section.
 */
struct entry {
	struct entry *next;
	struct entry *next_waiting;
	struct entry **last_waiting;
	const void *key;
	struct jit_section section;
};

/* Protects all that follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry **buckets;
static size_t nr_buckets, nr_entries;

/* Those with code that is not executable yet. Read without the lock to see if it is empty. */
static struct entry *waiting;

/* Code became executable while the lock was held: who gives it back registers the code. */
static bool has_missed;

/* -1 if it cannot be opened; is_off: it never can. */
static int device = -1;
static struct stat device_stat;
static bool is_off = true;
static bool is_verbose;

__attribute__((format(printf, 2, 3)))
static void tell(const void *key, const char *format, ...)
{
	char text[512];
	va_list args;

	if (!is_verbose)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(STDERR_FILENO, "sframe_unwind: code announced by %p: %s\n", key,
		text);
}

static void open_device(void)
{
	const int fd = open(SFRAME_UNWIND_DEVICE, O_RDWR | O_CLOEXEC);

	device = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
	if (device < 0) {
		/* A limit of descriptors below LOWEST_FD; or there is no device. */
		device = fd;
		is_off = fd < 0 && errno != EMFILE && errno != ENFILE;
	} else {
		close(fd);
	}
	if (device >= 0 && fstat(device, &device_stat)) {
		close(device);
		device = -1;
	}
}

/*
 * Returns the device, or -1. Programs close descriptors that they have not opened: then the
 * number may be another file now.
 */
static int get_device(void)
{
	struct stat now;

	if (device >= 0 && !fstat(device, &now) &&
	    now.st_rdev == device_stat.st_rdev && now.st_ino == device_stat.st_ino &&
	    now.st_dev == device_stat.st_dev && S_ISCHR(now.st_mode))
		return device;
	if (!is_off)
		open_device();
	return device;
}

static struct entry **bucket_of(const void *key)
{
	/* Golden ratio, as in hash tables of the kernel. */
	const uint64_t hash = (uintptr_t)key * 0x61c8864680b583ebULL;

	return &buckets[(hash >> 32) & (nr_buckets - 1)];
}

/* Make room for one more. If there is no memory, the buckets are longer. */
static bool grow(void)
{
	struct entry **old = buckets, **more;
	const size_t nr_old = nr_buckets;

	if (nr_entries < nr_buckets)
		return true;
	more = calloc(nr_old ? 2 * nr_old : FIRST_BUCKETS, sizeof(*more));
	if (!more)
		return nr_old;
	buckets = more;
	nr_buckets = nr_old ? 2 * nr_old : FIRST_BUCKETS;
	for (size_t i = 0; i < nr_old; i++) {
		while (old[i]) {
			struct entry *entry = old[i], **bucket = bucket_of(entry->key);

			old[i] = entry->next;
			entry->next = *bucket;
			*bucket = entry;
		}
	}
	free(old);
	return true;
}

static void wait_more(struct entry *entry)
{
	if (entry->last_waiting)
		return;
	entry->next_waiting = waiting;
	if (waiting)
		waiting->last_waiting = &entry->next_waiting;
	entry->last_waiting = &waiting;
	__atomic_store_n(&waiting, entry, __ATOMIC_SEQ_CST);
}

static void wait_no_more(struct entry *entry)
{
	if (!entry->last_waiting)
		return;
	if (entry->next_waiting)
		entry->next_waiting->last_waiting = entry->last_waiting;
	__atomic_store_n(entry->last_waiting, entry->next_waiting, __ATOMIC_RELAXED);
	entry->last_waiting = NULL;
}

/* End all registrations of a section. Async-signal-safe. */
static void unregister(int fd, struct jit_section *section)
{
	struct sframe_unwind_unregister arg = {
		.size = sizeof(arg),
		.sframe_start = (uintptr_t)section->bytes,
	};
	bool was_registered = false;

	for (size_t i = 0; i < section->nr_ranges; i++) {
		was_registered |= section->ranges[i].is_registered;
		section->ranges[i].is_registered = false;
	}
	if (was_registered)
		ioctl_inline(fd, SFRAME_UNWIND_IOC_UNREGISTER, &arg);
}

/* Remove what the program names @key. */
static void drop(int fd, const void *key)
{
	struct entry **link = bucket_of(key), *entry;

	while ((entry = *link)) {
		if (entry->key != key) {
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		nr_entries--;
		wait_no_more(entry);
		unregister(fd, &entry->section);
		sfu_jit_section_free(&entry->section);
		free(entry);
	}
}

static bool is_over(const struct jit_section *section, const struct jit_range *range)
{
	for (size_t i = 0; i < section->nr_ranges; i++)
		if (section->ranges[i].is_registered &&
		    section->ranges[i].start < range->end &&
		    section->ranges[i].end > range->start)
			return true;
	return false;
}

/*
 * End the registration of sections that have code in @range: the program has reused its
 * memory, and not told. Async-signal-safe.
 */
static void end_older(int fd, const struct jit_range *range)
{
	for (size_t i = 0; i < nr_buckets; i++)
		for (struct entry *entry = buckets[i]; entry; entry = entry->next) {
			if (!is_over(&entry->section, range))
				continue;
			unregister(fd, &entry->section);
			/* Not again, whatever becomes executable. */
			entry->section.nr_ranges = 0;
		}
}

/* Returns 0 or an errno, with @message. Async-signal-safe. */
static int register_range(int fd, const struct jit_section *section,
			  const struct jit_range *range, char message[128])
{
	struct sframe_unwind_register arg = {
		.size = sizeof(arg),
		.sframe_start = (uintptr_t)section->bytes,
		.sframe_size = section->size,
		.text_start = range->start,
		.text_size = range->end - range->start,
		.message = (uintptr_t)message,
		.message_size = 128,
	};

	message[0] = '\0';
	return -ioctl_inline(fd, SFRAME_UNWIND_IOC_REGISTER, &arg);
}

/*
 * Register the code of @entry that is between @start and @end, and not registered yet. Code
 * that cannot be executed yet waits. Returns 0, or the errno of other code, with @message.
 * Async-signal-safe.
 */
static int register_code(int fd, struct entry *entry, uint64_t start, uint64_t end,
			 char message[128])
{
	struct jit_section *section = &entry->section;
	int err, failure = 0;
	bool waits = false;

	for (size_t i = 0; i < section->nr_ranges; i++) {
		struct jit_range *range = &section->ranges[i];

		if (range->is_registered)
			continue;
		if (range->start >= end || range->end <= start) {
			waits = true;
			continue;
		}
		err = register_range(fd, section, range, message);
		if (err == EEXIST) {
			end_older(fd, range);
			err = register_range(fd, section, range, message);
		}
		range->is_registered = !err;
		/* Not executable, or not mapped. */
		if (err == EACCES || err == EFAULT)
			waits = true;
		else if (err)
			failure = err;
	}
	if (waits)
		wait_more(entry);
	else
		wait_no_more(entry);
	return failure;
}

/* Register waiting code between @start and @end. Async-signal-safe. */
static void register_waiting(uint64_t start, uint64_t end)
{
	const int fd = get_device();
	struct entry *entry, *next;
	char message[128];

	for (entry = waiting; fd >= 0 && entry; entry = next) {
		next = entry->next_waiting;
		register_code(fd, entry, start, end, message);
	}
}

/* Give the lock back. Async-signal-safe. */
static void release(void)
{
	do {
		if (__atomic_exchange_n(&has_missed, false, __ATOMIC_SEQ_CST))
			register_waiting(0, UINT64_MAX);
		pthread_mutex_unlock(&lock);
	} while (__atomic_load_n(&has_missed, __ATOMIC_SEQ_CST) &&
		 !pthread_mutex_trylock(&lock));
}

static void add(int fd, const void *key, const void *begin)
{
	struct entry *entry;
	char message[128];
	int err;

	entry = grow() ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return;
	entry->key = key;
	err = sfu_jit_section_make(begin, &entry->section);
	if (err) {
		tell(key, "not converted: %s", sfu_message_text());
		free(entry);
		return;
	}
	entry->next = *bucket_of(key);
	*bucket_of(key) = entry;
	nr_entries++;
	err = register_code(fd, entry, 0, UINT64_MAX, message);
	/* It may have become executable before it waited. */
	if (!err && entry->last_waiting)
		err = register_code(fd, entry, 0, UINT64_MAX, message);
	if (err)
		tell(key, "not registered: %s: %s", strerror(err), message);
}

void sfu_jit_add(const void *key, const void *const *begins)
{
	const int old_errno = errno;
	int fd;

	pthread_mutex_lock(&lock);
	fd = get_device();
	/* The program has reused this memory, too. */
	if (nr_buckets)
		drop(fd, key);
	for (; fd >= 0 && *begins; begins++)
		add(fd, key, *begins);
	release();
	errno = old_errno;
}

void sfu_jit_remove(const void *key)
{
	const int old_errno = errno;

	pthread_mutex_lock(&lock);
	if (nr_buckets)
		drop(get_device(), key);
	release();
	errno = old_errno;
}

void sfu_jit_protected(const void *start, size_t size)
{
	const uint64_t from = (uintptr_t)start, to = from + size;
	const int old_errno = errno;

	if (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		return;
	if (pthread_mutex_trylock(&lock)) {
		__atomic_store_n(&has_missed, true, __ATOMIC_SEQ_CST);
		if (pthread_mutex_trylock(&lock))
			return;
	}
	register_waiting(from, to < from ? UINT64_MAX : to);
	release();
	errno = old_errno;
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sfu_jit_open(bool verbose)
{
	const int old_errno = errno;

	is_verbose = verbose;
	is_off = false;
	if (pthread_atfork(take_lock, release, release))
		is_off = true;
	else
		open_device();
	if (device < 0 && verbose)
		dprintf(STDERR_FILENO, "sframe_unwind: %s: %s\n",
			SFRAME_UNWIND_DEVICE, strerror(errno));
	errno = old_errno;
}
