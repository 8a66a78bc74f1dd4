/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Between "sframe-unwind exec" and the object that it preloads into programs.
 *
 * The program's requests go to the device that sframe-unwind opened. Names are
 * looked up in the live process, so the thread waits until its stack has been
 * printed: it takes a ticket, puts it into a slot of a page that both share,
 * requests its stack with the ticket as user data, and sleeps until the slot
 * has another value. One page serves all threads of all processes that the
 * program starts, where bytes in a pipe would reach the wrong ones.
 */
#ifndef EXEC_SHARED_H
#define EXEC_SHARED_H

#include <stdint.h>
#include <stdio.h>

/* More than the threads that wait at one time; a collision costs order only. */
#define EXEC_SLOTS 1023

/**
 * struct exec_page - what is shared
 *
 * @tickets: number of them given out.
 * @slots: ticket that waits there, at its number modulo EXEC_SLOTS; 0 if none.
 */
struct exec_page {
	uint32_t tickets;
	uint32_t slots[EXEC_SLOTS];
};

static inline uint32_t *exec_slot(struct exec_page *page, uint32_t ticket)
{
	return &page->slots[ticket % EXEC_SLOTS];
}

/* The library whose requests are seen. */
#define EXEC_LIBRARY "libsframe_unwind.so.0"

#define EXEC_VARIABLE "SFRAME_UNWIND_EXEC"

/**
 * struct exec_setup - what the environment variable says
 *
 * @device: open device.
 * @page: file of the page.
 * @lifeline: read end of a pipe; hangs up when sframe-unwind is gone.
 * @signal: that prints a stack, or 0.
 * @depth: of requests.
 * @flags: of requests.
 */
struct exec_setup {
	int device;
	int page;
	int lifeline;
	int signal;
	unsigned int depth;
	unsigned int flags;
};

#define EXEC_SETUP_FORMAT "%d:%d:%d:%d:%u:%u"

/* Returns 0, or -1 if @text is not of that form. */
static inline int exec_setup_parse(const char *text, struct exec_setup *setup)
{
	return sscanf(text, EXEC_SETUP_FORMAT, &setup->device, &setup->page,
		      &setup->lifeline, &setup->signal, &setup->depth,
		      &setup->flags) == 6 ? 0 : -1;
}

#endif /* EXEC_SHARED_H */
