// SPDX-License-Identifier: GPL-2.0
/*
 * Known files: the result for each file that was examined.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "known.h"

/* Buckets of each hash table: one for each number of that many bits. */
#define BUCKET_BITS	13
#define NR_BUCKETS	(1U << BUCKET_BITS)

/* Files, most recently used first. */
struct list {
	struct known *first;
	struct known *last;
};

/**
 * struct group - files of one user, or of users that share the group
 *
 * @user: user ID; valid while the group has files.
 * @lists: those that are not attached, and those that are: users have any number of either,
 *	and whoever looks for one must not have to go through the others.
 * @nr: number of files.
 * @nr_attached, @memory: number of attached files, and the memory that they use.
 */
struct group {
	uid_t user;
	struct list lists[2];
	unsigned int nr;
	unsigned int nr_attached;
	uint64_t memory;
};

/**
 * struct known_files - the table
 *
 * @factors: random odd numbers, so that nobody can tell which files share a bucket.
 * @has_late: for known_take_late().
 * @first_recheck, @last_recheck: files to be rechecked, in the order of addition.
 */
struct known_files {
	uint64_t factors[2];
	void (*detach)(void *data, uint64_t id);
	void *data;
	unsigned int nr;
	bool has_late;
	struct known *first_recheck;
	struct known *last_recheck;
	struct known_totals totals;
	struct group groups[KNOWN_GROUPS];
	struct known *by_key[NR_BUCKETS];
	struct known *by_identity[NR_BUCKETS];
	struct known *by_digest[NR_BUCKETS];
};

struct known_files *known_files_create(void (*detach)(void *data, uint64_t id),
				       void *data)
{
	struct known_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	(void)!getrandom(files->factors, sizeof(files->factors), GRND_NONBLOCK);
	files->factors[0] = (files->factors[0] ^ 0x9e3779b97f4a7c15) | 1;
	files->factors[1] = (files->factors[1] ^ 0xc2b2ae3d27d4eb4f) | 1;
	files->detach = detach;
	files->data = data;
	return files;
}

void known_files_free(struct known_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < 2 * KNOWN_GROUPS; i++) {
		struct list *list = &files->groups[i / 2].lists[i % 2];

		while (list->first) {
			struct known *known = list->first;

			list->first = known->after;
			free(known);
		}
	}
	free(files);
}

const struct known_totals *known_files_totals(const struct known_files *files)
{
	return &files->totals;
}

/* --- finding */

/*
 * Users can choose inode numbers, but not so that many of these products with random numbers
 * begin with the same bits.
 */
static size_t hash(const struct known_files *files, uint64_t device, uint64_t inode)
{
	return (inode * files->factors[0] + device * files->factors[1]) >> (64 - BUCKET_BITS);
}

static size_t hash_digest(const struct known_files *files, const struct digest *digest)
{
	uint64_t word;

	memcpy(&word, digest->bytes, sizeof(word));
	return word * files->factors[0] >> (64 - BUCKET_BITS);
}

struct known *known_find(const struct known_files *files,
			 const struct file_key *key)
{
	struct known *known = files->by_key[hash(files, key->device, key->inode)];

	while (known && !is_same_key(&known->key, key))
		known = known->by_key;
	return known;
}

struct known *known_find_inode(const struct known_files *files,
			       uint64_t device, uint64_t inode)
{
	struct known *known = files->by_identity[hash(files, device, inode)];

	while (known && (known->device != device || known->inode != inode))
		known = known->by_identity;
	return known;
}

struct known *known_find_digest(const struct known_files *files,
				const struct digest *digest)
{
	struct known *known = files->by_digest[hash_digest(files, digest)];

	while (known && ((known->state != FILE_ATTACHED && !known->is_final) ||
			 memcmp(&known->digest, digest, sizeof(*digest))))
		known = known->by_digest;
	return known;
}

/* Returns whether mappings with that key have the numbers of the file itself. */
static bool is_certain(const struct known *known, const struct file_key *key)
{
	return known->device == key->device && known->inode == key->inode;
}

struct known *known_find_mapped(const struct known_files *files,
				const struct mapping *mapping)
{
	struct known *known = known_find_inode(files, mapping->key.device,
					       mapping->key.inode);

	/* The number may be that of an inode which has been deleted since. */
	if (known && mapping->generation &&
	    mapping->generation != known->generation)
		return NULL;
	return known;
}

uint8_t known_group(struct known_files *files, uid_t uid)
{
	uint8_t empty = 1 + uid % (KNOWN_GROUPS - 1);

	for (uint8_t i = KNOWN_TRUSTED + 1; i < KNOWN_GROUPS; i++) {
		if (!files->groups[i].nr)
			empty = i;
		else if (files->groups[i].user == uid)
			return i;
	}
	if (!files->groups[empty].nr)
		files->groups[empty].user = uid;
	return empty;
}

/* --- lists and hash tables */

static struct list *list_of(struct known_files *files, const struct known *known)
{
	return &files->groups[known->group].lists[known->state == FILE_ATTACHED];
}

static void link_group(struct known_files *files, struct known *known)
{
	struct list *list = list_of(files, known);

	known->before = NULL;
	known->after = list->first;
	if (list->first)
		list->first->before = known;
	else
		list->last = known;
	list->first = known;
}

static void unlink_group(struct known_files *files, struct known *known)
{
	struct list *list = list_of(files, known);

	if (known->before)
		known->before->after = known->after;
	else
		list->first = known->after;
	if (known->after)
		known->after->before = known->before;
	else
		list->last = known->before;
}

static void link_key(struct known_files *files, struct known *known)
{
	struct known **bucket =
		&files->by_key[hash(files, known->key.device, known->key.inode)];

	known->by_key = *bucket;
	*bucket = known;
}

static void unlink_key(struct known_files *files, const struct known *known)
{
	struct known **link =
		&files->by_key[hash(files, known->key.device, known->key.inode)];

	while (*link != known)
		link = &(*link)->by_key;
	*link = known->by_key;
}

static void unlink_identity(struct known_files *files,
			    const struct known *known)
{
	struct known **link =
		&files->by_identity[hash(files, known->device, known->inode)];

	while (*link != known)
		link = &(*link)->by_identity;
	*link = known->by_identity;
}

static void unlink_digest(struct known_files *files, const struct known *known)
{
	struct known **link;

	if (!known->has_digest)
		return;
	link = &files->by_digest[hash_digest(files, &known->digest)];
	while (*link != known)
		link = &(*link)->by_digest;
	*link = known->by_digest;
}

static void unlink_recheck(struct known_files *files, struct known *known)
{
	struct known **link = &files->first_recheck, *before = NULL;

	if (!known->has_recheck)
		return;
	while (*link != known) {
		before = *link;
		link = &before->next_recheck;
	}
	*link = known->next_recheck;
	if (files->last_recheck == known)
		files->last_recheck = before;
	known->has_recheck = false;
}

/* --- counting */

static void count(struct known_files *files, const struct known *known, int by)
{
	struct known_totals *totals = &files->totals;
	struct group *group = &files->groups[known->group];

	group->nr += by;
	totals->nr[known->state] += by;
	if (known->state != FILE_ATTACHED)
		return;
	group->nr_attached += by;
	group->memory += by * (int64_t)known->memory;
	totals->functions += by * (int64_t)known->functions;
	totals->bytes += by * (int64_t)known->bytes;
	totals->memory += by * (int64_t)known->memory;
	totals->from_cache += by * known->from_cache;
	totals->completed += by * known->completes;
}

/* --- adding and removing */

static void forget(struct known_files *files, struct known *known)
{
	count(files, known, -1);
	unlink_group(files, known);
	unlink_key(files, known);
	unlink_identity(files, known);
	unlink_digest(files, known);
	unlink_recheck(files, known);
	files->nr--;
	free(known);
}

void known_forget(struct known_files *files, struct known *known)
{
	if (known->id) {
		files->detach(files->data, known->id);
		files->totals.detached++;
	}
	forget(files, known);
}

/* Forget the least recently used file without attachment of the largest group. */
static void forget_one(struct known_files *files)
{
	struct group *largest = &files->groups[0];

	for (size_t i = 1; i < KNOWN_GROUPS; i++)
		if (files->groups[i].nr - files->groups[i].nr_attached >
		    largest->nr - largest->nr_attached)
			largest = &files->groups[i];
	if (largest->lists[0].last)
		forget(files, largest->lists[0].last);
}

void known_set(struct known_files *files, const struct known *from)
{
	struct known *known;

	known = known_find_inode(files, from->device, from->inode);
	if (known) {
		if (known->id && known->id != from->id)
			files->detach(files->data, known->id);
		forget(files, known);
	}
	if (files->nr >= KNOWN_MAX)
		forget_one(files);
	known = malloc(sizeof(*known));
	if (!known) {
		if (from->id)
			files->detach(files->data, from->id);
		return;
	}
	*known = *from;
	if (!is_certain(known, &known->key))
		known->generation = 0;
	known->has_recheck = false;
	known->is_retried = false;
	known->is_late = false;
	known->next_recheck = NULL;
	count(files, known, 1);
	link_group(files, known);
	link_key(files, known);
	known->by_identity =
		files->by_identity[hash(files, known->device, known->inode)];
	files->by_identity[hash(files, known->device, known->inode)] = known;
	if (known->has_digest) {
		struct known **bucket =
			&files->by_digest[hash_digest(files, &known->digest)];

		known->by_digest = *bucket;
		*bucket = known;
	}
	files->nr++;
}

void known_set_group(struct known_files *files, struct known *known,
		     uint8_t group)
{
	count(files, known, -1);
	unlink_group(files, known);
	known->group = group;
	link_group(files, known);
	count(files, known, 1);
}

void known_use(struct known_files *files, struct known *known, uint64_t now)
{
	known->used_at = now;
	if (list_of(files, known)->first != known) {
		unlink_group(files, known);
		link_group(files, known);
	}
}

void known_found(struct known_files *files, struct known *known,
		 const struct mapping *mapping)
{
	known->retry = mapping_place(mapping);
	known->is_retried = false;
	known->is_late = false;
	if (!is_same_key(&known->key, &mapping->key)) {
		unlink_key(files, known);
		known->key = mapping->key;
		link_key(files, known);
	}
	if (mapping->generation && is_certain(known, &mapping->key))
		known->generation = mapping->generation;
}

/* --- making room in the kernel */

void known_detach(const struct known_files *files, uint64_t id)
{
	files->detach(files->data, id);
}

void known_group_attached(const struct known_files *files, uint8_t group,
			  unsigned int *nr, uint64_t *memory)
{
	*nr = files->groups[group].nr_attached;
	*memory = files->groups[group].memory;
}

bool known_forget_oldest(struct known_files *files, uint8_t group,
			 uint64_t since)
{
	struct known *known = files->groups[group].lists[1].last;

	if (!known || known->used_at >= since)
		return false;
	known_forget(files, known);
	return true;
}

uint8_t known_largest_group(const struct known_files *files, uint64_t *memory)
{
	uint8_t largest = KNOWN_TRUSTED + 1;

	for (uint8_t i = largest; i < KNOWN_GROUPS; i++)
		if (files->groups[i].memory > files->groups[largest].memory)
			largest = i;
	*memory = files->groups[largest].memory;
	return largest;
}

void known_forget_refused(struct known_files *files, const char *reason)
{
	for (size_t i = 0; i < KNOWN_GROUPS; i++) {
		struct known *known = files->groups[i].lists[0].first;

		while (known) {
			struct known *next = known->after;

			if (known->state == FILE_REFUSED &&
			    known->reason == reason)
				forget(files, known);
			known = next;
		}
	}
}

/* --- rechecks and retries */

void known_add_recheck(struct known_files *files, struct known *known,
		       const struct mapping *mapping, uint64_t at)
{
	known->recheck = mapping_place(mapping);
	if (known->has_recheck)
		return;
	known->has_recheck = true;
	known->recheck_at = at;
	known->next_recheck = NULL;
	if (files->first_recheck)
		files->last_recheck->next_recheck = known;
	else
		files->first_recheck = known;
	files->last_recheck = known;
}

void known_take_rechecks(struct known_files *files, uint64_t now,
			 void (*fn)(void *data, const struct mapping *mapping),
			 void *data)
{
	struct known **link = &files->first_recheck, *known;

	files->last_recheck = NULL;
	while ((known = *link)) {
		const struct mapping mapping = {
			.pid = known->recheck.pid,
			.generation = known->generation,
			.start = known->recheck.start,
			.end = known->recheck.end,
			.key = { known->device, known->inode },
		};

		if (now < known->recheck_at) {
			files->last_recheck = known;
			link = &known->next_recheck;
			continue;
		}
		*link = known->next_recheck;
		known->has_recheck = false;
		fn(data, &mapping);
	}
}

/* Note it, once, if the retry is late. */
static void check_late(struct known_files *files, struct known *known, uint64_t now)
{
	if (known->is_late || now - known->retry_at < KNOWN_LATE_NS)
		return;
	known->is_late = true;
	files->has_late = true;
}

struct known *known_take_retry(struct known_files *files, uint8_t group, uint64_t now)
{
	struct known *due = NULL;

	if (!files->totals.nr[FILE_REFUSED])
		return NULL;
	for (struct known *known = files->groups[group].lists[0].first; known;
	     known = known->after) {
		if (known->retry_at > now)
			continue;
		check_late(files, known, now);
		if (!due && !known->is_retried)
			due = known;
	}
	if (due)
		due->is_retried = true;
	return due;
}

bool known_take_late(struct known_files *files)
{
	const bool has_late = files->has_late;

	files->has_late = false;
	return has_late;
}

void known_for_each(const struct known_files *files,
		    void (*fn)(void *data, const struct known *known),
		    void *data)
{
	for (size_t i = 0; i < 2 * KNOWN_GROUPS; i++)
		for (const struct known *known = files->groups[i / 2].lists[i % 2].first;
		     known; known = known->after)
			fn(data, known);
}
