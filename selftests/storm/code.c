// SPDX-License-Identifier: GPL-2.0
/* Code: generated functions with their tables, and the slots to map them in. */
#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "code.h"
#include "shared.h"

/* Kinds of frames: fixed size, with frame pointer, pushed word by word. */
enum { BY_SP, BY_FP, BY_PUSH, NR_KINDS };

/* Code and table of one page while they are written. */
struct writer {
	unsigned char *page;
	unsigned int at;	/* offset of the next instruction */
	unsigned char *rows;
	unsigned int size;	/* bytes of rows so far */
	unsigned int nr_rows;
	unsigned int start;	/* of the current function */
};

static unsigned int returns[NR_VARIANTS][HOPS];

static unsigned int image_variant(int image)
{
	return image % NR_VARIANTS;
}

static int image_fd(int image)
{
	/* The last images are parts of one file. */
	return FD_IMAGES + (image < NR_FILES ? image : NR_FILES - 1);
}

static unsigned long image_offset(int image)
{
	return image < NR_FILES ? 0 : (image - NR_FILES + 1) * 2 * PAGE;
}

static void emit(struct writer *w, const void *code, unsigned int size)
{
	memcpy(w->page + w->at, code, size);
	w->at += size;
}

#define EMIT(w, ...)							\
	do {								\
		const unsigned char code_[] = { __VA_ARGS__ };		\
		emit(w, code_, sizeof(code_));				\
	} while (0)

/*
 * Add a row: CFA = base + @cfa, and the frame pointer saved at CFA + @fp, if
 * not 0.
 */
static void row(struct writer *w, bool fp_base, int cfa, int fp)
{
	unsigned char *p = w->rows + w->size;

	*p++ = w->at - w->start;
	*p++ = (fp_base ? 0 : 1) | (fp ? 2 : 1) << 1;
	*p++ = cfa;
	if (fp)
		*p++ = fp;
	w->size = p - w->rows;
	w->nr_rows++;
}

/* A recognizable word, which a walk with a wrong rule takes as return address. */
static uint32_t poison(unsigned int variant, unsigned int hop, unsigned int word)
{
	return 0x5afe0000 | variant << 12 | hop << 8 | word;
}

static void emit_poison(struct writer *w, unsigned int variant,
			unsigned int hop, unsigned int words)
{
	unsigned int i;
	uint32_t word;

	for (i = 0; i < words; i++) {
		EMIT(w, 0x48, 0xc7, 0x44, 0x24, 8 * i);
		word = poison(variant, hop, i);
		emit(w, &word, sizeof(word));
	}
}

/* Write hop number @hop. Returns the offset of its return address. */
static unsigned int write_hop(struct writer *w, unsigned int variant,
			      unsigned int hop)
{
	const unsigned int words = 1 + (variant * 5 + hop * 3) % 9;
	const unsigned int kind = (variant + hop) % NR_KINDS;
	unsigned int ret, i;
	uint32_t word;

	row(w, false, 8, 0);
	if (kind == BY_FP) {
		EMIT(w, 0x55);				/* push %rbp */
		row(w, false, 16, -16);
		EMIT(w, 0x48, 0x89, 0xe5);		/* mov %rsp,%rbp */
		row(w, true, 16, -16);
	}
	if (kind == BY_PUSH) {
		for (i = 0; i < words; i++) {
			EMIT(w, 0x68);			/* push $poison */
			word = poison(variant, hop, i);
			emit(w, &word, sizeof(word));
			row(w, false, 16 + 8 * i, 0);
		}
	} else {
		EMIT(w, 0x48, 0x83, 0xec, 8 * words);	/* sub $n,%rsp */
		if (kind == BY_SP)
			row(w, false, 8 + 8 * words, 0);
		emit_poison(w, variant, hop, words);
	}
	EMIT(w, 0x48, 0x8b, 0x07);			/* mov (%rdi),%rax */
	EMIT(w, 0x48, 0x83, 0xc7, 0x08);		/* add $8,%rdi */
	EMIT(w, 0xff, 0xd0);				/* call *%rax */
	ret = w->at;
	if (kind == BY_FP)
		EMIT(w, 0xc9);				/* leave */
	else
		EMIT(w, 0x48, 0x83, 0xc4, 8 * words);	/* add $n,%rsp */
	row(w, false, 8, 0);
	EMIT(w, 0xc3);					/* ret */
	return ret;
}

static void put(unsigned char *p, uint64_t value, unsigned int size)
{
	memcpy(p, &value, size);
}

/* Write both pages of a variant. */
static void write_image(unsigned char *code, unsigned char *table,
			unsigned int variant)
{
	static const unsigned char header[] = {
		0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0
	};
	unsigned char *fde = table + 28, *rows = fde + HOPS * 16;
	struct writer w = { .page = code, .rows = rows };
	unsigned int hop, attr, total = 0;

	memset(code, 0xcc, PAGE);
	memset(table, 0, PAGE);
	memcpy(table, header, sizeof(header));
	for (hop = 0; hop < HOPS; hop++, fde += 16) {
		attr = w.size;
		w.size += 5;
		w.nr_rows = 0;
		w.start = w.at = hop * HOP_SIZE;
		returns[variant][hop] = write_hop(&w, variant, hop);
		put(fde, (uint64_t)w.start - SLOT_TABLE - (fde - table), 8);
		put(fde + 8, w.at - w.start, 4);
		put(fde + 12, attr, 4);
		put(rows + attr, w.nr_rows, 2);
		total += w.nr_rows;
	}
	put(table + 8, HOPS, 4);
	put(table + 12, total, 4);
	put(table + 16, w.size, 4);
	put(table + 24, HOPS * 16, 4);
}

void images_init(void)
{
	static unsigned char code[PAGE], table[PAGE];
	unsigned int variant;

	for (variant = 0; variant < NR_VARIANTS; variant++)
		write_image(code, table, variant);
}

void images_create(void)
{
	static unsigned char pages[2][PAGE];
	int i, fd;

	for (i = 0; i < NR_IMAGES; i++) {
		if (i < NR_FILES) {
			fd = memfd_create("storm-code", 0);
			if (fd < 0 || dup2(fd, image_fd(i)) < 0)
				err(2, "memfd_create");
			close(fd);
		}
		write_image(pages[0], pages[1], image_variant(i));
		if (pwrite(image_fd(i), pages, sizeof(pages),
			   image_offset(i)) != sizeof(pages))
			err(2, "memfd");
	}
}

unsigned int image_return(int image, unsigned int hop)
{
	return returns[image_variant(image)][hop];
}

bool is_return_offset(unsigned int offset)
{
	const unsigned int hop = offset / HOP_SIZE;
	unsigned int variant;

	for (variant = 0; hop < HOPS && variant < NR_VARIANTS; variant++) {
		if (returns[variant][hop] == offset)
			return true;
	}
	return false;
}

void slot_init(struct slot *slot, unsigned int nr)
{
	*slot = (struct slot) {
		.at = (unsigned char *)SLOTS_BASE + nr * SLOT_SIZE,
		.code = -1,
		.table = -1,
		.registered_code = -1,
		.registered_table = -1,
	};
}

bool slot_is_valid(const struct slot *slot)
{
	return slot->registered_code >= 0 && slot->code >= 0 &&
	       slot->code == slot->registered_code &&
	       slot->table == slot->registered_table;
}

bool slot_matches(const struct slot *slot)
{
	return slot->code >= 0 && slot->table >= 0 &&
	       image_variant(slot->code) == image_variant(slot->table);
}

static void *map(void *at, int image, unsigned int page, int prot, int flags)
{
	void *p = mmap(at, PAGE, prot, MAP_PRIVATE | flags, image_fd(image),
		       image_offset(image) + page * PAGE);

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return p;
}

static void place(void *at, int image, unsigned int page, enum slot_how how)
{
	const int prot = PROT_READ | (page ? 0 : PROT_EXEC);
	void *p;

	switch (how) {
	case SLOT_AFTER_UNMAP:
		munmap(at, PAGE);
		count_one(COUNT_UNMAPPED);
		break;
	case SLOT_MREMAP:
		p = map(NULL, image, page, prot, 0);
		if (mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) !=
		    at)
			fail("mremap: %s", strerror(errno));
		count_one(COUNT_MOVED);
		return;
	default:
		break;
	}
	map(at, image, page, prot, MAP_FIXED);
}

void slot_place_code(struct slot *slot, int image, enum slot_how how)
{
	if (slot->code >= 0)
		count_one(COUNT_REPLACED);
	place(slot->at, image, 0, how);
	slot->code = image;
}

void slot_place_table(struct slot *slot, int image, enum slot_how how)
{
	place(slot->at + SLOT_TABLE, image, 1, how);
	slot->table = image;
}

static void take_away(void *at, bool move)
{
	void *to = MAP_FAILED;

	if (move) {
		to = mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			    (char *)at + PAGE);
		count_one(COUNT_MOVED);
	}
	munmap(to == MAP_FAILED ? at : to, PAGE);
	count_one(COUNT_UNMAPPED);
}

void slot_remove_code(struct slot *slot, bool move)
{
	take_away(slot->at, move);
	slot->code = -1;
}

void slot_remove_table(struct slot *slot, bool move)
{
	take_away(slot->at + SLOT_TABLE, move);
	slot->table = -1;
}

int slot_register(struct slot *slot, int fd, bool validate)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.flags = validate ? SFRAME_UNWIND_REGISTER_VALIDATE : 0,
		.sframe_start = (uintptr_t)slot->at + SLOT_TABLE,
		.sframe_size = PAGE,
		.text_start = (uintptr_t)slot->at,
		.text_size = PAGE,
	};

	if (register_section(fd, &reg)) {
		if (errno == EEXIST)
			count_one(COUNT_EXISTS);
		return errno;
	}
	count_one(COUNT_REGISTERED);
	slot->id = reg.id;
	slot->registered_code = slot->code;
	slot->registered_table = slot->table;
	return 0;
}

int slot_unregister(struct slot *slot, int fd, bool by_address)
{
	struct sframe_unwind_unregister unreg = { .size = sizeof(unreg) };

	if (by_address)
		unreg.sframe_start = (uintptr_t)slot->at + SLOT_TABLE;
	else
		unreg.id = slot->id;
	slot->registered_code = -1;
	slot->registered_table = -1;
	if (unregister_section(fd, &unreg))
		return errno;
	count_one(COUNT_UNREGISTERED);
	return 0;
}

void slot_make_flipped(struct slot *slot)
{
	slot_place_code(slot, 0, SLOT_OVER);
	map(slot->at + SLOT_TABLE, 0, 1, PROT_READ | PROT_WRITE, MAP_FIXED);
	slot->table = 0;
	slot->flipped = true;
}
