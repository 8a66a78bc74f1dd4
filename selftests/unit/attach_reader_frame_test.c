// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", generated code: a reader looks at processes of runtimes whose code is
 * in shared memory, or runs in the frame of a function of theirs.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach_reader_scene.h"

/* The process is only of a runtime whose code is shared, if the function keeps its frame. */
static void in_a_frame(void)
{
	char *const at = places + 5 * page, *const shared = places + 7 * page;
	struct reader_code_range range;

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("frame", at));
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(frame_at, (uintptr_t)at);
	/* It has no code in shared memory, and that of others is not its. */
	EXPECT_EQ(nr_attached, 0);
	EXPECT(reply.code.is_quiet);
	EXPECT(mmap(shared, page, PROT_READ | PROT_EXEC,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == shared);
	look_again();
	EXPECT_EQ(nr_attached, 1);
	EXPECT_EQ(reply.code.nr, 1);
	memcpy(&range, entries, sizeof(range));
	EXPECT_EQ(range.start, (uintptr_t)shared);
	EXPECT_EQ(range.end, (uintptr_t)shared + page);
	EXPECT(!reply.code.is_quiet);
	look_again();
	EXPECT_EQ(nr_attached + nr_detached, 0);
	/* Wherever a time to read the mappings is over, it keeps that. */
	for (unsigned int line = 1, lines = nr_lines; line <= lines; line++) {
		slow_line = line;
		slow_ns = 2 * SECOND;
		nr_lines = 0;
		look_again();
		EXPECT(reply.code.is_runtime);
		EXPECT_EQ(reply.code.nr, 1);
		EXPECT_EQ(nr_attached + nr_detached, 0);
	}
	slow_line = 0;
	no_frame = true;
	look_again();
	EXPECT(!reply.code.is_runtime);
	EXPECT_EQ(reply.code.nr, 0);
	no_frame = false;
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
	mprotect(shared, page, PROT_NONE);
}

/* Memory files are no shared memory of a runtime: libraries make them, to write their code. */
static void in_a_frame_and_memory_files(void)
{
	char *const at = places + 5 * page, *const file = places + 7 * page;
	const int fd = memfd_create("code", MFD_CLOEXEC);

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("frame", at));
	EXPECT(fd >= 0 && !ftruncate(fd, page));
	EXPECT(mmap(file, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) == file);
	look();
	EXPECT(reply.code.is_runtime && reply.code.is_quiet);
	EXPECT_EQ(nr_attached, 0);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
	mprotect(file, page, PROT_NONE);
	close(fd);
}

/* What reads the runtime's file, such as for names, may map it: no function is there. */
static void in_a_frame_and_data(void)
{
	char *const at = places + 9 * page;

	mprotect(places + page, page, PROT_READ);
	for (int i = -1; i <= 1; i += 2) {
		char *const data = at + 2 * i * page;

		EXPECT(map_file_twice("frame", at, data));
		no_frame_at = (uintptr_t)data;
		look();
		EXPECT(reply.code.is_runtime);
		EXPECT_EQ(frame_at, (uintptr_t)at);
		reply = (struct reader_reply) { 0 };
		EXPECT(mmap(data, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			    -1, 0) == data);
	}
	no_frame_at = 0;
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
}

/* It is not quiet while the section of the runtime's file is to come, which is attached to. */
static void shared_with_text(void)
{
	char *const at = places + 5 * page;

	mprotect(places + page, page, PROT_READ);
	EXPECT(map_file("written", at));
	look();
	EXPECT(reply.code.is_runtime && reply.code.text.is_set);
	EXPECT_EQ(nr_attached, 0);
	EXPECT(!reply.code.is_quiet);
	request.code.text = reply.code.text;
	request.code.text.is_done = true;
	look_again();
	EXPECT_EQ(nr_attached, 1);
	EXPECT_EQ(reply.code.nr, 1);
	mprotect(places + page, page, PROT_READ | PROT_EXEC);
	munmap(at, page);
}

/*
 * Together with another runtime, whose code is in any memory, that is left out: it can be of
 * others, as in each process of the first one.
 */
static void in_a_frame_and_others(void)
{
	char *const at = places + 5 * page, *const more = places + 9 * page;

	EXPECT(map_file("frame", at));
	look();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(nr_attached, 0);
	/* Code of the other one's file is to come. */
	EXPECT(reply.code.text.is_set);
	EXPECT(!reply.code.is_quiet);
	/* Of two files both must keep theirs; these are one runtime. */
	EXPECT(map_file("frame2", more));
	nr_frames = 0;
	look_again();
	EXPECT(reply.code.is_runtime);
	EXPECT_EQ(nr_frames, 2);
	no_frame = true;
	look_again();
	EXPECT(!reply.code.is_runtime);
	no_frame = false;
	munmap(at, page);
	munmap(more, page);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(in_a_frame),
		TAP_TEST(in_a_frame_and_memory_files),
		TAP_TEST(in_a_frame_and_data),
		TAP_TEST(shared_with_text),
		TAP_TEST(in_a_frame_and_others),
	};

	return scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
