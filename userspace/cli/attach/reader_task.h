/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader task: requests to a reader and its replies. Each is one message over a
 * socket, with file descriptors.
 */
#ifndef ATTACH_READER_TASK_H
#define ATTACH_READER_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "convert/base/digest.h"
#include "mapping.h"
#include "module/file/elf.h"
#include "worker/protocol.h"

/*
 * READER_MAPS		list the files that a process maps executable
 * READER_FILE		find and open the file of a mapping, and take a snapshot
 *			of it. With a descriptor: take a snapshot of that file, which
 *			is the daemon's own.
 * READER_ATTACH	attach a section from the cache, from a worker or of another
 *			file
 * READER_CODE		find generated code of a process, of a known runtime or
 *			announced, and attach sections to it
 *
 * Files are passed as O_PATH descriptors: opening, reading and closing a file can
 * block on its server, so only readers do that. After the reply to FILE and ATTACH
 * a reader sends a second one when it has closed the file. For a trusted file there
 * is only one reply to FILE, sent when the file has been closed.
 */
enum reader_what {
	READER_MAPS = 1,
	READER_FILE,
	READER_ATTACH,
	READER_CODE,
};

/**
 * struct reader_known - a file as it was when it was last examined
 *
 * @is_set: the other members are valid.
 *
 * For the other members see struct known.
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
 * @share_id: with SHARE, the attachment to share.
 * @is_trusted: only root can have written the file.
 * @is_converted: the request has a worker's result. Otherwise the cache is used; if
 *	it has no section, the reply's error is -ENOENT.
 * @part: the file's part of the worker's result.
 * @elf: headers of the file that the section is for.
 * @digest: digest of the snapshot that the section is made from.
 */
struct reader_attach {
	uint32_t flags;
	uint64_t share_id;
	bool is_trusted;
	bool is_converted;
	struct worker_part part;
	struct sfu_elf elf;
	struct digest digest;
};

/* Ranges of one process; and those of code that keeps frame pointers. */
#define CODE_MAX_RANGES 256U
#define CODE_MAX_PLACES 64U

/* Announced objects of one process that are remembered though they have no section. */
#define CODE_MAX_OBJECTS 128U

/**
 * struct reader_code_range - a range of addresses, and the attachment for it
 *
 * @start, @end: the range.
 * @id: of the attachment.
 * @object, @object_size: the announced object that it is for; 0 if it keeps frame
 *	pointers.
 * @key: tells it from others that have been at the same place: a hash of its bytes.
 * @weight: 1, and more for a large section: as so many ranges it counts.
 * @switches: attached as code that calls functions on another stack; 0 or 1.
 */
struct reader_code_range {
	uint64_t start;
	uint64_t end;
	uint64_t id;
	uint64_t object;
	uint64_t object_size;
	uint64_t key;
	uint64_t weight;
	uint64_t switches;
};

/**
 * enum reader_code_why - why an announced object has no section
 *
 * @CODE_REFUSED: it cannot get one: it is not tried again.
 * @CODE_LATER: something was in the way that may be gone later: it is tried again, after
 *	a pause that is longer each time, and refused after some times.
 * @CODE_AMBIGUOUS: another one has code there, too: it is tried again when that is not
 *	announced any more.
 */
enum reader_code_why {
	CODE_REFUSED = 1,
	CODE_LATER,
	CODE_AMBIGUOUS,
};

/**
 * struct reader_code_object - an announced object that has no section
 *
 * @key: see struct reader_code_range.
 * @start, @end: where its code is; both 0 if that is not known.
 * @again_at: LATER: it is not tried again before that, in nanoseconds of CLOCK_MONOTONIC.
 * @tries: LATER: how much has been spent on it. See following_objects.c.
 * @why: enum reader_code_why.
 */
struct reader_code_object {
	uint64_t key;
	uint64_t start;
	uint64_t end;
	uint64_t again_at;
	uint32_t tries;
	uint32_t why;
};

/* These, those first that were found last. */
struct reader_code_objects {
	uint32_t nr;
	struct reader_code_object all[CODE_MAX_OBJECTS];
};

/**
 * struct reader_code_text - the runtime's own file, if the process maps it, and has_text
 *
 * @is_set: there is one.
 * @is_done: it has a section, so a rule can be attached for what that says nothing about.
 * @device, @inode: of the file, as in stat(2).
 */
struct reader_code_text {
	bool is_set;
	bool is_done;
	uint64_t device;
	uint64_t inode;
};

/**
 * struct reader_code - the process as it was after the last look at it
 *
 * @text: with @text.is_done, its mappings are attached to as well.
 * @can_switch: the module knows code that calls functions on another stack.
 * @follows: also attach to code that it announces.
 * @may_convert: a worker may be used for that.
 * @nice: added to the worker's niceness.
 * @max: most ranges it may have after this look, by their weights.
 * @nr, @ranges: ranges that were attached to.
 * @objects: announced objects that have been tried and have no section.
 * @next: entry of the list of announced objects at which to go on with those that have not
 *	been tried; 0 to begin with the first. One look takes a few of them.
 */
struct reader_code {
	struct reader_code_text text;
	bool can_switch;
	bool follows;
	bool may_convert;
	int nice;
	uint32_t max;
	uint32_t nr;
	struct reader_code_range ranges[CODE_MAX_RANGES];
	struct reader_code_objects objects;
	uint64_t next;
};

/**
 * struct reader_request
 *
 * @what: enum reader_what.
 * @mapping: MAPS: pid is the process, start the address to begin at. FILE: the
 *	mapping. ATTACH: only the name is used, for listings of the cache.
 * @known: FILE: no snapshot is taken if the file is this one, unchanged. ATTACH: the
 *	file that @attach.digest is of, if it is trusted and can get a stamp.
 * @mount: ATTACH: see struct reader_file.
 * @max_bytes, @max_others: FILE: limit of the snapshot if the file is trusted, and
 *	if not.
 * @attach: ATTACH: what to attach; the request has descriptors of the ELF file,
 *	O_PATH, and of the worker's result. FILE: if its flags are not 0, a section
 *	in the cache is attached at once.
 * @code: CODE: what to do with the process @mapping.pid.
 */
struct reader_request {
	enum reader_what what;
	struct mapping mapping;
	struct reader_known known;
	uint64_t mount;
	uint64_t max_bytes;
	uint64_t max_others;
	struct reader_attach attach;
	struct reader_code code;
};

/* The step of FILE or ATTACH that failed. */
enum reader_stage {
	READER_FIND = 1,	/* open_mapped_file() */
	READER_OPEN,		/* open_file_to_read(), of ATTACH as well */
	READER_SNAPSHOT,	/* sfu_snapshot_take() */
	READER_CACHE,		/* the cache has no section */
	READER_RESULT,		/* worker_result_read() */
	READER_KERNEL,		/* the ioctl */
};

/**
 * struct reader_file - reply to FILE
 *
 * @is_found: the file was found, and @known is valid.
 * @is_trusted: only root can have written the file.
 * @is_system: besides, it is of this system: see open_file_is_of_system().
 * @is_known: the file is that of the request's known, unchanged.
 * @has_own: the kernel unwinds with the file's own .sframe.
 * @is_attached: the section from the cache has been attached; the reply has no
 *	descriptors.
 * @is_uncached: the cache has no section.
 * @known: identity of the file.
 * @elf, @elf_status, @digest: see struct sfu_snapshot. The reply has descriptors of
 *	the file, O_PATH, and of the snapshot.
 * @nr_bytes: bytes of the snapshot.
 * @mount: of a trusted file, the unique ID of its mount; 0 if it is not known.
 * @name: name of the file, if the request had none.
 */
struct reader_file {
	bool is_found;
	bool is_trusted;
	bool is_system;
	bool is_known;
	bool has_own;
	bool is_attached;
	bool is_uncached;
	struct reader_known known;
	int elf_status;
	struct sfu_elf elf;
	struct digest digest;
	uint64_t nr_bytes;
	uint64_t mount;
	char name[MAPPING_NAME_SIZE];
};

/**
 * struct reader_attached - the attachment that was made: see struct known
 *
 * @is_own: nothing was attached, because the file's own .sframe is as good.
 * @own_missing, @own_wrong: see struct sframe_unwind_converted.
 */
struct reader_attached {
	uint64_t id;
	uint64_t functions;
	uint64_t bytes;
	uint64_t memory;
	uint64_t own_missing;
	uint64_t own_wrong;
	bool from_cache;
	bool is_own;
};

/**
 * struct reader_maps - reply to MAPS
 *
 * @next: address to continue at; 0 if the list is complete.
 * @nr: entries that follow the reply, each a struct reader_maps_entry with a name.
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
 * struct reader_code_reply - reply to CODE
 *
 * @is_runtime: the process is one of a runtime, or can announce code. If not, or if it has
 *	ended, it has no ranges.
 * @announces: it can announce code.
 * @is_quiet: it can, but has announced none, or is of a runtime whose code is shared; it has
 *	no such code, and it is of no other runtime.
 * @is_full: it has more ranges than the request allows.
 * @is_refused: the kernel's limits are reached.
 * @has_changed: its mappings have changed during the look.
 * @is_partial: a range was left out that may be attached to later: its addresses have a
 *	section of another client, or of a process with which this one shares its memory;
 *	or it has changed; or the kernel had no room or memory;
 *	or there were too many mappings to read them all now, or the time was over,
 *	or it needs a worker and may not have one.
 * @worker_ns: time that workers have taken.
 * @text: the runtime's file.
 * @objects, @next: see struct reader_code.
 * @nr: ranges that have an attachment now, which follow the reply, each a struct
 *	reader_code_range: those of announced code behind the others, these by address.
 *	Those of the request that are not among them may still be attached.
 */
struct reader_code_reply {
	bool is_runtime;
	bool announces;
	bool is_quiet;
	bool is_full;
	bool is_refused;
	bool has_changed;
	bool is_partial;
	uint64_t worker_ns;
	struct reader_code_text text;
	struct reader_code_objects objects;
	uint64_t next;
	uint32_t nr;
};

/**
 * struct reader_reply
 *
 * @error: 0 or a negative errno.
 * @stage: the step that failed.
 * @is_last: the reader is idle again. If not set, another reply follows.
 * @cpu_ns: CPU time since the last reply.
 * @text: message of the failure; may have bytes of the file, so escape it.
 * @attached: reply to ATTACH, and to FILE with @file.is_attached.
 * @maps: reply to MAPS.
 * @file: reply to FILE.
 * @code: reply to CODE.
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
		struct reader_code_reply code;
	};
};

/* Bytes of the longest reply, with everything that follows it. */
#define READER_MAX_REPLY 65536

/* Descriptors of a reader; 0 to 2 are /dev/null. */
#define READER_SOCKET	3
#define READER_DEVICE	4
#define READER_TOLD	5	/* where announced code is told, see told.h; or /dev/null */

/* Main loop of a reader. Returns when the socket is closed. */
int reader_run(void *data);

/* The tasks. */
void reader_maps(const struct reader_request *request,
		 struct reader_reply *reply, unsigned char *entries,
		 size_t *size);

/*
 * READER_CODE. Fills in the ranges at @entries, of READER_MAX_REPLY bytes less those of
 * the reply, and sets *@size to their bytes.
 */
void reader_code(const struct reader_request *request,
		 struct reader_reply *reply, unsigned char *entries,
		 size_t *size);

/*
 * READER_FILE. @given_fd is the file, or -1 to find it. Sets @fds to the file,
 * O_PATH, and the snapshot, to be closed by the caller; -1 if there is none. Returns
 * the file, open for reading, to be closed after the reply has been sent, or -1.
 */
int reader_file(const struct reader_request *request, int given_fd,
		struct reader_reply *reply, int fds[2]);

/*
 * READER_ATTACH. @path_fd is the ELF file, O_PATH, @result_fd the worker's result or
 * -1. Returns the ELF file, open for reading, to be closed after the reply has been
 * sent, or -1. Call reader_attach_end() afterwards.
 */
int reader_attach(const struct reader_request *request, int path_fd,
		  int result_fd, struct reader_reply *reply);

/*
 * After the reply to ATTACH has been sent: store the worker's result in the cache, and
 * the stamp of the file that it is of.
 */
void reader_attach_end(const struct reader_request *request);

/*
 * Part of READER_FILE: if the cache has a section, attach it to the file @elf_fd at
 * once. Returns whether it is attached. Errors are not returned: a later ATTACH
 * request will run into them again.
 */
bool reader_attach_cached(const struct reader_request *request, int elf_fd,
			  struct reader_reply *reply);

/*
 * The same for a trusted file whose contents are known by its stamp, so that it is not
 * read. Returns false if there is no stamp, too.
 */
bool reader_attach_stamped(const struct reader_request *request, int elf_fd,
			   struct reader_reply *reply);

struct sfu_snapshot;

/* Fill in what the reply tells of a snapshot. */
void reader_fill_file(struct reader_file *file,
		      const struct sfu_snapshot *snapshot);

/* Store a stamp of the file @elf_fd, if it is trusted: @snapshot is what was read. */
void reader_write_stamp(const struct reader_file *file, int elf_fd,
			const struct sfu_snapshot *snapshot);

/* Fill in the failure of a reply. */
__attribute__((format(printf, 4, 5)))
void reader_fail(struct reader_reply *reply, enum reader_stage stage, int error,
		 const char *format, ...);

#endif /* ATTACH_READER_TASK_H */
