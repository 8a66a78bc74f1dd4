// SPDX-License-Identifier: GPL-2.0
/*
 * offcpu PID MILLISECONDS: print the stacks of a process's threads that were off the CPU for
 * so long, with libbpf, until it is interrupted. "all" in place of PID: of all processes.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sframe_unwind.h>

#include "offcpu.skel.h"
#include "stacks.h"

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* Print an address as object+offset, as far as that is known. */
static void print_address(FILE *maps, unsigned long long ip)
{
	unsigned long long start, end, offset;
	char line[512], path[256];

	rewind(maps);
	while (fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %255s", &start, &end, &offset,
			   path) >= 3 && ip >= start && ip < end && path[0] == '/') {
			printf("    %s+0x%llx\n", path, ip - start + offset);
			return;
		}
	}
	printf("    0x%llx\n", ip);
}

static int print_stack(void *context, void *data, size_t size)
{
	const unsigned long long *least = context;
	const struct waited *waited = data;
	char name[32];
	FILE *maps;

	(void)size;
	if (waited->nanoseconds < *least)
		return 0;
	printf("thread %d waited for %llu ms%s\n", waited->tid, waited->nanoseconds / 1000000,
	       waited->stop == SFRAME_UNWIND_STOP_COMPLETE ? "" : ", not whole");
	snprintf(name, sizeof(name), "/proc/%d/maps", waited->pid);
	maps = fopen(name, "re");
	for (unsigned int i = 0; maps && i < waited->nr_ips; i++)
		print_address(maps, waited->ips[i]);
	if (maps)
		fclose(maps);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long least;
	struct ring_buffer *ring;
	struct offcpu *programs;
	int status = 1, target;

	target = argc == 3 ? atoi(argv[1]) : 0;
	if (argc != 3 || (target <= 0 && strcmp(argv[1], "all"))) {
		fprintf(stderr, "usage: offcpu PID|all MILLISECONDS\n");
		return 2;
	}
	least = strtoull(argv[2], NULL, 10) * 1000000;
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);

	programs = offcpu__open();
	if (!programs) {
		fprintf(stderr, "offcpu: open: %s\n", strerror(errno));
		return 1;
	}
	programs->rodata->target = target;
	if (offcpu__load(programs) || offcpu__attach(programs)) {
		fprintf(stderr, "offcpu: %s: is the module loaded, and has it BTF?\n",
			strerror(errno));
		goto err_programs;
	}
	ring = ring_buffer__new(bpf_map__fd(programs->maps.ring), print_stack, &least, NULL);
	if (!ring) {
		fprintf(stderr, "offcpu: ring: %s\n", strerror(errno));
		goto err_programs;
	}
	printf("ready\n");
	fflush(stdout);
	while (!interrupted && ring_buffer__poll(ring, 100) >= 0)
		;
	if (programs->bss->lost)
		fprintf(stderr, "offcpu: %llu stacks lost\n",
			(unsigned long long)programs->bss->lost);
	status = 0;
	ring_buffer__free(ring);
err_programs:
	offcpu__destroy(programs);
	return status;
}
