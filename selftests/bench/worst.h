/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worst: the most that a call can cost, and how long it blocks others.
 */
#ifndef BENCH_WORST_H
#define BENCH_WORST_H

#include <linux/sframe_unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code.h"

/*
 * The run can be done only once, because it destroys the setup. It uses a
 * process of its own, and is not killed, since it cannot be interrupted half
 * way.
 */
#define ONCE	0x1U
/* The run does not return: its process exits or executes another program. */
#define LEAVES	0x2U
/* The setup has threads, which a child made by fork() would lack. */
#define THREADS	0x4U
/* Other scenarios are compared with this one. */
#define BASE	0x20U
/* Each run is done by a child, because it destroys what they share. */
#define COPY	0x10U
/* Do not kill it half way: nothing of it is in the module. */
#define NO_KILL	0x8U

/**
 * struct scenario - a call made as expensive as a user can
 *
 * @name: for the tables.
 * @setup: called in a new process. Successive scenarios with the same setup
 *	share the process, unless they have ONCE.
 * @prepare: called before each run, not measured. May be NULL.
 * @run: measured.
 * @flags: see above.
 * @base: name of an earlier scenario without the module's part: time under
 *	kernel locks that it has as well is not caused by the module.
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

/* Tables that end with an entry without a name. */
extern const struct scenario worst_sections[];
extern const struct scenario worst_walks[];
extern const struct scenario worst_files[];

void worst_memory(void);

/* Open the module's device for reading; exits on failure. */
int new_client(void);

void *new_memory(size_t size, int prot);

/* Register one range of code with one section. Exits if that fails. */
uint64_t register_range(int fd, uint64_t section, uint64_t section_size,
			uint64_t text, uint64_t text_size, uint32_t flags);

void unregister_range(int fd, uint64_t id);

/* Size of the table that put_table() writes. */
size_t table_size(uint32_t functions, uint32_t rows);

/*
 * Write a section to @to, for address @base: @functions of @size bytes each
 * from @text on, all with the same @rows, by the stack pointer. If @size is
 * larger than @rows, a lookup behind that many bytes examines all rows.
 */
void put_table(unsigned char *to, uint64_t base, uint64_t text,
	       uint32_t functions, uint32_t size, uint32_t rows);

/* Write the code that ioctl_with_stack() runs to @to; at most STUB_SIZE bytes. */
#define STUB_SIZE	16
void put_stub(unsigned char *to);

/*
 * Call ioctl(@fd, @cmd, @arg) from the code at @stub, with the stack pointer at @stack.
 * Returns its result, or -errno.
 */
long ioctl_with_stack(int fd, long cmd, void *arg, const void *stub,
		      const uint64_t *stack);

/*
 * Request a stack of this thread from the code at @stub, with the stack pointer
 * at @stack, which contains the callers' addresses. Exits if refused.
 */
void ask_with_stack(int fd, const void *stub, const uint64_t *stack,
		    uint32_t depth);

/* Offset of the page of code in files made here. */
#define CODE		0x1000

/**
 * struct elf_spec - an ELF file
 *
 * @phdrs: number of program headers, if more than two.
 * @notes: number of notes that they point to, a multiple of 16.
 * @sframe: size of its own section in bytes, or 0.
 * @sframe_offset: offset of the section.
 */
struct elf_spec {
	unsigned int phdrs;
	unsigned int notes;
	size_t sframe;
	size_t sframe_offset;
};

/* Make a file of two pages, the second one with code. It has no build ID. */
int make_elf(const struct elf_spec *spec);

int new_file(size_t size);

/*
 * Write a section of @size bytes for address @base of a file, with @functions
 * of 16 bytes each from CODE on.
 */
void write_table(int fd, size_t offset, uint64_t base, size_t size,
		 unsigned int functions);

/* Returns 0 with *@id, or -errno. */
int attach_file(int fd, int elf, int section, size_t size, uint64_t *id);

/* Read all records. Returns the number of frames of the last stack. */
unsigned int drain(int fd);

#endif /* BENCH_WORST_H */
