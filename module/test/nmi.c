// SPDX-License-Identifier: GPL-2.0
/*
 * NMI: takes samples in NMIs that somebody else causes. There is no hardware counter
 * in the VMs that run the tests; but the test can ask QEMU for an NMI.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/nmi.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include <asm/nmi.h>

#include "bench_sample.h"
#include "nmi.h"
#include "test.h"

static DEFINE_MUTEX(nmi_mutex);		/* the next two, and changes of the hook */
static struct sfu_client *nmi_client;
static bool is_registered;

/* The event whose handler is called, or NULL. Its owner does not remove it meanwhile. */
static struct perf_event *nmi_event;
static u64 nmi_ip;			/* see struct sfu_test_nmi_spec */
static void (*nmi_hook)(void *data);
static void *nmi_hook_data;
static atomic64_t nr_nmis;
static atomic64_t nr_in_user;

static int note_nmi(unsigned int type, struct pt_regs *regs)
{
	struct perf_sample_data data;
	struct perf_event *event;
	void (*hook)(void *data);
	struct pt_regs copy;

	/* Pairs with the release in sfu_test_nmi_hook(). */
	hook = smp_load_acquire(&nmi_hook);
	if (hook)
		hook(nmi_hook_data);

	/* Pairs with the release in start(): nmi_ip is that of the event. */
	event = smp_load_acquire(&nmi_event);
	if (event) {
		copy = *regs;
		if (nmi_ip) {
			copy.ip = nmi_ip;
			copy.cs = __USER_CS;
		}
		perf_sample_data_init(&data, 0, 1);
		event->overflow_handler(event, &data, nmi_ip ? &copy : regs);
		atomic64_inc(&nr_nmis);
		if (user_mode(regs))
			atomic64_inc(&nr_in_user);
	}
	/* Also those that arrive late. */
	return NMI_HANDLED;
}

static int register_handler(void)
{
	int err;

	if (is_registered)
		return 0;
	err = register_nmi_handler(NMI_LOCAL, note_nmi, 0, "sframe_unwind_test");
	is_registered = !err;
	return err;
}

int sfu_test_nmi_hook(void (*hook)(void *data), void *data)
{
	int err;

	mutex_lock(&nmi_mutex);
	err = register_handler();
	WRITE_ONCE(nmi_hook, NULL);
	/* NMIs disable preemption. */
	synchronize_rcu();
	nmi_hook_data = data;
	if (!err)
		/* Pairs with the acquire in note_nmi(). */
		smp_store_release(&nmi_hook, hook);
	mutex_unlock(&nmi_mutex);
	return err;
}

static int start(struct sfu_client *client, struct sfu_test_nmi_spec *spec)
{
	struct sfu_bench_event event = {};
	int err;

	if (nmi_client)
		return -EBUSY;
	err = register_handler();
	if (err)
		return err;
	err = sfu_bench_event_get(&event, client, spec->event);
	if (err)
		return err;
	sfu_bench_event_put(&event);
	atomic64_set(&nr_nmis, 0);
	atomic64_set(&nr_in_user, 0);
	nmi_client = client;
	nmi_ip = spec->ip;
	spec->watermark = event.perf->attr.watermark;
	spec->wakeup_events = event.perf->attr.wakeup_events;
	/* Pairs with the acquire in note_nmi(). */
	smp_store_release(&nmi_event, event.perf);
	return 0;
}

int sfu_test_nmi_set(struct sfu_client *client, struct sfu_test_nmi_spec *spec)
{
	int err = 0;

	if (spec->event) {
		mutex_lock(&nmi_mutex);
		err = start(client, spec);
		mutex_unlock(&nmi_mutex);
	} else {
		sfu_test_nmi_stop(client);
	}
	spec->nmis = atomic64_read(&nr_nmis);
	spec->in_user = atomic64_read(&nr_in_user);
	return err;
}

void sfu_test_nmi_stop(struct sfu_client *client)
{
	mutex_lock(&nmi_mutex);
	if (nmi_client == client) {
		WRITE_ONCE(nmi_event, NULL);
		/* NMIs disable preemption. */
		synchronize_rcu();
		nmi_client = NULL;
	}
	mutex_unlock(&nmi_mutex);
}

void sfu_test_nmi_exit(void)
{
	if (is_registered)
		unregister_nmi_handler(NMI_LOCAL, "sframe_unwind_test");
}
