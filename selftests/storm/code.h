/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: pages of generated functions, each with its table, in files; and slots,
 * which are places in the address space where they are mapped and replaced.
 */
#ifndef STORM_CODE_H
#define STORM_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE		4096UL

/*
 * An image is a page of code and a page with its section. All images have the
 * same functions at the same offsets, but with frames of different sizes.
 */
#define HOPS		4
#define HOP_SIZE	256
#define NR_VARIANTS	8
#define NR_IMAGES	12
#define NR_FILES	9

/* Offset of the table in a slot. The page in between is never mapped. */
#define SLOT_TABLE	(2 * PAGE)
#define SLOT_SIZE	(8 * PAGE)

/**
 * struct slot - a place for an image
 *
 * @at: address of the code.
 * @code, @table: numbers of the images mapped there, or -1.
 * @registered_code, @registered_table: those at registration, or -1.
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

/* Create the files of all images at FD_IMAGES and following; once. */
void images_create(void);

/* In each process: find the return addresses of the hops of all variants. */
void images_init(void);

/* Offset in the page of the return address in @hop of @image. */
unsigned int image_return(int image, unsigned int hop);

/* Whether this offset in a page of code is a return address in any image. */
bool is_return_offset(unsigned int offset);

/* Address of the slots: so low that mmap() never places anything in their gaps. */
#define SLOTS_BASE	0x200000000000UL
#define SLOTS_MAX	64

static inline bool is_in_slots(uint64_t address)
{
	return address - SLOTS_BASE < SLOTS_MAX * SLOT_SIZE;
}

/* Initialize an empty slot number @nr of the process. */
void slot_init(struct slot *slot, unsigned int nr);

/* Whether the slot is registered, and mapped as it was then. */
bool slot_is_valid(const struct slot *slot);

/* Whether the mapped table describes the mapped code. */
bool slot_matches(const struct slot *slot);

/* How a mapping replaces an existing one. */
enum slot_how {
	SLOT_OVER,		/* mmap(MAP_FIXED) */
	SLOT_AFTER_UNMAP,	/* munmap(), then mmap() */
	SLOT_MREMAP,		/* mapped elsewhere, then moved there */
	NR_SLOT_HOWS
};

void slot_place_code(struct slot *slot, int image, enum slot_how how);
void slot_place_table(struct slot *slot, int image, enum slot_how how);

/* Unmap the code, or @move it elsewhere. */
void slot_remove_code(struct slot *slot, bool move);
void slot_remove_table(struct slot *slot, bool move);

/* Register through @fd. Returns 0 or an errno. */
int slot_register(struct slot *slot, int fd, bool validate);

/* Unregister by id or address. Returns 0 or an errno. */
int slot_unregister(struct slot *slot, int fd, bool by_address);

/* Make the slot's table writable in this process, for flipping. */
void slot_make_flipped(struct slot *slot);

#endif /* STORM_CODE_H */
