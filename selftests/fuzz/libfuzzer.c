// SPDX-License-Identifier: GPL-2.0
/* libFuzzer's entry point, for the target that the Makefile defines. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	FUZZ_TARGET(data, size);
	return 0;
}
