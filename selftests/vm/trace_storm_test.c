// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events as fast as four processes can cause them: there is one for each thing that
 * happened, no more and no less.
 *
 * STORM_SECONDS in the environment prolongs it.
 *
 * Racing: run with KCSAN.
 */
#include "common.h"
#include "process.h"
#include "sampled.h"
#include "section_storm.h"
#include "trace_events.h"

#define STORM_SECONDS	3

/* Of a stock and of a slow kernel, in a second, of all kinds. */
#define LEAST_EVENTS		5000
#define LEAST_EVENTS_SLOW	500

enum kind {
	REQUEST, STACK, LOST, SECTION_ADD, SECTION_REMOVE, SECTION_CORRUPT, NR_KINDS
};

static const char * const kinds[] = {
	"request", "stack", "lost", "section_add", "section_remove", "section_corrupt",
};

/* What a process has caused. */
struct caused {
	__u64 events[NR_KINDS];
};

struct process {
	struct fake *fake;
	struct section_storm sections;
	struct stack stack;
	int fd;
};

static bool take_stack(struct process *p)
{
	return read(p->fd, &p->stack, sizeof(p->stack)) > 0;
}

/* Requests whose stacks are read. */
static bool cause_stacks(struct process *p, struct caused *c)
{
	struct sframe_unwind_request req = request_self();

	if (request(p->fd, &req) || !take_stack(p))
		return false;
	c->events[REQUEST]++;
	c->events[STACK]++;
	return true;
}

/* Requests whose stacks have no room: nobody reads. */
static bool cause_losses(struct process *p, struct caused *c)
{
	struct sframe_unwind_request req = request_self();

	c->events[REQUEST]++;
	return !request(p->fd, &req);
}

static bool cause_sections(struct process *p, struct caused *c)
{
	c->events[SECTION_ADD] += STORM_BATCH;
	c->events[SECTION_REMOVE] += STORM_BATCH;
	return blow_sections(&p->sections, p->fd);
}

/* A section that is malformed when a walk uses it. */
static bool cause_corrupt(struct process *p, struct caused *c)
{
	struct sframe_unwind_request req = request_self();
	const unsigned char info = p->fake->section[FAKE_INFO];
	bool done;

	c->events[SECTION_ADD]++;
	c->events[SECTION_CORRUPT]++;
	c->events[SECTION_REMOVE]++;
	c->events[REQUEST]++;
	c->events[STACK]++;
	if (register_section(p->fd, &p->fake->reg))
		return false;
	p->fake->section[FAKE_INFO] = 0x40;
	done = !call_request_code(p->fake->text, p->fd, &req) &&
	       take_stack(p) &&
	       p->stack.head.stop == SFRAME_UNWIND_STOP_SECTION_REMOVED;
	p->fake->section[FAKE_INFO] = info;
	return done;
}

static bool (* const causes[])(struct process *, struct caused *) = {
	cause_stacks, cause_losses, cause_sections, cause_corrupt,
};
#define NR_PROCESSES	(sizeof(causes) / sizeof(causes[0]))

/* In a slow kernel, the ring may not be full yet when the time is up. */
static bool must_go_on(const struct process *p, unsigned int nr)
{
	struct sframe_unwind_stats s;

	return causes[nr] == cause_losses && !stats(p->fd, &s) && !s.lost_full;
}

/* Runs in a child. What its memory has in the end is removed by one event. */
static bool cause(unsigned int nr, struct fake *fake, __u64 ms, struct caused *c)
{
	struct process p = { .fake = fake, .fd = open_client(0) };
	const __u64 start = now_ns();
	struct sframe_unwind_stats s;

	if (p.fd < 0 || register_own(p.fd) ||
	    !make_section_storm(&p.sections, fake))
		return false;
	do {
		if (!causes[nr](&p, c))
			return false;
	} while (now_ns() - start < ms * 1000000 || must_go_on(&p, nr));
	if (stats(p.fd, &s) || s.pending)
		return false;
	c->events[LOST] += s.lost_full;
	if (causes[nr] == cause_losses)
		c->events[STACK] += s.delivered;
	c->events[SECTION_ADD] += s.sections;
	c->events[SECTION_REMOVE]++;
	return s.accepted == c->events[REQUEST] &&
	       s.accepted == s.delivered + s.lost_full;
}

FIXTURE(storm)
{
	struct traced traced[NR_KINDS];
	struct fake fake;
};

FIXTURE_SETUP(storm)
{
	/* QEMU can execute code that another CPU has just modified. */
	const bool offline = set_online(1, 0);
	char enable[64];

	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	if (offline)
		set_online(1, 1);
	for (unsigned int kind = 0; kind < NR_KINDS; kind++) {
		snprintf(enable, sizeof(enable), "events/sframe_unwind/%s/enable",
			 kinds[kind]);
		ASSERT_TRUE(start_traced(&self->traced[kind], enable, 64));
	}
}

FIXTURE_TEARDOWN(storm)
{
	for (unsigned int kind = 0; kind < NR_KINDS; kind++)
		end_traced(&self->traced[kind]);
	free_fake(&self->fake);
}

TEST_F_TIMEOUT(storm, sums, 300)
{
	const char *asked = getenv("STORM_SECONDS");
	const __u64 ms = (asked ? atoi(asked) : STORM_SECONDS) * 1000ULL;
	struct caused *caused = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const long spaces = module_counter("spaces");
	__u64 sum, events = 0;
	pid_t pids[NR_PROCESSES];
	unsigned int i, kind;

	ASSERT_NE(MAP_FAILED, caused);
	for (i = 0; i < NR_PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(!cause(i, &self->fake, ms, &caused[i]));
	}
	for (i = 0; i < NR_PROCESSES; i++)
		EXPECT_EQ(0, outcome_of(pids[i]));
	/* Their memory may be freed a little later. */
	while (module_counter("spaces") > spaces)
		sched_yield();
	for (kind = 0; kind < NR_KINDS; kind++) {
		write_traced(&self->traced[kind], "events/enable", "0");
		sum = 0;
		for (i = 0; i < NR_PROCESSES; i++)
			sum += caused[i].events[kind];
		EXPECT_LT(0, sum);
		EXPECT_EQ(sum, traced_events(&self->traced[kind]))
		{
			TH_LOG("%s", kinds[kind]);
		}
		events += sum;
	}
	printf("# %llu events/s for %llu s\n", events * 1000 / ms, ms / 1000);
	EXPECT_LE((is_slow_kernel() ? LEAST_EVENTS_SLOW : LEAST_EVENTS) * ms / 1000,
		  events);
	munmap(caused, PAGE);
}

TEST_HARNESS_MAIN
