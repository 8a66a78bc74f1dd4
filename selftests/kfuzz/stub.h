/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stub: an ioctl made from an address and with registers of the program's
 * choice, so that a walk finds what the program has put there. The code at the
 * address returns by a register, not by the stack, which may be invalid.
 */
#ifndef KFUZZ_STUB_H
#define KFUZZ_STUB_H

#include <stdint.h>

/* mov $__NR_ioctl,%eax; syscall; jmp *%r15 */
#define STUB_BYTES	{ 0xb8, 0x10, 0, 0, 0, 0x0f, 0x05, 0x41, 0xff, 0xe7 }

/**
 * struct stub - registers; stub.S knows the layout
 *
 * @ip: address of STUB_BYTES.
 * @other: rbx, r8, r9, r10, r12 and r13.
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

/*
 * Returns the ioctl's result, or -ENOEXEC if there is other code at the
 * address.
 */
long stub_call(const struct stub *stub);

#endif /* KFUZZ_STUB_H */
