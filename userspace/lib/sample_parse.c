// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Records of samples, taken apart.
 *
 * Whoever has the control page of a ring can make its reader look at bytes that are
 * no record, and that the kernel is just writing. So the head of a record is copied
 * once, and each part of the record is checked against the size in that copy.
 */
#include <errno.h>
#include <string.h>

#include <sframe_unwind.h>

/* What is left of a record. */
struct rest {
	const unsigned char *at;
	size_t size;
};

/* Take @size bytes, and padding to a multiple of 8. Returns NULL if too few are left. */
static const void *take(struct rest *rest, uint64_t size)
{
	const uint64_t padded = (size + 7) / 8 * 8;
	const void *at = rest->at;

	if (padded > rest->size)
		return NULL;
	rest->at += padded;
	rest->size -= padded;
	return at;
}

/* Take one word if @has is not 0. Returns false if none is left. */
static bool take_word(struct rest *rest, uint32_t has, uint64_t *word)
{
	const void *at;

	if (!has)
		return true;
	at = take(rest, sizeof(*word));
	if (at)
		memcpy(word, at, sizeof(*word));
	return at;
}

static bool take_frames(struct rest *rest,
			struct sframe_unwind_sample_record *record)
{
	record->frames = take(rest, record->nr_frames * sizeof(uint64_t));
	if (!record->frames)
		return false;
	if (record->fields & SFRAME_UNWIND_SAMPLE_HOW)
		record->how = take(rest, record->nr_frames);
	return record->how || !(record->fields & SFRAME_UNWIND_SAMPLE_HOW);
}

static bool parse_sample(const struct sframe_unwind_sample *head,
			 struct rest *rest,
			 struct sframe_unwind_sample_record *record)
{
	const uint32_t fields = head->fields;
	uint64_t ids = 0;

	record->time = head->time;
	record->pid = head->pid;
	record->tid = head->tid;
	record->event = head->event;
	record->entry_nr = head->entry_nr;
	record->entry = head->entry;
	record->user = head->user;
	record->stop = head->stop;
	record->kernel_cut = head->kernel_cut;
	record->fields = fields;
	record->nr_kernel = head->nr_kernel;
	record->nr_frames = head->nr_user;
	record->raw_size = head->raw_size;
	if (!take_word(rest, fields & SFRAME_UNWIND_SAMPLE_PERIOD,
		       &record->period) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_ADDRESS,
		       &record->address) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_REGISTERS,
		       &record->ip) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_REGISTERS,
		       &record->sp) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_REGISTERS,
		       &record->fp) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_COOKIE,
		       &record->cookie) ||
	    !take_word(rest, fields & SFRAME_UNWIND_SAMPLE_MAPPED, &ids))
		return false;
	record->user_id = (uint32_t)ids;
	record->kernel_id = (uint32_t)(ids >> 32);
	record->kernel = take(rest, record->nr_kernel * sizeof(uint64_t));
	if (!record->kernel || !take_frames(rest, record))
		return false;
	record->raw = take(rest, record->raw_size);
	return record->raw;
}

/* It is returned as the struct sframe_unwind_sample that it stands for. */
static bool parse_short(const struct sframe_unwind_short_sample *head,
			struct rest *rest,
			struct sframe_unwind_sample_record *record)
{
	record->type = SFRAME_UNWIND_RECORD_SAMPLE;
	record->time = head->time;
	record->pid = head->pid;
	record->tid = head->tid;
	record->event = head->event;
	record->entry_nr = head->entry_nr;
	record->entry = head->entry;
	record->user = head->user;
	record->stop = head->stop;
	record->kernel_cut = head->kernel_cut;
	record->fields = SFRAME_UNWIND_SAMPLE_MAPPED;
	record->user_id = head->user_id;
	record->kernel_id = head->kernel_id;
	if (!rest->size)
		return true;
	record->fields |= SFRAME_UNWIND_SAMPLE_COOKIE;
	return take_word(rest, 1, &record->cookie);
}

/* A copy of a cut stack, or NULL, and the bytes of that stack. */
struct found_copy {
	const struct sframe_unwind_stack_copy *copy;
	uint32_t size;
};

/* The copy of a cut stack, if there is one. */
static bool take_copy(struct rest *rest, uint32_t fields, struct found_copy *found)
{
	struct sframe_unwind_stack_copy head;
	const void *at;

	if (!(fields & SFRAME_UNWIND_SAMPLE_COPY))
		return true;
	at = take(rest, sizeof(head));
	if (!at)
		return false;
	memcpy(&head, at, sizeof(head));
	if (head.size % sizeof(uint64_t) || !take(rest, head.size))
		return false;
	found->copy = at;
	found->size = head.size;
	return true;
}

static bool parse_stack(const struct sframe_unwind_user_stack *head,
			struct rest *rest,
			struct sframe_unwind_sample_record *record,
			struct found_copy *found)
{
	uint64_t id = 0;

	record->time = head->time;
	record->pid = head->pid;
	record->tid = head->tid;
	record->cookie = head->cookie;
	record->stop = head->stop;
	record->fields = (head->fields & (SFRAME_UNWIND_SAMPLE_HOW |
					  SFRAME_UNWIND_SAMPLE_MAPPED |
					  SFRAME_UNWIND_SAMPLE_PLACES |
					  SFRAME_UNWIND_SAMPLE_COPY)) |
			 SFRAME_UNWIND_SAMPLE_COOKIE;
	record->nr_frames = head->nr_user;
	if (!take_word(rest, head->fields & SFRAME_UNWIND_SAMPLE_MAPPED, &id))
		return false;
	record->user_id = (uint32_t)id;
	return take_frames(rest, record) && take_copy(rest, record->fields, found);
}

_Static_assert(sizeof(struct sframe_unwind_short_sample) ==
	       sizeof(struct sframe_unwind_user_stack), "head_size");

static int parse(const void *from, size_t size,
		 struct sframe_unwind_sample_record *record, struct found_copy *found)
{
	union {
		struct sframe_unwind_record record;
		struct sframe_unwind_sample sample;
		struct sframe_unwind_user_stack stack;
		struct sframe_unwind_short_sample short_sample;
	} head;
	struct rest rest;
	size_t head_size;
	bool valid;

	memset(record, 0, sizeof(*record));
	memset(&head, 0, sizeof(head));
	if (size < sizeof(head.record))
		return -EBADMSG;
	memcpy(&head, from, size < sizeof(head) ? size : sizeof(head));
	/* A short sample's head is as long as that of a stack. */
	head_size = head.record.type == SFRAME_UNWIND_RECORD_SAMPLE ?
			    sizeof(head.sample) : sizeof(head.stack);
	if (head.record.size > size || head.record.size < head_size)
		return -EBADMSG;
	rest.at = (const unsigned char *)from + head_size;
	rest.size = head.record.size - head_size;
	record->type = head.record.type;
	switch (head.record.type) {
	case SFRAME_UNWIND_RECORD_SAMPLE:
		valid = parse_sample(&head.sample, &rest, record);
		break;
	case SFRAME_UNWIND_RECORD_SHORT_SAMPLE:
		valid = parse_short(&head.short_sample, &rest, record);
		break;
	case SFRAME_UNWIND_RECORD_USER_STACK:
		valid = parse_stack(&head.stack, &rest, record, found);
		break;
	default:
		valid = false;
	}
	return valid ? 0 : -EBADMSG;
}

int sframe_unwind_sample_parse(const void *from, size_t size,
			       struct sframe_unwind_sample_record *record)
{
	struct found_copy found;

	return parse(from, size, record, &found);
}

const struct sframe_unwind_stack_copy *
sframe_unwind_sample_copy(const void *from, size_t size, uint32_t *copy_size)
{
	struct sframe_unwind_sample_record record;
	struct found_copy found = { 0 };

	if (parse(from, size, &record, &found))
		found = (struct found_copy){ 0 };
	*copy_size = found.size;
	return found.copy;
}
