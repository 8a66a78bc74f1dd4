// SPDX-License-Identifier: GPL-2.0
/* Change: random changes of a thread's mappings and registrations. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../include/marker.h"
#include "../include/random.h"
#include "../include/wrappers.h"
#include "chain.h"
#include "change.h"

/* Approximate range of the table that walks read: behind the header. */
#define TABLE_START	28
#define TABLE_END	300

/* Errors that a registration may get if the marker can be unmapped at any time. */
static bool is_loss(int error)
{
	return process.lossy && (error == ENOMEM || error == EEXIST ||
				 error == ENOENT);
}

static void unregister(struct thread *thread, struct slot *slot)
{
	const int error =
		slot_unregister(slot, thread->client,
				random_percent(&thread->random, 50));

	if (error && !is_loss(error))
		fail("unregister: %s", strerror(error));
}

/*
 * Register a section whose bits are being flipped, so that it may have been
 * removed.
 */
static void register_flipped(struct thread *thread, struct slot *slot)
{
	const int error =
		slot_register(slot, thread->client,
			      random_percent(&thread->random, 20));

	if (error && error != EEXIST && error != EINVAL &&
	    error != EOPNOTSUPP && !is_loss(error))
		fail("register a damaged section: %s", strerror(error));
}

static void register_slot(struct thread *thread, struct slot *slot)
{
	const bool validate = random_percent(&thread->random, 20);
	int error;

	if (slot->flipped) {
		register_flipped(thread, slot);
		return;
	}
	if (!slot_matches(slot))
		return;
	if (slot_is_valid(slot)) {
		if (random_percent(&thread->random, 50)) {
			error = slot_register(slot, thread->client, validate);
			if (error != EEXIST && !process.lossy)
				fail("registered twice: %s", strerror(error));
		}
		unregister(thread, slot);
	}
	/* A stale registration of the range is replaced. */
	error = slot_register(slot, thread->client, validate);
	if (error && !is_loss(error))
		fail("register: %s", strerror(error));
}

static void change_slot(struct thread *thread, struct slot *slot)
{
	const unsigned int percent = random_below(&thread->random, 100);
	const int image = random_below(&thread->random, NR_IMAGES);
	const enum slot_how how = random_below(&thread->random, NR_SLOT_HOWS);
	const bool move = random_percent(&thread->random, 30);

	if (percent < 35 || slot->flipped) {
		register_slot(thread, slot);
	} else if (percent < 65) {
		slot_place_code(slot, image, how);
		slot_place_table(slot, image, how);
		if (random_percent(&thread->random, 70))
			register_slot(thread, slot);
	} else if (percent < 72) {
		if (slot->registered_code >= 0)
			unregister(thread, slot);
	} else if (percent < 82) {
		slot_place_code(slot, image, how);
	} else if (percent < 90) {
		slot_place_table(slot, image, how);
	} else if (percent < 95) {
		slot_remove_code(slot, move);
	} else {
		slot_remove_table(slot, move);
	}
}

static void register_library(struct thread *thread, struct library *library)
{
	const int error = library_register(library, thread->client);
	int i;

	if (error) {
		if (!is_loss(error))
			fail("register a shared object: %s", strerror(error));
		return;
	}
	/* Overlapping registrations of unloaded objects were replaced. */
	for (i = 0; i < NR_LIBRARIES; i++) {
		struct library *other = &thread->lib[i];

		if (other != library && other->id &&
		    other->registered < library->end &&
		    other->registered + PAGE > library->start)
			other->id = 0;
	}
}

/*
 * A registration from before dlclose() becomes valid again if the object
 * returns, unless another object was mapped there and walked meanwhile, for
 * example in its _init(): that walk has removed the registration.
 */
static void forget_library(struct thread *thread, struct library *library)
{
	int error;

	if (!library->id)
		return;
	error = library_unregister(library, thread->client, false);
	if (error && error != ENOENT)
		fail("unregister a shared object that was closed: %s",
		     strerror(error));
}

static void change_library(struct thread *thread)
{
	const unsigned int file = random_below(&thread->random, NR_LIBRARIES);
	struct library *library = &thread->lib[file];
	int error;

	if (!library->handle) {
		library_open(library, file);
		forget_library(thread, library);
		if (random_percent(&thread->random, 70))
			register_library(thread, library);
		return;
	}
	if (library_is_valid(library) && random_percent(&thread->random, 30)) {
		error = library_unregister(library, thread->client,
					   random_percent(&thread->random, 50));
		if (error && !is_loss(error))
			fail("unregister a shared object: %s", strerror(error));
	}
	library_close(library);
}

/* End all registrations of the process. */
static void end_registrations(struct thread *thread)
{
	if (unmap_marker())
		count_one(COUNT_MARKERS);
	/* Another thread may register first, or unmap the marker again. */
	chain_register_own(thread->client);
}

void change_something(struct thread *thread)
{
	struct slot *slot =
		&thread->slot[random_below(&thread->random, NR_SLOTS)];

	change_slot(thread, slot);
	if (thread->has_libraries && random_percent(&thread->random, 50))
		change_library(thread);
	if (process.lossy && thread->nr == 0 && !process.child &&
	    random_percent(&thread->random, 5))
		end_registrations(thread);
}

void *change_flip(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	while (!atomic_load(&process.stop)) {
		struct thread *thread =
			&process.thread[random_below(&random, 2)];
		volatile unsigned char *byte =
			thread->slot[NR_SLOTS - 1].at + SLOT_TABLE +
			TABLE_START +
			random_below(&random, TABLE_END - TABLE_START);
		const unsigned char was = *byte;

		*byte = was ^ 1 << random_below(&random, 8);
		count_one(COUNT_FLIPS);
		/* Sometimes so short that it falls within one walk. */
		if (random_percent(&random, 70))
			usleep(random_below(&random, 10000));
		*byte = was;
	}
	return NULL;
}
