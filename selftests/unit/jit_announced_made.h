/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that announces objects, for tests: it has one function for each letter that it is
 * told, all at the same address or, if the letter is upper case, where no other one is. The
 * letter '-' takes back all; '!' makes the list a circle. Link with
 * --export-dynamic-symbol=__jit_debug_descriptor.
 */
#ifndef SELFTESTS_UNIT_JIT_ANNOUNCED_MADE_H
#define SELFTESTS_UNIT_JIT_ANNOUNCED_MADE_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit_objects_made.h"

#define ANNOUNCED_CODE	0x7f1234567000

struct made_entry {
	uint64_t next;
	uint64_t before;
	uint64_t object;
	uint64_t size;
};

/* Found by its name. */
struct {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
} __jit_debug_descriptor = { .version = 1 };

/**
 * struct announcer - the process
 *
 * @pid: the process.
 * @orders, @answers: pipes to and from it.
 */
struct announcer {
	pid_t pid;
	int orders[2];
	int answers[2];
};

/* Where the function of a letter is. */
static inline uint64_t announced_at(char letter)
{
	return ANNOUNCED_CODE + (letter >= 'a' ? 0 : (letter - 'A' + 1) * 0x100);
}

static inline void announce_letter(char letter)
{
	struct {
		struct made_entry entry;
		struct made_object object;
	} *made = malloc(sizeof(*made));
	const char name[] = { letter, '\0' };

	if (letter == '-') {
		__jit_debug_descriptor.first = 0;
		free(made);
		return;
	}
	if (letter == '!') {
		*(uint64_t *)(uintptr_t)__jit_debug_descriptor.first =
			__jit_debug_descriptor.first;
		free(made);
		return;
	}
	made_object(&made->object, announced_at(letter), 0x10, name);
	made->entry = (struct made_entry){
		.next = __jit_debug_descriptor.first,
		.object = (uintptr_t)&made->object,
		.size = sizeof(made->object),
	};
	if (made->entry.next)
		((struct made_entry *)(uintptr_t)made->entry.next)->before =
			(uintptr_t)&made->entry;
	__jit_debug_descriptor.first = (uintptr_t)&made->entry;
}

/* Tell it letters; they are announced when this returns. */
static inline void announcer_tell(const struct announcer *announcer,
				  const char *letters)
{
	char done;

	for (; *letters; letters++)
		if (write(announcer->orders[1], letters, 1) != 1 ||
		    read(announcer->answers[0], &done, 1) != 1)
			exit(1);
}

static inline void announcer_start(struct announcer *announcer)
{
	char letter;

	if (pipe(announcer->orders) || pipe(announcer->answers))
		exit(1);
	announcer->pid = fork();
	if (announcer->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(announcer->orders[0], &letter, 1) == 1) {
		announce_letter(letter);
		if (write(announcer->answers[1], &letter, 1) != 1)
			break;
	}
	_exit(0);
}

static inline void announcer_end(const struct announcer *announcer)
{
	kill(announcer->pid, SIGKILL);
	waitpid(announcer->pid, NULL, 0);
	for (unsigned int i = 0; i < 2; i++) {
		close(announcer->orders[i]);
		close(announcer->answers[i]);
	}
}

#endif /* SELFTESTS_UNIT_JIT_ANNOUNCED_MADE_H */
