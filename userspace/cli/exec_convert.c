// SPDX-License-Identifier: GPL-2.0
/*
 * A child process opens the file, copies what a conversion reads, and looks for that in
 * the cache. If the cache has no section, it has the copy converted by a worker in a
 * sandbox, as the daemon does. A file that cannot be read does not disturb the command,
 * and one that makes the converter crash, run for ever or execute code of its own
 * disturbs only the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "attach/vdso.h"
#include "attach/worker.h"
#include "convert/base/message.h"
#include "convert/cache/cache.h"
#include "convert/cache/stamp.h"
#include "convert/snapshot/snapshot.h"
#include "exec_convert.h"
#include "lib/memory_file.h"
#include "module/file/elf.h"
#include "worker/message.h"

/* Limits of the child. */
#define MAX_CPU_SECONDS	60
#define MAX_MEMORY	(4ULL << 30)
#define NICENESS	5

/* The child's socket; all descriptors above are closed. */
#define CHILD_SOCKET	3

/* --- in the child */

static void limit(int resource, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now) || now.rlim_max <= most)
		return;
	setrlimit(resource, &(struct rlimit) { most, most });
}

/* Open the regular file @path for reading. Returns a descriptor or -1. */
static int open_regular(const char *path, const struct exec_mapping *mapping,
			bool is_same)
{
	struct stat stat;
	int fd;

	/* Opening a device may have effects. */
	if (lstat(path, &stat) || S_ISCHR(stat.st_mode) ||
	    S_ISFIFO(stat.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) &&
	    (!is_same || stat.st_ino == mapping->inode))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/*
 * Open the file of @mapping: the mapping's, which needs a privilege; the program's, which
 * may have been deleted; or by name. The kernel uses the section for this file alone, so
 * another one by that name does no harm. Returns a descriptor, or -1 with errno.
 */
static int open_mapped(pid_t pid, const struct exec_mapping *mapping)
{
	char path[PATH_MAX + 64];
	int fd;

	if (!strcmp(mapping->name, EXEC_VDSO))
		return vdso_copy();
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
		 (unsigned long)mapping->start, (unsigned long)mapping->end);
	fd = open_regular(path, mapping, false);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open_regular(path, mapping, true);
	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
			     mapping->name) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open_regular(path, mapping, false);
}

/* Reads the file whose descriptor follows the reader. */
struct file_reader {
	struct sfu_elf_reader reader;
	int fd;
};

static int read_at(const struct sfu_elf_reader *reader, u64 offset, void *to,
		   u32 size)
{
	const int fd = ((const struct file_reader *)reader)->fd;

	if (offset > INT64_MAX)
		return -EFAULT;
	return pread(fd, to, size, offset) == (ssize_t)size ? 0 : -EFAULT;
}

/* Returns whether the file has a .sframe of its own, which the kernel finds. */
static bool has_own(int fd)
{
	const struct file_reader file = { { read_at }, fd };
	struct sfu_elf elf;

	return !sfu_elf_read(&elf, &file.reader) && elf.sframe_size;
}

int exec_convert_write(const struct sframe_unwind_converted *section)
{
	const int fd = memory_file_create("sframe");
	size_t done = 0;

	while (fd >= 0 && done < section->size) {
		const ssize_t put = write(fd, section->bytes + done,
					  section->size - done);

		if (put < 0) {
			close(fd);
			return -1;
		}
		done += put;
	}
	return fd;
}

/* Look for the section by the file's stamp, without reading the file. */
static bool find_by_stamp(struct sfu_cache *cache, int fd,
			  const struct sframe_unwind_convert_options *options,
			  struct sframe_unwind_converted **section)
{
	char name[CACHE_NAME_SIZE];
	struct digest content;
	struct stamp stamp;
	struct stat stat;

	return !fstat(fd, &stat) && !sfu_stamp_make(&stamp, fd, &stat, 0) &&
	       !sfu_stamp_find(cache, &stamp, &content) &&
	       !sfu_cache_name(&content, options, name) &&
	       !sfu_cache_read(cache, name, section);
}

/* Store the section, if it is new, and the file's stamp. Not doing so costs only time. */
static void keep(struct sfu_cache *cache, int fd, const char *path,
		 const struct sfu_snapshot *snapshot, const char *name,
		 const struct sframe_unwind_converted *section)
{
	struct stamp stamp;

	if (section->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE ||
	    !sfu_cache_write(cache, name, path, section))
		if (!sfu_stamp_make(&stamp, fd, &snapshot->stat, 0))
			sfu_stamp_write(cache, &stamp, &snapshot->digest);
}

static int ms_until(uint64_t deadline)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	return ns < deadline ? (deadline - ns) / 1000000 + 1 : 0;
}

/* Have the snapshot converted by a worker. Returns 0, or an error with @text. */
static int convert_by_worker(const struct sfu_snapshot *snapshot, bool is_extended,
			     struct sframe_unwind_converted **section,
			     char *text, size_t size)
{
	const struct worker_limits limits = { .is_extended = is_extended };
	struct worker *worker;
	struct worker_end end;
	int err;

	err = worker_start(&worker, snapshot->fd, &limits);
	if (err) {
		snprintf(text, size, "its conversion cannot be started: %s",
			 strerror(-err));
		return err;
	}
	do {
		struct pollfd ended = { worker_fd(worker), POLLIN, 0 };

		poll(&ended, 1, ms_until(worker_deadline(worker)));
	} while (worker_finish(worker, &end) == -EAGAIN);
	if (end.error) {
		snprintf(text, size, "%s", end.text);
		return end.error;
	}
	err = worker_result_read(end.result_fd, NULL, section, text, size);
	close(end.result_fd);
	return err;
}

int exec_convert_find(int fd, const char *path, bool is_extended,
		      struct sframe_unwind_converted **section, char *text, size_t size)
{
	const struct sframe_unwind_convert_options options = {
		.flags = is_extended ? SFRAME_UNWIND_CONVERT_EXTENDED : 0,
	};
	struct sfu_snapshot snapshot;
	char name[CACHE_NAME_SIZE];
	struct sfu_cache *cache;
	int err;

	sfu_message_begin("file");
	if (sfu_cache_open(NULL, &cache))
		cache = NULL;
	if (cache && find_by_stamp(cache, fd, &options, section))
		return 0;
	sfu_message_begin("file");
	err = sfu_snapshot_take(fd, NULL, &snapshot);
	if (err) {
		snprintf(text, size, "%s", sfu_message_text());
		return err;
	}
	if (cache && sfu_cache_name(&snapshot.digest, &options, name))
		cache = NULL;
	if (!cache || sfu_cache_read(cache, name, section))
		err = convert_by_worker(&snapshot, is_extended, section, text, size);
	if (!err && cache)
		keep(cache, fd, path, &snapshot, name, *section);
	return err;
}

static int convert(int fd, const char *name, struct exec_converted *result)
{
	struct sframe_unwind_converted *section;
	char text[EXEC_REASON_SIZE / 2];
	int section_fd;

	result->error = exec_convert_find(fd, name, result->is_extended, &section,
					  text, sizeof(text));
	if (result->error) {
		snprintf(result->reason, sizeof(result->reason), "%s: %s", name,
			 text);
		return -1;
	}
	section_fd = exec_convert_write(section);
	if (section_fd < 0) {
		result->error = -errno;
		snprintf(result->reason, sizeof(result->reason), "%s: %s", name,
			 strerror(errno));
		return -1;
	}
	result->size = section->size;
	result->build_id_size = section->build_id_size;
	memcpy(result->build_id, section->build_id, section->build_id_size);
	return section_fd;
}

static void work(const struct exec_wanted *wanted, struct exec_converted *result,
		 int files[2])
{
	const char *name = wanted->mapping->name;

	files[0] = open_mapped(wanted->pid, wanted->mapping);
	files[1] = -1;
	result->has_own = files[0] >= 0 && has_own(files[0]);
	result->is_extended = wanted->is_extended;
	if (files[0] < 0) {
		result->error = -ESRCH;
		snprintf(result->reason, sizeof(result->reason),
			 "%s: cannot be opened: %s", name, strerror(errno));
	} else if (result->has_own && !wanted->anyway) {
		result->error = -EEXIST;
	} else {
		files[1] = convert(files[0], name, result);
	}
	if (files[1] < 0 && files[0] >= 0) {
		close(files[0]);
		files[0] = -1;
	}
}

__attribute__((noreturn))
static void run(int socket, pid_t parent, const struct exec_wanted *wanted)
{
	static struct exec_converted result;
	int files[2], err;

	/* The program waits for stacks until the command's descriptors are closed. */
	if (dup2(socket, CHILD_SOCKET) < 0 ||
	    syscall(SYS_close_range, CHILD_SOCKET + 1, ~0U, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, MAX_CPU_SECONDS);
	limit(RLIMIT_AS, MAX_MEMORY);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
	work(wanted, &result, files);
	err = message_send(CHILD_SOCKET, &result, sizeof(result), NULL, 0,
			   files);
	_exit(err ? 1 : 0);
}

/* --- in the command */

void exec_convert_set_worker(const char *path)
{
	worker_set_program(path);
}

int exec_convert_start(struct exec_conversion *conversion,
		       const struct exec_wanted *wanted)
{
	const pid_t parent = getpid();
	int sockets[2];
	int err = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	conversion->child = fork();
	if (!conversion->child)
		run(sockets[1], parent, wanted);
	if (conversion->child < 0) {
		err = -errno;
		close(sockets[0]);
	}
	close(sockets[1]);
	conversion->socket = sockets[0];
	return err;
}

/* Wait for the child's end. Returns its status. */
static int reap(struct exec_conversion *conversion)
{
	int status = 0;

	close(conversion->socket);
	while (waitpid(conversion->child, &status, 0) < 0 && errno == EINTR)
		;
	conversion->child = 0;
	conversion->socket = -1;
	return status;
}

void exec_convert_finish(struct exec_conversion *conversion,
			 struct exec_converted *converted, int files[2])
{
	const ssize_t got = message_receive(conversion->socket, converted,
					    sizeof(*converted), files, true);
	const bool is_done = got == sizeof(*converted);
	const int status = reap(conversion);

	if (is_done && (converted->error || (files[0] >= 0 && files[1] >= 0)))
		return;
	for (int i = 0; i < 2; i++)
		if (files[i] >= 0)
			close(files[i]);
	*converted = (struct exec_converted) { .error = -EIO };
	if (WIFSIGNALED(status))
		snprintf(converted->reason, sizeof(converted->reason),
			 "the conversion was ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(converted->reason, sizeof(converted->reason),
			 "the conversion failed");
}

void exec_convert_cancel(struct exec_conversion *conversion)
{
	kill(conversion->child, SIGKILL);
	reap(conversion);
}
