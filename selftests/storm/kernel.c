// SPDX-License-Identifier: GPL-2.0
/* Kernel: counters of the module, memory use and leak detection of the kernel. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

#define COUNTERS	"/sys/kernel/debug/sframe_unwind/counters"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

static long find_number(const char *file, const char *name)
{
	FILE *f = fopen(file, "r");
	char line[256];
	long found = -1;
	size_t length = strlen(name);

	while (f && found < 0 && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, length) &&
		    strchr(" :\t", line[length]))
			found = strtol(line + length + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return found;
}

long kernel_counter(const char *name)
{
	return find_number(COUNTERS, name);
}

static bool is_clean_now(char *left, size_t size)
{
	FILE *f = fopen(COUNTERS, "r");
	char line[128];
	size_t used = 0;

	snprintf(left, size, "%s cannot be read", COUNTERS);
	if (!f)
		return false;
	*left = '\0';
	while (fgets(line, sizeof(line), f) && used < size) {
		if (!strncmp(line, "total_", 6) || strstr(line, " 0\n"))
			continue;
		line[strcspn(line, "\n")] = '\0';
		used += snprintf(left + used, size - used, " %s", line);
	}
	fclose(f);
	return !used;
}

bool kernel_is_clean(char *left, size_t size)
{
	int i;

	/*
	 * An exiting thread releases its objects after its parent has been
	 * notified.
	 */
	for (i = 0; i < 100; i++) {
		if (is_clean_now(left, size))
			return true;
		usleep(50000);
	}
	return false;
}

struct kernel_memory kernel_measure(void)
{
	struct kernel_memory memory;
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sleep(2);
	if (fd >= 0) {
		if (write(fd, "3", 1) != 1)
			perror("drop_caches");
		close(fd);
	}
	sleep(1);
	memory.available = find_number("/proc/meminfo", "MemAvailable");
	memory.unreclaimable = find_number("/proc/meminfo", "SUnreclaim");
	return memory;
}

bool kernel_finds_leaks(void)
{
	return !access(KMEMLEAK, F_OK);
}

bool kernel_leaks_nothing(void)
{
	const int fd = open(KMEMLEAK, O_RDWR);
	char text[2048];
	ssize_t got;
	int scans;

	/*
	 * kmemleak reports objects that are old enough and were unreachable in
	 * two scans.
	 */
	sleep(6);
	for (scans = 0; scans < 2; scans++)
		if (write(fd, "scan", 4) != 4)
			perror(KMEMLEAK);
	got = read(fd, text, sizeof(text));
	if (got > 0)
		printf("# %.*s\n", (int)got, text);
	close(fd);
	return !got;
}

void kernel_show_process(int pid)
{
	static const char * const files[] = { "comm", "wchan", "syscall",
					      "stack" };
	char name[128], line[256];
	struct dirent *entry;
	unsigned int i;
	DIR *dir;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	dir = opendir(name);
	while (dir && (entry = readdir(dir))) {
		for (i = 0; i < 4 && entry->d_name[0] != '.'; i++) {
			snprintf(name, sizeof(name), "/proc/%d/task/%.20s/%s",
				 pid, entry->d_name, files[i]);
			f = fopen(name, "r");
			while (f && fgets(line, sizeof(line), f)) {
				line[strcspn(line, "\n")] = '\0';
				printf("# %s %s: %s\n", entry->d_name,
				       files[i], line);
			}
			if (f)
				fclose(f);
		}
	}
	if (dir)
		closedir(dir);
}
