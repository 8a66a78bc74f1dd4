// SPDX-License-Identifier: GPL-2.0
/* Device: /dev/sframe_unwind. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "client.h"
#include "device.h"
#include "ioctl.h"

static int device_open(struct inode *inode, struct file *file)
{
	file->private_data = sfu_client_create();
	return file->private_data ? stream_open(inode, file) : -ENOMEM;
}

static int device_release(struct inode *inode, struct file *file)
{
	sfu_client_close(file->private_data);
	return 0;
}

static ssize_t device_read(struct file *file, char __user *buffer, size_t size,
			   loff_t *position)
{
	return sfu_client_read(file->private_data, buffer, size,
			       file->f_flags & O_NONBLOCK);
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct sfu_client *client = file->private_data;
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	__poll_t mask = 0;

	poll_wait(file, &client->wait, table);
	if (sampler)
		mask = sfu_sampler_poll(sampler, file, table);
	if (sfu_client_is_readable(client))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sfu_sampler *sampler = sfu_client_sampler(file->private_data);

	return sampler ? sfu_sampler_map(sampler, vma) : -ENODEV;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return sfu_ioctl(file->private_data, cmd, (void __user *)arg);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.poll = device_poll,
	.mmap = device_mmap,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice unwind_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sframe_unwind",
	.mode = 0666,
	.fops = &device_fops,
};

int sfu_device_init(void)
{
	return misc_register(&unwind_device);
}

void sfu_device_exit(void)
{
	misc_deregister(&unwind_device);
}
