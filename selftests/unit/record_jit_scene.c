// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "record_jit_scene.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit_files.h"

char work[64], map_path[64], dump_path[128];
volatile sig_atomic_t is_interrupted;
struct record_jit *jit;
char kept[256];
uint64_t kept_since;
uint64_t now;
pid_t child;

void start(void)
{
	record_jit_free(jit);
	remove_tree(work);
	mkdir(work, 0755);
	setenv("HOME", work, 1);
	unlink(map_path);
	said[0] = '\0';
	is_interrupted = 0;
	inspect_begin(&is_interrupted, 0);
	jit = record_jit_create(&is_interrupted);
}

void write_file(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	close(fd);
}

void add(pid_t pid, const char *name)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.time = now,
		.pid = pid,
		.tid = pid,
		.map = {
			.start = 0x1000,
			.size = 0x1000,
			.name = name,
			.is_code = 1,
		},
	};

	record_jit_add(jit, &record);
}

int keep(void)
{
	static const uint64_t id = 1;
	static const struct sframe_unwind_profile_source source = {
		.name = "cpu-clock",
		.ids = &id,
		.nr_ids = 1,
		.type = 1,
		.period = 1,
	};
	const int fd = memfd_create("profile", MFD_CLOEXEC);
	const struct sframe_unwind_profile_record *record;
	struct sframe_unwind_profile_writer *writer = NULL;
	struct sframe_unwind_profile *profile = NULL;
	struct jit_files files = { 0 };
	int ret;

	kept[0] = '\0';
	ret = sframe_unwind_profile_create(&writer, fd, &source, 1, 0, 1);
	if (!ret)
		ret = record_jit_keep(jit, writer, 100);
	if (!ret)
		ret = sframe_unwind_profile_finish(writer);
	if (!ret)
		ret = sframe_unwind_profile_open(&profile, fd);
	while (!ret && sframe_unwind_profile_next(profile, &record) == 1) {
		const struct jit_file *file;

		if (record->map.is_code || record->time != 100 ||
		    !jit_files_add(&files, record, false))
			ret = -1;
		file = jit_files_find(&files, record->pid);
		if (file) {
			kept_since = file->kept_since;
			snprintf(kept, sizeof(kept), "%s/.debug/" JIT_KEPT_FOLDER "/%s",
				 work, file->kept);
		}
	}
	sframe_unwind_profile_close(profile);
	jit_files_free(&files);
	close(fd);
	return ret;
}

bool has_kept(const char *name, const char *bytes)
{
	char path[512], got[512] = "";
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", kept, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, got, sizeof(got) - 1) < 0 || fstat(fd, &status))
		exit(1);
	close(fd);
	return !strcmp(got, bytes) && !(status.st_mode & 077);
}

void end_process(pid_t pid)
{
	char path[32];

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
}

void scene_begin(void)
{
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(work, sizeof(work), "/tmp/record_jit_test.%d", getpid());
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", child);
	umask(022);
}

void scene_end(void)
{
	record_jit_free(jit);
	remove_tree(work);
	end_process(child);
}
