// SPDX-License-Identifier: GPL-2.0
/*
 * sframe_unwind: unwind user stacks by SFrame, on a stock kernel.
 *
 * This file initializes the parts of the module in order, and shuts them down.
 */
#include <linux/module.h>

#include "bpf/kfunc.h"
#include "compat.h"
#include "counters.h"
#include "dev/device.h"
#include "file/attach_file.h"
#include "file/file_read.h"
#include "file/noted.h"
#include "file/pin.h"
#include "kapi/deferred.h"
#include "mm/mapping.h"
#include "mm/node.h"
#include "mm/section.h"
#include "mm/sections.h"
#include "mm/space.h"
#include "netlink/netlink.h"
#include "payer.h"
#include "perf/sample.h"
#include "walk/request.h"
#include "walk/walk.h"

static int __init sfu_init(void)
{
	int err;

	err = sfu_compat_init();
	if (err)
		return err;
	sfu_mapping_init();
	sfu_noted_init();
	sfu_attach_init();
	err = sfu_netlink_init();
	if (err)
		return err;
	err = sfu_section_init();
	if (err)
		goto err_netlink;
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
	err = sfu_walk_init();
	if (err)
		goto err_pin;
	err = sfu_request_init();
	if (err)
		goto err_walk;
	err = sfu_space_init();
	if (err)
		goto err_request;
	sfu_counters_init();
	err = sfu_deferred_init();
	if (err)
		goto err_counters;
	err = sfu_kfunc_init();
	if (err)
		goto err_deferred;
	err = sfu_device_init();
	if (err)
		goto err_kfunc;
	return 0;

err_kfunc:
	sfu_kfunc_exit();
err_deferred:
	sfu_deferred_exit();
err_counters:
	sfu_counters_exit();
	sfu_space_exit();
err_request:
	sfu_request_exit();
err_walk:
	sfu_walk_exit();
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
err_netlink:
	sfu_netlink_exit();
	sfu_payer_exit();
	return err;
}

static void __exit sfu_exit(void)
{
	sfu_device_exit();
	sfu_kfunc_exit();
	sfu_deferred_exit();
	sfu_counters_exit();
	sfu_sample_exit();
	sfu_request_exit();
	sfu_walk_exit();
	sfu_pin_exit();
	sfu_file_read_exit();
	sfu_space_exit();
	sfu_sections_stop_workers();
	sfu_node_exit();
	sfu_section_exit();
	sfu_netlink_exit();
	sfu_payer_exit();
}

module_init(sfu_init);
module_exit(sfu_exit);

MODULE_DESCRIPTION("User stacks by SFrame on a stock kernel");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
