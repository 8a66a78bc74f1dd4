// SPDX-License-Identifier: GPL-2.0
/*
 * Reader task: main loop of a reader, and the requests MAPS and FILE. See
 * reader_task.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock.h"
#include "convert/base/message.h"
#include "convert/snapshot/snapshot.h"
#include "open_file.h"
#include "reader_task.h"
#include "worker.h"
#include "worker/message.h"

/* Limit of CPU time of a MAPS request; the rest is left to the next request. */
#define MAPS_NS (100 * MS)

/* Memory for snapshots, so that small files need no memfd if the cache has them. */
#define ROOM (4U << 20)

/* How long a server of workers is kept that is not used, and time between two looks at it. */
#define SERVER_IDLE_MS	5000
#define SERVER_CHECK_MS	1000

/* Keys that are remembered, to report each file only once. */
#define NR_SEEN 256

void mapping_set_name(struct mapping *mapping, const char *name)
{
	const size_t length = strlen(name), room = sizeof(mapping->name);

	if (length < room)
		memcpy(mapping->name, name, length + 1);
	else
		snprintf(mapping->name, room, "...%s",
			 name + length - (room - 4));
}

void reader_fail(struct reader_reply *reply, enum reader_stage stage, int error,
		 const char *format, ...)
{
	va_list args;

	reply->stage = stage;
	reply->error = error;
	va_start(args, format);
	vsnprintf(reply->text, sizeof(reply->text), format, args);
	va_end(args);
}

static void close_both(int fds[2])
{
	for (size_t i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* --- READER_MAPS */

struct maps_line {
	struct reader_maps_entry entry;
	const char *name;
};

/* Returns whether the line is an executable mapping of a file. */
static bool parse_line(char *line, struct maps_line *to)
{
	struct reader_maps_entry *entry = &to->entry;
	unsigned int major, minor;
	char modes[5];
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n",
		   &entry->start, &entry->end, modes, &major, &minor,
		   &entry->key.inode, &name) != 6 || !name)
		return false;
	if (modes[2] != 'x' || !entry->key.inode)
		return false;
	entry->key.device = makedev(major, minor);
	line[strcspn(line, "\n")] = '\0';
	to->name = line + name;
	return true;
}

static bool is_seen(struct file_key *seen, const struct file_key *key)
{
	struct file_key *slot = &seen[(key->inode ^ key->device) % NR_SEEN];

	if (is_same_key(slot, key))
		return true;
	*slot = *key;
	return false;
}

/* Append an entry to the reply. Returns whether there was room for it. */
static bool put_entry(struct maps_line *line, unsigned char *entries,
		      size_t *size)
{
	const size_t room = READER_MAX_REPLY - sizeof(struct reader_reply);
	struct mapping mapping;

	mapping_set_name(&mapping, line->name);
	line->entry.name_size = strlen(mapping.name) + 1;
	if (*size + sizeof(line->entry) + line->entry.name_size > room)
		return false;
	memcpy(entries + *size, &line->entry, sizeof(line->entry));
	*size += sizeof(line->entry);
	memcpy(entries + *size, mapping.name, line->entry.name_size);
	*size += line->entry.name_size;
	return true;
}

void reader_maps(const struct reader_request *request,
		 struct reader_reply *reply, unsigned char *entries,
		 size_t *size)
{
	const uint64_t end = cpu_ns() + MAPS_NS;
	struct file_key seen[NR_SEEN] = { 0 };
	struct maps_line parsed;
	unsigned int lines = 0;
	char path[64], *line = NULL;
	size_t line_size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)request->mapping.pid);
	maps = fopen(path, "re");
	if (!maps) {
		reader_fail(reply, READER_FIND, -errno, "%s", strerror(errno));
		return;
	}
	errno = 0;
	while (getline(&line, &line_size, maps) > 0) {
		if (!parse_line(line, &parsed) ||
		    parsed.entry.start < request->mapping.start ||
		    is_seen(seen, &parsed.entry.key))
			continue;
		if (!put_entry(&parsed, entries, size) ||
		    (!(++lines % 64) && cpu_ns() > end)) {
			reply->maps.next = parsed.entry.start;
			break;
		}
		reply->maps.nr++;
	}
	/* /proc checks the permission only on read. */
	if (ferror(maps))
		reader_fail(reply, READER_FIND, -errno, "%s", strerror(errno));
	free(line);
	fclose(maps);
}

/* --- READER_FILE */

static bool is_known(const struct reader_known *known,
		     const struct reader_known *found)
{
	return known->is_set && known->device == found->device &&
	       known->inode == found->inode && known->size == found->size &&
	       known->changed.tv_sec == found->changed.tv_sec &&
	       known->changed.tv_nsec == found->changed.tv_nsec;
}

/* Read the name of an open file, as it is in our mount namespace. */
static void read_name(int fd, struct reader_file *file)
{
	struct mapping mapping;
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	mapping_set_name(&mapping, path);
	memcpy(file->name, mapping.name, sizeof(file->name));
}

/*
 * Find the file, and open it unless it is known. Returns a descriptor to read from,
 * and sets *@found_fd to an O_PATH one, both to be closed; or returns -1 with @reply
 * filled.
 */
static int find_and_open(const struct reader_request *request, int given_fd,
			 struct reader_reply *reply, int *found_fd)
{
	const struct mapping *mapping = &request->mapping;
	const struct mapped_file mapped = {
		.pid = mapping->pid,
		.start = mapping->start,
		.end = mapping->end,
		.name = mapping->name,
		.device = mapping->key.device,
		.inode = mapping->key.inode,
	};
	struct reader_file *file = &reply->file;
	struct open_file found;
	int fd, err;

	err = given_fd < 0 ? open_mapped_file(&mapped, &found) :
			     open_path_file(given_fd, &found);
	if (err) {
		reader_fail(reply, READER_FIND, err, "%s", strerror(-err));
		return -1;
	}
	file->is_found = true;
	file->is_trusted = open_file_is_trusted(&found, mapping->pid);
	file->mount = file->is_trusted ? found.mount : 0;
	file->is_system = file->is_trusted && open_file_is_of_system(&found);
	file->known = (struct reader_known) {
		.is_set = true,
		.device = found.device,
		.inode = found.inode,
		.size = found.size,
		.changed = found.changed,
	};
	file->is_known = is_known(&request->known, &file->known);
	if (!mapping->name[0])
		read_name(found.fd, file);
	fd = -1;
	if (!file->is_known) {
		fd = open_file_to_read(&found);
		if (fd < 0)
			reader_fail(reply, READER_OPEN, fd, "%s",
				    strerror(-fd));
	}
	if (fd < 0)
		close(found.fd);
	else
		*found_fd = found.fd;
	return fd;
}

/* Attach the section to the file @elf_fd at once if the cache has it. */
static bool is_attached_at_once(const struct reader_request *request,
				int elf_fd, struct reader_reply *reply)
{
	return request->attach.flags && !reply->file.elf_status &&
	       reader_attach_cached(request, elf_fd, reply);
}

void reader_fill_file(struct reader_file *file,
		      const struct sfu_snapshot *snapshot)
{
	file->known = (struct reader_known) {
		.is_set = true,
		.device = snapshot->stat.st_dev,
		.inode = snapshot->stat.st_ino,
		.size = snapshot->stat.st_size,
		.changed = snapshot->stat.st_ctim,
	};
	file->is_found = true;
	file->has_own = snapshot->has_own;
	file->elf_status = snapshot->elf_status;
	file->elf = snapshot->elf;
	file->digest = snapshot->digest;
	file->nr_bytes = snapshot->nr_bytes;
}

int reader_file(const struct reader_request *request, int given_fd,
		struct reader_reply *reply, int fds[2])
{
	static unsigned char room[ROOM];
	struct sfu_snapshot_limits limits = {
		.room = room,
		.room_size = sizeof(room),
	};
	struct reader_file *file = &reply->file;
	struct sfu_snapshot snapshot;
	int fd, err;

	fd = find_and_open(request, given_fd, reply, &fds[0]);
	if (fd < 0)
		return -1;
	sfu_message_begin("file");
	if (reader_attach_stamped(request, fd, reply)) {
		close_both(fds);
		return fd;
	}
	limits.max_bytes = file->is_trusted ? request->max_bytes :
					      request->max_others;
	err = sfu_snapshot_take(fd, &limits, &snapshot);
	if (err) {
		reader_fail(reply, READER_SNAPSHOT, err, "%s",
			    sfu_message_text());
		close_both(fds);
		return fd;
	}
	/* The file may have changed since it was found: use what was read. */
	reader_fill_file(file, &snapshot);
	if (is_attached_at_once(request, fd, reply)) {
		/* The daemon does not need the descriptors. */
		close_both(fds);
		reader_write_stamp(file, fd, &snapshot);
		sfu_snapshot_free(&snapshot);
		return fd;
	}
	err = sfu_snapshot_open(&snapshot);
	if (err) {
		reader_fail(reply, READER_SNAPSHOT, err, "%s",
			    sfu_message_text());
		close_both(fds);
		sfu_snapshot_free(&snapshot);
	}
	fds[1] = snapshot.fd;
	return fd;
}

/* --- main loop */

static int answer(struct reader_reply *reply, const unsigned char *rest,
		  size_t size, int fds[2], uint64_t *cpu)
{
	const uint64_t now = cpu_ns();
	int err;

	/* A worker's is in it already. */
	reply->cpu_ns += now - *cpu;
	*cpu = now;
	err = message_send(READER_SOCKET, reply, sizeof(*reply), rest, size,
			   fds);
	close_both(fds);
	return err;
}

/*
 * Returns whether the files of a FILE request can be closed before the reply, so that
 * one reply is enough: if there are none, or if only root can have written the file.
 * Closing such a file waits for no other user.
 */
static bool can_close_now(const struct reader_reply *reply, int file,
			  const int given[2])
{
	return given[0] < 0 && given[1] < 0 &&
	       (file < 0 || reply->file.is_trusted);
}

/*
 * Wait for a request. A server that was started for announced code has memory and a sandbox:
 * do not keep it for long.
 */
static void wait_for_request(void)
{
	struct pollfd request = { .fd = READER_SOCKET, .events = POLLIN };

	while (workers_end_unused(SERVER_IDLE_MS) &&
	       !poll(&request, 1, SERVER_CHECK_MS))
		;
}

int reader_run(void *data)
{
	static unsigned char rest[READER_MAX_REPLY];
	struct reader_request request;
	uint64_t cpu = cpu_ns();

	(void)data;
	workers_forget();
	for (;;) {
		struct reader_reply reply = { 0 };
		int given[2], fds[2] = { -1, -1 }, file = -1;
		size_t size = 0;

		wait_for_request();
		if (message_receive(READER_SOCKET, &request, sizeof(request),
				    given, false) != sizeof(request))
			return 1;
		if (request.what == READER_MAPS) {
			reader_maps(&request, &reply, rest, &size);
		} else if (request.what == READER_CODE) {
			reader_code(&request, &reply, rest, &size);
		} else if (request.what == READER_FILE) {
			file = reader_file(&request, given[0], &reply, fds);
			reply.is_last = can_close_now(&reply, file, given);
			if (reply.is_last && file >= 0)
				close(file);
		} else {
			file = reader_attach(&request, given[0], given[1],
					     &reply);
		}
		reply.is_last |= request.what == READER_MAPS ||
				 request.what == READER_CODE;
		if (answer(&reply, rest, size, fds, &cpu))
			return 1;
		if (reply.is_last)
			continue;
		/* Closing can block, too, so it comes after the first reply. */
		if (file >= 0)
			close(file);
		close_both(given);
		reader_attach_end(&request);
		reply = (struct reader_reply) { .is_last = true };
		if (answer(&reply, NULL, 0, fds, &cpu))
			return 1;
	}
}
