// SPDX-License-Identifier: GPL-2.0
/* A shared object whose frame is between two frames of its caller. */
int relay(int (*function)(void *data), void *data);

__attribute__((visibility("default"), noinline))
int relay(int (*function)(void *data), void *data)
{
	volatile char room[ROOM];

	room[0] = 1;
	return function(data) + room[0] - 1;
}
