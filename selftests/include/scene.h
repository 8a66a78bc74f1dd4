/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks of code with registers and a stack chosen by the test. */
#ifndef SELFTESTS_SCENE_H
#define SELFTESTS_SCENE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* See vm/targets/scene.S. */
long enter_scene(const __u64 *regs, const void *code, long fd, void *arg,
		 long cmd);

#define DWARF_RBX	3
#define DWARF_RBP	6
#define DWARF_RSP	7
#define DWARF_REGS	16

/* The system call ends at the address that is looked up. */
static const unsigned char scene_code[] = {
	0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05,			/* syscall */
	0x41, 0xff, 0xe6,		/* jmp *%r14 */
};

#define SCENE_CODE_IP	7

/* Code without a section, used as the caller. */
#define SCENE_CALLER	0x123456789000ULL

static inline bool map_scene_caller(void)
{
	void *at = (void *)(uintptr_t)SCENE_CALLER;

	return mmap(at, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == at;
}

#endif /* SELFTESTS_SCENE_H */
