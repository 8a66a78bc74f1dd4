// SPDX-License-Identifier: GPL-2.0
/*
 * Compat: functions for kernel versions that are not inline.
 */
#include "compat.h"

#ifdef SFU_NO_SHRINKER_ALLOC

#include <linux/slab.h>

struct shrinker *__init
sfu_shrinker_create(const char *name,
		    unsigned long (*count)(struct shrinker *shrinker,
					   struct shrink_control *control),
		    unsigned long (*scan)(struct shrinker *shrinker,
					  struct shrink_control *control))
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	if (register_shrinker(shrinker, "%s", name)) {
		kfree(shrinker);
		return NULL;
	}
	return shrinker;
}

void sfu_shrinker_destroy(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}

#else

struct shrinker *__init
sfu_shrinker_create(const char *name,
		    unsigned long (*count)(struct shrinker *shrinker,
					   struct shrink_control *control),
		    unsigned long (*scan)(struct shrinker *shrinker,
					  struct shrink_control *control))
{
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker_register(shrinker);
	return shrinker;
}

void sfu_shrinker_destroy(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}

#endif

#ifdef CONFIG_NET

#include <net/genetlink.h>

#ifdef SFU_NO_MULTICAST_FILTER

/* How often sockets are taken out of new groups. */
#define MAX_EVICTIONS	16

static bool __init has_joined(const struct genl_family *family)
{
	unsigned int i;

	for (i = 0; i < family->n_mcgrps; i++) {
		if (genl_has_listeners(family, &init_net, i))
			return true;
	}
	return false;
}

int __init sfu_genl_register(struct genl_family *family)
{
	int err, i;

	for (i = 0; i < MAX_EVICTIONS; i++) {
		err = genl_register_family(family);
		if (err || !has_joined(family))
			return err;
		genl_unregister_family(family);
	}
	return -EBUSY;
}

int sfu_genl_multicast(const struct genl_family *family, struct sk_buff *skb,
		       unsigned int group,
		       int (*is_left_out)(struct sock *sk, struct sk_buff *skb,
					  void *data), void *data)
{
	return genlmsg_multicast_netns(family, &init_net, skb, 0, group, GFP_KERNEL);
}

#else

int __init sfu_genl_register(struct genl_family *family)
{
	return genl_register_family(family);
}

int sfu_genl_multicast(const struct genl_family *family, struct sk_buff *skb,
		       unsigned int group,
		       int (*is_left_out)(struct sock *sk, struct sk_buff *skb,
					  void *data), void *data)
{
	return genlmsg_multicast_netns_filtered(family, &init_net, skb, 0, group,
						GFP_KERNEL, is_left_out, data);
}

#endif
#endif /* CONFIG_NET */

/*
 * task_work_add() on kernels that do not export it. A kprobe finds its address.
 * It is called by a static call, because that is a direct call: an indirect
 * call would need an ENDBR instruction, which the kernel removes from functions
 * whose address is not taken.
 */
#ifdef SFU_NO_TASK_WORK_ADD

#include <linux/kprobes.h>

DEFINE_STATIC_CALL_NULL(sfu_task_work_add, task_work_add);

int __init sfu_compat_init(void)
{
	struct kprobe probe = { .symbol_name = "task_work_add" };
	int err;

	err = register_kprobe(&probe);
	if (err)
		return err;
	/* The address of the function, or that after its ENDBR instruction. */
	static_call_update(sfu_task_work_add, (void *)probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

#endif /* SFU_NO_TASK_WORK_ADD */
