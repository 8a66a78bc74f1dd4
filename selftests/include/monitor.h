/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QEMU's monitor, which causes NMIs: qemu/run -N.
 */
#ifndef SELFTESTS_MONITOR_H
#define SELFTESTS_MONITOR_H

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens the port called "monitor". Returns -1 if there is none. */
static inline int open_monitor(void)
{
	char name[32], path[64];
	int fd = -1;
	glob_t ports;
	FILE *file;

	if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &ports))
		return -1;
	for (size_t i = 0; i < ports.gl_pathc && fd < 0; i++) {
		file = fopen(ports.gl_pathv[i], "re");
		if (file && fscanf(file, "%31s", name) == 1 &&
		    !strcmp(name, "monitor") &&
		    sscanf(ports.gl_pathv[i], "/sys/class/virtio-ports/%31[^/]",
			   name) == 1) {
			snprintf(path, sizeof(path), "/dev/%s", name);
			fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		}
		if (file)
			fclose(file);
	}
	globfree(&ports);
	return fd;
}

/* Some time after it has been asked for one. */
static inline void cause_nmi(int monitor)
{
	static const char nmi[] = "nmi\n";
	char answer[256];

	if (write(monitor, nmi, sizeof(nmi) - 1) < 0)
		return;
	while (read(monitor, answer, sizeof(answer)) > 0)
		;
}

#endif /* SELFTESTS_MONITOR_H */
