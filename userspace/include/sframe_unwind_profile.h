/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Reads and writes profiles: files in the format of perf.data. The reader also
 * reads what perf(1) has written, compressed or to a pipe; perf reads what the
 * writer writes. Link with libsframe_unwind_profile and libzstd.
 *
 * A profile consists of sources, the events that were sampled, and of records:
 * samples, and changes of processes and their mappings, which are needed to
 * name the addresses in samples. Records are returned in the order of the file,
 * which is not that of time if several CPUs have written them.
 *
 * Files are not trusted. The memory that a reader uses does not depend on the
 * number of records: at most 300 MiB, most of it for compressed files, usually
 * less than 3 MiB. A compressed file that would become more than 16 MiB and 1024
 * times its size is not well-formed. A record that is not well-formed ends the reading, with a
 * message that tells its offset; the records before it have been returned.
 *
 * All functions that return int return 0 or another result named at the
 * function, or -errno. A reader or writer has no lock: its owner must serialize
 * access to it. Nothing here is async-signal-safe.
 */
#ifndef SFRAME_UNWIND_PROFILE_H
#define SFRAME_UNWIND_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of bytes of a build ID. */
#define SFRAME_UNWIND_PROFILE_BUILD_ID	20

/* Largest number of frames of a sample. */
#define SFRAME_UNWIND_PROFILE_FRAMES	16384

/* Value of a process, thread, CPU or source that is not known. */
#define SFRAME_UNWIND_PROFILE_NONE	UINT32_MAX

/**
 * struct sframe_unwind_profile_source - an event that was sampled
 *
 * @name: its name, as in the command line of perf; escape before printing.
 * @ids: ids that its records have in the file. For the writer: one for each
 *	event that the source consists of (for instance, one for each CPU); if
 *	there is more than one source, no id may be 0 or be used twice.
 * @nr_ids: number of @ids.
 * @type: perf_event_attr.type.
 * @config: perf_event_attr.config.
 * @period: perf_event_attr.sample_period, or sample_freq if @frequency.
 * @frequency: whether @period is a frequency in Hz; 0 or 1.
 * @is_user_only: whether the kernel was not sampled; 0 or 1.
 */
struct sframe_unwind_profile_source {
	const char *name;
	const uint64_t *ids;
	size_t nr_ids;
	uint32_t type;
	uint32_t frequency;
	uint64_t config;
	uint64_t period;
	uint32_t is_user_only;
	uint32_t reserved;
};

/**
 * enum sframe_unwind_profile_kind - kind of a record
 *
 * @SFRAME_UNWIND_PROFILE_SAMPLE: a sample.
 * @SFRAME_UNWIND_PROFILE_MAP: memory was mapped.
 * @SFRAME_UNWIND_PROFILE_COMM: a thread has a new name.
 * @SFRAME_UNWIND_PROFILE_FORK: a thread or process was created.
 * @SFRAME_UNWIND_PROFILE_EXIT: a thread ended.
 * @SFRAME_UNWIND_PROFILE_LOST: records were lost, among them maybe samples.
 * @SFRAME_UNWIND_PROFILE_LOST_SAMPLES: samples were lost.
 */
enum sframe_unwind_profile_kind {
	SFRAME_UNWIND_PROFILE_SAMPLE		= 1,
	SFRAME_UNWIND_PROFILE_MAP		= 2,
	SFRAME_UNWIND_PROFILE_COMM		= 3,
	SFRAME_UNWIND_PROFILE_FORK		= 4,
	SFRAME_UNWIND_PROFILE_EXIT		= 5,
	SFRAME_UNWIND_PROFILE_LOST		= 6,
	SFRAME_UNWIND_PROFILE_LOST_SAMPLES	= 7,
};

/**
 * enum sframe_unwind_profile_entry - how the thread had entered the kernel
 *
 * @SFRAME_UNWIND_PROFILE_ENTRY_UNKNOWN: the profile does not tell.
 * @SFRAME_UNWIND_PROFILE_ENTRY_NONE: it had not: it was in user mode.
 * @SFRAME_UNWIND_PROFILE_ENTRY_SYSCALL: by a system call.
 * @SFRAME_UNWIND_PROFILE_ENTRY_FAULT: by a page fault or another exception.
 * @SFRAME_UNWIND_PROFILE_ENTRY_INTERRUPT: by an interrupt.
 * @SFRAME_UNWIND_PROFILE_ENTRY_NEW: it is a new thread, not yet in user mode.
 */
enum sframe_unwind_profile_entry {
	SFRAME_UNWIND_PROFILE_ENTRY_UNKNOWN	= 0,
	SFRAME_UNWIND_PROFILE_ENTRY_NONE	= 1,
	SFRAME_UNWIND_PROFILE_ENTRY_SYSCALL	= 2,
	SFRAME_UNWIND_PROFILE_ENTRY_FAULT	= 3,
	SFRAME_UNWIND_PROFILE_ENTRY_INTERRUPT	= 4,
	SFRAME_UNWIND_PROFILE_ENTRY_NEW		= 5,
};

/*
 * Values of @stop in struct sframe_unwind_profile_sample beside those of enum
 * sframe_unwind_stop: there is no user stack.
 *
 * REFUSED	the module refused to unwind it: SFRAME_UNWIND_USER_REFUSED of
 *		<linux/sframe_unwind_sample.h>
 * LATE		the thread did not return to user mode before the recording ended, or
 *		while the sample could be kept; or the stack was lost
 */
#define SFRAME_UNWIND_PROFILE_STOP_REFUSED	128U
#define SFRAME_UNWIND_PROFILE_STOP_LATE		129U

/* Flags of struct sframe_unwind_profile_sample. */

/* The sample has a call chain, even if it is empty. */
#define SFRAME_UNWIND_PROFILE_CHAIN		0x01U
/* The user part of the chain was deferred, and is not in the file. */
#define SFRAME_UNWIND_PROFILE_USER_MISSING	0x02U
/* The sampled instruction is the kernel's. */
#define SFRAME_UNWIND_PROFILE_KERNEL		0x04U

/**
 * struct sframe_unwind_profile_sample - one sample
 *
 * @ip: the sampled instruction pointer.
 * @address: the data address, for instance of a page fault; 0 if there is none.
 * @period: events that the sample stands for. The writer stores it only with
 *	SFRAME_UNWIND_PROFILE_WRITE_PERIOD; else it is the source's period, or 1.
 * @frames: the call chain, the innermost frame first, kernel before user. The
 *	first one of each of the two parts is an exact address; the others are
 *	return addresses.
 * @how: how each of the user's frames was found, as enum sframe_unwind_frame of
 *	<linux/sframe_unwind.h>; NULL if not known.
 * @raw: data of a tracepoint, or NULL.
 * @raw_size: its size in bytes.
 * @nr_kernel: number of the kernel's frames, the first ones of @frames.
 * @nr_user: number of the user's frames, behind them.
 * @flags: SFRAME_UNWIND_PROFILE_* bits.
 * @stop: why the user's stack ends, as enum sframe_unwind_stop of
 *	<linux/sframe_unwind.h>, or SFRAME_UNWIND_PROFILE_STOP_*; 0 if not known.
 * @entry: enum sframe_unwind_profile_entry.
 */
struct sframe_unwind_profile_sample {
	uint64_t ip;
	uint64_t address;
	uint64_t period;
	const uint64_t *frames;
	const uint8_t *how;
	const void *raw;
	uint32_t raw_size;
	uint32_t nr_kernel;
	uint32_t nr_user;
	uint32_t flags;
	uint32_t stop;
	uint32_t entry;
};

/**
 * struct sframe_unwind_profile_map - one mapping
 *
 * @start: first address.
 * @size: bytes.
 * @offset: offset of the first byte in the file.
 * @name: path of the file, or the kernel's name in brackets; escape before
 *	printing.
 * @build_id: the file's build ID.
 * @build_id_size: its size in bytes; 0 if it is not known.
 * @is_kernel: whether it belongs to the kernel; 0 or 1.
 * @is_code: whether it is executable; 0 or 1.
 */
struct sframe_unwind_profile_map {
	uint64_t start;
	uint64_t size;
	uint64_t offset;
	const char *name;
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t build_id_size;
	uint32_t is_kernel;
	uint32_t is_code;
};

/**
 * struct sframe_unwind_profile_record - one record
 *
 * @kind: enum sframe_unwind_profile_kind.
 * @source: index of its source, or SFRAME_UNWIND_PROFILE_NONE.
 * @offset: where the file has it, in bytes; for a compressed record, where the
 *	compressed data begins.
 * @time: in nanoseconds, of the clock that was chosen when recording; 0 if not
 *	known.
 * @pid: the process, or SFRAME_UNWIND_PROFILE_NONE.
 * @tid: the thread, or SFRAME_UNWIND_PROFILE_NONE.
 * @cpu: the CPU, or SFRAME_UNWIND_PROFILE_NONE.
 * @sample: for a sample.
 * @map: for a mapping.
 * @comm: for a name.
 * @comm.name: the name; escape before printing.
 * @comm.is_exec: whether the process executed another program; 0 or 1.
 * @task: for fork and exit.
 * @task.ppid: process of the parent.
 * @task.ptid: thread of the parent.
 * @task.has_own_maps: the mappings of a new process are those that further
 *	records tell; else it begins with those of its parent; 0 or 1.
 * @lost: number of records or samples that were lost.
 */
struct sframe_unwind_profile_record {
	uint32_t kind;
	uint32_t source;
	uint64_t offset;
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint32_t reserved;
	union {
		struct sframe_unwind_profile_sample sample;
		struct sframe_unwind_profile_map map;
		struct {
			const char *name;
			uint32_t is_exec;
		} comm;
		struct {
			uint32_t ppid;
			uint32_t ptid;
			uint32_t has_own_maps;
		} task;
		uint64_t lost;
	};
};

/*
 * --- reader
 */

struct sframe_unwind_profile;

/*
 * Open a profile for reading. @fd stays the caller's and must stay open; its
 * file position is not used, except if it is a pipe or a socket: that is first
 * read to its end, into an unlinked file in $TMPDIR or /var/tmp.
 *
 * Returns 0; or
 * -EINVAL	no profile, or its header is not well-formed
 * -EOPNOTSUPP	a profile of a machine with the other byte order, or one of
 *		several files
 * -ENOMEM, -EIO and other errors of reading.
 *
 * If *@profile is not NULL after an error, sframe_unwind_profile_error() tells
 * more about it; it must be closed in any case.
 */
int sframe_unwind_profile_open(struct sframe_unwind_profile **profile, int fd);

/* Close a reader; NULL does nothing. */
void sframe_unwind_profile_close(struct sframe_unwind_profile *profile);

/*
 * Get the next record. It is valid until the next call for the same reader.
 * Records that are not described here are skipped.
 *
 * A sample whose user part was deferred is returned when that part was read, or
 * when 64 MiB of such samples wait, or at the end.
 *
 * Returns 1; 0 at the end; or
 * -EINVAL	the next record is not well-formed
 * -ENOMEM, -EIO and other errors of reading.
 * After an error, samples that waited are not returned.
 */
int sframe_unwind_profile_next(struct sframe_unwind_profile *profile,
			       const struct sframe_unwind_profile_record **record);

/* Start again with the first record. */
void sframe_unwind_profile_rewind(struct sframe_unwind_profile *profile);

/*
 * Whether to skip samples, without checking that they are well-formed. This is
 * faster for callers that only need to know what was mapped.
 */
void sframe_unwind_profile_skip_samples(struct sframe_unwind_profile *profile, int skip);

/* What was wrong: a sentence in English, with offsets. "" if nothing was. */
const char *sframe_unwind_profile_error(const struct sframe_unwind_profile *profile);

/*
 * At the end: NULL, or a sentence if the file ends too early, as when recording
 * was killed or the disk was full. The records before were returned.
 */
const char *sframe_unwind_profile_truncated(const struct sframe_unwind_profile *profile);

/* Bytes of the file. */
uint64_t sframe_unwind_profile_size(const struct sframe_unwind_profile *profile);

/* Number of sources; in a profile from a pipe, of those known so far. */
size_t sframe_unwind_profile_sources(const struct sframe_unwind_profile *profile);

/* Source @index, or NULL if there is none. Valid until the next record. */
const struct sframe_unwind_profile_source *
sframe_unwind_profile_source(struct sframe_unwind_profile *profile, size_t index);

/* Facts about the machine and the recording. */
enum sframe_unwind_profile_fact {
	SFRAME_UNWIND_PROFILE_HOSTNAME	= 0,
	SFRAME_UNWIND_PROFILE_RELEASE	= 1,	/* of the kernel */
	SFRAME_UNWIND_PROFILE_VERSION	= 2,	/* of the recorder */
	SFRAME_UNWIND_PROFILE_ARCH	= 3,
	SFRAME_UNWIND_PROFILE_COMMAND	= 4,	/* its command line */
};

/*
 * Returns NULL if the profile does not tell. Escape before printing. The writer
 * stores all of them.
 */
const char *sframe_unwind_profile_fact(const struct sframe_unwind_profile *profile,
				       enum sframe_unwind_profile_fact fact);

/* Clock of the times, as for clock_gettime(); -1 if it is perf's own. */
int sframe_unwind_profile_clock(const struct sframe_unwind_profile *profile);

/*
 * --- writer
 */

struct sframe_unwind_profile_writer;

/*
 * Flags of the writer: what samples contain beside the call chain; and whether records
 * are compressed, by zstd: equal stacks then take a few bytes. perf reads that as it reads
 * what "perf record -z" has written. The level is zstd's, 1 to 22; without it, 1.
 */
#define SFRAME_UNWIND_PROFILE_WRITE_CPU		0x01U
#define SFRAME_UNWIND_PROFILE_WRITE_PERIOD	0x02U
#define SFRAME_UNWIND_PROFILE_WRITE_ADDRESS	0x04U
#define SFRAME_UNWIND_PROFILE_WRITE_RAW		0x08U
#define SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED	0x10U
#define SFRAME_UNWIND_PROFILE_WRITE_LEVEL(level)	((level) * 0x100U)

/*
 * Start a profile in @fd: a regular file, which must be empty. It stays the
 * caller's and must stay open. @clock: clock of the times, as for
 * clock_gettime(), or -1 for perf's own.
 *
 * The names and ids are copied. The file is readable, by the reader and by
 * perf, after each flush.
 *
 * Returns 0; -EINVAL: no source, more than 1024, ids as not allowed, unknown
 * flags, a level above 22 or without compression; -ESPIPE: not a regular file; -ENOMEM; errors of writing.
 */
int sframe_unwind_profile_create(struct sframe_unwind_profile_writer **writer, int fd,
				 const struct sframe_unwind_profile_source *sources,
				 size_t nr_sources, uint32_t flags, int clock);

/*
 * Append a record; its @offset is ignored, and so is @source if there is only
 * one source. Data is written when 256 KiB have been collected.
 *
 * Returns 0; -EINVAL: a value that the format has no place for; -E2BIG: the
 * record would be larger than 65,528 bytes; errors of writing: then the record
 * and those collected are lost, and so is each further one.
 */
int sframe_unwind_profile_write(struct sframe_unwind_profile_writer *writer,
				const struct sframe_unwind_profile_record *record);

/*
 * Tell readers that all further records are later than those written before the
 * last call of this function: so they need not sort the whole file. Call it
 * after each pass over the buffers of all CPUs.
 */
int sframe_unwind_profile_end_round(struct sframe_unwind_profile_writer *writer);

/* Write what was collected. */
int sframe_unwind_profile_flush(struct sframe_unwind_profile_writer *writer);

/* Bytes of the file so far, including collected ones unless these are to be compressed. */
uint64_t sframe_unwind_profile_written(const struct sframe_unwind_profile_writer *writer);

/* Set a fact. Returns 0, or -ENOMEM. */
int sframe_unwind_profile_set_fact(struct sframe_unwind_profile_writer *writer,
				   enum sframe_unwind_profile_fact fact, const char *value);

/*
 * Write what is left and the facts, and free the writer, also if that fails.
 * NULL does nothing. Returns 0 or an error of writing.
 */
int sframe_unwind_profile_finish(struct sframe_unwind_profile_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_PROFILE_H */
