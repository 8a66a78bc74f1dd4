// SPDX-License-Identifier: GPL-2.0
/*
 * Reader task: code that a process announces to debuggers. See reader_announced.h.
 *
 * The process can free code and make other code at its place at any time. So the memory
 * of the code is watched from before it is found out what is there:
 *
 *	1. new objects are copied, and converted in a worker, which says where their code is
 *	2. a section with an empty function is attached to each place; from now on, the
 *	   module ends it as soon as the memory changes
 *	3. objects that are still announced there, with the same bytes, are for that memory
 *	4. their sections are attached in the place of the empty ones; which fails if the
 *	   memory has changed since 2
 *
 * What is attached is ended by the module when the memory changes, so nothing has to be
 * done in time when code is freed. All steps fail if the process has executed another
 * program in between: an attachment belongs to one address space, and the files that the
 * memory is read from are opened before step 1 and between 2 and 4.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "announced.h"
#include "clock.h"
#include "following.h"
#include "lib/memory_file.h"
#include "reader_announced.h"
#include "runtimes.h"

/*
 * All time for a look: the reply must come before READER_MAX_NS. Of that, the time to
 * read the mappings.
 */
#define ANNOUNCED_NS	(3 * SECOND)
#define MAPS_NS		SECOND

/* Bytes of the new objects of one look. */
#define MAX_NEW_BYTES	(2 * ANNOUNCED_MAX_SIZE)

/* Bytes that tell an object from others. */
#define KEY_BYTES	512

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* --- what is announced */

/* If the line is the beginning of a file that announces code, returns its address, or 0. */
static uint64_t parse_base(char *line)
{
	uint64_t start, offset, inode;
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
		   &start, &offset, &inode, &name) != 3 || !name || offset ||
	    !inode)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	return runtimes_announce(line + name) ? start : 0;
}

static void find_descriptors(struct following *following)
{
	const uint64_t end = now_ns() + MAPS_NS;
	uint64_t base, descriptor;
	char *line = NULL;
	size_t size = 0;
	FILE *maps;
	int fd;

	fd = openat(following->process, "maps", O_RDONLY | O_CLOEXEC);
	maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!maps) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (following->nr_descriptors < FOLLOWING_MAX_FILES && now_ns() < end &&
	       getline(&line, &size, maps) > 0) {
		base = parse_base(line);
		if (!base)
			continue;
		following->ranges->is_announcer = true;
		descriptor = announced_find(following->memory, base);
		if (descriptor)
			following->descriptors[following->nr_descriptors++] =
				descriptor;
	}
	free(line);
	fclose(maps);
}

/* Tells an object from others that have been at the same place, mostly. */
static uint64_t key_of(int memory, const struct announced *announced)
{
	unsigned char bytes[KEY_BYTES];
	const size_t size = announced->size < KEY_BYTES ? announced->size :
							  KEY_BYTES;
	const uint64_t words[] = { announced->entry, announced->object,
				   announced->size };
	const unsigned char *at = (const unsigned char *)words;
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ at[i]) * 0x100000001b3;
	if (announced_read(memory, announced->object, bytes, size))
		for (size_t i = 0; i < size; i++)
			hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

static bool is_refused(const struct reader_code_reply *code, uint64_t key)
{
	for (unsigned int i = 0; i < CODE_MAX_REFUSED; i++)
		if (code->refused[i] == key)
			return true;
	return false;
}

/* Returns whether the object with @key has a section. Marks that. */
static bool keep(struct following *following, const struct announced *announced,
		 uint64_t key)
{
	const struct reader_code *before = &following->request->code;
	bool is_known = false;

	for (unsigned int i = 0; i < before->nr; i++) {
		const struct reader_code_range *range = &before->ranges[i];

		if (range->object != announced->object ||
		    range->object_size != announced->size || range->key != key ||
		    following->is_kept[i])
			continue;
		if (!reader_code_is_alive(range->id))
			continue;
		following->is_kept[i] = true;
		is_known = true;
	}
	return is_known;
}

/* Copy the object to a memory file. Returns it, or -1; and the bytes there. */
static int copy(int memory, const struct announced *announced,
		const unsigned char **bytes)
{
	const int fd = memory_file_create("sframe_unwind_object");
	void *to;
	bool is_read;

	if (fd < 0)
		return -1;
	if (ftruncate(fd, announced->size))
		goto err_close;
	to = mmap(NULL, announced->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	if (to == MAP_FAILED)
		goto err_close;
	is_read = announced_read(memory, announced->object, to, announced->size);
	munmap(to, announced->size);
	if (!is_read || fcntl(fd, F_ADD_SEALS, SEALS))
		goto err_close;
	to = mmap(NULL, announced->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (to == MAP_FAILED)
		goto err_close;
	*bytes = to;
	return fd;

err_close:
	close(fd);
	return -1;
}

static bool add_object(void *data, const struct announced *announced)
{
	struct following *following = data;
	struct new_object *object = &following->objects[following->nr];
	uint64_t key;

	if (!announced->size || announced->size > ANNOUNCED_MAX_SIZE)
		return true;
	key = key_of(following->memory, announced);
	if (keep(following, announced, key))
		return true;
	/* The rest of the list tells what is kept. */
	if (following->nr == FOLLOWING_MAX_NEW) {
		following->has_more = true;
		return true;
	}
	if (is_refused(following->code, key))
		return true;
	if (announced->size > MAX_NEW_BYTES - following->nr_bytes) {
		following->has_more = true;
		return true;
	}
	*object = (struct new_object) { .announced = *announced, .key = key };
	object->fd = copy(following->memory, announced, &object->bytes);
	if (object->fd < 0) {
		following->has_more = true;
		return true;
	}
	following->nr++;
	following->nr_bytes += announced->size;
	return true;
}

bool following_list(struct following *following,
		    bool (*fn)(void *data, const struct announced *announced))
{
	bool is_whole = true;
	int err;

	for (unsigned int i = 0; i < following->nr_descriptors; i++) {
		err = announced_list(following->memory,
				     following->descriptors[i],
				     following->ends_at, fn, following);
		is_whole &= !err || err == -EINVAL;
	}
	return is_whole;
}

/* Keep or detach what had a section. What cannot be found out is kept. */
static void keep_ranges(struct following *following, bool is_whole)
{
	const struct reader_code *before = &following->request->code;
	struct announced_ranges *to = following->ranges;

	for (unsigned int i = 0; i < before->nr; i++) {
		const struct reader_code_range *range = &before->ranges[i];

		if (!range->object)
			continue;
		if (!following->is_kept[i] &&
		    (is_whole || !reader_code_is_alive(range->id))) {
			reader_code_detach(range->id);
			continue;
		}
		to->ranges[to->nr++] = *range;
		to->weight += range->weight;
	}
}

/* Returns whether no object can get a section. */
static bool is_full(const struct following *following)
{
	return following->ranges->nr == CODE_MAX_RANGES ||
	       following->ranges->weight >= following->request->code.max;
}

static void follow(struct following *following, struct reader_reply *reply)
{
	bool is_whole;

	find_descriptors(following);
	is_whole = following_list(following, add_object);
	keep_ranges(following, is_whole);
	following->code->is_partial |= !is_whole;
	if (following->nr && is_full(following))
		following->code->is_full = true;
	else if (following->nr)
		following_attach(following, reply);
	for (unsigned int i = 0; i < following->nr; i++) {
		munmap((void *)(uintptr_t)following->objects[i].bytes,
		       following->objects[i].announced.size);
		close(following->objects[i].fd);
	}
}

void reader_announced(int process, const struct reader_request *request,
		      struct reader_reply *reply,
		      struct announced_ranges *ranges)
{
	static struct following following;

	memset(ranges, 0, sizeof(*ranges));
	memcpy(reply->code.refused, request->code.refused,
	       sizeof(reply->code.refused));
	following = (struct following) {
		.request = request,
		.code = &reply->code,
		.ranges = ranges,
		.process = process,
		.ends_at = now_ns() + ANNOUNCED_NS,
	};
	following.memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	if (following.memory < 0) {
		keep_ranges(&following, false);
		return;
	}
	follow(&following, reply);
	close(following.memory);
}
