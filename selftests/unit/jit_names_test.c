// SPDX-License-Identifier: GPL-2.0
/*
 * Names of what a running process announces, as "stack", "top" and "trace" find them; and of
 * what "record" has kept of it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_stub.h"
#include "jit_announced_made.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit.h"
#include "userspace/cli/profile/processes.h"

static struct readers readers;
static struct jit_memory memory;
static struct announcer process;
static struct jit *jit;

static void start(void)
{
	said[0] = '\0';
	inspect_begin(NULL, 0);
	announcer_start(&process);
}

static void stop(void)
{
	announcer_end(&process);
	jit_close(&memory, jit);
	jit = NULL;
	EXPECT_EQ(memory.own, 0);
}

static void read_with(const struct jit_file *known, bool is_live)
{
	struct jit *old = jit;

	jit = jit_open(&readers, &memory, process.pid, known, is_live, old);
	jit_close(&memory, old);
}

static const char *name_at(char letter, uint64_t time)
{
	uint64_t start = 0;
	const char *name = jit_find(jit, announced_at(letter) + 4, time, &start);

	return name && start == announced_at(letter) ? name : "none";
}

#define EXPECT_NAME(letter, time, name)	\
	EXPECT(!strcmp(name_at(letter, time), name))

static void names(void)
{
	start();
	announcer_tell(&process, "aB");
	read_with(NULL, true);
	EXPECT_EQ(jit_functions(jit), 2);
	EXPECT(!jit_why(jit, JIT_OBJECTS));
	EXPECT(jit_has_times(jit));
	EXPECT_NAME('a', now_ns(), "a");
	EXPECT_NAME('B', 1, "B");
	EXPECT_NAME('C', 1, "none");
	stop();
}

/* Without a change, nothing is read again; then what is new is. */
static void read_again(void)
{
	uint64_t first, second;

	start();
	announcer_tell(&process, "a");
	read_with(NULL, true);
	first = now_ns();
	read_with(NULL, true);
	EXPECT(jit_is_unchanged(jit));
	EXPECT_EQ(jit_functions(jit), 1);
	second = now_ns();
	announcer_tell(&process, "-bC");
	read_with(NULL, true);
	EXPECT(!jit_is_unchanged(jit));
	EXPECT_EQ(jit_functions(jit), 3);
	EXPECT_NAME('a', first, "a");
	EXPECT_NAME('b', second, "none");
	EXPECT_NAME('b', now_ns(), "b");
	EXPECT_NAME('C', now_ns(), "C");
	EXPECT(jit_version(jit, first) != jit_version(jit, now_ns()));
	stop();
}

/* What a process has announced is counted also if there is no room for its names. */
static void counted(void)
{
	const uint64_t all = 512ULL << 20;
	uint64_t before;

	start();
	announcer_tell(&process, "a");
	read_with(NULL, true);
	before = memory.own;
	EXPECT(before > sizeof(struct made_object));
	memory.own += all;
	announcer_tell(&process, "BC");
	read_with(NULL, true);
	EXPECT_EQ(jit_functions(jit), 0);
	EXPECT(strstr(jit_why(jit, JIT_OBJECTS), "names take too much memory"));
	EXPECT(memory.own > all + sizeof(struct made_object));
	EXPECT(memory.own < all + before);
	memory.own -= all;
	stop();
}

/* A profile from elsewhere says nothing of a process that has this number here. */
static void not_live(void)
{
	start();
	announcer_tell(&process, "a");
	read_with(NULL, false);
	EXPECT_EQ(jit_functions(jit), 0);
	stop();
}

/* A copy that was kept counts; the process is not asked. */
static void kept(void)
{
	struct jit_file known = { .kept = "1-2", .kept_user = geteuid() };
	static struct made_objects file;
	char path[256];
	FILE *to;

	start();
	announcer_tell(&process, "a");
	made_objects_begin(&file, 100);
	made_objects_add(&file, announced_at('a'), 0x10, "kept");
	made_objects_put(&file, "no ELF file", 11);
	snprintf(path, sizeof(path), "/tmp/jit_names_test.%d", getpid());
	setenv("HOME", path, 1);
	EXPECT(!mkdir(path, 0700));
	for (const char *part = "/.debug\0/sframe-unwind-jit\0/1-2\0"; *part;
	     part += strlen(part) + 1) {
		strcat(path, part);
		EXPECT(!mkdir(path, 0700));
	}
	strcat(path, "/objects");
	to = fopen(path, "w");
	EXPECT(to);
	EXPECT_EQ(fwrite(file.bytes, 1, file.size, to), file.size);
	EXPECT(!fclose(to));
	read_with(&known, false);
	EXPECT_NAME('a', 1, "kept");
	EXPECT(strstr(jit_why(jit, JIT_OBJECTS), "/objects has an object that is no ELF file, at offset"));
	remove_tree(getenv("HOME"));
	stop();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(names),
		TAP_TEST(read_again),
		TAP_TEST(counted),
		TAP_TEST(not_live),
		TAP_TEST(kept),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	readers_free(&readers);
	jit_memory_free(&memory);
	return tap_done();
}
