// SPDX-License-Identifier: GPL-2.0
/*
 * Export: functions that other modules may call, in the namespace
 * SFRAME_UNWIND. Those of <linux/sframe_unwind_deferred.h> are for all modules. The
 * others are only for sframe_unwind_test: that is not a stable interface.
 */
#include <linux/export.h>
#include <linux/sframe_unwind_deferred.h>

#include "compat.h"
#include "dev/client.h"
#include "dev/ioctl.h"
#include "perf/sampler.h"
#include "walk/lookup.h"
#include "walk/request.h"
#include "walk/request_memory.h"
#include "walk/walk.h"

SFU_EXPORT(sframe_unwind_deferred_init_key);
SFU_EXPORT(sframe_unwind_deferred_request);
SFU_EXPORT(sframe_unwind_deferred_cancel);
SFU_EXPORT(sframe_unwind_deferred_get_stats);
SFU_EXPORT(sframe_unwind_user_faultable);
SFU_EXPORT(sframe_unwind_trace_put);

SFU_EXPORT(sfu_client_create);
SFU_EXPORT(sfu_client_close);
SFU_EXPORT(sfu_client_make_ring);
SFU_EXPORT(sfu_client_read);
SFU_EXPORT(sfu_client_is_readable);
SFU_EXPORT(sfu_ioctl);
SFU_EXPORT(sfu_sampler_map);
SFU_EXPORT(sfu_pool_create);
SFU_EXPORT(sfu_pool_destroy);
SFU_EXPORT(sfu_request_submit_current);
SFU_EXPORT(sfu_lookup_begin);
SFU_EXPORT(sfu_lookup_rule);
SFU_EXPORT(sfu_lookup_end);
SFU_EXPORT(sfu_walk_user);
