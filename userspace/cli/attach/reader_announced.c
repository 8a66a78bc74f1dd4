// SPDX-License-Identifier: GPL-2.0
/*
 * Reader task: code that a process announces to debuggers. See reader_announced.h.
 *
 * The process can free code and make other code at its place at any time. So a section is
 * attached together with a copy of its code, and the module uses it only where the code is
 * the same:
 *
 *	1. new objects are copied, and converted in a worker, which says where their code is
 *	2. what is at these places is copied, if it can be attached to, so is finished
 *	3. objects that have that code, and are still announced there, with the same bytes,
 *	   are for it
 *	4. their sections are attached, with the copies
 *
 * Nothing has to be done in time when code is freed. All steps fail if the process has
 * executed another program in between: the memory is that of the program at the start, and
 * the other one has other code.
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

/* Bytes of the new objects of one look: in each half of the room, any object fits. */
#define MAX_NEW_BYTES	(2 * ANNOUNCED_MAX_SIZE)

/*
 * Words of an object that tell it from others: those at its beginning and at its end. There,
 * LLVM has the headers of sections, with the addresses of the code.
 */
#define KEY_WORDS	512
#define KEY_BYTES	(KEY_WORDS * sizeof(uint64_t))

#define HASH_BEGIN	0xcbf29ce484222325

/* Objects whose code is found out to be unusable again in one look. */
#define MAX_UNUSABLE	32

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

/* Returns whether all mappings have been read. */
static bool find_descriptors(struct following *following)
{
	const uint64_t end = now_ns() + MAPS_NS;
	bool is_whole = false;
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
		return false;
	}
	while (following->nr_descriptors < FOLLOWING_MAX_FILES && now_ns() < end) {
		if (getline(&line, &size, maps) <= 0) {
			is_whole = !ferror(maps);
			break;
		}
		base = parse_base(line);
		if (!base)
			continue;
		descriptor = announced_find(following->memory, base);
		if (descriptor)
			following->descriptors[following->nr_descriptors++] =
				descriptor;
	}
	free(line);
	fclose(maps);
	return is_whole || following->nr_descriptors == FOLLOWING_MAX_FILES;
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Hash @size bytes at @address, at most KEY_BYTES. */
static uint64_t hash_bytes(uint64_t hash, int memory, uint64_t address,
			   size_t size)
{
	uint64_t words[KEY_WORDS];
	const size_t nr = (size + sizeof(words[0]) - 1) / sizeof(words[0]);

	if (size)
		words[nr - 1] = 0;
	if (!announced_read(memory, address, words, size))
		return hash;
	return hash_words(hash, words, nr);
}

/* Tells an object from others that have been at the same place, mostly. */
static uint64_t key_of(int memory, const struct announced *announced)
{
	const uint64_t words[] = { announced->entry, announced->object,
				   announced->size };
	const uint64_t size = announced->size;
	const size_t first = size < KEY_BYTES ? size : KEY_BYTES;
	const size_t last = size - first < KEY_BYTES ? size - first : KEY_BYTES;
	uint64_t hash = hash_words(HASH_BEGIN, words,
				   sizeof(words) / sizeof(words[0]));

	hash = hash_bytes(hash, memory, announced->object, first);
	return hash_bytes(hash, memory, announced->object + size - last, last);
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
		if (!reader_code_is_alive(range->id)) {
			following_end_range(following, range);
			continue;
		}
		following->is_kept[i] = true;
		is_known = true;
	}
	return is_known;
}

/*
 * Returns whether there is room for the new object in this look. Half of it is for those
 * from where the last look has ended on, so that all are tried, however many before them
 * can get no section now; and half for those before, as new ones are the first of the list.
 */
static bool has_room(const struct following *following,
		     const struct announced *announced)
{
	const unsigned int parts = following->is_behind ? 1 : 2;
	const unsigned int max = following->nr_tried ?
				 FOLLOWING_MAX_NEW - FOLLOWING_MAX_AGAIN :
				 FOLLOWING_MAX_NEW;

	return following->nr < max / parts &&
	       following->nr_bytes + announced->size <= MAX_NEW_BYTES / parts;
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

/* Try the object in this look. */
static void add(struct following *following, const struct announced *announced,
		uint64_t key)
{
	struct new_object *object = &following->objects[following->nr];

	if (!following->request->code.may_convert) {
		following->code->is_partial = true;
		return;
	}
	*object = (struct new_object) {
		.announced = *announced,
		.range.key = key,
	};
	object->fd = copy(following->memory, announced, &object->bytes);
	if (object->fd < 0) {
		following->code->is_partial = true;
		return;
	}
	following->nr++;
	following->nr_bytes += announced->size;
}

static bool add_object(void *data, const struct announced *announced)
{
	struct following *following = data;
	uint64_t key;

	following->has_any = true;
	if (announced->entry == following->request->code.next)
		following->is_behind = true;
	if (!announced->size || announced->size > ANNOUNCED_MAX_SIZE)
		return true;
	key = key_of(following->memory, announced);
	/* The rest of the list tells what is kept. */
	if (keep(following, announced, key) ||
	    following_has_tried(following, announced, key) || following->next)
		return true;
	if (has_room(following, announced))
		add(following, announced, key);
	else if (following->is_behind)
		following->next = announced->entry;
	else
		following->has_more = true;
	return true;
}

/*
 * Objects that have been tried before come behind new ones. If the code could not be used,
 * that is found out before another conversion.
 */
static void add_again(struct following *following)
{
	struct tried_object *tried;
	unsigned int unusable = 0;

	while (unusable < MAX_UNUSABLE && now_ns() < following->ends_at &&
	       (tried = following_next_again(following))) {
		const struct reader_code_object *object = &tried->object;
		const struct reader_code_range range = { .key = object->key };

		if (following->nr == FOLLOWING_MAX_NEW ||
		    following->nr_bytes + tried->announced.size > MAX_NEW_BYTES) {
			following->has_again = true;
			return;
		}
		tried->is_taken = true;
		if (object->why != CODE_LATER || !object->end ||
		    following_is_usable(following, object->start, object->end)) {
			add(following, &tried->announced, object->key);
			continue;
		}
		following_put_off(following, &range, FOLLOWING_COST_CODE);
		unusable++;
	}
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
		bool is_kept = following->is_kept[i];

		if (!range->object)
			continue;
		if (!is_kept && !is_whole) {
			is_kept = reader_code_is_alive(range->id);
			if (!is_kept)
				following_end_range(following, range);
		}
		if (!is_kept) {
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

/*
 * Say where the next look goes on: at once, until all objects have been tried. It begins
 * anew if the place is not announced any more.
 */
static void set_next(struct following *following, bool is_whole)
{
	struct reader_code_reply *code = following->code;

	code->next = following->next;
	if (following->next || following->has_again ||
	    (is_whole && !following->is_behind))
		code->has_changed = true;
	/* These may be new, but mostly they have been tried. */
	else if (following->has_more)
		code->is_partial = true;
}

static void follow(struct following *following, struct reader_reply *reply)
{
	bool is_whole;

	following_begin_objects(following);
	is_whole = find_descriptors(following);
	is_whole &= following_list(following, add_object);
	keep_ranges(following, is_whole);
	following->code->is_quiet = is_whole && !following->has_any;
	if (is_whole)
		following_forget_others(following);
	if (following->request->code.may_convert)
		add_again(following);
	following->code->is_partial |= !is_whole;
	if (following->nr && is_full(following))
		following->code->is_full = true;
	else if (following->request->code.may_convert &&
		 (!following->nr || following_attach(following, reply)))
		set_next(following, is_whole);
	for (unsigned int i = 0; i < following->nr; i++) {
		munmap((void *)(uintptr_t)following->objects[i].bytes,
		       following->objects[i].announced.size);
		close(following->objects[i].fd);
	}
	following_end_objects(following);
}

void reader_announced(int process, const struct reader_request *request,
		      struct reader_reply *reply,
		      struct announced_ranges *ranges)
{
	static struct following following;

	memset(ranges, 0, sizeof(*ranges));
	reply->code.objects = request->code.objects;
	reply->code.next = request->code.next;
	following = (struct following) {
		.request = request,
		.code = &reply->code,
		.ranges = ranges,
		.process = process,
		.is_behind = !request->code.next,
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
