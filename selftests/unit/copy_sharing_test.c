// SPDX-License-Identifier: GPL-2.0
/*
 * Sections for stacks that "record" completes: which processes they are for. Files, and the
 * child that converts them, are the test's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "module/file/elf.h"
#include "sframe_unwind_writer.h"
#include "tap.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/attach/vdso.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/exec_convert.h"
#include "userspace/cli/exec_start.h"
#include "userspace/cli/profile/copy_sections.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/worker/message.h"

#define PROCESSES	8u
#define TEXT		0x1000UL
#define LOAD		0x7f0000000000UL

/* Whether the file that a process has mapped is ours; and how many functions it has. */
static bool is_ours[PROCESSES];

/* The inode number of the file. */
static uint64_t inode_of[PROCESSES];

/* The descriptor of its file, when it is open. */
static int fd_of[PROCESSES];

/* Whose file is being converted, or 0. */
static uint32_t converting;
static unsigned int nr_conversions;

static const uint8_t build_id[20] = { 1, 2, 3 };

/* See copy_sections.c. */
struct answer {
	int32_t error;
	uint64_t size;
	struct sfu_elf elf;
};

/* --- in place of files, and of the child */

int exec_find_worker(char *path, size_t size)
{
	(void)path;
	(void)size;
	return 0;
}

void exec_convert_set_worker(const char *path)
{
	(void)path;
}

int exec_convert_find(int fd, const char *path, bool is_extended,
		      struct sframe_unwind_converted **section, char *text, size_t size)
{
	(void)fd;
	(void)path;
	(void)is_extended;
	(void)section;
	(void)text;
	(void)size;
	abort();
}

int exec_convert_write(const struct sframe_unwind_converted *section)
{
	(void)section;
	abort();
}

int vdso_copy(void)
{
	return -1;
}

bool inspect_count(pid_t pid)
{
	(void)pid;
	return true;
}

bool inspect_open(struct object_file *file, const char *path, pid_t pid)
{
	(void)file;
	(void)path;
	(void)pid;
	return false;
}

bool inspect_open_in_root(struct object_file *file, const struct history_object *known)
{
	(void)file;
	(void)known;
	return false;
}

bool inspect_open_mapped(struct object_file *file, const struct history_object *known)
{
	*file = (struct object_file){
		.fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.is_ours = is_ours[known->pid],
		.inode = inode_of[known->pid],
	};
	fd_of[known->pid] = file->fd;
	return true;
}

void object_file_close(struct object_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	for (uint32_t pid = 0; pid < PROCESSES; pid++)
		if (fd_of[pid] == file->fd)
			fd_of[pid] = -1;
	file->fd = -1;
}

void object_file_path(int fd, char path[PATH_MAX])
{
	(void)fd;
	strcpy(path, "/lib/a");
}

int child_start(struct child **child, const struct child_spec *spec)
{
	converting = 0;
	for (uint32_t pid = 1; pid < PROCESSES; pid++)
		if (fd_of[pid] == spec->keep[4])
			converting = pid;
	*child = (struct child *)&converting;
	nr_conversions++;
	return 0;
}

void child_leave(struct child *child)
{
	(void)child;
}

void children_collect_left(void)
{
}

int message_send(int socket, const void *bytes, size_t size, const void *rest,
		 size_t rest_size, const int fds[2])
{
	(void)socket;
	(void)bytes;
	(void)size;
	(void)rest;
	(void)rest_size;
	(void)fds;
	abort();
}

/* The section of a process's file has as many functions as its number. */
ssize_t message_receive(int socket, void *bytes, size_t size, int fds[2], bool is_nonblocking)
{
	static const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(0, 8);
	struct answer *answer = bytes;
	struct sframe_unwind_writer *writer;
	void *section;

	(void)socket;
	(void)is_nonblocking;
	if (size != sizeof(*answer))
		abort();
	*answer = (struct answer){ .elf.build_id_size = sizeof(build_id) };
	memcpy(answer->elf.build_id, build_id, sizeof(build_id));
	answer->elf.nr_segments = 1;
	answer->elf.segments[0].vaddr = TEXT;
	answer->elf.segments[0].filesz = 0x10000;
	sframe_unwind_writer_create(&writer);
	for (uint32_t i = 0; i < converting; i++)
		sframe_unwind_writer_add(writer, &(struct sframe_unwind_function){
			.start = TEXT + i * 256, .size = 256, .rows = &row, .nr_rows = 1,
		});
	answer->size = sframe_unwind_writer_size(writer);
	section = malloc(answer->size);
	sframe_unwind_writer_write(writer, section, answer->size, 0);
	sframe_unwind_writer_free(writer);
	fds[0] = memfd_create("section", MFD_CLOEXEC);
	if (write(fds[0], section, answer->size) != (ssize_t)answer->size)
		abort();
	free(section);
	return sizeof(*answer);
}

/* --- the tests */

static const struct mapping mapping = { .start = LOAD, .end = LOAD + 0x10000 };

static struct history_object object_with(uint32_t build_id_size)
{
	struct history_object object = {
		.name = (char *)"/lib/a",
		.build_id_size = build_id_size,
	};

	memcpy(object.build_id, build_id, build_id_size);
	return object;
}

static struct copy_sections *begin(void)
{
	nr_conversions = 0;
	for (uint32_t pid = 0; pid < PROCESSES; pid++)
		fd_of[pid] = -1;
	return copy_sections_create("test");
}

/* Returns whose file's section process @pid gets, when all is converted; 0 if none. */
static uint32_t get(struct copy_sections *sections, const struct history_object *object,
		    uint32_t pid)
{
	enum copy_section state = COPY_SECTION_LATER;
	struct sfu_table table;

	for (unsigned int i = 0; state == COPY_SECTION_LATER && i < 10; i++) {
		state = copy_sections_find(sections, LOAD + 16, &mapping, object, pid, &table);
		copy_sections_work(sections, true);
	}
	return state == COPY_SECTION_HERE ? table.num_fdes : 0;
}

/* A file of the system with a build ID is the same for all. */
static void shared(void)
{
	struct history_object object = object_with(sizeof(build_id));
	struct copy_sections *sections = begin();

	is_ours[2] = true;
	is_ours[3] = true;
	EXPECT_EQ(get(sections, &object, 2), 2);
	EXPECT_EQ(get(sections, &object, 3), 2);
	EXPECT_EQ(get(sections, &object, 2), 2);
	EXPECT_EQ(nr_conversions, 1);
	copy_sections_free(sections);
}

/* Anybody can give a file the name and build ID of another one, in a mount namespace. */
static void of_another_user(void)
{
	struct history_object object = object_with(sizeof(build_id));
	struct copy_sections *sections = begin();

	is_ours[2] = false;
	is_ours[3] = true;
	is_ours[4] = true;
	EXPECT_EQ(get(sections, &object, 2), 2);
	EXPECT_EQ(get(sections, &object, 2), 2);
	EXPECT_EQ(get(sections, &object, 3), 3);
	EXPECT_EQ(get(sections, &object, 4), 3);
	EXPECT_EQ(nr_conversions, 2);
	copy_sections_free(sections);
}

/* Containers have different files of the same name. */
static void without_build_id(void)
{
	struct history_object object = object_with(0);
	struct copy_sections *sections = begin();

	is_ours[2] = true;
	is_ours[3] = true;
	EXPECT_EQ(get(sections, &object, 2), 2);
	EXPECT_EQ(get(sections, &object, 3), 3);
	EXPECT_EQ(get(sections, &object, 2), 2);
	copy_sections_free(sections);
}

/* Another file, of the same name, was mapped there before the first one was opened. */
static void replaced(void)
{
	struct history_object object = object_with(0);
	struct copy_sections *sections = begin();
	struct mapping other = mapping;
	struct sfu_table table;

	is_ours[2] = true;
	inode_of[2] = 12;
	object.inode.inode = 11;
	EXPECT_EQ(get(sections, &object, 2), 0);
	other.object = 1;
	object.inode.inode = 12;
	EXPECT_EQ(copy_sections_find(sections, LOAD + 16, &other, &object, 2, &table),
		  COPY_SECTION_LATER);
	copy_sections_work(sections, true);
	EXPECT_EQ(converting, 2);
	copy_sections_free(sections);
}

/* Files of other users wait, however many there are. */
static void not_behind_others(void)
{
	struct history_object object = object_with(sizeof(build_id));
	struct copy_sections *sections = begin();
	struct mapping at = mapping;
	struct sfu_table table;

	is_ours[2] = false;
	is_ours[3] = true;
	for (at.object = 0; at.object < 200; at.object++)
		EXPECT_EQ(copy_sections_find(sections, LOAD + 16, &at, &object, 2, &table),
			  COPY_SECTION_LATER);
	EXPECT_EQ(copy_sections_find(sections, LOAD + 16, &at, &object, 3, &table),
		  COPY_SECTION_LATER);
	copy_sections_work(sections, true);
	EXPECT_EQ(converting, 3);
	copy_sections_work(sections, true);
	EXPECT_EQ(copy_sections_find(sections, LOAD + 16, &at, &object, 3, &table),
		  COPY_SECTION_HERE);
	copy_sections_free(sections);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(shared),
		TAP_TEST(of_another_user),
		TAP_TEST(without_build_id),
		TAP_TEST(replaced),
		TAP_TEST(not_behind_others),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
