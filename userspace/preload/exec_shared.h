/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Between "sframe-unwind exec" and the object that it preloads into programs.
 *
 * All that a program gets from sframe-unwind are two environment variables:
 * LD_PRELOAD, and one that tells where to ask for the rest. The object that is
 * preloaded asks by a datagram to a socket of sframe-unwind, and gets files in
 * the answer. A program that it is not loaded into is as it would be without:
 * no file is open in it, no signal blocked.
 *
 * Who asks shows a secret that he has from the environment, and who answers
 * another one that never left it: anybody can find such a socket, or make one
 * of the same name when sframe-unwind is gone.
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

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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

#define EXEC_VARIABLE "SFRAME_UNWIND_EXEC"

/* Hexadecimal digits of the socket's name, which the kernel chooses. */
#define EXEC_NAME_SIZE		5
/* The same of a secret, which has 128 bits. */
#define EXEC_SECRET_SIZE	32

/**
 * struct exec_setup - what the environment variable says
 *
 * @socket: name of the socket, an abstract one.
 * @ask: the datagram that asks.
 * @answer: the one that is answered; it brings the files of enum exec_file.
 * @signal: that prints a stack, or 0.
 * @depth: of requests.
 * @flags: of requests.
 */
struct exec_setup {
	char socket[EXEC_NAME_SIZE + 1];
	char ask[EXEC_SECRET_SIZE + 1];
	char answer[EXEC_SECRET_SIZE + 1];
	int signal;
	unsigned int depth;
	unsigned int flags;
};

/**
 * enum exec_file - the files that come with the answer, in this order
 *
 * @EXEC_DEVICE: the open device.
 * @EXEC_PAGE: file of the page.
 * @EXEC_LIFELINE: read end of a pipe; hangs up when sframe-unwind is gone.
 */
enum exec_file { EXEC_DEVICE, EXEC_PAGE, EXEC_LIFELINE, EXEC_NR_FILES };

#define EXEC_SETUP_FORMAT "%5[0-9a-f]:%32[0-9a-f]:%32[0-9a-f]:%d:%u:%u"

/* Returns 0, or -1 if @text is not of that form. */
static inline int exec_setup_parse(const char *text, struct exec_setup *setup)
{
	return sscanf(text, EXEC_SETUP_FORMAT, setup->socket, setup->ask,
		      setup->answer, &setup->signal, &setup->depth,
		      &setup->flags) == 6 &&
	       strlen(setup->socket) == EXEC_NAME_SIZE &&
	       strlen(setup->ask) == EXEC_SECRET_SIZE &&
	       strlen(setup->answer) == EXEC_SECRET_SIZE ? 0 : -1;
}

/* Write the variable's value to @text. */
static inline void exec_setup_print(const struct exec_setup *setup, char *text,
				    size_t size)
{
	snprintf(text, size, "%s:%s:%s:%d:%u:%u", setup->socket, setup->ask,
		 setup->answer, setup->signal, setup->depth, setup->flags);
}

/* Fill @address with the name of the socket. Returns its length. */
static inline socklen_t exec_setup_address(const struct exec_setup *setup,
					   struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, setup->socket, EXEC_NAME_SIZE);
	return offsetof(struct sockaddr_un, sun_path) + 1 + EXEC_NAME_SIZE;
}

#endif /* EXEC_SHARED_H */
