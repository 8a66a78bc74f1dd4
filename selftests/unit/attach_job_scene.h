/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene for tests of the daemon's jobs, in the world of attach_world.h: readers that
 * answer when the test lets them, and a worker that has converted everything at once.
 */
#ifndef SFU_UNIT_ATTACH_JOB_SCENE_H
#define SFU_UNIT_ATTACH_JOB_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/cli/attach/job.h"

/* Processes, each of the user with a hundred times its number; and one of root. */
#define ATTACKER	10
#define VICTIM		20
#define OTHER		30
#define ROOT		1

/* Device of mappings, and of files whose stat(2) has another one. */
#define DEVICE		8
#define OTHER_DEVICE	9

#define GENERATION	77

#define NR_PROCESSES	64

/* A file as a reader finds it. */
struct file {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	bool is_trusted;
};

/* What is mapped in each process when a reader opens it; NULL if nothing is. */
extern const struct file *mapped[NR_PROCESSES];

extern struct jobs jobs;

/* Requests to readers that have not been answered. */
#define NR_ASKED 16

extern struct asked {
	void *question;
	struct user *user;
	struct reader_request request;
} asked[NR_ASKED];

extern unsigned int nr_asked;

/* Whether no reader can be asked. */
extern bool is_without_readers;

/* The last request about the victim's mapping, and how many there were of each process. */
extern struct reader_request last;
extern unsigned int looks[NR_PROCESSES];

/* Text of the last refusal, and how many snapshots the last worker was given. */
extern char refusal[64];
extern unsigned int nr_snapshots;

/* Start with nothing known and nothing mapped. */
void scene_begin(void);
void scene_end(void);

/*
 * A process maps a file with that inode number, on DEVICE. Which file a reader will find
 * there is another matter.
 */
void map(pid_t pid, uint64_t inode);

/* Let the readers do all that they were asked for. */
void read_all(void);

void map_and_read(pid_t pid, uint64_t inode);

/* Let time pass, with the periodic work. */
void pass_time(uint64_t ns);

/*
 * The attacker maps the victim's file without end, and each time puts another file in
 * the place of the mapping before a reader opens it.
 */
void storm(uint64_t ns);

struct known *known_of(const struct file *file);

#endif /* SFU_UNIT_ATTACH_JOB_SCENE_H */
