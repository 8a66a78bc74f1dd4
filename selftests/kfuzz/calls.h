/* SPDX-License-Identifier: GPL-2.0 */
/* Calls: what programs are made of. */
#ifndef KFUZZ_CALLS_H
#define KFUZZ_CALLS_H

#include "program.h"
#include "run.h"

/* What an argument is for, which decides what is tried. */
enum kind {
	KIND_FD,		/* a client */
	KIND_ANY_FD,
	KIND_NEW_FD,		/* where to keep one */
	KIND_ELF,		/* a file with code */
	KIND_SFRAME,		/* one with a section */
	KIND_NEW_ELF,
	KIND_NEW_SFRAME,
	KIND_MAPPED,		/* a file, or nothing */
	KIND_AT,		/* where the structure is to be */
	KIND_SIZE,		/* of the structure */
	KIND_ZERO,
	KIND_FLAG,		/* one is known, */
	KIND_FLAGS,		/* two are */
	KIND_ATTACH_FLAGS,
	KIND_SHARE_FLAGS,
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
	KIND_ARRAY,		/* of entries, in or out */
	KIND_NR,
	KIND_TID,
	KIND_NEW_TID,
	KIND_TARGET,		/* a thread of the program */
	KIND_DEPTH,
	KIND_ANYTHING,
	KIND_IP,		/* where to call from; 0 is our own code */
	KIND_SP,
	KIND_FP,
	KIND_BUILD_ID,
	KIND_BUILD_ID_SIZE,
	KIND_FILE_OFFSET,
	KIND_FILE_SIZE,
	KIND_CMD,
	KIND_PERIOD,
	KIND_SLOT,
	KIND_PLACE,		/* in a slot, of pages */
	KIND_LENGTH,
	KIND_PROT,
	KIND_MAP_FLAGS,
	KIND_ADVICE,
	KIND_CONTENT,
	KIND_ELF_CONTENT,
	KIND_SFRAME_CONTENT,
	KIND_SEED,
	KIND_SIGNAL,
	KIND_UNSHARE,
	KIND_LIMIT,
	KIND_LIMIT_VALUE,
};

/**
 * struct arg_type
 *
 * @offset, @size: of the member of the ioctl's structure that it is, or 0.
 */
struct arg_type {
	const char *name;
	enum kind kind;
	uint16_t offset;
	uint16_t size;
};

/**
 * struct call_type
 *
 * @weight: how often it is tried.
 * @once: only in a program's first round: it prepares, or takes time.
 * @run: makes the call with its arguments' values, and returns what it returns
 *	or a negative errno.
 * @cmd, @size, @id: of an ioctl: its number, bytes of its structure, and offset
 *	of the id that it returns there, or 0.
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

/* The first of @call's arguments of this kind, or -1. */
int call_find(const struct call *call, enum kind kind);

/* What @arg stands for now. */
uint64_t call_value(const struct arg *arg);

/* Keep a descriptor, id or thread where @arg says. Returns the value. */
long call_keep(const struct arg *arg, long value);

/* -errno instead of -1. */
long call_result(long ret);

/* device.c: the device's file operations. */
long run_ioctl(const struct call *call, const uint64_t *value);
long run_raw_ioctl(const struct call *call, const uint64_t *value);
long run_open(const struct call *call, const uint64_t *value);
long run_close(const struct call *call, const uint64_t *value);
long run_dup(const struct call *call, const uint64_t *value);
long run_read(const struct call *call, const uint64_t *value);
long run_poll(const struct call *call, const uint64_t *value);
long run_timer(const struct call *call, const uint64_t *value);

/* memory.c: what sections and code are in. */
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

/* process.c: what becomes of the process. */
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
