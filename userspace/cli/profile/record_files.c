// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/build_id_cache.h"
#include "cli/profile/inspect.h"
#include "cli/profile/record_files.h"

/* Most files open at once, or half of the process's limit; others are opened at the end. */
#define OPEN_MAX	4096u

/* Bytes of a file, and of all files of other users, which may be sparse. */
#define FILE_MAX	(1ULL << 30)
#define OTHERS_MAX	(256ULL << 20)
#define OTHERS_LEAST	(64u << 10)	/* counted for a file with its directories */

/* Files that are known of one user's processes. */
#define FILES_OF_USER	65536u

/**
 * struct recorded_file - a file with a build ID
 *
 * @known: its build ID, its name, and where it was mapped.
 * @file: the file, or no descriptor.
 * @is_used: whether samples are in it.
 */
struct recorded_file {
	struct history_object known;
	struct object_file file;
	bool is_used;
};

/**
 * struct asked_file - a file that the kernel did not know the build ID of
 *
 * @build_id: its build ID.
 * @size: bytes of that; 0 if it has none.
 */
struct asked_file {
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t size;
};

/**
 * struct record_files - all files
 *
 * @ids: numbers of the files, by build ID.
 * @list: the files.
 * @room: room for those.
 * @nr_looked_at: the first ones that were to be opened.
 * @nr_open: number of those that are open.
 * @keys: numbers of files that the kernel did not know the build ID of.
 * @asked: those files.
 * @asked_room: room for those.
 * @users: numbers of users.
 * @nr_of_user: how many of the files were first seen in processes of each.
 * @users_room: room for those.
 * @without: names of files without a build ID that samples are in.
 * @cache: where files are kept.
 * @is_interrupted: whether to end at once.
 */
struct record_files {
	struct strings ids;
	struct recorded_file *list;
	uint32_t room;
	uint32_t nr_looked_at;
	uint32_t nr_open;
	struct pairs keys;
	struct asked_file *asked;
	uint32_t asked_room;
	struct pairs users;
	uint32_t *nr_of_user;
	uint32_t users_room;
	struct strings without;
	struct build_id_cache cache;
	const volatile sig_atomic_t *is_interrupted;
};

#define ID_TEXT	(2 * SFRAME_UNWIND_PROFILE_BUILD_ID + 1)

static void print_id(char *text, const uint8_t *id, uint32_t size)
{
	*text = '\0';
	for (uint32_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

/* Returns the number of the file with a build ID, a new one if need be. */
static uint32_t get_file(struct record_files *files, const uint8_t *id,
			 uint32_t size)
{
	const uint32_t nr = files->ids.pairs.nr;
	char text[ID_TEXT];
	uint32_t number;

	print_id(text, id, size);
	number = strings_add(&files->ids, text);
	files->list = table_grow(files->list, &files->room, number,
				 sizeof(*files->list));
	if (number == nr)
		files->list[number].file.fd = -1;
	return number;
}

int record_files_create(struct record_files **result,
			const volatile sig_atomic_t *is_interrupted)
{
	struct record_files *files = table_allocate(sizeof(*files));

	*result = files;
	files->is_interrupted = is_interrupted;
	files->cache.is_interrupted = is_interrupted;
	files->cache.top = -1;
	return build_id_cache_open(&files->cache, "record", getenv("HOME"));
}

/* --- while recording */

static bool is_file(const struct sframe_unwind_profile_record *record)
{
	return record->kind == SFRAME_UNWIND_PROFILE_MAP &&
	       !record->map.is_kernel && record->map.name[0] == '/' &&
	       record->map.name[1] != '/';
}

/*
 * Count a new file, because the tables keep each. Returns whether the process's user may
 * have more.
 */
static bool count_file(struct record_files *files, pid_t pid)
{
	const uint32_t number = pairs_add(&files->users, inspect_user(pid), 0);

	files->nr_of_user = table_grow(files->nr_of_user, &files->users_room,
				       number, sizeof(*files->nr_of_user));
	if (files->nr_of_user[number] >= FILES_OF_USER)
		return false;
	files->nr_of_user[number]++;
	return true;
}

static void set_id(struct sframe_unwind_profile_map *map,
		   const struct asked_file *asked)
{
	memcpy(map->build_id, asked->build_id, sizeof(map->build_id));
	map->build_id_size = asked->size;
}

void record_files_complete(struct record_files *files,
			   struct sframe_unwind_profile_record *record,
			   dev_t device, uint64_t inode, uint64_t generation)
{
	struct sframe_unwind_profile_map *map = &record->map;
	const uint64_t key = table_hash(device, generation);
	const struct mapped_file mapped = {
		.pid = record->pid,
		.start = map->start,
		.end = map->start + map->size,
		.name = map->name,
		.device = device,
		.inode = inode,
	};
	uint32_t number;
	bool is_sure;

	if (!is_file(record) || map->build_id_size)
		return;
	number = pairs_find(&files->keys, key, inode);
	if (number != TABLE_NONE) {
		set_id(map, &files->asked[number]);
		return;
	}
	/* If it is not that file for sure, others must not get its build ID. */
	if (!inspect_count(record->pid) ||
	    !inspect_build_id(map, &mapped, &is_sure) || !is_sure ||
	    !count_file(files, record->pid))
		return;
	number = pairs_add(&files->keys, key, inode);
	files->asked = table_grow(files->asked, &files->asked_room, number,
				  sizeof(*files->asked));
	memcpy(files->asked[number].build_id, map->build_id,
	       sizeof(map->build_id));
	files->asked[number].size = map->build_id_size;
}

/* Root does not read what may block, and others read a copy of it: see copy_one(). */
static bool open_one(struct recorded_file *one)
{
	if (!inspect_open_mapped(&one->file, &one->known) &&
	    !inspect_open_in_root(&one->file, &one->known) &&
	    !inspect_open(&one->file, one->known.name, one->known.pid))
		return false;
	if (one->file.is_ours || !one->file.may_block || geteuid())
		return true;
	object_file_close(&one->file);
	return false;
}

/*
 * Another user may have made a file with the build ID of one that is trusted: take the next
 * one instead. Returns whether there is nothing to open any more.
 */
static bool has_file(struct record_files *files, struct recorded_file *one,
		     const char *name)
{
	if (!one->known.name)
		return false;
	if (one->file.fd < 0 || one->file.is_ours ||
	    !strcmp(one->known.name, name))
		return true;
	object_file_close(&one->file);
	free(one->known.name);
	files->nr_open--;
	return false;
}

void record_files_add(struct record_files *files,
		      const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	struct recorded_file *one;
	char text[ID_TEXT];
	uint32_t number;

	if (!is_file(record) || map->build_id_size < 2)
		return;
	print_id(text, map->build_id, map->build_id_size);
	if (!strings_has(&files->ids, text) && !count_file(files, record->pid))
		return;
	number = get_file(files, map->build_id, map->build_id_size);
	one = &files->list[number];
	if (has_file(files, one, map->name))
		return;
	one->known = (struct history_object){
		.name = table_copy(map->name),
		.build_id_size = map->build_id_size,
		.pid = record->pid,
		.start = map->start,
		.end = map->start + map->size,
		.is_live = true,
	};
	memcpy(one->known.build_id, map->build_id, map->build_id_size);
	/* Otherwise, record_files_open() does that. */
	if (number < files->nr_looked_at && inspect_count(record->pid))
		files->nr_open += open_one(one);
}

static uint32_t open_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > OPEN_MAX)
		return OPEN_MAX;
	return limit.rlim_cur / 2;
}

void record_files_open(struct record_files *files)
{
	const uint32_t max = open_max();

	/* What is not opened now is opened at the end, if it is still there. */
	for (; files->nr_looked_at < files->ids.pairs.nr; files->nr_looked_at++) {
		struct recorded_file *one = &files->list[files->nr_looked_at];

		if (files->nr_open < max && !*files->is_interrupted &&
		    inspect_count(one->known.pid) && open_one(one))
			files->nr_open++;
	}
}

/* --- which ones are used */

static void use_object(struct record_files *files,
		       const struct history_object *object)
{
	uint32_t number;

	if (object->name[0] != '/' || object->name[1] == '/')
		return;
	if (object->build_id_size < 2) {
		strings_add(&files->without, object->name);
		return;
	}
	number = get_file(files, object->build_id, object->build_id_size);
	files->list[number].is_used = true;
}

static void use_samples(struct record_files *files, struct history *history,
			struct sframe_unwind_profile *profile)
{
	const struct sframe_unwind_profile_record *record;
	struct process *process;
	uint64_t version;

	while (!*files->is_interrupted &&
	       sframe_unwind_profile_next(profile, &record) == 1) {
		const struct sframe_unwind_profile_sample *sample =
			&record->sample;

		if (record->kind != SFRAME_UNWIND_PROFILE_SAMPLE)
			continue;
		process = history_process(history, record->pid, record->time,
					  &version);
		for (uint32_t i = 0; i < sample->nr_user; i++) {
			const uint64_t address =
				sample->frames[sample->nr_kernel + i] - !!i;
			const struct mapping *mapping = process_find(process,
								     address);

			if (mapping)
				use_object(files, history_object(history,
							mapping->object));
		}
	}
}

int record_files_use(struct record_files *files, const char *path)
{
	const struct sframe_unwind_profile_record *record;
	struct sframe_unwind_profile *profile = NULL;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct history *history;
	int ret;

	ret = fd < 0 ? -errno : sframe_unwind_profile_open(&profile, fd);
	if (!ret) {
		history = history_create(UINT64_MAX / 2);
		sframe_unwind_profile_skip_samples(profile, 1);
		while (sframe_unwind_profile_next(profile, &record) == 1)
			history_add(history, record);
		history_finish(history);
		sframe_unwind_profile_skip_samples(profile, 0);
		sframe_unwind_profile_rewind(profile);
		use_samples(files, history, profile);
		history_free(history);
	}
	sframe_unwind_profile_close(profile);
	if (fd >= 0)
		close(fd);
	return ret ? complain("%s: %s", path, strerror(-ret)) : CLI_OK;
}

/* --- keep them */

/**
 * struct keeping - what is kept
 *
 * @others: bytes of other users' files.
 * @nr: files that were kept.
 * @known: files that were there.
 * @missed: files that were not kept.
 */
struct keeping {
	uint64_t others;
	uint32_t nr;
	uint32_t known;
	uint32_t missed;
};

/* Returns whether a file may be copied. */
static bool has_room(struct keeping *keeping, const struct object_file *file)
{
	const uint64_t size = file->size > OTHERS_LEAST ? file->size :
							  OTHERS_LEAST;

	if (file->size > FILE_MAX)
		return false;
	if (file->is_ours)
		return true;
	if (size > OTHERS_MAX - keeping->others)
		return false;
	keeping->others += size;
	return true;
}

/* What may block cannot be read before it was copied. Returns whether it can be read. */
static bool copy_one(struct recorded_file *one)
{
	return one->file.is_ours || !one->file.may_block ||
	       inspect_copy(&one->file, one->known.pid);
}

/* Returns 0, -EEXIST if it is there already, or another error. */
static int keep_file(struct record_files *files, struct keeping *keeping,
		     struct recorded_file *one)
{
	if (build_id_cache_has(&files->cache, &one->known))
		return -EEXIST;
	if (one->file.fd < 0 && !open_one(one))
		return -ENXIO;
	if (!has_room(keeping, &one->file))
		return -EFBIG;
	return copy_one(one) ?
	       build_id_cache_put(&files->cache, &one->known, &one->file) :
	       -ETIME;
}

static const char *why_not(int error)
{
	switch (error) {
	case -ENXIO:
		return "it cannot be opened any more";
	case -EFBIG:
		return "it is too large, or too many are of other users";
	case -ETIME:
		return "it could not be read in time";
	case -ESTALE:
		return "it was replaced";
	case -EPERM:
		return "other users may change what is in the cache";
	default:
		return strerror(-error);
	}
}

int record_files_keep(struct record_files *files, bool is_quiet)
{
	struct keeping keeping = { 0 };

	/* The limit of the size of files counts as if the disk were full. */
	signal(SIGXFSZ, SIG_IGN);
	for (uint32_t i = 0; i < files->ids.pairs.nr && !*files->is_interrupted; i++) {
		struct recorded_file *one = &files->list[i];
		int ret;

		if (!one->is_used || !one->known.name)
			continue;
		ret = keep_file(files, &keeping, one);
		object_file_close(&one->file);
		if (!ret)
			keeping.nr++;
		else if (ret == -EEXIST)
			keeping.known++;
		else if (!keeping.missed++)
			complain("record: %s was not kept: %s", one->known.name,
				 why_not(ret));
	}
	if (keeping.missed > 1)
		complain("record: %u more files were not kept",
			 keeping.missed - 1);
	if (!is_quiet)
		fprintf(stderr, "record: files with samples: %u kept in %s/.debug, %u were there, %u have no build ID\n",
			keeping.nr, files->cache.home, keeping.known,
			files->without.pairs.nr);
	return CLI_OK;
}

void record_files_free(struct record_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->ids.pairs.nr; i++) {
		object_file_close(&files->list[i].file);
		free(files->list[i].known.name);
	}
	free(files->list);
	strings_free(&files->ids);
	pairs_free(&files->keys);
	free(files->asked);
	pairs_free(&files->users);
	free(files->nr_of_user);
	strings_free(&files->without);
	build_id_cache_close(&files->cache);
	free(files);
}
