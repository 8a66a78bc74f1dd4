/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of what becomes of stacks that "record" completes by their copies: a process with
 * three files, whose sections are there, come later, or never come, as the test says. Stacks
 * are from the first file by the second one to the outermost frame in the third one.
 */
#ifndef SFU_UNIT_COPIES_SCENE_H
#define SFU_UNIT_COPIES_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "copy_scene.h"
#include "userspace/cli/profile/copies.h"
#include "userspace/cli/profile/copy_sections.h"

/* Where the first file is mapped. The others follow. */
#define LOAD	0x7f0000000000UL

/* The clock, and how much later it is whenever a section is looked for. */
extern uint64_t time_ns;
extern uint64_t find_ns;
extern unsigned int nr_finds;

/* The names of the files, and what is known of their sections. */
extern const char *const names[3];
extern enum copy_section state_of[3];

/* Whether it was urgent to make sections, and for which file one was looked for last. */
extern bool urgent;
extern uint32_t last_object;

/* How often processes were looked at, and what they have instead of "a". */
extern unsigned int nr_looks;
extern const char *first_name;

/* The process, time, number of frames, and last frame of the stack that is added. */
extern uint32_t pid_of;
extern uint64_t time_of;
extern uint32_t frames_of;
extern uint64_t last_of;

/* Where the second frame is. */
extern uint64_t second;

/* The record of file @i being mapped. */
struct sframe_unwind_profile_record map_of(uint32_t pid, uint64_t time, unsigned int i,
					   uint64_t start);

/* Process @pid has mapped file @i at @time. */
void map_one(struct copies *copies, uint32_t pid, uint64_t time, unsigned int i,
	     uint64_t start);

/* Process 7 has mapped all three at @time, or at 1. */
void follow_at(struct copies *copies, uint64_t time);
void follow(struct copies *copies);

/* Copies of a process that has done so. */
struct copies *begin(void);

/* From "a" by "b" to the outermost frame in "c". */
struct copied_stack *add(struct copies *copies, uint32_t depth);

/* The same, and begin the next round. */
struct copied_stack *add_and_go(struct copies *copies, uint32_t depth);

/* Add a stack of @time. Returns whether it is completed. */
bool completes(struct copies *copies, uint64_t time);

#endif /* SFU_UNIT_COPIES_SCENE_H */
