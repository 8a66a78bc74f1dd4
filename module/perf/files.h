/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files: the files that sampled code is mapped from, by build ID, and where in them
 * the frames of a stack are. For the table that the reader maps, see struct
 * sframe_unwind_file.
 */
#ifndef SFU_FILES_H
#define SFU_FILES_H

#include <linux/types.h>

struct sfu_files;
struct sfu_payer;
struct vm_area_struct;

/* Returns the bytes of memory that a table of @max files uses. */
u64 sfu_files_bytes(u32 max);

/*
 * Create a table for @max files, 1 to SFU_MAX_FILES, charged to @payer. May sleep.
 * Returns it with a reference, or NULL if out of memory.
 */
struct sfu_files *sfu_files_create(u32 max, struct sfu_payer *payer);

/* Take another reference. Any context but NMI. */
void sfu_files_get(struct sfu_files *files);

/*
 * Drop a reference. May sleep. @files may be NULL. Pages that are still mapped are
 * freed later.
 */
void sfu_files_put(struct sfu_files *files);

/*
 * Map the table, read-only, in @vma. Returns 0, -EINVAL or -EPERM, see
 * SFRAME_UNWIND_FILES, or -ENOMEM.
 */
int sfu_files_map(struct sfu_files *files, struct vm_area_struct *vma);

/*
 * Find out in which files of the current mm the frames @ip are, which were found as
 * @how says: set @place of each, see SFRAME_UNWIND_PLACE_FILE. Process context;
 * may sleep, takes the mmap lock; does not wait for files.
 */
void sfu_files_locate(struct sfu_files *files, const u64 *ip, const u8 *how,
		      u32 nr, u64 *place);

#endif /* SFU_FILES_H */
