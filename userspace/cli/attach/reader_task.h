/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader task: what a reader is asked, and what it answers. One message each,
 * over a socket, with file descriptors.
 */
#ifndef ATTACH_READER_TASK_H
#define ATTACH_READER_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "convert/digest.h"
#include "mapping.h"
#include "module/file/elf.h"

/*
 * READER_MAPS		which files does a process map executable?
 * READER_FILE		find the file of a mapping, open it, and take a snapshot
 *			of it. With a descriptor: of that file, which is ours.
 * READER_ATTACH	attach what the cache, a worker or another file has.
 *
 * Files come and go as O_PATH descriptors: to open, to read and to close(2) one is
 * to wait for its server, which is for readers only. One that has told of a file
 * says once more that it has closed it.
 */
enum reader_what {
	READER_MAPS = 1,
	READER_FILE,
	READER_ATTACH,
};

/**
 * struct reader_known - a file as it was when it was last looked at
 *
 * @is_set: is there one?
 * The others: see struct known.
 */
struct reader_known {
	bool is_set;
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	struct timespec changed;
};

/**
 * struct reader_attach - how to attach
 *
 * @flags: SFRAME_UNWIND_ATTACH_* bits.
 * @share_id: with SHARE.
 * @is_converted: is there a worker's result? Else the cache is asked, and @error
 *	is -ENOENT if it has none.
 * @elf: what the section is for.
 * @digest: of the snapshot that it was or is to be made of.
 */
struct reader_attach {
	uint32_t flags;
	uint64_t share_id;
	bool is_converted;
	struct sfu_elf elf;
	struct digest digest;
};

/**
 * struct reader_request
 *
 * @mapping: of MAPS its pid and start, the address to start at; of FILE; of ATTACH
 *	its name, for those who list the cache.
 * @known: of FILE: no snapshot if it is this one.
 * @max_bytes, @max_others: of FILE: of the snapshot, if nobody but root can have
 *	written the file, and otherwise.
 * @attach: of ATTACH, with descriptors of the ELF file, O_PATH, and of the worker's
 *	result. Of FILE: if @flags are set, what the cache has is attached at once.
 */
struct reader_request {
	enum reader_what what;
	struct mapping mapping;
	struct reader_known known;
	uint64_t max_bytes;
	uint64_t max_others;
	struct reader_attach attach;
};

/* Where it failed, of FILE and ATTACH. */
enum reader_stage {
	READER_FIND = 1,	/* open_mapped_file() */
	READER_OPEN,		/* open_file_to_read(), of ATTACH as well */
	READER_SNAPSHOT,	/* sfu_snapshot_take() */
	READER_CACHE,		/* the cache has none */
	READER_RESULT,		/* worker_result_read() */
	READER_KERNEL,		/* the ioctl */
};

/**
 * struct reader_file - a file that was found
 *
 * @is_found: is the following of it known?
 * @is_trusted: nobody but root can have written it.
 * @is_known: it is the one that is known already, unchanged.
 * @has_own: the kernel unwinds with its own .sframe.
 * @is_attached: what the cache has is attached already. Without descriptors.
 * @is_uncached: the cache has been asked, and has none.
 * @known: the file.
 * @elf, @elf_status, @digest: see struct sfu_snapshot. With descriptors of the
 *	file, O_PATH, and of the snapshot.
 * @nr_bytes: bytes of the snapshot.
 * @name: of the file, if the request had none.
 */
struct reader_file {
	bool is_found;
	bool is_trusted;
	bool is_known;
	bool has_own;
	bool is_attached;
	bool is_uncached;
	struct reader_known known;
	int elf_status;
	struct sfu_elf elf;
	struct digest digest;
	uint64_t nr_bytes;
	char name[MAPPING_NAME_SIZE];
};

/* What was attached: see struct known. */
struct reader_attached {
	uint64_t id;
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	bool from_cache;
};

/**
 * struct reader_maps - files that a process maps
 *
 * @next: address to go on at; 0 if this was all.
 * @nr: entries, each a struct reader_maps_entry with a name.
 */
struct reader_maps {
	uint64_t next;
	uint32_t nr;
};

/* Followed by @name_size bytes, with the terminating 0. */
struct reader_maps_entry {
	uint64_t start;
	uint64_t end;
	struct file_key key;
	uint32_t name_size;
};

/**
 * struct reader_reply
 *
 * @error: 0 or a negative errno, at @stage, with @text, which may have bytes of
 *	the file: to be escaped.
 * @is_last: may the reader be asked again? Else another reply will say so.
 * @cpu_ns: CPU time since the last reply.
 * @attached: of ATTACH, and of FILE with @file.is_attached.
 */
struct reader_reply {
	int error;
	enum reader_stage stage;
	bool is_last;
	uint64_t cpu_ns;
	char text[256];
	struct reader_attached attached;
	union {
		struct reader_maps maps;
		struct reader_file file;
	};
};

/* Bytes of the longest reply, with all that follows it. */
#define READER_MAX_REPLY 65536

/* Descriptors of a reader, beside those that are /dev/null. */
#define READER_SOCKET	3
#define READER_DEVICE	4

/* Life of a reader. Does not return before the socket is closed. */
int reader_run(void *data);

/* The tasks. */
void reader_maps(const struct reader_request *request,
		 struct reader_reply *reply, unsigned char *entries,
		 size_t *size);

/*
 * @given_fd: the file, or -1 to find it. @fds: of file and snapshot, to be closed;
 * -1 if there is none. Returns the file, open for reading, to be closed when that
 * has been told, or -1.
 */
int reader_file(const struct reader_request *request, int given_fd,
		struct reader_reply *reply, int fds[2]);

/*
 * @path_fd, @result_fd: see struct reader_request; -1 if there is none. Returns the
 * file in the same way. reader_attach_end() is to follow.
 */
int reader_attach(const struct reader_request *request, int path_fd,
		  int result_fd, struct reader_reply *reply);

/* After that has been told: what is left to do of it. */
void reader_attach_end(const struct reader_request *request);

/*
 * After reader_file(): attach to the file @elf_fd at once, if the cache has it.
 * Returns whether it is attached; what went wrong is found out again by those who
 * ask for ATTACH.
 */
bool reader_attach_cached(const struct reader_request *request, int elf_fd,
			  struct reader_reply *reply);

/* Say what is wrong. */
__attribute__((format(printf, 4, 5)))
void reader_fail(struct reader_reply *reply, enum reader_stage stage, int error,
		 const char *format, ...);

#endif /* ATTACH_READER_TASK_H */
