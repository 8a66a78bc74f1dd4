// SPDX-License-Identifier: GPL-2.0
/* Scenarios of function tables: registered, walked through, and gone. */
#include "scenario.h"

/* A table for one function, which is the whole code of the world. */
struct one_function {
	struct sframe_unwind_table_header header;
	struct sframe_unwind_table_entry entry;
	__u32 map;
	unsigned char rows[16];
};

/* CFA = rsp + 8, by a row of the usual kind, and by a flexible one. */
static const unsigned char usual_row[] = { 1, 0, 0, 0, 0, 0, 0x03, 8 };
static const unsigned char flexible_row[] = {
	1, 0, 0, 1, 0, 0, 0x04, 7 << 3 | 1, 8
};

static void publish_rows(struct one_function *table, const void *rows, size_t size)
{
	table->entry.size = 0;
	__atomic_store_n(&table->header.removed, table->header.removed + 1,
			 __ATOMIC_RELEASE);
	memcpy(table->rows, rows, size);
	table->entry.rows = offsetof(struct one_function, rows);
	table->map = 1;
	__atomic_store_n(&table->entry.size, PAGE, __ATOMIC_RELEASE);
	__atomic_store_n(&table->header.used, 1, __ATOMIC_RELEASE);
}

static int register_function(struct world *world, struct one_function *table)
{
	struct sframe_unwind_register_table reg = {
		.size = sizeof(reg),
		.table_start = (uintptr_t)table,
		.table_size = sizeof(*table),
		.text_start = (uintptr_t)world->fake.text,
		.text_size = PAGE,
		.max_functions = 1,
		.granule_bits = 12,
	};
	const int err = result(ioctl(world->fd, SFRAME_UNWIND_IOC_REGISTER_TABLE, &reg));

	world->fake.reg.id = reg.id;
	return err;
}

/* The page of the section is used for the table. */
int run_register_table(struct world *world)
{
	return register_function(world, (void *)world->fake.section);
}

bool setup_table(struct world *world)
{
	memset(world->fake.section, 0, PAGE);
	publish_rows((void *)world->fake.section, usual_row, sizeof(usual_row));
	return !run_register_table(world);
}

int run_table(struct world *world)
{
	struct one_function *table = (void *)world->fake.section;
	int err;

	publish_rows(table, usual_row, sizeof(usual_row));
	err = request_at(world, world->fake.text);
	if (err)
		return err;
	publish_rows(table, flexible_row, sizeof(flexible_row));
	return request_at(world, world->fake.text);
}

/* The walk that notices that a table is not mapped any more. */
int run_lost_table(struct world *world)
{
	struct one_function *table = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (table == MAP_FAILED)
		return errno;
	err = register_function(world, table);
	munmap(table, PAGE);
	if (err)
		return err;
	err = request_at(world, world->fake.text);
	if (!err || err == LESS)
		return 0;
	/* No walk has ended it: another table could be mapped in its place. */
	unregister_id(world->fd, world->fake.reg.id);
	return err;
}
