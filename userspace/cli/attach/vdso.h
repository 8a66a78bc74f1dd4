/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vDSO: all processes have the same, of which there is no file.
 */
#ifndef ATTACH_VDSO_H
#define ATTACH_VDSO_H

/* Returns a file with what we have of it, to be closed, or -1. */
int vdso_copy(void);

#endif /* ATTACH_VDSO_H */
