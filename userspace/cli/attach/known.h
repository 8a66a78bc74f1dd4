/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Known files: what became of each file that was looked at.
 *
 * A file is its inode, as long as that is not changed; what is said of one file
 * holds for another only if what was read of both has the same digest. The table
 * is bounded: files of a user with many of them are forgotten before those of
 * others, the least recently used ones first. To forget a file costs another look
 * at it, no more.
 */
#ifndef ATTACH_KNOWN_H
#define ATTACH_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "convert/digest.h"
#include "mapping.h"

/* Files in the table. */
#define KNOWN_MAX 32768U

/* What became of a file. */
enum file_state {
	FILE_ATTACHED,
	FILE_OWN,		/* has a .sframe of its own */
	FILE_FOREIGN,		/* no program or shared object of x86-64 */
	FILE_REFUSED,		/* cannot be converted or attached */
	FILE_NR_STATES
};

/**
 * struct known - one file
 *
 * @by_key, @by_identity, @by_digest: next in its buckets.
 * @before, @after: of its group, by use.
 * @key, @generation: of the mapping that it was last found by.
 * @device, @inode, @size, @changed: the file as it was when it was looked at.
 * @has_digest, @digest: of what was read of it.
 * @group: whose share of the table it is in.
 * @state: what became of it.
 * @reason: why it was refused: a constant string.
 * @is_final: will it be so whoever looks at the same bytes again?
 * @id, @functions, @bytes, @memory: of what is attached.
 * @from_cache: was it not converted?
 * @checked_at: when the inode was last compared with this.
 * @used_at: when somebody was last seen to map it.
 * @retry_at, @nr_tries, @is_retried: when to look at it again although it is not
 *	changed, for which time, and whether that is under way.
 * @recheck, @has_recheck: mapped again so shortly after it was looked at that it
 *	was not looked at again: next such one.
 * @recheck_pid, @recheck_start, @recheck_end: the latest mapping of that kind, or
 *	of what is to be tried again.
 */
struct known {
	struct known *by_key;
	struct known *by_identity;
	struct known *by_digest;
	struct known *before;
	struct known *after;
	struct known *recheck;
	struct file_key key;
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec changed;
	uint32_t generation;
	bool has_digest;
	bool is_final;
	bool from_cache;
	bool has_recheck;
	bool is_retried;
	uint8_t group;
	uint8_t state;
	uint8_t nr_tries;
	struct digest digest;
	const char *reason;
	uint64_t id;
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	uint64_t checked_at;
	uint64_t used_at;
	uint64_t retry_at;
	pid_t recheck_pid;
	uint64_t recheck_start;
	uint64_t recheck_end;
};

/* Groups: of files that only root can write, and of users. */
#define KNOWN_TRUSTED	0
#define KNOWN_GROUPS	65

struct known_files;

/*
 * The group of a user: his own, or, if so many others have files in the table, one
 * with others.
 */
uint8_t known_group(struct known_files *files, uid_t uid);

/* @detach is called for an attachment that is given up. */
struct known_files *known_files_create(void (*detach)(void *data, uint64_t id),
				       void *data);
void known_files_free(struct known_files *files);

/* Files by state, and of those attached: sums of their members. */
struct known_totals {
	unsigned int nr[FILE_NR_STATES];
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	unsigned int from_cache;
	unsigned int detached;
};

const struct known_totals *known_files_totals(const struct known_files *files);

/* The file that was last found by a mapping with this key, or NULL. */
struct known *known_find(const struct known_files *files,
			 const struct file_key *key);

/* The file with this inode, as stat(2) says it, or NULL. */
struct known *known_find_inode(const struct known_files *files,
			       uint64_t device, uint64_t inode);

/*
 * A file with that digest that is attached, or of which all is said; or NULL.
 */
struct known *known_find_digest(const struct known_files *files,
				const struct digest *digest);

/*
 * Put a copy of @known, of which members for the table's own use do not count,
 * into the table, in the place of what was known of that inode before. If that
 * is attached by another id, it is detached. Without memory it is forgotten at
 * once.
 */
void known_set(struct known_files *files, const struct known *known);

/* Put it into another group. */
void known_set_group(struct known_files *files, struct known *known,
		     uint8_t group);

/* It is mapped; by a mapping with this key. */
void known_use(struct known_files *files, struct known *known,
	       const struct mapping *mapping, uint64_t now);

/* Forget it, and detach what is attached to it. */
void known_forget(struct known_files *files, struct known *known);

/* Detach what is attached to no file of the table. */
void known_detach(const struct known_files *files, uint64_t id);

/* Those attached of one group, and the memory that they take. */
void known_group_attached(const struct known_files *files, uint8_t group,
			  unsigned int *nr, uint64_t *memory);

/*
 * Forget the attached file of @group that was not used for longest, if that was
 * not since @since. Returns whether there was one.
 */
bool known_forget_oldest(struct known_files *files, uint8_t group,
			 uint64_t since);

/* The group of users that has most memory attached, in *@memory. */
uint8_t known_largest_group(const struct known_files *files, uint64_t *memory);

/* Forget all that were refused for that reason. */
void known_forget_refused(struct known_files *files, const char *reason);

/*
 * Mapped again: to be looked at when it is @age ns since it was looked at.
 * known_take_recheck() returns such a file, or NULL; none waits for longer than
 * @age.
 */
void known_add_recheck(struct known_files *files, struct known *known,
		       const struct mapping *mapping);
struct known *known_take_recheck(struct known_files *files, uint64_t now,
				 uint64_t age);

/*
 * A file that is to be tried again by now, or NULL; it is not returned once more
 * before it has been looked at.
 */
struct known *known_take_retry(struct known_files *files, uint64_t now);

/* Call @fn for each file. */
void known_for_each(const struct known_files *files,
		    void (*fn)(void *data, const struct known *known),
		    void *data);

#endif /* ATTACH_KNOWN_H */
