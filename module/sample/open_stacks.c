// SPDX-License-Identifier: GPL-2.0
/*
 * A sample: the user stack of each open of a file, in the whole system. It is a module of
 * its own; the Makefile beside it builds it. The last stacks are in debugfs:
 *
 *	insmod open_stacks.ko && cat /sys/kernel/debug/open_stacks
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/sframe_unwind_deferred.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define NR_STACKS	32ULL
#define NR_FRAMES	24U

static struct stack {
	u64 cookie;
	pid_t tid;
	char comm[TASK_COMM_LEN];
	unsigned int nr, stop;
	unsigned long ip[NR_FRAMES];
} stacks[NR_STACKS];

static DEFINE_SPINLOCK(lock);		/* stacks and nr_stacks */
static u64 nr_stacks;
static atomic64_t nr_opens, nr_requested, nr_refused;
static struct sframe_unwind_work work;
static struct dentry *file;

/* The thread is about to return from the system call that has opened a file. */
static void take_stack(struct sframe_unwind_work *of, struct sframe_unwind_stacktrace *trace,
		       u64 cookie)
{
	struct stack *stack;

	spin_lock(&lock);
	stack = &stacks[nr_stacks++ % NR_STACKS];
	stack->cookie = cookie;
	stack->tid = task_pid_nr(current);
	get_task_comm(stack->comm, current);
	stack->stop = trace->stop;
	stack->nr = min(trace->nr, NR_FRAMES);
	memcpy(stack->ip, trace->entries, stack->nr * sizeof(stack->ip[0]));
	spin_unlock(&lock);
}

/* At vfs_open(), which all opens call. A kprobe, as it has no tracepoint. */
static int at_open(struct kprobe *kprobe, struct pt_regs *regs)
{
	u64 cookie;
	int ret = sframe_unwind_deferred_request(&work, &cookie);

	/* 1: a call can open more than one file, io_uring_enter(2) for example. */
	atomic64_inc(&nr_opens);
	atomic64_add(!ret, &nr_requested);
	/* Not those of kernel threads and of exiting ones, which have no user stack. */
	atomic64_add(ret < 0 && ret != -EINVAL, &nr_refused);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "vfs_open",
	.pre_handler = at_open,
};

static int stacks_show(struct seq_file *m, void *unused)
{
	struct stack *stack;
	unsigned int i;
	u64 nr;

	spin_lock(&lock);
	seq_printf(m, "opens %lld requested %lld refused %lld stacks %llu\n",
		   atomic64_read(&nr_opens), atomic64_read(&nr_requested),
		   atomic64_read(&nr_refused), nr_stacks);
	for (nr = nr_stacks - min(nr_stacks, NR_STACKS); nr < nr_stacks; nr++) {
		stack = &stacks[nr % NR_STACKS];
		/* A thread gives itself any name, also one that looks like a line. */
		seq_escape_str(m, stack->comm, ESCAPE_OCTAL | ESCAPE_NAP | ESCAPE_APPEND, " \\");
		seq_printf(m, " %d cookie %llu stop %u:", stack->tid, stack->cookie,
			   stack->stop);
		for (i = 0; i < stack->nr; i++)
			seq_printf(m, " %lx", stack->ip[i]);
		seq_putc(m, '\n');
	}
	spin_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stacks);

static int __init open_stacks_init(void)
{
	int err = sframe_unwind_deferred_init(&work, take_stack);

	if (err)
		return err;
	err = register_kprobe(&probe);
	if (err) {
		sframe_unwind_deferred_cancel(&work);
		return err;
	}
	file = debugfs_create_file("open_stacks", 0400, NULL, NULL, &stacks_fops);
	return 0;
}
module_init(open_stacks_init);

static void __exit open_stacks_exit(void)
{
	debugfs_remove(file);
	unregister_kprobe(&probe);
	/* No request is made any more, and then no callback runs any more. */
	sframe_unwind_deferred_cancel(&work);
}
module_exit(open_stacks_exit);

MODULE_DESCRIPTION("Sample of sframe_unwind's kernel interface: the stack of each open");
MODULE_LICENSE("GPL");
MODULE_INFO(import_ns, "SFRAME_UNWIND");
