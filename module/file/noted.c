// SPDX-License-Identifier: GPL-2.0
/*
 * Noted: which code a section is for, if there is no file that tells.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/uaccess.h>

#include "decode/sframe.h"
#include "decode/sframe_format.h"
#include "image.h"
#include "limits.h"
#include "message.h"
#include "noted.h"

/* Bytes that are hashed at once, on the stack. */
#define PIECE	256

static siphash_key_t noted_hash_key __ro_after_init;

void __init sfu_noted_init(void)
{
	get_random_bytes(&noted_hash_key, sizeof(noted_hash_key));
}

/* Hash @size bytes at @address, and *@hash, to *@hash. Returns 0 or -EFAULT. */
static int hash_bytes(u64 address, u32 size, u64 *hash)
{
	struct {
		u64 before;
		u8 bytes[PIECE];
	} piece;
	u32 part;

	for (; size; address += part, size -= part) {
		part = min_t(u32, size, PIECE);
		if (copy_from_user(piece.bytes, u64_to_user_ptr(address), part))
			return -EFAULT;
		piece.before = *hash;
		*hash = siphash(&piece, sizeof(piece.before) + part,
				&noted_hash_key);
	}
	return 0;
}

static int hash_function(u64 start, u32 size, u64 *hash)
{
	const u32 half = SFU_MAX_NOTED / 2;

	*hash = 0;
	if (size <= SFU_MAX_NOTED)
		return hash_bytes(start, size, hash);
	return hash_bytes(start, half, hash) ?:
	       hash_bytes(start + size - half, half, hash);
}

static int note_functions(struct sfu_image *image, u64 code, u64 *at)
{
	struct sfu_table table = image->table;
	struct sfu_defect defect;
	struct sfu_fde fde;
	int err = 0;
	u32 i;

	table.bytes.copy = image->bytes;
	for (i = 0; i < table.num_fdes && !err; i++) {
		err = sfu_env_relax() ?:
		      sfu_table_read_fde(&table, i, &fde, &defect);
		if (err)
			break;
		*at = code + fde.start;
		err = hash_function(*at, fde.size, &image->noted[i]);
	}
	return err;
}

int sfu_noted_fill(struct sfu_image *image, u64 code, struct sfu_message *message)
{
	u64 at = code;
	int err;

	err = sfu_image_alloc_noted(image);
	if (err)
		return sfu_message_fail(message, err,
					"no memory, or more than RLIMIT_MEMLOCK allows");
	err = note_functions(image, code, &at);
	if (err == -EINTR)
		return sfu_message_fail(message, err, "killed");
	if (err)
		return sfu_message_fail(message, -EFAULT,
					"the copy of the code cannot be read at 0x%llx",
					at);
	return 0;
}

void sfu_noted_get(const struct sfu_image *image, u64 address, u64 pc,
		   struct sfu_noted *noted)
{
	struct sfu_table table = image->table;
	struct sfu_defect defect;
	struct sfu_fde fde;

	table.bytes.address = address;
	table.bytes.copy = image->bytes;
	/* Cannot fail: a rule was found there. Else nothing has this hash. */
	*noted = (struct sfu_noted) { .hash = 1 };
	if (WARN_ON_ONCE(sfu_table_find(&table, pc, &fde, &defect)))
		return;
	noted->start = fde.start;
	noted->size = fde.size;
	noted->hash = image->noted[(fde.entry - table.index) / SFRAME_FDE_SIZE];
}

int sfu_noted_check(const struct sfu_noted *noted)
{
	u64 hash;

	if (hash_function(noted->start, noted->size, &hash))
		return -EFAULT;
	return hash == noted->hash ? 0 : -ESTALE;
}
