/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Function table: code in memory that a test writes, and publishes as a runtime does.
 *
 * A function has a frame of any size and calls another one, or requests the stack of its
 * thread. It is called as the code of common.h, by call_request_code().
 */
#ifndef SELFTESTS_FUNCTION_TABLE_H
#define SELFTESTS_FUNCTION_TABLE_H

#include "common.h"
#include "random.h"

#define TABLE_FUNCTIONS	64
#define TABLE_BITS	6
#define TABLE_ROOM	(1UL << TABLE_BITS)
#define TABLE_TEXT	(4 * PAGE)

struct table_memory {
	struct sframe_unwind_table_header header;
	struct sframe_unwind_table_entry entry[TABLE_FUNCTIONS];
	__u32 map[TABLE_TEXT >> TABLE_BITS];
	unsigned char rows[TABLE_FUNCTIONS][32];
};

struct function_table {
	unsigned char *text;
	struct table_memory *memory;
	struct sframe_unwind_register_table reg;
	char message[192];
};

static inline int register_table(int fd, struct sframe_unwind_register_table *reg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_REGISTER_TABLE, reg);
}

/* @share: MAP_PRIVATE or MAP_SHARED, of code and table. */
static inline bool make_table(struct function_table *table, int share)
{
	const size_t size = (sizeof(*table->memory) + PAGE - 1) / PAGE * PAGE;

	memset(table, 0, sizeof(*table));
	table->text = mmap(NULL, TABLE_TEXT, PROT_READ | PROT_WRITE | PROT_EXEC,
			   share | MAP_ANONYMOUS, -1, 0);
	table->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, share | MAP_ANONYMOUS,
			     -1, 0);
	table->reg = (struct sframe_unwind_register_table) {
		.size = sizeof(table->reg),
		.table_start = (uintptr_t)table->memory,
		.table_size = sizeof(*table->memory),
		.text_start = (uintptr_t)table->text,
		.text_size = TABLE_TEXT,
		.max_functions = TABLE_FUNCTIONS,
		.granule_bits = TABLE_BITS,
		.message = (uintptr_t)table->message,
		.message_size = sizeof(table->message),
	};
	return table->text != MAP_FAILED && (void *)table->memory != MAP_FAILED;
}

static inline void free_table_memory(struct function_table *table)
{
	munmap(table->memory, (sizeof(*table->memory) + PAGE - 1) / PAGE * PAGE);
}

static inline void free_table(struct function_table *table)
{
	munmap(table->text, TABLE_TEXT);
	free_table_memory(table);
}

/*
 * Write a function with @frame bytes besides the return address at @at, which calls
 * @callee, or requests a stack if that is NULL. Returns its size.
 */
static inline unsigned int write_function(unsigned char *at, unsigned int frame,
					  const void *callee)
{
	unsigned char *p = at;

	memcpy(p, "\x48\x81\xec", 3);			/* sub $frame,%rsp */
	put32(p + 3, frame);
	p += 7;
	if (callee) {
		memcpy(p, "\x49\xbb", 2);		/* mov $callee,%r11 */
		put64(p + 2, (uintptr_t)callee);
		memcpy(p + 10, "\x41\xff\xd3", 3);	/* call *%r11 */
		p += 13;
	} else {
		memcpy(p, request_code, REQUEST_CODE_IP);
		p += REQUEST_CODE_IP;
	}
	memcpy(p, "\x48\x81\xc4", 3);			/* add $frame,%rsp */
	put32(p + 3, frame);
	p[7] = 0xc3;					/* ret */
	return p + 8 - at;
}

/* Rows of a function of write_function(), each with one word of two bytes. */
static inline void write_table_rows(unsigned char *rows, unsigned int frame,
				    unsigned int size)
{
	const unsigned char start[] = { 0, 7, size - 1 };
	unsigned int i;

	memcpy(rows, "\x03\x00\x00\x00\x00", 5);	/* 3 rows with starts of 1 byte */
	for (i = 0, rows += 5; i < 3; i++, rows += 4) {
		const unsigned int cfa = i == 1 ? 8 + frame : 8;

		rows[0] = start[i];
		rows[1] = 0x23;				/* by SP, one word, two bytes */
		rows[2] = cfa;
		rows[3] = cfa >> 8;
	}
}

/* Publish what is at @offset, of @size bytes, as entry @i with the rows number @i. */
static inline void publish_at(struct function_table *table, unsigned int i,
			      unsigned int offset, unsigned int size)
{
	struct sframe_unwind_table_entry *entry = &table->memory->entry[i];
	__u32 *used = &table->memory->header.used;
	unsigned int at;

	entry->start = offset;
	entry->rows = table->memory->rows[i] - (unsigned char *)table->memory;
	for (at = offset >> TABLE_BITS; at <= (offset + size - 1) >> TABLE_BITS; at++)
		__atomic_store_n(&table->memory->map[at], i + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->size, size, __ATOMIC_RELEASE);
	if (*used <= i)
		__atomic_store_n(used, i + 1, __ATOMIC_RELEASE);
}

/* Write a function at @offset, see write_function(), and publish it as entry @i. */
static inline void publish(struct function_table *table, unsigned int i,
			   unsigned int offset, unsigned int frame,
			   const void *callee)
{
	const unsigned int size = write_function(table->text + offset, frame, callee);

	write_table_rows(table->memory->rows[i], frame, size);
	publish_at(table, i, offset, size);
}

static inline void withdraw(struct function_table *table, unsigned int i)
{
	__u64 *removed = &table->memory->header.removed;

	__atomic_store_n(&table->memory->entry[i].size, 0, __ATOMIC_RELAXED);
	__atomic_store_n(removed, *removed + 1, __ATOMIC_RELEASE);
}

/*
 * A chain of functions, each of which calls the one before it; the first requests the
 * stack. Function i is at the offset first + i * TABLE_ROOM, and has any entry.
 */
#define MAX_CHAIN	16

struct chain {
	struct function_table *table;
	unsigned int first;
	unsigned int nr;
	unsigned int entry[MAX_CHAIN];
};

static inline unsigned char *chain_code(const struct chain *chain, unsigned int i)
{
	return chain->table->text + chain->first + i * TABLE_ROOM;
}

static inline void publish_link(const struct chain *chain, unsigned int i,
				unsigned int frame)
{
	publish(chain->table, chain->entry[i], chain->first + i * TABLE_ROOM, frame,
		i ? chain_code(chain, i - 1) : NULL);
}

/* With the entries from @entry on. */
static inline struct chain make_chain(struct function_table *table, unsigned int nr,
				      unsigned int entry)
{
	struct chain chain = {
		.table = table,
		.first = entry * TABLE_ROOM,
		.nr = nr,
	};
	unsigned int i;

	for (i = 0; i < nr; i++) {
		chain.entry[i] = entry + i;
		publish_link(&chain, i, 16 * i);
	}
	return chain;
}

/* Returns NULL if the addresses are those of the chain and its caller, or an error. */
static inline const char *check_chain(const struct chain *chain, const __u64 *ips,
				      unsigned int nr)
{
	static __thread char why[96];
	unsigned int i;

	for (i = 0; i < chain->nr; i++) {
		if (i < nr && inside(ips[i], chain_code(chain, i), TABLE_ROOM))
			continue;
		snprintf(why, sizeof(why), "frame %u of %u is at %#llx, not in %p", i, nr,
			 i < nr ? ips[i] : 0, chain_code(chain, i));
		return why;
	}
	if (i >= nr || !inside(ips[i], call_request_code, 128))
		return "the caller is missing";
	return NULL;
}

/* Run the chain, and check the stack. Returns NULL or an error. */
static __attribute__((unused)) const char *
walk_chain(const struct chain *chain, int fd, struct stack *stack)
{
	struct sframe_unwind_request req = request_self();
	const char *why;

	if (call_request_code(chain_code(chain, chain->nr - 1), fd, &req))
		return "request failed";
	why = read_stack(fd, stack);
	return why ?: check_chain(chain, stack->head.ips, stack->head.nr_frames);
}

#define ASSERT_CHAIN(chain)						\
	do {								\
		const char *why_ = walk_chain(chain, self->fd, &self->stack); \
		ASSERT_EQ(NULL, why_)					\
		{							\
			TH_LOG("%s; stop %u", why_, self->stack.head.stop); \
		}							\
	} while (0)

/* Check that a walk ends in the chain's first function, as there is no rule for it. */
#define ASSERT_NO_RULE(chain)						\
	do {								\
		ASSERT_NE(NULL, walk_chain(chain, self->fd, &self->stack)); \
		ASSERT_EQ(1, self->stack.head.nr_frames);		\
		ASSERT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop); \
	} while (0)

/* Replace function @i by one with another frame, and entry @entry. */
static inline void replace_link(struct chain *chain, unsigned int i,
				unsigned int entry, unsigned int frame)
{
	withdraw(chain->table, chain->entry[i]);
	chain->entry[i] = entry;
	publish_link(chain, i, frame);
}

/*
 * Replace a function at random, with a random frame and one of the @nr entries from
 * @from on, not all of which are used.
 */
static inline void replace_any(struct chain *chain, unsigned int from,
			       unsigned int nr, uint64_t *random)
{
	const unsigned int i = random_below(random, chain->nr);
	unsigned int entry, j;

	do {
		entry = from + random_below(random, nr);
		for (j = 0; j < chain->nr && (j == i || chain->entry[j] != entry); j++)
			;
	} while (j < chain->nr);
	replace_link(chain, i, entry, 8 * random_below(random, 100));
}

/* What LIST says of the section for the code at @text. */
static inline struct sframe_unwind_section listed_section(int fd, const void *text)
{
	struct sframe_unwind_section section = {};
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.from = (uintptr_t)text,
		.sections = (uintptr_t)&section,
		.nr = 1,
	};

	ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list);
	return section;
}

#endif /* SELFTESTS_FUNCTION_TABLE_H */
