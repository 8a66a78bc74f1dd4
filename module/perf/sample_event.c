// SPDX-License-Identifier: GPL-2.0
/*
 * Sample event: the perf events that a sampler takes samples at.
 *
 * The kernel does not let modules check whether the caller may open a perf event.
 * But the caller can prove it, by opening one. A perf event like it is then made
 * here, without another check; so it must observe nothing that the caller's does
 * not:
 *
 * - It has the same attributes, CPU and thread. If the thread has executed a
 *   program that ended the caller's event, ours must not be made: see
 *   is_same_context().
 * - What narrows the caller's event down besides its attributes is refused.
 *
 * Who may use a struct sfu_sample_event, and why that ends:
 *
 * - Its sampler's list, until it is removed.
 * - sfu_sample_take(), called by the perf event, and those that were inherited
 *   from it. perf_event_release_kernel() removes all of them. A call that has
 *   begun before has preemption disabled, and synchronize_rcu() waits for it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "compat.h"
#include "counters.h"
#include "limits.h"
#include "message.h"
#include "payer.h"
#include "sample.h"
#include "sample_event.h"
#include "walk/request_nmi.h"
#include "sampler.h"

/* Memory that an event is charged for: ours and perf's. */
#define EVENT_BYTES	(sizeof(struct sfu_sample_event) +		\
			 sizeof(struct perf_event))

/*
 * Returns whether @file is that of a perf event. perf does not export its file
 * operations, so they are recognised by the name of their symbol. No other files on
 * anonymous inodes have operations of that name.
 */
static bool is_perf_file(const struct file *file)
{
	char name[32];

	if (file_inode(file)->i_sb->s_magic != ANON_INODE_FS_MAGIC ||
	    strcmp(file->f_path.dentry->d_name.name, "[perf_event]"))
		return false;
	snprintf(name, sizeof(name), "%ps", file->f_op);
	return !strcmp(name, "perf_fops");
}

/* Returns the perf event of @file, or an errno as ERR_PTR(). */
static struct perf_event *perf_event_of(const struct file *file,
					struct sfu_message *message)
{
	if (!IS_ENABLED(CONFIG_KALLSYMS_ALL))
		return ERR_PTR(sfu_message_fail(message, -EOPNOTSUPP,
						"the kernel has no CONFIG_KALLSYMS_ALL"));
	if (!is_perf_file(file))
		return ERR_PTR(sfu_message_fail(message, -EBADF,
						"perf_fd is not a perf event"));
	return file->private_data;
}

/*
 * Returns whether the caller has at least the privileges of the process that opened
 * @file. A more privileged process may pass a perf event on that records no stacks: the
 * caller must not get stacks by it.
 */
static bool may_use(const struct file *file)
{
	const struct cred *opener = file->f_cred, *cred = current_cred();

	/*
	 * perf_event_open() has checked the access as ptrace does: by the real user
	 * and group, and the permitted capabilities.
	 */
	return (uid_eq(opener->uid, cred->uid) &&
		gid_eq(opener->gid, cred->gid) &&
		uid_eq(opener->euid, cred->euid) &&
		opener->user_ns == cred->user_ns &&
		cap_issubset(opener->cap_permitted, cred->cap_permitted) &&
		cap_issubset(opener->cap_effective, cred->cap_effective)) ||
	       perfmon_capable();
}

/* Returns what @perf has that a copy of it would not, or NULL. */
static const char *what_is_lost(const struct perf_event *perf)
{
	const struct perf_event_attr *attr = &perf->attr;

	if (READ_ONCE(perf->group_leader) != perf || READ_ONCE(perf->nr_siblings))
		return "is in a group";
	if (attr->sigtrap)
		return "sends signals (sigtrap)";
	if (attr->aux_output || attr->aux_sample_size)
		return "has aux data";
#ifdef CONFIG_CGROUP_PERF
	if (perf->cgrp)
		return "is that of a cgroup";
#endif
#ifdef CONFIG_EVENT_TRACING
	if (READ_ONCE(perf->filter))
		return "has a filter";
#endif
#ifdef CONFIG_BPF_SYSCALL
	if (READ_ONCE(perf->prog))
		return "has a BPF program";
#endif
	if (!list_empty(&perf->addr_filters.list))
		return "has an address filter";
	return NULL;
}

/* Returns the attributes for a perf event like @perf, for @event. */
static struct perf_event_attr attr_like(const struct perf_event *perf,
					const struct sfu_sample_event *event)
{
	struct perf_event_attr attr = perf->attr;

	attr.sample_type = event->fields & SFRAME_UNWIND_SAMPLE_RAW ?
				   PERF_SAMPLE_RAW : 0;
	attr.read_format = 0;
	/* exec clears enable_on_exec when it enables the event, but not disabled. */
	attr.disabled &= attr.enable_on_exec;
	/* What follows is about perf's own records. */
	attr.mmap = 0;
	attr.mmap_data = 0;
	attr.mmap2 = 0;
	attr.comm = 0;
	attr.comm_exec = 0;
	attr.task = 0;
	/*
	 * A wakeup for each event: else the PMU may collect precise events in a buffer
	 * (large PEBS), and perf calls the handler for all of them in a later interrupt.
	 */
	attr.watermark = 0;
	attr.wakeup_events = 1;
	attr.sample_id_all = 0;
	attr.use_clockid = 0;
	attr.clockid = 0;
	attr.context_switch = 0;
	attr.namespaces = 0;
	attr.ksymbol = 0;
	attr.bpf_event = 0;
	attr.cgroup = 0;
	attr.text_poke = 0;
	attr.build_id = 0;
	attr.inherit_stat = 0;
	attr.write_backward = 0;
	attr.branch_sample_type = 0;
	attr.sample_regs_user = 0;
	attr.sample_regs_intr = 0;
	attr.sample_stack_user = 0;
	attr.sample_max_stack = 0;
	attr.aux_watermark = 0;
	sfu_perf_attr_clear_new(&attr);
	return attr;
}

/*
 * Returns whether @made, which has been made for the thread of @perf, has the same
 * context. exec of a program that the caller may not observe, and exit, remove all
 * events of the thread's context, and detach it from the thread; an event that is made
 * later gets another context. So if the contexts are the same, and @perf is not
 * removed, @made ends when @perf does. The contexts also differ while the scheduler has
 * exchanged those of a thread and its child.
 */
static bool is_same_context(const struct perf_event *perf,
			    const struct perf_event *made)
{
	return READ_ONCE(perf->ctx) == READ_ONCE(made->ctx);
}

static bool is_removed(const struct perf_event *perf)
{
	return READ_ONCE(perf->state) <= PERF_EVENT_STATE_EXIT;
}

/* Make the perf event of @event like @perf. */
static int make_perf_event(struct sfu_sample_event *event,
			   struct perf_event *perf,
			   struct sfu_message *message)
{
	struct perf_event_attr attr = attr_like(perf, event);
	struct task_struct *task = perf->hw.target;
	struct perf_event *made;

	/* perf holds the thread as long as the event exists. */
	made = perf_event_create_kernel_counter(&attr, READ_ONCE(perf->cpu),
						task, sfu_sample_take, event);
	if (IS_ERR(made))
		return sfu_message_fail(message, PTR_ERR(made),
					"a perf event like that of perf_fd cannot be made (%ld)",
					PTR_ERR(made));
	if (!is_removed(perf) && (!task || is_same_context(perf, made))) {
		event->perf = made;
		return 0;
	}
	/* It has not taken samples, as the event is not started. */
	perf_event_release_kernel(made);
	if (is_removed(perf))
		return sfu_message_fail(message, -ESRCH,
					"exit or exec has ended the perf event");
	return sfu_message_fail(message, -EAGAIN,
				"the perf event is not in its thread's context now");
}

static struct sfu_sample_event *alloc_event(struct sfu_sampler *sampler,
					    const struct sfu_sample_event_spec *spec)
{
	struct sfu_payer *payer = sampler->consumer.payer;
	struct sfu_sample_event *event;

	if (sfu_payer_charge(payer, EVENT_BYTES, false))
		return NULL;
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event) {
		sfu_payer_uncharge(payer, EVENT_BYTES);
		return NULL;
	}
	event->sampler = sampler;
	event->fields = spec->fields;
	sfu_count(SFU_SAMPLE_EVENTS);
	return event;
}

static void free_event(struct sfu_sample_event *event)
{
	sfu_payer_uncharge(event->sampler->consumer.payer, EVENT_BYTES);
	kfree(event);
	sfu_uncount(SFU_SAMPLE_EVENTS);
}

/* Remove the perf event of @event, which is not in the list, and free it. */
static void destroy_event(struct sfu_sample_event *event)
{
	perf_event_release_kernel(event->perf);
	/* For sfu_sample_take(), which uses @event. */
	synchronize_rcu();
	free_event(event);
}

/*
 * Make an event like @perf, which is in use until this returns. Returns an errno as
 * ERR_PTR().
 */
static struct sfu_sample_event *
make_event(struct sfu_sampler *sampler, const struct sfu_sample_event_spec *spec,
	   struct perf_event *perf, struct sfu_message *message)
{
	const struct perf_event_attr *attr = &perf->attr;
	struct sfu_sample_event *event;
	int err;

	event = alloc_event(sampler, spec);
	if (!event)
		return ERR_PTR(sfu_message_fail(message, -ENOMEM, "no memory"));
	event->kernel = spec->kernel && !attr->exclude_kernel &&
			!attr->exclude_callchain_kernel;
	event->user = spec->user && !attr->exclude_callchain_user;
	event->also_later = spec->also_later;
	err = make_perf_event(event, perf, message);
	if (err) {
		synchronize_rcu();
		free_event(event);
		return ERR_PTR(err);
	}
	return event;
}

static bool has_room(const struct sfu_sampler *sampler)
{
	lockdep_assert_held(&sampler->events_mutex);
	return sampler->nr_events < SFU_MAX_SAMPLE_EVENTS;
}

static int fail_too_many_events(struct sfu_message *message)
{
	return sfu_message_fail(message, -ENOSPC,
				"the client has %u events already",
				SFU_MAX_SAMPLE_EVENTS);
}

/* Give @event an id, and let it take samples. Returns false if there are too many. */
static bool insert_event(struct sfu_sampler *sampler, struct sfu_sample_event *event,
			 u32 *id)
{
	lockdep_assert_held(&sampler->events_mutex);
	if (!has_room(sampler))
		return false;
	event->id = ++sampler->last_id;
	list_add_tail(&event->link, &sampler->events);
	sampler->nr_events++;
	/* The id must be there first. */
	smp_store_release(&event->started, true);
	*id = event->id;
	return true;
}

/*
 * Add an event like @perf, which is in use until this returns. It is made without the
 * mutex: perf reads the names of probes from user memory, and may wait for it without
 * limit.
 */
static int add_like(struct sfu_sampler *sampler,
		    const struct sfu_sample_event_spec *spec, struct perf_event *perf,
		    u32 *id, struct sfu_message *message)
{
	const char *lost = what_is_lost(perf);
	struct sfu_sample_event *event;
	bool done;

	if (lost)
		return sfu_message_fail(message, -EINVAL,
					"the perf event %s, which the module's would not",
					lost);
	if (spec->fields & SFRAME_UNWIND_SAMPLE_RAW &&
	    !(perf->attr.sample_type & PERF_SAMPLE_RAW))
		return sfu_message_fail(message, -EACCES,
					"RAW needs a perf event with PERF_SAMPLE_RAW");
	mutex_lock(&sampler->events_mutex);
	done = has_room(sampler);
	mutex_unlock(&sampler->events_mutex);
	if (!done)
		return fail_too_many_events(message);

	event = make_event(sampler, spec, perf, message);
	if (IS_ERR(event))
		return PTR_ERR(event);
	mutex_lock(&sampler->events_mutex);
	done = insert_event(sampler, event, id);
	mutex_unlock(&sampler->events_mutex);
	if (done)
		return 0;
	/* Other threads have added events meanwhile. */
	destroy_event(event);
	return fail_too_many_events(message);
}

int sfu_sample_event_add(struct sfu_sampler *sampler,
			 const struct sfu_sample_event_spec *spec, u32 *id,
			 struct sfu_message *message)
{
	struct file *file = fget(spec->fd);
	struct perf_event *perf;
	int err;

	if (!file)
		return sfu_message_fail(message, -EBADF,
					"perf_fd is not an open file");
	perf = perf_event_of(file, message);
	err = PTR_ERR_OR_ZERO(perf);
	if (!err && !may_use(file))
		err = sfu_message_fail(message, -EACCES,
				       "a process with more privilege has opened perf_fd");
	if (!err)
		err = add_like(sampler, spec, perf, id, message);
	fput(file);
	return err;
}

static struct sfu_sample_event *find_event(struct sfu_sampler *sampler, u32 id)
{
	struct sfu_sample_event *event;

	lockdep_assert_held(&sampler->events_mutex);
	list_for_each_entry(event, &sampler->events, link) {
		if (event->id == id)
			return event;
	}
	return NULL;
}

int sfu_sample_event_start(struct sfu_sampler *sampler, u32 id, bool start)
{
	struct sfu_sample_event *event = NULL;
	int err = 0;

	mutex_lock(&sampler->events_mutex);
	if (id)
		event = find_event(sampler, id);
	if (event)
		WRITE_ONCE(event->started, start);
	else if (!id)
		WRITE_ONCE(sampler->started, start);
	else
		err = -ENOENT;
	mutex_unlock(&sampler->events_mutex);
	/* For sfu_sample_take(), which may have read the old value. */
	if (!err && !start) {
		synchronize_rcu();
		sfu_request_nmi_wait(sampler->nmi);
	}
	return err;
}

int sfu_sample_event_remove(struct sfu_sampler *sampler, u32 id)
{
	struct sfu_sample_event *event;

	mutex_lock(&sampler->events_mutex);
	event = find_event(sampler, id);
	if (event) {
		list_del(&event->link);
		sampler->nr_events--;
	}
	mutex_unlock(&sampler->events_mutex);
	if (!event)
		return -ENOENT;
	destroy_event(event);
	return 0;
}

void sfu_sample_events_remove_all(struct sfu_sampler *sampler)
{
	struct sfu_sample_event *event, *next;

	WRITE_ONCE(sampler->started, false);
	/* Nobody else uses the list: the client is being closed. */
	list_for_each_entry(event, &sampler->events, link) {
		perf_event_release_kernel(event->perf);
		cond_resched();
	}
	/* For sfu_sample_take(), once for all. */
	synchronize_rcu();
	list_for_each_entry_safe(event, next, &sampler->events, link)
		free_event(event);
}
