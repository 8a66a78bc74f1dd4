// SPDX-License-Identifier: GPL-2.0
/*
 * Sections for stacks that "record" completes: which files are opened for them, and how many; and
 * what is taken over from the children that convert these, which are not trusted. Includes the
 * source, to answer for the children.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli_stub.h"
#include "sframe_unwind_writer.h"
#include "tap.h"
#include "userspace/cli/profile/copy_sections.c"

#define NR_FILES	200u
#define TEXT		0x1000UL	/* in the file, from offset 0x1000 on */

static char work[] = "/tmp/copy_sections_test.XXXXXX";

/* --- instead of other processes */

static uint64_t time_ns = 1000 * SECOND;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

/* Bytes of all tables of files. */
static size_t table_bytes;

void *__real_table_grow(void *array, uint32_t *room, uint32_t nr, size_t bytes);
void *__wrap_table_grow(void *array, uint32_t *room, uint32_t nr, size_t bytes);
void *__wrap_table_grow(void *array, uint32_t *room, uint32_t nr, size_t bytes)
{
	array = __real_table_grow(array, room, nr, bytes);
	table_bytes = *room * bytes;
	return array;
}

/* What the process has mapped, wherever it is asked. */
static char mapped[PATH_MAX];
static bool is_mapped, is_ours, may_block;
static unsigned int nr_opened;

static bool open_it(struct object_file *file, const char *path)
{
	*file = (struct object_file){
		.fd = open(path, O_RDONLY | O_CLOEXEC),
		.is_ours = is_ours,
		.may_block = may_block,
	};
	nr_opened++;
	return file->fd >= 0;
}

bool inspect_open_mapped(struct object_file *file, const struct history_object *known)
{
	(void)known;
	return is_mapped && open_it(file, mapped);
}

bool inspect_open_in_root(struct object_file *file, const struct history_object *known)
{
	(void)file;
	(void)known;
	return false;
}

bool inspect_open(struct object_file *file, const char *path, pid_t pid)
{
	(void)pid;
	return open_it(file, path);
}

bool inspect_count(pid_t pid)
{
	(void)pid;
	return true;
}

int vdso_copy(void)
{
	return -1;
}

int exec_find_worker(char *path, size_t room)
{
	snprintf(path, room, "none");
	return 0;
}

void exec_convert_set_worker(const char *path)
{
	(void)path;
}

int exec_convert_find(int fd, const char *path, bool is_extended,
		      struct sframe_unwind_converted **section, char *text, size_t room)
{
	(void)fd;
	(void)path;
	(void)is_extended;
	(void)section;
	(void)text;
	(void)room;
	return -ENOENT;
}

int exec_convert_write(const struct sframe_unwind_converted *section)
{
	(void)section;
	return -1;
}

/* The child that is running; what it sends, and whether it has done that. */
static unsigned int nr_children;
static struct answer answer;
static ssize_t answer_size;
static const void *section;

int child_start(struct child **child, const struct child_spec *spec)
{
	(void)spec;
	*child = (struct child *)&nr_children;
	nr_children++;
	return 0;
}

void child_leave(struct child *child)
{
	(void)child;
}

void children_collect_left(void)
{
}

int message_send(int socket, const void *message, size_t size, const void *rest,
		 size_t rest_size, const int fds[2])
{
	(void)socket;
	(void)message;
	(void)size;
	(void)rest;
	(void)rest_size;
	(void)fds;
	return 0;
}

ssize_t message_receive(int socket, void *to, size_t size, int fds[2], bool is_now)
{
	(void)socket;
	(void)is_now;
	if (answer_size <= 0)
		return answer_size;
	memcpy(to, &answer, size);
	if (section) {
		fds[0] = memfd_create("section", MFD_CLOEXEC);
		if (write(fds[0], section, answer.size) != (ssize_t)answer.size)
			return -EIO;
	}
	return answer_size;
}

/* --- files */

static struct copy_sections *sections;
static struct sfu_table table;

static void begin(void)
{
	sections = copy_sections_create("test");
	snprintf(mapped, sizeof(mapped), "%s/file", work);
	is_mapped = is_ours = true;
	may_block = false;
	nr_opened = nr_children = 0;
	answer_size = -EAGAIN;
	section = NULL;
}

/* Find the section of file @number, which is mapped with the name @name. */
static enum copy_section find_named(uint32_t number, const char *name, uint32_t build_id_size)
{
	const struct mapping mapping = {
		.start = 0x7f0000000000, .end = 0x7f0000010000, .offset = 0x1000,
		.object = number,
	};
	const struct history_object object = {
		.name = (char *)name,
		.build_id = { 1, 2, 3, 4 },
		.build_id_size = build_id_size,
	};

	return copy_sections_find(sections, mapping.start + 16, &mapping, &object, 7, &table);
}

static enum copy_section find(uint32_t number)
{
	return find_named(number, mapped, 0);
}

/* Returns how many descriptors are open. */
static unsigned int nr_open_files(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* A section of one function, at 0x1000 in the file. */
static unsigned char *make_section(size_t *size)
{
	static const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(0, 16);
	const struct sframe_unwind_function function = {
		.start = TEXT, .size = 256, .rows = &row, .nr_rows = 1,
	};
	struct sframe_unwind_writer *writer;
	unsigned char *made;

	if (sframe_unwind_writer_create(&writer) ||
	    sframe_unwind_writer_add(writer, &function))
		abort();
	*size = sframe_unwind_writer_size(writer);
	made = malloc(*size);
	if (sframe_unwind_writer_write(writer, made, *size, 0) != (ssize_t)*size)
		abort();
	sframe_unwind_writer_free(writer);
	return made;
}

/* What a good child sends. */
static void answer_well(size_t size)
{
	answer = (struct answer){
		.size = size,
		.elf = {
			.nr_segments = 1,
			.segments = { { .offset = 0x1000, .filesz = 0x1000,
					.vaddr = TEXT, .memsz = 0x1000 } },
			.build_id_size = 4,
			.build_id = { 1, 2, 3, 4 },
		},
	};
	answer_size = sizeof(answer);
}

/* --- tests */

/* A process can map a million files; memory is needed for those that are asked for. */
static void memory_for_those_asked_for(void)
{
	begin();
	EXPECT_EQ(find(1000000), COPY_SECTION_LATER);
	EXPECT(table_bytes <= 2 * 1000001 * sizeof(void *));
	EXPECT_EQ(nr_opened, 1);
	copy_sections_free(sections);
}

/* Some are open at a time; the others follow when these are converted. */
static void few_files_are_open(void)
{
	const unsigned int before = nr_open_files();
	unsigned int most = 0, done = 0;

	begin();
	for (uint32_t i = 0; i < NR_FILES; i++)
		EXPECT_EQ(find(i), COPY_SECTION_LATER);
	EXPECT_EQ(nr_open_files() - before, 128);
	EXPECT_EQ(nr_opened, 128);
	/* Children that fail, in one way or another. */
	for (unsigned int round = 0; done < NR_FILES && round < 1000; round++) {
		answer = (struct answer){ .error = -EINVAL };
		answer_size = round % 2 ? (ssize_t)sizeof(answer) : 0;
		copy_sections_work(sections, true);
		if (nr_open_files() - before > most)
			most = nr_open_files() - before;
		done = 0;
		for (uint32_t i = 0; i < NR_FILES; i++)
			done += find(i) == COPY_SECTION_NONE;
	}
	EXPECT_EQ(done, NR_FILES);
	EXPECT_EQ(nr_opened, NR_FILES);
	EXPECT_EQ(nr_children, NR_FILES);
	/* Those, and the connection to the child. */
	EXPECT(most <= 129);
	copy_sections_free(sections);
	EXPECT_EQ(nr_open_files(), before);
}

/* Likewise if each conversion succeeds. */
static void converted_files_are_closed(void)
{
	const unsigned int before = nr_open_files();
	unsigned int done = 0;
	unsigned char *made;
	size_t size;

	begin();
	made = make_section(&size);
	section = made;
	answer_well(size);
	for (unsigned int round = 0; done < NR_FILES && round < 1000; round++) {
		copy_sections_work(sections, true);
		done = 0;
		for (uint32_t i = 0; i < NR_FILES; i++)
			done += find(i) == COPY_SECTION_HERE;
		EXPECT(nr_open_files() - before <= 129);
	}
	EXPECT_EQ(done, NR_FILES);
	EXPECT_EQ(nr_open_files(), before);
	EXPECT_EQ(find(5), COPY_SECTION_HERE);
	EXPECT_EQ(table.bytes.address, 0x7f0000000000 - TEXT);
	copy_sections_free(sections);
	free(made);
}

/* Ask for @name until it is opened, or given up. Returns what that has led to. */
static enum copy_section try(const char *name, uint32_t build_id_size)
{
	enum copy_section state = COPY_SECTION_LATER;

	begin();
	for (unsigned int i = 0; i < 40 && state == COPY_SECTION_LATER; i++) {
		state = find_named(0, name, build_id_size);
		time_ns += 100 * MS;
		if (sections->nr_open)
			break;
	}
	copy_sections_free(sections);
	return state;
}

/* Another file may be mapped by now: one without build ID is compared by its name. */
static void another_file_is_mapped(void)
{
	char name[PATH_MAX];
	struct object_file file;
	int fd;

	EXPECT_EQ(try(mapped, 0), COPY_SECTION_LATER);
	snprintf(name, sizeof(name), "%s/fil", work);
	EXPECT_EQ(try(name, 0), COPY_SECTION_NONE);
	EXPECT_EQ(nr_opened, 20);
	snprintf(name, sizeof(name), "%s/files", work);
	EXPECT_EQ(try(name, 0), COPY_SECTION_NONE);
	snprintf(name, sizeof(name), "%s/other", work);
	EXPECT_EQ(try(name, 0), COPY_SECTION_NONE);
	EXPECT_EQ(nr_opened, 20);
	/* The child reads the build ID. */
	EXPECT_EQ(try(name, 4), COPY_SECTION_LATER);
	EXPECT_EQ(nr_opened, 1);
	/* A file that was deleted is the same one. */
	fd = open(mapped, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && !unlink(mapped));
	file = (struct object_file){ .fd = fd };
	EXPECT(may_be(&file, &(struct history_object){ .name = mapped }));
	snprintf(name, sizeof(name), "%s/file (deleted)", work);
	EXPECT(may_be(&file, &(struct history_object){ .name = name }));
	snprintf(name, sizeof(name), "%s/fil", work);
	EXPECT(!may_be(&file, &(struct history_object){ .name = name }));
	close(fd);
	fd = open(mapped, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	EXPECT(fd >= 0);
	close(fd);
}

/* Nobody may wait for the server of a file. */
static void files_that_may_block(void)
{
	begin();
	is_ours = false;
	may_block = true;
	EXPECT_EQ(find(0), COPY_SECTION_LATER);
	EXPECT_EQ(sections->nr_open, 0);
	copy_sections_free(sections);
}

/* Those of other users. */
static void few_files_of_others(void)
{
	unsigned int nr_given_up = 0;

	begin();
	is_ours = false;
	for (uint32_t i = 0; i < 300; i++) {
		nr_given_up += find(i) == COPY_SECTION_NONE;
		/* Room for more that are open. */
		if (sections->list[i]->file.fd >= 0)
			give_up(sections, sections->list[i]);
	}
	EXPECT_EQ(nr_given_up, 300 - 256);
	copy_sections_free(sections);
}

/* Convert file 0, with a build ID, by what is the answer. */
static enum copy_section convert(void)
{
	enum copy_section state = COPY_SECTION_LATER;

	for (unsigned int i = 0; i < 3 && state == COPY_SECTION_LATER; i++) {
		copy_sections_work(sections, true);
		state = find_named(0, mapped, 4);
	}
	copy_sections_free(sections);
	return state;
}

#define CONVERT_WITH(change)						\
	({								\
		begin();						\
		section = made;						\
		answer_well(size);					\
		find_named(0, mapped, 4);				\
		change;							\
		convert();						\
	})

static void hostile_answers(void)
{
	unsigned char *made;
	size_t size;

	made = make_section(&size);
	EXPECT_EQ(CONVERT_WITH((void)0), COPY_SECTION_HERE);
	EXPECT_EQ(CONVERT_WITH(answer.error = -EIO), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer_size--), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(section = NULL), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.elf.build_id[3]++), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.elf.build_id_size = 3), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.elf.build_id_size = ~0u), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.elf.nr_segments = SFU_ELF_MAX_SEGMENTS + 1),
		  COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.size = 5), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(sections->bytes = BYTES_MAX - size + 1), COPY_SECTION_NONE);
	/* A section for other code. */
	EXPECT_EQ(CONVERT_WITH(answer.elf.segments[0].offset = 0x2000), COPY_SECTION_NONE);
	EXPECT_EQ(CONVERT_WITH(answer.elf.nr_segments = 0), COPY_SECTION_NONE);
	free(made);
}

/* A child that does not answer is ended; so that it is the next one's turn. */
static void late_answers(void)
{
	begin();
	EXPECT_EQ(find(0), COPY_SECTION_LATER);
	EXPECT_EQ(find(1), COPY_SECTION_LATER);
	/* "attach" may have it converted meanwhile. */
	copy_sections_work(sections, false);
	EXPECT_EQ(nr_children, 0);
	time_ns += 10 * SECOND;
	copy_sections_work(sections, false);
	EXPECT_EQ(nr_children, 1);
	time_ns += 59 * SECOND;
	copy_sections_work(sections, false);
	EXPECT_EQ(find(0), COPY_SECTION_LATER);
	EXPECT_EQ(nr_children, 1);
	time_ns += SECOND;
	copy_sections_work(sections, false);
	EXPECT_EQ(find(0), COPY_SECTION_NONE);
	EXPECT_EQ(find(1), COPY_SECTION_LATER);
	EXPECT_EQ(nr_children, 2);
	copy_sections_free(sections);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(memory_for_those_asked_for),
		TAP_TEST(few_files_are_open),
		TAP_TEST(converted_files_are_closed),
		TAP_TEST(another_file_is_mapped),
		TAP_TEST(files_that_may_block),
		TAP_TEST(few_files_of_others),
		TAP_TEST(hostile_answers),
		TAP_TEST(late_answers),
	};
	char path[PATH_MAX];
	int fd;

	if (!mkdtemp(work))
		return 1;
	snprintf(path, sizeof(path), "%s/file", work);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	close(fd);
	snprintf(mapped, sizeof(mapped), "%s", path);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	remove_tree(work);
	return tap_done();
}
