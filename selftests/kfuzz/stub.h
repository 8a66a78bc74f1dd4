/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub: an ioctl made from a place, and with registers, of the program's choice:
 * a walk finds there whatever the program has put there. The code at the place
 * does not return by the stack, which need not be one.
 */
#ifndef KFUZZ_STUB_H
#define KFUZZ_STUB_H

#include <stdint.h>

/* mov $__NR_ioctl,%eax; syscall; jmp *%r15 */
#define STUB_BYTES	{ 0xb8, 0x10, 0, 0, 0, 0x0f, 0x05, 0x41, 0xff, 0xe7 }

/**
 * struct stub - registers; stub.S knows the layout
 *
 * @ip: where STUB_BYTES are.
 * @other: of rbx, r8, r9, r10, r12 and r13.
 */
struct stub {
	uint64_t ip;
	uint64_t sp;
	uint64_t fp;
	uint64_t other;
	uint64_t fd;
	uint64_t cmd;
	uint64_t arg;
};

/* Returns what the ioctl does, or -ENOEXEC if there is other code. */
long stub_call(const struct stub *stub);

#endif /* KFUZZ_STUB_H */
