/* SPDX-License-Identifier: GPL-2.0 */
/* Registers are up to the test. */
#ifndef UNIT_KERNEL_PTRACE_H
#define UNIT_KERNEL_PTRACE_H

#endif /* UNIT_KERNEL_PTRACE_H */
