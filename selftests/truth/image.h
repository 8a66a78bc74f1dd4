/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Image: the objects mapped by a process, what their tables say about an
 * address, and libdw's unwinder, which defines the truth here.
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
	uint64_t bias;			/* address minus the one in the file */
	uint64_t start, end;		/* of its code */
	struct ref_section sframe;
	struct rule_slot {
		uint64_t pc;
		struct ref_rule rule;
	} rules[RULE_SLOTS];		/* rules found before */
};

struct image {
	pid_t pid;			/* of the thread to unwind */
	bool whole;			/* use the whole stack; ignore .sframe */
	struct memory *memory;
	struct user_regs_struct regs;	/* to unwind from */
	Dwfl *dwfl;
	unsigned int nr_objects;
	struct object *objects[MAX_OBJECTS];
};

/* A frame found by libdw. */
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
 * Examine the mappings of @pid: the objects with .sframe, or all if
 * @image->whole. Returns false after printing a message.
 */
bool image_load(struct image *image, pid_t pid, struct memory *memory);
void image_unload(struct image *image);

/* The object with .sframe whose code contains @pc, or NULL. */
struct object *image_object(const struct image *image, uint64_t pc);

/*
 * Returns whether @pc, or the address behind it, is in memory that is mapped
 * executable. @pc may be a return address minus 1.
 */
bool image_is_code(const struct image *image, uint64_t pc);

/* Whether @pc is in the code that returns from signal handlers. */
bool image_is_restorer(const struct image *image, uint64_t pc);

/*
 * Unwind from @regs by libdw's CFI unwinder. Unless @image->whole it stops
 * after the first frame out of reach for SFrame: neither in an object with
 * .sframe, nor a signal's.
 */
void image_unwind(struct image *image, const struct user_regs_struct *regs,
		  struct truth_stack *stack);

/* The rule of .sframe for @pc, as an independent decoder reads it. */
const struct ref_rule *object_rule(struct object *object, uint64_t pc);

/* Name of the section that contains @pc. */
const char *object_section(const struct object *object, uint64_t pc);

/* Name of the function that contains @pc, never NULL. */
const char *object_function(const struct object *object, uint64_t pc);

enum cfi_answer {
	CFI_NOTHING,		/* no CFI, or not a simple form */
	CFI_UNDEFINED,
	CFI_PLACE,
};

/*
 * The location given by .eh_frame for @pc, by libdw: of the caller's DWARF
 * register @number, or with CFI_CFA the CFA.
 */
#define CFI_CFA		-1

enum cfi_answer object_cfi(const struct object *object, uint64_t pc, int number,
			   struct ref_place *place);

/* The same for any module of libdw, which may be NULL. */
enum cfi_answer module_cfi(Dwfl_Module *module, uint64_t pc, int number,
			   struct ref_place *place);

/* Whether @module's .eh_frame or .debug_frame covers @pc. */
bool module_has_cfi(Dwfl_Module *module, uint64_t pc);

/* The address from which on the rules for @pc are the same; 0 without CFI. */
uint64_t module_row_start(Dwfl_Module *module, uint64_t pc);

#endif /* TRUTH_IMAGE_H */
