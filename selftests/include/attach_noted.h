/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests of sections that are attached with UNCHANGED, with one or many
 * functions.
 */
#ifndef SELFTESTS_ATTACH_NOTED_H
#define SELFTESTS_ATTACH_NOTED_H

#include "attach_range.h"

#define CODE			(PROT_READ | PROT_EXEC)

/* Bytes of a function that are compared. */
#define COMPARED		4096UL

#define PAGES			16UL

FIXTURE(noted)
{
	int fd;
	unsigned char *code;		/* PAGES pages */
	struct sframe_unwind_attach arg;
	char message[256];
};

/*
 * Returns a file with a section for @nr functions of @size bytes, @distance bytes apart,
 * all with one row as in write_fake_section(); or -1. Sets *@bytes.
 */
static inline int make_many(unsigned int nr, size_t size, size_t distance, size_t *bytes)
{
	const size_t rows = FAKE_FDE + nr * 16UL;
	unsigned char *section, *fde, *block;
	int fd;

	*bytes = rows + nr * 8UL;
	section = calloc(1, *bytes);
	if (!section)
		return -1;
	write_fake_section(section, section);
	put32(section + FAKE_NUM_FDES, nr);
	put32(section + 0x0c, nr);		/* num_fres */
	put32(section + FAKE_FRE_LEN, nr * 8);
	put32(section + FAKE_FRE_OFF, nr * 16);
	for (unsigned int i = 0; i < nr; i++) {
		fde = section + FAKE_FDE + i * 16UL;
		block = section + rows + i * 8UL;
		put64(fde, i * distance - (FAKE_FDE + i * 16UL));
		put32(fde + 8, size);
		put32(fde + 12, i * 8);
		memset(block, 0, 8);
		block[0] = 1;
		block[FAKE_ROW_INFO - FAKE_ATTR] = 0x03;
		block[FAKE_ROW_WORD - FAKE_ATTR] = 8;
	}
	fd = make_file(section, *bytes);
	free(section);
	return fd;
}

/* Make self->arg attach such a section to the code, which is the copy, too. */
static inline bool prepare(FIXTURE_DATA(noted) *self, unsigned int nr, size_t size,
		    size_t distance)
{
	size_t bytes;
	const int fd = make_many(nr, size, distance, &bytes);

	if (self->arg.sframe_fd > 0)
		close(self->arg.sframe_fd);
	self->arg = range_of(0, self->code, (nr - 1) * distance + size, fd);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.sframe_size = bytes;
	self->arg.code = (uintptr_t)self->code;
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	return fd >= 0;
}

FIXTURE_SETUP(noted)
{
	if (geteuid())
		SKIP(return, "needs root");
	self->code = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->code);
	memset(self->code, 0x90, PAGES * PAGE);
	memcpy(self->code, request_code, sizeof(request_code));
	ASSERT_EQ(0, mprotect(self->code, PAGES * PAGE, CODE));
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(noted)
{
	if (self->arg.sframe_fd > 0)
		close(self->arg.sframe_fd);
	close(self->fd);
}

/* Put the code that requests a stack at @at. */
static inline bool put_code(FIXTURE_DATA(noted) *self, unsigned char *at)
{
	if (mprotect(self->code, PAGES * PAGE, PROT_READ | PROT_WRITE))
		return false;
	memcpy(at, request_code, sizeof(request_code));
	return !mprotect(self->code, PAGES * PAGE, CODE);
}

static inline bool change_byte(unsigned char *at)
{
	unsigned char *const page = (void *)((uintptr_t)at & ~(PAGE - 1UL));

	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		return false;
	*at ^= 1;
	return !mprotect(page, PAGE, CODE);
}

#endif /* SELFTESTS_ATTACH_NOTED_H */
