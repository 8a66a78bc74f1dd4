// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Register the objects that the dynamic linker has loaded.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

struct walk {
	struct sframe_unwind *handle;
	unsigned int flags;
	sframe_unwind_refused_fn refused;
	void *data;
	int registered;		/* objects */
	bool any_refused;
	char refusal[ERROR_SIZE];	/* message of the last refused object */
};

static const void *segment_start(const struct dl_phdr_info *info,
				 const ElfW(Phdr) *segment)
{
	return (const void *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr);
}

static const ElfW(Phdr) *find_sframe(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_SFRAME)
			return &info->dlpi_phdr[i];
	return NULL;
}

/* Returns whether a readable segment of the object contains @sframe. */
static bool is_readable(const struct dl_phdr_info *info,
			const ElfW(Phdr) *sframe)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &info->dlpi_phdr[i];

		if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
		    sframe->p_vaddr >= load->p_vaddr &&
		    sframe->p_vaddr - load->p_vaddr <= load->p_memsz &&
		    sframe->p_memsz <= load->p_memsz -
				       (sframe->p_vaddr - load->p_vaddr))
			return true;
	}
	return false;
}

/*
 * Returns whether @sframe has nothing to register. A linker that has dropped all
 * functions leaves a segment filled with zeroes. Returns false if the segment
 * cannot be read: registering it gets the error message from the kernel.
 */
static bool is_empty(const struct dl_phdr_info *info,
		     const ElfW(Phdr) *sframe)
{
	static const unsigned char zeroes[28];	/* as long as a header */
	const size_t length = sframe->p_memsz < sizeof(zeroes) ?
			      sframe->p_memsz : sizeof(zeroes);

	return is_readable(info, sframe) &&
	       !memcmp(segment_start(info, sframe), zeroes, length);
}

/* These errors are about the process or the device, so every object gets them. */
static bool ends_walk(int error)
{
	switch (error) {
	case -EBADF:
	case -EINTR:
	case -ENOMEM:
	case -ENOSPC:
	case -ENOTTY:
		return true;
	default:
		return false;
	}
}

static void refuse(struct walk *walk, const struct dl_phdr_info *info,
		   int error)
{
	const char *message = sframe_unwind_error(walk->handle);
	const char *name = info->dlpi_name;
	char exe[PATH_MAX];
	ssize_t length;

	/* The dynamic linker has no name for the program itself. */
	if (!name || !*name) {
		length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
		exe[length > 0 ? length : 0] = '\0';
		name = exe;
	}
	walk->any_refused = true;
	memcpy(walk->refusal, message, strlen(message) + 1);
	if (walk->refused)
		walk->refused(walk->data, name, error, walk->refusal);
}

/* Register @sframe for each executable segment of its object. */
static int register_object(struct walk *walk, const struct dl_phdr_info *info,
			   const ElfW(Phdr) *sframe)
{
	bool is_new = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *load = &info->dlpi_phdr[i];
		int err;

		if (load->p_type != PT_LOAD || !(load->p_flags & PF_X) ||
		    !load->p_memsz)
			continue;
		err = sframe_unwind_register(walk->handle,
					     segment_start(info, sframe),
					     sframe->p_memsz,
					     segment_start(info, load),
					     load->p_memsz, walk->flags, NULL);
		if (!err) {
			is_new = true;
		} else if (ends_walk(err)) {
			return err;
		} else if (err != -EEXIST) {
			refuse(walk, info, err);
			break;
		}
	}
	walk->registered += is_new;
	return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Phdr) *sframe = find_sframe(info);

	(void)size;
	if (!sframe || !sframe->p_memsz || is_empty(info, sframe))
		return 0;
	return register_object(data, info, sframe);
}

int sframe_unwind_register_objects(struct sframe_unwind *handle,
				   unsigned int flags,
				   sframe_unwind_refused_fn refused, void *data)
{
	struct walk walk = {
		.handle = handle,
		.flags = flags,
		.refused = refused,
		.data = data,
	};
	int err;

	err = dl_iterate_phdr(visit, &walk);
	if (err)
		return err;
	/* Drop the message of an -EEXIST, which is no failure here. */
	sfu_error_begin(handle);
	if (walk.any_refused)
		sfu_error_set(handle, 0, "%s", walk.refusal);
	return walk.registered;
}
