// SPDX-License-Identifier: GPL-2.0
/*
 * Many: what registrations cost, one at a time and in batches, in instructions
 * and memory, and what becomes slower if there are many of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../include/marker.h"
#include "../include/wrappers.h"
#include "bench.h"

#define MOST		1000000
#define BATCH		1000
#define BATCHES		16
#define FORKS		600
#define LOOKUPS		64
#define ROUNDS		12

static struct sframe_unwind_batch_entry *entries;

static bool has_batches(int fd)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	if (ioctl(fd, SFRAME_UNWIND_IOC_QUERY, &query))
		die("query: %s", strerror(errno));
	return query.features & SFRAME_UNWIND_FEATURE_BATCH;
}

/* Run @cmd for @nr entries from @first on. Returns the cycles. */
static uint64_t batch(int fd, long cmd, struct sframe_unwind_batch_entry *first,
		      unsigned int nr)
{
	struct sframe_unwind_batch call = {
		.size = sizeof(call),
		.entries = (uintptr_t)first,
		.nr = nr,
	};
	uint64_t cycles;

	/* Find the registration by id alone. */
	if (cmd == SFRAME_UNWIND_IOC_UNREGISTER_BATCH) {
		for (unsigned int i = 0; i < nr; i++)
			first[i].sframe_start = 0;
	}
	cycles = plain_ioctl(fd, cmd, &call);
	if (call.nr != nr || call.nr_failed)
		die("batch 0x%lx: %u of %u failed, the first with %s", cmd,
		    call.nr_failed, call.nr, strerror(first->error));
	return cycles;
}

/* Register without a batch, for comparison. */
static uint64_t register_one(int fd, struct sframe_unwind_batch_entry *entry)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = entry->sframe_start,
		.sframe_size = entry->sframe_size,
		.text_start = entry->text_start,
		.text_size = entry->text_size,
	};
	const uint64_t cycles = plain_ioctl(fd, SFRAME_UNWIND_IOC_REGISTER,
					    &reg);

	entry->id = reg.id;
	return cycles;
}

static uint64_t unregister_one(int fd, const struct sframe_unwind_batch_entry *entry)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.id = entry->id,
	};

	return plain_ioctl(fd, SFRAME_UNWIND_IOC_UNREGISTER, &unreg);
}

static void register_upto(int fd, unsigned int from, unsigned int to)
{
	if (has_batches(fd)) {
		batch(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, entries + from,
		      to - from);
		return;
	}
	while (from < to)
		register_one(fd, &entries[from++]);
}

static void note_least(uint64_t *least, uint64_t cycles)
{
	if (cycles < *least)
		*least = cycles;
}

/*
 * Register and unregister a thousand entries repeatedly, in addition to those
 * registered already. @first is the first unused entry.
 */
static void measure_registrations(int fd, unsigned int first, const char *among)
{
	static uint64_t in[BATCH], out[BATCH];
	static struct sframe_unwind_batch_entry copy[BATCH];
	uint64_t in_batch = ~0ULL, out_batch = ~0ULL;
	double in_sum = 0, out_sum = 0;
	unsigned int i, round;

	memset(in, 0xff, sizeof(in));
	memset(out, 0xff, sizeof(out));
	for (round = 0; round < BATCHES; round++) {
		for (i = 0; i < BATCH; i++)
			note_least(&in[i], register_one(fd, &entries[first + i]));
		for (i = 0; i < BATCH; i++)
			note_least(&out[i], unregister_one(fd, &entries[first + i]));
	}
	for (i = 0; i < BATCH; i++) {
		in_sum += in[i];
		out_sum += out[i];
	}
	report(in_sum / BATCH, "register.single.%s", among);
	report(out_sum / BATCH, "unregister.single.%s", among);
	if (!has_batches(fd))
		return;

	for (round = 0; round < BATCHES; round++) {
		memcpy(copy, entries + first, sizeof(copy));
		note_least(&in_batch, batch(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH,
					    entries + first, BATCH));
		note_least(&out_batch, batch(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH,
					     entries + first, BATCH));
		memcpy(entries + first, copy, sizeof(copy));
	}
	report((double)in_batch / BATCH, "register.batch.%s", among);
	report((double)out_batch / BATCH, "unregister.batch.%s", among);
}

/*
 * Look up rules in each of @nr sections, once with the mappings of the sections
 * checked, and once after mappings have changed.
 */
static void measure_many_lookups(int fd, unsigned int nr)
{
	uint64_t checked = 0, changed = 0;
	unsigned int i, round;

	srandom(nr);
	for (i = 0; i < LOOKUPS; i++) {
		const uint64_t pc = entries[random() % nr].text_start + 20;
		uint64_t least_changed = ~0ULL;

		for (round = 0; round < ROUNDS; round++) {
			change_mappings();
			note_least(&least_changed,
			      look_up(fd, SFU_BENCH_LOOKUP, pc, 1));
		}
		changed += least_changed;
		checked += look_up(fd, SFU_BENCH_LOOKUP, pc, ROUNDS);
	}
	report((double)checked / LOOKUPS, "lookup.%u", nr);
	report((double)changed / LOOKUPS, "lookup.changed.%u", nr);
}

static void measure_forks(const char *name)
{
	uint64_t cycles = ~0ULL;
	int i;

	for (i = 0; i < FORKS; i++)
		note_least(&cycles, measure_fork());
	report(cycles, "fork.%s", name);
}

#define GROUP	"/sys/fs/cgroup/sframe_unwind_bench"

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void enter_group(void)
{
	char pid[16];

	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0700) && errno != EEXIST)
		die(GROUP ": %s", strerror(errno));
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text(GROUP "/cgroup.procs", pid);
}

/* Bytes of kernel memory charged to this process's cgroup. */
static long kernel_memory(void)
{
	FILE *f = fopen(GROUP "/memory.stat", "r");
	long value = -1, kernel = -1;
	char line[256], word[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%127s %ld", word, &value) == 2 &&
		    !strcmp(word, "kernel"))
			kernel = value;
	}
	if (!f || kernel < 0)
		die("no memory.stat");
	fclose(f);
	return kernel;
}

/* End all registrations, as if nothing had ever been registered. */
static void forget_all(void)
{
	if (!unmap_marker())
		die("no marker");
}

#define CHURN		100000
#define CHURN_ROUNDS	4

/*
 * Run @cmd for the entries in @picked, BATCH at a time. Returns the cost of one
 * entry.
 */
static double churn(int fd, long cmd, struct sframe_unwind_batch_entry *picked)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < CHURN / 2; i += BATCH)
		sum += batch(fd, cmd, picked + i, BATCH);
	return (double)sum / (CHURN / 2);
}

/*
 * A JIT frees half of its functions in random order, creates them again in that
 * order, and repeats that. It must not become slower.
 */
static void measure_churn(int fd)
{
	struct sframe_unwind_batch_entry *picked, *copy;
	unsigned int i, j, round;
	double in, out;

	picked = calloc(CHURN, sizeof(*picked));
	copy = calloc(CHURN, sizeof(*copy));
	if (!picked || !copy)
		die("no memory");
	memcpy(copy, entries, CHURN * sizeof(*copy));
	register_upto(fd, 0, CHURN);
	memcpy(picked, entries, CHURN * sizeof(*picked));
	srandom(1);
	for (round = 0; round < CHURN_ROUNDS; round++) {
		for (i = CHURN - 1; i; i--) {
			const struct sframe_unwind_batch_entry swap = picked[i];

			j = random() % (i + 1);
			picked[i] = picked[j];
			picked[j] = swap;
		}
		memcpy(copy, picked, CHURN / 2 * sizeof(*copy));
		out = churn(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH, picked);
		memcpy(picked, copy, CHURN / 2 * sizeof(*copy));
		in = churn(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, picked);
		report(out, "churn.out.%u", round);
		report(in, "churn.in.%u", round);
		report((double)kernel_memory() / CHURN, "churn.memory.%u",
		       round);
	}
	for (i = 0; i < CHURN; i += BATCH)
		batch(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH, picked + i, BATCH);
	free(picked);
	free(copy);
}

void measure_many(int fd)
{
	static const unsigned int upto[] = { 10, 1000, 100000, MOST };
	unsigned char *array;
	unsigned int i, nr = 0;
	long memory;

	say("forks and registrations");
	enter_group();
	/*
	 * Create all mappings now, and of a kind that fork does not copy: so
	 * each fork does the same minimum of work.
	 */
	change_mappings();
	entries = map_file((MOST + BATCH) * sizeof(*entries),
			   PROT_READ | PROT_WRITE, &array);
	munmap(array, (MOST + BATCH) * sizeof(*entries));
	make_jit(entries, MOST + BATCH);
	measure_registrations(fd, 0, "none");
	if (has_batches(fd))
		measure_churn(fd);
	memory = kernel_memory();
	measure_forks("none");
	for (i = 0; i < sizeof(upto) / sizeof(upto[0]); i++) {
		say("%u sections", upto[i]);
		register_upto(fd, nr, upto[i]);
		nr = upto[i];
		if (nr >= 100000)
			report((double)(kernel_memory() - memory) / nr,
			       "memory.%u", nr);
		measure_many_lookups(fd, nr);
		if (nr == 100000)
			measure_forks("100000");
	}
	measure_registrations(fd, nr, "many");
	say("unregistering");
	batch(fd, SFRAME_UNWIND_IOC_UNREGISTER_BATCH, entries, MOST);
	forget_all();
	measure_forks("no_space");
}
