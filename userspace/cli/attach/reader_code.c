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
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>
#include <sframe_unwind.h>

#include "clock.h"
#include "code_section.h"
#include "lib/memory_file.h"
#include "reader_announced.h"
#include "reader_look.h"
#include "reader_task.h"

/* Returns the first range of announced code that overlaps @wanted, or NULL. */
static const struct reader_code_range *
next_announced(const struct announced_ranges *announced,
	       const struct reader_wanted *wanted)
{
	const struct reader_code_range *first = NULL;

	for (unsigned int i = 0; i < announced->nr; i++) {
		const struct reader_code_range *range = &announced->ranges[i];

		if (range->start < wanted->end && range->end > wanted->start &&
		    (!first || range->start < first->start))
			first = range;
	}
	return first;
}

/* --- attaching */

void reader_code_detach(uint64_t id)
{
	struct sframe_unwind_detach arg = { .size = sizeof(arg), .id = id };

	ioctl(READER_DEVICE, SFRAME_UNWIND_IOC_DETACH, &arg);
}

/* Attach to a range. Returns 0 or a negative errno, with @reply->text if it says more. */
static int attach(pid_t pid, struct reader_wanted *wanted, bool switches,
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
bool reader_code_is_alive(uint64_t id)
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
static unsigned int keep_unread(const struct reader_code *code, struct reader_look *look)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < code->nr && look->nr < CODE_MAX_PLACES; i++) {
		const struct reader_code_range *range = &code->ranges[i];

		if (range->object || range->start < look->read_to ||
		    !reader_code_is_alive(range->id))
			continue;
		look->wanted[look->nr++] = (struct reader_wanted) {
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
			 const struct reader_wanted *wanted,
			 const struct reader_look *look)
{
	return range->start == wanted->start && range->end == wanted->end &&
	       (range->switches == look->switches || look->is_cut);
}

/*
 * Keep the attachments of @code that are as wanted. Detach the others that would be in
 * the way. Returns how many are kept.
 */
static unsigned int keep(const struct reader_code *code, struct reader_look *look)
{
	unsigned int at = 0, nr = 0;

	/* Both are in the order of addresses. Announced code is kept elsewhere. */
	for (unsigned int i = 0; i < code->nr; i++) {
		const struct reader_code_range *range = &code->ranges[i];

		if (range->object)
			continue;
		while (at < look->nr && look->wanted[at].end <= range->start)
			at++;
		if (at == look->nr || look->wanted[at].start >= range->end)
			continue;
		if (is_as_wanted(range, &look->wanted[at], look) &&
		    reader_code_is_alive(range->id)) {
			look->wanted[at].id = range->id;
			look->wanted[at].switches = range->switches;
			nr++;
		} else {
			reader_code_detach(range->id);
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

/*
 * Attach to what is wanted and has no section; @used of the ranges are used by announced
 * code. Returns whether to anything.
 */
static bool attach_new(const struct reader_request *request, struct reader_look *look,
		       unsigned int used, struct reader_reply *reply)
{
	unsigned int nr = used + keep(&request->code, look);
	bool has_any = false;
	int err;

	for (unsigned int i = 0; i < look->nr; i++) {
		struct reader_wanted *wanted = &look->wanted[i];

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

/* Leave out what announced code has: a range that has some inside is cut in two. */
static void cut_out(const struct announced_ranges *announced, struct reader_look *look)
{
	static struct reader_wanted before[CODE_MAX_PLACES];
	const unsigned int nr = look->nr;

	if (!announced->nr)
		return;
	memcpy(before, look->wanted, nr * sizeof(before[0]));
	look->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct reader_wanted rest = before[i];

		while (rest.start < rest.end) {
			const struct reader_code_range *next =
				next_announced(announced, &rest);
			struct reader_wanted part = rest;

			part.end = next ? next->start : rest.end;
			if (part.start < part.end) {
				if (look->nr == CODE_MAX_PLACES) {
					look->is_full = true;
					return;
				}
				look->wanted[look->nr++] = part;
			}
			rest.start = next ? next->end : rest.end;
		}
	}
}

/* Returns whether all addresses of @wanted are still wanted. */
static bool is_wanted(const struct reader_look *now, const struct reader_wanted *wanted)
{
	uint64_t at = wanted->start;

	for (unsigned int i = 0; i < now->nr && at < wanted->end; i++)
		if (now->wanted[i].start <= at && now->wanted[i].end > at)
			at = now->wanted[i].end;
	return at >= wanted->end;
}

/* Detach what was attached to and does not match what the process is now. */
static void check_new(int process, const struct reader_request *request,
		      struct reader_look *look, struct reader_reply *reply)
{
	static struct reader_look now;
	struct reader_code_text text;
	const int err = reader_look(process, &request->code, &text, &now);
	const bool is_runtime = !err && now.nr_runtimes;

	for (unsigned int i = 0; i < look->nr; i++) {
		struct reader_wanted *wanted = &look->wanted[i];

		if (!wanted->is_new || (is_runtime && is_wanted(&now, wanted)))
			continue;
		reader_code_detach(wanted->id);
		wanted->id = 0;
		reply->code.has_changed = true;
	}
	if (err == -ESRCH || (!err && !is_runtime && !now.announces))
		reply->code.is_runtime = false;
}

static void put_range(const struct reader_code_range *range,
		      struct reader_reply *reply, unsigned char *entries,
		      size_t *size)
{
	if (reply->code.nr == CODE_MAX_RANGES) {
		reader_code_detach(range->id);
		reply->code.is_full = true;
		return;
	}
	memcpy(entries + *size, range, sizeof(*range));
	*size += sizeof(*range);
	reply->code.nr++;
}

static void put_ranges(const struct reader_look *look,
		       const struct announced_ranges *announced,
		       struct reader_reply *reply, unsigned char *entries,
		       size_t *size)
{
	for (unsigned int i = 0; i < look->nr; i++) {
		const struct reader_code_range range = {
			.start = look->wanted[i].start,
			.end = look->wanted[i].end,
			.id = look->wanted[i].id,
			.weight = 1,
			.switches = look->wanted[i].switches,
		};

		if (range.id)
			put_range(&range, reply, entries, size);
	}
	for (unsigned int i = 0; i < announced->nr; i++)
		put_range(&announced->ranges[i], reply, entries, size);
}

/* The process has ended, or is another one: nobody else knows what is new. */
static void detach_announced(const struct announced_ranges *announced)
{
	for (unsigned int i = 0; i < announced->nr; i++)
		reader_code_detach(announced->ranges[i].id);
}

/*
 * Returns whether there is nothing to attach to until the process makes memory executable.
 * Runtimes whose code is not in shared memory are always on, and will have some soon; and
 * code of the file @text will be attached to when its section is there.
 */
static bool is_quiet(const struct reader_look *look, const struct reader_code_text *text)
{
	if (look->nr || look->is_cut)
		return false;
	return !look->nr_runtimes || (look->is_shared && !text->is_set);
}

/* The process cannot be looked at now: it keeps what it has. */
static void keep_all(const struct reader_request *request, int err,
		     struct reader_reply *reply, unsigned char *entries,
		     size_t *size)
{
	reader_fail(reply, READER_FIND, err, "%s", strerror(-err));
	reply->code.is_runtime = true;
	reply->code.announces = request->code.follows;
	reply->code.text = request->code.text;
	reply->code.objects = request->code.objects;
	reply->code.next = request->code.next;
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
	static struct announced_ranges announced;
	static struct reader_look look;
	char path[64];
	int process, err;

	snprintf(path, sizeof(path), "/proc/%d", (int)request->mapping.pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		err = errno == ENOENT ? -ESRCH : -errno;
	else
		err = reader_look(process, &request->code, &reply->code.text,
			      &look);
	if (err && err != -ESRCH) {
		keep_all(request, err, reply, entries, size);
	} else if (!err && (look.nr_runtimes || look.announces)) {
		announced.nr = 0;
		announced.weight = 0;
		reply->code.is_quiet = !look.announces;
		if (look.announces)
			reader_announced(process, request, reply, &announced);
		look.ends_at = now_ns() + LOOK_NS;
		cut_out(&announced, &look);
		reply->code.is_runtime = true;
		reply->code.announces = look.announces;
		reply->code.is_quiet &= is_quiet(&look, &reply->code.text);
		reply->code.is_full |= look.is_full;
		reply->code.is_partial |= look.is_cut;
		look.switches &= request->code.can_switch;
		if (attach_new(request, &look, announced.weight, reply))
			check_new(process, request, &look, reply);
		if (reply->code.is_runtime)
			put_ranges(&look, &announced, reply, entries, size);
		else
			detach_announced(&announced);
	}
	if (process >= 0)
		close(process);
}
