// SPDX-License-Identifier: GPL-2.0
/* See attach_code_scene.h. */
#include "attach_code_scene.h"

struct users *users;
struct user *user, *other;
struct codes *codes;
struct reader_request request;
struct reader_reply reply;
struct reader_code_range ranges[CODE_MAX_RANGES];
uint64_t detached[MAX_DETACHED];
unsigned int nr_detached, nr_told;
const char *told;
bool text_done, text_coming;

static void detach(void *data, uint64_t id)
{
	(void)data;
	detached[nr_detached++ % MAX_DETACHED] = id;
}

static bool text_is_done(void *data, const struct reader_code_text *text,
			 bool *is_coming)
{
	(void)data;
	(void)text;
	*is_coming = text_coming;
	return text_done;
}

static void tell_limit(void *data, const char *what, pid_t pid)
{
	(void)data;
	(void)pid;
	told = what;
	nr_told++;
}

void scene_begin(bool has_events)
{
	static const struct code_fns fns = {
		.detach = detach,
		.text_is_done = text_is_done,
		.tell_limit = tell_limit,
	};

	codes_free(codes);
	users_free(users);
	world_begin();
	users = users_create(NULL);
	user = users_get(users, 1000);
	other = users_get(users, 2000);
	codes = codes_create(&fns, MAX_ATTACHED, true, has_events);
	nr_detached = 0;
	nr_told = 0;
	text_done = false;
	text_coming = false;
}

struct code_process *look(struct user *of)
{
	request = (struct reader_request) { 0 };
	return codes_begin_look(codes, of, world.now, &request);
}

void end_look(struct code_process *process, uint64_t id, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		ranges[i] = (struct reader_code_range) {
			.start = 0x1000 + 0x2000ULL * i,
			.end = 0x2000 + 0x2000ULL * i,
			.id = id + i,
			.weight = 1,
		};
	reply.code.is_runtime = true;
	reply.code.nr = nr;
	codes_end_look(codes, process, &reply, (void *)ranges,
		       nr * sizeof(ranges[0]));
	reply = (struct reader_reply) { 0 };
}

void pass_time(uint64_t ns)
{
	world.now += ns;
}

bool attach(struct user *of, pid_t pid, uint64_t id, unsigned int nr)
{
	struct code_process *process;

	codes_enter(codes, of, pid, false);
	pass_time(CODE_SETTLE_NS);
	process = look(of);
	if (!process || process->pid != pid)
		return false;
	end_look(process, id, nr);
	return true;
}

int scene_run(const struct tap_test *tests, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		scene_begin(true);
		tap_run(&tests[i], 1);
	}
	codes_free(codes);
	users_free(users);
	return tap_done();
}
