// SPDX-License-Identifier: GPL-2.0
/*
 * Sections of generated code for stacks that "record" completes: only for stacks of the time when
 * the code was there, whatever is told, and is mapped, and in whatever order that is read.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../include/descriptors.h"
#include "sframe_unwind_writer.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/told.h"
#include "userspace/cli/profile/copy_code.h"
#include "userspace/worker/message.h"

#define CODE	0x7f0000001000UL
#define SIZE	0x1000UL
#define PID	7u

/* When recording began; times are after that. */
#define BEGIN	(1000 * SECOND)

static uint64_t time_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

/* With this, the hash of a process is its number. */
ssize_t __wrap_getrandom(void *to, size_t size, unsigned int flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned int flags)
{
	const uint64_t secret = 1ULL << 54;

	(void)flags;
	memcpy(to, &secret, size);
	return size;
}

/* A section with one function of SIZE bytes; @number is in its rule. */
static unsigned char section[256];
static ssize_t section_size;

static void write_section(unsigned int number)
{
	const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(0, 8 + 8 * number);
	const struct sframe_unwind_function function = {
		.start = 0, .size = SIZE, .rows = &row, .nr_rows = 1,
	};
	struct sframe_unwind_writer *writer;

	if (sframe_unwind_writer_create(&writer) ||
	    sframe_unwind_writer_add(writer, &function))
		abort();
	section_size = sframe_unwind_writer_write(writer, section, sizeof(section), 0);
	sframe_unwind_writer_free(writer);
}

static struct copy_code *code;
static int teller = -1;

static void begin(void)
{
	int sockets[2];

	copy_code_free(code);
	if (teller >= 0)
		close(teller);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	code = copy_code_create(sockets[0]);
	teller = sockets[1];
	time_ns = BEGIN;
	write_section(1);
	copy_code_take(code, BEGIN);
}

static void tell_sealed(const struct told_code *told, size_t size, const void *bytes,
			size_t nr_bytes, int seals)
{
	int fds[2] = { memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1 };

	if (write(fds[0], bytes, nr_bytes) != (ssize_t)nr_bytes ||
	    fcntl(fds[0], F_ADD_SEALS, seals) ||
	    message_send(teller, told, size, NULL, 0, fds))
		abort();
	close(fds[0]);
}

static void tell_bytes(const struct told_code *told, size_t size, const void *bytes,
		       size_t nr_bytes)
{
	tell_sealed(told, size, bytes, nr_bytes, TOLD_SEALS);
}

/* A section of @size bytes, with zeroes at its end. */
static void tell_large(struct told_code told, size_t size)
{
	static unsigned char bytes[TOLD_BYTES_MAX + 1];

	memcpy(bytes, section, section_size);
	told.size = size;
	tell_bytes(&told, sizeof(told), bytes, size);
}

static struct told_code told_of(uint64_t start, uint64_t from, uint64_t until)
{
	return (struct told_code){
		.pid = PID,
		.start = start,
		.end = start + SIZE,
		.from = BEGIN + from,
		.until = BEGIN + until,
		.size = section_size,
	};
}

/* A section for the code at CODE is told. */
static void tell(uint64_t from, uint64_t until)
{
	const struct told_code told = told_of(CODE, from, until);

	tell_bytes(&told, sizeof(told), section, section_size);
}

static void map_at(uint32_t pid, uint64_t time, uint64_t start, uint64_t size)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.time = BEGIN + time,
		.map = { .start = start, .size = size, .name = "//anon", .is_code = 1 },
	};

	copy_code_follow(code, &record);
}

/* The memory at CODE becomes executable. */
static void map(uint64_t time)
{
	map_at(PID, time, CODE, SIZE);
}

/* All that happened until @time is known. */
static void take(uint64_t time)
{
	copy_code_take(code, BEGIN + time);
}

/* Returns the number of the section for @pc, or 0. */
static unsigned int find_at(uint32_t pid, uint64_t time, uint64_t pc)
{
	struct sfu_defect defect;
	struct sfu_match match;
	struct sfu_table table;
	uint32_t number = 0, rows = 1000;
	struct sfu_fde fde;

	if (copy_code_find(code, pid, BEGIN + time, pc, &table, &number) !=
	    COPY_SECTION_HERE)
		return 0;
	if (number < 1u << 31 || sfu_table_find(&table, pc, &fde, &defect) ||
	    fde.start != CODE ||
	    sfu_fde_find_rule(&table, &fde, pc, &rows, &match.rule, &defect))
		return 99;
	return match.rule.cfa_offset / 8 - 1;
}

static unsigned int find(uint64_t time)
{
	return find_at(PID, time, CODE + 8);
}

/* --- tests */

static void while_it_was_there(void)
{
	begin();
	map(100);
	take(105);
	EXPECT_EQ(find(104), 0);
	tell(110, 120);
	take(130);
	EXPECT_EQ(find(99), 0);
	EXPECT_EQ(find(100), 1);
	EXPECT_EQ(find(115), 1);
	EXPECT_EQ(find(1000), 1);
	EXPECT_EQ(find_at(PID, 115, CODE), 1);
	EXPECT_EQ(find_at(PID, 115, CODE - 1), 0);
	EXPECT_EQ(find_at(PID, 115, CODE + SIZE - 1), 1);
	EXPECT_EQ(find_at(PID, 115, CODE + SIZE), 0);
	/* Of that process only, also if another one is at the same place in the table. */
	EXPECT_EQ(find_at(PID + 1, 115, CODE), 0);
	EXPECT_EQ(find_at(PID + 1024, 115, CODE), 0);
}

/* The memory is used again: rules of the one code are never those of the other. */
static void address_is_used_again(void)
{
	begin();
	map(100);
	tell(110, 120);
	map(200);
	write_section(2);
	tell(210, 220);
	map(300);
	take(400);
	EXPECT_EQ(find(99), 0);
	EXPECT_EQ(find(100), 1);
	EXPECT_EQ(find(199), 1);
	EXPECT_EQ(find(200), 2);
	EXPECT_EQ(find(299), 2);
	EXPECT_EQ(find(300), 0);
	EXPECT_EQ(find(350), 0);
	/* That is read later. */
	map(150);
	EXPECT_EQ(find(149), 1);
	EXPECT_EQ(find(150), 0);
	EXPECT_EQ(find(210), 2);
	/* A part of it is enough. */
	map_at(PID, 250, CODE + SIZE - 1, SIZE);
	EXPECT_EQ(find(249), 2);
	EXPECT_EQ(find(250), 0);
	/* Nothing else. */
	map_at(PID, 120, CODE + SIZE, SIZE);
	map_at(PID, 120, CODE - SIZE, SIZE);
	map_at(PID + 1024, 120, CODE, SIZE);
	EXPECT_EQ(find(149), 1);
}

/* It is not known whether what was told was before or after that. */
static void changed_while_it_was_looked_at(void)
{
	begin();
	map(115);
	tell(110, 120);
	take(200);
	EXPECT_EQ(find(114), 0);
	EXPECT_EQ(find(115), 0);
	EXPECT_EQ(find(125), 0);
	begin();
	tell(110, 120);
	take(200);
	EXPECT_EQ(find(150), 1);
	map(115);
	EXPECT_EQ(find(150), 0);
}

/* What is told is used only when all that had happened until then is known. */
static void told_before_changes_are_read(void)
{
	begin();
	map(100);
	tell(110, 120);
	take(119);
	EXPECT_EQ(find(101), 0);
	map(118);
	take(120);
	EXPECT_EQ(find(101), 0);
	EXPECT_EQ(find(119), 0);
	/* Another one that has come later is used before. */
	begin();
	tell(110, 140);
	write_section(2);
	tell(110, 120);
	take(130);
	EXPECT_EQ(find(130), 2);
	map(135);
	take(140);
	EXPECT_EQ(find(130), 2);
	EXPECT_EQ(find(136), 0);
}

/* Another program, or another process with the same number. A thread is neither. */
static void another_program(void)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_COMM, .pid = PID, .time = BEGIN + 200,
	};

	begin();
	tell(110, 120);
	take(130);
	copy_code_follow(code, &record);
	EXPECT_EQ(find(200), 1);
	record.comm.is_exec = 1;
	copy_code_follow(code, &record);
	EXPECT_EQ(find(199), 1);
	EXPECT_EQ(find(200), 0);
	begin();
	tell(110, 120);
	take(130);
	record.kind = SFRAME_UNWIND_PROFILE_FORK;
	record.task.ppid = PID;
	copy_code_follow(code, &record);
	EXPECT_EQ(find(200), 1);
	record.task.ppid = 1;
	copy_code_follow(code, &record);
	EXPECT_EQ(find(199), 1);
	EXPECT_EQ(find(200), 0);
}

/* Mappings that are not remembered may have been at the same place. */
static void too_many_changes(void)
{
	begin();
	map(100);
	for (unsigned int i = 0; i < 63; i++)
		map_at(PID, 101 + i, CODE + SIZE, SIZE);
	tell(170, 180);
	take(190);
	EXPECT_EQ(find(100), 1);
	EXPECT_EQ(find(99), 0);
	/* One more, and the one at 100 is forgotten, but nothing later. */
	begin();
	map(100);
	for (unsigned int i = 0; i < 64; i++)
		map_at(PID + 1024 * (i % 2), 101 + i, CODE + SIZE, SIZE);
	tell(170, 180);
	take(190);
	EXPECT_EQ(find(99), 0);
	EXPECT_EQ(find(100), 1);
	begin();
	map(100);
	map(175);
	for (unsigned int i = 0; i < 64; i++)
		map_at(PID, 176 + i, CODE + SIZE, SIZE);
	tell(170, 180);
	take(300);
	EXPECT_EQ(find(180), 0);
	EXPECT_EQ(find(174), 0);
	/* Those after it have taken effect when they came. */
	begin();
	tell(170, 180);
	take(190);
	map(200);
	for (unsigned int i = 0; i < 1000; i++)
		map_at(PID, 300 + i, CODE + SIZE, SIZE);
	EXPECT_EQ(find(199), 1);
	EXPECT_EQ(find(200), 0);
}

/* What was lost may have been a mapping there. */
static void forgotten(void)
{
	begin();
	tell(110, 120);
	take(130);
	EXPECT_EQ(find(130), 1);
	copy_code_forget(code, BEGIN + 200);
	EXPECT_EQ(find(130), 0);
	tell(190, 205);
	take(210);
	EXPECT_EQ(find(203), 0);
	tell(200, 205);
	take(210);
	EXPECT_EQ(find(199), 0);
	EXPECT_EQ(find(200), 1);
}

/* What is told before anything is followed. */
static void before_the_beginning(void)
{
	begin();
	write_section(1);
	tell(-2, -1);
	take(10);
	EXPECT_EQ(find(-2), 0);
	EXPECT_EQ(find(0), 0);
	tell(0, 5);
	take(10);
	EXPECT_EQ(find(-1), 0);
	EXPECT_EQ(find(0), 1);
}

static void nothing_to_use(void)
{
	struct told_code told = told_of(CODE, 110, 120);
	unsigned int files;

	begin();
	files = count_descriptors();
	told.size = 10;
	tell_bytes(&told, sizeof(told), "no section", 10);
	told = told_of(CODE, 110, 120);
	told.end = told.start;
	tell_bytes(&told, sizeof(told), section, section_size);
	told.end = told.start - 1;
	tell_bytes(&told, sizeof(told), section, section_size);
	told = told_of(CODE, 121, 120);
	tell_bytes(&told, sizeof(told), section, section_size);
	/* Without even a header, and larger than all: both with files. */
	for (unsigned int i = 0; i < 10; i++) {
		char bytes[2 * sizeof(told)] = "";

		tell_bytes(&told, 0, section, section_size);
		tell_bytes((void *)bytes, sizeof(bytes), section, section_size);
	}
	take(200);
	EXPECT_EQ(find(115), 0);
	EXPECT_EQ(find_at(PID, 115, CODE - 8), 0);
	tell(110, 120);
	take(200);
	EXPECT_EQ(find(115), 1);
	EXPECT_EQ(count_descriptors(), files);
	/* The daemon ends. */
	close(teller);
	teller = -1;
	take(200);
	take(200);
	EXPECT_EQ(find(115), 1);
}

/* What "attach" does not send ends that anything is read from there. */
static void expect_distrust(void)
{
	take(200);
	tell(110, 120);
	take(200);
	EXPECT_EQ(find(115), 0);
}

static void not_from_attach(void)
{
	struct told_code told;

	begin();
	told = told_of(CODE, 110, 120);
	tell_bytes(&told, sizeof(told) - 1, section, section_size);
	expect_distrust();
	begin();
	message_send(teller, &told, sizeof(told), NULL, 0, (int[]){ -1, -1 });
	expect_distrust();
	begin();
	message_send(teller, &told, sizeof(told), NULL, 0, (int[]){ 0, -1 });
	expect_distrust();
	begin();
	tell_bytes(&told, sizeof(told), section, section_size - 1);
	expect_distrust();
	for (unsigned int i = 0; i < 3; i++) {
		static const int seals[] = { F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW };

		begin();
		tell_sealed(&told, sizeof(told), section, section_size,
			    TOLD_SEALS & ~seals[i]);
		expect_distrust();
	}
	begin();
	tell_large(told, TOLD_BYTES_MAX + 1);
	expect_distrust();
	begin();
	told.size = 0;
	tell_bytes(&told, sizeof(told), section, 0);
	expect_distrust();
}

static void no_sections(void)
{
	struct copy_code *none = NULL;
	struct sfu_table table;
	uint32_t number;

	EXPECT_EQ(copy_code_find(none, PID, BEGIN, CODE, &table, &number), COPY_SECTION_NONE);
	copy_code_follow(none, &(struct sframe_unwind_profile_record){ 0 });
	copy_code_take(none, 0);
	copy_code_forget(none, 0);
}

/* A section may come for three seconds. */
static void for_three_seconds(void)
{
	struct sfu_table table;
	uint32_t number;

	begin();
	time_ns = BEGIN + 100 + 3 * SECOND;
	EXPECT_EQ(copy_code_find(code, PID, BEGIN + 100, CODE, &table, &number),
		  COPY_SECTION_LATER);
	time_ns++;
	EXPECT_EQ(copy_code_find(code, PID, BEGIN + 100, CODE, &table, &number),
		  COPY_SECTION_NONE);
}

/* Of one process, 256 are kept, the last ones; of all, 8192. */
static void not_too_many(void)
{
	struct told_code told = told_of(CODE, 110, 120);
	unsigned int nr;

	begin();
	told.pid = PID + 1024;
	tell_bytes(&told, sizeof(told), section, section_size);
	told.pid = PID;
	for (unsigned int i = 0; i < 257; i++) {
		tell_bytes(&told, sizeof(told), section, section_size);
		told.start = CODE + (i + 1) * SIZE;
		told.end = told.start + SIZE;
		take(200);
		if (i == 255)
			EXPECT_EQ(find(150), 1);
	}
	EXPECT_EQ(find(150), 0);
	EXPECT_EQ(find_at(PID + 1024, 150, CODE), 1);
	begin();
	told = told_of(CODE, 110, 120);
	for (told.pid = 1; told.pid <= 8193; told.pid++) {
		tell_bytes(&told, sizeof(told), section, section_size);
		if (told.pid % 64 == 1)
			take(200);
	}
	take(200);
	nr = 0;
	for (unsigned int pid = 1; pid <= 8193; pid++)
		nr += find_at(pid, 150, CODE);
	EXPECT_EQ(nr, 8192);
	EXPECT_EQ(find_at(1, 150, CODE), 0);
}

/* 16 MiB of one process, and 64 MiB of all. At a time, four are read. */
static void not_too_large(void)
{
	struct told_code told = told_of(CODE, 110, 120);
	unsigned int nr = 0;

	begin();
	for (unsigned int i = 0; i < 17; i++) {
		tell_large(told, TOLD_BYTES_MAX);
		told.start = CODE + (i + 1) * SIZE;
		told.end = told.start + SIZE;
	}
	take(200);
	/* The last one is at CODE + 16 * SIZE. */
	told = told_of(CODE, 110, 120);
	EXPECT_EQ(find(150), 1);
	for (unsigned int i = 17; i < 64; i++) {
		told.start = CODE + i * SIZE;
		told.end = told.start + SIZE;
		tell_large(told, TOLD_BYTES_MAX);
		take(200);
	}
	take(200);
	EXPECT_EQ(find(150), 1);
	told.start = CODE + 64 * SIZE;
	told.end = told.start + SIZE;
	tell_large(told, TOLD_BYTES_MAX);
	take(200);
	EXPECT_EQ(find(150), 0);
	begin();
	told = told_of(CODE, 110, 120);
	for (told.pid = 1; told.pid <= 257; told.pid++) {
		tell_large(told, TOLD_BYTES_MAX);
		take(200);
	}
	for (unsigned int pid = 1; pid <= 257; pid++)
		nr += find_at(pid, 150, CODE);
	EXPECT_EQ(nr, 256);
	EXPECT_EQ(find_at(1, 150, CODE), 0);
	/* A budget: 4 MiB at a time. */
	begin();
	told = told_of(CODE, 110, 120);
	for (told.pid = 1; told.pid <= 17; told.pid++)
		tell_large(told, TOLD_BYTES_MAX);
	take(200);
	EXPECT_EQ(find_at(16, 150, CODE), 1);
	EXPECT_EQ(find_at(17, 150, CODE), 0);
	take(200);
	EXPECT_EQ(find_at(17, 150, CODE), 1);
	/* What is no section takes no room. */
	told.pid = 1;
	for (unsigned int i = 0; i < 65; i++) {
		static const unsigned char nothing[TOLD_BYTES_MAX];

		told.size = sizeof(nothing);
		tell_bytes(&told, sizeof(told), nothing, sizeof(nothing));
		take(200);
	}
	EXPECT_EQ(find_at(1, 150, CODE), 1);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(while_it_was_there),
		TAP_TEST(address_is_used_again),
		TAP_TEST(changed_while_it_was_looked_at),
		TAP_TEST(told_before_changes_are_read),
		TAP_TEST(another_program),
		TAP_TEST(too_many_changes),
		TAP_TEST(forgotten),
		TAP_TEST(before_the_beginning),
		TAP_TEST(nothing_to_use),
		TAP_TEST(not_from_attach),
		TAP_TEST(no_sections),
		TAP_TEST(for_three_seconds),
		TAP_TEST(not_too_many),
		TAP_TEST(not_too_large),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	copy_code_free(code);
	return tap_done();
}
