// SPDX-License-Identifier: GPL-2.0
/*
 * sframe_unwind: user stacks by SFrame, on a stock kernel.
 *
 * This file is the table of contents: the device and the order of things.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "compat.h"
#include "counters.h"
#include "dev/client.h"
#include "dev/ioctl.h"
#include "file/attach_file.h"
#include "file/file_read.h"
#include "file/pin.h"
#include "mm/mapping.h"
#include "mm/node.h"
#include "mm/section.h"
#include "mm/sections.h"
#include "mm/space.h"
#include "payer.h"
#include "walk/request.h"

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

	poll_wait(file, &client->wait, table);
	return sfu_client_is_readable(client) ? EPOLLIN | EPOLLRDNORM : 0;
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
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sframe_unwind",
	.mode = 0666,
	.fops = &device_fops,
};

static int __init sfu_init(void)
{
	int err;

	err = sfu_compat_init();
	if (err)
		return err;
	sfu_mapping_init();
	sfu_attach_init();
	err = sfu_section_init();
	if (err)
		return err;
	err = sfu_node_init();
	if (err)
		goto err_section;
	err = sfu_sections_start_workers();
	if (err)
		goto err_node;
	err = sfu_file_read_init();
	if (err)
		goto err_workers;
	err = sfu_pin_init();
	if (err)
		goto err_file_read;
	err = sfu_request_init();
	if (err)
		goto err_pin;
	err = sfu_space_init();
	if (err)
		goto err_request;
	sfu_counters_init();
	err = misc_register(&device);
	if (err)
		goto err_counters;
	return 0;

err_counters:
	sfu_counters_exit();
	sfu_space_exit();
err_request:
	sfu_request_exit();
err_pin:
	sfu_pin_exit();
err_file_read:
	sfu_file_read_exit();
err_workers:
	sfu_sections_stop_workers();
err_node:
	sfu_node_exit();
err_section:
	sfu_section_exit();
	sfu_payer_exit();
	return err;
}

static void __exit sfu_exit(void)
{
	misc_deregister(&device);
	sfu_counters_exit();
	sfu_request_exit();
	sfu_pin_exit();
	sfu_file_read_exit();
	sfu_space_exit();
	sfu_sections_stop_workers();
	sfu_node_exit();
	sfu_section_exit();
	sfu_payer_exit();
}

module_init(sfu_init);
module_exit(sfu_exit);

MODULE_DESCRIPTION("User stacks by SFrame on a stock kernel");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
