// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sframe_unwind.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/inspect.h"
#include "cli/profile/load.h"
#include "cli/profile/why_cut.h"

/*
 * Approximate limit of the memory for the contents of a profile: KEPT_FREE bytes, and
 * KEPT_RATIO for each byte of the file, because a compressed file can be small and its
 * contents large. Holes cost nothing and do not count: no more bytes than KEPT_PACKED times
 * those allocated, as file systems compress.
 */
#define KEPT_FREE	(8u << 20)
#define KEPT_RATIO	64u
#define KEPT_PACKED	8u

/* How often to try again while another process holds a lease, and the interval. */
#define LEASE_TRIES	20
#define LEASE_STEP_MS	50

static int status_of(int error)
{
	switch (error) {
	case -EINVAL:
	case -EOPNOTSUPP:
		return CLI_UNSUITABLE;
	default:
		return CLI_TROUBLE;
	}
}

/* Report, once, where the file is not as it should be. */
static void check_end(struct load *load, int ret)
{
	const char *truncated = sframe_unwind_profile_truncated(load->profile);

	if (load->damage)
		return;
	if (ret < 0)
		complain("%s: %s; what precedes is used", load->path,
			 sframe_unwind_profile_error(load->profile));
	else if (truncated)
		complain("%s: %s; what precedes is used", load->path,
			 truncated);
	load->damage = ret < 0 || truncated;
}

/* Returns whether more of the profile may be kept; else after a message, once. */
static bool has_room(struct load *load)
{
	if (load->is_live || !history_is_full(load->history))
		return true;
	load->end = load->at;
	if (!load->damage)
		complain("%s: offset %" PRIu64 ": up to here, it has more names, mappings, threads or different stacks than a profile of %" PRIu64 " bytes may have; what precedes is used",
			 load->path, load->at, load->size);
	load->damage = true;
	return false;
}

static void read_history(struct load *load)
{
	const struct sframe_unwind_profile_record *record;
	int ret = 0;

	/* Samples are looked at when they are used. */
	sframe_unwind_profile_skip_samples(load->profile, 1);
	while (has_room(load) &&
	       (ret = sframe_unwind_profile_next(load->profile, &record)) == 1) {
		load->at = record->offset;
		switch (record->kind) {
		case SFRAME_UNWIND_PROFILE_LOST:
		case SFRAME_UNWIND_PROFILE_LOST_SAMPLES:
			load->lost += record->lost;
			break;
		default:
			history_add(load->history, record);
			break;
		}
	}
	check_end(load, ret);
	history_finish(load->history);
	sframe_unwind_profile_skip_samples(load->profile, 0);
	sframe_unwind_profile_rewind(load->profile);
}

/*
 * Open a profile; a FIFO is waited for. Its owner could have a lease on a file, so that
 * open(2) would wait. Returns a file or -errno.
 */
static int open_profile(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	struct stat status;
	int fd = -1;

	if (!stat(path, &status) && S_ISFIFO(status.st_mode)) {
		fd = open(path, flags);
		return fd < 0 ? -errno : fd;
	}
	for (unsigned int i = 0; i < LEASE_TRIES; i++) {
		fd = open(path, flags | O_NONBLOCK);
		if (fd >= 0 || errno != EWOULDBLOCK)
			break;
		poll(NULL, 0, LEASE_STEP_MS);
	}
	if (fd < 0)
		return -errno;
	/* Reads wait. */
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* Returns how many bytes of the profile count. */
static uint64_t size_without_holes(const struct load *load)
{
	const uint64_t size = sframe_unwind_profile_size(load->profile);
	struct stat status;
	uint64_t max;

	if (fstat(load->fd, &status) || !S_ISREG(status.st_mode))
		return size;
	max = 512ULL * KEPT_PACKED * status.st_blocks;
	return size < max ? size : max;
}

int load_open(struct load *load, const char *path,
	      const struct names_options *options)
{
	int ret;

	inspect_start();
	*load = (struct load){
		.path = path,
		.fd = STDIN_FILENO,
		.end = UINT64_MAX,
	};
	if (strcmp(path, "-")) {
		load->fd = open_profile(path);
		if (load->fd == -EWOULDBLOCK)
			return complain("%s: another process has a lease on it",
					path);
		if (load->fd < 0)
			return complain("%s: %s", path, strerror(-load->fd));
	}
	ret = sframe_unwind_profile_open(&load->profile, load->fd);
	if (ret) {
		complain("%s: %s", path, load->profile ?
			 sframe_unwind_profile_error(load->profile) :
			 strerror(-ret));
		load_close(load);
		return status_of(ret);
	}
	load->size = size_without_holes(load);
	load->history = history_create(KEPT_FREE + KEPT_RATIO * load->size);
	read_history(load);
	load->names = names_create(load->history, options,
				   sframe_unwind_profile_fact(load->profile,
						SFRAME_UNWIND_PROFILE_RELEASE));
	names_set_clock(load->names, sframe_unwind_profile_clock(load->profile));
	return CLI_OK;
}

const struct sframe_unwind_profile_record *load_next(struct load *load)
{
	const struct sframe_unwind_profile_record *record;

	int ret = 0;

	while (has_room(load) &&
	       (ret = sframe_unwind_profile_next(load->profile, &record)) == 1) {
		load->at = record->offset;
		if (load->at > load->end)
			break;
		if (record->kind == SFRAME_UNWIND_PROFILE_SAMPLE)
			return record;
	}
	if (ret < 0)
		check_end(load, ret);
	return NULL;
}

void load_rewind(struct load *load)
{
	sframe_unwind_profile_rewind(load->profile);
}

void load_complain(const struct load *load)
{
	names_complain(load->names);
	if (load->lost)
		complain("%s: %" PRIu64 " samples or records were lost",
			 load->path, load->lost);
	if (history_is_inexact(load->history))
		complain("%s: mappings are far from the order of time, or too many; some addresses were named by others",
			 load->path);
}

int load_status(const struct load *load)
{
	return load->damage ? CLI_DEFECT : CLI_OK;
}

void load_close(struct load *load)
{
	names_free(load->names);
	history_free(load->history);
	sframe_unwind_profile_close(load->profile);
	if (load->fd > STDERR_FILENO)
		close(load->fd);
}

const char *load_source_name(struct load *load, uint32_t source)
{
	const struct sframe_unwind_profile_source *found =
		sframe_unwind_profile_source(load->profile, source);

	return found ? found->name : "unknown";
}

const char *load_cut(const struct sframe_unwind_profile_sample *sample)
{
	static char text[128];

	if (sample->flags & SFRAME_UNWIND_PROFILE_USER_MISSING)
		return "[cut: the user stack was not recorded]";
	if (!sample->stop || sample->stop == SFRAME_UNWIND_STOP_COMPLETE)
		return NULL;
	snprintf(text, sizeof(text), "[cut: %s]", why_cut(sample->stop));
	return text;
}
