// SPDX-License-Identifier: GPL-2.0

// Calls of C, which calls Go.
package main

/*
#include <stdlib.h>

int backInGo(int n);

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b + backInGo(3) * 0;
}

static int sorted(int n)
{
	int list[6] = { 5, 3, 8, 1, 9, 2 };

	qsort(list, 6, sizeof(*list), compare);
	return list[n % 6];
}
*/
import "C"

//export backInGo
func backInGo(n C.int) C.int { return C.int(depth(int(n), func() int { return nested(1) })) }

func init() { inC = func(n int) int { return int(C.sorted(C.int(n))) } }
