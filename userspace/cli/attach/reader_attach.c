// SPDX-License-Identifier: GPL-2.0
/*
 * Reader task: attaching. See reader_task.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>
#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "convert/cache/cache.h"
#include "convert/cache/stamp.h"
#include "convert/snapshot/snapshot.h"
#include "lib/memory_file.h"
#include "open_file.h"
#include "reader_task.h"
#include "worker.h"

/*
 * Of this reader: the cache, and what is to be stored in it: a worker's result, and the
 * stamp of the file that it is of.
 */
static struct sfu_cache *cache;
static struct sframe_unwind_converted *to_be_kept;
static struct stamp stamp_to_be_kept;
static bool has_stamp;

static struct sfu_cache *open_cache(void)
{
	static bool is_tried;

	if (!is_tried && sfu_cache_open(NULL, &cache))
		cache = NULL;
	is_tried = true;
	return cache;
}

/* Open the cache for the section of a file. */
static struct sfu_cache *open_cache_for(const struct reader_request *request)
{
	if (open_cache())
		sfu_cache_set_of_others(cache, !request->attach.is_trusted);
	return cache;
}

/* Get the name in the cache of the section to attach. Returns 0 or an error. */
static int cache_name(const struct reader_request *request,
		      char name[CACHE_NAME_SIZE])
{
	const struct sframe_unwind_convert_options options = {
		.flags = request->attach.flags & SFRAME_UNWIND_ATTACH_EXTENDED ?
			 SFRAME_UNWIND_CONVERT_EXTENDED : 0,
	};

	return sfu_cache_name(&request->attach.digest, &options, name);
}

static struct sframe_unwind_converted *
read_cache(const struct reader_request *request)
{
	struct sframe_unwind_converted *converted;
	char name[CACHE_NAME_SIZE];

	if (!open_cache_for(request) ||
	    cache_name(request, name) ||
	    sfu_cache_read(cache, name, &converted))
		return NULL;
	return converted;
}

/* Returns a memory file with the section, or a negative errno. */
static int write_section(const struct sframe_unwind_converted *converted)
{
	const int fd = memory_file_create("sframe");
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < converted->size) {
		const ssize_t put = write(fd, converted->bytes + done,
					  converted->size - done);

		if (put < 0) {
			const int err = errno;

			close(fd);
			return -err;
		}
		done += put;
	}
	return fd;
}

/* Returns whether the file's own .sframe has everything that @converted has. */
static bool is_own_enough(const struct sframe_unwind_converted *converted)
{
	return converted->sources & SFRAME_UNWIND_FROM_OWN_SFRAME &&
	       !converted->own_missing && !converted->own_wrong;
}

static void attach(const struct reader_request *request, int elf_fd,
		   const struct sframe_unwind_converted *converted,
		   struct reader_reply *reply)
{
	struct sframe_unwind_segment segments[SFU_ELF_MAX_SEGMENTS];
	const struct sfu_elf *elf = &request->attach.elf;
	char message[sizeof(reply->text)] = "";
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = request->attach.flags,
		.elf_fd = elf_fd,
		.sframe_fd = -1,
		.build_id_size = elf->build_id_size,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
		.share_id = request->attach.share_id,
	};

	if (converted && is_own_enough(converted)) {
		reply->attached.is_own = true;
		return;
	}
	memcpy(arg.build_id, elf->build_id, elf->build_id_size);
	if (request->attach.flags & SFRAME_UNWIND_ATTACH_INODE) {
		for (uint32_t i = 0; i < elf->nr_segments; i++)
			segments[i] = (struct sframe_unwind_segment) {
				.address = elf->segments[i].vaddr,
				.size = elf->segments[i].memsz,
				.offset = elf->segments[i].offset,
				.file_size = elf->segments[i].filesz,
			};
		arg.segments = (uintptr_t)segments;
		arg.nr_segments = elf->nr_segments;
	}
	if (converted) {
		arg.sframe_fd = write_section(converted);
		if (arg.sframe_fd < 0) {
			reader_fail(reply, READER_KERNEL, arg.sframe_fd,
				    "no memory file for its section");
			return;
		}
		arg.sframe_size = converted->size;
		reply->attached.functions = converted->nr_functions;
		reply->attached.bytes = converted->size;
		reply->attached.own_missing = converted->own_missing;
		reply->attached.own_wrong = converted->own_wrong;
	}
	if (ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_ATTACH, &arg)) {
		const int err = errno;

		reader_fail(reply, READER_KERNEL, -err, "%s",
			    *message ? message : strerror(err));
	}
	reply->attached.id = arg.id;
	reply->attached.memory = arg.memory;
	if (arg.sframe_fd >= 0)
		close(arg.sframe_fd);
}

/* Open an O_PATH file for reading. Returns a descriptor, or -1 with @reply filled. */
static int open_again(int path_fd, struct reader_reply *reply)
{
	struct open_file file;
	int fd;

	fd = open_path_file(path_fd, &file);
	if (!fd) {
		fd = open_file_to_read(&file);
		close(file.fd);
	}
	if (fd >= 0)
		return fd;
	reader_fail(reply, READER_OPEN, fd, "%s", strerror(-fd));
	return -1;
}

static void attach_cached(const struct reader_request *request, int elf_fd,
			  struct reader_reply *reply)
{
	struct sframe_unwind_converted *converted = read_cache(request);

	if (!converted) {
		reader_fail(reply, READER_CACHE, -ENOENT, "not in the cache");
		return;
	}
	reply->attached.from_cache = true;
	attach(request, elf_fd, converted, reply);
	sframe_unwind_converted_free(converted);
}

static void attach_converted(const struct reader_request *request, int elf_fd,
			     int result_fd, struct reader_reply *reply)
{
	char text[sizeof(reply->text)];
	int err;

	err = worker_result_read_part(result_fd, &request->attach.part, NULL,
				      &to_be_kept, text, sizeof(text));
	/* The result can go to the cache even if the file cannot be opened any more. */
	if (elf_fd < 0)
		return;
	if (err)
		reader_fail(reply, READER_RESULT, err, "%s", text);
	else
		attach(request, elf_fd, to_be_kept, reply);
}

/* Make the stamp of the file, if it still is as it was when it was read. */
static void make_stamp(const struct reader_request *request, int elf_fd)
{
	const struct reader_known *known = &request->known;
	struct stat stat;

	has_stamp = known->is_set && elf_fd >= 0 && !fstat(elf_fd, &stat) &&
		    stat.st_dev == known->device &&
		    stat.st_ino == known->inode &&
		    (uint64_t)stat.st_size == known->size &&
		    stat.st_ctim.tv_sec == known->changed.tv_sec &&
		    stat.st_ctim.tv_nsec == known->changed.tv_nsec &&
		    !sfu_stamp_make(&stamp_to_be_kept, elf_fd, &stat,
				    request->mount);
}

int reader_attach(const struct reader_request *request, int path_fd,
		  int result_fd, struct reader_reply *reply)
{
	const int elf_fd = open_again(path_fd, reply);

	make_stamp(request, elf_fd);
	if (request->attach.is_converted)
		attach_converted(request, elf_fd, result_fd, reply);
	else if (elf_fd >= 0 &&
		 request->attach.flags & SFRAME_UNWIND_ATTACH_SHARE)
		attach(request, elf_fd, NULL, reply);
	else if (elf_fd >= 0)
		attach_cached(request, elf_fd, reply);
	return elf_fd;
}

bool reader_attach_cached(const struct reader_request *request, int elf_fd,
			  struct reader_reply *reply)
{
	struct reader_request direct = *request;
	struct reader_reply attached = { .attached.from_cache = true };
	struct sframe_unwind_converted *converted;

	direct.attach.elf = reply->file.elf;
	direct.attach.digest = reply->file.digest;
	direct.attach.is_trusted = reply->file.is_trusted;
	if (direct.attach.elf.sframe_size)
		direct.attach.flags |= SFRAME_UNWIND_ATTACH_PREFER;
	converted = read_cache(&direct);
	reply->file.is_uncached = !converted;
	if (!converted)
		return false;
	attach(&direct, elf_fd, converted, &attached);
	sframe_unwind_converted_free(converted);
	if (attached.error)
		return false;
	reply->attached = attached.attached;
	reply->file.is_attached = true;
	return true;
}

bool reader_attach_stamped(const struct reader_request *request, int elf_fd,
			   struct reader_reply *reply)
{
	struct sfu_snapshot headers;
	struct digest content;
	struct stamp stamp;
	struct stat stat;

	if (!request->attach.flags || !reply->file.is_trusted ||
	    !open_cache() || fstat(elf_fd, &stat) ||
	    sfu_stamp_make(&stamp, elf_fd, &stat, reply->file.mount) ||
	    sfu_stamp_find(cache, &stamp, &content) ||
	    sfu_snapshot_headers(elf_fd, &headers) || headers.elf_status)
		return false;
	/* If the file has changed since, it will be seen to differ from this. */
	headers.stat = stat;
	headers.digest = content;
	reader_fill_file(&reply->file, &headers);
	return reader_attach_cached(request, elf_fd, reply);
}

void reader_write_stamp(const struct reader_file *file, int elf_fd,
			const struct sfu_snapshot *snapshot)
{
	struct stamp stamp;

	if (file->is_trusted && open_cache() &&
	    !sfu_stamp_make(&stamp, elf_fd, &snapshot->stat, file->mount))
		sfu_stamp_write(cache, &stamp, &snapshot->digest);
}

void reader_attach_end(const struct reader_request *request)
{
	char name[CACHE_NAME_SIZE];

	if (to_be_kept && open_cache_for(request) &&
	    !cache_name(request, name) &&
	    !sfu_cache_write(cache, name, request->mapping.name, to_be_kept) &&
	    has_stamp)
		sfu_stamp_write(cache, &stamp_to_be_kept,
				&request->attach.digest);
	has_stamp = false;
	sframe_unwind_converted_free(to_be_kept);
	to_be_kept = NULL;
}
