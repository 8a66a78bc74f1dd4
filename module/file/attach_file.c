// SPDX-License-Identifier: GPL-2.0
/*
 * Attach file: compare the ELF file that a client attaches to with what the
 * client expects.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/string.h>

#include "attach_file.h"
#include "image.h"
#include "message.h"

/* A reader of ELF headers from @file. */
struct elf_file {
	struct sfu_elf_reader reader;
	struct file *file;
};

/*
 * Key of the hashes, secret so that nobody can construct a file with the same
 * hash.
 */
static siphash_key_t attach_hash_key __ro_after_init;

void __init sfu_attach_init(void)
{
	get_random_bytes(&attach_hash_key, sizeof(attach_hash_key));
}

u64 sfu_attach_key(const struct sfu_elf *elf)
{
	struct {
		u64 build_id_size;
		u8 build_id[SFU_ELF_MAX_BUILD_ID];
		struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	} what = { .build_id_size = elf->build_id_size };

	memcpy(what.build_id, elf->build_id, elf->build_id_size);
	memcpy(what.segments, elf->segments,
	       elf->nr_segments * sizeof(what.segments[0]));
	return siphash(&what, sizeof(what), &attach_hash_key);
}

u64 sfu_attach_inode_key(u64 key, u64 number)
{
	return number ? siphash_2u64(key, number, &attach_hash_key) ?: 1 : 0;
}

struct inode *sfu_attach_inode(const struct sfu_attach_spec *spec)
{
	return d_real_inode(spec->elf->f_path.dentry);
}

static int read_elf_bytes(const struct sfu_elf_reader *reader, u64 offset,
			  void *to, u32 size)
{
	const struct elf_file *from =
		container_of(reader, struct elf_file, reader);

	return sfu_image_read_file(from->file, offset, to, size);
}

static int read_elf_headers(struct file *file, struct sfu_elf *elf,
			    struct sfu_message *message)
{
	const struct elf_file from = {
		.reader.read = read_elf_bytes,
		.file = file,
	};
	int err;

	if (!sfu_image_can_read(file))
		return sfu_message_fail(message, -EBADF,
					"elf_fd is not a regular file open for reading");
	err = sfu_elf_read(elf, &from.reader);
	if (elf->problem)
		return sfu_message_fail(message, err, "ELF file: %s (offset 0x%llx)",
					elf->problem, elf->problem_offset);
	if (err)
		return sfu_message_fail(message, err == -EINTR ? err : -EIO,
					"the ELF file cannot be read (error %d)",
					-err);
	return 0;
}

static int check_segments(const struct sfu_attach_spec *spec,
			  const struct sfu_elf *elf,
			  struct sfu_message *message)
{
	u32 i;

	if (!spec->nr_segments)
		return 0;
	if (spec->nr_segments != elf->nr_segments)
		return sfu_message_fail(message, -ESTALE,
					"the ELF file has %u executable segments, not %u",
					elf->nr_segments, spec->nr_segments);
	for (i = 0; i < elf->nr_segments; i++) {
		if (memcmp(&elf->segments[i], &spec->segments[i],
			   sizeof(elf->segments[i])))
			return sfu_message_fail(message, -ESTALE,
						"executable segment %u of the ELF file is 0x%llx bytes at 0x%llx, 0x%llx in the file at 0x%llx",
						i, elf->segments[i].memsz,
						elf->segments[i].vaddr,
						elf->segments[i].filesz,
						elf->segments[i].offset);
	}
	return 0;
}

int sfu_attach_check_file(const struct sfu_attach_spec *spec,
			  struct sfu_elf *elf, struct sfu_message *message)
{
	int err;

	err = read_elf_headers(spec->elf, elf, message);
	if (err)
		return err;
	if (elf->build_id_size != spec->build_id_size ||
	    memcmp(elf->build_id, spec->build_id, elf->build_id_size))
		return sfu_message_fail(message, -EINVAL,
					"the ELF file's build ID is %*phN, not %*phN",
					(int)elf->build_id_size, elf->build_id,
					(int)spec->build_id_size,
					spec->build_id);
	return check_segments(spec, elf, message);
}
