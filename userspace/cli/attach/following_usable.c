// SPDX-License-Identifier: GPL-2.0
/*
 * Following: whether code can be attached to now, which is found out before its object is
 * converted once more.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "following.h"
#include "lib/memory_file.h"

/*
 * A section with one function of 0 bytes, so it has no rule: preamble, header, index,
 * attributes and one row. The numbers of bytes and the offsets are those of struct
 * sfu_header in module/decode/sframe_format.h.
 */
static const unsigned char empty_section[] = {
	0xe2, 0xde, 3, 5,		/* magic, version, flags */
	3, 0, 0xf8, 0,			/* AMD64, return address at CFA - 8 */
	1, 0, 0, 0,			/* functions */
	1, 0, 0, 0,			/* rows */
	8, 0, 0, 0,			/* bytes of attributes and rows */
	0, 0, 0, 0,			/* index behind the header */
	16, 0, 0, 0,			/* rows behind the index */
	0xe4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* at 0: 28 bytes before */
	0, 0, 0, 0,			/* size */
	0, 0, 0, 0,			/* offset of its rows */
	1, 0, 0, 0, 0,			/* one row */
	0, 3, 8,			/* CFA: SP + 8 */
};

bool following_is_usable(const struct following *following, uint64_t start,
			 uint64_t end)
{
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS |
			 SFRAME_UNWIND_ATTACH_UNCHANGED,
		.elf_fd = -1,
		.sframe_size = sizeof(empty_section),
		.pid = following->request->mapping.pid,
		.text_start = start,
		.text_size = end - start,
		/* No function has any code, so there need not be a copy. */
	};
	int err = 0;

	arg.sframe_fd = memory_file_create("sframe");
	if (arg.sframe_fd < 0)
		return true;
	if (write(arg.sframe_fd, empty_section, sizeof(empty_section)) ==
	    sizeof(empty_section)) {
		if (ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_ATTACH, &arg))
			err = errno;
		else
			reader_code_detach(arg.id);
	}
	close(arg.sframe_fd);
	return err != EACCES && err != EFAULT;
}
