// SPDX-License-Identifier: GPL-2.0
/*
 * Reader task: generated code of a process. See reader_task.h.
 *
 * The process can change while it is looked at, and its number can be used again. All
 * its files are opened below one descriptor of /proc/PID, which is of this process only.
 * After attaching, its mappings are read again, and what they do not show is detached: an
 * attachment belongs to the address space at the time of the call, so if that was another
 * one, either it has ended, or the process has the same code at the same addresses.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>
#include <sframe_unwind.h>

#include "clock.h"
#include "code_section.h"
#include "lib/memory_file.h"
#include "reader_task.h"
#include "runtimes.h"

/*
 * Limits of reading the mappings once: of CPU time; and of real time, attaching included,
 * because others can make each system call wait. What comes then is left out. The reply
 * must come before READER_MAX_NS.
 */
#define READ_NS (300 * MS)
#define LOOK_NS SECOND

/* Limits of one range: mappings, of which the kernel takes 256; and bytes. */
#define MAX_MAPPINGS	128
#define MAX_SIZE	(1ULL << 30)

/* Runtimes of one process. */
#define MAX_RUNTIMES 4

/* Bytes of a command line that are read. */
#define MAX_WORDS 16384

/* A line of /proc/PID/maps. */
struct mapped {
	uint64_t start;
	uint64_t end;
	struct file_key key;
	bool is_anonymous;
	const char *name;
};

/* A range to be attached to, of @nr_mappings anonymous mappings, or of one of a file. */
struct wanted {
	uint64_t start;
	uint64_t end;
	uint64_t id;
	bool switches;
	unsigned int nr_mappings;
	bool is_new;
};

/**
 * struct look - the mappings of a process
 *
 * @runtimes, @nr_runtimes: whose files it maps.
 * @is_excluded: it also maps a file that one of them must not be together with.
 * @text: the largest mapping of a runtime's file that has_text; its end is 0 if there
 *	is none.
 * @has_text: mappings of this file are wanted.
 * @switches: functions that generated code calls may be on another stack.
 * @wanted, @nr: what is to be attached to, by address.
 * @is_full: there is more.
 * @is_cut: there may be more: the time to read was over.
 * @read_to: end of the last executable mapping that was read.
 * @ends_at: when all time is over.
 */
struct look {
	const struct runtime *runtimes[MAX_RUNTIMES];
	unsigned int nr_runtimes;
	bool is_excluded;
	struct mapped text;
	bool has_text;
	bool switches;
	struct wanted wanted[CODE_MAX_RANGES];
	unsigned int nr;
	bool is_full;
	bool is_cut;
	uint64_t read_to;
	uint64_t ends_at;
};

/* --- mappings */

/* Returns whether memory of this name has no file, so can have generated code. */
static bool is_anonymous(const char *name, uint64_t inode)
{
	if (!inode)
		return !*name || !strncmp(name, "[anon", strlen("[anon"));
	return !strncmp(name, "/memfd:", strlen("/memfd:")) ||
	       !strncmp(name, "/dev/zero", strlen("/dev/zero"));
}

/* Returns whether the line is an executable mapping. */
static bool parse_line(char *line, struct mapped *to)
{
	const char *modes = strchr(line, ' ');
	unsigned int major, minor;
	int name = 0;

	if (!modes || strnlen(modes, 4) < 4 || modes[3] != 'x' ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64 "%n",
		   &to->start, &to->end, &major, &minor, &to->key.inode,
		   &name) != 5 || !name)
		return false;
	to->key.device = makedev(major, minor);
	line[strcspn(line, "\n")] = '\0';
	to->name = line + name + strspn(line + name, " ");
	to->is_anonymous = is_anonymous(to->name, to->key.inode);
	return true;
}

/* Call @fn for the executable mappings. Returns 0, -ESRCH if there are none, or an errno. */
static int for_each_mapping(int process, struct look *look,
			    void (*fn)(struct look *look,
				       const struct mapped *mapped))
{
	const uint64_t end = cpu_ns() + READ_NS;
	unsigned int nr = 0, lines = 0;
	struct mapped mapped;
	char *line = NULL;
	size_t size = 0;
	FILE *maps;
	int fd, err = 0;

	look->read_to = 0;
	fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	maps = fdopen(fd, "r");
	if (!maps) {
		close(fd);
		return -ENOMEM;
	}
	while (getline(&line, &size, maps) > 0) {
		if (now_ns() >= look->ends_at ||
		    (!(++lines % 64) && cpu_ns() > end)) {
			look->is_cut = true;
			break;
		}
		if (!parse_line(line, &mapped))
			continue;
		nr++;
		look->read_to = mapped.end;
		fn(look, &mapped);
	}
	if (ferror(maps))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(maps);
	return err || nr || look->is_cut ? err : -ESRCH;
}

static void add_runtime(struct look *look, const struct mapped *mapped)
{
	const struct runtime *runtime;
	unsigned int i = 0;

	if (mapped->is_anonymous || !mapped->key.inode)
		return;
	runtime = runtimes_find(mapped->name);
	if (!runtime)
		return;
	while (i < look->nr_runtimes && look->runtimes[i] != runtime)
		i++;
	look->switches |= runtime->switches;
	/* More are too many to be sure of. */
	if (i == MAX_RUNTIMES)
		look->is_excluded = true;
	else if (i == look->nr_runtimes)
		look->runtimes[look->nr_runtimes++] = runtime;
	if (runtime->has_text && mapped->end - mapped->start >
				 look->text.end - look->text.start)
		look->text = *mapped;
}

/* Add a range, or enlarge the last one. */
static void add_wanted(struct look *look, const struct mapped *mapped)
{
	struct wanted *last = look->nr ? &look->wanted[look->nr - 1] : NULL;
	const bool is_memory = !mapped->key.inode;

	if (mapped->end - mapped->start > MAX_SIZE)
		return;
	if (last && is_memory && last->nr_mappings &&
	    last->nr_mappings < MAX_MAPPINGS && last->end == mapped->start &&
	    mapped->end - last->start <= MAX_SIZE) {
		last->end = mapped->end;
		last->nr_mappings++;
		return;
	}
	if (look->nr == CODE_MAX_RANGES) {
		look->is_full = true;
		return;
	}
	look->wanted[look->nr++] = (struct wanted) {
		.start = mapped->start,
		.end = mapped->end,
		.nr_mappings = is_memory,
	};
}

static void add_code(struct look *look, const struct mapped *mapped)
{
	for (unsigned int i = 0; i < look->nr_runtimes && !mapped->is_anonymous &&
				 mapped->key.inode; i++)
		look->is_excluded |= runtime_excludes(look->runtimes[i],
						      mapped->name);
	if (mapped->is_anonymous ||
	    (look->has_text && is_same_key(&mapped->key, &look->text.key)))
		add_wanted(look, mapped);
}

/* --- the process */

/* Returns whether the command line has what the runtimes need. */
static bool has_options(int process, const struct look *look)
{
	static char words[MAX_WORDS];
	ssize_t got, size = 0;
	int fd;

	fd = openat(process, "cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (size < MAX_WORDS &&
	       (got = read(fd, words + size, MAX_WORDS - size)) > 0)
		size += got;
	close(fd);
	for (unsigned int i = 0; i < look->nr_runtimes; i++)
		if (!runtime_has_option(look->runtimes[i], words, size))
			return false;
	return true;
}

static bool needs_options(const struct look *look)
{
	for (unsigned int i = 0; i < look->nr_runtimes; i++)
		if (look->runtimes[i]->option)
			return true;
	return false;
}

/* Find the file of @look->text, without a request to its server, which may never answer. */
static void find_text(int process, const struct look *look,
		      struct reader_code_text *text)
{
	struct statx stat;
	char path[64];

	*text = (struct reader_code_text) { 0 };
	if (!look->text.end)
		return;
	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64,
		 look->text.start, look->text.end);
	if (statx(process, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO, &stat) || !S_ISREG(stat.stx_mode))
		return;
	text->is_set = true;
	text->device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
	text->inode = stat.stx_ino;
}

/*
 * Look at the process. @done is the runtime's file, if it has a section; @text is set to
 * the one that was found. Returns 0 with @look->nr_runtimes 0 if it is none of a runtime,
 * or a negative errno: -ESRCH if it has ended, -ETIME if that could not be found out.
 */
static int look_at(int process, const struct reader_code_text *done,
		   struct reader_code_text *text, struct look *look)
{
	int err;

	*look = (struct look) { .ends_at = now_ns() + LOOK_NS };
	*text = (struct reader_code_text) { 0 };
	err = for_each_mapping(process, look, add_runtime);
	if (!err && !look->nr_runtimes && look->is_cut)
		err = -ETIME;
	if (err || !look->nr_runtimes)
		return err;
	find_text(process, look, text);
	look->has_text = done->is_set && done->is_done && text->is_set &&
			 done->device == text->device &&
			 done->inode == text->inode;
	text->is_done = look->has_text;
	err = for_each_mapping(process, look, add_code);
	if (!err && (look->is_excluded ||
		     (needs_options(look) && !has_options(process, look))))
		look->nr_runtimes = 0;
	return err;
}

/* --- attaching */

static void detach(uint64_t id)
{
	struct sframe_unwind_detach arg = { .size = sizeof(arg), .id = id };

	ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_DETACH, &arg);
}

/* Attach to a range. Returns 0 or a negative errno, with @reply->text if it says more. */
static int attach(pid_t pid, struct wanted *wanted, bool switches,
		  struct reader_reply *reply)
{
	const uint64_t size = wanted->end - wanted->start;
	unsigned char section[CODE_SECTION_SIZE];
	struct sframe_unwind_attach arg = {
		.size = sizeof(arg),
		.flags = SFRAME_UNWIND_ATTACH_PROCESS |
			 (switches ? SFRAME_UNWIND_ATTACH_EXTENDED : 0),
		.elf_fd = -1,
		.pid = pid,
		.text_start = wanted->start,
		.text_size = size,
		.message = (uintptr_t)reply->text,
		.message_size = sizeof(reply->text),
	};
	const ssize_t section_size = code_section_make(size, switches, section);
	int err = 0;

	if (section_size < 0)
		return section_size;
	arg.sframe_size = section_size;
	arg.sframe_fd = memory_file_create("sframe");
	if (arg.sframe_fd < 0)
		return -errno;
	if (write(arg.sframe_fd, section, section_size) != section_size)
		err = -ENOMEM;
	else if (ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_ATTACH, &arg))
		err = -errno;
	close(arg.sframe_fd);
	if (err)
		return err;
	wanted->id = arg.id;
	wanted->switches = switches;
	wanted->is_new = true;
	return 0;
}

/* Returns whether the attachment is still used. */
static bool is_alive(uint64_t id)
{
	struct sframe_unwind_attached attached;
	struct sframe_unwind_list_attached list = {
		.size = sizeof(list),
		.from = id,
		.attached = (uintptr_t)&attached,
		.nr = 1,
	};

	return !ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_LIST_ATTACHED, &list) &&
	       list.nr && attached.id == id &&
	       !(attached.flags & SFRAME_UNWIND_ATTACHED_ENDED);
}

/* Keep those of @code behind what there was time to read: nothing is known of them. */
static unsigned int keep_unread(const struct reader_code *code, struct look *look)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < code->nr && look->nr < CODE_MAX_RANGES; i++) {
		const struct reader_code_range *range = &code->ranges[i];

		if (range->start < look->read_to || !is_alive(range->id))
			continue;
		look->wanted[look->nr++] = (struct wanted) {
			.start = range->start,
			.end = range->end,
			.id = range->id,
			.switches = range->switches,
		};
		nr++;
	}
	return nr;
}

/*
 * Returns whether @range is as @wanted. A runtime may be mapped later than another one.
 * If there was no time to read all mappings, it is not known of which the process is.
 */
static bool is_as_wanted(const struct reader_code_range *range,
			 const struct wanted *wanted, const struct look *look)
{
	return range->start == wanted->start && range->end == wanted->end &&
	       (range->switches == look->switches || look->is_cut);
}

/*
 * Keep the attachments of @code that are as wanted. Detach the others that would be in
 * the way. Returns how many are kept.
 */
static unsigned int keep(const struct reader_code *code, struct look *look)
{
	unsigned int at = 0, nr = 0;

	/* Both are in the order of addresses. */
	for (unsigned int i = 0; i < code->nr; i++) {
		const struct reader_code_range *range = &code->ranges[i];

		while (at < look->nr && look->wanted[at].end <= range->start)
			at++;
		if (at == look->nr || look->wanted[at].start >= range->end)
			continue;
		if (is_as_wanted(range, &look->wanted[at], look) &&
		    is_alive(range->id)) {
			look->wanted[at].id = range->id;
			look->wanted[at].switches = range->switches;
			nr++;
		} else {
			detach(range->id);
		}
	}
	return look->is_cut ? nr + keep_unread(code, look) : nr;
}

/* Returns whether to go on with the next range. */
static bool handle_error(int err, struct reader_reply *reply)
{
	switch (err) {
	case -EFAULT:
	case -EACCES:
		reply->code.has_changed = true;
		return true;
	/* It has more mappings now than the kernel takes, or a section of others. */
	case -EINVAL:
	case -EEXIST:
		reply->code.is_partial = true;
		return true;
	case -ENOSPC:
		reply->code.is_refused = true;
		reply->code.is_partial = true;
		return false;
	case -ENOMEM:
		reply->code.is_partial = true;
		return false;
	case -ESRCH:
		return false;
	default:
		reply->stage = READER_KERNEL;
		reply->error = err;
		return false;
	}
}

/* Attach to what is wanted and has no section. Returns whether to anything. */
static bool attach_new(const struct reader_request *request, struct look *look,
		       struct reader_reply *reply)
{
	unsigned int nr = keep(&request->code, look);
	bool has_any = false;
	int err;

	for (unsigned int i = 0; i < look->nr; i++) {
		struct wanted *wanted = &look->wanted[i];

		if (wanted->id)
			continue;
		if (nr >= request->code.max) {
			reply->code.is_full = true;
			break;
		}
		if (now_ns() >= look->ends_at) {
			reply->code.is_partial = true;
			break;
		}
		err = attach(request->mapping.pid, wanted, look->switches,
			     reply);
		if (err && !handle_error(err, reply))
			break;
		nr += !err;
		has_any |= !err;
	}
	return has_any;
}

/* Returns whether all addresses of @wanted are still wanted. */
static bool is_wanted(const struct look *now, const struct wanted *wanted)
{
	uint64_t at = wanted->start;

	for (unsigned int i = 0; i < now->nr && at < wanted->end; i++)
		if (now->wanted[i].start <= at && now->wanted[i].end > at)
			at = now->wanted[i].end;
	return at >= wanted->end;
}

/* Detach what was attached to and does not match what the process is now. */
static void check_new(int process, const struct reader_request *request,
		      struct look *look, struct reader_reply *reply)
{
	static struct look now;
	struct reader_code_text text;
	const int err = look_at(process, &request->code.text, &text, &now);
	const bool is_runtime = !err && now.nr_runtimes;

	for (unsigned int i = 0; i < look->nr; i++) {
		struct wanted *wanted = &look->wanted[i];

		if (!wanted->is_new || (is_runtime && is_wanted(&now, wanted)))
			continue;
		detach(wanted->id);
		wanted->id = 0;
		reply->code.has_changed = true;
	}
	if (err == -ESRCH || (!err && !is_runtime))
		reply->code.is_runtime = false;
}

static void put_ranges(const struct look *look, struct reader_reply *reply,
		       unsigned char *entries, size_t *size)
{
	for (unsigned int i = 0; i < look->nr; i++) {
		const struct reader_code_range range = {
			.start = look->wanted[i].start,
			.end = look->wanted[i].end,
			.id = look->wanted[i].id,
			.switches = look->wanted[i].switches,
		};

		if (!range.id)
			continue;
		memcpy(entries + *size, &range, sizeof(range));
		*size += sizeof(range);
		reply->code.nr++;
	}
}

/* The process cannot be looked at now: it keeps what it has. */
static void keep_all(const struct reader_request *request, int err,
		     struct reader_reply *reply, unsigned char *entries,
		     size_t *size)
{
	reader_fail(reply, READER_FIND, err, "%s", strerror(-err));
	reply->code.is_runtime = true;
	reply->code.text = request->code.text;
	reply->code.nr = request->code.nr;
	*size = request->code.nr * sizeof(request->code.ranges[0]);
	memcpy(entries, request->code.ranges, *size);
}

static_assert(CODE_MAX_RANGES * sizeof(struct reader_code_range) +
	      sizeof(struct reader_reply) <= READER_MAX_REPLY, "too many");

void reader_code(const struct reader_request *request,
		 struct reader_reply *reply, unsigned char *entries,
		 size_t *size)
{
	static struct look look;
	char path[64];
	int process, err;

	snprintf(path, sizeof(path), "/proc/%d", (int)request->mapping.pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		err = errno == ENOENT ? -ESRCH : -errno;
	else
		err = look_at(process, &request->code.text, &reply->code.text,
			      &look);
	if (err && err != -ESRCH) {
		keep_all(request, err, reply, entries, size);
	} else if (!err && look.nr_runtimes) {
		reply->code.is_runtime = true;
		reply->code.is_full = look.is_full;
		reply->code.is_partial = look.is_cut;
		look.switches &= request->code.can_switch;
		if (attach_new(request, &look, reply))
			check_new(process, request, &look, reply);
		if (reply->code.is_runtime)
			put_ranges(&look, reply, entries, size);
	}
	if (process >= 0)
		close(process);
}
