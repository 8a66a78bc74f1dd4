/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: pages of generated functions, each with its table, in files; and slots,
 * places in the address space where they are mapped and replaced.
 */
#ifndef STORM_CODE_H
#define STORM_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE		4096UL

/*
 * An image is a page of code and a page with the section for it. All have the
 * same functions at the same places, but with frames of different sizes.
 */
#define HOPS		4
#define HOP_SIZE	256
#define NR_VARIANTS	8
#define NR_IMAGES	12
#define NR_FILES	9

/* How the table lies in a slot. The page between is never mapped. */
#define SLOT_TABLE	(2 * PAGE)
#define SLOT_SIZE	(8 * PAGE)

/**
 * struct slot - a place for an image
 *
 * @at: address of the code.
 * @code, @table: numbers of the images mapped there, or -1.
 * @registered_code, @registered_table: the same at registration, or -1.
 * @id: of the registration.
 * @flipped: another thread flips bits of the table.
 */
struct slot {
	unsigned char *at;
	int code;
	int table;
	int registered_code;
	int registered_table;
	uint64_t id;
	bool flipped;
};

/* Make the files of all images at FD_IMAGES and following; once. */
void images_create(void);

/* Each process: know where the hops of all variants return to. */
void images_init(void);

/* Offset in the page of the return address of @hop in @image. */
unsigned int image_return(int image, unsigned int hop);

/* Can this offset in a page of code be a return address, in any image? */
bool is_return_offset(unsigned int offset);

/* Where slots are: so low that mmap() never puts anything into their holes. */
#define SLOTS_BASE	0x200000000000UL
#define SLOTS_MAX	64

static inline bool is_in_slots(uint64_t address)
{
	return address - SLOTS_BASE < SLOTS_MAX * SLOT_SIZE;
}

/* Slot number @nr of the process, with nothing in it. */
void slot_init(struct slot *slot, unsigned int nr);

/* Is it registered, and mapped as it was then? */
bool slot_is_valid(const struct slot *slot);

/* Does the table mapped there describe the code mapped there? */
bool slot_matches(const struct slot *slot);

/* How something is put in place of what is there. */
enum slot_how {
	SLOT_OVER,		/* mmap(MAP_FIXED) */
	SLOT_AFTER_UNMAP,	/* munmap(), then that */
	SLOT_MREMAP,		/* mapped elsewhere, moved there */
	NR_SLOT_HOWS
};

void slot_place_code(struct slot *slot, int image, enum slot_how how);
void slot_place_table(struct slot *slot, int image, enum slot_how how);

/* Take it away: munmap(), or @move it elsewhere. */
void slot_remove_code(struct slot *slot, bool move);
void slot_remove_table(struct slot *slot, bool move);

/* Register through @fd. Returns 0 or an errno. */
int slot_register(struct slot *slot, int fd, bool validate);

/* Unregister by id or address. Returns 0 or an errno. */
int slot_unregister(struct slot *slot, int fd, bool by_address);

/* Have the table of the slot writable in this process, for flipping. */
void slot_make_flipped(struct slot *slot);

#endif /* STORM_CODE_H */
