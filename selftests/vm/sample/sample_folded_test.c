// SPDX-License-Identifier: GPL-2.0
/* Frames as places in files: processes at different addresses have equal stacks. */
#include <sys/wait.h>

#include "stack_map.h"

#define TARGET_DEPTH	20

/* In a program of its own: calls this deep cause faults. */
static __attribute__((noipa)) int run_target(char *page, int depth)
{
	int ret = 1;

	if (depth)
		ret = run_target(page, depth - 1);
	else
		*(volatile char *)page = 1;
	asm volatile("" : "+r"(ret));
	return ret;
}

static int be_target(void)
{
	char *pages = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(pages, 64 * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < 64; i++)
		run_target(pages + i * PAGE, TARGET_DEPTH);
	return 0;
}

/* Runs a process that executes this program. Returns its pid. */
static pid_t run_other(struct sampled *s)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	int go[2], status;
	pid_t child;
	char byte;

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	if (pipe(go))
		return -1;
	child = fork();
	if (!child) {
		if (read(go[0], &byte, 1) == 1)
			execl("/proc/self/exe", "target", NULL);
		_exit(1);
	}
	if (sample_at(s, &attr, child, -1, 0) < 0)
		return -1;
	if (write(go[1], "", 1) != 1 || waitpid(child, &status, 0) != child ||
	    status)
		return -1;
	close(go[0]);
	close(go[1]);
	return child;
}

/* A process and the ids of its stacks. */
struct folded {
	pid_t pid;
	unsigned int nr;
	__u32 id[64];
};

static bool has_id(const struct folded *of, __u32 id)
{
	for (unsigned int i = 0; i < of->nr; i++)
		if (of->id[i] == id)
			return true;
	return false;
}

/*
 * Run a process and note its deep stacks. Returns false on an error. There may be
 * few of them: stacks end early while a file has to be read.
 */
static bool run_folded(struct sampled *s, struct folded *of)
{
	const struct sframe_unwind_map_entry *entry;
	static struct taken t;
	int ret;

	of->nr = 0;
	of->pid = run_other(s);
	if (of->pid <= 0)
		return false;
	while ((ret = take(s, &t)) == 1) {
		if (!t.user_id || (pid_t)t.head.pid != of->pid)
			continue;
		entry = find_stack(s, t.user_id);
		if (!entry)
			return false;
		if (entry->nr > TARGET_DEPTH && of->nr < 64)
			of->id[of->nr++] = t.user_id;
	}
	return !ret;
}

#define FOLDED_LEAST	3
#define FOLDED_TRIES	30

/* Processes at different addresses have the same stacks. */
TEST(folded)
{
	struct folded of[2] = {};
	unsigned int same = 0;
	struct sampled s;

	ASSERT_EQ(NULL, start_files(&s, 64));
	ASSERT_EQ(0, start(&s));
	for (int i = 0; i < 2; i++) {
		for (int try = 0; try < FOLDED_TRIES &&
				  of[i].nr < FOLDED_LEAST; try++)
			ASSERT_TRUE(run_folded(&s, &of[i]));
		ASSERT_LE(FOLDED_LEAST, of[i].nr);
	}
	for (unsigned int i = 0; i < of[1].nr; i++)
		same += has_id(&of[0], of[1].id[i]);
	TH_LOG("%u and %u deep stacks, %u the same", of[0].nr, of[1].nr, same);
	EXPECT_LE(FOLDED_LEAST, same);
	end_sampled(&s);
}

/* As TEST_HARNESS_MAIN, unless it is executed as a target. */
int main(int argc, char **argv)
{
	if (!strcmp(argv[0], "target"))
		return be_target();
	return test_harness_run(argc, argv);
}
