// SPDX-License-Identifier: GPL-2.0
/*
 * A program that generates code with frame pointers, like a runtime, and takes stacks
 * through it until one is complete. For the tests of "sframe-unwind attach".
 *
 * usage: code_program HOW [map FILE] [wait] [execute COMMAND...]
 *   HOW    memory   in anonymous memory at CODE_ADDRESS
 *          memfd    in a memory file, mapped twice
 *          pages    in reserved memory, one page after the other, each of which is made
 *                   executable and called
 *          places   in PLACES pages that are not adjacent
 *          text     no generated code, but a function of the program that has no call
 *                   frame information, and that nothing is proven about
 *          fork     in memory, and in a child that has inherited it
 *          never    in memory, where no stack must be complete for some seconds
 *          storm    in PLACES pages, whose protection and number change without end
 *          spin     in memory, which calls a function that takes time, without end
 *   map    map the file executable before
 *   wait   when the code is there, print a line and wait for one on stdin
 *   execute  execute the command afterwards
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../../include/whole.h"

#define CODE_ADDRESS	((void *)0x200000000)
#define PAGE		4096UL
#define PAGES		40
#define PLACES		300
#define NEVER_SECONDS	3

/* take_stack, generated code, try, main, and libc's start code below main. */
#define LEAST_FRAMES	6

static int client;

/* push %rbp; mov %rsp, %rbp; sub $32, %rsp; call *%rdi; leave; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3,
};

typedef void (*caller_fn)(void (*fn)(void));

void call_from_text(void (*fn)(void));

/* The jump to a computed address keeps the converter from proving anything. */
asm(".text\n"
    ".type call_from_text, @function\n"
    "call_from_text:\n"
    "	push %rbp\n"
    "	mov %rsp, %rbp\n"
    "	lea 1f(%rip), %rax\n"
    "	jmp *%rax\n"
    "	.skip 32, 0xcc\n"
    "1:	call *%rdi\n"
    "	leave\n"
    "	ret\n"
    ".size call_from_text, . - call_from_text\n");

static void take_stack(void)
{
	struct sframe_unwind_request req = request_self();

	request(client, &req);
}

static void take_time(void)
{
	for (volatile unsigned int i = 0; i < 1000000; i++)
		;
}

/* Returns whether the stack through @caller is complete. */
static __attribute__((noinline)) bool try(caller_fn caller)
{
	caller(take_stack);
	return read_whole(client, LEAST_FRAMES);
}

static void try_until_whole(caller_fn caller)
{
	while (!try(caller))
		;
}

static bool is_never_whole(caller_fn caller)
{
	const time_t end = time(NULL) + NEVER_SECONDS;

	while (time(NULL) < end)
		if (try(caller))
			return false;
	return true;
}

static void wait_for_word(void)
{
	char byte;

	puts("running");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		exit(1);
}

static unsigned char *map(void *at, size_t size, int protection, int flags, int fd)
{
	unsigned char *memory = mmap(at, size, protection, flags, fd, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

static void protect(unsigned char *at, size_t size)
{
	if (mprotect(at, size, PROT_READ | PROT_EXEC)) {
		perror("mprotect");
		exit(1);
	}
}

static caller_fn generate(void *at)
{
	unsigned char *memory = map(at, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS |
				    (at ? MAP_FIXED_NOREPLACE : 0), -1);

	memcpy(memory, code, sizeof(code));
	protect(memory, PAGE);
	return (caller_fn)memory;
}

static caller_fn generate_in_file(void)
{
	const int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	unsigned char *memory;

	if (fd < 0 || ftruncate(fd, PAGE))
		exit(1);
	memory = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	memcpy(memory, code, sizeof(code));
	return (caller_fn)map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd);
}

/* Runtimes reserve addresses, and make pages executable when they need them. */
static void use_pages(void)
{
	unsigned char *memory = map(NULL, PAGES * PAGE, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (unsigned int i = 0; i < PAGES; i++) {
		unsigned char *page = memory + i * PAGE;

		if (mprotect(page, PAGE, PROT_READ | PROT_WRITE))
			exit(1);
		memcpy(page, code, sizeof(code));
		protect(page, PAGE);
		try_until_whole((caller_fn)page);
	}
	/* What was there at first still is. */
	try_until_whole((caller_fn)memory);
}

/* Returns the first of many places, which are executable in the order of addresses. */
static caller_fn generate_places(void)
{
	unsigned char *memory = map(NULL, 2 * PLACES * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (unsigned int i = 0; i < PLACES; i++) {
		memcpy(memory + 2 * i * PAGE, code, sizeof(code));
		protect(memory + 2 * i * PAGE, PAGE);
	}
	return (caller_fn)memory;
}

static void change_places(unsigned char *memory)
{
	const int protections[] = { PROT_READ, PROT_READ | PROT_EXEC };

	for (unsigned long i = 0;; i++)
		mprotect(memory + i * 7 % (2 * PLACES) * PAGE, PAGE,
			 protections[i / PLACES % 2]);
}

static int try_in_child(caller_fn caller)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		close(client);
		client = open_client(0);
		try_until_whole(caller);
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

static void map_file(const char *path)
{
	const int file = open(path, O_RDONLY | O_CLOEXEC);

	map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file);
	close(file);
}

static caller_fn prepare(const char *how)
{
	if (!strcmp(how, "text"))
		return call_from_text;
	if (!strcmp(how, "memfd"))
		return generate_in_file();
	if (!strcmp(how, "places") || !strcmp(how, "storm"))
		return generate_places();
	return generate(CODE_ADDRESS);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "memory";
	caller_fn caller = prepare(how);
	int at = 2;

	if (at + 1 < argc && !strcmp(argv[at], "map")) {
		map_file(argv[at + 1]);
		at += 2;
	}
	if (at < argc && !strcmp(argv[at], "wait")) {
		wait_for_word();
		at++;
	}
	if (!strcmp(how, "storm"))
		change_places((unsigned char *)caller);
	while (!strcmp(how, "spin"))
		caller(take_time);
	client = open_client(0);
	if (client < 0)
		return 1;
	if (!strcmp(how, "never"))
		return !is_never_whole(caller);
	try_until_whole(caller);
	if (!strcmp(how, "pages"))
		use_pages();
	if (!strcmp(how, "fork") && try_in_child(caller))
		return 1;
	if (at + 1 < argc && !strcmp(argv[at], "execute")) {
		execv(argv[at + 1], argv + at + 1);
		return 1;
	}
	return 0;
}
