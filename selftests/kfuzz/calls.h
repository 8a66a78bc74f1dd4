/* SPDX-License-Identifier: GPL-2.0 */
/* Calls: the elements of programs. */
#ifndef KFUZZ_CALLS_H
#define KFUZZ_CALLS_H

#include "program.h"
#include "run.h"

/* The purpose of an argument, which decides the values tried. */
enum kind {
	KIND_FD,		/* a client */
	KIND_ANY_FD,
	KIND_NEW_FD,		/* where to store a client */
	KIND_ELF,		/* a file with code */
	KIND_SFRAME,		/* a file with a section */
	KIND_NEW_ELF,
	KIND_NEW_SFRAME,
	KIND_MAPPED,		/* a file to map, or none */
	KIND_AT,		/* address for the structure */
	KIND_SIZE,		/* of the structure */
	KIND_ZERO,
	KIND_FLAG,		/* one flag is known, */
	KIND_FLAGS,		/* two flags are */
	KIND_ATTACH_FLAGS,
	KIND_SHARE_FLAGS,
	KIND_PROCESS_FLAGS,
	KIND_CODE_FLAGS,
	KIND_NONE,		/* no descriptor */
	KIND_SEGMENTS,
	KIND_NR_SEGMENTS,
	KIND_OPEN_FLAGS,
	KIND_SECTION,
	KIND_SECTION_SIZE,
	KIND_TEXT,
	KIND_TEXT_SIZE,
	KIND_ID,
	KIND_NEW_ID,
	KIND_MESSAGE,
	KIND_MESSAGE_SIZE,
	KIND_ARRAY,		/* address of an array, in or out */
	KIND_NR,
	KIND_FUNCTIONS,		/* of a function table, */
	KIND_GRANULE,		/* and log2 of its granules */
	KIND_TID,
	KIND_NEW_TID,
	KIND_TARGET,		/* a thread of the program */
	KIND_DEPTH,
	KIND_ANYTHING,
	KIND_IP,		/* address of the calling code; 0: our own code */
	KIND_SP,
	KIND_FP,
	KIND_BUILD_ID,
	KIND_BUILD_ID_SIZE,
	KIND_FILE_OFFSET,
	KIND_FILE_SIZE,
	KIND_CMD,
	KIND_PERIOD,
	KIND_SLOT,
	KIND_PLACE,		/* address of pages in a slot */
	KIND_LENGTH,
	KIND_PROT,
	KIND_MAP_FLAGS,
	KIND_ADVICE,
	KIND_CONTENT,
	KIND_TABLE_CONTENT,
	KIND_ELF_CONTENT,
	KIND_SFRAME_CONTENT,
	KIND_SEED,
	KIND_SIGNAL,
	KIND_UNSHARE,
	KIND_LIMIT,
	KIND_LIMIT_VALUE,
	KIND_RING_PAGES,
	KIND_WATERMARK,
	KIND_CLOCK,
	KIND_SAMPLER_FLAGS,
	KIND_MAP_SAMPLER_FLAGS,	/* with STACK_MAP and BUILD_IDS */
	KIND_MAP_PAGES,
	KIND_MAX_FILES,
	KIND_COPY_SIZE,
	KIND_EVENT,
	KIND_EVENT_PERIOD,
	KIND_EVENT_FLAGS,
	KIND_FIELDS,
	KIND_EVENT_ID,
	KIND_CONTROL,
	KIND_RING_OFFSET,
	KIND_RING_SIZE,
	KIND_RING_PROT,
};

/**
 * struct arg_type - an argument of a call
 *
 * @offset, @size: of the member of the ioctl's structure that it sets, or 0.
 */
struct arg_type {
	const char *name;
	enum kind kind;
	uint16_t offset;
	uint16_t size;
};

/**
 * struct call_type - a type of call
 *
 * @weight: how often it is tried.
 * @once: only in a program's first round, because it prepares, or is slow.
 * @run: makes the call with its arguments' values. Returns its result or a
 *	negative errno.
 * @cmd, @size, @id: of an ioctl: its number, the size of its structure, and the
 *	offset of the id that it returns there, or 0.
 * @errnos: those that the ioctl's description names, ended by 0.
 */
struct call_type {
	const char *name;
	unsigned int weight;
	bool once;
	long (*run)(const struct call *call, const uint64_t *value);
	uint32_t cmd;
	uint16_t size;
	uint16_t id;
	const int *errnos;
	struct arg_type arg[MAX_ARGS];
};

extern const struct call_type call_types[];
extern const unsigned int nr_call_types;

/* Index of @call's first argument of this kind, or -1. */
int call_find(const struct call *call, enum kind kind);

/* The current value of @arg. */
uint64_t call_value(const struct arg *arg);

/*
 * Store a descriptor, id or thread in the place that @arg names. Returns
 * @value.
 */
long call_keep(const struct arg *arg, long value);

/* Convert a result of -1 to -errno. */
long call_result(long ret);

/* device.c: file operations of the device. */
long run_ioctl(const struct call *call, const uint64_t *value);
long run_raw_ioctl(const struct call *call, const uint64_t *value);
long run_open(const struct call *call, const uint64_t *value);
long run_close(const struct call *call, const uint64_t *value);
long run_dup(const struct call *call, const uint64_t *value);
long run_read(const struct call *call, const uint64_t *value);
long run_poll(const struct call *call, const uint64_t *value);
long run_timer(const struct call *call, const uint64_t *value);

/* sample.c: samples at perf events. */
long run_perf_open(const struct call *call, const uint64_t *value);
long run_map_ring(const struct call *call, const uint64_t *value);

/* memory.c: memory of sections and code. */
long run_make(const struct call *call, const uint64_t *value);
long run_fill(const struct call *call, const uint64_t *value);
long run_entries(const struct call *call, const uint64_t *value);
long run_file(const struct call *call, const uint64_t *value);
long run_truncate(const struct call *call, const uint64_t *value);
long run_map_elf(const struct call *call, const uint64_t *value);
long run_mmap(const struct call *call, const uint64_t *value);
long run_munmap(const struct call *call, const uint64_t *value);
long run_mremap(const struct call *call, const uint64_t *value);
long run_mprotect(const struct call *call, const uint64_t *value);
long run_madvise(const struct call *call, const uint64_t *value);
long run_marker(const struct call *call, const uint64_t *value);
long run_uffd(const struct call *call, const uint64_t *value);

/* process.c: creating and changing processes. */
long run_fork(const struct call *call, const uint64_t *value);
long run_vfork(const struct call *call, const uint64_t *value);
long run_exec(const struct call *call, const uint64_t *value);
long run_exit(const struct call *call, const uint64_t *value);
long run_kill(const struct call *call, const uint64_t *value);
long run_unshare(const struct call *call, const uint64_t *value);
long run_setns(const struct call *call, const uint64_t *value);
long run_setuid(const struct call *call, const uint64_t *value);
long run_prlimit(const struct call *call, const uint64_t *value);
long run_mlockall(const struct call *call, const uint64_t *value);
long run_yield(const struct call *call, const uint64_t *value);

#endif /* KFUZZ_CALLS_H */
