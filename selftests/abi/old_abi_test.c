// SPDX-License-Identifier: GPL-2.0
/*
 * A program that was compiled with the old uapi header: all its calls work, and
 * nothing is written behind its structures.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "fixtures/elf_base.h"
#include "kselftest_harness.h"
#include "wrappers.h"

#ifdef SFRAME_UNWIND_ATTACH_SHARE
#error this is not the old header
#endif

#define POISON	0xa5
#define ROOM	64

/* A structure of an ioctl, with bytes behind it that must not change. */
#define GUARDED(type)							\
	struct {							\
		struct sframe_unwind_##type arg;			\
		unsigned char behind[ROOM];				\
	}

#define PREPARE(guarded)						\
	do {								\
		memset(&(guarded), POISON, sizeof(guarded));		\
		memset(&(guarded).arg, 0, sizeof((guarded).arg));	\
		(guarded).arg.size = sizeof((guarded).arg);		\
	} while (0)

static bool is_poison(const unsigned char *bytes)
{
	for (int i = 0; i < ROOM; i++) {
		if (bytes[i] != POISON)
			return false;
	}
	return true;
}

/* The ioctl succeeds, and changes nothing but its structure. */
#define EXPECT_CALL(cmd, guarded)					\
	do {								\
		EXPECT_EQ(0, ioctl(self->fd, cmd, &(guarded).arg))	\
		{							\
			TH_LOG("%s: %s", #cmd, strerror(errno));	\
		}							\
		EXPECT_TRUE(is_poison((guarded).behind));		\
		EXPECT_EQ(sizeof((guarded).arg), (guarded).arg.size);	\
	} while (0)

/*
 * The small ELF file: as a file, and as code with a section in anonymous
 * memory.
 */
FIXTURE(old)
{
	int fd;
	struct elf_base elf;
	unsigned char *at;
	struct elf_sframe *section;
	unsigned char *code;
	unsigned char record[1 << 16];
};

FIXTURE_SETUP(old)
{
	struct elf_sframe section;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&self->elf);
	self->at = mmap(NULL, ELF_MAPPED_SIZE,
			PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->at);
	section = elf_sframe_at(0);
	self->section = memcpy(self->at, &section, sizeof(section));
	self->code = self->at + ELF_SMALL_VADDR;
	memcpy(self->code, elf_small_code, sizeof(elf_small_code));
}

FIXTURE_TEARDOWN(old)
{
	munmap(self->at, ELF_MAPPED_SIZE);
	close(self->fd);
}

static struct sframe_unwind_register registration(FIXTURE_DATA(old) *self)
{
	return (struct sframe_unwind_register) {
		.size = sizeof(struct sframe_unwind_register),
		.sframe_start = (uintptr_t)self->section,
		.sframe_size = sizeof(*self->section),
		.text_start = (uintptr_t)self->code,
		.text_size = ELF_PAGE,
	};
}

/* Let @code request its own stack, by a call that is not a tail call. */
static __attribute__((noinline)) long call_code(const void *code, long fd,
						struct sframe_unwind_request *arg)
{
	long (*function)(long fd, long cmd, void *arg) =
		(void *)(uintptr_t)code;
	long ret = function(fd, SFRAME_UNWIND_IOC_REQUEST, arg);

	asm volatile("" ::: "memory");
	return ret;
}

TEST_F(old, query)
{
	const __u64 features = 2 * SFRAME_UNWIND_FEATURE_BATCH - 1;
	GUARDED(query) query;

	PREPARE(query);
	EXPECT_CALL(SFRAME_UNWIND_IOC_QUERY, query);
	EXPECT_EQ(SFRAME_UNWIND_ABI_VERSION, query.arg.abi_version);
	EXPECT_EQ(features, query.arg.features & features);
	EXPECT_EQ(3, query.arg.sframe_version);
	EXPECT_LT(0, query.arg.max_depth);
	EXPECT_LT(0, query.arg.max_sections);
	EXPECT_LT(0, query.arg.max_pending);
	EXPECT_LT(0, query.arg.max_sframe_size);
	EXPECT_LE(query.arg.max_record_size, query.arg.ring_size);
	EXPECT_GE(sizeof(self->record), query.arg.max_record_size);
	EXPECT_LT(0, query.arg.max_attached);
	EXPECT_LT(0, query.arg.max_attached_memory);
}

TEST_F(old, register_list_unregister)
{
	struct sframe_unwind_section entries[2];
	GUARDED(register) reg;
	GUARDED(unregister) unreg;
	GUARDED(list) list;
	char name[64];

	PREPARE(reg);
	reg.arg = registration(self);
	reg.arg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	EXPECT_CALL(SFRAME_UNWIND_IOC_REGISTER, reg);
	EXPECT_NE(0, reg.arg.id);

	PREPARE(list);
	memset(entries, POISON, sizeof(entries));
	list.arg.sections = (uintptr_t)entries;
	list.arg.nr = 1;
	list.arg.name = (uintptr_t)name;
	list.arg.name_size = sizeof(name);
	EXPECT_CALL(SFRAME_UNWIND_IOC_LIST, list);
	EXPECT_EQ(1, list.arg.nr);
	EXPECT_EQ(1, list.arg.total);
	EXPECT_STREQ("", name);
	EXPECT_EQ(reg.arg.id, entries[0].id);
	EXPECT_EQ(reg.arg.sframe_start, entries[0].sframe_start);
	EXPECT_EQ(reg.arg.sframe_size, entries[0].sframe_size);
	EXPECT_EQ(reg.arg.text_start, entries[0].text_start);
	EXPECT_EQ(reg.arg.text_size, entries[0].text_size);
	EXPECT_EQ(0, entries[0].hits);
	EXPECT_EQ(2, entries[0].num_fdes);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, entries[0].state);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED, entries[0].source);
	EXPECT_TRUE(is_poison((unsigned char *)&entries[1]));

	PREPARE(unreg);
	unreg.arg.id = reg.arg.id;
	EXPECT_CALL(SFRAME_UNWIND_IOC_UNREGISTER, unreg);
	EXPECT_EQ(1, unreg.arg.removed);
}

TEST_F(old, defect)
{
	GUARDED(register) reg;
	char text[128] = "";

	self->section->small.row_info = 0xff;
	PREPARE(reg);
	reg.arg = registration(self);
	reg.arg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	reg.arg.message = (uintptr_t)text;
	reg.arg.message_size = sizeof(text);
	EXPECT_EQ(-1, ioctl(self->fd, SFRAME_UNWIND_IOC_REGISTER, &reg.arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_LE(offsetof(struct elf_sframe, small), reg.arg.defect_offset);
	EXPECT_NE('\0', text[0]);
	EXPECT_TRUE(is_poison(reg.behind));
}

TEST_F(old, batch)
{
	const struct sframe_unwind_register reg = registration(self);
	struct {
		struct sframe_unwind_batch_entry entry[2];
		unsigned char behind[ROOM];
	} array;
	GUARDED(batch) batch;

	memset(&array, POISON, sizeof(array));
	for (int i = 0; i < 2; i++) {
		array.entry[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = reg.sframe_start,
			.sframe_size = reg.sframe_size,
			.text_start = reg.text_start + i * 64,
			.text_size = 64,
		};
	}
	PREPARE(batch);
	batch.arg.entries = (uintptr_t)array.entry;
	batch.arg.nr = 2;
	EXPECT_CALL(SFRAME_UNWIND_IOC_REGISTER_BATCH, batch);
	EXPECT_EQ(2, batch.arg.nr);
	EXPECT_EQ(0, batch.arg.nr_failed);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, array.entry[i].error);
		EXPECT_NE(0, array.entry[i].id);
		array.entry[i].sframe_start = 0;
	}
	EXPECT_CALL(SFRAME_UNWIND_IOC_UNREGISTER_BATCH, batch);
	EXPECT_EQ(2, batch.arg.nr);
	EXPECT_EQ(0, batch.arg.nr_failed);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, array.entry[i].error);
		EXPECT_EQ(1, array.entry[i].removed);
	}
	EXPECT_TRUE(is_poison(array.behind));
}

TEST_F(old, request_and_stats)
{
	const struct sframe_unwind_stack *stack = (void *)self->record;
	const __u8 *how;
	GUARDED(request) request;
	GUARDED(stats) stats;
	GUARDED(register) reg;
	ssize_t got;

	PREPARE(reg);
	reg.arg = registration(self);
	EXPECT_CALL(SFRAME_UNWIND_IOC_REGISTER, reg);
	PREPARE(request);
	request.arg.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK |
			    SFRAME_UNWIND_REQUEST_INTERRUPT;
	request.arg.tid = gettid();
	request.arg.max_depth = 2;
	request.arg.user_data = 0x123456789abcdef0ULL;
	ASSERT_EQ(0, call_code(self->code, self->fd, &request.arg));
	EXPECT_TRUE(is_poison(request.behind));
	EXPECT_NE(0, request.arg.cookie);

	got = read(self->fd, self->record, sizeof(self->record));
	ASSERT_EQ(sizeof(*stack) + 2 * sizeof(__u64) + 8, got);
	EXPECT_EQ(got, stack->record.size);
	EXPECT_EQ(SFRAME_UNWIND_RECORD_STACK, stack->record.type);
	EXPECT_EQ(request.arg.cookie, stack->cookie);
	EXPECT_EQ(request.arg.user_data, stack->user_data);
	EXPECT_NE(0, stack->time);
	EXPECT_EQ(getpid(), stack->pid);
	EXPECT_EQ(gettid(), stack->tid);
	ASSERT_EQ(2, stack->nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_DEPTH, stack->stop);
	EXPECT_EQ((uintptr_t)self->code + 7, stack->ips[0]);
	EXPECT_GT(256, stack->ips[1] - (uintptr_t)call_code);
	how = (const __u8 *)(stack->ips + 2);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_REGS, how[0]);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how[1]);

	PREPARE(stats);
	EXPECT_CALL(SFRAME_UNWIND_IOC_STATS, stats);
	EXPECT_EQ(0, stats.arg.pending);
	EXPECT_EQ(1, stats.arg.accepted);
	EXPECT_EQ(1, stats.arg.delivered);
	EXPECT_EQ(0, stats.arg.lost_full);
	EXPECT_EQ(0, stats.arg.lost_events);
	EXPECT_EQ(1, stats.arg.sections);
	EXPECT_EQ(0, stats.arg.corrupt);
	EXPECT_EQ(0, stats.arg.stale);
}

TEST_F(old, events)
{
	const struct sframe_unwind_removed *removed = (void *)self->record;
	const struct sframe_unwind_stack *stack;
	GUARDED(request) request;
	GUARDED(events) events;
	GUARDED(register) reg;
	ssize_t got;

	PREPARE(reg);
	reg.arg = registration(self);
	EXPECT_CALL(SFRAME_UNWIND_IOC_REGISTER, reg);
	self->section->small.row_info = 0xff;
	PREPARE(events);
	events.arg.flags = SFRAME_UNWIND_EVENTS_REMOVED;
	EXPECT_CALL(SFRAME_UNWIND_IOC_EVENTS, events);

	PREPARE(request);
	ASSERT_EQ(0, call_code(self->code, self->fd, &request.arg));
	got = read(self->fd, self->record, sizeof(self->record));
	ASSERT_LT(sizeof(*removed), got);
	EXPECT_EQ(SFRAME_UNWIND_RECORD_REMOVED, removed->record.type);
	EXPECT_LE(sizeof(*removed), removed->record.size);
	EXPECT_NE(0, removed->time);
	EXPECT_EQ(reg.arg.id, removed->id);
	EXPECT_EQ(reg.arg.sframe_start, removed->sframe_start);
	EXPECT_EQ(reg.arg.text_start, removed->text_start);
	EXPECT_EQ(reg.arg.text_size, removed->text_size);
	EXPECT_EQ((uintptr_t)self->code + 7, removed->ip);
	EXPECT_LE(offsetof(struct elf_sframe, small), removed->defect_offset);
	EXPECT_EQ(getpid(), removed->pid);
	EXPECT_EQ(gettid(), removed->tid);
	EXPECT_EQ(SFRAME_UNWIND_CAUSE_CORRUPT, removed->cause);
	EXPECT_GT(sizeof(removed->defect),
		  strnlen(removed->defect, sizeof(removed->defect)));
	EXPECT_NE('\0', removed->defect[0]);
	EXPECT_STREQ("", removed->name);
	stack = (void *)(self->record + removed->record.size);
	ASSERT_EQ(got, removed->record.size + stack->record.size);
	EXPECT_EQ(SFRAME_UNWIND_RECORD_STACK, stack->record.type);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_REMOVED, stack->stop);
}

static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("abi", MFD_CLOEXEC);

	return fd >= 0 && write(fd, bytes, size) == (ssize_t)size ? fd : -1;
}

TEST_F(old, attach_list_detach)
{
	const struct elf_sframe section = elf_sframe_at(0);
	struct sframe_unwind_stack *stack = (void *)self->record;
	struct sframe_unwind_attached entries[2];
	GUARDED(list_attached) list;
	GUARDED(request) request;
	GUARDED(attach) attach;
	GUARDED(detach) detach;

	self->elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	PREPARE(attach);
	attach.arg.flags = SFRAME_UNWIND_ATTACH_PREFER;
	attach.arg.elf_fd = make_file(&self->elf, sizeof(self->elf));
	attach.arg.sframe_fd = make_file(&section, sizeof(section));
	attach.arg.sframe_size = sizeof(section);
	attach.arg.build_id_size = ELF_ID_SIZE;
	memcpy(attach.arg.build_id, self->elf.note.id, ELF_ID_SIZE);
	EXPECT_CALL(SFRAME_UNWIND_IOC_ATTACH, attach);
	EXPECT_NE(0, attach.arg.id);
	EXPECT_LT(sizeof(section), attach.arg.memory);

	ASSERT_EQ(self->code,
		  mmap(self->code, ELF_PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_FIXED, attach.arg.elf_fd,
		       ELF_SMALL_OFFSET));
	PREPARE(request);
	request.arg.max_depth = 2;
	ASSERT_EQ(0, call_code(self->code, self->fd, &request.arg));
	ASSERT_LT(0, read(self->fd, self->record, sizeof(self->record)));
	ASSERT_EQ(2, stack->nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, ((__u8 *)(stack->ips + 2))[1]);

	PREPARE(list);
	memset(entries, POISON, sizeof(entries));
	list.arg.attached = (uintptr_t)entries;
	list.arg.nr = 2;
	EXPECT_CALL(SFRAME_UNWIND_IOC_LIST_ATTACHED, list);
	EXPECT_EQ(1, list.arg.nr);
	EXPECT_EQ(1, list.arg.total);
	EXPECT_EQ(attach.arg.memory, list.arg.memory);
	EXPECT_EQ(attach.arg.id, entries[0].id);
	EXPECT_EQ(sizeof(section), entries[0].sframe_size);
	EXPECT_EQ(attach.arg.memory, entries[0].memory);
	EXPECT_LT(0, entries[0].hits);
	EXPECT_EQ(2, entries[0].num_fdes);
	EXPECT_EQ(SFRAME_UNWIND_ATTACH_PREFER, entries[0].flags);
	EXPECT_EQ(ELF_ID_SIZE, entries[0].build_id_size);
	EXPECT_EQ(0, memcmp(entries[0].build_id, self->elf.note.id, ELF_ID_SIZE));
	EXPECT_TRUE(is_poison((unsigned char *)&entries[1]));

	PREPARE(detach);
	detach.arg.id = attach.arg.id;
	EXPECT_CALL(SFRAME_UNWIND_IOC_DETACH, detach);
	EXPECT_CALL(SFRAME_UNWIND_IOC_LIST_ATTACHED, list);
	EXPECT_EQ(0, list.arg.total);
	close(attach.arg.sframe_fd);
	close(attach.arg.elf_fd);
}

TEST_HARNESS_MAIN
