/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Sections attached to files, and to code of processes. <sframe_unwind.h>, which has
 * the conventions, includes this header.
 */
#ifndef SFRAME_UNWIND_ATTACH_H
#define SFRAME_UNWIND_ATTACH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/sframe_unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sframe_unwind;

/**
 * sframe_unwind_attach() - give a file SFrame data that it does not have
 * @handle: the handle. Closing it detaches the section.
 * @attach: see <linux/sframe_unwind.h>. The library sets @size, @message and
 *	@message_size. On success @id and @memory are filled, on -EINVAL and
 *	-EOPNOTSUPP @defect_offset.
 *
 * libsframe_unwind_convert makes such data from .eh_frame. Any thread.
 *
 * With SFRAME_UNWIND_ATTACH_INODE the section is used for that file only. Use
 * this flag when attaching for all processes to files that belong to other
 * users, and pass in @segments the segments that the data was made for: anybody
 * can choose a build ID, and files change. A module without
 * SFRAME_UNWIND_FEATURE_ATTACH_INODE returns -EINVAL or -E2BIG.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_ATTACH; -EPERM with
 * SFRAME_UNWIND_ATTACH_SYSTEM if the caller has neither CAP_SYS_ADMIN nor both
 * CAP_PERFMON and CAP_SYS_PTRACE; -EEXIST with SFRAME_UNWIND_ATTACH_SYSTEM and
 * without SFRAME_UNWIND_ATTACH_REPLACE if a section is attached for all processes
 * already; -ESTALE if the file's segments differ from @segments; -ENOENT if
 * @share_id is unknown.
 */
int sframe_unwind_attach(struct sframe_unwind *handle,
			 struct sframe_unwind_attach *attach);

/**
 * sframe_unwind_attach_sized() - sframe_unwind_attach() with the structure's size
 * @handle: the handle. Closing it detaches the section.
 * @attach: as for sframe_unwind_attach().
 * @size: size of *@attach in bytes, at least 112.
 *
 * The macro sframe_unwind_attach() calls this. The library also has a function
 * of that name, for programs that were built when the structure had 112 bytes.
 * Any thread.
 *
 * Return: as sframe_unwind_attach().
 */
int sframe_unwind_attach_sized(struct sframe_unwind *handle,
			       struct sframe_unwind_attach *attach,
			       size_t size);
#define sframe_unwind_attach(handle, attach)				\
	sframe_unwind_attach_sized(handle, attach,			\
				   sizeof(struct sframe_unwind_attach))

/**
 * sframe_unwind_attach_process() - give code of a process SFrame data
 * @handle: the handle. Closing it detaches the section.
 * @flags: SFRAME_UNWIND_ATTACH_EXTENDED, SFRAME_UNWIND_ATTACH_REPLACE or 0.
 * @pid: the process, or 0 for the calling one. Another one needs CAP_SYS_ADMIN, or
 *	CAP_PERFMON and CAP_SYS_PTRACE.
 * @text_start: address in the process of the code that the section describes.
 * @text_size: size of that code in bytes.
 * @section: the section, in memory of the caller; it is copied. Functions are
 *	where they would be if @text_start were 0: sframe_unwind_writer_write()
 *	makes such a section for address 0.
 * @size: its size in bytes.
 * @id: set to the number to detach it with; NULL if not wanted.
 *
 * For code that a process has generated. See SFRAME_UNWIND_ATTACH_PROCESS in
 * <linux/sframe_unwind.h> for when it ends, and for what to check if the process
 * is another one. A module without SFRAME_UNWIND_FEATURE_ATTACH_PROCESS returns
 * -EINVAL or -E2BIG. Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_ATTACH; -EEXIST without
 * SFRAME_UNWIND_ATTACH_REPLACE if a section is attached to an address of this
 * code already; -EPERM without the privilege; -ESRCH without such a process; or
 * an error of memfd_create(2) or write(2).
 */
int sframe_unwind_attach_process(struct sframe_unwind *handle,
				 unsigned int flags, pid_t pid,
				 uint64_t text_start, uint64_t text_size,
				 const void *section, size_t size, uint64_t *id);

/**
 * sframe_unwind_detach() - end the use of an attached section
 * @handle: the handle that attached it.
 * @id: the id that sframe_unwind_attach() returned.
 *
 * Any thread.
 *
 * Return: 0, or -ENOENT if this handle has attached no such section, or another
 * error of SFRAME_UNWIND_IOC_DETACH.
 */
int sframe_unwind_detach(struct sframe_unwind *handle, uint64_t id);

/**
 * sframe_unwind_list_attached() - sections that a handle has attached
 * @handle: the handle.
 * @from: list sections whose id is at or above this one.
 * @attached: array to be filled, ascending by id; NULL with @nr 0.
 * @nr: entries that the array has room for.
 * @total: set to the number of all sections; NULL if not wanted.
 * @memory: set to the bytes of kernel memory they use together; NULL if not
 *	wanted.
 *
 * To list all, call it again with @from 1 above the last entry's id until it
 * returns 0. Any thread.
 *
 * Return: entries filled, or the error of SFRAME_UNWIND_IOC_LIST_ATTACHED.
 */
int sframe_unwind_list_attached(struct sframe_unwind *handle, uint64_t from,
				struct sframe_unwind_attached *attached,
				unsigned int nr, unsigned int *total,
				uint64_t *memory);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_ATTACH_H */
