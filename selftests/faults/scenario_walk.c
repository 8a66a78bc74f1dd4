// SPDX-License-Identifier: GPL-2.0
/* Scenarios of walks, and of reading their records. */
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "../include/process.h"
#include "scenario.h"

int run_request(struct world *world)
{
	return request_at(world, world->fake.text);
}

/* A rule of a signal frame, whose code is read as well. */
bool setup_signal(struct world *world)
{
	world->fake.section[FAKE_INFO] |= 0x80;
	return setup_registered(world);
}

bool setup_waiting(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	return setup_registered(world) &&
	       !call_request_code(world->fake.text, world->fd, &req);
}

/* If the read fails, the record is still there. */
int run_read(struct world *world)
{
	static char buffer[65536];

	return result(read(world->fd, buffer, sizeof(buffer)));
}

void undo_read(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	call_request_code(world->fake.text, world->fd, &req);
}

/* Large records, so that few of them fill the ring. */
static __attribute__((noinline)) long request_deep(struct world *world,
						   unsigned int depth)
{
	struct sframe_unwind_request req = request_self();
	long ret;

	ret = depth ? request_deep(world, depth - 1) :
		      call_request_code(world->fake.text, world->fd, &req);
	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

/* The next record starts at the ring's end and continues at its start. */
bool setup_wrapped(struct world *world)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	unsigned int position = 0;

	if (!setup_registered(world) || query(world->fd, &q))
		return false;
	for (;;) {
		if (request_deep(world, 100))
			return false;
		if (position && position + world->stack.head.record.size > q.ring_size)
			return true;
		if (read_stack(world->fd, &world->stack))
			return false;
		position += world->stack.head.record.size;
	}
}

bool setup_stack_switch(struct world *world)
{
	return make_stack_switch(world) && setup_registered(world);
}

/* A return address in the vDSO. */
int run_vdso(struct world *world)
{
	Elf64_Ehdr *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t *sp = (void *)(world->pages + PAGE - 64);
	int err;

	*sp = (uintptr_t)vdso + vdso->e_entry + 0x600;
	err = -call_on_stack(world, sp);
	if (err)
		return err;
	err = read_caller(world);
	return err == LESS && world->stack.head.nr_frames > 1 ? 0 : err;
}

/* A return address outside of any code. */
int run_no_code(struct world *world)
{
	uint64_t *sp = (void *)(world->pages + PAGE - 64);
	int err;

	*sp = (uintptr_t)world->pages;
	err = -call_on_stack(world, sp);
	if (err)
		return err;
	err = read_caller(world);
	return err == LESS ? 0 : err;
}

static void *sleep_in_read(void *data)
{
	struct world *world = data;
	char byte;

	__atomic_store_n(&world->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return (void *)read(world->pipe[0], &byte, 1);
}

bool setup_thread(struct world *world)
{
	if (pipe(world->pipe) ||
	    pthread_create(&world->thread, NULL, sleep_in_read, world))
		return false;
	while (!__atomic_load_n(&world->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	return true;
}

int run_request_thread(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	struct pollfd pfd = { .fd = world->fd, .events = POLLIN };
	int err;

	req.tid = world->tid;
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	if (request(world->fd, &req))
		return errno;
	if (poll(&pfd, 1, 60000) != 1)
		return ETIMEDOUT;
	err = read_caller(world);
	return err == LESS ? 0 : err;
}

/* The thread now also delivers earlier requests. */
static int interrupt_again(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	req.tid = world->tid;
	if (request(world->fd, &req))
		return errno;
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	return request(world->fd, &req) ? errno : 0;
}

/* A sleeping thread, a new one each time. */
int run_request_again(struct world *world)
{
	int err, nr;

	world->tid = 0;
	if (!setup_thread(world))
		return errno;
	err = interrupt_again(world);
	/* Without an interruption it continues by itself. */
	if (write(world->pipe[1], "", 1) != 1 ||
	    pthread_join(world->thread, NULL))
		err = ETIMEDOUT;
	close(world->pipe[0]);
	close(world->pipe[1]);
	nr = drain(world->fd, SFRAME_UNWIND_RECORD_STACK);
	return err || nr ? err : EPROTO;
}

/* Wake the reader by a stack of this thread. */
static void *wake_reader(void *data)
{
	struct world *world = data;
	struct sframe_unwind_request req = request_self();

	while (!is_asleep(getpid()))
		sched_yield();
	/* This may be the failing call; the second one succeeds. */
	return request(world->other, &req) && request(world->other, &req) ?
		       data : NULL;
}

bool setup_reader(struct world *world)
{
	world->other = open_client(0);
	return world->other >= 0;
}

int run_read_asleep(struct world *world)
{
	static char buffer[65536];
	void *failed;
	int err;

	if (pthread_create(&world->thread, NULL, wake_reader, world))
		return EPROTO;
	err = result(read(world->other, buffer, sizeof(buffer)));
	/* If the read failed, the thread sleeps until it is ended. */
	pthread_join(world->thread, &failed);
	if (err && !failed && read(world->other, buffer, sizeof(buffer)) < 0)
		return EPROTO;
	return err;
}

/* Two walks at the same time */

/* Remove a page of the section, to be provided later. */
static bool take_page_away(struct world *world, unsigned char *copy)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.start = (uintptr_t)world->fake.section,
		.range.len = PAGE,
	};

	memcpy(copy, world->fake.section, PAGE);
	/* poll() works for non-blocking userfaultfds only. */
	world->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return world->uffd >= 0 && !ioctl(world->uffd, UFFDIO_API, &api) &&
	       !ioctl(world->uffd, UFFDIO_REGISTER, &reg) &&
	       !madvise(world->fake.section, PAGE, MADV_DONTNEED);
}

static void *request_in_thread(void *data)
{
	struct world *world = data;
	struct sframe_unwind_request req = request_self();

	long ret = call_request_code(world->fake.text, world->fd, &req);

	__atomic_store_n(&world->done, true, __ATOMIC_RELEASE);
	return (void *)-ret;
}

/*
 * The client's walk memory is in use by a walk that waits for a page, when
 * another one starts.
 */
static int walk_meanwhile(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	struct pollfd pfd = { .fd = world->uffd, .events = POLLIN };

	/* If the walk has failed already, no thread waits. */
	while (!poll(&pfd, 1, 1)) {
		if (__atomic_load_n(&world->done, __ATOMIC_ACQUIRE))
			return LESS;
	}
	if (request(world->fd, &req))
		return errno;
	world->nr_left = 1;
	if (read_stack(world->fd, &world->stack))
		return errno;
	world->nr_left = 0;
	return world->stack.head.stop == SFRAME_UNWIND_STOP_NO_MEMORY ? LESS : 0;
}

int run_own_stack(struct world *world)
{
	__u64 ips[8];
	__u8 how[8];
	struct sframe_unwind_own_stack own = {
		.size = sizeof(own),
		.ips = (uintptr_t)ips,
		.how = (uintptr_t)how,
		.max_depth = 8,
	};

	return result(ioctl(world->fd, SFRAME_UNWIND_IOC_STACK, &own));
}

int run_two_walks(struct world *world)
{
	static unsigned char copy[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy back = {
		.dst = (uintptr_t)world->fake.section,
		.src = (uintptr_t)copy,
		.len = PAGE,
	};
	unsigned int nr;
	void *failed;
	int err;

	world->done = false;
	world->nr_left = 0;
	/*
	 * Still registered if unregistering has failed, and its rules are
	 * cached.
	 */
	undo_register(world);
	err = run_register(world);
	if (err)
		return err;
	if (!take_page_away(world, copy) ||
	    pthread_create(&world->thread, NULL, request_in_thread, world))
		return EPROTO;
	err = walk_meanwhile(world);
	if (ioctl(world->uffd, UFFDIO_COPY, &back))
		return EPROTO;
	pthread_join(world->thread, &failed);
	close(world->uffd);
	undo_register(world);
	nr = drain(world->fd, SFRAME_UNWIND_RECORD_STACK);
	if (failed)
		return nr != world->nr_left ? EPROTO : (long)failed;
	return nr == 1 + world->nr_left ? err : EPROTO;
}
