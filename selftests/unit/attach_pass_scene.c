// SPDX-License-Identifier: GPL-2.0
#include "attach_pass_scene.h"

struct users *users;
struct user *user;
struct watch watch;
struct pass pass;

static void end(void)
{
	users_free(users);
	pass_free(&pass);
	watch_free(&watch);
}

void pass_scene_begin(void)
{
	end();
	world_begin();
	users = users_create(NULL);
	user = users_get(users, UID);
	watch = (struct watch) { .all = true };
	pass = (struct pass) { .users = users, .watch = &watch };
}

unsigned int pass_make(void)
{
	unsigned int steps = 0;

	do {
		if (pass_step(&pass))
			return 0;
		steps++;
	} while (pass.is_running && steps < 1000);
	return steps;
}

void pass_time(uint64_t end)
{
	while (world.now < end) {
		if (users_any_missed(users, world.now))
			pass.wants_missed = true;
		if (pass_is_due(&pass, world.now))
			pass_make();
		world.now += 500 * MS;
	}
}

long taken(struct user *from)
{
	struct queued_process process;
	long number = 0;

	while (user_take_process(from, &process))
		number = 10 * number + process.pid;
	return number;
}

int pass_scene_run(const struct tap_test *tests, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		pass_scene_begin();
		tap_run(&tests[i], 1);
	}
	end();
	return tap_done();
}
