// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of a client and its process: open, requests, the test timer, fork
 * and exec.
 */
#include "../../module/test/test.h"
#include "../include/deferred.h"
#include "../include/process.h"
#include "scenario.h"

int run_open(struct world *world)
{
	world->other = open_client(0);
	return result(world->other);
}

void undo_open(struct world *world)
{
	close(world->other);
}

/* The first client of a user. */
int run_open_as_other(struct world *world)
{
	if (setresuid(4321, -1, -1))
		return errno;
	world->other = open_client(0);
	return result(world->other);
}

void undo_open_as_other(struct world *world)
{
	close(world->other);
	setresuid(0, -1, -1);
}

int run_query(struct world *world)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	return result(query(world->fd, &q));
}

int run_query_newer(struct world *world)
{
	struct {
		struct sframe_unwind_query query;
		char more[64];
	} newer = { .query.size = sizeof(newer) };

	return result(query(world->fd, &newer.query));
}

int run_counters(struct world *world)
{
	char text[64];
	int fd = open("/sys/kernel/debug/sframe_unwind/counters", O_RDONLY);
	int err = result(fd < 0 ? fd : read(fd, text, sizeof(text)));

	close(fd);
	return err;
}

int run_timer(struct world *world)
{
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.period = 1000000000,
	};

	int err;

	world->other = open_test_client(0);
	err = result(world->other);
	if (err)
		return err;
	err = result(ioctl(world->other, SFU_TEST_IOC_TIMER, &spec));
	if (err) {
		close(world->other);
		world->other = -1;
	}
	return err;
}

void undo_timer(struct world *world)
{
	close(world->other);
}

/* A work of the test module, and a stack at once. */
int run_deferred(struct world *world)
{
	struct sfu_test_deferred d = {};
	int err;

	world->other = open_test_client(0);
	err = result(world->other) ?: set_deferred(world->other, SFU_TEST_DEFERRED_INIT, 0) ?:
	      request_deferred(world->other, SFU_TEST_CONTEXT_TASK, 2, &d);
	/* Without a task_work it has no stack: it is exiting. */
	if (!err && d.ret < 0)
		err = d.ret == -EINVAL ? ESRCH : -d.ret;
	if (!err)
		err = use_deferred(world->other, SFU_TEST_DEFERRED_FAULTABLE, &d) ?: -d.ret;
	if (!err)
		err = set_deferred(world->other, SFU_TEST_DEFERRED_CANCEL, 0);
	if (err && world->other >= 0) {
		close(world->other);
		world->other = -1;
	}
	return err;
}

/* Returns the result of @work in a child. */
static int in_child(struct world *world, int (*work)(struct world *world))
{
	pid_t pid = fork();
	int err;

	if (!pid) {
		err = work(world);
		_exit(err == LESS ? 255 : err);
	}
	if (pid < 0)
		return errno;
	err = outcome_of(pid);
	return err < 0 ? EPROTO : err == 255 ? LESS : err;
}

/* The child uses its own client; the parent reads the other one. */
static int request_in_child(struct world *world)
{
	world->fd = open_client(O_NONBLOCK);
	if (world->fd < 0)
		return errno;
	return run_request(world) ?: run_unregister(world);
}

int run_fork(struct world *world)
{
	return in_child(world, request_in_child);
}

static int execute(struct world *world)
{
	execl("/bin/true", "true", NULL);
	return errno;
}

int run_exec(struct world *world)
{
	return in_child(world, execute);
}
