/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User code that is busy, for interrupts to arrive in.
 */
#ifndef SELFTESTS_SPIN_H
#define SELFTESTS_SPIN_H

/* Functions that are alone in their 256 bytes, for inside(). */
#define ALONE	__attribute__((noinline, aligned(256)))

static unsigned long spun;

static ALONE void spin(unsigned long loops)
{
	while (loops--) {
		spun++;
		asm volatile("" ::: "memory");
	}
}

static ALONE void spin_deeper(unsigned long loops)
{
	spin(loops);
	asm volatile("" ::: "memory");	/* no tail call */
}

#endif /* SELFTESTS_SPIN_H */
