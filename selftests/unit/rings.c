// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rings.h"
#include "userspace/cli/profile/record.h"

#define CPUS	2u
#define PAGES	65u	/* a control page, and those with records */

static struct perf_event_mmap_page *rings[CPUS];

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF ? (long)CPUS : __real_sysconf(name);
}

int record_perf_open(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	const size_t size = PAGES * getpagesize();
	const int fd = memfd_create("ring", MFD_CLOEXEC);

	(void)attr;
	(void)tid;
	if (ftruncate(fd, size))
		abort();
	rings[cpu] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

int record_complain(const char *command, const char *event, int error)
{
	(void)command;
	(void)event;
	return error;
}

void rings_free(void)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		munmap(rings[cpu], PAGES * getpagesize());
}

/* Put a record into the ring of @cpu: @size bytes, and what all records end with. */
static void put(uint32_t cpu, uint32_t type, uint16_t misc, const void *bytes, size_t size,
		const uint64_t tail[2])
{
	const struct perf_event_header header = {
		.type = type,
		.misc = misc,
		.size = sizeof(header) + size + 16,
	};
	char *to = (char *)rings[cpu] + getpagesize() + rings[cpu]->data_head;

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), bytes, size);
	memcpy(to + sizeof(header) + size, tail, 16);
	rings[cpu]->data_head += header.size;
}

void rings_map(uint32_t cpu, uint32_t pid, uint64_t time, const char *name, uint64_t inode,
	       uint64_t generation)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char name[8];
	} map = {
		.pid = pid, .tid = pid, .start = RINGS_CODE, .size = 4096,
		.major = inode ? 8 : 0, .minor = inode ? 1 : 0, .inode = inode,
		.generation = generation, .protection = PROT_READ | PROT_EXEC,
	};

	snprintf(map.name, sizeof(map.name), "%s", name);
	put(cpu, PERF_RECORD_MMAP2, 0, &map, sizeof(map), (uint64_t[]){ pid, time });
}

void rings_exec(uint32_t cpu, uint32_t pid, uint64_t time, const char *name)
{
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = { .pid = pid, .tid = pid };

	snprintf(comm.name, sizeof(comm.name), "%s", name);
	put(cpu, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, sizeof(comm),
	    (uint64_t[]){ pid, time });
}

void rings_fork(uint32_t cpu, uint32_t pid, uint64_t time, uint32_t parent)
{
	const struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} fork = { pid, parent, pid, parent, time };

	put(cpu, PERF_RECORD_FORK, 0, &fork, sizeof(fork), (uint64_t[]){ parent, time });
}
