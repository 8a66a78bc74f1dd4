/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of userspace/jit: an .eh_frame as generators of code announce it, the section that
 * is made of one, and its rules.
 */
#ifndef SFU_UNIT_JIT_SECTION_SCENE_H
#define SFU_UNIT_JIT_SECTION_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "decode/sframe.h"
#include "jit/section.h"

/**
 * struct made - a section that was made
 *
 * @section: what it was made of.
 * @bytes: the section, or NULL.
 * @size: its size in bytes.
 * @ranges: its code.
 * @nr_ranges: number of these.
 */
struct made {
	struct jit_section section;
	void *bytes;
	size_t size;
	const struct jit_range *ranges;
	size_t nr_ranges;
};

int make(const unsigned char *begin, struct made *to);
void unmake(struct made *made);

/* The rule for @pc in the section at @bytes, as lookup(). */
int rule_at(const void *bytes, size_t size, uint64_t address, uint64_t pc,
	    struct sfu_rule *rule);

/* Returns the CFA's offset for @pc, from rsp or, plus 1000, from rbp; 0 if there is no rule. */
int cfa_at(const struct made *section, uint64_t pc);

unsigned int nr_entries(const struct made *section);

/* An .eh_frame being made. Its addresses are absolute. */
extern unsigned char output[1 << 20];
extern size_t output_size;
extern size_t cie_at;

#define CODE 0x10000000ULL

/* CFA = rsp + 8 and return address at CFA - 8. */
extern const unsigned char at_entry[5];

/* After the 4 bytes that push rbp and copy rsp to it, the CFA is rbp + 16. */
extern const unsigned char prologue[8];

/* Begin anew, with a CIE for functions that are called, @at_entry. */
void begin_output(void);

void put(const void *bytes, size_t size);
void put_number(uint64_t number, unsigned int size);

/* An entry. begin_entry() returns where its contents begin. */
size_t begin_entry(void);
void end_entry(size_t at);

/* A CIE with @instructions of @size bytes. */
void put_cie(unsigned int version, const char *augmentation,
	     const void *instructions, size_t size);

/* An FDE of the last CIE. Returns where it is. */
size_t put_fde(uint64_t start, uint64_t size, const void *instructions,
	       size_t instructions_size);

#endif /* SFU_UNIT_JIT_SECTION_SCENE_H */
