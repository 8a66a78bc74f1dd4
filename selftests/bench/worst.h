/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worst: the most that one call can be made to cost, and what it keeps from
 * others meanwhile.
 */
#ifndef BENCH_WORST_H
#define BENCH_WORST_H

#include <linux/sframe_unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code.h"

/*
 * The run can be done once only: it ends what was set up. A process of its own
 * does it, and nobody is killed in it, as none of it can be stopped half way.
 */
#define ONCE	0x1U
/* The run does not return: its process exits or executes another program. */
#define LEAVES	0x2U
/* What was set up has threads, which no child made by fork() has. */
#define THREADS	0x4U
/* Others are compared with it. */
#define BASE	0x20U
/* Each run is done by a child, as it ends what it has in common with it. */
#define COPY	0x10U
/* Not for a kill in the middle: nothing of it is the module's. */
#define NO_KILL	0x8U

/**
 * struct scenario - one call, made as expensive as a user can
 *
 * @name: for the tables.
 * @setup: in a new process. Scenarios in a row with the same one share the
 *	process, unless they have ONCE.
 * @prepare: before each run, not measured. May be NULL.
 * @run: what is measured.
 * @flags: see above.
 * @base: name of an earlier scenario, the same without the module's part: what
 *	that costs with a lock of the kernel's is not the module's doing.
 */
struct scenario {
	const char *name;
	void (*setup)(void);
	void (*prepare)(void);
	void (*run)(void);
	unsigned int flags;
	const char *base;
};

#define SCENARIO(what, new, before, call, ...)				\
	{ .name = what, .setup = new, .prepare = before, .run = call,	\
	  ##__VA_ARGS__ }

/* Each ends with one without a name. */
extern const struct scenario worst_sections[];
extern const struct scenario worst_walks[];
extern const struct scenario worst_files[];

void worst_memory(void);

/* The module's device, open for reading, or die. */
int new_client(void);

void *new_memory(size_t size, int prot);

/* Register one range of code with one section. Exits if that fails. */
uint64_t register_range(int fd, uint64_t section, uint64_t section_size,
			uint64_t text, uint64_t text_size, uint32_t flags);

void unregister_range(int fd, uint64_t id);

/* Bytes that put_table() writes. */
size_t table_size(uint32_t functions, uint32_t rows);

/*
 * A section at @to, for @base being its address: @functions of @size bytes each
 * from @text on, all with the same @rows, by the stack pointer. With @size
 * larger than @rows, behind so many bytes all rows have been looked at.
 */
void put_table(unsigned char *to, uint64_t base, uint64_t text,
	       uint32_t functions, uint32_t size, uint32_t rows);

/* Code at @to that ask_with_stack() runs; at most STUB_SIZE bytes. */
#define STUB_SIZE	16
void put_stub(unsigned char *to);

/*
 * Request the own stack from the code at @stub, with the stack pointer at
 * @stack: the addresses that are found there are the callers. Exits if refused.
 */
void ask_with_stack(int fd, const void *stub, const uint64_t *stack,
		    uint32_t depth);

/* Of files made here: where their page of code is. */
#define CODE		0x1000

/**
 * struct elf_spec - an ELF file
 *
 * @phdrs: program headers, if more than two.
 * @notes: notes that they point to, a multiple of 16.
 * @sframe: bytes of the section of its own, or 0.
 * @sframe_offset: where that is.
 */
struct elf_spec {
	unsigned int phdrs;
	unsigned int notes;
	size_t sframe;
	size_t sframe_offset;
};

/* Of two pages, the second one of code. No note is a build ID. */
int make_elf(const struct elf_spec *spec);

int new_file(size_t size);

/*
 * Write a section as if at @base of a file's addresses, of @size bytes, for
 * @functions of 16 bytes each at CODE.
 */
void write_table(int fd, size_t offset, uint64_t base, size_t size,
		 unsigned int functions);

/* Returns 0 with *@id, or -errno. */
int attach_file(int fd, int elf, int section, size_t size, uint64_t *id);

/* Take all records. Returns the frames of the last stack. */
unsigned int drain(int fd);

#endif /* BENCH_WORST_H */
