// SPDX-License-Identifier: GPL-2.0
/*
 * A program that loads a library when it runs, as one with plug-ins does, and takes
 * stacks through it until one is whole: a thread that the C++ library has started.
 *
 * usage: latency_program run LIBRARY START   LIBRARY is a libstdc++.so.6, START a time
 *        latency_program work LIBRARY MS     MS: milliseconds
 *        latency_program copy FROM TO NUMBER copy a file, with a build ID of its own
 *        latency_program time                print the time in nanoseconds
 *
 * "run" prints one line: milliseconds from START to the first stack, from there to the
 * first whole stack, how many stacks were not whole, and how many of these ended where no
 * rule is known. "work" takes none: the thread, named "working", computes for that long.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "../include/wrappers.h"

/* Pause between stacks: a profiler takes some hundred each second. */
#define PAUSE_US	2000

/* Give up after this time. */
#define LATE_NS		60000000000ULL

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* --- the thread */

static struct {
	uint64_t start;
	uint64_t first;
	uint64_t whole;
	unsigned int not_whole;
	unsigned int no_rule;
} seen;

static union {
	struct sframe_unwind_stack stack;
	__u64 words[8192];
} record;

static void take_stacks(int client)
{
	for (;;) {
		struct sframe_unwind_request req = request_self();

		if (request(client, &req) ||
		    read(client, &record, sizeof(record)) <
			    (ssize_t)sizeof(record.stack))
			exit(1);
		if (!seen.first)
			seen.first = now();
		if (record.stack.stop == SFRAME_UNWIND_STOP_COMPLETE)
			break;
		seen.not_whole++;
		seen.no_rule += record.stack.stop ==
				SFRAME_UNWIND_STOP_NO_RULE;
		if (now() - seen.first > LATE_NS)
			break;
		usleep(PAUSE_US);
	}
	seen.whole = now();
}

static void work(uint64_t ns)
{
	const uint64_t until = now() + ns;

	prctl(PR_SET_NAME, "working");
	while (now() < until)
		;
	_exit(0);
}

/* A std::thread::_State as the C++ library sees it: destructors and _M_run(). */
struct state {
	void *const *functions;
	int client;
	uint64_t work_ns;
};

static void end(struct state *state)
{
	(void)state;
}

static void run(struct state *state)
{
	if (state->work_ns)
		work(state->work_ns);
	take_stacks(state->client);
	printf("%.1f %.1f %u %u\n", (seen.first - seen.start) / 1e6,
	       (seen.whole - seen.first) / 1e6, seen.not_whole, seen.no_rule);
	fflush(stdout);
	_exit(0);
}

/* std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)()) */
#define START_THREAD "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"

static int load_and_run(const char *library, uint64_t work_ns)
{
	static void *const functions[] = { end, end, run };
	struct state state = { .functions = functions, .work_ns = work_ns };
	struct state *pointer = &state;
	void (*start)(pthread_t *thread, struct state **state,
		      void (*depend)(void));
	pthread_t thread = 0;
	void *object;

	state.client = open_client(0);
	object = dlopen(library, RTLD_NOW);
	start = object ? dlsym(object, START_THREAD) : NULL;
	if (state.client < 0 || !start) {
		fprintf(stderr, "latency_program: %s\n",
			object ? "no device or no thread" : dlerror());
		return 1;
	}
	start(&thread, &pointer, NULL);
	pause();
	return 1;
}

/* --- copies */

/* Returns the build ID of 20 bytes in the file's note, or NULL. */
static unsigned char *find_build_id(unsigned char *bytes, size_t size)
{
	static const unsigned char note[] = {
		4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,
	};
	unsigned char *found = memmem(bytes, size, note, sizeof(note));

	return found && found + sizeof(note) + 20 <= bytes + size ?
		       found + sizeof(note) : NULL;
}

static int copy(const char *from, const char *to, const char *number)
{
	const uint64_t value = strtoull(number, NULL, 10);
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	unsigned char *bytes, *build_id;
	struct stat stat;

	if (!in || !out || fstat(fileno(in), &stat))
		return 1;
	bytes = malloc(stat.st_size);
	if (!bytes || fread(bytes, stat.st_size, 1, in) != 1)
		return 1;
	build_id = find_build_id(bytes, stat.st_size);
	if (!build_id)
		return 1;
	memcpy(build_id, &value, sizeof(value));
	return fwrite(bytes, stat.st_size, 1, out) != 1 || fclose(out);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "time")) {
		printf("%llu\n", (unsigned long long)now());
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "copy"))
		return copy(argv[2], argv[3], argv[4]);
	if (argc == 4 && !strcmp(argv[1], "work"))
		return load_and_run(argv[2], strtoull(argv[3], NULL, 10) * 1000000);
	if (argc != 4 || strcmp(argv[1], "run"))
		return 2;
	seen.start = strtoull(argv[3], NULL, 10);
	return load_and_run(argv[2], 0);
}
