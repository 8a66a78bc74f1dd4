/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Interface between "sframe-unwind exec" and the object that it preloads into programs.
 *
 * sframe-unwind passes only two environment variables to a program: LD_PRELOAD, and one
 * with the address of a socket. The preloaded object sends a datagram to that socket and
 * gets files in the answer. Programs into which the object is not loaded are not
 * affected: they have no additional open files, and no signal blocked.
 *
 * The request contains a secret from the environment, the answer another one. Both are
 * needed because anybody can find such a socket, or create one of the same name when
 * sframe-unwind is gone.
 *
 * The program's requests go to the device that sframe-unwind has opened. Names are looked
 * up in the live process, so the thread waits until its stack has been printed: it takes
 * a ticket, puts it into a slot of a shared page, requests its stack with the ticket as
 * user data, and sleeps until the slot changes. One page serves all threads of all
 * processes that the program starts; bytes in a shared pipe could be read by the wrong
 * thread.
 *
 * If sections can be attached so that the stack gets longer, sframe-unwind sets the slot
 * to EXEC_AGAIN instead of printing the stack. The thread then starts a child that shares
 * the program's memory but not its descriptors. The child asks for the sections, one
 * after the other, attaches them for the memory that it shares, and ends; then the thread
 * requests its stack again, with the same ticket. The question has the secret, followed
 * by struct exec_report; the answer has the other secret, struct exec_section, and the
 * files of enum exec_section_file.
 */
#ifndef EXEC_SHARED_H
#define EXEC_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * More than threads are likely to wait at the same time. If two share a slot, one of
 * them only continues too early.
 */
#define EXEC_SLOTS 1022

/* Value of a slot: attach what is offered, and request the stack again. */
#define EXEC_AGAIN UINT32_MAX

/**
 * struct exec_page - the shared page
 *
 * @tickets: number of tickets given out.
 * @offers: incremented when sections can be attached.
 * @slots: tickets that threads wait for, each at its number modulo EXEC_SLOTS; 0 if none.
 */
struct exec_page {
	uint32_t tickets;
	uint32_t offers;
	uint32_t slots[EXEC_SLOTS];
};

static inline uint32_t *exec_slot(struct exec_page *page, uint32_t ticket)
{
	return &page->slots[ticket % EXEC_SLOTS];
}

#define EXEC_VARIABLE "SFRAME_UNWIND_EXEC"

/* Hexadecimal digits of the socket's name, which the kernel chooses. */
#define EXEC_NAME_SIZE		5
/* Hexadecimal digits of a secret of 128 bits. */
#define EXEC_SECRET_SIZE	32

/**
 * struct exec_setup - contents of the environment variable
 *
 * @socket: abstract name of the socket.
 * @ask: secret that the request consists of.
 * @answer: secret that the answer consists of; the answer has the files of enum exec_file.
 * @signal: signal that prints a stack, or 0.
 * @depth: depth of requests.
 * @flags: flags of requests.
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
 * enum exec_file - the files of the answer, in this order
 *
 * @EXEC_DEVICE: the open device.
 * @EXEC_PAGE: memory file of the shared page.
 * @EXEC_LIFELINE: read end of a pipe; hangs up when sframe-unwind is gone.
 */
enum exec_file { EXEC_DEVICE, EXEC_PAGE, EXEC_LIFELINE, EXEC_NR_FILES };

/**
 * struct exec_report - what became of the section that was received last
 *
 * @id: id of the attachment.
 * @section: number of the section, or 0 if none was received.
 * @error: errno, or 0 if it was attached.
 */
struct exec_report {
	uint64_t id;
	uint32_t section;
	uint32_t error;
};

/* Build IDs that the kernel knows are not longer. */
#define EXEC_BUILD_ID_SIZE 32

/**
 * struct exec_section - a section to be attached
 *
 * @size, @share_id, @flags, @build_id_size, @build_id: see struct sframe_unwind_attach.
 * @section: number of the section; 0: there is none.
 */
struct exec_section {
	uint64_t size;
	uint64_t share_id;
	uint32_t section;
	uint32_t flags;
	uint32_t build_id_size;
	uint8_t build_id[EXEC_BUILD_ID_SIZE];
};

/**
 * enum exec_section_file - the files of a section, in this order
 *
 * @EXEC_ELF: the file to which it is attached.
 * @EXEC_SFRAME: memory file of the section; missing if it is shared.
 */
enum exec_section_file { EXEC_ELF, EXEC_SFRAME, EXEC_NR_SECTION_FILES };

#define EXEC_SETUP_FORMAT "%5[0-9a-f]:%32[0-9a-f]:%32[0-9a-f]:%d:%u:%u"

/* Parse the variable's value. Returns 0, or -1 if it is malformed. */
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
