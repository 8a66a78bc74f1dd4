// SPDX-License-Identifier: GPL-2.0
/*
 * userspace/jit: which registrations announcements make and end, with a made module. Includes
 * the registry and its descriptors, whose state is looked at.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sframe_unwind.h>

#include "tap.h"

/* In place of the system call. */
#define SFRAME_UNWIND_SYSCALL_H
static long ioctl_inline(int fd, unsigned long number, void *arg);

/* In place of the device. */
#undef SFRAME_UNWIND_DEVICE
#define SFRAME_UNWIND_DEVICE "/dev/null"

#include "userspace/jit/descriptors.c"
#include "userspace/jit/registry.c"

#define MAX_LIVE 100

/* The module's registrations. */
static struct sframe_unwind_register live[MAX_LIVE];
static unsigned int nr_live;

/* Nothing can be registered. */
static bool is_writable;

static long add_live(struct sframe_unwind_register *arg)
{
	const uint64_t end = arg->text_start + arg->text_size;
	static uint64_t id;

	if (is_writable)
		return -EACCES;
	for (unsigned int i = 0; i < nr_live; i++)
		if (live[i].text_start < end &&
		    arg->text_start < live[i].text_start + live[i].text_size)
			return -EEXIST;
	if (nr_live == MAX_LIVE)
		return -ENOMEM;
	arg->id = ++id;
	live[nr_live++] = *arg;
	return 0;
}

static long end_live(const struct sframe_unwind_unregister *arg)
{
	for (unsigned int i = 0; i < nr_live; i++) {
		if (live[i].id != arg->id)
			continue;
		live[i] = live[--nr_live];
		return 0;
	}
	return -ENOENT;
}

static long ioctl_inline(int fd, unsigned long number, void *arg)
{
	struct stat file, null;

	/* Nothing is told to files of the program. */
	if (fstat(fd, &file) || stat("/dev/null", &null) || file.st_rdev != null.st_rdev)
		tap_fail("descriptor %d is not the device", fd);
	return number == SFRAME_UNWIND_IOC_REGISTER ? add_live(arg) : end_live(arg);
}

#define CODE 0x10000000ULL

/* An .eh_frame, and its functions: each with other rows. */
static unsigned char *announce(unsigned int nr, const uint64_t code[][2])
{
	static const unsigned char cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
	};
	unsigned char *begin = calloc(1, sizeof(cie) + nr * 28 + 4), *at = begin;
	const void *begins[2] = { begin, NULL };

	memcpy(at, cie, sizeof(cie));
	at += sizeof(cie);
	for (unsigned int i = 0; i < nr; i++, at += 28) {
		const uint32_t words[2] = { 24, at + 4 - begin };
		const unsigned char instructions[] = { 0x41, 0x0e, 8 + i % 100, 0 };

		memcpy(at, words, 8);
		memcpy(at + 8, code[i], 16);
		memcpy(at + 24, instructions, 4);
	}
	sfu_jit_add(begin, begins);
	return begin;
}

static void take_back(unsigned char *begin)
{
	sfu_jit_remove(begin);
	free(begin);
}

static void same_place(void)
{
	static const uint64_t first[][2] = { { CODE, 0x20 }, { CODE + 0x100, 0x20 } };
	static const uint64_t second[][2] = { { CODE + 0x110, 0x20 } };
	unsigned char *older = announce(2, first), *newer;

	EXPECT_EQ(nr_live, 2);
	newer = announce(1, second);
	EXPECT_EQ(nr_live, 2);
	EXPECT_EQ(live[0].text_start, CODE);
	EXPECT_EQ(live[1].text_start, CODE + 0x110);
	take_back(older);
	EXPECT_EQ(nr_live, 1);
	take_back(newer);
	EXPECT_EQ(nr_live, 0);
}

static void between_others(void)
{
	static const uint64_t first[][2] = { { CODE + 0x80, 0x20 } };
	static const uint64_t second[][2] = { { CODE + 0x100, 0x20 }, { CODE, 0x20 } };
	unsigned char *older = announce(1, first), *newer = announce(2, second);

	EXPECT_EQ(nr_live, 3);
	take_back(newer);
	EXPECT_EQ(nr_live, 1);
	take_back(older);
	EXPECT_EQ(nr_live, 0);
}

/* A function of a few bytes, where another announcement has padding. */
static void in_padding(void)
{
	static const uint64_t first[][2] = { { CODE + 0x100, 4 } };
	static const uint64_t second[][2] = { { CODE + 0xf0, 0x10 }, { CODE + 0x10a, 0x16 } };

	for (unsigned int i = 0; i < 3; i++) {
		unsigned char *older, *newer;

		is_writable = i;
		older = announce(1, first);
		newer = announce(2, second);
		EXPECT_EQ(nr_live, !i);
		EXPECT_EQ(nr_waiting, !!i);
		is_writable = false;
		if (i == 2)
			sfu_jit_protected((void *)CODE, 0x1000);
		EXPECT_EQ(nr_live, i != 1);
		take_back(older);
		take_back(newer);
		EXPECT_EQ(nr_live, 0);
		EXPECT_EQ(nr_waiting, 0);
	}
}

static void kept_memory(void)
{
	static uint64_t code[5000][2];
	size_t space;

	for (unsigned int i = 0; i < 5000; i++) {
		code[i][0] = CODE + 0x20 * i;
		code[i][1] = 0x20;
	}
	take_back(announce(10, code));
	space = sfu_jit_section_space(&kept);
	EXPECT(space && space < MAX_KEPT && !is_taken);
	take_back(announce(10, code));
	EXPECT_EQ(sfu_jit_section_space(&kept), space);
	/* Taken by another thread. */
	is_taken = true;
	take_back(announce(100, code));
	EXPECT_EQ(sfu_jit_section_space(&kept), space);
	is_taken = false;
	take_back(announce(5000, code));
	EXPECT_EQ(sfu_jit_section_space(&kept), 0);
	EXPECT_EQ(nr_live, 0);
}

/* The program closes what it has not opened, and opens other files in its place. */
static void descriptor_used_again(void)
{
	static const uint64_t code[][2] = { { CODE, 0x20 } };
	int fd, pipes[2];

	take_back(announce(1, code));
	fd = device;
	EXPECT(fd >= LOWEST_FD && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	EXPECT_EQ(pipe(pipes), 0);
	for (unsigned int i = 0; i < 2; i++) {
		/* A pipe, and the device as somebody else has opened it. */
		const int other = i ? open("/dev/null", O_RDWR) : dup(pipes[0]);

		EXPECT_EQ(dup2(other, fd), fd);
		close(other);
		take_back(announce(1, code));
		EXPECT(device != fd && device >= LOWEST_FD);
		EXPECT_EQ(fcntl(fd, F_GETSIG), 0);
		close(device);
		take_back(announce(1, code));
		EXPECT(device >= LOWEST_FD);
		close(fd);
		fd = device;
	}
	take_back(announce(1, code));
	EXPECT_EQ(device, fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* The memory of an entry is used again, unless it is far larger than needed. */
static void kept_entry(void)
{
	static uint64_t code[20000][2];
	const struct entry *was;

	for (unsigned int i = 0; i < 20000; i++) {
		code[i][0] = CODE + 0x20 * i;
		code[i][1] = 0x20;
	}
	take_back(announce(1000, code));
	was = spare;
	EXPECT(was);
	take_back(announce(900, code));
	EXPECT(spare == was);
	take_back(announce(10, code));
	EXPECT(spare && spare->space < 1000);
	was = spare;
	take_back(announce(20000, code));
	EXPECT(!spare || spare->space <= MAX_KEPT);
	EXPECT_EQ(nr_live, 0);
}

/*
 * A sandbox may kill for what is asked of a descriptor, or for opening files: nothing is if there
 * is nothing to register or to end.
 */
static void device_left_alone(void)
{
	static const uint64_t code[][2] = { { CODE, 0x20 } };
	unsigned char *waiting;

	is_writable = true;
	waiting = announce(1, code);
	is_writable = false;
	EXPECT_EQ(nr_waiting, 1);
	close(device);
	sfu_jit_remove(waiting + 1);
	sfu_jit_protected((void *)(CODE + 0x1000), 0x1000);
	EXPECT_EQ(fcntl(device, F_GETFD), -1);
	sfu_jit_protected((void *)CODE, 0x1000);
	EXPECT_EQ(fcntl(device, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(nr_live, 1);
	take_back(waiting);
	EXPECT_EQ(nr_live, 0);
}

/* With what the C library has for it, and without. */
static void objects(void)
{
	int (*const found)(void *address, void *found) = find_object;
	void *memory = malloc(100);

	for (unsigned int i = 0; i < 2; i++) {
		EXPECT(is_in_object(&device) && is_in_object((void *)(uintptr_t)objects));
		EXPECT(is_in_object(stdout) && !is_in_object(NULL) && !is_in_object(memory));
		find_object = NULL;
	}
	find_object = found;
	free(memory);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(same_place),
		TAP_TEST(between_others),
		TAP_TEST(in_padding),
		TAP_TEST(kept_memory),
		TAP_TEST(descriptor_used_again),
		TAP_TEST(device_left_alone),
		TAP_TEST(kept_entry),
		TAP_TEST(objects),
	};

	sfu_jit_open(false);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sfu_jit_section_free(&kept);
	free(spare);
	return tap_done();
}
