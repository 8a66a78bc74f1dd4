/* SPDX-License-Identifier: GPL-2.0 */
/* Jitdumps that are made for tests. */
#ifndef SELFTESTS_UNIT_JIT_DUMP_MADE_H
#define SELFTESTS_UNIT_JIT_DUMP_MADE_H

#include <stdint.h>
#include <string.h>

/* Process of a made jitdump. */
#define MADE_PID	42u

/**
 * struct made_dump - a jitdump that is being made
 *
 * @bytes: its bytes.
 * @size: number of those.
 */
struct made_dump {
	unsigned char bytes[32768];
	size_t size;
};

static inline void made_dump_bytes(struct made_dump *dump, const void *bytes,
				   size_t size)
{
	memcpy(dump->bytes + dump->size, bytes, size);
	dump->size += size;
}

static inline void made_dump_u32(struct made_dump *dump, uint32_t value)
{
	made_dump_bytes(dump, &value, sizeof(value));
}

static inline void made_dump_u64(struct made_dump *dump, uint64_t value)
{
	made_dump_bytes(dump, &value, sizeof(value));
}

/* Magic, version, size, machine, padding, process, time, flags. */
static inline void made_dump_begin(struct made_dump *dump)
{
	static const uint32_t begin[] = {
		0x4A695444, 1, 40, 62, 0, MADE_PID,
	};

	dump->size = 0;
	made_dump_bytes(dump, begin, sizeof(begin));
	made_dump_u64(dump, 1);
	made_dump_u64(dump, 0);
}

/* Kind, size, time. */
static inline void made_dump_record(struct made_dump *dump, uint32_t id,
				    uint32_t size, uint64_t time)
{
	made_dump_u32(dump, id);
	made_dump_u32(dump, size);
	made_dump_u64(dump, time);
}

/* A function with 4 bytes of code. */
static inline void made_dump_load(struct made_dump *dump, uint64_t time,
				  uint64_t start, uint64_t size,
				  const char *name)
{
	const uint32_t name_size = strlen(name) + 1;

	made_dump_record(dump, 0, 16 + 40 + name_size + 4, time);
	made_dump_u32(dump, MADE_PID);
	made_dump_u32(dump, MADE_PID);
	made_dump_u64(dump, start);
	made_dump_u64(dump, start);
	made_dump_u64(dump, size);
	made_dump_u64(dump, 0);
	made_dump_bytes(dump, name, name_size);
	made_dump_u32(dump, 0xc3c3c3c3);
}

static inline void made_dump_move(struct made_dump *dump, uint64_t time,
				  uint64_t from, uint64_t to, uint64_t size)
{
	made_dump_record(dump, 1, 16 + 48, time);
	made_dump_u32(dump, MADE_PID);
	made_dump_u32(dump, MADE_PID);
	made_dump_u64(dump, to);
	made_dump_u64(dump, from);
	made_dump_u64(dump, to);
	made_dump_u64(dump, size);
	made_dump_u64(dump, 0);
}

#endif /* SELFTESTS_UNIT_JIT_DUMP_MADE_H */
