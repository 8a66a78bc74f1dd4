/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: the objects that a process has mapped, what their tables say about
 * an address, and libdw's unwinder, which is the truth here.
 */
#ifndef TRUTH_IMAGE_H
#define TRUTH_IMAGE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/user.h>

#include "../unit/reference.h"
#include "memory.h"

#define MAX_OBJECTS	8
#define MAX_DEPTH	1024
#define RULE_SLOTS	4096

/* An object with an .sframe section. */
struct object {
	char *name;			/* without directories */
	Dwfl_Module *module;
	uint64_t bias;			/* address less that in the file */
	uint64_t start, end;		/* of its code */
	struct ref_section sframe;
	struct rule_slot {
		uint64_t pc;
		struct ref_rule rule;
	} rules[RULE_SLOTS];		/* found before */
};

struct image {
	pid_t pid;			/* of the thread to unwind */
	bool whole;			/* its whole stack, without .sframe */
	struct memory *memory;
	struct user_regs_struct regs;	/* to unwind from */
	Dwfl *dwfl;
	unsigned int nr_objects;
	struct object *objects[MAX_OBJECTS];
};

/* A frame as libdw sees it. */
struct truth_frame {
	uint64_t pc, sp, fp;
	bool exact;		/* pc is the next instruction to run */
	bool sp_known, fp_known;
};

struct truth_stack {
	unsigned int nr;
	bool ended;		/* the last one is the outermost frame */
	struct truth_frame frames[MAX_DEPTH + 1];
};

/*
 * Look at what @pid has mapped: the objects with .sframe, unless @image->whole.
 * Returns false with a message printed.
 */
bool image_load(struct image *image, pid_t pid, struct memory *memory);
void image_unload(struct image *image);

/* The object with .sframe whose code @pc is in, or NULL. */
struct object *image_object(const struct image *image, uint64_t pc);

/* Is there the code by which signal handlers return? */
bool image_is_restorer(const struct image *image, uint64_t pc);

/*
 * Unwind from @regs by libdw's CFI unwinder. Unless @image->whole it stops
 * behind the first frame out of reach for SFrame: not in an object with
 * .sframe, nor a signal's.
 */
void image_unwind(struct image *image, const struct user_regs_struct *regs,
		  struct truth_stack *stack);

/* What .sframe says about @pc, as an independent decoder reads it. */
const struct ref_rule *object_rule(struct object *object, uint64_t pc);

/* Name of the section that @pc is in. */
const char *object_section(const struct object *object, uint64_t pc);

/* Name of the function that @pc is in, never NULL. */
const char *object_function(const struct object *object, uint64_t pc);

enum cfi_answer {
	CFI_NOTHING,		/* nothing at all, or nothing simple */
	CFI_UNDEFINED,
	CFI_PLACE,
};

/*
 * What .eh_frame says about @pc, by libdw: where the caller's DWARF register
 * @number is, or with CFI_CFA the CFA.
 */
#define CFI_CFA		-1

enum cfi_answer object_cfi(const struct object *object, uint64_t pc, int number,
			   struct ref_place *place);

/* The same for any module of libdw's, which may be NULL. */
enum cfi_answer module_cfi(Dwfl_Module *module, uint64_t pc, int number,
			   struct ref_place *place);

/* Has @module's .eh_frame anything about @pc? */
bool module_has_cfi(Dwfl_Module *module, uint64_t pc);

#endif /* TRUTH_IMAGE_H */
