/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The uapi header as it was when it had all ioctls of today for the first time
 * (2026-11-21), without its comments. Programs were compiled with it, so
 * everything in it must keep its number, size and offset. "check" compares it
 * with today's header, and old_abi_test.c is compiled with it. Do not change it.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_H
#define _UAPI_LINUX_SFRAME_UNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SFRAME_UNWIND_DEVICE	"/dev/sframe_unwind"
#define SFRAME_UNWIND_ABI_VERSION	1
#define SFRAME_UNWIND_IOC_MAGIC	0xDE
#define SFRAME_UNWIND_FEATURE_FLEX	0x01ULL
#define SFRAME_UNWIND_FEATURE_FP_FALLBACK	0x02ULL
#define SFRAME_UNWIND_FEATURE_OTHER_THREAD	0x04ULL
#define SFRAME_UNWIND_FEATURE_SIGNAL_FRAME	0x08ULL
#define SFRAME_UNWIND_FEATURE_VALIDATE	0x10ULL
#define SFRAME_UNWIND_FEATURE_LIST	0x20ULL
#define SFRAME_UNWIND_FEATURE_EVENTS	0x40ULL
#define SFRAME_UNWIND_FEATURE_DISCOVERY	0x80ULL
#define SFRAME_UNWIND_FEATURE_ATTACH	0x100ULL
#define SFRAME_UNWIND_FEATURE_OTHER_PROCESS	0x200ULL
#define SFRAME_UNWIND_FEATURE_BATCH	0x400ULL

struct sframe_unwind_query {
	__u32 size;
	__u32 abi_version;
	__u64 features;
	__u32 sframe_version;
	__u32 max_depth;
	__u32 max_sections;
	__u32 max_pending;
	__u64 max_sframe_size;
	__u32 ring_size;
	__u32 max_record_size;
	__u32 max_attached;
	__u32 reserved;
	__u64 max_attached_memory;
};

#define SFRAME_UNWIND_IOC_QUERY	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x00)
#define SFRAME_UNWIND_REGISTER_VALIDATE	0x01U

struct sframe_unwind_register {
	__u32 size;
	__u32 flags;
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 id;
	__u64 defect_offset;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_REGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x01)

struct sframe_unwind_unregister {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 sframe_start;
	__u32 removed;
	__u32 message_size;
	__u64 message;
};

#define SFRAME_UNWIND_IOC_UNREGISTER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x02)

struct sframe_unwind_batch_entry {
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 id;
	__u64 defect_offset;
	__u32 error;
	__u32 removed;
};

struct sframe_unwind_batch {
	__u32 size;
	__u32 flags;
	__u64 entries;
	__u32 nr;
	__u32 nr_failed;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_REGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0a)
#define SFRAME_UNWIND_IOC_UNREGISTER_BATCH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0b)
#define SFRAME_UNWIND_REQUEST_FP_FALLBACK	0x01U
#define SFRAME_UNWIND_REQUEST_INTERRUPT	0x02U

struct sframe_unwind_request {
	__u32 size;
	__u32 flags;
	__s32 tid;
	__u32 max_depth;
	__u64 user_data;
	__u64 cookie;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_REQUEST	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x03)

struct sframe_unwind_stats {
	__u32 size;
	__u32 pending;
	__u64 accepted;
	__u64 delivered;
	__u64 lost_full;
	__u64 lost_events;
	__u32 sections;
	__u32 reserved;
	__u64 corrupt;
	__u64 stale;
};

#define SFRAME_UNWIND_IOC_STATS	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x04)

enum sframe_unwind_section_state {
	SFRAME_UNWIND_SECTION_ACTIVE = 1,
	SFRAME_UNWIND_SECTION_STALE = 2,
};

enum sframe_unwind_section_source {
	SFRAME_UNWIND_SECTION_REGISTERED = 1,
	SFRAME_UNWIND_SECTION_FOUND = 2,
	SFRAME_UNWIND_SECTION_ATTACHED = 3,
};

struct sframe_unwind_section {
	__u64 id;
	__u64 sframe_start;
	__u64 sframe_size;
	__u64 text_start;
	__u64 text_size;
	__u64 hits;
	__u32 num_fdes;
	__u32 state;
	__u32 source;
	__u32 reserved;
};

struct sframe_unwind_list {
	__u32 size;
	__u32 flags;
	__u64 from;
	__u64 sections;
	__u32 nr;
	__u32 total;
	__u64 name;
	__u32 name_size;
	__u32 message_size;
	__u64 message;
};

#define SFRAME_UNWIND_IOC_LIST	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x05)
#define SFRAME_UNWIND_EVENTS_REMOVED	0x01U

struct sframe_unwind_events {
	__u32 size;
	__u32 flags;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_EVENTS	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x06)
#define SFRAME_UNWIND_ATTACH_SYSTEM	0x01U
#define SFRAME_UNWIND_ATTACH_PREFER	0x02U
#define SFRAME_UNWIND_BUILD_ID_SIZE	32

struct sframe_unwind_attach {
	__u32 size;
	__u32 flags;
	__s32 elf_fd;
	__s32 sframe_fd;
	__u64 sframe_offset;
	__u64 sframe_size;
	__u8 build_id[SFRAME_UNWIND_BUILD_ID_SIZE];
	__u32 build_id_size;
	__u32 reserved;
	__u64 id;
	__u64 memory;
	__u64 defect_offset;
	__u64 message;
	__u32 message_size;
	__u32 reserved2;
};

#define SFRAME_UNWIND_IOC_ATTACH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x07)

struct sframe_unwind_detach {
	__u32 size;
	__u32 flags;
	__u64 id;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_DETACH	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x08)

struct sframe_unwind_attached {
	__u64 id;
	__u64 sframe_size;
	__u64 memory;
	__u64 hits;
	__u32 num_fdes;
	__u32 flags;
	__u8 build_id[SFRAME_UNWIND_BUILD_ID_SIZE];
	__u32 build_id_size;
	__u32 reserved;
};

struct sframe_unwind_list_attached {
	__u32 size;
	__u32 flags;
	__u64 from;
	__u64 attached;
	__u32 nr;
	__u32 total;
	__u64 memory;
	__u64 message;
	__u32 message_size;
	__u32 reserved;
};

#define SFRAME_UNWIND_IOC_LIST_ATTACHED	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x09)

struct sframe_unwind_record {
	__u32 size;
	__u16 type;
	__u16 reserved;
};

#define SFRAME_UNWIND_RECORD_STACK	1
#define SFRAME_UNWIND_RECORD_REMOVED	2

enum sframe_unwind_stop {
	SFRAME_UNWIND_STOP_COMPLETE = 1,
	SFRAME_UNWIND_STOP_DEPTH = 2,
	SFRAME_UNWIND_STOP_NO_RULE = 3,
	SFRAME_UNWIND_STOP_SECTION_REMOVED = 4,
	SFRAME_UNWIND_STOP_SECTION_UNREADABLE = 5,
	SFRAME_UNWIND_STOP_STACK_UNREADABLE = 6,
	SFRAME_UNWIND_STOP_NO_PROGRESS = 7,
	SFRAME_UNWIND_STOP_NO_REGISTER = 8,
	SFRAME_UNWIND_STOP_BAD_ADDRESS = 9,
	SFRAME_UNWIND_STOP_UNSUPPORTED_TASK = 10,
	SFRAME_UNWIND_STOP_EXITED = 11,
	SFRAME_UNWIND_STOP_KILLED = 12,
	SFRAME_UNWIND_STOP_NO_MEMORY = 13,
	SFRAME_UNWIND_STOP_BUDGET = 14,
};

enum sframe_unwind_frame {
	SFRAME_UNWIND_FRAME_REGS = 1,
	SFRAME_UNWIND_FRAME_SFRAME = 2,
	SFRAME_UNWIND_FRAME_FP = 3,
	SFRAME_UNWIND_FRAME_SIGNAL = 4,
};

struct sframe_unwind_stack {
	struct sframe_unwind_record record;
	__u64 cookie;
	__u64 user_data;
	__u64 time;
	__u32 pid;
	__u32 tid;
	__u32 nr_frames;
	__u16 stop;
	__u16 reserved;
	__u64 ips[];
};

enum sframe_unwind_cause {
	SFRAME_UNWIND_CAUSE_CORRUPT = 1,
	SFRAME_UNWIND_CAUSE_UNREADABLE = 2,
	SFRAME_UNWIND_CAUSE_STALE = 3,
};

struct sframe_unwind_removed {
	struct sframe_unwind_record record;
	__u64 time;
	__u64 id;
	__u64 sframe_start;
	__u64 text_start;
	__u64 text_size;
	__u64 ip;
	__u64 defect_offset;
	__u32 pid;
	__u32 tid;
	__u32 cause;
	__u32 reserved;
	char defect[64];
	char name[128];
};
#endif
