// SPDX-License-Identifier: GPL-2.0
/*
 * Payer: a user that is charged for kernel memory.
 *
 * A payer exists as long as there are references, or anything is charged to it.
 * Both end under payers_lock, and a payer is looked up by user only under
 * payers_lock, so a payer that is found is not being freed.
 *
 * Lock order: payers_lock is taken inside all other locks but those of lock.h,
 * which are never held while something is charged.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "compat.h"
#include "counters.h"
#include "limits.h"
#include "payer.h"

/**
 * struct sfu_payer - a user that can be charged
 *
 * payers_lock protects all members but the constant ones.
 *
 * @node: in the hash of payers, by @user.
 * @user: the user, holds a reference; constant.
 * @refs: references, including one if @bytes is not 0.
 * @bytes: bytes charged.
 * @pages: the same in pages, as added to user->locked_vm.
 * @number: index in the array of payers; constant.
 */
struct sfu_payer {
	struct hlist_node node;
	struct user_struct *user;
	u32 refs;
	u64 bytes;
	long pages;
	u32 number;
};

static DEFINE_HASHTABLE(payers_by_user, 14);
static DEFINE_XARRAY_ALLOC1(payers);
static DEFINE_SPINLOCK(payers_lock);

static struct sfu_payer *find_payer(const struct user_struct *user)
{
	struct sfu_payer *payer;

	lockdep_assert_held(&payers_lock);
	hash_for_each_possible(payers_by_user, payer, node,
			       (unsigned long)user) {
		if (payer->user == user)
			return payer;
	}
	return NULL;
}

static void destroy_payer(struct sfu_payer *payer)
{
	free_uid(payer->user);
	kfree(payer);
	sfu_uncount(SFU_PAYERS);
}

/*
 * Drop a reference. If it returns true, it was the last: call
 * destroy_payer_if_last().
 */
static bool drop_payer(struct sfu_payer *payer)
{
	lockdep_assert_held(&payers_lock);
	if (--payer->refs)
		return false;
	hash_del(&payer->node);
	return true;
}

static void destroy_payer_if_last(struct sfu_payer *payer, bool last)
{
	if (!last)
		return;
	/*
	 * Not in the hash any more; and nothing that is charged has its number.
	 */
	xa_erase(&payers, payer->number);
	destroy_payer(payer);
}

/*
 * Create the payer of the current user, or get one that was created meanwhile.
 */
static struct sfu_payer *create_payer(void)
{
	const struct xa_limit limit = XA_LIMIT(1, SFU_MAX_PAYERS);
	struct sfu_payer *payer, *other;

	payer = kzalloc(sizeof(*payer), SFU_GFP_OPTIONAL);
	if (!payer)
		return NULL;
	if (xa_alloc(&payers, &payer->number, payer, limit, SFU_GFP_OPTIONAL)) {
		kfree(payer);
		return NULL;
	}
	payer->user = get_uid(current_user());
	payer->refs = 1;
	sfu_count(SFU_PAYERS);

	spin_lock(&payers_lock);
	other = find_payer(payer->user);
	if (other)
		other->refs++;
	else
		hash_add(payers_by_user, &payer->node,
			 (unsigned long)payer->user);
	spin_unlock(&payers_lock);
	if (!other)
		return payer;
	xa_erase(&payers, payer->number);
	destroy_payer(payer);
	return other;
}

struct sfu_payer *sfu_payer_get_current(void)
{
	struct sfu_payer *payer;

	spin_lock(&payers_lock);
	payer = find_payer(current_user());
	if (payer)
		payer->refs++;
	spin_unlock(&payers_lock);
	return payer ?: create_payer();
}

void sfu_payer_get(struct sfu_payer *payer)
{
	spin_lock(&payers_lock);
	payer->refs++;
	spin_unlock(&payers_lock);
}

void sfu_payer_put(struct sfu_payer *payer)
{
	bool last;

	if (!payer)
		return;
	spin_lock(&payers_lock);
	last = drop_payer(payer);
	spin_unlock(&payers_lock);
	destroy_payer_if_last(payer, last);
}

u32 sfu_payer_number(const struct sfu_payer *payer)
{
	return payer->number;
}

static bool may_lock(long pages)
{
	return pages <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK);
}

/* Set the pages counted in user->locked_vm to @pages. Returns 0 or -ENOMEM. */
static int count_pages(struct sfu_payer *payer, long pages, bool force)
{
	const long more = pages - payer->pages;
	long locked;

	lockdep_assert_held(&payers_lock);
	if (!more)
		return 0;
	locked = sfu_locked_vm_add(payer->user, payer->pages, more);
	if (more > 0 && !force && !may_lock(locked)) {
		sfu_locked_vm_add(payer->user, payer->pages, -more);
		return -ENOMEM;
	}
	payer->pages = pages;
	return 0;
}

int sfu_payer_charge(struct sfu_payer *payer, u64 bytes, bool force)
{
	int err;

	if (!payer)
		return 0;
	spin_lock(&payers_lock);
	err = count_pages(payer, DIV_ROUND_UP(payer->bytes + bytes, PAGE_SIZE),
			  force);
	if (!err && !payer->bytes && bytes)
		payer->refs++;
	if (!err)
		payer->bytes += bytes;
	spin_unlock(&payers_lock);
	return err;
}

static bool uncharge_payer(struct sfu_payer *payer, u64 bytes)
{
	lockdep_assert_held(&payers_lock);
	payer->bytes -= bytes;
	count_pages(payer, DIV_ROUND_UP(payer->bytes, PAGE_SIZE), true);
	return bytes && !payer->bytes && drop_payer(payer);
}

void sfu_payer_uncharge(struct sfu_payer *payer, u64 bytes)
{
	bool last;

	if (!payer)
		return;
	spin_lock(&payers_lock);
	last = uncharge_payer(payer, bytes);
	spin_unlock(&payers_lock);
	destroy_payer_if_last(payer, last);
}

int sfu_payer_charge_number(u32 number, u64 bytes, bool force)
{
	return number ? sfu_payer_charge(xa_load(&payers, number), bytes,
					 force) : 0;
}

void sfu_payer_uncharge_number(u32 number, u64 bytes)
{
	if (number)
		sfu_payer_uncharge(xa_load(&payers, number), bytes);
}

void sfu_payer_exit(void)
{
	xa_destroy(&payers);
}
