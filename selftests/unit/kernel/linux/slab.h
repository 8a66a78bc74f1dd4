/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations, which tests can make fail. */
#ifndef UNIT_KERNEL_SLAB_H
#define UNIT_KERNEL_SLAB_H

#include <stdlib.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NORETRY		0
#define GFP_NOWAIT		0
#define __GFP_NOWARN		0

struct kmem_cache;

/* See tree_memory.c. */
struct kmem_cache *unit_cache_create(size_t size);
void *kmem_cache_alloc(struct kmem_cache *cache, int gfp);
void kmem_cache_free(struct kmem_cache *cache, void *memory);
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmalloc(size_t size, int gfp);

#define KMEM_CACHE(name, flags)	unit_cache_create(sizeof(struct name))
#define kfree(memory)		free(memory)
#define kzalloc(size, gfp)	((void)(gfp), calloc(1, size))

#endif /* UNIT_KERNEL_SLAB_H */
