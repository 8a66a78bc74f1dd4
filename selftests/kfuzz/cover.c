// SPDX-License-Identifier: GPL-2.0
/* Cover: which of the module's code has been executed, by the kernel's KCOV. */
#include <err.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cover.h"
#include "shared.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define TEXT		"/sys/module/sframe_unwind/sections/.text"

/* Areas of a job: one for each thread, and one for a child. */
#define NR_AREAS	(MAX_THREADS + 1)
#define AREA_WORDS	(1UL << 17)

/* Areas of this process, if it is a job. */
static uint64_t *areas[NR_AREAS];
static uint64_t text;

static int area_fd(unsigned int job, unsigned int nr)
{
	return FD_COVER + job * NR_AREAS + nr;
}

static void open_area(int to)
{
	const int fd = open(KCOV, O_RDWR);

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, AREA_WORDS) ||
	    dup2(fd, to) < 0)
		err(2, "%s", KCOV);
	close(fd);
}

uint64_t cover_text(void)
{
	FILE *file = fopen(TEXT, "r");
	uint64_t address;

	if (!file || fscanf(file, "%lx", &address) != 1 || !address)
		err(2, "%s", TEXT);
	fclose(file);
	return address;
}

void cover_init(void)
{
	unsigned int job, i;

	text = cover_text();
	for (job = 0; job < NR_JOBS; job++) {
		for (i = 0; i < NR_AREAS; i++)
			open_area(area_fd(job, i));
	}
}

void cover_map(unsigned int job)
{
	const size_t size = AREA_WORDS * sizeof(*areas[0]);
	unsigned int i;

	for (i = 0; text && i < NR_AREAS; i++) {
		areas[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				area_fd(job, i), 0);
		/* Without this each fork would copy the pages. */
		if (areas[i] == MAP_FAILED ||
		    madvise(areas[i], size, MADV_DONTFORK))
			err(2, "%s", KCOV);
	}
}

void cover_enable(unsigned int job, unsigned int nr)
{
	/* Fails if another child is using the area, or without KCOV. */
	ioctl(area_fd(job, nr), KCOV_ENABLE, KCOV_TRACE_PC);
}

static bool is_new(uint64_t address)
{
	if (address - text >= COVER_SIZE) {
		atomic_fetch_add(&shared->elsewhere, 1);
		return false;
	}
	return !atomic_load_explicit(&shared->covered[address - text],
				     memory_order_relaxed) &&
	       !atomic_exchange(&shared->covered[address - text], 1);
}

unsigned int cover_collect(void)
{
	unsigned int i, found = 0;
	uint64_t nr;

	for (i = 0; i < NR_AREAS && areas[i]; i++) {
		nr = areas[i][0];
		if (nr >= AREA_WORDS - 1) {
			atomic_fetch_add(&shared->overflows, 1);
			nr = AREA_WORDS - 1;
		}
		for (; nr; nr--)
			found += is_new(areas[i][nr]);
		areas[i][0] = 0;
	}
	atomic_fetch_add(&shared->nr_covered, found);
	return found;
}

bool cover_write(const char *name)
{
	FILE *file = fopen(name, "w");
	unsigned long i;

	if (!file)
		return false;
	for (i = 0; i < COVER_SIZE; i++) {
		if (atomic_load(&shared->covered[i]))
			fprintf(file, "%lx\n", i);
	}
	return !fclose(file);
}
