/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kfunc: functions that BPF programs call. <linux/sframe_unwind_bpf.h> describes them.
 */
#ifndef SFU_KFUNC_H
#define SFU_KFUNC_H

#include <linux/types.h>

s64 sframe_unwind_request(u64 flags);
s64 sframe_unwind_get_stack(void *buf, u32 buf__sz, u64 flags);
s64 sframe_unwind_get_stack_faultable(void *buf, u32 buf__sz, u64 flags);

/* Returns whether BPF programs can call them. */
bool sfu_kfunc_is_usable(void);

/* Make them known to BPF, and say in the log if that is not possible. Returns an errno. */
int sfu_kfunc_init(void);
void sfu_kfunc_exit(void);

#endif /* SFU_KFUNC_H */
