// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>

#include "profile/parse.h"

/* What is left of a record. */
struct cursor {
	const unsigned char *at;
	size_t left;
	bool is_short;		/* more was asked for than is left */
};

/* Returns @size bytes, or NULL. */
static const void *take(struct cursor *cursor, uint64_t size)
{
	const void *at = cursor->at;

	if (size > cursor->left) {
		cursor->is_short = true;
		cursor->left = 0;
		return NULL;
	}
	cursor->at += size;
	cursor->left -= size;
	return at;
}

/* Return 0 if nothing is left. */
static uint64_t take_u64(struct cursor *cursor)
{
	const void *at = take(cursor, sizeof(uint64_t));

	return at ? get_u64(at) : 0;
}

static uint32_t take_u32(struct cursor *cursor)
{
	const void *at = take(cursor, sizeof(uint32_t));

	return at ? get_u32(at) : 0;
}

static void skip(struct cursor *cursor, uint64_t number, unsigned int size)
{
	/* The product cannot overflow if the number is small. */
	take(cursor, number > UINT16_MAX ? UINT64_MAX : number * size);
}

/*
 * Where a SAMPLE, from its beginning, and other records, from their end, have
 * the id, in u64; -1 if they have none.
 */
static int id_place(uint64_t type, bool is_sample)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return is_sample ? 0 : 1;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	if (is_sample)
		return !!(type & PERF_SAMPLE_IP) + !!(type & PERF_SAMPLE_TID) +
		       !!(type & PERF_SAMPLE_TIME) +
		       !!(type & PERF_SAMPLE_ADDR);
	return 1 + !!(type & PERF_SAMPLE_STREAM_ID) +
	       !!(type & PERF_SAMPLE_CPU);
}

/*
 * Returns the source of a record, or NULL. All sources have the same place for
 * the id; the first one is as good as another for records without one.
 */
static struct source *find_source(struct sources *sources,
				  const struct cursor *cursor, bool is_sample)
{
	struct source *first = sources->list;
	int place;

	if (!sources->nr)
		return NULL;
	if (sources->nr == 1)
		return first;
	place = id_place(first->attr.sample_type, is_sample);
	if (place < 0)
		return first;
	if (is_sample) {
		if (cursor->left < (place + 1) * sizeof(uint64_t))
			return NULL;
		return sfu_sources_find(sources,
					get_u64(cursor->at +
					    place * sizeof(uint64_t)));
	}
	if (!first->attr.sample_id_all ||
	    cursor->left < place * sizeof(uint64_t))
		return first;
	return sfu_sources_find(sources, get_u64(cursor->at + cursor->left -
						 place * sizeof(uint64_t)));
}

static unsigned int index_of(const struct sources *sources,
			     const struct source *source)
{
	return source - sources->list;
}

/* Remove what all records but SAMPLE have at their end. */
static void take_sample_id(struct cursor *cursor, const struct source *source,
			   struct sframe_unwind_profile_record *record)
{
	const uint64_t type = source ? source->attr.sample_type : 0;
	static const uint64_t members = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
		PERF_SAMPLE_IDENTIFIER;
	struct cursor tail;
	size_t size;

	if (!source || !source->attr.sample_id_all)
		return;
	size = __builtin_popcountll(type & members) * sizeof(uint64_t);
	if (size > cursor->left)
		return;
	cursor->left -= size;
	tail = (struct cursor){ .at = cursor->at + cursor->left, .left = size };
	if (type & PERF_SAMPLE_TID) {
		record->pid = take_u32(&tail);
		record->tid = take_u32(&tail);
	}
	if (type & PERF_SAMPLE_TIME)
		record->time = take_u64(&tail);
	if (type & PERF_SAMPLE_ID)
		take_u64(&tail);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(&tail);
	if (type & PERF_SAMPLE_CPU)
		record->cpu = take_u32(&tail);
}

/* Add @nr frames; those for which neither kernel nor user is chosen are skipped. */
static void take_frames(struct parsed *parsed, const unsigned char *from,
			size_t nr, unsigned int mode)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;
	/* User frames wait in the upper half, until the kernel's are counted. */
	uint64_t *user = parsed->frames + RECORD_FRAMES;

	for (size_t i = 0; i < nr; i++) {
		const uint64_t ip = get_u64(from + i * sizeof(ip));

		if (ip < CONTEXT_MARKS) {
			if (mode == PERF_RECORD_MISC_KERNEL)
				parsed->frames[sample->nr_kernel++] = ip;
			else if (mode == PERF_RECORD_MISC_USER)
				user[sample->nr_user++] = ip;
			continue;
		}
		mode = 0;
		if (ip == PERF_CONTEXT_KERNEL) {
			mode = PERF_RECORD_MISC_KERNEL;
		} else if (ip == PERF_CONTEXT_USER) {
			mode = PERF_RECORD_MISC_USER;
		} else if (ip == CONTEXT_USER_DEFERRED && i + 1 < nr) {
			parsed->is_deferred = true;
			parsed->cookie = get_u64(from + ++i * sizeof(ip));
		}
	}
	memmove(parsed->frames + sample->nr_kernel, user,
		sample->nr_user * sizeof(*user));
	sample->frames = parsed->frames;
	sample->flags |= SFRAME_UNWIND_PROFILE_CHAIN;
}

static void take_chain(struct cursor *cursor, struct parsed *parsed,
		       unsigned int mode)
{
	const uint64_t nr = take_u64(cursor);
	const void *from;

	from = take(cursor, nr > RECORD_FRAMES ? UINT64_MAX :
		    nr * sizeof(uint64_t));
	if (from)
		take_frames(parsed, from, nr, mode);
}

static void skip_read(struct cursor *cursor, uint64_t format)
{
	const unsigned int values = 1 + !!(format & PERF_FORMAT_ID) +
				    !!(format & (1U << 4)); /* LOST */
	const unsigned int times =
		!!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		!!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t nr = 1;

	if (format & PERF_FORMAT_GROUP)
		nr = take_u64(cursor);
	skip(cursor, times, sizeof(uint64_t));
	skip(cursor, nr, values * sizeof(uint64_t));
}

static void skip_branches(struct cursor *cursor,
			  const struct perf_event_attr *attr)
{
	const uint64_t nr = take_u64(cursor);

	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		take_u64(cursor);
	skip(cursor, nr, sizeof(struct perf_branch_entry));
	if (attr->branch_sample_type & (1U << 19)) /* COUNTERS */
		skip(cursor, nr, sizeof(uint64_t));
}

static void skip_registers(struct cursor *cursor, uint64_t mask)
{
	if (take_u64(cursor) != PERF_SAMPLE_REGS_ABI_NONE)
		skip(cursor, __builtin_popcountll(mask), sizeof(uint64_t));
}

static void skip_user_stack(struct cursor *cursor)
{
	const uint64_t size = take_u64(cursor);

	if (size) {
		take(cursor, size);
		take_u64(cursor);
	}
}

/* Everything behind PERF_SAMPLE_RAW. */
static void skip_rest(struct cursor *cursor, const struct perf_event_attr *attr)
{
	static const uint64_t words[] = {
		PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT,
		PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_TRANSACTION,
	};
	static const uint64_t last_words[] = {
		PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP,
		PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE,
	};
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(cursor, attr);
	if (type & PERF_SAMPLE_REGS_USER)
		skip_registers(cursor, attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		skip_user_stack(cursor);
	for (unsigned int i = 0; i < 3; i++)
		if (type & words[i])
			take_u64(cursor);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_registers(cursor, attr->sample_regs_intr);
	for (unsigned int i = 0; i < 4; i++)
		if (type & last_words[i])
			take_u64(cursor);
	if (type & PERF_SAMPLE_AUX)
		take(cursor, take_u64(cursor));
}

static void set_usual(struct parsed *parsed)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;

	for (uint32_t i = 0; i < sample->nr_user; i++)
		parsed->how[i] = USUAL_HOW(i);
	sample->how = parsed->how;
}

/* Our own facts, in the header. */
static void parse_usual(struct parsed *parsed, unsigned int misc)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;

	sample->stop = USUAL_STOP;
	sample->entry = misc >> MISC_ENTRY_SHIFT & MISC_ENTRY_MAX;
	set_usual(parsed);
}

/* The same, behind what perf reads. Other bytes there mean nothing. */
static void take_facts(struct cursor *cursor, struct parsed *parsed)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;
	struct fact_of_frame fact;
	struct facts facts;
	const char *from;

	from = take(cursor, sizeof(facts));
	if (!from)
		return;
	memcpy(&facts, from, sizeof(facts));
	if (facts.magic != FACTS_MAGIC)
		return;
	sample->stop = facts.stop;
	sample->entry = facts.entry;
	set_usual(parsed);
	for (unsigned int i = 0; i < facts.nr; i++) {
		from = take(cursor, sizeof(fact));
		if (!from)
			return;
		memcpy(&fact, from, sizeof(fact));
		if (fact.frame < sample->nr_user)
			parsed->how[fact.frame] = fact.how;
	}
}

/* The members up to the call chain. */
static void take_begin(struct cursor *cursor, const struct perf_event_attr *attr,
		       struct sframe_unwind_profile_record *record)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		take_u64(cursor);
	if (type & PERF_SAMPLE_IP)
		sample->ip = take_u64(cursor);
	if (type & PERF_SAMPLE_TID) {
		record->pid = take_u32(cursor);
		record->tid = take_u32(cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		record->time = take_u64(cursor);
	if (type & PERF_SAMPLE_ADDR)
		sample->address = take_u64(cursor);
	if (type & PERF_SAMPLE_ID)
		take_u64(cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(cursor);
	if (type & PERF_SAMPLE_CPU) {
		record->cpu = take_u32(cursor);
		take_u32(cursor);
	}
	sample->period = attr->freq || !attr->sample_period ?
			 1 : attr->sample_period;
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = take_u64(cursor);
	if (type & PERF_SAMPLE_READ)
		skip_read(cursor, attr->read_format);
}

static void parse_sample(struct cursor *cursor, unsigned int misc,
			 const struct perf_event_attr *attr,
			 struct parsed *parsed)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;
	const unsigned int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	parsed->record.kind = SFRAME_UNWIND_PROFILE_SAMPLE;
	if (mode == PERF_RECORD_MISC_KERNEL)
		sample->flags |= SFRAME_UNWIND_PROFILE_KERNEL;
	take_begin(cursor, attr, &parsed->record);
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		take_chain(cursor, parsed, mode);
	if (attr->sample_type & PERF_SAMPLE_RAW) {
		sample->raw_size = take_u32(cursor);
		sample->raw = take(cursor, sample->raw_size);
	}
	skip_rest(cursor, attr);
	if (misc & MISC_USUAL)
		parse_usual(parsed, misc);
	else if (!cursor->is_short && cursor->left >= sizeof(struct facts)) {
		take_facts(cursor, parsed);
		cursor->is_short = false;
	}
}

static void take_name(struct cursor *cursor, struct parsed *parsed)
{
	memcpy(parsed->name, cursor->at, cursor->left);
	parsed->name[cursor->left] = '\0';
}

static void parse_map(struct cursor *cursor, unsigned int misc, bool is_map2,
		      struct parsed *parsed)
{
	struct sframe_unwind_profile_map *map = &parsed->record.map;
	const unsigned char *inode;
	unsigned int size;

	parsed->record.kind = SFRAME_UNWIND_PROFILE_MAP;
	parsed->record.pid = take_u32(cursor);
	parsed->record.tid = take_u32(cursor);
	map->start = take_u64(cursor);
	map->size = take_u64(cursor);
	map->offset = take_u64(cursor);
	map->is_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			 PERF_RECORD_MISC_KERNEL;
	map->is_code = !(misc & MISC_MMAP_DATA);
	if (is_map2) {
		inode = take(cursor, 24);
		map->is_code = take_u32(cursor) >> 2 & 1;	/* PROT_EXEC */
		take_u32(cursor);
		size = inode ? inode[0] : 0;
		if (misc & MISC_BUILD_ID && size <= sizeof(map->build_id)) {
			map->build_id_size = size;
			if (inode)
				memcpy(map->build_id, inode + 4, size);
		}
	}
	take_name(cursor, parsed);
	map->name = parsed->name;
}

static void parse_comm(struct cursor *cursor, unsigned int misc,
		       struct parsed *parsed)
{
	parsed->record.kind = SFRAME_UNWIND_PROFILE_COMM;
	parsed->record.pid = take_u32(cursor);
	parsed->record.tid = take_u32(cursor);
	parsed->record.comm.is_exec = !!(misc & MISC_COMM_EXEC);
	take_name(cursor, parsed);
	parsed->record.comm.name = parsed->name;
}

static void parse_task(struct cursor *cursor, bool is_fork, unsigned int misc,
		       struct parsed *parsed)
{
	struct sframe_unwind_profile_record *record = &parsed->record;
	uint64_t time;

	record->kind = is_fork ? SFRAME_UNWIND_PROFILE_FORK :
				 SFRAME_UNWIND_PROFILE_EXIT;
	record->task.has_own_maps = is_fork && misc & MISC_FORK_EXEC;
	record->pid = take_u32(cursor);
	record->task.ppid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->task.ptid = take_u32(cursor);
	time = take_u64(cursor);
	if (!record->time)
		record->time = time;
}

/* The user part of the call chain of samples that came before. */
static void parse_user_part(struct cursor *cursor, struct parsed *parsed)
{
	parsed->record.kind = SFRAME_UNWIND_PROFILE_SAMPLE;
	parsed->is_user_part = true;
	parsed->cookie = take_u64(cursor);
	take_chain(cursor, parsed, PERF_RECORD_MISC_USER);
}

/* Returns whether @type is known here. */
static bool parse_other(struct cursor *cursor, unsigned int type,
			unsigned int misc, struct parsed *parsed)
{
	switch (type) {
	case PERF_RECORD_MMAP:
		parse_map(cursor, misc, false, parsed);
		return true;
	case PERF_RECORD_MMAP2:
		parse_map(cursor, misc, true, parsed);
		return true;
	case PERF_RECORD_COMM:
		parse_comm(cursor, misc, parsed);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_task(cursor, type == PERF_RECORD_FORK, misc, parsed);
		return true;
	case PERF_RECORD_LOST:
		parsed->record.kind = SFRAME_UNWIND_PROFILE_LOST;
		take_u64(cursor);
		parsed->record.lost = take_u64(cursor);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		parsed->record.kind = SFRAME_UNWIND_PROFILE_LOST_SAMPLES;
		parsed->record.lost = take_u64(cursor);
		return true;
	case RECORD_CALLCHAIN_DEFERRED:
		parse_user_part(cursor, parsed);
		return true;
	default:
		return false;
	}
}

int sfu_parse_record(struct sources *sources, const void *bytes,
		     struct parsed *parsed, const char **why)
{
	struct perf_event_header header;
	struct cursor cursor;
	struct source *source;
	bool is_sample;

	memcpy(&header, bytes, sizeof(header));
	is_sample = header.type == PERF_RECORD_SAMPLE;
	cursor = (struct cursor){
		.at = (const unsigned char *)bytes + sizeof(header),
		.left = header.size - sizeof(header),
	};
	memset(&parsed->record, 0, sizeof(parsed->record));
	parsed->record.source = SFRAME_UNWIND_PROFILE_NONE;
	parsed->record.pid = SFRAME_UNWIND_PROFILE_NONE;
	parsed->record.tid = SFRAME_UNWIND_PROFILE_NONE;
	parsed->record.cpu = SFRAME_UNWIND_PROFILE_NONE;
	parsed->is_ours = false;
	parsed->is_deferred = false;
	parsed->is_user_part = false;
	if (header.type >= RECORD_USER)
		return 0;
	source = find_source(sources, &cursor, is_sample);
	if (!source && is_sample) {
		*why = "a sample has an id that no event of the profile has";
		return -EINVAL;
	}
	if (source)
		parsed->record.source = index_of(sources, source);
	if (is_sample) {
		parse_sample(&cursor, header.misc, &source->attr, parsed);
		parsed->is_ours = true;
	} else {
		take_sample_id(&cursor, source, &parsed->record);
		parsed->is_ours = parse_other(&cursor, header.type, header.misc,
					      parsed);
	}
	*why = "a record is too short for its contents";
	return cursor.is_short && parsed->is_ours ? -EINVAL : 0;
}
