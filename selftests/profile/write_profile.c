// SPDX-License-Identifier: GPL-2.0
/*
 * write_profile [-z | -m] FILE [RELEASE [EVENT]]: write a profile as standard input
 * describes it, with -z compressed, with -m with times of CLOCK_MONOTONIC; one record
 * in a line:
 *
 *	comm PID TID IS_EXEC NAME
 *	map PID START SIZE OFFSET BUILD_ID NAME		BUILD_ID: in hex, or -
 *	fork PPID PID
 *	lost NUMBER
 *	sample PID TID STOP KERNEL... : USER...
 *	period NUMBER		of further samples; needs EVENT
 *	raw TEXT		raw data of further samples; needs EVENT
 *	round			all further records are later than the last round
 *
 * Times are the numbers of the lines, in milliseconds. Addresses are in hex. "p"
 * behind a user address: found by the frame pointer; "u": behind a guess. Two
 * characters of a name that are "\n" or "\e" are a newline or an escape.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sframe_unwind_profile.h"

static struct sframe_unwind_profile_record record;
static uint64_t period = 1000;
static char *raw;
static uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
static uint8_t how[SFRAME_UNWIND_PROFILE_FRAMES];

static char *word(void)
{
	return strtok(NULL, " \n") ?: "";
}

static uint64_t hex(void)
{
	return strtoull(word(), NULL, 16);
}

static uint32_t number(void)
{
	return strtoul(word(), NULL, 10);
}

/* The rest of the line. */
static char *name(void)
{
	char *text = strtok(NULL, "\n") ?: "", *to = text;

	for (char *from = text; *from; from++) {
		if (from[0] == '\\' && (from[1] == 'n' || from[1] == 'e'))
			*to++ = *++from == 'n' ? '\n' : '\x1b';
		else
			*to++ = *from;
	}
	*to = '\0';
	return text;
}

static void parse_map(void)
{
	char *id;

	record.kind = SFRAME_UNWIND_PROFILE_MAP;
	record.pid = record.tid = number();
	record.map.start = hex();
	record.map.size = hex();
	record.map.offset = hex();
	id = word();
	while (*id != '-' && sscanf(id, "%2hhx", &record.map.build_id[
					record.map.build_id_size]) == 1) {
		record.map.build_id_size++;
		id += 2;
	}
	record.map.name = name();
	record.map.is_code = 1;
	record.map.is_kernel = record.map.name[0] == '[' &&
			       record.map.name[1] == 'k';
}

static void parse_sample(void)
{
	struct sframe_unwind_profile_sample *sample = &record.sample;
	uint32_t nr = 0;
	char *text, *end;

	record.kind = SFRAME_UNWIND_PROFILE_SAMPLE;
	record.pid = number();
	record.tid = number();
	sample->stop = number();
	while (*(text = word()) && *text != ':')
		frames[nr++] = strtoull(text, NULL, 16);
	sample->nr_kernel = nr;
	while (*(text = word())) {
		how[nr - sample->nr_kernel] = nr == sample->nr_kernel ? 1 : 2;
		frames[nr] = strtoull(text, &end, 16);
		if (*end == 'p')
			how[nr - sample->nr_kernel] = 3;
		else if (*end == 'u')
			how[nr - sample->nr_kernel] = 0x82;
		nr++;
	}
	sample->nr_user = nr - sample->nr_kernel;
	sample->frames = frames;
	sample->how = how;
	sample->ip = frames[0];
	sample->period = period;
	sample->raw = raw;
	sample->raw_size = raw ? strlen(raw) : 0;
	sample->flags = SFRAME_UNWIND_PROFILE_CHAIN;
	if (sample->nr_kernel)
		sample->flags |= SFRAME_UNWIND_PROFILE_KERNEL;
}

/* Returns 1 if there is a record, 2 for the end of a round, else 0. */
static int parse(char *line)
{
	const char *kind = strtok(line, " \n");

	if (!kind || *kind == '#')
		return 0;
	if (!strcmp(kind, "comm")) {
		record.kind = SFRAME_UNWIND_PROFILE_COMM;
		record.pid = number();
		record.tid = number();
		record.comm.is_exec = number();
		record.comm.name = name();
	} else if (!strcmp(kind, "map")) {
		parse_map();
	} else if (!strcmp(kind, "fork")) {
		record.kind = SFRAME_UNWIND_PROFILE_FORK;
		record.task.ppid = record.task.ptid = number();
		record.pid = record.tid = number();
	} else if (!strcmp(kind, "lost")) {
		record.kind = SFRAME_UNWIND_PROFILE_LOST_SAMPLES;
		record.lost = number();
	} else if (!strcmp(kind, "sample")) {
		parse_sample();
	} else if (!strcmp(kind, "period")) {
		period = number();
		return 0;
	} else if (!strcmp(kind, "raw")) {
		free(raw);
		raw = strdup(name());
		return 0;
	} else if (!strcmp(kind, "round")) {
		return 2;
	} else {
		fprintf(stderr, "write_profile: %s?\n", kind);
		exit(2);
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct sframe_unwind_profile_source source = {
		.name = "cpu-clock",
		.ids = (uint64_t[]){ 1 },
		.nr_ids = 1,
		.type = 1,
		.period = 1000,
	};
	struct sframe_unwind_profile_writer *writer;
	char *line = NULL;
	size_t room = 0;
	uint64_t time = 0;
	uint32_t flags = 0;
	int fd, ret, what, clock = -1;

	if (argc > 1 && !strcmp(argv[1], "-z")) {
		flags = SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED;
		argv++;
		argc--;
	} else if (argc > 1 && !strcmp(argv[1], "-m")) {
		clock = CLOCK_MONOTONIC;
		argv++;
		argc--;
	}
	if (argc < 2 || argc > 4)
		return 2;
	if (argc > 3) {
		source.name = argv[3];
		flags |= SFRAME_UNWIND_PROFILE_WRITE_PERIOD |
			 SFRAME_UNWIND_PROFILE_WRITE_RAW;
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ret = sframe_unwind_profile_create(&writer, fd, &source, 1,
					   flags, clock);
	while (!ret && getline(&line, &room, stdin) > 0) {
		memset(&record, 0, sizeof(record));
		record.time = ++time * 1000000;
		what = parse(line);
		if (what == 1)
			ret = sframe_unwind_profile_write(writer, &record);
		else if (what)
			ret = sframe_unwind_profile_end_round(writer);
	}
	if (!ret && argc >= 3)
		ret = sframe_unwind_profile_set_fact(writer,
				SFRAME_UNWIND_PROFILE_RELEASE, argv[2]);
	if (!ret)
		ret = sframe_unwind_profile_finish(writer);
	if (ret)
		fprintf(stderr, "write_profile: %s\n", strerror(-ret));
	free(line);
	free(raw);
	return !!ret;
}
