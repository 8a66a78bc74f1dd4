// SPDX-License-Identifier: GPL-2.0
/*
 * Makes one call fail: a function of the kernel returns at once with a given
 * value when it is called from one place of a module. Also records where
 * accesses to user memory failed. For selftests/faults. Files in debugfs,
 * fail_call:
 *
 * call		write "FUNCTION VALUE ADDRESS": calls that return to ADDRESS return
 *		VALUE; with ADDRESS 0 all calls from a module. "-" ends it.
 * nth		write: the n-th of these calls from now on fails, 0 for none. Read:
 *		the number of calls since, whether one failed, and where:
 *		"1 1 SYMBOL+OFFSET/SIZE [MODULE]".
 * trace	write "FUNCTION..." to record calls of these. "-" ends it.
 * callers	read: return addresses of recorded calls in modules, one a line.
 *		Write: clear.
 * accesses	read: addresses of failed accesses in modules, one a line.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/objtool.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define MAX_PLACES	256
#define MAX_TRACED	128

static DEFINE_MUTEX(lock);	/* serializes arming */
static struct kprobe probe;
static char function[64];
static bool armed, allocates;
static unsigned long from, value;
static atomic_t calls, nth;
static bool failed;
static char place[KSYM_SYMBOL_LEN];

/* Addresses in modules, without duplicates, ended by 0. */
struct places {
	unsigned long at[MAX_PLACES];
};

static struct places accesses, callers;
static struct kprobe traced[MAX_TRACED];
static unsigned int nr_traced;
static char traced_names[2048];
static struct dentry *dir;

static bool is_in_module(unsigned long address)
{
	return address >= MODULES_VADDR && address < MODULES_END;
}

/* Executed in place of the function: its return address is unchanged. */
void fail_call_return(void);
asm(".text\n"
    ".type fail_call_return, @function\n"
    "fail_call_return:\n"
    ANNOTATE_NOENDBR "\n"
    ASM_RET
    ".size fail_call_return, . - fail_call_return\n");

/*
 * At the first instruction of the function, the return address is at the top of
 * the stack.
 */
static int at_call(struct kprobe *kprobe, struct pt_regs *regs)
{
	const unsigned long to = *(unsigned long *)regs->sp;

	if (from ? to != from : !is_in_module(to))
		return 0;
	/*
	 * Allocators of the slab and of vmalloc take GFP flags as second
	 * argument; __GFP_NOFAIL calls never fail.
	 */
	if (allocates && regs->si & (__force unsigned long)__GFP_NOFAIL)
		return 0;
	if (atomic_inc_return(&calls) != atomic_read(&nth))
		return 0;
	/*
	 * Now, because a module that fails to load soon has no symbols any
	 * more.
	 */
	sprint_symbol(place, to);
	WRITE_ONCE(failed, true);
	regs->ax = value;
	regs->ip = (unsigned long)fail_call_return;
	return 1;
}
NOKPROBE_SYMBOL(at_call);

/*
 * A probe with a post handler is not optimized, so that at_call() can change
 * the IP.
 */
static void behind_call(struct kprobe *kprobe, struct pt_regs *regs,
			unsigned long flags)
{
}

static void disarm(void)
{
	lockdep_assert_held(&lock);
	if (armed)
		unregister_kprobe(&probe);
	armed = false;
	atomic_set(&nth, 0);
}

static int arm(char *words)
{
	long long what;
	int err;

	lockdep_assert_held(&lock);
	if (sscanf(words, "%63s %lld %lx", function, &what, &from) != 3)
		return -EINVAL;
	value = what;
	/* Not remap_vmalloc_range(). */
	allocates = (strstr(function, "malloc") ||
		     strstr(function, "kmem_cache_alloc")) &&
		    !strstr(function, "remap");
	probe = (struct kprobe) {
		.symbol_name = function,
		.pre_handler = at_call,
		.post_handler = behind_call,
	};
	err = register_kprobe(&probe);
	armed = !err;
	return err;
}

static ssize_t call_write(struct file *file, const char __user *buffer, size_t size,
			  loff_t *position)
{
	char words[128] = "";
	int err = 0;

	if (size >= sizeof(words) || copy_from_user(words, buffer, size))
		return -EINVAL;
	mutex_lock(&lock);
	disarm();
	if (words[0] != '-')
		err = arm(words);
	mutex_unlock(&lock);
	return err ?: size;
}

static const struct file_operations call_fops = {
	.owner = THIS_MODULE,
	.write = call_write,
};

static ssize_t nth_write(struct file *file, const char __user *buffer, size_t size,
			 loff_t *position)
{
	int n;
	int err = kstrtoint_from_user(buffer, size, 0, &n);

	if (err)
		return err;
	atomic_set(&nth, 0);
	failed = false;
	place[0] = '\0';
	atomic_set(&calls, 0);
	atomic_set(&nth, n);
	return size;
}

static int nth_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d %d %s\n", atomic_read(&calls), READ_ONCE(failed), place);
	return 0;
}

static int nth_open(struct inode *inode, struct file *file)
{
	return single_open(file, nth_show, NULL);
}

static const struct file_operations nth_fops = {
	.owner = THIS_MODULE,
	.open = nth_open,
	.read = seq_read,
	.write = nth_write,
	.release = single_release,
};

static __always_inline void add_place(struct places *places, unsigned long at)
{
	int i;

	if (!is_in_module(at))
		return;
	for (i = 0; i < MAX_PLACES && READ_ONCE(places->at[i]) != at; i++) {
		if (!cmpxchg(&places->at[i], 0, at))
			break;
	}
}

/*
 * fixup_exception() is called with a fault's registers: the access has failed
 * for good.
 */
static int at_fixup(struct kprobe *kprobe, struct pt_regs *regs)
{
	add_place(&accesses, ((const struct pt_regs *)regs->di)->ip);
	return 0;
}
NOKPROBE_SYMBOL(at_fixup);

static struct kprobe fixup_probe = {
	.symbol_name = "fixup_exception",
	.pre_handler = at_fixup,
};

static int at_traced(struct kprobe *kprobe, struct pt_regs *regs)
{
	add_place(&callers, *(unsigned long *)regs->sp);
	return 0;
}
NOKPROBE_SYMBOL(at_traced);

static void untrace(void)
{
	lockdep_assert_held(&lock);
	while (nr_traced)
		unregister_kprobe(&traced[--nr_traced]);
}

static int trace(void)
{
	char *names = traced_names, *name;
	int err = 0;

	lockdep_assert_held(&lock);
	while (!err && (name = strsep(&names, " \n"))) {
		if (!*name)
			continue;
		if (nr_traced == MAX_TRACED)
			return -ENOSPC;
		traced[nr_traced] = (struct kprobe) {
			.symbol_name = name,
			.pre_handler = at_traced,
		};
		err = register_kprobe(&traced[nr_traced]);
		if (!err)
			nr_traced++;
	}
	return err;
}

static ssize_t trace_write(struct file *file, const char __user *buffer, size_t size,
			   loff_t *position)
{
	int err = 0;

	mutex_lock(&lock);
	untrace();
	if (size >= sizeof(traced_names) || copy_from_user(traced_names, buffer, size)) {
		err = -EINVAL;
	} else {
		traced_names[size] = '\0';
		if (traced_names[0] != '-')
			err = trace();
	}
	mutex_unlock(&lock);
	return err ?: size;
}

static const struct file_operations trace_fops = {
	.owner = THIS_MODULE,
	.write = trace_write,
};

static int places_show(struct seq_file *m, void *unused)
{
	const struct places *places = m->private;
	int i;

	for (i = 0; i < MAX_PLACES && places->at[i]; i++)
		seq_printf(m, "%lx\n", places->at[i]);
	return 0;
}

static int places_open(struct inode *inode, struct file *file)
{
	return single_open(file, places_show, inode->i_private);
}

static ssize_t places_write(struct file *file, const char __user *buffer, size_t size,
			    loff_t *position)
{
	memset(file_inode(file)->i_private, 0, sizeof(struct places));
	return size;
}

static const struct file_operations places_fops = {
	.owner = THIS_MODULE,
	.open = places_open,
	.read = seq_read,
	.write = places_write,
	.release = single_release,
};

static int __init fail_call_init(void)
{
	int err = register_kprobe(&fixup_probe);

	if (err)
		return err;
	dir = debugfs_create_dir("fail_call", NULL);
	debugfs_create_file("call", 0600, dir, NULL, &call_fops);
	debugfs_create_file("nth", 0600, dir, NULL, &nth_fops);
	debugfs_create_file("trace", 0600, dir, NULL, &trace_fops);
	debugfs_create_file("callers", 0600, dir, &callers, &places_fops);
	debugfs_create_file("accesses", 0600, dir, &accesses, &places_fops);
	return 0;
}

static void __exit fail_call_exit(void)
{
	debugfs_remove_recursive(dir);
	mutex_lock(&lock);
	disarm();
	untrace();
	mutex_unlock(&lock);
	unregister_kprobe(&fixup_probe);
}

module_init(fail_call_init);
module_exit(fail_call_exit);

MODULE_DESCRIPTION("Have one call of another module fail");
MODULE_LICENSE("GPL");
