/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NMI: takes samples in NMIs that somebody else causes.
 */
#ifndef SFU_TEST_NMI_H
#define SFU_TEST_NMI_H

struct sfu_client;
struct sfu_test_nmi_spec;

/*
 * Begin or end to take samples of an event of @client. Returns 0; -EBUSY if another
 * client does; -ENOENT if @client has no such event; or an errno of the kernel.
 */
int sfu_test_nmi_set(struct sfu_client *client, struct sfu_test_nmi_spec *spec);

/* End it, if it is @client that does. */
void sfu_test_nmi_stop(struct sfu_client *client);

void sfu_test_nmi_exit(void);

/*
 * Call @hook with @data in each NMI, in place of what was called before; NULL ends it,
 * and waits for calls. Returns 0 or an errno.
 */
int sfu_test_nmi_hook(void (*hook)(void *data), void *data);

#endif /* SFU_TEST_NMI_H */
