// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Function tables. The writer encodes rows, and stores equal ones once: its FRE area is
 * copied to the table, as far as it has grown, before a function refers to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "handle.h"
#include "writer.h"

#define DEFAULT_ROWS_SIZE	(1U << 20)

#define SIZE_OF_HEADER	sizeof(struct sframe_unwind_table_header)
#define SIZE_OF_ENTRY	sizeof(struct sframe_unwind_table_entry)

/**
 * struct sframe_unwind_table
 *
 * @handle: to unregister the table.
 * @writer: encodes the rows; its FRE area has those of the table.
 * @id: of the registration.
 * @text, @text_size, @granule_bits, @max_functions, @rows_size: see
 *	sframe_unwind_table_create().
 * @header: the shared memory, of @size bytes.
 * @entries, @map: parts of it.
 * @rows: offset in it of the rows.
 * @removed: number of an entry that may be used again, plus 1, or 0; its member unused
 *	leads to the next one.
 */
struct sframe_unwind_table {
	struct sframe_unwind *handle;
	struct sframe_unwind_writer *writer;
	uint64_t id;
	uint64_t text;
	uint64_t text_size;
	unsigned int granule_bits;
	uint32_t max_functions;
	size_t rows_size;
	struct sframe_unwind_table_header *header;
	size_t size;
	struct sframe_unwind_table_entry *entries;
	uint32_t *map;
	size_t rows;
	uint32_t removed;
};

static int register_table(struct sframe_unwind_table *table)
{
	struct sframe_unwind_register_table arg = {
		.size = sizeof(arg),
		.table_start = (uintptr_t)table->header,
		.table_size = table->size,
		.text_start = table->text,
		.text_size = table->text_size,
		.max_functions = table->max_functions,
		.granule_bits = table->granule_bits,
		.message = (uintptr_t)sfu_error_begin(table->handle),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(table->handle->fd, SFRAME_UNWIND_IOC_REGISTER_TABLE, &arg))
		return sfu_error_end(errno, "register table");
	table->id = arg.id;
	return 0;
}

/* As long as the table is registered, something else must not be mapped in its place. */
static void unmap_table(struct sframe_unwind_table *table)
{
	uint32_t i;
	int err = 0;

	if (!table->header)
		return;
	if (table->id)
		err = sframe_unwind_unregister(table->handle, table->id);
	if (!err || err == -ENOENT) {
		munmap(table->header, table->size);
		return;
	}
	for (i = 0; i < table->header->used; i++)
		__atomic_store_n(&table->entries[i].size, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&table->header->removed, table->header->removed + 1,
			 __ATOMIC_RELEASE);
}

static void free_table(struct sframe_unwind_table *table)
{
	unmap_table(table);
	sframe_unwind_writer_free(table->writer);
	free(table);
}

/* Map the memory. The module checks the values that determine its layout. */
static int map_table(struct sframe_unwind_table *table)
{
	const uint64_t granules = ((table->text_size - 1) >> table->granule_bits) + 1;
	const uint64_t map = SIZE_OF_HEADER +
			     (uint64_t)table->max_functions * SIZE_OF_ENTRY;
	void *memory;

	table->rows = map + granules * sizeof(*table->map);
	table->size = table->rows + table->rows_size;
	/* Rows have offsets of 32 bits. */
	if (table->size > UINT32_MAX)
		return sfu_error_set(table->handle, EINVAL,
				     "the table would have 0x%zx bytes", table->size);
	memory = mmap(NULL, table->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return sfu_error_set(table->handle, ENOMEM, "no memory");
	table->header = memory;
	table->entries = (void *)((char *)memory + SIZE_OF_HEADER);
	table->map = (void *)((char *)memory + map);
	return 0;
}

int sframe_unwind_table_create(struct sframe_unwind_table **table,
			       struct sframe_unwind *handle,
			       const void *text_start, size_t text_size,
			       unsigned int granule_bits, uint32_t max_functions,
			       size_t rows_size)
{
	struct sframe_unwind_table *new;
	int err;

	if (!table)
		return -EINVAL;
	*table = NULL;
	if (!handle)
		return -EINVAL;
	if (!text_size || text_size > 1ULL << 32 || rows_size > UINT32_MAX ||
	    granule_bits > SFRAME_UNWIND_TABLE_GRANULE_BITS)
		return sfu_error_set(handle, EINVAL, "a size is out of range");
	new = calloc(1, sizeof(*new));
	if (!new || sframe_unwind_writer_create(&new->writer)) {
		free(new);
		return sfu_error_set(handle, ENOMEM, "no memory");
	}
	new->handle = handle;
	new->text = (uintptr_t)text_start;
	new->text_size = text_size;
	new->granule_bits = granule_bits;
	new->max_functions = max_functions;
	new->rows_size = rows_size ? rows_size : DEFAULT_ROWS_SIZE;
	err = map_table(new);
	if (!err)
		err = register_table(new);
	if (err) {
		free_table(new);
		return err;
	}
	*table = new;
	return 0;
}

void sframe_unwind_table_free(struct sframe_unwind_table *table)
{
	if (table)
		free_table(table);
}

uint64_t sframe_unwind_table_id(const struct sframe_unwind_table *table)
{
	return table ? table->id : 0;
}

const char *sframe_unwind_table_error(const struct sframe_unwind_table *table)
{
	return table ? sframe_unwind_writer_error(table->writer) :
		       "there is no table";
}

/* Number of the granule of the byte at @offset in the code. */
static uint64_t granule_of(const struct sframe_unwind_table *table, uint64_t offset)
{
	return offset >> table->granule_bits;
}

/* Returns the function that has bytes in granule number @granule, or NULL. */
static struct sframe_unwind_table_entry *
function_in(const struct sframe_unwind_table *table, uint64_t granule)
{
	const uint32_t number = table->map[granule];
	struct sframe_unwind_table_entry *entry;

	if (!number)
		return NULL;
	entry = &table->entries[number - 1];
	/* The entry may be that of another function now. */
	if (!entry->size || granule < granule_of(table, entry->start) ||
	    granule > granule_of(table, (uint64_t)entry->start + entry->size - 1))
		return NULL;
	return entry;
}

/* Check that @function is in the code, and that its granules are free. */
static int check_place(struct sframe_unwind_table *table,
		       const struct sframe_unwind_function *function)
{
	const uint64_t offset = function->start - table->text;
	uint64_t i;

	if (!function->size || function->size > table->text_size ||
	    offset > table->text_size - function->size)
		return sfu_writer_fail(table->writer, EINVAL,
				       "function at 0x%" PRIx64 ", 0x%" PRIx64 " bytes, is not in the code",
				       function->start, function->size);
	/* An entry has a size of 32 bits. */
	if (function->size > UINT32_MAX)
		return sfu_writer_fail(table->writer, EINVAL,
				       "function at 0x%" PRIx64 " has 4 GiB or more",
				       function->start);
	for (i = granule_of(table, offset);
	     i <= granule_of(table, offset + function->size - 1); i++) {
		const struct sframe_unwind_table_entry *entry = function_in(table, i);

		if (entry)
			return sfu_writer_fail(table->writer, EEXIST,
					       "function at 0x%" PRIx64 ": granule 0x%" PRIx64 " has bytes of the one at 0x%" PRIx64,
					       function->start, i, table->text + entry->start);
	}
	return 0;
}

/* Encode the rows of @function. Returns 0 with *@rows, their offset in the table. */
static int add_rows(struct sframe_unwind_table *table,
		    const struct sframe_unwind_function *function,
		    uint32_t *rows)
{
	struct sframe_unwind_writer *writer = table->writer;
	const struct buffer *area = &writer->pool.area;
	const size_t old = area->size;
	int err;

	/* Keep the rows, but no function. */
	writer->fdes.size = 0;
	writer->names.size = 0;
	writer->nr_rows = 0;
	err = sframe_unwind_writer_add(writer, function);
	if (!err && sfu_writer_count(writer) != 1)
		err = sfu_writer_fail(writer, EFBIG,
				      "function at 0x%" PRIx64 ": too many rows",
				      function->start);
	if (!err && area->size > table->rows_size)
		err = sfu_writer_fail(writer, ENOSPC,
				      "function at 0x%" PRIx64 ": no room for its rows",
				      function->start);
	if (err) {
		sfu_pool_truncate(&writer->pool, old);
		return err;
	}
	memcpy((char *)table->header + table->rows + old, area->bytes + old,
	       area->size - old);
	*rows = table->rows + ((const struct fde *)writer->fdes.bytes)->block;
	return 0;
}

int sframe_unwind_table_add(struct sframe_unwind_table *table,
			    const struct sframe_unwind_function *function)
{
	struct sframe_unwind_table_entry *entry;
	const bool is_new = table && !table->removed;
	uint32_t number, rows;
	uint64_t start, i;
	int err;

	if (!table)
		return -EINVAL;
	if (!function)
		return sfu_writer_fail(table->writer, EINVAL, "the function is NULL");
	err = check_place(table, function);
	if (err)
		return err;
	number = is_new ? table->header->used : table->removed - 1;
	if (is_new && number >= table->max_functions)
		return sfu_writer_fail(table->writer, ENOSPC,
				       "function at 0x%" PRIx64 ": there are %" PRIu32 " functions already",
				       function->start, table->max_functions);
	err = add_rows(table, function, &rows);
	if (err)
		return err;

	entry = &table->entries[number];
	start = function->start - table->text;
	if (!is_new)
		table->removed = entry->unused;
	entry->start = start;
	entry->rows = rows;
	for (i = granule_of(table, start);
	     i <= granule_of(table, start + function->size - 1); i++)
		__atomic_store_n(&table->map[i], number + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->size, function->size, __ATOMIC_RELEASE);
	if (is_new)
		__atomic_store_n(&table->header->used, number + 1,
				 __ATOMIC_RELEASE);
	return 0;
}

int sframe_unwind_table_remove(struct sframe_unwind_table *table,
			       const void *start)
{
	struct sframe_unwind_table_entry *entry;
	uint64_t offset;

	if (!table)
		return -EINVAL;
	offset = (uintptr_t)start - table->text;
	if (offset >= table->text_size)
		return -ENOENT;
	entry = function_in(table, granule_of(table, offset));
	if (!entry || entry->start != offset)
		return -ENOENT;
	__atomic_store_n(&entry->size, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&table->header->removed, table->header->removed + 1,
			 __ATOMIC_RELEASE);
	/* Used again only after that: a walk must not take it for the old function. */
	entry->unused = table->removed;
	table->removed = entry - table->entries + 1;
	return 0;
}
