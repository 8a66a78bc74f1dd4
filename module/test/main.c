// SPDX-License-Identifier: GPL-2.0
/*
 * sframe_unwind_test: a device that supports the ioctls of /dev/sframe_unwind,
 * and others for tests: requests from contexts other than process context, and
 * measurements.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "bench.h"
#include "compat.h"
#include "dev/client.h"
#include "deferred.h"
#include "dev/ioctl.h"
#include "nmi.h"
#include "test.h"
#include "timer.h"

/**
 * struct test_file - one open file
 *
 * @client: a client, like that of an open file of /dev/sframe_unwind.
 * @mutex: protects @timer.
 * @timer: or NULL.
 * @deferred: its work.
 */
struct test_file {
	struct sfu_client *client;
	struct mutex mutex;	/* timer */
	struct sfu_test_timer *timer;
	struct sfu_test_user *deferred;
};

static int test_open(struct inode *inode, struct file *file)
{
	struct test_file *test = kzalloc(sizeof(*test), GFP_KERNEL);

	if (!test)
		return -ENOMEM;
	test->client = sfu_client_create();
	if (!test->client) {
		kfree(test);
		return -ENOMEM;
	}
	test->deferred = sfu_test_deferred_create();
	if (!test->deferred) {
		sfu_client_close(test->client);
		kfree(test);
		return -ENOMEM;
	}
	mutex_init(&test->mutex);
	file->private_data = test;
	return stream_open(inode, file);
}

static int test_release(struct inode *inode, struct file *file)
{
	struct test_file *test = file->private_data;

	sfu_test_timer_stop(test->timer);
	sfu_test_deferred_destroy(test->deferred);
	sfu_test_nmi_stop(test->client);
	sfu_client_close(test->client);
	kfree(test);
	return 0;
}

static ssize_t test_read(struct file *file, char __user *buffer, size_t size,
			 loff_t *position)
{
	struct test_file *test = file->private_data;

	return sfu_client_read(test->client, buffer, size,
			       file->f_flags & O_NONBLOCK);
}

static __poll_t test_poll(struct file *file, poll_table *table)
{
	struct test_file *test = file->private_data;

	poll_wait(file, &test->client->wait, table);
	return sfu_client_is_readable(test->client) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int test_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct test_file *test = file->private_data;
	struct sfu_sampler *sampler = sfu_client_sampler(test->client);

	return sampler ? sfu_sampler_map(sampler, vma) : -ENODEV;
}

static int set_timer(struct test_file *test, void __user *user)
{
	struct sfu_test_timer_spec spec;
	int err;

	if (copy_from_user(&spec, user, sizeof(spec)))
		return -EFAULT;
	if (spec.size != sizeof(spec))
		return -EINVAL;
	mutex_lock(&test->mutex);
	err = sfu_test_timer_set(&test->timer, test->client, &spec);
	mutex_unlock(&test->mutex);
	if (copy_to_user(user, &spec, sizeof(spec)))
		return -EFAULT;
	return err;
}

static int set_nmi(struct test_file *test, void __user *user)
{
	struct sfu_test_nmi_spec spec;
	int err;

	if (copy_from_user(&spec, user, sizeof(spec)))
		return -EFAULT;
	if (spec.size != sizeof(spec))
		return -EINVAL;
	err = sfu_test_nmi_set(test->client, &spec);
	if (copy_to_user(user, &spec, sizeof(spec)))
		return -EFAULT;
	return err;
}

static int use_deferred(struct test_file *test, void __user *user)
{
	struct sfu_test_deferred spec;
	int err;

	if (copy_from_user(&spec, user, sizeof(spec)))
		return -EFAULT;
	if (spec.size != sizeof(spec))
		return -EINVAL;
	err = sfu_test_deferred_use(test->deferred, &spec);
	if (copy_to_user(user, &spec, sizeof(spec)))
		return -EFAULT;
	return err;
}

static int run_bench(struct test_file *test, void __user *user)
{
	struct sfu_bench_spec spec;
	int err;

	if (copy_from_user(&spec, user, sizeof(spec)))
		return -EFAULT;
	if (spec.size != sizeof(spec))
		return -EINVAL;
	err = sfu_bench_run(test->client, &spec);
	if (copy_to_user(user, &spec, sizeof(spec)))
		return -EFAULT;
	return err;
}

static long test_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct test_file *test = file->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case SFU_TEST_IOC_TIMER:
		return set_timer(test, user);
	case SFU_TEST_IOC_NMI:
		return set_nmi(test, user);
	case SFU_TEST_IOC_DEFERRED:
		return use_deferred(test, user);
	case SFU_BENCH_IOC_RUN:
		return run_bench(test, user);
	default:
		return sfu_ioctl(test->client, cmd, user);
	}
}

static const struct file_operations test_fops = {
	.owner = THIS_MODULE,
	.open = test_open,
	.release = test_release,
	.read = test_read,
	.poll = test_poll,
	.mmap = test_mmap,
	.unlocked_ioctl = test_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sframe_unwind_test",
	.mode = 0666,
	.fops = &test_fops,
};

static int __init test_init(void)
{
	return misc_register(&test_device);
}
module_init(test_init);

static void __exit test_exit(void)
{
	misc_deregister(&test_device);
	sfu_test_nmi_exit();
}
module_exit(test_exit);

MODULE_DESCRIPTION("Tests of sframe_unwind");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(SFU_NAMESPACE);
