// SPDX-License-Identifier: GPL-2.0
/*
 * Walks by the module and by the kernel's own walkers, on the same stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../include/own_section.h"
#include "../include/wrappers.h"
#include "bench.h"

#define CHAINS		4
#define WARM_ROUNDS	6
#define ROUNDS		8
#define REPEAT		8

static const unsigned int depths[] = { 8, 32, 128 };

#define NR_DEPTHS	(sizeof(depths) / sizeof(depths[0]))

/*
 * Report the mean over all chains of the minimum cycles, and the cost of a
 * frame.
 */
static void report_walk(const char *name, unsigned int depth,
			const uint64_t *least, unsigned int chains)
{
	static double shallower;
	double sum = 0;
	unsigned int i;

	for (i = 0; i < chains; i++)
		sum += least[i];
	sum /= chains;
	report(sum, "%s.total.%u", name, depth);
	report(sum / depth, "%s.%u", name, depth);
	if (depth == 128)
		report((sum - shallower) / 96, "%s.slope", name);
	shallower = sum;
}

static void forget_least(uint64_t *least)
{
	unsigned int i;

	for (i = 0; i < MAX_CHAINS; i++)
		least[i] = ~0ULL;
}

static void note_least(uint64_t *least, uint64_t cycles)
{
	if (cycles < *least)
		*least = cycles;
}

/* A walk must find the actual calls. */
static void check_same(const char *name, const uint64_t *want,
		       const uint64_t *got, unsigned int depth)
{
	unsigned int i;

	for (i = 0; i < depth; i++) {
		if (got[i] != want[i])
			die("%s: frame %u is at 0x%lx, not at 0x%lx", name, i,
			    got[i], want[i]);
	}
}

/*
 * Walk all chains in turn repeatedly, so that caches are not warm for a single
 * one only. With @want the addresses are compared.
 */
static void walk_in_turn(struct world *world, int fd, const char *name,
			 enum sfu_bench_what what, uint64_t want[][MAX_DEPTH])
{
	uint64_t least[MAX_CHAINS], got[MAX_DEPTH], cycles;
	unsigned int d, i, round;

	for (d = 0; d < NR_DEPTHS; d++) {
		forget_least(least);
		for (round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
			for (i = 0; i < CHAINS; i++) {
				cycles = walk(world->chain[i], fd, what,
					      depths[d], REPEAT, got);
				if (!cycles)
					return;
				check_same(name, want[i], got, depths[d]);
				if (round >= WARM_ROUNDS)
					note_least(&least[i], cycles);
			}
		}
		report_walk(name, depths[d], least, CHAINS);
	}
}

/* Find the true stacks of the chains. */
static void find_truth(struct world *world, int fd,
		       uint64_t want[][MAX_DEPTH])
{
	uint64_t fp[MAX_DEPTH];
	unsigned int i;

	for (i = 0; i < CHAINS; i++) {
		walk(world->chain[i], fd, SFU_BENCH_WALK, MAX_DEPTH, 1,
		     want[i]);
		/* Two walkers with nothing in common but the stack must agree. */
		walk(world->chain[i], fd, SFU_BENCH_WALK_PERF, MAX_DEPTH, 1,
		     fp);
		check_same("by frame pointer", want[i], fp, MAX_DEPTH);
	}
}

/* With cold caches: all sections are registered anew before each walk. */
static void walk_cold(struct world *world, int fd, const char *name)
{
	uint64_t least[MAX_CHAINS];
	unsigned int d, i, round;

	for (d = 0; d < NR_DEPTHS; d++) {
		forget_least(least);
		for (i = 0; i < CHAINS; i++) {
			for (round = 0; round < ROUNDS; round++) {
				world_unregister(fd, world);
				world_register(fd, world);
				note_least(&least[i],
					   walk(world->chain[i], fd,
						SFU_BENCH_WALK, depths[d], 1,
						NULL));
			}
		}
		report_walk(name, depths[d], least, CHAINS);
	}
}

/* From the request of a stack until the record is there and the call returns. */
static void measure_requests(struct world *world)
{
	/* Not the device for tests, which passes ioctls on. */
	const int fd = open_client(0);
	static char record[65536];
	struct sframe_unwind_query query;
	uint64_t least[MAX_CHAINS], base = ~0ULL;
	unsigned int i, round;
	double sum = 0;

	forget_least(least);
	for (round = 0; round < WARM_ROUNDS + 4 * ROUNDS; round++) {
		for (i = 0; i < CHAINS; i++) {
			struct sframe_unwind_request req = {
				.size = sizeof(req),
				.max_depth = 32,
			};

			note_least(&least[i],
				   chain_ioctl(world->chain[i], fd,
					       SFRAME_UNWIND_IOC_REQUEST,
					       &req));
			if (read(fd, record, sizeof(record)) != 48 + 32 * 9)
				die("not a record of 32 frames");
		}
		query.size = sizeof(query);
		note_least(&base, plain_ioctl(fd, SFRAME_UNWIND_IOC_QUERY,
					      &query));
	}
	for (i = 0; i < CHAINS; i++)
		sum += least[i];
	report(sum / CHAINS, "request.32");
	report(base, "query");
}

/* A stack of the calling thread, in the caller's arrays when the call returns. */
static void measure_own_stacks(struct world *world)
{
	const int fd = open_client(0);
	uint64_t ips[32], least[MAX_CHAINS];
	unsigned int i, round;
	uint8_t how[32];
	double sum = 0;

	forget_least(least);
	for (round = 0; round < WARM_ROUNDS + 4 * ROUNDS; round++) {
		for (i = 0; i < CHAINS; i++) {
			struct sframe_unwind_own_stack arg = {
				.size = sizeof(arg),
				.ips = (uintptr_t)ips,
				.how = (uintptr_t)how,
				.max_depth = 32,
			};

			note_least(&least[i],
				   chain_ioctl(world->chain[i], fd,
					       SFRAME_UNWIND_IOC_STACK, &arg));
			if (arg.nr_frames != 32)
				die("not 32 frames");
		}
	}
	for (i = 0; i < CHAINS; i++)
		sum += least[i];
	report(sum / CHAINS, "stack.32");
	close(fd);
}

static void measure_steady(int fd)
{
	static const struct world_spec spec = {
		.functions = 1200,
		.chains = CHAINS,
		.rows_before = 2,
	};
	static uint64_t want[CHAINS][MAX_DEPTH];
	struct world world;

	world_create(&world, &spec, (uintptr_t)timed_ioctl);
	world_register(fd, &world);
	find_truth(&world, fd, want);
	walk_in_turn(&world, fd, "sframe", SFU_BENCH_WALK, want);
	measure_requests(&world);
	measure_own_stacks(&world);
	walk_in_turn(&world, fd, "unwind_user", SFU_BENCH_WALK_UNWIND_USER,
		     want);
	walk_in_turn(&world, fd, "perf", SFU_BENCH_WALK_PERF, want);
	walk_cold(&world, fd, "cold");
	world_unregister(fd, &world);
	walk_in_turn(&world, fd, "fallback", SFU_BENCH_WALK_FALLBACK, want);
}

/* Walks with other rows, which have to be read correctly to find the callers. */
static void measure_other_rows(int fd, const char *name, enum rows rows)
{
	const struct world_spec spec = {
		.functions = 1200,
		.chains = CHAINS,
		.rows = rows,
		.rows_before = 2,
	};
	static uint64_t want[CHAINS][MAX_DEPTH];
	struct world world;
	unsigned int i;

	world_create(&world, &spec, (uintptr_t)timed_ioctl);
	world_register(fd, &world);
	for (i = 0; i < CHAINS; i++)
		walk(world.chain[i], fd, SFU_BENCH_WALK, MAX_DEPTH, 1, want[i]);
	walk_in_turn(&world, fd, name, SFU_BENCH_WALK, want);
	world_unregister(fd, &world);
}

/* Number of rules looked up in the sections so far, without cached ones. */
static uint64_t sum_of_hits(int fd)
{
	static struct sframe_unwind_section section[64];
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)section,
		.nr = 64,
	};
	uint64_t sum = 0;
	unsigned int i;

	if (ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list))
		die("list: %s", strerror(errno));
	for (i = 0; i < list.nr; i++)
		sum += section[i].hits;
	return sum;
}

/* 32 chains of 125 calls, in rotation: one walk of each, then the next one. */
#define ROTATION_DEPTH	126

static void measure_rotation(int fd)
{
	static const struct world_spec spec = {
		.functions = 1200,
		.chains = MAX_CHAINS,
		.rows_before = 2,
	};
	uint64_t least[MAX_CHAINS], first[ROTATION_DEPTH], cycles, hits;
	struct world world;
	unsigned int i, round;
	double sum = 0;

	world_create(&world, &spec, (uintptr_t)timed_ioctl);
	world_register(fd, &world);
	forget_least(least);
	for (round = 0; round < WARM_ROUNDS; round++) {
		for (i = 0; i < MAX_CHAINS; i++)
			walk(world.chain[i], fd, SFU_BENCH_WALK, ROTATION_DEPTH,
			     1, first);
	}
	hits = sum_of_hits(fd);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < MAX_CHAINS; i++) {
			cycles = walk(world.chain[i], fd, SFU_BENCH_WALK,
				      ROTATION_DEPTH, 1, NULL);
			note_least(&least[i], cycles);
		}
	}
	hits = sum_of_hits(fd) - hits;
	report(100 - 100.0 * hits / (ROUNDS * MAX_CHAINS * ROTATION_DEPTH),
	       "rotation.cached");
	for (i = 0; i < MAX_CHAINS; i++)
		sum += least[i];
	report(sum / MAX_CHAINS / ROTATION_DEPTH, "rotation");

	/* As many frames, but of only four such chains. */
	forget_least(least);
	world_unregister(fd, &world);
	world_register(fd, &world);
	for (round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
		for (i = 0; i < CHAINS; i++) {
			cycles = walk(world.chain[i], fd, SFU_BENCH_WALK,
				      ROTATION_DEPTH, 1, NULL);
			if (round >= WARM_ROUNDS)
				note_least(&least[i], cycles);
		}
	}
	for (i = 0, sum = 0; i < CHAINS; i++)
		sum += least[i];
	report(sum / CHAINS / ROTATION_DEPTH, "rotation.steady");
	world_unregister(fd, &world);
}

/*
 * Look up the addresses of one chain separately. Returns the mean of the
 * minimum cycles.
 */
static double mean_lookup(int fd, enum sfu_bench_what what, const uint64_t *ips)
{
	double sum = 0;
	unsigned int i;

	for (i = 1; i < 32; i++)
		sum += look_up(fd, what, ips[i] - 1, REPEAT);
	return sum / 31;
}

/*
 * In a table as large as libc's, compared with an unwinder that reads every
 * value anew and separately.
 */
static void measure_cold(int fd, const char *name, unsigned int rows_before)
{
	const struct world_spec spec = {
		.functions = 4027,
		.chains = CHAINS,
		.rows_before = rows_before,
	};
	static uint64_t want[CHAINS][MAX_DEPTH];
	struct sframe_unwind_register sections[NR_OBJECTS + 1];
	double cold = 0, plain = 0;
	struct world world;
	char full[64];
	unsigned int i;

	world_create(&world, &spec, (uintptr_t)timed_ioctl);
	world_register(fd, &world);
	for (i = 0; i < NR_OBJECTS; i++)
		sections[i] = world.object[i].reg;
	sections[NR_OBJECTS] = own_section();
	set_plain(sections, NR_OBJECTS + 1);
	find_truth(&world, fd, want);
	for (i = 0; i < CHAINS; i++) {
		cold += mean_lookup(fd, SFU_BENCH_LOOKUP, want[i]);
		plain += mean_lookup(fd, SFU_BENCH_LOOKUP_PLAIN, want[i]);
	}
	report(cold / CHAINS, "%s.lookup", name);
	report(plain / CHAINS, "%s.plain.lookup", name);
	snprintf(full, sizeof(full), "%s.plain", name);
	walk_in_turn(&world, fd, full, SFU_BENCH_WALK_PLAIN, want);
	walk_cold(&world, fd, name);
	world_unregister(fd, &world);
}

void measure_walks(int fd)
{
	say("walks");
	measure_steady(fd);
	measure_other_rows(fd, "sframe_fp", ROWS_FP);
	measure_other_rows(fd, "sframe_no_fp", ROWS_NO_FP);
	measure_rotation(fd);
}

void measure_lookups(int fd)
{
	say("lookups in tables as large as libc's");
	measure_cold(fd, "libc6", 4);
	measure_cold(fd, "libc26", 26);
}
