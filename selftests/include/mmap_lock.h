/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process whose mmap lock is held as long as the test likes: a page fault that
 * waits for a FUSE server holds it for reading, and a thread that waits to
 * change mappings blocks all later readers.
 */
#ifndef SELFTESTS_MMAP_LOCK_H
#define SELFTESTS_MMAP_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "common.h"
#include "fuse.h"
#include "process.h"

/**
 * struct mmap_lock - shared by the process and the test
 *
 * @path: file with a page that the server does not deliver.
 * @page: its mapping in the process.
 * @mapper: the thread that changes mappings.
 * @mappings: number of its changes.
 */
struct mmap_lock {
	const char *path;
	const volatile unsigned char *page;
	atomic_int mapper;
	atomic_uint mappings;
};

static void *mmap_lock_fault(void *data)
{
	struct mmap_lock *lock = data;

	return (void *)(uintptr_t)*lock->page;
}

static void *mmap_lock_change(void *data)
{
	struct mmap_lock *lock = data;

	atomic_store(&lock->mapper, gettid());
	for (;;) {
		munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0), PAGE);
		atomic_fetch_add(&lock->mappings, 1);
		usleep(100);
	}
	return NULL;
}

/* In the process: map the page. */
static inline bool mmap_lock_prepare(struct mmap_lock *lock)
{
	const int file = open(lock->path, O_RDONLY);
	struct stat stat;

	/* Make the kernel ask for the file's size. */
	fstat(file, &stat);
	lock->page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	/* Now, because later nothing answers the request sent by close(). */
	close(file);
	return lock->page != MAP_FAILED;
}

/* In the process: start the threads that hold the lock and wait for it. */
static inline bool mmap_lock_hold(struct mmap_lock *lock)
{
	pthread_t mapper, faulter;

	if (pthread_create(&mapper, NULL, mmap_lock_change, lock))
		return false;
	while (!atomic_load(&lock->mappings))
		usleep(1000);
	return !pthread_create(&faulter, NULL, mmap_lock_fault, lock);
}

/*
 * Wait until thread @tid stays in an uninterruptible sleep. Returns false if
 * @counter, which the thread advances, advances, or if the thread has ended.
 */
static inline bool stays_blocked(pid_t tid, atomic_uint *counter)
{
	const unsigned int before = atomic_load(counter);
	int blocked = 0;
	char state;

	/* One increment may have been under way. */
	while (blocked < 20 && atomic_load(counter) < before + 2) {
		state = thread_state(tid);
		if (!state || state == 'Z')
			return false;
		blocked = state == 'D' ? blocked + 1 : 0;
		usleep(10000);
	}
	return blocked == 20;
}

/*
 * In the test: make the fault of process @pid wait while it holds the lock.
 * Which of its attempts to read the page holds the lock depends on the kernel:
 * earlier attempts get an error.
 */
static inline bool mmap_lock_block(struct mmap_lock *lock, struct fuse *fuse,
				   pid_t pid)
{
	const int pidfd = syscall(SYS_pidfd_open, pid, 0);
	bool is_blocked = false;

	while (pidfd >= 0 && !is_blocked && fuse_serve(fuse, pidfd, 0)) {
		is_blocked = stays_blocked(lock->mapper, &lock->mappings);
		if (!is_blocked) {
			fuse_reply(fuse, fuse->open_question, EIO, NULL, 0);
			fuse->open_question = 0;
		}
	}
	close(pidfd);
	return is_blocked;
}

#endif /* SELFTESTS_MMAP_LOCK_H */
