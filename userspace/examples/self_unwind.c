// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Unwind the program's own stack: register the loaded objects, request the stack, read
 * and print it.
 *
 * cc -O2 -Wa,--gsframe-3 -rdynamic self_unwind.c -lsframe_unwind
 */
#define _GNU_SOURCE 1	/* for dladdr() */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>

#include <sframe_unwind.h>

static void print_frame(const struct sframe_unwind_stack *stack, unsigned int i)
{
	const uint64_t ip = sframe_unwind_stack_ip(stack, i);
	void *lookup = (void *)(uintptr_t)sframe_unwind_stack_lookup(stack, i);
	const char *name = NULL;
	Dl_info info;

	if (dladdr(lookup, &info))
		name = info.dli_sname ? info.dli_sname : info.dli_fname;
	printf("#%-2u %#018" PRIx64 " %s [%s]\n", i, ip, name ? name : "?",
	       sframe_unwind_frame_name(sframe_unwind_stack_how(stack, i)));
}

/* Not static, not inlined, no tail calls: so that these frames appear by name. */
__attribute__((noinline))
int inner(struct sframe_unwind *handle)
{
	const int err = sframe_unwind_request_self(handle, 0);

	__asm__ volatile("");
	return err;
}

__attribute__((noinline))
int outer(struct sframe_unwind *handle)
{
	const int err = inner(handle);

	__asm__ volatile("");
	return err;
}

int main(void)
{
	const struct sframe_unwind_stack *stack;
	struct sframe_unwind *handle;
	int err;

	err = sframe_unwind_open(&handle, 0);
	if (err)
		goto fail;
	err = sframe_unwind_register_objects(handle, 0, NULL, NULL);
	if (err < 0)
		goto fail;
	printf("registered %d objects\n", err);

	err = outer(handle);
	if (!err)
		err = sframe_unwind_read_stack(handle, 0, &stack);
	if (err)
		goto fail;
	for (unsigned int i = 0; i < sframe_unwind_stack_frames(stack); i++)
		print_frame(stack, i);
	printf("end: %s\n", sframe_unwind_stop_name(stack->stop));
	sframe_unwind_close(handle);
	return 0;

fail:
	fprintf(stderr, "error %d: %s\n", err, sframe_unwind_error(handle));
	sframe_unwind_close(handle);
	return 1;
}
