// SPDX-License-Identifier: GPL-2.0
/*
 * Marker: the mapping that ties a registered space to its mm, and the file that
 * is mapped.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "marker.h"

/*
 * All mappings of the file are gone, so nothing uses its address_space any
 * more.
 */
int sfu_marker_release(struct inode *inode, struct file *file)
{
	kfree(file->f_mapping);
	return 0;
}

/*
 * Fork and exit link and unlink the mappings of a file under a lock of its
 * address_space, which all files on the anonymous inode share. Each marker gets
 * an address_space of its own, always empty, so that unrelated processes do not
 * contend for that lock.
 */
static struct file *open_marker(const struct file_operations *fops)
{
	struct address_space *mapping = kzalloc(sizeof(*mapping),
						GFP_KERNEL_ACCOUNT);
	struct file *file;

	if (!mapping)
		return ERR_PTR(-ENOMEM);
	file = anon_inode_getfile("[sframe_unwind]", fops, NULL,
				  O_RDWR | O_CLOEXEC);
	if (IS_ERR(file)) {
		kfree(mapping);
		return file;
	}
	address_space_init_once(mapping);
	init_rwsem(&mapping->invalidate_lock);
	mapping->host = file_inode(file);
	mapping->a_ops = &empty_aops;
	file->f_mapping = mapping;
	return file;
}

int sfu_marker_map(const struct file_operations *fops)
{
	unsigned long address;
	struct file *file;

	file = open_marker(fops);
	/*
	 * Treat the limits on files and on locked memory (mlockall()) as no
	 * memory.
	 */
	if (IS_ERR(file))
		return -ENOMEM;
	address = vm_mmap(file, 0, PAGE_SIZE, PROT_NONE, MAP_SHARED, 0);
	fput(file);
	if (IS_ERR_VALUE(address) && (long)address != -EEXIST)
		return (long)address == -EINTR ? -EINTR : -ENOMEM;
	return 0;
}
