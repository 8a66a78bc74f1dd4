// SPDX-License-Identifier: GPL-2.0
/*
 * For jit_plugin_test: a plugin; and with UNWINDER defined, the unwinder that it brings, which
 * only counts.
 */
unsigned int *get_number(void);
void __register_frame(void *begin);
void __deregister_frame(void *begin);

#ifdef UNWINDER
static unsigned int number;

unsigned int *get_number(void)
{
	return &number;
}

void __register_frame(void *begin)
{
	(void)begin;
	number++;
}

void __deregister_frame(void *begin)
{
	(void)begin;
	number++;
}
#else
void announce(void *begin);

/* Announce @begin; with NULL, take it back. */
void announce(void *begin)
{
	static void *announced;

	if (begin)
		__register_frame(begin);
	else
		__deregister_frame(announced);
	announced = begin;
}
#endif
