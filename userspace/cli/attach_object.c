// SPDX-License-Identifier: GPL-2.0
/*
 * Objects: files with code, and the sections that were attached to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "attach_file.h"
#include "attach_object.h"
#include "cli.h"
#include "module/elf.h"
#include "module/sframe_format.h"

#define NR_BUCKETS 1024

/**
 * struct object - files that are alike to the kernel
 *
 * @next: in its bucket.
 * @elf: what its headers say; only members that hold for all of its files.
 * @device, @inode, @changed: of a file without build ID, which is an object by
 *	itself until it is changed.
 * @name: of the file it was first seen as.
 * @state: what became of it.
 * @reason: why it was refused; a constant string.
 * @id, @functions, @bytes, @memory: of what was attached.
 * @round: of marking, in which it was last used.
 * @lacks_room: was it refused because the kernel had no room?
 */
struct object {
	struct object *next;
	struct sfu_elf elf;
	dev_t device;
	ino_t inode;
	struct timespec changed;
	char *name;
	enum object_state state;
	const char *reason;
	uint64_t id;
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	unsigned int round;
	bool lacks_room;
};

struct objects {
	struct sframe_unwind *handle;
	object_told_fn told;
	object_busy_fn busy;
	void *data;
	int sframe_fd;		/* carries sections to the kernel */
	unsigned int round;
	bool wants_room;
	struct object_totals totals;
	struct object *objects[NR_BUCKETS];
	struct known_files files;
	const char *busy_name;
};

struct objects *objects_create(struct sframe_unwind *handle,
			       object_told_fn told, object_busy_fn busy,
			       void *data)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->handle = handle;
	objects->told = told;
	objects->busy = busy;
	objects->data = data;
	objects->sframe_fd = memfd_create("sframe", MFD_CLOEXEC);
	if (objects->sframe_fd < 0) {
		free(objects);
		return NULL;
	}
	return objects;
}

void objects_free(struct objects *objects)
{
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		while (objects->objects[i]) {
			struct object *object = objects->objects[i];

			objects->objects[i] = object->next;
			free(object->name);
			free(object);
		}
	}
	known_files_free(&objects->files);
	close(objects->sframe_fd);
	free(objects);
}

const struct object_totals *objects_totals(const struct objects *objects)
{
	return &objects->totals;
}

bool objects_know(struct objects *objects, const struct stat *stat)
{
	struct object *object = known_files_find(&objects->files, stat);

	if (object)
		object->round = objects->round;
	return object;
}

/* --- what a file says about itself */

struct fd_reader {
	struct sfu_elf_reader reader;
	int fd;
};

static int read_fd(const struct sfu_elf_reader *reader, u64 offset, void *to,
		   u32 size)
{
	const struct fd_reader *from = (const struct fd_reader *)reader;
	size_t done = 0;

	while (done < size) {
		const ssize_t got = pread(from->fd, (char *)to + done,
					  size - done, offset + done);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got)
			return -EFAULT;
		if (got > 0)
			done += got;
	}
	return 0;
}

/* Does the kernel unwind with the file's own section? */
static bool has_own(const struct sfu_elf *elf, const struct fd_reader *from)
{
	unsigned char header[SFRAME_HDR_SIZE];

	return elf->sframe_size >= sizeof(header) &&
	       !read_fd(&from->reader, elf->sframe_offset, header,
			sizeof(header)) &&
	       header[0] == 0xe2 && header[1] == 0xde && header[2] == 3 &&
	       (header[8] || header[9] || header[10] || header[11]);
}

static bool is_same(const struct object *object, const struct sfu_elf *elf,
		    const struct stat *stat)
{
	if (object->elf.build_id_size != elf->build_id_size ||
	    object->elf.nr_segments != elf->nr_segments ||
	    memcmp(object->elf.build_id, elf->build_id, elf->build_id_size) ||
	    memcmp(object->elf.segments, elf->segments,
		   elf->nr_segments * sizeof(elf->segments[0])))
		return false;
	return elf->build_id_size ||
	       (object->device == stat->st_dev &&
		object->inode == stat->st_ino &&
		is_unchanged(&object->changed, stat));
}

static struct object **object_bucket(struct objects *objects,
				     const struct sfu_elf *elf)
{
	uint32_t hash = 0;

	memcpy(&hash, elf->build_id, sizeof(hash));
	return &objects->objects[hash % NR_BUCKETS];
}

static struct object *find_object(struct objects *objects,
				  const struct sfu_elf *elf,
				  const struct stat *stat)
{
	struct object *object = *object_bucket(objects, elf);

	while (object && !is_same(object, elf, stat))
		object = object->next;
	return object;
}

static struct object *add_object(struct objects *objects,
				 const struct sfu_elf *elf,
				 const struct stat *stat, const char *name)
{
	struct object **bucket = object_bucket(objects, elf);
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->name = strdup(name);
	if (!object->name) {
		free(object);
		return NULL;
	}
	object->elf = *elf;
	object->device = stat->st_dev;
	object->inode = stat->st_ino;
	object->changed = stat->st_ctim;
	object->next = *bucket;
	*bucket = object;
	return object;
}

/* --- converting and attaching */

/* Say what became of @object, and count it. */
__attribute__((format(printf, 4, 5)))
static void settle(struct objects *objects, struct object *object,
		   enum object_state state, const char *format, ...)
{
	char text[512];
	va_list args;

	object->state = state;
	objects->totals.nr[state]++;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	objects->told(objects->data, object->name, state, text);
}

static void refuse(struct objects *objects, struct object *object,
		   const char *reason, const char *text)
{
	const size_t length = strlen(object->name);

	/* The converter's messages begin with the name. */
	if (!strncmp(text, object->name, length) && text[length] == ':')
		text += length + 2;
	object->reason = reason;
	settle(objects, object, OBJECT_REFUSED, "%s", text);
}

static const char *conversion_reason(int error)
{
	switch (error) {
	case -ENODATA:
		return "no call frame information";
	case -EOPNOTSUPP:
		return "not a linked program or shared object of x86-64";
	case -EINVAL:
		return "malformed file or call frame information";
	case -EFBIG:
		return "too large for SFrame";
	case -ENOMEM:
		return "no memory to convert it";
	default:
		return "cannot be read";
	}
}

static void on_progress(void *data, uint64_t done, uint64_t whole)
{
	struct objects *objects = data;

	(void)done;
	(void)whole;
	objects->busy(objects->data, objects->busy_name);
}

static int put_section(int fd, const struct sframe_unwind_converted *section)
{
	size_t done = 0;

	if (ftruncate(fd, 0))
		return -errno;
	while (done < section->size) {
		const ssize_t put = pwrite(fd, section->bytes + done,
					   section->size - done, done);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0)
			done += put;
	}
	return 0;
}

/* Returns 0, or -EPERM or -EBADF, with which there is no going on. */
static int attach(struct objects *objects, struct object *object, int fd,
		  const struct sframe_unwind_converted *section)
{
	struct sframe_unwind_attach arg = {
		.flags = SFRAME_UNWIND_ATTACH_SYSTEM,
		.elf_fd = fd,
		.sframe_fd = objects->sframe_fd,
		.sframe_size = section->size,
		.build_id_size = object->elf.build_id_size,
	};
	const bool from_cache =
		section->flags & SFRAME_UNWIND_CONVERTED_FROM_CACHE;
	int err;

	/* Its own is of a version that the kernel does not know, or empty. */
	if (object->elf.sframe_size)
		arg.flags |= SFRAME_UNWIND_ATTACH_PREFER;
	memcpy(arg.build_id, object->elf.build_id, arg.build_id_size);
	err = put_section(objects->sframe_fd, section);
	if (err) {
		refuse(objects, object, "no memory to carry its section",
		       strerror(-err));
		return 0;
	}
	err = sframe_unwind_attach(objects->handle, &arg);
	if (err == -EPERM || err == -EBADF)
		return err;
	if (err) {
		object->lacks_room = err == -ENOSPC || err == -ENOMEM;
		objects->wants_room |= err == -ENOSPC;
		refuse(objects, object, object->lacks_room ?
		       "no room in the kernel" : "refused by the kernel",
		       sframe_unwind_error(objects->handle));
		return 0;
	}
	object->id = arg.id;
	object->functions = section->nr_functions;
	object->bytes = section->size;
	object->memory = arg.memory;
	objects->totals.functions += object->functions;
	objects->totals.bytes += object->bytes;
	objects->totals.memory += object->memory;
	objects->totals.from_cache += from_cache;
	settle(objects, object, OBJECT_ATTACHED,
	       "%" PRIu64 " functions, %zu bytes, %" PRIu64 " of kernel memory%s",
	       section->nr_functions, section->size, (uint64_t)arg.memory,
	       from_cache ? ", from the cache" : "");
	return 0;
}

static int convert_and_attach(struct objects *objects, struct object *object,
			      int fd)
{
	const struct sframe_unwind_convert_options options = {
		.progress = on_progress,
		.data = objects,
	};
	struct sframe_unwind_converted *section;
	int err;

	objects->busy_name = object->name;
	objects->busy(objects->data, object->name);
	err = sframe_unwind_convert_cached(fd, object->name, &options,
					   &section);
	if (err) {
		refuse(objects, object, conversion_reason(err),
		       sframe_unwind_convert_error());
		return 0;
	}
	err = attach(objects, object, fd, section);
	sframe_unwind_converted_free(section);
	return err;
}

int objects_look(struct objects *objects, int fd, const struct stat *stat,
		 const char *name, const unsigned char *build_id,
		 size_t build_id_size, bool *is_other)
{
	const struct fd_reader from = { .reader.read = read_fd, .fd = fd };
	struct object *object;
	struct sfu_elf elf;
	int err;

	err = sfu_elf_read(&elf, &from.reader);
	*is_other = build_id_size && (elf.build_id_size != build_id_size ||
				      memcmp(elf.build_id, build_id,
					     build_id_size));
	object = find_object(objects, &elf, stat);
	if (!object) {
		object = add_object(objects, &elf, stat, name);
		if (!object)
			return 0;
		object->round = objects->round;
		if (err) {
			settle(objects, object, OBJECT_FOREIGN, "%s",
			       elf.problem ? elf.problem : strerror(-err));
			err = 0;
		} else if (has_own(&elf, &from)) {
			settle(objects, object, OBJECT_OWN,
			       "has its own .sframe");
		} else {
			err = convert_and_attach(objects, object, fd);
		}
	} else {
		err = 0;
	}
	object->round = objects->round;
	known_files_set(&objects->files, stat, object);
	return err;
}

/* --- making room */

bool objects_want_room(struct objects *objects)
{
	const bool wants_room = objects->wants_room;

	objects->wants_room = false;
	return wants_room;
}

void objects_begin_use(struct objects *objects)
{
	objects->round++;
}

static void forget(struct objects *objects, struct object *object)
{
	struct object_totals *totals = &objects->totals;

	known_files_forget(&objects->files, object);
	totals->nr[object->state]--;
	totals->functions -= object->functions;
	totals->bytes -= object->bytes;
	totals->memory -= object->memory;
	free(object->name);
	free(object);
}

void objects_end_use(struct objects *objects)
{
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		struct object **link = &objects->objects[i];

		while (*link) {
			struct object *object = *link;

			if (!object->lacks_room &&
			    object->round == objects->round) {
				link = &object->next;
				continue;
			}
			if (object->id &&
			    !sframe_unwind_detach(objects->handle, object->id))
				objects->totals.detached++;
			*link = object->next;
			forget(objects, object);
		}
	}
}

void objects_print_refused(const struct objects *objects)
{
	const char *seen[16];
	size_t nr_seen = 0;

	for (size_t i = 0; i < NR_BUCKETS; i++)
		for (const struct object *o = objects->objects[i]; o;
		     o = o->next) {
			unsigned int count = 0;
			size_t j;

			for (j = 0; j < nr_seen && seen[j] != o->reason; j++)
				;
			if (o->state != OBJECT_REFUSED || j < nr_seen ||
			    nr_seen == 16)
				continue;
			seen[nr_seen++] = o->reason;
			for (j = 0; j < NR_BUCKETS; j++)
				for (const struct object *other =
					objects->objects[j]; other;
				     other = other->next)
					count += other->state ==
						 OBJECT_REFUSED &&
						 other->reason == o->reason;
			printf("refused: %u: %s, such as %s\n", count,
			       o->reason, o->name);
		}
}
