// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of samples: a client that takes them, its rings, stack map and files,
 * events, and samples in thread and interrupt context.
 */
#include "../include/stack_map.h"
#include "scenario.h"

#define RING_PAGES	4
#define MAP_PAGES	4
#define MAX_FILES	100
#define COPY_SIZE	512

/* The rings of the client at world->other. */
static struct sampled sampled;

static bool with_files;

static struct sframe_unwind_sampler make_sampler(void)
{
	struct sframe_unwind_sampler sampler =
		sampler_with_map(RING_PAGES, MAP_PAGES);

	/* The stacks end in libc, which has no section. */
	sampler.copy_size = COPY_SIZE;
	/* User stacks are at once without build IDs only. */
	if (with_files) {
		sampler.flags |= SFRAME_UNWIND_SAMPLER_BUILD_IDS;
		sampler.max_files = MAX_FILES;
	}
	return sampler;
}

int run_sampler(struct world *world)
{
	struct sframe_unwind_sampler sampler;
	int err;

	with_files = true;
	sampler = make_sampler();
	world->other = open_client(0);
	err = result(world->other) ?:
	      result(ioctl(world->other, SFRAME_UNWIND_IOC_SAMPLER, &sampler));
	if (err)
		close(world->other);
	return err;
}

void undo_sampler(struct world *world)
{
	close(world->other);
}

bool setup_sampler(struct world *world)
{
	sampled.fd = -1;
	return !run_sampler(world);
}

/* Map what is at @offset, and leave it mapped. */
static int map_at(struct world *world, size_t size, int prot, __u64 offset)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, world->other, offset);

	return at == MAP_FAILED ? errno : 0;
}

int run_ring(struct world *world)
{
	return map_at(world, PAGE, PROT_READ | PROT_WRITE,
		      SFRAME_UNWIND_RING_CONTROL(0)) ?:
	       map_at(world, 2 * RING_PAGES * PAGE, PROT_READ,
		      SFRAME_UNWIND_RING_RECORDS(0));
}

int run_stack_map(struct world *world)
{
	return map_at(world, (1 + 2 * MAP_PAGES) * PAGE, PROT_READ,
		      SFRAME_UNWIND_STACK_MAP) ?:
	       map_at(world, PAGE, PROT_READ, SFRAME_UNWIND_FILES) ?:
	       map_at(world, (1 + 2 * MAP_PAGES) * PAGE, PROT_READ,
		      SFRAME_UNWIND_STACK_MAP);
}

/* Sample at page faults of this thread. */
static int add_event(int fd)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sampled s = { .fd = fd };
	int perf_fd = perf_open(&attr, 0, -1), err;

	if (perf_fd < 0)
		return EPROTO;
	err = sample_fd(&s, perf_fd, 0, 0) < 0 ? errno : 0;
	close(perf_fd);
	return err;
}

int run_event(struct world *world)
{
	return add_event(world->other);
}

/* Build IDs that are not cached, at each call. */
bool setup_event_in_files(struct world *world)
{
	with_files = true;
	return setup_event(world);
}

bool setup_event(struct world *world)
{
	struct sframe_unwind_sampler sampler = make_sampler();

	return !start_sampled(&sampled, &sampler) && !add_event(sampled.fd) &&
	       !start(&sampled);
}

static void fault_once(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	*(volatile char *)page = 1;
	munmap(page, PAGE);
}

/*
 * Take samples. Returns the number of those that have a user stack, at once or later; or
 * -1.
 */
static int take_some(void)
{
	static struct taken t;
	int ret, nr = 0;

	/* The first one, of code that is in no cache; and then others. */
	for (int i = 0; i < 3; i++)
		fault_once();
	while ((ret = take(&sampled, &t)) == 1)
		nr += t.nr_user || t.user_id;
	return ret ? -1 : nr;
}

/* Less if no sample gets a user stack. */
int run_sample(struct world *world)
{
	struct sframe_unwind_sample_stats stats;
	int ret, nr = take_some();

	/* Where a walk takes long, the next ones are refused for as long. */
	for (int i = 0; i < 10 && !nr; i++) {
		usleep(100000);
		nr = take_some();
	}
	if (nr < 0)
		return EPROTO;
	ret = result(sample_stats(&sampled, &stats));
	if (ret)
		return ret;
	if (stats.stacks_asked != stats.stacks + stats.stacks_pending +
				  stats.stacks_lost)
		return EPROTO;
	return nr ? 0 : LESS;
}

int run_clear(struct world *world)
{
	fault_once();
	return result(clear_stack_map(&sampled));
}

int run_sample_calls(struct world *world)
{
	struct sframe_unwind_sample_stats stats;

	return result(stop(&sampled)) ?:
	       result(sample_stats(&sampled, &stats)) ?: result(start(&sampled));
}
