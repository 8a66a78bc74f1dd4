// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/profile/object_child.h"
#include "cli/profile/object_file.h"
#include "cli/profile/object_reader.h"
#include "worker/message.h"

/* Address space of all children, without that of the one that works. */
#define MEMORY_ALL	(2ULL << 30)

/* How often a child is ended for others before that costs its file time. */
#define RESTARTS_FREE	16u

/* Bytes of names that a file may have before they are cut: these, and some for each stored byte. */
#define TOLD_FREE	(16ULL << 20)
#define TOLD_RATIO	4u
#define NAME_SHORT	64u

/* How often to look at the memory of a child that answers questions about symbols. */
#define MEASURE_EACH	16u

/**
 * struct object_reader
 *
 * @readers: all.
 * @child: the process, or NULL.
 * @socket: connection to it.
 * @fd: the file.
 * @task: what the child gets. @left is what is left, and @has_dwarf whether questions about
 *	DWARF make sense.
 * @owner: number of its owner.
 * @turn: when it was asked last.
 * @memory: address space that the child has taken, from @memory_before on.
 * @used_ns: CPU time of the child that has been counted.
 * @asked: how many questions it has answered.
 * @left_before: CPU time that was left when the child was started.
 * @restarts: how often it was ended for others.
 * @told: bytes of names that it has told.
 * @is_useless: it took too much.
 * @found_at: the last address that was looked up, plus 1.
 * @found: its symbol; without a name, only the function's start.
 * @texts: texts of the last answer to each question.
 * @why: what is missing.
 */
struct object_reader {
	struct readers *readers;
	struct child *child;
	int socket;
	int fd;
	struct reader_task task;
	uint32_t owner;
	uint64_t turn;
	uint64_t memory;
	uint64_t memory_before;
	uint64_t used_ns;
	uint32_t asked;
	uint64_t left_before;
	uint32_t restarts;
	uint64_t told;
	bool is_useless;
	uint64_t found_at;
	struct symbol found;
	char *texts[NR_QUESTIONS];
	char why[128];
};

/* --- the child */

/*
 * An honest file must not run out of time because others need its child: reading it again
 * is free some times.
 */
static void give_back_time(struct object_reader *reader)
{
	if (reader->restarts++ < RESTARTS_FREE &&
	    reader->task.left < reader->left_before)
		reader->task.left = reader->left_before;
}

/* Release the child, which is killed if it still runs. */
static void stop(struct object_reader *reader)
{
	struct readers *readers = reader->readers;
	uint32_t i = 0;

	if (!reader->child)
		return;
	child_leave(reader->child);
	reader->child = NULL;
	close(reader->socket);
	while (readers->live[i] != reader)
		i++;
	readers->live[i] = readers->live[--readers->nr];
}

static uint64_t memory_but(const struct object_reader *reader)
{
	const struct readers *readers = reader->readers;
	uint64_t memory = 0;

	for (uint32_t i = 0; i < readers->nr; i++)
		if (readers->live[i] != reader)
			memory += readers->live[i]->memory;
	return memory;
}

/*
 * Returns whose child is to be ended for another one but @reader's: the longest unused one
 * of the owner who has most children, or most memory. NULL if there is none.
 */
static struct object_reader *choose_but(const struct object_reader *reader,
					bool by_memory)
{
	const struct readers *readers = reader->readers;
	struct object_reader *chosen = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < readers->nr; i++) {
		struct object_reader *one = readers->live[i];
		uint64_t sum = 0;

		for (uint32_t j = 0; j < readers->nr; j++)
			if (readers->live[j]->owner == one->owner)
				sum += by_memory ? readers->live[j]->memory : 1;
		if (one == reader || (chosen && sum < most) ||
		    (chosen && sum == most && one->turn > chosen->turn))
			continue;
		chosen = one;
		most = sum;
	}
	return chosen;
}

static void make_room(struct object_reader *reader)
{
	struct object_reader *chosen;
	bool by_memory;

	while ((by_memory = memory_but(reader) > MEMORY_ALL) ||
	       (!reader->child && reader->readers->nr == READERS_MAX)) {
		chosen = choose_but(reader, by_memory);
		if (!chosen)
			break;
		give_back_time(chosen);
		stop(chosen);
	}
}

static bool start(struct object_reader *reader)
{
	struct readers *readers = reader->readers;

	reader->memory_before = child_memory(NULL);
	if (!readers_start(&reader->child, object_child_run, &reader->task,
			   reader->fd, &reader->socket))
		return false;
	reader->memory = 0;
	reader->used_ns = 0;
	readers->live[readers->nr++] = reader;
	return true;
}

/*
 * The child has ended without an answer. If the cause is not that the file is no ELF
 * file, it took too much, or libdw did not survive it.
 */
static void fail(struct object_reader *reader, bool is_dwarf)
{
	const int status = readers_status(reader->child);

	stop(reader);
	if (is_dwarf) {
		reader->task.has_dwarf = false;
	} else {
		reader->is_useless = true;
		snprintf(reader->why, sizeof(reader->why), "%s",
			 status == NO_ELF_FILE ? "is no ELF file" :
			 status == NO_SANDBOX ?
			 "was not read: there is no sandbox to read it in" :
			 "takes too much time or memory to read");
		if (status == NO_ELF_FILE || status == NO_SANDBOX)
			return;
	}
	readers_fail(reader->readers, reader->owner);
}

static void measure(struct object_reader *reader)
{
	const uint64_t memory = child_memory(reader->child);

	reader->memory = memory > reader->memory_before ?
				 memory - reader->memory_before : 0;
}

/* Returns the size of an answer with its texts, or 0. */
static size_t receive(struct object_reader *reader, union message *message)
{
	int fds[2] = { -1, -1 };
	const ssize_t got = readers_wait(reader->readers, reader->owner,
					 reader->child, reader->socket,
					 &reader->used_ns) ?
				    message_receive(reader->socket, message,
						    sizeof(*message), fds,
						    true) : 0;
	uint32_t nr = 0;

	/* It has no reason to send files. */
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (got < (ssize_t)sizeof(message->answer))
		return 0;
	for (ssize_t i = sizeof(message->answer); i < got; i++)
		nr += !message->bytes[i];
	if (message->answer.nr > nr)
		return 0;
	if (message->answer.left < reader->task.left)
		reader->task.left = message->answer.left;
	return got;
}

/* Start the child if there is none. Returns what it has read, or NULL. */
static const struct summary *begin(struct object_reader *reader,
				   union message *message)
{
	make_room(reader);
	reader->left_before = reader->task.left;
	if (!start(reader))
		return NULL;
	if (receive(reader, message) ==
	    sizeof(struct answer) + sizeof(struct summary)) {
		measure(reader);
		return (const void *)(message->bytes + sizeof(struct answer));
	}
	fail(reader, false);
	return NULL;
}

/*
 * Names are kept for the whole report, and a file of some megabytes can have gigabytes of
 * them, which end in each other.
 */
static void shorten(struct object_reader *reader, char *texts, uint32_t nr,
		    size_t size)
{
	const char *from = texts;
	char *to = texts;

	reader->told += size;
	if (reader->told <= TOLD_FREE + reader->task.stored * TOLD_RATIO)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		const size_t length = strlen(from);
		const size_t kept = length < NAME_SHORT ? length : NAME_SHORT;

		memmove(to, from, kept);
		to[kept] = '\0';
		to += kept + 1;
		from += length + 1;
	}
}

/*
 * Ask a question. Returns the answer, which is valid until the next question; or NULL. Its
 * texts are in @reader->texts.
 */
static const struct answer *ask(struct object_reader *reader,
				const struct request *request)
{
	static union message message;
	const bool is_dwarf = request->question != FIND;
	const int fds[2] = { -1, -1 };
	char *texts;
	size_t size;

	if (reader->is_useless || (is_dwarf && !reader->task.has_dwarf))
		return NULL;
	reader->turn = ++reader->readers->turn;
	if (!reader->child && !begin(reader, &message))
		return NULL;
	make_room(reader);
	size = message_send(reader->socket, request, sizeof(*request), NULL, 0,
			    fds) ? 0 : receive(reader, &message);
	if (!size) {
		fail(reader, is_dwarf);
		return NULL;
	}
	/* Symbols do not make it grow, if it is honest. */
	if (is_dwarf || !(++reader->asked % MEASURE_EACH))
		measure(reader);
	size -= sizeof(message.answer);
	texts = table_allocate(size + 1);
	memcpy(texts, message.bytes + sizeof(message.answer), size);
	shorten(reader, texts, message.answer.nr, size);
	free(reader->texts[request->question]);
	reader->texts[request->question] = texts;
	return &message.answer;
}

/* --- opened and closed */

/* Each reader keeps a file, so this process needs as many as it may have. */
static void raise_files_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) ||
	    limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void take_summary(struct object *object, const struct summary *summary)
{
	struct object_reader *reader = object->reader;

	memcpy(object->build_id, summary->build_id, sizeof(object->build_id));
	object->build_id_size = summary->build_id_size;
	memcpy(object->segments, summary->segments, sizeof(object->segments));
	object->nr_segments = summary->nr_segments < SEGMENTS_MAX ?
			      summary->nr_segments : SEGMENTS_MAX;
	reader->task.has_dwarf = summary->has_dwarf;
	if (!summary->has_symbols) {
		snprintf(reader->why, sizeof(reader->why), "%.*s",
			 (int)sizeof(summary->why) - 1, summary->why);
		object->why = reader->why;
	}
}

bool object_reader_open(struct readers *readers, struct object *object,
			struct object_file *file)
{
	struct object_reader *reader = table_allocate(sizeof(*reader));
	const struct summary *summary = NULL;
	union message *message = table_allocate(sizeof(*message));

	raise_files_limit();
	object->reader = reader;
	*reader = (struct object_reader){
		.readers = readers,
		.fd = file->fd,
		.task = {
			.size = file->size,
			.stored = file->stored,
			.has_dwarf = true,
		},
		.owner = readers_owner(readers, file),
		.turn = ++readers->turn,
		.why = "is of a user whose files took too much time or memory to read",
	};
	reader->task.left = readers_time(readers, reader->owner,
					 reader->task.stored);
	if (reader->task.left) {
		snprintf(reader->why, sizeof(reader->why),
			 "was not read: there is no process to read it");
		summary = begin(reader, message);
	}
	if (summary)
		take_summary(object, summary);
	else
		object->why = reader->why;
	if (!summary) {
		/* It is not read again. */
		reader->is_useless = true;
		close(reader->fd);
		reader->fd = -1;
	}
	free(message);
	return summary;
}

void object_reader_close(struct object_reader *reader)
{
	if (!reader)
		return;
	stop(reader);
	for (unsigned int i = 0; i < NR_QUESTIONS; i++)
		free(reader->texts[i]);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
}

/* --- questions */

/* Look up an address, unless it was the last one. */
static void look_up(struct object_reader *reader, uint64_t address)
{
	const struct request request = { .question = FIND, .address = address };
	const struct answer *answer;

	if (reader->found_at == address + 1)
		return;
	reader->found_at = address + 1;
	reader->found = (struct symbol){ .start = address };
	answer = ask(reader, &request);
	if (answer)
		reader->found = (struct symbol){
			.start = answer->start,
			.end = answer->end,
			.name = answer->nr ? reader->texts[FIND] : NULL,
		};
}

const struct symbol *object_reader_find(struct object_reader *reader,
					uint64_t address)
{
	look_up(reader, address);
	return reader->found.name ? &reader->found : NULL;
}

uint64_t object_reader_start(struct object_reader *reader, uint64_t address)
{
	look_up(reader, address);
	return reader->found.start;
}

uint32_t object_reader_inlined(struct object_reader *reader, uint64_t address,
			       const char **names, uint32_t max)
{
	const struct request request = {
		.question = INLINED,
		.address = address,
	};
	const struct answer *answer = ask(reader, &request);
	const char *text = reader->texts[INLINED];
	uint32_t nr = 0;

	for (; answer && nr < answer->nr && nr < max; nr++) {
		names[nr] = text;
		text += strlen(text) + 1;
	}
	return nr;
}

static const char *ask_line(struct object_reader *reader,
			    const struct request *request, int *line)
{
	const struct answer *answer = ask(reader, request);

	*line = answer ? answer->line : 0;
	return answer && answer->nr ? reader->texts[request->question] : NULL;
}

const char *object_reader_line(struct object_reader *reader, uint64_t address,
			       int *line)
{
	const struct request request = { .question = LINE, .address = address };

	return ask_line(reader, &request, line);
}

const char *object_reader_call_line(struct object_reader *reader,
				    uint64_t address, uint32_t i, int *line)
{
	const struct request request = {
		.question = CALL_LINE,
		.i = i,
		.address = address,
	};

	return ask_line(reader, &request, line);
}
