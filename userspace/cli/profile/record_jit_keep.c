// SPDX-License-Identifier: GPL-2.0
/*
 * "record": copy what names code made at run time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/record_jit.h"
#include "cli/profile/record_jit_makers.h"

/* Bytes of a file, and of one that is copied to memory first. */
#define FILE_MAX	(256ULL << 20)
#define MEMORY_MAX	(64ULL << 20)

/* Bytes of all files of this user, and of all of others. */
#define OWN_MAX		(2ULL << 30)
#define OTHERS_MAX	(256ULL << 20)
#define LEAST		(64u << 10)	/* counted for a file with its directories */

/* Time to copy files of others at the end. */
#define COPY_NS		(3 * SECOND)

/* To look for files, and to copy those that may block, at the end. */
#define KEEP_MS		2000

static const char *const names[NR_KINDS] = {
	JIT_KEPT_MAP, JIT_KEPT_DUMP, JIT_KEPT_OBJECTS,
};

static const char *why_not(int error)
{
	switch (error) {
	case -EFBIG:
		return "it is too large, or there are too many";
	case -ETIME:
		return "it could not be read in time";
	case -ESTALE:
		return "it was replaced";
	case -EPERM:
		return "other users may change what is in ~/.debug";
	case -EDESTADDRREQ:
		return "HOME is not set";
	default:
		return strerror(-error);
	}
}

/* Returns 0 or -errno. */
static int open_cache(struct record_jit *jit)
{
	int ret = 0;

	if (!jit->has_cache)
		ret = build_id_cache_try(&jit->cache, getenv("HOME"));
	jit->has_cache = !ret;
	return ret;
}

/* Returns whether a file may be copied, and counts it in the place of its last copy. */
static bool has_room(struct record_jit *jit, const struct maker *maker,
		     struct source *source)
{
	const struct object_file *file = &source->opening.file;
	const uint64_t size = file->size > LEAST ? file->size : LEAST;
	struct his *his = &jit->of_user[maker->user_number];
	uint64_t *used = maker_is_own(maker) ? &jit->own : &jit->others;
	const uint64_t max = maker_is_own(maker) ? OWN_MAX : OTHERS_MAX;

	if (file->size > FILE_MAX || file->size > object_file_size_max(file) ||
	    *used - source->charged + size > max ||
	    (!maker_is_own(maker) && his->bytes - source->charged + size >
	     OTHERS_MAX / USER_SHARE))
		return false;
	*used += size - source->charged;
	his->bytes += size - source->charged;
	source->charged = size;
	return true;
}

/*
 * Copy a file as it is now. What may block is copied to memory first, and is read by nobody
 * else.
 */
static int copy_source(struct record_jit *jit, struct maker *maker,
		       unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	struct object_file *file = &source->opening.file;
	char folder[sizeof(JIT_KEPT_FOLDER) + JIT_KEPT_SIZE];
	struct stat status;
	int ret;

	if (file->may_block && !file->is_ours) {
		if (file->size > MEMORY_MAX || !has_room(jit, maker, source))
			return -EFBIG;
		if (!inspect_copy(file, maker->pid))
			return -ETIME;
		file->may_block = false;
	}
	if (fstat(file->fd, &status))
		return -errno;
	file->size = status.st_size;
	file->stored = 512ULL * status.st_blocks;
	if (source->kept == file->size &&
	    !memcmp(&source->changed_at, &status.st_mtim, sizeof(status.st_mtim)))
		return 0;
	if (!has_room(jit, maker, source))
		return -EFBIG;
	ret = open_cache(jit);
	if (ret)
		return ret;
	snprintf(folder, sizeof(folder), JIT_KEPT_FOLDER "/%s", maker->folder);
	ret = build_id_cache_put_as(&jit->cache, folder, names[kind], file);
	if (!ret) {
		source->kept = file->size;
		source->changed_at = status.st_mtim;
	}
	return ret;
}

/* Returns whether the process has a copy of a file now. */
static bool keep_source(struct record_jit *jit, struct maker *maker,
			unsigned int kind)
{
	struct source *source = &maker->sources[kind];
	const bool was_open = source->is_open &&
			      !source->opening.file.may_block;
	int ret;

	if (kind == OBJECTS)
		maker_open_objects(jit, maker);
	else if (!source->is_open)
		maker_open(jit, maker, kind);
	if (!source->is_open)
		return source->kept;
	ret = copy_source(jit, maker, kind);
	if (ret && ret != -EINTR && !jit->missed++)
		complain("record: %s was not kept: %s", source->opening.path,
			 why_not(ret));
	/* There may be many, of processes that have ended; a copy in memory takes that. */
	if (!was_open)
		maker_close(jit, maker, kind);
	return source->kept;
}

static int tell(const struct maker *maker,
		struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	char name[sizeof(JIT_KEPT_NAME) + JIT_KEPT_SIZE];
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.source = SFRAME_UNWIND_PROFILE_NONE,
		.time = time,
		.pid = maker->pid,
		.tid = maker->pid,
		.cpu = SFRAME_UNWIND_PROFILE_NONE,
		.map = { .start = maker->since, .name = name },
	};

	snprintf(name, sizeof(name), JIT_KEPT_NAME "%s", maker->folder);
	return sframe_unwind_profile_write(writer, &record);
}

/* Keep the files of a process, and tell them. Returns 0 or an error of the writer. */
static int keep_maker(struct record_jit *jit, struct maker *maker,
		      struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	bool is_kept = false;

	for (unsigned int kind = 0; kind < NR_KINDS; kind++)
		is_kept |= keep_source(jit, maker, kind);
	return is_kept ? tell(maker, writer, time) : 0;
}

int record_jit_keep(struct record_jit *jit,
		    struct sframe_unwind_profile_writer *writer, uint64_t time)
{
	uint64_t end = 0;
	int ret = 0;

	/* The limit of the size of files counts as if the disk were full. */
	signal(SIGXFSZ, SIG_IGN);
	inspect_begin(jit->is_interrupted, KEEP_MS);
	for (unsigned int i = 0; i < 2 * jit->pids.nr; i++) {
		const bool is_first = i < jit->pids.nr;
		struct maker *maker = &jit->list[i % jit->pids.nr];

		/* This user's first; there may be very many others. */
		if (maker_is_own(maker) != is_first)
			continue;
		if (ret || *jit->is_interrupted)
			break;
		if (!is_first && !end)
			end = now_ns() + COPY_NS;
		if (!is_first && now_ns() > end) {
			if (!jit->missed++)
				complain("record: names of code of some processes were not kept: it takes too long");
			break;
		}
		ret = keep_maker(jit, maker, writer, time);
	}
	return ret;
}
