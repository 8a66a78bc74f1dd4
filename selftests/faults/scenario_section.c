// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of registrations: registered and unregistered, alone or in a batch,
 * removed as corrupt.
 */
#include "../include/marker.h"
#include "scenario.h"

int run_register(struct world *world)
{
	world->fake.reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	return result(register_section(world->fd, &world->fake.reg));
}

void undo_register(struct world *world)
{
	unregister_id(world->fd, world->fake.reg.id);
}

bool setup_registered(struct world *world)
{
	return !run_register(world);
}

/* The errno stays the same, even if the message cannot be written. */
int run_refused(struct world *world)
{
	world->fake.section[2] = 2;
	world->fake.reg.message = (uintptr_t)world->message;
	world->fake.reg.message_size = sizeof(world->message);
	if (!register_section(world->fd, &world->fake.reg))
		return EPROTO;
	return errno == EOPNOTSUPP ? 0 : errno;
}

/* Fork a child that shares the trees until the end. */
static bool fork_sharer(struct world *world)
{
	world->child = fork();
	if (!world->child) {
		pause();
		_exit(0);
	}
	return world->child > 0;
}

bool setup_shared(struct world *world)
{
	return setup_registered(world) && fork_sharer(world);
}

int run_unregister(struct world *world)
{
	return result(unregister_id(world->fd, world->fake.reg.id));
}

void undo_unregister(struct world *world)
{
	run_register(world);
}

static int batch(struct world *world, unsigned int cmd)
{
	struct sframe_unwind_batch arg = {
		.size = sizeof(arg),
		.entries = (uintptr_t)world->entries,
		.nr = NR_BATCH,
	};
	unsigned int i;

	if (ioctl(world->fd, cmd, &arg))
		return errno;
	for (i = 0; i < NR_BATCH; i++) {
		if (world->entries[i].error)
			return world->entries[i].error;
	}
	return arg.nr == NR_BATCH && !arg.nr_failed ? 0 : EPROTO;
}

/* Remove all with the section; at the second call those left by a failure. */
static int unregister_all(struct world *world)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = world->fake.reg.sframe_start,
	};

	if (unregister_section(world->fd, &unreg)) {
		world->nr_left = 0;
		return errno;
	}
	return unreg.removed == world->nr_left || !world->nr_left ? 0 : EPROTO;
}

/* After a failure the documented number of entries is registered; remove those. */
int run_batch(struct world *world)
{
	unsigned int i;
	int err;

	for (i = 0; i < NR_BATCH; i++) {
		world->entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = world->fake.reg.sframe_start,
			.sframe_size = world->fake.reg.sframe_size,
			/*
			 * From the middle to both sides, so that nodes are
			 * split.
			 */
			.text_start = world->fake.reg.text_start + 1000 +
				      (i % 2 ? (long)i : -(long)i),
			.text_size = 1,
		};
	}
	err = batch(world, SFRAME_UNWIND_IOC_REGISTER_BATCH);
	world->nr_left = err ? 0 : NR_BATCH;
	if (err)
		unregister_all(world);
	return err;
}

void undo_batch(struct world *world)
{
	unregister_all(world);
}

bool setup_batch(struct world *world)
{
	return !run_batch(world) && fork_sharer(world);
}

int run_unregister_all(struct world *world)
{
	return unregister_all(world);
}

void undo_unregister_all(struct world *world)
{
	run_batch(world);
}

int run_unregister_batch(struct world *world)
{
	unsigned int i;
	int err;

	/* By id. */
	for (i = 0; i < NR_BATCH; i++)
		world->entries[i].sframe_start = 0;
	err = batch(world, SFRAME_UNWIND_IOC_UNREGISTER_BATCH);
	world->nr_left = 0;
	if (err) {
		unregister_all(world);
		run_batch(world);
	}
	return err;
}

/* Removal of sections */

/* More than are freed at once. */
#define NR_MANY	300

bool setup_many(struct world *world)
{
	struct sframe_unwind_register reg = world->fake.reg;
	unsigned int i;

	reg.text_size = 1;
	for (i = 0; i < NR_MANY; i++, reg.text_start++) {
		if (register_section(world->fd, &reg))
			return false;
	}
	return true;
}

/* Unmapping the marker removes all, whatever fails. */
int run_end_of_many(struct world *world)
{
	struct sframe_unwind_stats s;

	unmap_marker();
	if (stats(world->fd, &s))
		return errno;
	return s.sections ? EPROTO : 0;
}

void undo_end_of_many(struct world *world)
{
	setup_many(world);
}

bool setup_events(struct world *world)
{
	struct sframe_unwind_events events = {
		.size = sizeof(events),
		.flags = SFRAME_UNWIND_EVENTS_REMOVED,
	};

	return !ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, &events);
}

int run_events(struct world *world)
{
	return setup_events(world) ? 0 : errno;
}

void undo_events(struct world *world)
{
	struct sframe_unwind_events events = { .size = sizeof(events) };

	ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, &events);
}

/*
 * Whatever fails in a walk, its record arrives, and if possible the event about
 * the removal.
 */
static int run_until_removed(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	int err = result(register_section(world->fd, &world->fake.reg));
	static char buffer[65536] __attribute__((aligned(8)));
	const struct sframe_unwind_record *record = (void *)buffer;
	ssize_t got, at = 0;
	int nr[3] = {};

	/* Still registered, if it could not be removed. */
	if (err && err != EEXIST)
		return err;
	err = -call_request_code(world->fake.text, world->fd, &req);
	if (err)
		return err;
	got = read(world->fd, buffer, sizeof(buffer));
	if (got < 0) {
		err = errno;
		drain(world->fd, 0);
		return err;
	}
	for (; at < got; at += record->size) {
		record = (void *)(buffer + at);
		nr[record->type]++;
	}
	if (nr[SFRAME_UNWIND_RECORD_STACK] != 1)
		return EPROTO;
	return nr[SFRAME_UNWIND_RECORD_REMOVED] ? 0 : LESS;
}

int run_corrupt(struct world *world)
{
	world->fake.section[FAKE_INFO2] = 0xff;
	world->fake.reg.flags = 0;
	return run_until_removed(world);
}

int run_unreadable(struct world *world)
{
	int err;

	world->fake.reg.flags = 0;
	err = result(register_section(world->fd, &world->fake.reg));
	if (err && err != EEXIST)
		return err;
	mprotect(world->fake.section, PAGE, PROT_NONE);
	/* Another one for the same code is refused without being read. */
	err = request_at(world, world->fake.text);
	mprotect(world->fake.section, PAGE, PROT_READ | PROT_WRITE);
	if (err == LESS && world->stack.head.stop == SFRAME_UNWIND_STOP_SECTION_REMOVED)
		return 0;
	return err;
}
