/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: build IDs and file offsets of the frames of samples.
 * <linux/sframe_unwind_sample.h> includes this header.
 *
 * With SFRAME_UNWIND_SAMPLER_BUILD_IDS, user frames are places in files: equal for
 * all processes that run the same code, and with a meaning after a process has
 * ended. User stacks are never in the sample then, as files can be looked at only when
 * the thread returns to user space. Records and entries of the stack map whose frames
 * are places have the bit SFRAME_UNWIND_SAMPLE_PLACES; if memory was short, they have
 * addresses, and not the bit.
 *
 * The files are in a table, which the reader maps with MAP_SHARED, PROT_READ and the
 * offset SFRAME_UNWIND_FILES: as many pages as @max_files elements, struct
 * sframe_unwind_file, need. mmap(2) fails as for rings. Files with the same build ID
 * share an element. Elements never change. When all are used, further files have
 * SFRAME_UNWIND_PLACE_FULL.
 *
 * The build ID of a file is read from the page cache. If it is not there, the frame
 * has SFRAME_UNWIND_PLACE_UNREADABLE, and the file is read for the next time. It is
 * cached until size or change time of the file change. It is that of the mapped file,
 * also if that has been deleted or replaced.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_FILES_H
#define _UAPI_LINUX_SFRAME_UNWIND_FILES_H

#include <linux/types.h>

#define SFRAME_UNWIND_FILES		0x6000000000000000ULL

/*
 * A place is a __u64.
 *
 * With PLACE_FILE, the bits from PLACE_FILE_SHIFT on, without PLACE_FILE, are the
 * index of the file in the table, and those below are the offset of the address in
 * the file.
 *
 * Without it, the bits from PLACE_WHY_SHIFT on are enum sframe_unwind_unplaced, and those
 * below are the lower bits of the address: all bits that a user address has.
 */
#define SFRAME_UNWIND_PLACE_FILE	0x8000000000000000ULL
#define SFRAME_UNWIND_PLACE_FILE_SHIFT	40
#define SFRAME_UNWIND_PLACE_WHY_SHIFT	56

/**
 * enum sframe_unwind_unplaced - why a frame is not in a file of the table
 *
 * @SFRAME_UNWIND_PLACE_NO_BUILD_ID: the file is not ELF, or has no build ID that is
 *	well-formed and not longer than SFRAME_UNWIND_MAX_BUILD_ID.
 * @SFRAME_UNWIND_PLACE_NO_FILE: anonymous memory, the vDSO, or nothing is mapped
 *	there any more.
 * @SFRAME_UNWIND_PLACE_UNREADABLE: the file cannot be read: it is not in the page
 *	cache yet, has no page cache, or reading failed. Or the offset is 1 TiB or more.
 * @SFRAME_UNWIND_PLACE_FULL: the table is full.
 */
enum sframe_unwind_unplaced {
	SFRAME_UNWIND_PLACE_NO_BUILD_ID	= 1,
	SFRAME_UNWIND_PLACE_NO_FILE	= 2,
	SFRAME_UNWIND_PLACE_UNREADABLE	= 3,
	SFRAME_UNWIND_PLACE_FULL	= 4,
};

#define SFRAME_UNWIND_MAX_BUILD_ID	32

/**
 * struct sframe_unwind_file - an element of the table of files
 *
 * @build_id_size: bytes of the build ID; 0 if the element is not used.
 * @reserved: 0.
 * @build_id: the build ID, and zeroes.
 */
struct sframe_unwind_file {
	__u32 build_id_size;
	__u32 reserved;
	__u8 build_id[SFRAME_UNWIND_MAX_BUILD_ID];
};

#endif /* _UAPI_LINUX_SFRAME_UNWIND_FILES_H */
