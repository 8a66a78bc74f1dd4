/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From addresses in samples to names.
 *
 * A place is an address of code: of an object, of the kernel, or of one process
 * if it belongs to no file. It has one function or, with inlined ones, several.
 */
#ifndef CLI_PROFILE_NAMES_H
#define CLI_PROFILE_NAMES_H

#include "cli/profile/history.h"

/* Functions of one place, with those inlined, that are used. */
#define NAMES_INLINED	32u

/* The object of addresses at which nothing is mapped. */
#define NAMES_NOT_MAPPED	"[not mapped]"

/* What kind of code a function is. */
enum code {
	CODE_USER,
	CODE_KERNEL,
	CODE_JIT,
	CODE_MARK,	/* no code: says why a stack ends */
};

/**
 * struct function - a function, or code without a name
 *
 * @name: the name; escape before printing.
 * @object: name of its object; escape before printing.
 * @short_object: the same without directories.
 * @code: kind of code.
 * @is_inlined: whether the compiler inlined it here.
 * @is_nameless: whether @name is only object and address.
 */
struct function {
	char *name;
	const char *object;
	const char *short_object;
	enum code code;
	bool is_inlined;
	bool is_nameless;
};

/**
 * struct place - an address
 *
 * @address: as the object's symbols have it; that of the instruction behind a
 *	call for return addresses.
 * @start: first address of the function.
 * @first: index of its functions.
 * @nr: number of its functions, the innermost first; at least 1.
 * @owner: tells objects, the kernel and processes apart.
 * @is_exact: whether it is no return address.
 */
struct place {
	uint64_t address;
	uint64_t start;
	uint32_t first;
	uint32_t nr;
	uint32_t owner;
	bool is_exact;
};

/**
 * struct names_options - what to do
 *
 * @kallsyms: file with the kernel's symbols, or NULL.
 * @no_inlined: do not look for inlined functions.
 * @no_demangle: leave names as they are.
 */
struct names_options {
	const char *kallsyms;
	bool no_inlined;
	bool no_demangle;
};

struct names;

/* @release: the kernel of the profile, or NULL. */
struct names *names_create(struct history *history,
			   const struct names_options *options,
			   const char *release);

/* @clock: of the times of records, as for clock_gettime(), or another number. */
void names_set_clock(struct names *names, int clock);

void names_free(struct names *names);

/**
 * struct stack - the frames of a sample
 *
 * @frames: the addresses, the innermost first.
 * @nr_kernel: number of the kernel's.
 * @nr_user: number of the user's, behind them.
 */
struct stack {
	const uint64_t *frames;
	uint32_t nr_kernel;
	uint32_t nr_user;
};

/* Set @stack to what @sample has; without a chain, to its only frame. */
void names_get_stack(struct stack *stack,
		     const struct sframe_unwind_profile_sample *sample);

/*
 * Get the numbers of a sample's places, as many as it has frames, valid until
 * the next call. The @known outermost frames are left out.
 */
const uint32_t *names_of_stack(struct names *names, const struct stack *stack,
			       const struct sframe_unwind_profile_record *record,
			       uint32_t known);

/* The same for all frames; *@nr is their number. */
const uint32_t *names_of_sample(struct names *names,
				const struct sframe_unwind_profile_record *record,
				uint32_t *nr);

/*
 * A number that stays the same as long as the user's addresses of a process have
 * the same places.
 */
uint64_t names_version(struct names *names,
		       const struct sframe_unwind_profile_record *record);

const struct place *names_place(const struct names *names, uint32_t place);

/* Number of function @i of a place. */
uint32_t names_number(const struct names *names, const struct place *place,
		      uint32_t i);

const struct function *names_function(const struct names *names,
				      uint32_t function);

/* The number of a mark with this text. */
uint32_t names_mark(struct names *names, const char *text);

/*
 * Source file and line of function @i of a place, for a caller those of the call;
 * or NULL and 0.
 */
const char *names_line(struct names *names, uint32_t place, uint32_t i,
		       int *line);

/* The build ID of a place's object; NULL if it has none. */
const struct history_object *names_object(const struct names *names,
					  uint32_t place);

/* Write to stderr which objects lack names of more than a few samples, and why. */
void names_complain(struct names *names);

#endif /* CLI_PROFILE_NAMES_H */
