// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "profile_made.h"
#include "userspace/profile/format.h"

/* A size that all headers of the kernel have. */
#define ATTR_SIZE	PERF_ATTR_SIZE_VER5
#define DATA_SIZE_PLACE	(offsetof(struct file_header, data) + sizeof(uint64_t))

int profile_new(void)
{
	return memfd_create("profile", MFD_CLOEXEC);
}

void profile_made_record(unsigned int i, struct sframe_unwind_profile_record *record)
{
	static uint64_t frames[64];
	static uint8_t how[64];
	static char name[64], raw[12];

	memset(record, 0, sizeof(*record));
	record->kind = i % 7 ? SFRAME_UNWIND_PROFILE_SAMPLE : 2 + i / 7 % 6;
	record->source = i % 2;
	record->time = 1000 + i * 10;
	record->pid = 100 + i % 3;
	record->tid = 200 + i % 5;
	record->cpu = i % 4;
	snprintf(name, sizeof(name), "%.*s", (int)(i % 41),
		 "/usr/lib/x86_64-linux-gnu/libsomething.so.6");
	switch (record->kind) {
	case SFRAME_UNWIND_PROFILE_SAMPLE:
		for (unsigned int j = 0; j < 64; j++) {
			frames[j] = 0x400000 + i * 64 + j;
			how[j] = i % 3 ? j ? 2 : 1 : 1 + (i + j) % 4;
		}
		memset(raw, i, sizeof(raw));
		record->sample = (struct sframe_unwind_profile_sample){
			.ip = frames[0],
			.address = i * 3,
			.period = 1 + i,
			.frames = frames,
			.how = how,
			.raw = raw,
			.raw_size = sizeof(raw),
			.nr_kernel = i % 5,
			.nr_user = i % 50,
			.flags = SFRAME_UNWIND_PROFILE_CHAIN |
				 (i % 5 ? SFRAME_UNWIND_PROFILE_KERNEL : 0),
			.stop = 1 + i % 13,
			.entry = i % 6,
		};
		break;
	case SFRAME_UNWIND_PROFILE_MAP:
		record->map = (struct sframe_unwind_profile_map){
			.start = i * 4096ULL,
			.size = 4096,
			.offset = i,
			.name = name,
			.build_id_size = i % 2 ? 20 : 8,
			.is_kernel = i % 4 == 0,
			.is_code = i % 3 == 0,
		};
		memset(record->map.build_id, 1 + i, record->map.build_id_size);
		break;
	case SFRAME_UNWIND_PROFILE_COMM:
		record->comm.name = name;
		record->comm.is_exec = i % 2;
		break;
	case SFRAME_UNWIND_PROFILE_FORK:
	case SFRAME_UNWIND_PROFILE_EXIT:
		record->task.ppid = i;
		record->task.ptid = i + 1;
		record->task.has_own_maps =
			record->kind == SFRAME_UNWIND_PROFILE_FORK && i % 2;
		break;
	default:
		record->lost = i;
		break;
	}
}

static int is_equal_sample(const struct sframe_unwind_profile_sample *a,
			   const struct sframe_unwind_profile_sample *b)
{
	return a->ip == b->ip && a->address == b->address &&
	       a->period == b->period && a->nr_kernel == b->nr_kernel &&
	       a->nr_user == b->nr_user && a->flags == b->flags &&
	       a->stop == b->stop && a->entry == b->entry &&
	       !memcmp(a->frames, b->frames,
		       (a->nr_kernel + a->nr_user) * sizeof(uint64_t)) &&
	       !memcmp(a->how, b->how, a->nr_user) &&
	       !memcmp(a->raw, b->raw, a->raw_size);
}

int profile_is_equal(const struct sframe_unwind_profile_record *a,
		     const struct sframe_unwind_profile_record *b)
{
	if (a->kind != b->kind || a->time != b->time || a->pid != b->pid ||
	    a->tid != b->tid || a->cpu != b->cpu)
		return 0;
	switch (a->kind) {
	case SFRAME_UNWIND_PROFILE_SAMPLE:
		return a->source == b->source &&
		       is_equal_sample(&a->sample, &b->sample);
	case SFRAME_UNWIND_PROFILE_MAP:
		return a->map.start == b->map.start &&
		       a->map.size == b->map.size &&
		       a->map.offset == b->map.offset &&
		       a->map.build_id_size == b->map.build_id_size &&
		       a->map.is_kernel == b->map.is_kernel &&
		       a->map.is_code == b->map.is_code &&
		       !memcmp(a->map.build_id, b->map.build_id, 20) &&
		       !strcmp(a->map.name, b->map.name);
	case SFRAME_UNWIND_PROFILE_COMM:
		return a->comm.is_exec == b->comm.is_exec &&
		       !strcmp(a->comm.name, b->comm.name);
	case SFRAME_UNWIND_PROFILE_FORK:
	case SFRAME_UNWIND_PROFILE_EXIT:
		return a->task.ppid == b->task.ppid &&
		       a->task.ptid == b->task.ptid &&
		       a->task.has_own_maps == b->task.has_own_maps;
	default:
		return a->lost == b->lost;
	}
}

int profile_make(unsigned int nr, uint32_t flags)
{
	const struct sframe_unwind_profile_source sources[] = {
		{ .name = "one", .ids = (uint64_t[]){ 11, 12 }, .nr_ids = 2,
		  .type = 1, .config = 0, .period = 100 },
		{ .name = "two:u", .ids = (uint64_t[]){ 5 }, .nr_ids = 1,
		  .type = 1, .config = 2, .period = 1, .is_user_only = 1 },
	};
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile_record record;
	const int fd = profile_new();

	if (sframe_unwind_profile_create(&writer, fd, sources, 2,
					 SFRAME_UNWIND_PROFILE_WRITE_CPU |
					 SFRAME_UNWIND_PROFILE_WRITE_PERIOD |
					 SFRAME_UNWIND_PROFILE_WRITE_ADDRESS |
					 SFRAME_UNWIND_PROFILE_WRITE_RAW | flags, 1))
		return -1;
	for (unsigned int i = 0; i < nr; i++) {
		profile_made_record(i, &record);
		if (sframe_unwind_profile_write(writer, &record))
			return -1;
		if (i % 100 == 0 && sframe_unwind_profile_end_round(writer))
			return -1;
	}
	if (sframe_unwind_profile_set_fact(writer,
					   SFRAME_UNWIND_PROFILE_COMMAND,
					   "record -a") ||
	    sframe_unwind_profile_finish(writer))
		return -1;
	return fd;
}

void made_bytes(struct made *made, const void *from, size_t size)
{
	memcpy(made->bytes + made->size, from, size);
	made->size += size;
}

void made_u16(struct made *made, uint16_t value)
{
	made_bytes(made, &value, sizeof(value));
}

void made_u32(struct made *made, uint32_t value)
{
	made_bytes(made, &value, sizeof(value));
}

void made_u64(struct made *made, uint64_t value)
{
	made_bytes(made, &value, sizeof(value));
}

void made_record(struct made *made, uint32_t type, uint16_t misc, size_t size)
{
	made_u32(made, type);
	made_u16(made, misc);
	made_u16(made, size + 8);
}

void made_begin(struct made *made, uint64_t sample_type, int is_pipe)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = ATTR_SIZE,
		.sample_type = sample_type,
		.sample_period = 7,
		.sample_id_all = 1,
	};
	struct file_header header = {
		.magic = PROFILE_MAGIC,
		.size = is_pipe ? PIPE_HEADER_SIZE : sizeof(header),
		.attr_size = ATTR_SIZE + sizeof(struct file_section),
		.attrs = { sizeof(header),
			   ATTR_SIZE + sizeof(struct file_section) },
		.data = { sizeof(header) + ATTR_SIZE +
			  sizeof(struct file_section), 0 },
	};
	const struct file_section ids = { 0 };

	made->size = 0;
	if (is_pipe) {
		made_bytes(made, &header, PIPE_HEADER_SIZE);
		made_record(made, RECORD_HEADER_ATTR, 0, ATTR_SIZE);
		made_bytes(made, &attr, ATTR_SIZE);
		return;
	}
	made_bytes(made, &header, sizeof(header));
	made_bytes(made, &attr, ATTR_SIZE);
	made_bytes(made, &ids, sizeof(ids));
}

void made_sample(struct made *to, uint32_t tid, uint64_t time,
		 const uint64_t *frames, unsigned int nr)
{
	made_record(to, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL,
		    8 * (6 + nr));
	made_u64(to, 0xffffffff81000000);
	made_u32(to, 1);
	made_u32(to, tid);
	made_u64(to, time);
	made_u64(to, nr + 2);
	made_u64(to, PERF_CONTEXT_KERNEL);
	made_u64(to, 0xffffffff81000000);
	made_bytes(to, frames, nr * sizeof(*frames));
}

void made_deferred(struct made *to, uint32_t tid, uint64_t time,
		   uint64_t cookie)
{
	made_sample(to, tid, time,
		   (uint64_t[]){ CONTEXT_USER_DEFERRED, cookie }, 2);
}

void made_user_part(struct made *to, uint32_t tid, uint64_t cookie,
		    uint64_t address)
{
	made_record(to, RECORD_CALLCHAIN_DEFERRED, 0, 8 * 7);
	made_u64(to, cookie);
	made_u64(to, 3);
	made_u64(to, PERF_CONTEXT_USER);
	made_u64(to, address);
	made_u64(to, address + 1);
	made_u32(to, 1);
	made_u32(to, tid);
	made_u64(to, 99);
}

void made_compressed(struct made *to, const struct made *plain, size_t step,
		     uint32_t type)
{
	static unsigned char packed[1 << 20];
	const size_t size = ZSTD_compress(packed, sizeof(packed), plain->bytes,
					  plain->size, 1);

	for (size_t at = 0; at < size; at += step) {
		const size_t part = size - at < step ? size - at : step;

		if (type == RECORD_COMPRESSED2) {
			made_record(to, type, 0, (part + 15) / 8 * 8);
			made_u64(to, part);
			made_bytes(to, packed + at, part);
			made_bytes(to, "\0\0\0\0\0\0\0", -part % 8);
		} else {
			made_record(to, type, 0, part);
			made_bytes(to, packed + at, part);
		}
	}
}

void made_piped(struct made *made)
{
	made_begin(made, MADE_TYPE, 1);
	made_record(made, RECORD_HEADER_TRACING_DATA, 0, 8);
	made_u64(made, 16);
	made_bytes(made, "not a record, but", 16);
	made_record(made, RECORD_HEADER_FEATURE, 0, 8 + 4 + 8);
	made_u64(made, FEATURE_HOSTNAME);
	made_u32(made, 8);
	made_bytes(made, "host\0\0\0", 8);
	made_record(made, RECORD_HEADER_BUILD_ID, MISC_BUILD_ID_SIZE,
		    4 + 24 + 8);
	made_u32(made, -1);
	made_bytes(made, "01234567890123456789\x0a\0\0", 24);
	made_bytes(made, "/bin/x\0", 8);
	made_sample(made, 1, 2, (uint64_t[]){ 0 }, 0);
	made_record(made, PERF_RECORD_MMAP, 0, 4 * 8 + 8 + 16);
	for (unsigned int i = 0; i < 4; i++)
		made_u64(made, i);
	made_bytes(made, "/bin/x\0", 8);
	made_u64(made, 1);
	made_u64(made, 44);
}

int made_end(struct made *made)
{
	const uint64_t begin = get_u64(made->bytes + DATA_SIZE_PLACE - 8);
	const uint64_t size = made->size - begin;
	const int fd = profile_new();

	if (get_u64(made->bytes + 8) != PIPE_HEADER_SIZE)
		memcpy(made->bytes + DATA_SIZE_PLACE, &size, sizeof(size));
	if (write(fd, made->bytes, made->size) != (ssize_t)made->size)
		abort();
	return fd;
}
