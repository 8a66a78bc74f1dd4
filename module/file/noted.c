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
#define PART	256

/* Bytes of the pieces of a long function. */
#define NOTED_PIECE	(SFU_MAX_NOTED / SFU_NOTED_PARTS)

static siphash_key_t noted_hash_key __ro_after_init;

void __init sfu_noted_init(void)
{
	get_random_bytes(&noted_hash_key, sizeof(noted_hash_key));
}

/* Hash @size bytes at @address to *@hash. Returns 0 or -EFAULT. */
static int hash_bytes(u64 address, u32 size, u64 *hash)
{
	struct {
		u64 before;
		u8 bytes[PART];
	} hashed;
	u32 part;

	*hash = 0;
	for (; size; address += part, size -= part) {
		part = min_t(u32, size, PART);
		if (copy_from_user(hashed.bytes, u64_to_user_ptr(address), part))
			return -EFAULT;
		hashed.before = *hash;
		*hash = siphash(&hashed, sizeof(hashed.before) + part,
				&noted_hash_key);
	}
	return 0;
}

/*
 * The number of pieces of a function of @size bytes that have a hash each; 0 if one hash is
 * of all bytes.
 */
static u32 nr_pieces(u32 size)
{
	return size > SFU_MAX_NOTED ? (size - 1) / NOTED_PIECE + 1 : 0;
}

static u32 size_of_piece(u32 size, u32 number)
{
	return min_t(u32, size - number * NOTED_PIECE, NOTED_PIECE);
}

/* The number of hashes of @image. Returns 0 or -EINTR. */
static int count_hashes(const struct sfu_image *image, u64 *nr)
{
	struct sfu_table table = image->table;
	struct sfu_defect defect;
	struct sfu_fde fde;
	int err = 0;
	u32 i;

	table.bytes.copy = image->bytes;
	*nr = table.num_fdes;
	for (i = 0; i < table.num_fdes && !err; i++) {
		err = sfu_env_relax() ?:
		      sfu_table_read_fde(&table, i, &fde, &defect);
		if (!err)
			*nr += nr_pieces(fde.size);
	}
	return err;
}

/*
 * Note function @index, @size bytes at @*at, where the first hash of pieces that is free is
 * *@next. If a piece cannot be read, *@at is where that is.
 */
static int note_function(struct sfu_image *image, u32 index, u32 size, u64 *at,
			 u64 *next)
{
	const u32 nr = nr_pieces(size);
	u32 i, piece;
	int err = 0;

	if (!nr)
		return hash_bytes(*at, size, &image->noted[index]);
	image->noted[index] = *next;
	for (i = 0; i < nr && !err; i++) {
		piece = size_of_piece(size, i);
		err = sfu_env_relax() ?:
		      hash_bytes(*at, piece, &image->noted[*next]);
		if (!err) {
			*at += piece;
			++*next;
		}
	}
	return err;
}

static int note_functions(struct sfu_image *image, u64 code, u64 *at)
{
	struct sfu_table table = image->table;
	u64 next = table.num_fdes;
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
		err = note_function(image, i, fde.size, at, &next);
	}
	return err;
}

int sfu_noted_fill(struct sfu_image *image, u64 code, u64 max_memory,
		   struct sfu_message *message)
{
	u64 at = code, nr;
	int err;

	err = count_hashes(image, &nr);
	if (err)
		return sfu_message_fail(message, err, "killed");
	err = sfu_image_alloc_noted(image, nr, max_memory);
	if (err == -ENOSPC)
		return sfu_message_fail(message, err,
					"with %llu hashes of its code, the section takes more than %llu bytes",
					nr, max_memory);
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

static void add_part(struct sfu_noted *noted, u64 start, u32 size, u64 hash)
{
	noted->parts[noted->nr].start = start;
	noted->parts[noted->nr].size = size;
	noted->parts[noted->nr].hash = hash;
	noted->nr++;
}

void sfu_noted_get(const struct sfu_image *image, u64 address, u64 pc,
		   struct sfu_noted *noted)
{
	struct sfu_table table = image->table;
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 index, number;
	const u64 *pieces;

	table.bytes.address = address;
	table.bytes.copy = image->bytes;
	noted->nr = 0;
	/* Cannot fail: a rule was found there. Else nothing has this hash. */
	if (WARN_ON_ONCE(sfu_table_find(&table, pc, &fde, &defect))) {
		add_part(noted, 0, 0, 1);
		return;
	}
	index = (fde.entry - table.index) / SFRAME_FDE_SIZE;
	if (!nr_pieces(fde.size)) {
		add_part(noted, fde.start, fde.size, image->noted[index]);
		return;
	}
	pieces = &image->noted[image->noted[index]];
	number = (pc - fde.start) / NOTED_PIECE;
	add_part(noted, fde.start, NOTED_PIECE, pieces[0]);
	if (number)
		add_part(noted, fde.start + number * NOTED_PIECE,
			 size_of_piece(fde.size, number), pieces[number]);
}

int sfu_noted_check(const struct sfu_noted *noted)
{
	u64 hash;
	u32 i;

	for (i = 0; i < noted->nr; i++) {
		if (hash_bytes(noted->parts[i].start, noted->parts[i].size, &hash))
			return -EFAULT;
		if (hash != noted->parts[i].hash)
			return -ESTALE;
	}
	return 0;
}
