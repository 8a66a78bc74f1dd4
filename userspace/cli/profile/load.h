/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read a profile: first what was mapped when, then the samples, one by one or as
 * a tree.
 */
#ifndef CLI_PROFILE_LOAD_H
#define CLI_PROFILE_LOAD_H

#include "cli/profile/names.h"

/* Where perf, too, reads and writes without -i and -o. */
#define LOAD_DEFAULT	"perf.data"

/**
 * struct load - an open profile
 *
 * @path: its path, for messages.
 * @fd: the file.
 * @profile: the reader.
 * @size: bytes of the file that count for what may be kept of it.
 * @is_live: samples are of a session, which handles a full history.
 * @history: what was mapped.
 * @names: names of addresses.
 * @at: offset of the last record.
 * @end: records behind this offset are not used.
 * @lost: number of records and samples that were lost.
 * @damage: whether the file ended early or was not well-formed; a message has
 *	been printed.
 */
struct load {
	const char *path;
	int fd;
	struct sframe_unwind_profile *profile;
	uint64_t size;
	bool is_live;
	struct history *history;
	struct names *names;
	uint64_t at;
	uint64_t end;
	uint64_t lost;
	bool damage;
};

/*
 * Open @path, or standard input for "-", and read what was mapped. Returns
 * CLI_OK, or another status after a message.
 */
int load_open(struct load *load, const char *path,
	      const struct names_options *options);

/* Get the next sample; NULL at the end, or after a message. */
const struct sframe_unwind_profile_record *load_next(struct load *load);

/* Start again with the first sample. */
void load_rewind(struct load *load);

/* Print what should be known about names and the order of records. */
void load_complain(const struct load *load);

/* The exit status of a command that has done its work. */
int load_status(const struct load *load);

void load_close(struct load *load);

/* Name of a source; escape before printing. */
const char *load_source_name(struct load *load, uint32_t source);

/* Name of why the user's stack of a sample ends early; NULL if it does not. */
const char *load_cut(const struct sframe_unwind_profile_sample *sample);

#endif /* CLI_PROFILE_LOAD_H */
