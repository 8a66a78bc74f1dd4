/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Known files: the result for each file that was examined.
 *
 * A file is identified by its unchanged inode. The result for one file is used for
 * another only if the bytes read of both have the same digest. The table is bounded:
 * files of users with many entries are forgotten first, least recently used first.
 * A forgotten file only has to be examined again.
 */
#ifndef ATTACH_KNOWN_H
#define ATTACH_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "clock.h"
#include "convert/base/digest.h"
#include "mapping.h"

/* Files in the table. */
#define KNOWN_MAX 32768U

/* Result for a file. */
enum file_state {
	FILE_ATTACHED,
	FILE_OWN,		/* has its own .sframe */
	FILE_FOREIGN,		/* no program or shared object of x86-64 */
	FILE_REFUSED,		/* cannot be converted or attached */
	FILE_NR_STATES
};

/**
 * struct known - one file
 *
 * @by_key, @by_identity, @by_digest: next file in the hash bucket.
 * @before, @after: neighbours in a list of the group, which is ordered by use.
 * @key: of the mapping by which it was last found. It may be the key of another file:
 *	the mapping may have been replaced before it was opened.
 * @device, @inode, @size, @changed: the file as it was when it was examined.
 * @generation: generation number of the inode; 0 if it is not certain.
 * @has_digest, @digest: digest of the bytes read.
 * @group: group whose share of the table it uses.
 * @state: enum file_state.
 * @reason: why it was refused, a constant string.
 * @is_final: every examination of the same bytes has this result.
 * @id, @functions, @bytes, @memory: of the attachment.
 * @from_cache: the section came from the cache.
 * @completes: it completes the file's own .sframe.
 * @checked_at: when the inode was last compared with this entry.
 * @used_at: when a process was last seen to map it.
 * @retry_at: when to examine it again even if it is unchanged.
 * @nr_tries: number of such retries.
 * @is_retried: the retry has been taken.
 * @is_late: it has been told that the retry is late.
 * @retry: the mapping to use for a retry: it led to this file before.
 * @next_recheck, @has_recheck: list of files that were mapped again shortly after they
 *	were examined, and are to be examined at @recheck_at.
 * @recheck: the latest of these mappings.
 */
struct known {
	struct known *by_key;
	struct known *by_identity;
	struct known *by_digest;
	struct known *before;
	struct known *after;
	struct known *next_recheck;
	struct file_key key;
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec changed;
	uint32_t generation;
	bool has_digest;
	bool is_final;
	bool from_cache;
	bool completes;
	bool has_recheck;
	bool is_retried;
	bool is_late;
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
	struct mapping_place retry;
	uint64_t recheck_at;
	struct mapping_place recheck;
};

/* A retry is late if the file has not been examined for so long after it was due. */
#define KNOWN_LATE_NS	(2 * SECOND)

/* Groups: one of trusted files, which only root can write, and those of users. */
#define KNOWN_TRUSTED	0
#define KNOWN_GROUPS	65

struct known_files;

/*
 * The group of a user. If too many users have files in the table, users share
 * groups.
 */
uint8_t known_group(struct known_files *files, uid_t uid);

/* @detach is called to detach a section. */
struct known_files *known_files_create(void (*detach)(void *data, uint64_t id),
				       void *data);
void known_files_free(struct known_files *files);

/* Number of files by state, and sums over the attached ones. */
struct known_totals {
	unsigned int nr[FILE_NR_STATES];
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	unsigned int from_cache;
	unsigned int completed;
	unsigned int detached;
};

const struct known_totals *known_files_totals(const struct known_files *files);

/*
 * A file that was last found by a mapping with this key, or NULL. It need not be the
 * file that the key belongs to: use it only where a reader compares the inodes.
 */
struct known *known_find(const struct known_files *files,
			 const struct file_key *key);

/* The file with this device and inode, as in stat(2), or NULL. */
struct known *known_find_inode(const struct known_files *files,
			       uint64_t device, uint64_t inode);

/*
 * The file of @mapping, or NULL if that is not certain. It is certain where mappings
 * have the same numbers as stat(2), which has no two files with the same numbers. So it
 * is never certain on btrfs and on most overlays.
 */
struct known *known_find_mapped(const struct known_files *files,
				const struct mapping *mapping);

/* A file with that digest that is attached or has a final result, or NULL. */
struct known *known_find_digest(const struct known_files *files,
				const struct digest *digest);

/*
 * Put a copy of @known into the table, instead of the entry that the inode had
 * before. If that entry has another attachment, the attachment is detached. The
 * list members of @known are ignored. Without memory, the file is forgotten and
 * detached at once.
 */
void known_set(struct known_files *files, const struct known *known);

/* Move the file to another group. */
void known_set_group(struct known_files *files, struct known *known,
		     uint8_t group);

/* Note that a process maps the file now. */
void known_use(struct known_files *files, struct known *known, uint64_t now);

/*
 * Note that @mapping led to the file, whose result is still valid. A retry that was taken
 * meanwhile may have been left out, as the file was under way: it can be taken again.
 */
void known_found(struct known_files *files, struct known *known,
		 const struct mapping *mapping);

/* Forget the file, and detach its section. */
void known_forget(struct known_files *files, struct known *known);

/* Detach a section that belongs to no file in the table. */
void known_detach(const struct known_files *files, uint64_t id);

/* Number of attached files of one group, and the memory that they use. */
void known_group_attached(const struct known_files *files, uint8_t group,
			  unsigned int *nr, uint64_t *memory);

/*
 * Forget the least recently used attached file of @group, if it was not used since
 * @since. Returns whether there was one.
 */
bool known_forget_oldest(struct known_files *files, uint8_t group,
			 uint64_t since);

/* The group of users whose attachments use most memory; sets *@memory to that. */
uint8_t known_largest_group(const struct known_files *files, uint64_t *memory);

/* Forget all files that were refused for that reason. */
void known_forget_refused(struct known_files *files, const char *reason);

/*
 * Note that @mapping maps the file, which is to be examined at @at, or earlier if that
 * has been requested before.
 */
void known_add_recheck(struct known_files *files, struct known *known,
		       const struct mapping *mapping, uint64_t at);

/*
 * Take all rechecks whose time has come: call @fn for their mappings. It must not change
 * this table.
 */
void known_take_rechecks(struct known_files *files, uint64_t now,
			 void (*fn)(void *data, const struct mapping *mapping),
			 void *data);

/*
 * Returns a file of the group whose retry is due, or NULL. It is not returned again before it
 * has been examined.
 */
struct known *known_take_retry(struct known_files *files, uint8_t group, uint64_t now);

/*
 * Returns whether known_take_retry() has come to a file whose retry is late, since the last
 * call; to each once. It may wait behind others of the group, or has led to nothing: its
 * mapping is gone, or the user of that is not served. Others may map the file.
 */
bool known_take_late(struct known_files *files);

/* Call @fn for each file. */
void known_for_each(const struct known_files *files,
		    void (*fn)(void *data, const struct known *known),
		    void *data);

#endif /* ATTACH_KNOWN_H */
