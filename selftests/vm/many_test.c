// SPDX-License-Identifier: GPL-2.0
/*
 * The maximum number of registrations in one address space, all of one section:
 * the limit, and that their removal blocks nobody. They are made once, before
 * the tests, which are forked and share them.
 */
#include <sched.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "common.h"
#include "marker.h"

#define BATCH		4096U

/* The longest acceptable time, and the attempts allowed if other load disturbs. */
#define SHORT_NS	100000000ULL
#define TRIES		20

static int fd;
static struct fake fake;
static unsigned char *text;	/* one byte for each registration */
static unsigned int nr, most;
static __u64 last_id;

/* Register bytes of the text up to @upto. Returns whether all succeeded. */
static bool fill(unsigned int upto)
{
	static struct sframe_unwind_batch_entry entries[BATCH];
	struct sframe_unwind_batch batch = {
		.size = sizeof(batch),
		.entries = (uintptr_t)entries,
	};
	unsigned int i;

	while (nr < upto) {
		batch.nr = upto - nr < BATCH ? upto - nr : BATCH;
		for (i = 0; i < batch.nr; i++)
			entries[i] = (struct sframe_unwind_batch_entry) {
				.sframe_start = fake.reg.sframe_start,
				.sframe_size = fake.reg.sframe_size,
				.text_start = (uintptr_t)text + nr + i,
				.text_size = 1,
			};
		if (ioctl(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, &batch) ||
		    batch.nr_failed)
			return false;
		nr += batch.nr;
		last_id = entries[batch.nr - 1].id;
	}
	return true;
}

static bool prepare(void)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	fd = open_client(0);
	if (fd < 0 || query(fd, &q) || !make_fake(&fake))
		return false;
	most = q.max_sections;
	text = mmap(NULL, most, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return text != MAP_FAILED && fill(is_slow_kernel() ? 65536 : most);
}

TEST(limit)
{
	char message[128] = "";

	if (nr < most)
		SKIP(return, "a slow kernel");
	ASSERT_EQ(1048576, nr);
	fake.reg.message = (uintptr_t)message;
	fake.reg.message_size = sizeof(message);
	EXPECT_EQ(-1, register_section(fd, &fake.reg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(NULL, strstr(message, "sections already"));
	ASSERT_EQ(0, unregister_id(fd, last_id));
	EXPECT_EQ(0, register_section(fd, &fake.reg));
	fake.reg.text_start += PAGE / 2;
	EXPECT_EQ(-1, register_section(fd, &fake.reg));
}

static void pin_to_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Fork a process that removes all of them by one call on the first CPU, and
 * wait until it has begun. Returns its pid, or -1.
 */
static pid_t unregister_all(void)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = fake.reg.sframe_start,
	};
	int begun[2];
	pid_t child;
	char c;

	if (pipe(begun))
		return -1;
	child = fork();
	if (!child) {
		pin_to_first_cpu();
		write(begun[1], "", 1);
		_exit(unregister_section(fd, &unreg) || unreg.removed != nr);
	}
	if (child > 0 && read(begun[0], &c, 1) != 1)
		child = -1;
	close(begun[0]);
	close(begun[1]);
	return child;
}

/* The longest time that this process did not run during the next @ns. */
static __u64 longest_gap(__u64 ns)
{
	const __u64 start = now_ns();
	__u64 last = start, now = start, longest = 0;

	while (now - start < ns) {
		now = now_ns();
		if (now - last > longest)
			longest = now - last;
		last = now;
	}
	return longest;
}

TEST(unregistering_gives_way_to_others)
{
	__u64 gap = ~0ULL;
	unsigned int try;
	pid_t child;

	pin_to_first_cpu();
	for (try = 0; try < TRIES && gap > SHORT_NS; try++) {
		child = unregister_all();
		ASSERT_LT(0, child);
		gap = longest_gap(5 * SHORT_NS);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, NULL, 0));
	}
	EXPECT_GT(SHORT_NS, gap);
}

TEST(unregistering_can_be_killed)
{
	/* Exit takes ten times as long in a slow kernel. */
	const __u64 most = is_slow_kernel() ? 10 * SHORT_NS : SHORT_NS;
	__u64 start, took = ~0ULL;
	unsigned int try;
	int status = 0;
	pid_t child;

	for (try = 0; try < TRIES && took > most; try++) {
		child = unregister_all();
		ASSERT_LT(0, child);
		longest_gap(SHORT_NS);
		start = now_ns();
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		took = now_ns() - start;
		/* The child must not have finished before. */
		EXPECT_TRUE(is_slow_kernel() || WIFSIGNALED(status));
	}
	EXPECT_GT(most, took);
}

/* The slow part is done by a worker, without locks. */
TEST(all_at_once)
{
	__u64 start, filled, unmapped, least = ~0ULL;
	unsigned int try;

	ASSERT_TRUE(unmap_marker());
	for (try = 0; try < TRIES && least >= 5; try++) {
		nr = 0;
		start = now_ns();
		ASSERT_TRUE(fill(50000));
		filled = now_ns();
		ASSERT_TRUE(unmap_marker());
		unmapped = now_ns();
		if ((unmapped - filled) * 100 / (filled - start) < least)
			least = (unmapped - filled) * 100 / (filled - start);
	}
	/* Percent of the time that registering took. */
	EXPECT_GT(5, least);
}

int main(int argc, char **argv)
{
	if (!prepare()) {
		ksft_print_msg("%u of %u could be registered: %s\n", nr, most,
			       strerror(errno));
		return KSFT_FAIL;
	}
	return test_harness_run(argc, argv);
}
