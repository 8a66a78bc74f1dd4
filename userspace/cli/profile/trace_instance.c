// SPDX-License-Identifier: GPL-2.0
/*
 * An instance of tracefs. Its directory is locked by flock(), which ends with the process
 * however that ends: an instance without a lock is left by one that was killed.
 */
#ifdef HAVE_TRACEFS

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <tracefs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/trace_instance.h"

#define PREFIX		"sframe-unwind-"
#define BUFFER_KBYTES	4096	/* of each CPU */
#define TRIES		8

/* Lock an instance. Returns its directory; or -1 if it is locked, or there is none. */
static int lock_instance(struct tracefs_instance *tracefs)
{
	char *path = tracefs_instance_get_dir(tracefs);
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	tracefs_put_tracing_file(path);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Remove instance @name, if it is one of this command and nobody has it locked. */
static int remove_old(const char *name, void *unused)
{
	struct tracefs_instance *old;
	int fd;

	(void)unused;
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	old = tracefs_instance_alloc(NULL, name);
	fd = old ? lock_instance(old) : -1;
	if (fd >= 0) {
		tracefs_event_disable(old, NULL, NULL);
		tracefs_instance_destroy(old);
		close(fd);
	}
	tracefs_instance_free(old);
	return 0;
}

int trace_instance_create(struct trace_instance *instance)
{
	char name[64];

	tracefs_instances_walk(remove_old, NULL);
	snprintf(name, sizeof(name), PREFIX "%d", getpid());
	/* Before it is locked, another command may remove it. */
	for (int i = 0; i < TRIES; i++) {
		instance->tracefs = tracefs_instance_create(name);
		if (!instance->tracefs)
			return complain("trace: cannot create an instance in tracefs: %s",
					strerror(errno));
		instance->lock = lock_instance(instance->tracefs);
		if (instance->lock >= 0 && tracefs_instance_exists(name))
			break;
		if (instance->lock >= 0)
			close(instance->lock);
		instance->lock = -1;
		tracefs_instance_free(instance->tracefs);
		instance->tracefs = NULL;
	}
	if (!instance->tracefs)
		return complain("trace: the instance '%s' in tracefs is used by another command",
				name);
	/* The clock of the sampler, and of what happens to processes. */
	if (tracefs_instance_file_write(instance->tracefs, "trace_clock",
					"mono") < 0 ||
	    tracefs_instance_set_buffer_size(instance->tracefs, BUFFER_KBYTES, -1))
		return complain("trace: cannot set up the instance in tracefs: %s",
				strerror(errno));
	return CLI_OK;
}

uint64_t trace_instance_lost(const struct trace_instance *instance)
{
	const long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct tracefs_buffer_stat *stat;
	uint64_t lost = 0;

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		stat = tracefs_instance_get_stat(instance->tracefs, cpu);
		if (!stat)
			continue;
		lost += tracefs_buffer_stat_overrun(stat) +
			tracefs_buffer_stat_commit_overrun(stat) +
			tracefs_buffer_stat_dropped_events(stat);
		tracefs_instance_put_stat(stat);
	}
	return lost;
}

void trace_instance_remove(struct trace_instance *instance)
{
	if (!instance->tracefs)
		return;
	tracefs_event_disable(instance->tracefs, NULL, NULL);
	if (tracefs_instance_destroy(instance->tracefs))
		complain("trace: %s: cannot be removed from tracefs: %s",
			 tracefs_instance_get_name(instance->tracefs),
			 strerror(errno));
	if (instance->lock >= 0)
		close(instance->lock);
	tracefs_instance_free(instance->tracefs);
}

#endif /* HAVE_TRACEFS */
