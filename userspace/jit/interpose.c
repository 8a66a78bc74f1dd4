// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The object that "exec --jit" and "record --jit" preload: programs that generate code announce
 * its .eh_frame to the unwinder of libgcc or LLVM, for exceptions. These functions are in
 * front of theirs: they pass each call on, and register the code with the module as well.
 *
 * A symbol without a version stands for all versions: CPython asks for
 * __register_frame@GCC_3.0. Programs that are linked with libgcc statically call its
 * functions directly: their code is not seen.
 *
 * LLVM's MCJIT announces code before it is executable, which the module refuses. So mprotect()
 * is among these functions.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/registry.h"

#define PUBLIC __attribute__((visibility("default"), noinline))

/* Functions of the same kind call each other, perhaps by these symbols. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/*
 * Returns the function @name that is next in the global scope, or NULL. It stays loaded from
 * now on.
 */
static void *find_next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);
	Dl_info info;

	if (function && dladdr(function, &info))
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return function;
}

/*
 * Returns the function @name in the scope of the object that contains @caller, or NULL: it may
 * have been loaded by dlopen(3) with RTLD_LOCAL, together with an unwinder. Not to be kept, as
 * they may be unloaded together, too.
 */
static void *find_in_scope_of(const void *caller, const char *name)
{
	struct link_map *map;
	void *object, *function;
	Dl_info info, own;

	if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !*map->l_name)
		return NULL;
	object = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		return NULL;
	function = dlsym(object, name);
	dlclose(object);
	/* The scope of some objects is the global one, where these functions are first. */
	if (function && dladdr(function, &info) &&
	    dladdr((void *)find_in_scope_of, &own) && info.dli_fbase == own.dli_fbase)
		return NULL;
	return function;
}

/*
 * Set @next to the function @name that the caller of this one would call without this object.
 * Returns whether there is one.
 */
#define FIND(next, name)							\
	({									\
		static __typeof__(next) found;					\
		next = __atomic_load_n(&found, __ATOMIC_RELAXED);		\
		if (!next) {							\
			next = (__typeof__(next))find_next(name);		\
			__atomic_store_n(&found, next, __ATOMIC_RELAXED);	\
		}								\
		if (!next)							\
			next = (__typeof__(next))				\
			       find_in_scope_of(__builtin_return_address(0),	\
						name);				\
		next != NULL;							\
	})

/* Begin a call. Returns whether it is the outermost one. */
static bool enter(void)
{
	const bool is_outermost = !is_inside;

	is_inside = true;
	return is_outermost;
}

/* After the real function was called: add the .eh_frame at @begin. */
static void leave_add(bool is_outermost, const void *begin)
{
	const void *begins[2] = { begin, NULL };

	if (is_outermost)
		sfu_jit_add(begin, begins);
	is_inside = !is_outermost;
}

/* The same for a table of them, which ends with NULL. */
static void leave_add_table(bool is_outermost, const void *const *table)
{
	if (is_outermost && table)
		sfu_jit_add(table, table);
	is_inside = !is_outermost;
}

/* Before the real function is called: remove an .eh_frame or a table. */
static bool enter_remove(const void *key)
{
	const bool is_outermost = enter();

	if (is_outermost)
		sfu_jit_remove(key);
	return is_outermost;
}

PUBLIC void __register_frame(void *begin)
{
	const bool is_outermost = enter();
	void (*next)(void *begin);

	if (FIND(next, "__register_frame"))
		next(begin);
	leave_add(is_outermost, begin);
}

PUBLIC void __register_frame_info(const void *begin, void *object)
{
	const bool is_outermost = enter();
	void (*next)(const void *begin, void *object);

	if (FIND(next, "__register_frame_info"))
		next(begin, object);
	leave_add(is_outermost, begin);
}

PUBLIC void __register_frame_info_bases(const void *begin, void *object,
					void *text, void *data)
{
	const bool is_outermost = enter();
	void (*next)(const void *begin, void *object, void *text, void *data);

	if (FIND(next, "__register_frame_info_bases"))
		next(begin, object, text, data);
	leave_add(is_outermost, begin);
}

PUBLIC void __register_frame_table(void *table)
{
	const bool is_outermost = enter();
	void (*next)(void *table);

	if (FIND(next, "__register_frame_table"))
		next(table);
	leave_add_table(is_outermost, table);
}

PUBLIC void __register_frame_info_table(void *table, void *object)
{
	const bool is_outermost = enter();
	void (*next)(void *table, void *object);

	if (FIND(next, "__register_frame_info_table"))
		next(table, object);
	leave_add_table(is_outermost, table);
}

PUBLIC void __register_frame_info_table_bases(void *table, void *object,
					      void *text, void *data)
{
	const bool is_outermost = enter();
	void (*next)(void *table, void *object, void *text, void *data);

	if (FIND(next, "__register_frame_info_table_bases"))
		next(table, object, text, data);
	leave_add_table(is_outermost, table);
}

PUBLIC void __deregister_frame(void *begin)
{
	const bool is_outermost = enter_remove(begin);
	void (*next)(void *begin);

	if (FIND(next, "__deregister_frame"))
		next(begin);
	is_inside = !is_outermost;
}

PUBLIC void *__deregister_frame_info(const void *begin)
{
	const bool is_outermost = enter_remove(begin);
	void *(*next)(const void *begin), *object = NULL;

	if (FIND(next, "__deregister_frame_info"))
		object = next(begin);
	is_inside = !is_outermost;
	return object;
}

PUBLIC void *__deregister_frame_info_bases(const void *begin)
{
	const bool is_outermost = enter_remove(begin);
	void *(*next)(const void *begin), *object = NULL;

	if (FIND(next, "__deregister_frame_info_bases"))
		object = next(begin);
	is_inside = !is_outermost;
	return object;
}

/*
 * Both may be called in signal handlers, where dlsym() must not be. The system call is what
 * libc's functions consist of.
 */
static int (*next_mprotect)(void *start, size_t size, int protection);
static int (*next_pkey_mprotect)(void *start, size_t size, int protection, int key);

PUBLIC int mprotect(void *start, size_t size, int protection)
{
	const int ret = next_mprotect ? next_mprotect(start, size, protection) :
					(int)syscall(SYS_mprotect, start, size,
						     protection);

	if (!ret && protection & PROT_EXEC)
		sfu_jit_protected(start, size);
	return ret;
}

PUBLIC int pkey_mprotect(void *start, size_t size, int protection, int key)
{
	const int ret = next_pkey_mprotect ?
			next_pkey_mprotect(start, size, protection, key) :
			(int)syscall(SYS_pkey_mprotect, start, size, protection, key);

	if (!ret && protection & PROT_EXEC)
		sfu_jit_protected(start, size);
	return ret;
}

__attribute__((constructor))
static void start(void)
{
	const char *setting = getenv("SFRAME_UNWIND_JIT");

	next_mprotect = dlsym(RTLD_NEXT, "mprotect");
	next_pkey_mprotect = dlsym(RTLD_NEXT, "pkey_mprotect");
	sfu_jit_open(setting && !strcmp(setting, "verbose"));
}
