/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * ioctl(2) without libc. The stack of the calling thread begins at the
 * instruction after the system call that requests it. Made here, the call is in
 * code compiled with SFrame data and a frame pointer, which libc's usually is
 * not. It is also async-signal-safe and does not set errno.
 */
#ifndef SFRAME_UNWIND_SYSCALL_H
#define SFRAME_UNWIND_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

/* Returns 0 or a negative errno. Inlined, so that it adds no frame to the stack. */
__attribute__((always_inline))
static inline long ioctl_inline(int fd, unsigned long number, void *arg)
{
#if defined(__x86_64__) && defined(__LP64__)
	long ret;

	__asm__ volatile("syscall"
			 : "=a" (ret)
			 : "0" ((long)SYS_ioctl), "D" ((long)fd), "S" (number),
			   "d" (arg)
			 : "rcx", "r11", "memory");
	return ret;
#else
#error "the module serves x86-64 processes only"
#endif
}

#endif /* SFRAME_UNWIND_SYSCALL_H */
