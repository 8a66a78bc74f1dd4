// SPDX-License-Identifier: GPL-2.0
/*
 * A shared object with one hop; built several times with frames of different
 * sizes.
 */
#define WORDS	(FRAME / 8)

void lib_hop(void **array)
{
	volatile unsigned long frame[WORDS];
	int i;

	/*
	 * Words that a walk with the rule of another frame takes as return
	 * address.
	 */
	for (i = 0; i < WORDS; i++)
		frame[i] = 0x5afe1b00 + i;
	((void (*)(void **))array[0])(array + 1);
	(void)frame[0];
}
