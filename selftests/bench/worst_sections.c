// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of registrations: a million of them, and code and sections in very
 * many mappings.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/marker.h"
#include "../include/wrappers.h"
#include "worst.h"

/* The maximum of an address space is 1,048,576. */
#define MANY		1000000
#define AT_ONCE		10000

static int client;
static unsigned char *text, *section;
static size_t section_size;
static uint64_t id, list_from;
static pid_t other;
static struct sframe_unwind_batch_entry entries[AT_ONCE];

/* Every second byte of the code is registered, all with one section. */
static uint64_t taken_byte(uint32_t i)
{
	return (uintptr_t)text + 2UL * i;
}

static uint64_t free_byte(uint32_t i)
{
	return taken_byte(i) + 1;
}

static uint32_t batch(long cmd, uint32_t nr)
{
	struct sframe_unwind_batch call = {
		.size = sizeof(call),
		.entries = (uintptr_t)entries,
		.nr = nr,
	};

	if (ioctl(client, cmd, &call) || call.nr_failed)
		die("batch: %s, %u failed with %s", strerror(errno),
		    call.nr_failed, strerror(entries[0].error));
	return call.nr;
}

/* Common to both scenarios, so that only the registrations differ. */
static void setup_nothing(void)
{
	client = new_client();
	text = new_memory(2 * MANY, PROT_READ | PROT_WRITE | PROT_EXEC);
	section = new_memory(4096, PROT_READ | PROT_WRITE);
	section_size = table_size(1, 1);
	put_table(section, (uintptr_t)section, (uintptr_t)text, 1, 1, 1);
	memset(entries, 0, sizeof(entries));
}

static void setup_many(void)
{
	uint32_t i, j;

	setup_nothing();
	for (i = 0; i < MANY; i += AT_ONCE) {
		for (j = 0; j < AT_ONCE; j++) {
			entries[j] = (struct sframe_unwind_batch_entry) {
				.sframe_start = (uintptr_t)section,
				.sframe_size = section_size,
				.text_start = taken_byte(i + j),
				.text_size = 1,
			};
		}
		batch(SFRAME_UNWIND_IOC_REGISTER_BATCH, AT_ONCE);
	}
	id = entries[AT_ONCE / 2].id;
	list_from = taken_byte(MANY / 2);
}

/*
 * Fork a child that shares everything with this process, and lives until the
 * next one is forked.
 */
static void prepare_child(void)
{
	int status;

	if (other) {
		kill(other, SIGKILL);
		waitpid(other, &status, 0);
	}
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void forget_one(void)
{
	if (id)
		unregister_range(client, id);
	id = 0;
}

/* Register one in the middle of all others. */
static void register_one(void)
{
	id = register_range(client, (uintptr_t)section, section_size,
			    free_byte(MANY / 2), 1, 0);
}

static void prepare_register(void)
{
	forget_one();
}

static void prepare_register_shared(void)
{
	forget_one();
	prepare_child();
}

static void prepare_unregister(void)
{
	if (!id)
		register_one();
}

static void prepare_unregister_shared(void)
{
	prepare_unregister();
	prepare_child();
}

/* Each entry is next to an existing one, and far from the entry before. */
static void fill_spread(void)
{
	uint32_t i;

	for (i = 0; i < AT_ONCE; i++) {
		entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = (uintptr_t)section,
			.sframe_size = section_size,
			.text_start = free_byte(i * (MANY / AT_ONCE)),
			.text_size = 1,
		};
	}
}

static bool is_spread;

static void unregister_spread(void)
{
	uint32_t i;

	for (i = 0; i < AT_ONCE; i++)
		entries[i].sframe_start = 0;
	batch(SFRAME_UNWIND_IOC_UNREGISTER_BATCH, AT_ONCE);
	is_spread = false;
}

static void register_spread(void)
{
	batch(SFRAME_UNWIND_IOC_REGISTER_BATCH, AT_ONCE);
	is_spread = true;
}

static void prepare_spread(void)
{
	if (is_spread)
		unregister_spread();
	fill_spread();
	prepare_child();
}

static void prepare_unspread(void)
{
	if (!is_spread) {
		fill_spread();
		register_spread();
	}
	prepare_child();
}

static void unregister_all(void)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = (uintptr_t)section,
	};

	if (unregister_section(client, &unreg))
		die("unregister: %s", strerror(errno));
}

static void list(void)
{
	static struct sframe_unwind_section sections[AT_ONCE];
	struct sframe_unwind_list arg = {
		.size = sizeof(arg),
		.from = list_from,
		.sections = (uintptr_t)sections,
		.nr = AT_ONCE,
	};

	if (ioctl(client, SFRAME_UNWIND_IOC_LIST, &arg))
		die("list: %s", strerror(errno));
}

static void ask_for_stats(void)
{
	struct sframe_unwind_stats counters;

	if (stats(client, &counters))
		die("stats: %s", strerror(errno));
}

static void fork_once(void)
{
	other = fork();
	if (!other)
		_exit(0);
}

static void prepare_fork(void)
{
	int status;

	forget_one();
	if (other)
		waitpid(other, &status, 0);
	other = 0;
}

static void leave(void)
{
	_exit(0);
}

void run_exec(void);

/* The module's marker, or another page if there is none. */
static unsigned char *page;

static void find_page(void)
{
	page = find_marker(getpid(), NULL) ?: section;
}

static void unmap_page(void)
{
	munmap(page, 4096);
}

static void prepare_move(void)
{
	forget_one();
	find_page();
}

static void move_page(void)
{
	unsigned char *to = new_memory(4096, PROT_NONE);

	mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

/* A section whose functions have the maximum number of rows. */
#define VALIDATED	64
#define ROWS		65535

static void setup_validate(void)
{
	const uint32_t size = ROWS + 1;

	client = new_client();
	text = new_memory((size_t)VALIDATED * size, PROT_READ | PROT_EXEC);
	section_size = table_size(VALIDATED, ROWS);
	section = new_memory(section_size, PROT_READ | PROT_WRITE);
	put_table(section, (uintptr_t)section, (uintptr_t)text, VALIDATED, size,
		  ROWS);
}

static void validate(void)
{
	id = register_range(client, (uintptr_t)section, section_size,
			    (uintptr_t)text, (uint64_t)VALIDATED * (ROWS + 1),
			    SFRAME_UNWIND_REGISTER_VALIDATE);
}

/* Nearly the maximum number of mappings of a registration, half of them code. */
#define PIECES		120
#define PIECE		8192

static unsigned char *cut(int prot, int prot2)
{
	const size_t size = (size_t)PIECES / 2 * PIECE;
	unsigned char *p = new_memory(size, prot | PROT_WRITE);
	size_t at;

	for (at = 0; at < size; at += PIECE) {
		if (mprotect(p + at, PIECE / 2, prot2))
			die("mprotect: %s", strerror(errno));
	}
	return p;
}

static void setup_pieces(void)
{
	unsigned char *end;

	client = new_client();
	text = cut(PROT_READ | PROT_EXEC, PROT_READ | PROT_EXEC);
	section = cut(PROT_READ, PROT_READ);
	end = section + (size_t)PIECES / 2 * PIECE;
	section_size = end - section;
	if (mprotect(section, 4096, PROT_READ | PROT_WRITE))
		die("mprotect: %s", strerror(errno));
	put_table(section, (uintptr_t)section, (uintptr_t)text, 1, 64, 1);
	/* Extend the table to the end of the mappings. */
	*(uint32_t *)(section + 16) = section_size - 28 - 16;
}

static void register_pieces(void)
{
	id = register_range(client, (uintptr_t)section, section_size,
			    (uintptr_t)text, (size_t)PIECES / 2 * PIECE, 0);
}

/* Register sections in that many mappings, each for a little code. */
static void register_some(void)
{
	uint32_t i;

	if (id)
		return;
	for (i = 0; i < 20; i++)
		id = register_range(client, (uintptr_t)section, section_size,
				    (uintptr_t)text + 64 * i, 64, 0);
}

/* Try to register a range that overlaps all of them. */
static void register_over_them(void)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)section,
		.sframe_size = section_size,
		.text_start = (uintptr_t)text,
		.text_size = 64 * 20,
	};

	if (!register_section(client, &reg) || errno != EEXIST)
		die("registered over others: %s", strerror(errno));
}

const struct scenario worst_sections[] = {
	SCENARIO("fork",
		 setup_nothing, prepare_fork, fork_once,
		 .flags = NO_KILL | BASE),
	SCENARIO("mremap of a page",
		 setup_nothing, prepare_move, move_page,
		 .flags = NO_KILL | BASE),
	SCENARIO("munmap of a page",
		 setup_nothing, find_page, unmap_page,
		 .flags = ONCE | BASE),
	SCENARIO("exec",
		 setup_nothing, NULL, run_exec,
		 .flags = ONCE | LEAVES | BASE),
	SCENARIO("exit",
		 setup_nothing, NULL, leave,
		 .flags = ONCE | LEAVES | BASE),
	SCENARIO("STATS among 1,000,000",
		 setup_many, NULL, ask_for_stats),
	SCENARIO("REGISTER among 1,000,000",
		 setup_many, prepare_register, register_one),
	SCENARIO("REGISTER, trees shared with a child",
		 setup_many, prepare_register_shared, register_one),
	SCENARIO("UNREGISTER by id among 1,000,000",
		 setup_many, prepare_unregister, forget_one),
	SCENARIO("UNREGISTER by id, trees shared",
		 setup_many, prepare_unregister_shared, forget_one),
	SCENARIO("REGISTER_BATCH of 10,000, trees shared",
		 setup_many, prepare_spread, register_spread),
	SCENARIO("UNREGISTER_BATCH of 10,000, trees shared",
		 setup_many, prepare_unspread, unregister_spread),
	SCENARIO("LIST 10,000 of 1,000,000",
		 setup_many, NULL, list),
	SCENARIO("fork with 1,000,000",
		 setup_many, prepare_fork, fork_once,
		 .flags = NO_KILL, .base = "fork"),
	SCENARIO("mremap of the marker, 1,000,000",
		 setup_many, prepare_move, move_page,
		 .flags = NO_KILL, .base = "mremap of a page"),
	SCENARIO("UNREGISTER 1,000,000 by section, trees shared",
		 setup_many, NULL, unregister_all,
		 .flags = COPY),
	SCENARIO("UNREGISTER 1,000,000 by section",
		 setup_many, NULL, unregister_all,
		 .flags = ONCE),
	SCENARIO("munmap of the marker, 1,000,000",
		 setup_many, find_page, unmap_page,
		 .flags = ONCE, .base = "munmap of a page"),
	SCENARIO("exec with 1,000,000",
		 setup_many, NULL, run_exec,
		 .flags = ONCE | LEAVES, .base = "exec"),
	SCENARIO("exit with 1,000,000",
		 setup_many, NULL, leave,
		 .flags = ONCE | LEAVES, .base = "exit"),
	SCENARIO("REGISTER, VALIDATE 4 million rows",
		 setup_validate, forget_one, validate),
	SCENARIO("REGISTER, code and section in 120 mappings each",
		 setup_pieces, forget_one, register_pieces),
	SCENARIO("LIST 20 sections in 120 mappings each",
		 setup_pieces, register_some, list),
	SCENARIO("REGISTER over one in 120 mappings",
		 setup_pieces, register_some, register_over_them),
	{}
};
