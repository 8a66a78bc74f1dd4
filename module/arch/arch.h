/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Arch: the architecture whose stacks are unwound. This is the only file that
 * chooses one. Other folders may include this file and kernel_stack.h, and no
 * other file in arch/. For what an architecture provides, see x86/arch.h; what it
 * must provide is in README.md.
 */
#ifndef SFU_ARCH_H
#define SFU_ARCH_H

/* Native programs read the sections of x86-64, on any machine. */
#if defined(CONFIG_X86_64) || !defined(__KERNEL__)
#include "x86/arch.h"
#else
#error "module/arch has no folder for this architecture"
#endif

#endif /* SFU_ARCH_H */
