// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that "record" completes by their copies: those that are cut in generated code, whose
 * sections are told by the daemon.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "copies_scene.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/told.h"
#include "userspace/cli/profile/copy_code.h"
#include "userspace/worker/message.h"

static int teller;

/* As "a" was mapped, which is not there any more. */
static struct copies *begin_generated(void)
{
	struct sframe_unwind_profile_record map = map_of(7, 0, 0, LOAD);
	struct copies *copies;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	teller = sockets[1];
	copies = copies_create("test", copy_code_create(sockets[0]));
	for (unsigned int i = 0; i < 3; i++)
		state_of[i] = COPY_SECTION_HERE;
	state_of[0] = COPY_SECTION_NONE;
	time_ns += SECOND;
	copies_begin_round(copies, time_ns - 10);
	follow_at(copies, time_ns - 9);
	map.time = time_ns - 8;
	map.map.name = "//anon";
	copies_follow(copies, &map, NULL);
	copies_begin_round(copies, time_ns);
	return copies;
}

static void end_generated(struct copies *copies)
{
	close(teller);
	copies_free(copies);
}

/* The section of TEXT is told for the code at LOAD. */
static void tell(uint64_t from, uint64_t until)
{
	const struct told_code told = {
		.pid = 7, .start = LOAD, .end = LOAD + 256, .from = from, .until = until,
		.size = section_size,
	};
	const int fds[2] = { memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1 };

	if (write(fds[0], section_at_zero, section_size) != (ssize_t)section_size ||
	    fcntl(fds[0], F_ADD_SEALS, TOLD_SEALS) ||
	    message_send(teller, &told, sizeof(told), NULL, 0, fds))
		abort();
	close(fds[0]);
}

/* Its memory becomes executable again. */
static void generate_anew(struct copies *copies, uint64_t time)
{
	struct sframe_unwind_profile_record map = map_of(7, time, 0, LOAD);

	map.map.name = "//anon";
	copies_follow(copies, &map, NULL);
}

/* The section is told after the stack, and its code has been there since before it. */
static void generated_code(void)
{
	struct copies *copies = begin_generated();
	struct copied_stack *stack;

	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(stack);
	EXPECT(copies_are_left(copies));
	time_ns += 100 * MS;
	tell(time_ns - 5, time_ns - 2);
	/* Other code may have been there, which is not known yet. */
	copies_begin_round(copies, time_ns - 3);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(stack->is_complete);
	EXPECT_EQ(stack->walk.nr, 2);
	/* Later stacks, too: they may have been on their way. */
	EXPECT(completes(copies, time_ns));
	end_generated(copies);
}

/* Code that was freed, with other code in its place when it is looked at; and the reverse. */
static void generated_code_of_another_time(void)
{
	struct copies *copies = begin_generated();
	struct copied_stack *stack;
	uint64_t first = time_ns;

	time_of = first;
	stack = add_and_go(copies, 128);
	time_ns += 100 * MS;
	generate_anew(copies, time_ns - 6);
	tell(time_ns - 5, time_ns - 2);
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(!copies_next(copies));
	EXPECT(completes(copies, time_ns - 6));
	EXPECT(completes(copies, time_ns));
	generate_anew(copies, time_ns + 1);
	copies_begin_round(copies, time_ns + 1);
	time_ns += 3 * SECOND + 2;
	copies_work(copies, false);
	EXPECT(copies_next(copies) == stack);
	EXPECT(!stack->is_complete);
	copies_remove(copies, stack);
	time_of = time_ns;
	stack = add_and_go(copies, 128);
	EXPECT(stack && !copies_next(copies));
	time_of = 2;
	end_generated(copies);
}

/* What was lost may have been other code. */
static void changes_of_generated_code_are_lost(void)
{
	static const struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST, .lost = 1,
	};
	struct copies *copies = begin_generated();

	tell(time_ns - 5, time_ns - 2);
	copies_begin_round(copies, time_ns);
	EXPECT(completes(copies, time_ns));
	time_ns += 10;
	copies_follow(copies, &lost, NULL);
	copies_begin_round(copies, time_ns);
	/* The process is looked at: there still is generated code. */
	first_name = "//anon";
	EXPECT(!completes(copies, time_ns));
	time_of = time_ns;
	EXPECT(add_and_go(copies, 128));
	EXPECT(!copies_next(copies));
	tell(time_ns - 1, time_ns);
	copies_begin_round(copies, time_ns);
	copies_work(copies, false);
	EXPECT(copies_next(copies));
	EXPECT(copies_next(copies)->is_complete);
	time_of = 2;
	first_name = names[0];
	end_generated(copies);
}

/* Without a daemon that tells, such stacks are not kept. */
static void nobody_tells(void)
{
	struct copies *copies = begin();

	generate_anew(copies, 2);
	copies_begin_round(copies, UINT64_MAX);
	time_of = 3;
	EXPECT(!add(copies, 128));
	time_of = 2;
	copies_free(copies);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(generated_code),
		TAP_TEST(generated_code_of_another_time),
		TAP_TEST(changes_of_generated_code_are_lost),
		TAP_TEST(nobody_tells),
	};

	return copy_scene_run(tests, sizeof(tests) / sizeof(tests[0]));
}
