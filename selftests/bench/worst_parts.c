// SPDX-License-Identifier: GPL-2.0
/*
 * Building blocks of scenarios.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "worst.h"

#define HEADER		28
#define FDE		16
#define ATTR		5
#define ROW		4

int new_client(void)
{
	int fd = open_client(O_NONBLOCK);

	if (fd < 0)
		die("%s: %s", SFRAME_UNWIND_DEVICE, strerror(errno));
	return fd;
}

void *new_memory(size_t size, int prot)
{
	void *p = mmap(NULL, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die("%zu bytes of memory: %s", size, strerror(errno));
	return p;
}

uint64_t register_range(int fd, uint64_t section, uint64_t section_size,
			uint64_t text, uint64_t text_size, uint32_t flags)
{
	char message[192] = "";
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.flags = flags,
		.sframe_start = section,
		.sframe_size = section_size,
		.text_start = text,
		.text_size = text_size,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};

	if (register_section(fd, &reg))
		die("register: %s: %s", strerror(errno), message);
	return reg.id;
}

void unregister_range(int fd, uint64_t id)
{
	if (unregister_id(fd, id))
		die("unregister: %s", strerror(errno));
}

size_t table_size(uint32_t functions, uint32_t rows)
{
	return HEADER + (size_t)functions * FDE + ATTR + (size_t)rows * ROW;
}

static void put16(unsigned char *p, uint16_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put32(unsigned char *p, uint32_t value)
{
	memcpy(p, &value, sizeof(value));
}

void put_table(unsigned char *to, uint64_t base, uint64_t text,
	       uint32_t functions, uint32_t size, uint32_t rows)
{
	static const unsigned char header[HEADER] = {
		0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0
	};
	unsigned char *at = to + HEADER;
	int64_t start;
	uint32_t i;

	memcpy(to, header, HEADER);
	put32(to + 8, functions);
	put32(to + 12, rows);
	put32(to + 16, ATTR + rows * ROW);
	put32(to + 24, functions * FDE);
	for (i = 0; i < functions; i++, at += FDE) {
		start = text + (uint64_t)i * size - (base + (at - to));
		memcpy(at, &start, sizeof(start));
		put32(at + 8, size);
		put32(at + 12, 0);
	}
	/* Row starts have two bytes. */
	memset(at, 0, ATTR);
	put16(at, rows);
	at[2] = 1;
	at += ATTR;
	for (i = 0; i < rows; i++, at += ROW) {
		put16(at, i);
		at[2] = 1 << 1 | 1;	/* one word: the CFA by rsp */
		at[3] = 8;
	}
}

void put_stub(unsigned char *to)
{
	/* syscall; mov %rbx,%rsp; jmp *%r12 */
	static const unsigned char code[] = {
		0x0f, 0x05, 0x48, 0x89, 0xdc, 0x41, 0xff, 0xe4
	};

	memcpy(to, code, sizeof(code));
}

long ioctl_with_stack(int fd, long cmd, void *arg, const void *stub,
		      const uint64_t *stack)
{
	long ret = 16;	/* __NR_ioctl */

	/*
	 * While the stack pointer is elsewhere, nothing below it may be
	 * written.
	 */
	asm volatile("mov %%rsp, %%rbx\n\t"
		     "lea 1f(%%rip), %%r12\n\t"
		     "mov %[stack], %%rsp\n\t"
		     "jmp *%[stub]\n"
		     "1:"
		     : "+a"(ret)
		     : "D"((long)fd), "S"(cmd), "d"(arg), [stack] "r"(stack),
		       [stub] "r"(stub)
		     : "rbx", "r12", "rcx", "r11", "memory");
	return ret;
}

void ask_with_stack(int fd, const void *stub, const uint64_t *stack,
		    uint32_t depth)
{
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.max_depth = depth,
	};
	const long ret = ioctl_with_stack(fd, SFRAME_UNWIND_IOC_REQUEST, &req,
					  stub, stack);

	if (ret)
		die("request: %s", strerror(-ret));
}

unsigned int drain(int fd)
{
	static char buffer[1 << 18];
	const struct sframe_unwind_record *record;
	const struct sframe_unwind_stack *stack;
	unsigned int frames = 0;
	ssize_t size, at;

	while ((size = read(fd, buffer, sizeof(buffer))) > 0) {
		for (at = 0; at < size; at += record->size) {
			record = (void *)(buffer + at);
			stack = (void *)record;
			if (record->type == SFRAME_UNWIND_RECORD_STACK)
				frames = stack->nr_frames;
		}
	}
	return frames;
}
