// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Attach sections that "sframe-unwind exec" offers, for the own process.
 *
 * An attachment without privilege is for the address space of the process that makes it,
 * so it is made here. But a signal handler must not open files in the program: another
 * thread may rely on getting the lowest descriptor. So it is done in a child, as vfork(2)
 * makes one: it shares the program's memory, has copies of its descriptors, and the
 * thread continues when it has ended. The child sends no signal at its end, and is only
 * found by wait(2) with __WCLONE or __WALL, so the program does not notice it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "attach.h"
#include "ask.h"
#include "syscall.h"

/* Seconds to wait for each answer; the program has stopped meanwhile. */
#define PATIENCE_S 2

/* Milliseconds to wait for another thread that attaches. */
#define LOCK_PATIENCE_MS 2000

/* Most sections at once: a limit in case sframe-unwind never stops offering some. */
#define MAX_SECTIONS 1024

/* Kernel's size of a signal set. */
#define SIGNAL_SET_SIZE 8

/**
 * struct work - for the child
 *
 * @setup: how to ask.
 * @device: the device.
 */
struct work {
	const struct exec_setup *setup;
	int device;
};

/**
 * struct progress - of this address space; a child made by fork() finds zeroes
 *
 * @owner: thread that attaches, or 0.
 * @offers: what was offered the last time; protected by @owner.
 */
struct progress {
	pid_t owner;
	uint32_t offers;
};

static struct progress *progress;	/* NULL: nothing can be attached */

/* The child's stack, protected by the lock. */
static char child_stack[32768] __attribute__((aligned(16)));

/* Returns the errno, or 0 with @id. */
static int attach(int device, const struct exec_section *section,
		  const int files[EXEC_NR_SECTION_FILES], uint64_t *id)
{
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = section->flags,
		.elf_fd = files[EXEC_ELF],
		.sframe_fd = files[EXEC_SFRAME],
		.sframe_size = section->size,
		.build_id_size = section->build_id_size,
		.share_id = section->share_id,
	};
	long err;

	memcpy(arg.build_id, section->build_id, sizeof(arg.build_id));
	err = ioctl_inline(device, SFRAME_UNWIND_IOC_ATTACH, &arg);
	*id = arg.id;
	return -err;
}

/* In the child: ask for sections until there are no more, and attach them. */
static int attach_all(void *data)
{
	const struct work *work = data;
	const int socket = ask_open(work->setup, PATIENCE_S);
	struct exec_report report = { 0 };
	struct exec_section section;
	int files[EXEC_NR_SECTION_FILES];

	for (int i = 0; socket >= 0 && i < MAX_SECTIONS; i++) {
		if (ask_for_section(socket, work->setup, &report, &section,
				    files) ||
		    !section.section)
			break;
		report.section = section.section;
		report.error = attach(work->device, &section, files,
				      &report.id);
		for (int j = 0; j < EXEC_NR_SECTION_FILES; j++)
			if (files[j] >= 0)
				syscall(SYS_close, files[j]);
	}
	return 0;
}

/* Run attach_all() in a child, with all signals blocked. Returns whether there was one. */
static bool run_child(const struct exec_setup *setup, int device)
{
	struct work work = { setup, device };
	uint64_t all = ~0ULL, old;
	pid_t child;

	/* Not sigprocmask(), which excludes the signals of the C library. */
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old,
		    SIGNAL_SET_SIZE))
		return false;
	child = clone(attach_all, child_stack + sizeof(child_stack),
		      CLONE_VM | CLONE_VFORK, &work);
	if (child > 0)
		while (syscall(SYS_wait4, child, NULL, __WCLONE, NULL) < 0 &&
		       errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGNAL_SET_SIZE);
	return child > 0;
}

/* Returns whether this thread is the owner now. */
static bool lock(void)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	const pid_t self = syscall(SYS_gettid);

	for (int i = 0; i < LOCK_PATIENCE_MS; i++) {
		pid_t old = 0;

		if (__atomic_compare_exchange_n(&progress->owner, &old, self,
						false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		/* A signal handler has interrupted this thread in here. */
		if (old == self)
			return false;
		syscall(SYS_nanosleep, &pause, NULL);
	}
	return false;
}

static void unlock(void)
{
	__atomic_store_n(&progress->owner, 0, __ATOMIC_RELEASE);
}

void attach_prepare(void)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return;
	if (madvise(map, size, MADV_WIPEONFORK))
		munmap(map, size);
	else
		progress = map;
}

void attach_offered(const struct exec_setup *setup, int device,
		    uint32_t offers)
{
	if (!progress ||
	    __atomic_load_n(&progress->offers, __ATOMIC_RELAXED) == offers ||
	    !lock())
		return;
	if (progress->offers != offers && run_child(setup, device))
		__atomic_store_n(&progress->offers, offers, __ATOMIC_RELAXED);
	unlock();
}
