// SPDX-License-Identifier: GPL-2.0
/*
 * Reader look: the mappings of a process. See reader_look.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "frame.h"
#include "reader_look.h"

/* Limit of reading the mappings once: of CPU time. What comes then is left out. */
#define READ_NS (300 * MS)

/* Limits of one range: mappings, of which the kernel takes 256; and bytes. */
#define MAX_MAPPINGS	128
#define MAX_SIZE	(1ULL << 30)

/* Bytes of a command line that are read. */
#define MAX_WORDS 16384

/* --- mappings */

/* Returns whether memory of this name has no file, so can have generated code. */
static bool is_anonymous(const char *name, uint64_t inode)
{
	if (!inode)
		return !*name || !strncmp(name, "[anon", strlen("[anon"));
	return !strncmp(name, "/memfd:", strlen("/memfd:")) ||
	       !strncmp(name, "/dev/zero", strlen("/dev/zero"));
}

/*
 * Returns whether anonymous memory of this name is shared with processes that are forked.
 * Memory files are not meant for that: libffi and PCRE, where memory must not be writable
 * and executable, have them for code, which they write at other addresses.
 */
static bool is_shared(const char *name, const char *modes)
{
	return modes[4] == 's' && !strncmp(name, "/dev/zero", strlen("/dev/zero"));
}

/* Returns whether the line is a mapping; if not @all, whether it is an executable one. */
static bool parse_line(char *line, bool all, struct reader_mapped *to)
{
	const char *modes = strchr(line, ' ');
	unsigned int major, minor;
	int name = 0;

	if (!modes || strnlen(modes, 5) < 5 || (!all && modes[3] != 'x') ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64
		   "%n", &to->start, &to->end, &to->offset, &major, &minor,
		   &to->key.inode, &name) != 6 || !name)
		return false;
	to->is_executable = modes[3] == 'x';
	to->key.device = makedev(major, minor);
	line[strcspn(line, "\n")] = '\0';
	to->name = line + name + strspn(line + name, " ");
	to->is_anonymous = is_anonymous(to->name, to->key.inode);
	to->is_shared = is_shared(to->name, modes);
	return true;
}

/*
 * Call @fn for the executable mappings, or for @all. Returns 0, -ESRCH if none is executable,
 * or an errno.
 */
static int for_each_mapping(int process, struct reader_look *look, bool all,
			    void (*fn)(struct reader_look *look,
				       const struct reader_mapped *mapped))
{
	const uint64_t end = cpu_ns() + READ_NS;
	unsigned int nr = 0, lines = 0;
	struct reader_mapped mapped;
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
		if (!parse_line(line, all, &mapped))
			continue;
		if (mapped.is_executable) {
			nr++;
			look->read_to = mapped.end;
		}
		fn(look, &mapped);
	}
	if (ferror(maps))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(maps);
	return err || nr || look->is_cut ? err : -ESRCH;
}

static void add_runtime(struct reader_look *look, const struct reader_mapped *mapped)
{
	const struct runtime *runtime;
	unsigned int i = 0;

	if (mapped->is_anonymous || !mapped->key.inode)
		return;
	look->announces |= look->follows && runtimes_announce(mapped->name);
	runtime = runtimes_find(mapped->name);
	if (!runtime)
		return;
	while (i < look->nr_runtimes && look->runtimes[i] != runtime)
		i++;
	look->switches |= runtime->switches;
	look->is_shared |= runtime->is_shared;
	/* More are too many to be sure of. */
	if (i == LOOK_MAX_RUNTIMES)
		look->is_excluded = true;
	else if (i == look->nr_runtimes)
		look->runtimes[look->nr_runtimes++] = runtime;
	if (runtime->has_text && mapped->end - mapped->start >
				 look->text.end - look->text.start)
		look->text = *mapped;
}

/* Add a range, or enlarge the last one. */
static void add_wanted(struct reader_look *look, const struct reader_mapped *mapped)
{
	struct reader_wanted *last = look->nr ? &look->wanted[look->nr - 1] : NULL;
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
	if (look->nr == CODE_MAX_PLACES) {
		look->is_full = true;
		return;
	}
	look->wanted[look->nr++] = (struct reader_wanted) {
		.start = mapped->start,
		.end = mapped->end,
		.nr_mappings = is_memory,
	};
}

static void add_code(struct reader_look *look, const struct reader_mapped *mapped)
{
	for (unsigned int i = 0; i < look->nr_runtimes && !mapped->is_anonymous &&
				 mapped->key.inode; i++)
		look->is_excluded |= runtime_excludes(look->runtimes[i],
						      mapped->name);
	if ((mapped->is_anonymous && (mapped->is_shared || !look->is_shared)) ||
	    (look->has_text && is_same_key(&mapped->key, &look->text.key)))
		add_wanted(look, mapped);
}

/* --- frames */

/*
 * If the mapping is of a runtime's file, with its beginning there or before, look at the
 * frame. Who reads symbols or debug information may have mapped the file as data, too, at
 * other addresses than it says.
 */
static void add_frame(struct reader_look *look, const struct reader_mapped *mapped)
{
	const uint64_t base = mapped->offset ? look->head.start : mapped->start;
	const struct runtime *runtime;

	if (mapped->is_anonymous || !mapped->key.inode)
		return;
	if (!mapped->offset)
		look->head = *mapped;
	if (!mapped->is_executable || !look->head.end ||
	    !is_same_key(&mapped->key, &look->head.key))
		return;
	look->head.end = 0;
	runtime = runtimes_find(mapped->name);
	for (unsigned int i = 0; i < look->nr_runtimes; i++) {
		if (look->runtimes[i] != runtime || !runtime->frame)
			continue;
		if (frame_is_kept(look->memory, base, runtime->frame))
			look->frames |= 1U << i;
		else
			look->lacks_frame = true;
	}
}

/*
 * Find out whether the frames of all runtimes are kept. Returns 0, or a negative errno: -ETIME
 * if there was no time for that.
 */
static int find_frames(int process, struct reader_look *look)
{
	const unsigned int all = (1U << look->nr_runtimes) - 1;
	int err;

	for (unsigned int i = 0; i < look->nr_runtimes; i++)
		if (!look->runtimes[i]->frame)
			look->frames |= 1U << i;
	if (look->frames == all)
		return 0;
	look->memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	if (look->memory < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = for_each_mapping(process, look, true, add_frame);
	close(look->memory);
	look->memory = -1;
	if (err || (look->frames == all && !look->lacks_frame))
		return err;
	if (look->is_cut)
		return -ETIME;
	look->lacks_frame = true;
	return 0;
}

/* --- the process */

/* Returns whether the command line has what the runtimes need. */
static bool has_options(int process, const struct reader_look *look)
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

static bool needs_options(const struct reader_look *look)
{
	for (unsigned int i = 0; i < look->nr_runtimes; i++)
		if (look->runtimes[i]->option)
			return true;
	return false;
}

/* Find the file of @look->text, without a request to its server, which may never answer. */
static void find_text(int process, const struct reader_look *look,
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

int reader_look(int process, const struct reader_code *code,
		struct reader_code_text *text, struct reader_look *look)
{
	const struct reader_code_text *done = &code->text;
	int err;

	*look = (struct reader_look) {
		.follows = code->follows,
		.ends_at = now_ns() + LOOK_NS,
		.memory = -1,
	};
	*text = (struct reader_code_text) { 0 };
	err = for_each_mapping(process, look, false, add_runtime);
	if (!err && !look->nr_runtimes && !look->announces && look->is_cut)
		err = -ETIME;
	if (err || !look->nr_runtimes)
		return err;
	/* It may map one that announces code behind what there was time to read. */
	look->announces |= look->follows && look->is_cut;
	find_text(process, look, text);
	look->has_text = done->is_set && done->is_done && text->is_set &&
			 done->device == text->device &&
			 done->inode == text->inode;
	text->is_done = look->has_text;
	err = find_frames(process, look);
	if (!err)
		err = for_each_mapping(process, look, false, add_code);
	if (!err && (look->is_excluded || look->lacks_frame ||
		     (needs_options(look) && !has_options(process, look)))) {
		look->nr_runtimes = 0;
		look->nr = 0;
		look->is_full = false;
	}
	return err;
}
