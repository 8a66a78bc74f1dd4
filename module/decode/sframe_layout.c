// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decode: the tables of an extended section, which tell where functions have saved
 * registers. sframe_format.h describes them.
 */
#include "bytes.h"
#include "sframe.h"
#include "sframe_format.h"

/* Offset of the table of blocks. */
#define BLOCKS	SFRAME_EXT_END

static u64 layouts_of(const struct sfu_table *table)
{
	return BLOCKS + (u64)table->nr_blocks * SFRAME_EXT_BLOCK_SIZE;
}

static u64 runs_of(const struct sfu_table *table)
{
	return layouts_of(table) +
	       (u64)table->nr_layouts * SFRAME_EXT_LAYOUT_SIZE;
}

u64 sfu_table_layouts_end(const struct sfu_table *table)
{
	return runs_of(table) + (u64)table->nr_runs * SFRAME_EXT_RUN_SIZE;
}

/*
 * Get the number of the first run of @block, which may be one past the last. Returns
 * 0, -EFAULT, or -EINVAL if there is no such run.
 */
static int read_block(const struct sfu_table *table, u32 block, u32 *run)
{
	u8 raw[SFRAME_EXT_BLOCK_SIZE];
	int err;

	*run = table->nr_runs;
	if (block == table->nr_blocks)
		return 0;
	err = sfu_bytes_read_copy(&table->bytes,
				  BLOCKS + (u64)block * sizeof(raw), raw,
				  sizeof(raw));
	if (err)
		return err;
	*run = get_le32(raw);
	return *run <= table->nr_runs ? 0 : -EINVAL;
}

/* Read run number @run, which must be less than nr_runs. Returns 0 or -EFAULT. */
static int read_run(const struct sfu_table *table, u32 run, u16 *offset,
		    u8 *layout)
{
	u8 raw[SFRAME_EXT_RUN_SIZE];
	int err;

	err = sfu_bytes_read_copy(&table->bytes,
				  runs_of(table) + (u64)run * sizeof(raw), raw,
				  sizeof(raw));
	if (err)
		return err;
	*offset = get_le16(raw + SFRAME_EXT_RUN_OFFSET);
	*layout = raw[SFRAME_EXT_RUN_LAYOUT];
	return 0;
}

static int read_layout(const struct sfu_table *table, u8 number,
		       struct sfu_layout *layout)
{
	u8 raw[SFRAME_EXT_LAYOUT_SIZE];
	int err;

	if (number >= table->nr_layouts)
		return -EINVAL;
	err = sfu_bytes_read_copy(&table->bytes,
				  layouts_of(table) + number * sizeof(raw), raw,
				  sizeof(raw));
	if (err)
		return err;
	memcpy(layout->slot, raw + SFRAME_EXT_LAYOUT_SLOTS,
	       sizeof(layout->slot));
	layout->flags = raw[SFRAME_EXT_LAYOUT_FLAGS];
	return 0;
}

int sfu_table_find_layout(const struct sfu_table *table, u64 pc,
			  struct sfu_layout *layout)
{
	const u64 at = pc - (table->bytes.address + table->base);
	const u64 block = at >> SFRAME_EXT_BLOCK_BITS;
	const u16 wanted = at;
	u32 low, high;
	u16 offset;
	u8 number;
	int err;

	if (!table->extended || block >= table->nr_blocks)
		return -ENOENT;
	err = read_block(table, block, &low) ?:
	      read_block(table, block + 1, &high);
	if (err)
		return err;
	/* Runs of this block below low start at or below pc, from high on above. */
	while (low < high) {
		const u32 mid = low + (high - low) / 2;

		err = read_run(table, mid, &offset, &number);
		if (err)
			return err;
		if (offset <= wanted)
			low = mid + 1;
		else
			high = mid;
	}
	/* The run before may be of an earlier block. */
	if (!low)
		return -ENOENT;
	return read_run(table, low - 1, &offset, &number) ?:
	       read_layout(table, number, layout);
}

/* Check the runs from number @run to @end, which are those of one block. */
static int check_runs(const struct sfu_table *table, u32 run, u32 end,
		      struct sfu_defect *defect)
{
	s32 previous = -1;
	u16 offset;
	u8 layout;
	int err;

	for (; run < end; run++) {
		err = read_run(table, run, &offset, &layout);
		if (!err && run % SFU_ROWS_A_TURN == 0)
			err = sfu_env_relax();
		if (err)
			return err;
		if (offset <= previous || layout >= table->nr_layouts)
			return sfu_malformed(defect, SFU_DEFECT_EXT_RUN,
					     runs_of(table) +
					     (u64)run * SFRAME_EXT_RUN_SIZE);
		previous = offset;
	}
	return 0;
}

int sfu_table_check_layouts(const struct sfu_table *table,
			    struct sfu_defect *defect)
{
	struct sfu_layout layout;
	u32 i, run = 0, next;
	int err;

	if (!table->extended)
		return 0;
	for (i = 0; i < table->nr_layouts; i++) {
		err = read_layout(table, i, &layout);
		if (err)
			return err;
		if (layout.flags & SFRAME_EXT_LAYOUT_RESERVED)
			return sfu_malformed(defect, SFU_DEFECT_EXT_LAYOUT,
					     layouts_of(table) + i *
					     SFRAME_EXT_LAYOUT_SIZE);
	}
	/* Block 0 starts with run 0: every run belongs to a block. */
	for (i = 0; i <= table->nr_blocks; i++) {
		err = read_block(table, i, &next);
		if (err && err != -EINVAL)
			return err;
		if (err || next < run || (!i && next))
			return sfu_malformed(defect, SFU_DEFECT_EXT_BLOCK,
					     BLOCKS + (u64)i *
					     SFRAME_EXT_BLOCK_SIZE);
		err = check_runs(table, run, next, defect);
		if (!err && i % SFU_ROWS_A_TURN == 0)
			err = sfu_env_relax();
		if (err)
			return err;
		run = next;
	}
	return 0;
}
