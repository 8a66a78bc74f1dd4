/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vDSO: all processes have the same one; there is no file of it.
 */
#ifndef ATTACH_VDSO_H
#define ATTACH_VDSO_H

/* Returns a memory file with a copy of our vDSO, to be closed, or -1. */
int vdso_copy(void);

#endif /* ATTACH_VDSO_H */
