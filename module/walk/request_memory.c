// SPDX-License-Identifier: GPL-2.0
/*
 * Request memory: a request is allocated and charged to its consumer's payer,
 * or is taken from a pool.
 */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "counters.h"
#include "lock.h"
#include "payer.h"
#include "request_memory.h"

/* Requests of a pool that are allocated by one call. */
#define BATCH	64

static struct kmem_cache *request_cache;

/* Drop a reference of the owner, or of a request. */
static void put_pool(struct sfu_pool *pool)
{
	if (refcount_dec_and_test(&pool->refs))
		kvfree(pool);
}

/*
 * Returns whether @user may take one more. It need not be counted as long as no more are
 * taken than one user may have; else that reads 4 KiB for 1,024 requests.
 */
static bool may_take(const struct sfu_pool *pool, kuid_t user)
{
	u32 i, nr = 0;

	lockdep_assert_held(&pool->lock);
	if (pool->nr_taken < pool->most_of_user)
		return true;
	for (i = 0; i < pool->nr; i++)
		nr += uid_eq(pool->users[i], user);
	return nr < pool->most_of_user;
}

/* Note that @user, or nobody if that is INVALID_UID, has taken @request. */
static void note_user(struct sfu_pool *pool, const struct sfu_request *request, kuid_t user)
{
	lockdep_assert_held(&pool->lock);
	pool->users[request->pool_index] = user;
	if (uid_valid(user))
		pool->nr_taken++;
	else
		pool->nr_taken--;
}

struct sfu_request *sfu_pool_take(struct sfu_pool *pool)
{
	/* Not that of a set-user-ID program, and not that of whom it is working for. */
	const kuid_t user = current_real_cred()->uid;
	struct sfu_request *request = NULL;
	unsigned long flags;

	flags = sfu_lock_irqsave(&pool->lock);
	if (may_take(pool, user))
		request = list_first_entry_or_null(&pool->free, struct sfu_request, link);
	if (request) {
		list_del(&request->link);
		note_user(pool, request, user);
	}
	sfu_unlock_irqrestore(&pool->lock, flags);
	if (request)
		refcount_inc(&pool->refs);
	return request;
}

/* What requests are pending for: compared, never dereferenced. */
struct pending_key {
	const struct task_struct *task;
	const struct mm_struct *mm;
};

static int compare_pending(const void *of, const struct rb_node *node)
{
	const struct pending_key *key = of;
	const struct sfu_request *request = rb_entry(node, struct sfu_request, pool_node);

	if (key->task != request->task)
		return key->task < request->task ? -1 : 1;
	return key->mm < request->mm ? -1 : key->mm > request->mm;
}

static bool is_before(struct rb_node *node, const struct rb_node *other)
{
	const struct sfu_request *request = rb_entry(node, struct sfu_request, pool_node);
	const struct pending_key key = { .task = request->task, .mm = request->mm };

	return compare_pending(&key, other) < 0;
}

void sfu_pool_note_pending(struct sfu_request *request)
{
	struct sfu_pool *pool = request->pool;

	lockdep_assert_irqs_disabled();
	sfu_lock(&pool->lock);
	/* Equal ones stay in the order in which they are added. */
	rb_add(&request->pool_node, &pool->pending, is_before);
	sfu_unlock(&pool->lock);
}

void sfu_pool_note_delivered(struct sfu_request *request)
{
	struct sfu_pool *pool = request->pool;
	unsigned long flags;

	if (!pool)
		return;
	flags = sfu_lock_irqsave(&pool->lock);
	rb_erase(&request->pool_node, &pool->pending);
	sfu_unlock_irqrestore(&pool->lock, flags);
}

/* As sfu_pool_find_cookie(), with the lock held. */
static u64 find_cookie(const struct sfu_pool *pool)
{
	const struct pending_key key = { .task = current, .mm = current->mm };
	const struct rb_node *node;

	lockdep_assert_held(&pool->lock);
	node = rb_find_first(&key, &pool->pending, compare_pending);
	return node ? rb_entry(node, struct sfu_request, pool_node)->cookie : 0;
}

u64 sfu_pool_find_cookie(struct sfu_pool *pool)
{
	unsigned long flags;
	u64 cookie;

	flags = sfu_lock_irqsave(&pool->lock);
	cookie = find_cookie(pool);
	sfu_unlock_irqrestore(&pool->lock, flags);
	return cookie;
}

u64 sfu_pool_try_find_cookie(struct sfu_pool *pool)
{
	u64 cookie;

	if (!sfu_trylock(&pool->lock))
		return 0;
	cookie = find_cookie(pool);
	sfu_unlock(&pool->lock);
	return cookie;
}

/* Free @request of a pool that is destroyed. */
static void free_pool_request(struct sfu_request *request)
{
	kmem_cache_free(request_cache, request);
	sfu_uncount(SFU_POOL_REQUESTS);
}

void sfu_pool_give_back(struct sfu_request *request)
{
	struct sfu_pool *pool = request->pool;
	unsigned long flags;
	bool is_destroyed;

	flags = sfu_lock_irqsave(&pool->lock);
	is_destroyed = pool->is_destroyed;
	if (!is_destroyed)
		list_add(&request->link, &pool->free);
	note_user(pool, request, INVALID_UID);
	sfu_unlock_irqrestore(&pool->lock, flags);
	if (is_destroyed)
		free_pool_request(request);
	put_pool(pool);
}

u64 sfu_pool_bytes(u32 nr)
{
	return struct_size((struct sfu_pool *)NULL, users, nr) + nr * sizeof(struct sfu_request);
}

/* Add requests @from to @from + @nr - 1 to @pool, which nobody uses yet. */
static bool add_requests(struct sfu_pool *pool, u32 from, u32 nr)
{
	void *batch[BATCH];
	struct sfu_request *request;
	u32 i;

	if (!kmem_cache_alloc_bulk(request_cache, GFP_KERNEL_ACCOUNT | __GFP_ZERO, nr, batch))
		return false;
	sfu_count_many(SFU_POOL_REQUESTS, nr);
	for (i = 0; i < nr; i++) {
		request = batch[i];
		request->pool = pool;
		request->pool_index = from + i;
		pool->users[from + i] = INVALID_UID;
		list_add(&request->link, &pool->free);
	}
	return true;
}

struct sfu_pool *sfu_pool_create(u32 nr, u32 most_of_user)
{
	struct sfu_pool *pool;
	u32 i;

	pool = kvzalloc(struct_size(pool, users, nr), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return NULL;
	refcount_set(&pool->refs, 1);
	pool->nr = nr;
	pool->most_of_user = most_of_user;
	raw_spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->free);
	pool->pending = RB_ROOT;
	for (i = 0; i < nr; i += BATCH) {
		if (!add_requests(pool, i, min_t(u32, nr - i, BATCH))) {
			sfu_pool_destroy(pool);
			return NULL;
		}
	}
	return pool;
}

void sfu_pool_destroy(struct sfu_pool *pool)
{
	struct sfu_request *request, *next;
	unsigned long flags;
	LIST_HEAD(unused);

	flags = sfu_lock_irqsave(&pool->lock);
	pool->is_destroyed = true;
	list_splice_init(&pool->free, &unused);
	sfu_unlock_irqrestore(&pool->lock, flags);
	list_for_each_entry_safe(request, next, &unused, link)
		free_pool_request(request);
	put_pool(pool);
}

struct sfu_request *sfu_request_alloc(struct sfu_payer *payer)
{
	struct sfu_request *request;

	if (sfu_payer_charge(payer, sizeof(*request), false))
		return NULL;
	request = kmem_cache_zalloc(request_cache, GFP_KERNEL_ACCOUNT);
	if (!request)
		sfu_payer_uncharge(payer, sizeof(*request));
	return request;
}

void sfu_request_free(struct sfu_payer *payer,
		      struct sfu_request *request)
{
	kmem_cache_free(request_cache, request);
	sfu_payer_uncharge(payer, sizeof(*request));
}

void sfu_request_free_spare(struct sfu_payer *payer,
			    struct hlist_head *spare)
{
	struct sfu_request *request;
	struct hlist_node *next;

	hlist_for_each_entry_safe(request, next, spare, node)
		sfu_request_free(payer, request);
}

int sfu_request_memory_init(void)
{
	request_cache = KMEM_CACHE(sfu_request, 0);
	return request_cache ? 0 : -ENOMEM;
}

void sfu_request_memory_exit(void)
{
	kmem_cache_destroy(request_cache);
}
