// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sframe_unwind_convert.h>

#include "cli/attach/child.h"
#include "cli/attach/clock.h"
#include "cli/attach/vdso.h"
#include "cli/cli.h"
#include "cli/exec_convert.h"
#include "cli/exec_start.h"
#include "cli/profile/copy_sections.h"
#include "cli/profile/inspect.h"
#include "module/file/elf.h"
#include "worker/message.h"

/* How long "attach" may take to convert a file, and a child of ours. */
#define PATIENCE_NS	(10 * SECOND)
#define CHILD_NS	(60 * SECOND)

/* How often a file is opened, and how long between: whoever opens it for us may be late. */
#define TRIES_MAX	20u
#define TRY_NS		(100 * MS)

/* Limits of the child. */
#define CPU_SECONDS	60u
#define MEMORY_MAX	(4ULL << 30)
#define NICENESS	5

/* Bytes of all sections; and files of other users that are converted. */
#define BYTES_MAX	(512ULL << 20)
#define OTHERS_MAX	256u

/* Files of all processes: about 500 bytes are kept of each, besides the section. */
#define FILES_MAX	16384u

/*
 * Files that are open at a time: the command needs descriptors for other things, too. Half of
 * them may be of other users.
 */
#define OPEN_MAX	128u

/* The child's descriptors; 0 to 2 are /dev/null. */
#define CHILD_SOCKET	3
#define CHILD_FILE	4

#define VDSO		"[vdso]"

/**
 * struct answer - of a child, with the section as a file
 *
 * @error: 0 or a negative errno.
 * @size: bytes of the section.
 * @elf: the file's headers.
 */
struct answer {
	int32_t error;
	uint64_t size;
	struct sfu_elf elf;
};

/**
 * struct file_section - a file that a cut stack is in
 *
 * Anybody can give a file the path and the build ID of another one. So what is found for one
 * process is used for others only if it is a file of the system, or the user's own, and has a
 * build ID: in containers, there are different ones of the same name.
 *
 * @next: the next one of the same object, for other processes.
 * @pid: the process.
 * @is_shared: it is for all processes, and the first one of the object.
 * @state: see above.
 * @since: when it was looked for.
 * @tries: how often it was opened in vain.
 * @tried: when that was last.
 * @file: the file, until it is converted; or no descriptor, before it could be opened.
 * @name: its path.
 * @build_id, @build_id_size: what it must have; or 0, if it is sure to be the file.
 * @bytes: the section.
 * @table: the same.
 * @segments, @nr_segments: where the file's code is.
 */
struct file_section {
	struct file_section *next;
	uint32_t pid;
	bool is_shared;
	enum copy_section state;
	uint64_t since;
	uint32_t tries;
	uint64_t tried;
	struct object_file file;
	char *name;
	uint8_t build_id[SFRAME_UNWIND_PROFILE_BUILD_ID];
	uint32_t build_id_size;
	unsigned char *bytes;
	struct sfu_table table;
	struct sfu_elf_segment segments[SFU_ELF_MAX_SEGMENTS];
	uint32_t nr_segments;
};

/**
 * struct copy_sections - all files
 *
 * @list: the files, by number of the object; NULL for those that no stack was cut in.
 * @room: room for those.
 * @nr: number of files.
 * @bytes: of all sections.
 * @others: files of other users that were converted.
 * @nr_open: files that are open.
 * @others_open: of these, those of other users.
 * @child: converts @current, or NULL.
 * @current: the file.
 * @socket: connection to the child.
 * @until: when the child is ended.
 */
struct copy_sections {
	struct file_section **list;
	uint32_t room;
	uint32_t nr;
	uint64_t bytes;
	uint32_t others;
	uint32_t nr_open;
	uint32_t others_open;
	struct child *child;
	struct file_section *current;
	int socket;
	uint64_t until;
};

struct copy_sections *copy_sections_create(const char *command)
{
	static char worker[PATH_MAX];

	if (exec_find_worker(worker, sizeof(worker))) {
		complain("%s: stacks in files that are new will be cut", command);
		return NULL;
	}
	exec_convert_set_worker(worker);
	return table_allocate(sizeof(struct copy_sections));
}

static void end_child(struct copy_sections *sections)
{
	if (!sections->child)
		return;
	child_leave(sections->child);
	close(sections->socket);
	sections->child = NULL;
}

void copy_sections_free(struct copy_sections *sections)
{
	if (!sections)
		return;
	end_child(sections);
	for (uint32_t i = 0; i < sections->room; i++) {
		struct file_section *one, *next;

		for (one = sections->list[i]; one; one = next) {
			next = one->next;
			object_file_close(&one->file);
			free(one->bytes);
			free(one->name);
			free(one);
		}
	}
	free(sections->list);
	free(sections);
}

/* --- the child */

/* Reads the file whose descriptor is CHILD_FILE. */
static int read_at(const struct sfu_elf_reader *reader, u64 offset, void *to, u32 size)
{
	(void)reader;
	if (offset > INT64_MAX)
		return -EFAULT;
	return pread(CHILD_FILE, to, size, offset) == (ssize_t)size ? 0 : -EFAULT;
}

static void limit(int resource, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now) || now.rlim_max <= most)
		return;
	setrlimit(resource, &(struct rlimit){ most, most });
}

/* For child_start(): @data is the file's path. */
static int run_child(void *data)
{
	const struct sfu_elf_reader reader = { read_at };
	struct sframe_unwind_converted *section;
	int files[2] = { -1, -1 };
	struct answer answer = { 0 };
	char text[256];

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, CPU_SECONDS);
	limit(RLIMIT_AS, MEMORY_MAX);
	answer.error = sfu_elf_read(&answer.elf, &reader);
	answer.elf.problem = NULL;
	if (!answer.error)
		answer.error = exec_convert_find(CHILD_FILE, data, true, &section, text,
						 sizeof(text));
	if (!answer.error) {
		answer.size = section->size;
		files[0] = exec_convert_write(section);
		answer.error = files[0] < 0 ? -errno : 0;
	}
	return message_send(CHILD_SOCKET, &answer, sizeof(answer), NULL, 0, files) ? 1 : 0;
}

/* --- conversions */

static void close_file(struct copy_sections *sections, struct file_section *one)
{
	sections->nr_open -= one->file.fd >= 0;
	sections->others_open -= one->file.fd >= 0 && !one->file.is_ours;
	object_file_close(&one->file);
}

/* The section of @one is not to be had. */
static void give_up(struct copy_sections *sections, struct file_section *one)
{
	close_file(sections, one);
	one->state = COPY_SECTION_NONE;
}

static bool start_child(struct copy_sections *sections, struct file_section *one)
{
	int keep[] = { -1, -1, -1, -1, [CHILD_FILE] = one->file.fd };
	const struct child_spec spec = {
		.run = run_child,
		.data = one->name,
		.keep = keep,
		.nr_keep = sizeof(keep) / sizeof(keep[0]),
		.nice = NICENESS,
		.user = one->file.user,
	};
	int sockets[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return false;
	keep[CHILD_SOCKET] = sockets[1];
	err = child_start(&sections->child, &spec);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		sections->child = NULL;
		return false;
	}
	sections->socket = sockets[0];
	sections->current = one;
	sections->until = now_ns() + CHILD_NS;
	return true;
}

/* Read the section, and look at its header: all else is checked when it is used. */
static bool take_section(struct file_section *one, const struct answer *answer, int fd)
{
	struct sfu_bytes bytes = { .size = answer->size };
	struct sfu_defect defect;
	uint64_t done = 0;

	one->bytes = malloc(answer->size ? answer->size : 1);
	while (one->bytes && done < answer->size) {
		const ssize_t got = pread(fd, one->bytes + done, answer->size - done, done);

		if (got <= 0)
			return false;
		done += got;
	}
	bytes.copy = one->bytes;
	return one->bytes && !sfu_table_open_extended(&one->table, &bytes, &defect);
}

static bool is_file(const struct file_section *one, const struct sfu_elf *elf)
{
	return !one->build_id_size ||
	       (elf->build_id_size == one->build_id_size &&
		!memcmp(elf->build_id, one->build_id, one->build_id_size));
}

/* Take over what a child has sent. It is not trusted: the file may have taken it over. */
static void take_answer(struct copy_sections *sections, const struct answer *answer, int fd)
{
	struct file_section *one = sections->current;
	const struct sfu_elf *elf = &answer->elf;

	if (answer->error || fd < 0 || answer->size > BYTES_MAX - sections->bytes ||
	    elf->nr_segments > SFU_ELF_MAX_SEGMENTS ||
	    elf->build_id_size > sizeof(one->build_id) || !is_file(one, elf) ||
	    !take_section(one, answer, fd)) {
		free(one->bytes);
		one->bytes = NULL;
		give_up(sections, one);
		return;
	}
	sections->bytes += answer->size;
	memcpy(one->segments, elf->segments, sizeof(one->segments));
	one->nr_segments = elf->nr_segments;
	close_file(sections, one);
	one->state = COPY_SECTION_HERE;
}

/* Look whether the child has answered, or is late. */
static void look_at_child(struct copy_sections *sections)
{
	struct answer answer;
	int fds[2] = { -1, -1 };
	const ssize_t got = message_receive(sections->socket, &answer, sizeof(answer), fds,
					    true);

	if (got == -EAGAIN && now_ns() < sections->until)
		return;
	if (got == sizeof(answer))
		take_answer(sections, &answer, fds[0]);
	else
		give_up(sections, sections->current);
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	end_child(sections);
}

/* Whether @one is to be converted now, if it is ours, or not. */
static bool is_due(const struct file_section *one, bool is_ours, bool is_urgent, uint64_t now)
{
	return one->state == COPY_SECTION_LATER && one->file.fd >= 0 &&
	       one->file.is_ours == is_ours &&
	       (is_urgent || now - one->since >= PATIENCE_NS);
}

/* Start a conversion, if one is due. Returns whether it has. */
static bool start_one(struct copy_sections *sections, bool is_ours, bool is_urgent)
{
	const uint64_t now = now_ns();

	for (uint32_t i = 0; i < sections->room; i++) {
		struct file_section *one = sections->list[i];

		while (one && !is_due(one, is_ours, is_urgent, now))
			one = one->next;
		if (one && start_child(sections, one))
			return true;
	}
	return false;
}

void copy_sections_work(struct copy_sections *sections, bool is_urgent)
{
	children_collect_left();
	if (sections->child)
		look_at_child(sections);
	if (!sections->child && !start_one(sections, true, is_urgent))
		start_one(sections, false, is_urgent);
}

/* --- files */

/*
 * Returns whether @file may be @object: another file may be mapped there by now, or the process
 * be another one with its number. What has a build ID is compared by that, when it is read. The
 * device is not compared: some file systems have another one for mappings.
 */
static bool may_be(const struct object_file *file, const struct history_object *object)
{
	const size_t length = strlen(object->name);
	char path[PATH_MAX];

	if (object->build_id_size)
		return true;
	if (object->inode.inode && object->inode.inode != file->inode)
		return false;
	object_file_path(file->fd, path);
	return !strncmp(path, object->name, length) &&
	       (!path[length] || !strcmp(path + length, " (deleted)"));
}

/* What may block is not read: see object_file.h. */
static bool open_file(struct file_section *one, const struct history_object *object,
		      uint32_t pid, const struct mapping *mapping)
{
	struct history_object known = *object;
	bool is_sure;

	known.pid = pid;
	known.start = mapping->start;
	known.end = mapping->end;
	known.is_live = true;
	one->file.fd = -1;
	is_sure = inspect_open_mapped(&one->file, &known);
	/* Another file may have the same name. */
	if (!is_sure && (object->build_id_size < 2 ||
			 (!inspect_open_in_root(&one->file, &known) &&
			  !inspect_open(&one->file, known.name, pid))))
		return false;
	if ((one->file.is_ours || !one->file.may_block) && may_be(&one->file, object))
		return true;
	object_file_close(&one->file);
	return false;
}

static struct file_section *look_for(struct copy_sections *sections,
				     const struct history_object *object, uint32_t pid)
{
	struct file_section *one = table_allocate(sizeof(*one));

	sections->nr++;
	one->pid = pid;
	one->since = now_ns();
	one->file.fd = -1;
	one->name = table_copy(object->name);
	one->build_id_size = object->build_id_size;
	memcpy(one->build_id, object->build_id, sizeof(one->build_id));
	if (!strcmp(object->name, VDSO))
		one->file = (struct object_file){ .fd = vdso_copy(), .is_ours = true };
	else if (!is_file_name(object->name))
		one->state = COPY_SECTION_NONE;
	/* Neither depends on the process. */
	one->is_shared = one->file.fd >= 0 || one->state == COPY_SECTION_NONE;
	sections->nr_open += one->file.fd >= 0;
	return one;
}

/* Use @one, a file of object @number, for all processes. */
static void share(struct copy_sections *sections, uint32_t number, struct file_section *one)
{
	struct file_section **at = &sections->list[number];

	while (*at != one)
		at = &(*at)->next;
	*at = one->next;
	one->next = sections->list[number];
	sections->list[number] = one;
	one->is_shared = true;
}

/* Open the file, or try it again later. */
static void try_to_open(struct copy_sections *sections, struct file_section *one,
			const struct mapping *mapping, const struct history_object *object,
			uint32_t pid)
{
	if (sections->nr_open == OPEN_MAX || (one->tries && now_ns() - one->tried < TRY_NS))
		return;
	if (inspect_count(pid) && open_file(one, object, pid, mapping)) {
		/* Try it again later, until the stacks are too old. */
		if (!one->file.is_ours && sections->others_open == OPEN_MAX / 2) {
			object_file_close(&one->file);
			one->tries = 1;
			one->tried = now_ns();
			return;
		}
		sections->nr_open++;
		sections->others_open += !one->file.is_ours;
		if (one->file.is_ours && one->build_id_size)
			share(sections, mapping->object, one);
		if (!one->file.is_ours && sections->others++ >= OTHERS_MAX)
			give_up(sections, one);
		return;
	}
	one->tried = now_ns();
	if (++one->tries == TRIES_MAX)
		give_up(sections, one);
}

/* Returns the file of @object for process @pid, or NULL if there are too many files. */
static struct file_section *get_file(struct copy_sections *sections, uint32_t number,
				     const struct history_object *object, uint32_t pid)
{
	struct file_section *one;

	sections->list = table_grow(sections->list, &sections->room, number,
				    sizeof(*sections->list));
	one = sections->list[number];
	if (one && one->is_shared)
		return one;
	while (one && one->pid != pid)
		one = one->next;
	if (one)
		return one;
	if (sections->nr == FILES_MAX)
		return NULL;
	one = look_for(sections, object, pid);
	one->next = sections->list[number];
	sections->list[number] = one;
	return one;
}

enum copy_section copy_sections_find(struct copy_sections *sections, uint64_t pc,
				     const struct mapping *mapping,
				     const struct history_object *object, uint32_t pid,
				     struct sfu_table *table)
{
	const uint64_t offset = mapping->offset + (pc - mapping->start);
	struct file_section *one = get_file(sections, mapping->object, object, pid);

	if (!one)
		return COPY_SECTION_NONE;
	if (one->state == COPY_SECTION_LATER && one->file.fd < 0)
		try_to_open(sections, one, mapping, object, pid);
	if (one->state != COPY_SECTION_HERE)
		return one->state;
	for (uint32_t i = 0; i < one->nr_segments; i++) {
		const struct sfu_elf_segment *segment = &one->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->filesz)
			continue;
		*table = one->table;
		table->bytes.address = pc - (segment->vaddr + (offset - segment->offset));
		return COPY_SECTION_HERE;
	}
	return COPY_SECTION_NONE;
}
