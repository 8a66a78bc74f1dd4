// SPDX-License-Identifier: GPL-2.0
/*
 * Copied into the worker and executed there: it must have no data of its own,
 * and must not call functions that are not inlined.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "payload.h"

#define IN_PAYLOAD __attribute__((section("payload"), used))
#define INLINE static inline __attribute__((always_inline))

INLINE long call(long number, const uint64_t *arguments)
{
	register long r10 __asm__("r10") = arguments[3];
	register long r8 __asm__("r8") = arguments[4];
	register long r9 __asm__("r9") = arguments[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(arguments[0]), "S"(arguments[1]),
			   "d"(arguments[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

INLINE long call_32(long number, const uint64_t *arguments)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(arguments[0]), "c"(arguments[1]),
			   "d"(arguments[2])
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
}

INLINE long write_out(const void *bytes, uint64_t size)
{
	const uint64_t arguments[6] = { 1, (uint64_t)bytes, size };

	return call(SYS_write, arguments);
}

INLINE long map_memory(uint64_t size)
{
	const uint64_t arguments[6] = {
		0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1
	};

	return call(SYS_mmap, arguments);
}

INLINE long grab(void)
{
	long count = 0, at;

	while ((unsigned long)(at = map_memory(1 << 20)) < -4096UL) {
		for (long i = 0; i < 1 << 20; i += 4096)
			((volatile char *)at)[i] = 1;
		count++;
	}
	return count;
}

INLINE long flood(void)
{
	const long at = map_memory(1 << 16);
	long got;

	do
		got = write_out((void *)at, 1 << 16);
	while (got > 0);
	return got;
}

INLINE long touch(uint64_t at, uint64_t size)
{
	long sum = 0;

	for (uint64_t i = 0; i < size; i += 4096)
		sum += ((const volatile char *)at)[i];
	return sum;
}

IN_PAYLOAD void payload_run(const struct payload *payload)
{
	for (const struct payload_step *step = payload->steps;; step++) {
		uint64_t arguments[6];
		long result = 0;

		for (int i = 0; i < 6; i++) {
			arguments[i] = step->arguments[i];
			if (step->relative & 1U << i)
				arguments[i] += (uint64_t)payload;
			/* Keeps the compiler from calling memcpy(). */
			__asm__ volatile("" : : : "memory");
		}
		if (step->kind == PAYLOAD_CALL)
			result = call(step->number, arguments);
		else if (step->kind == PAYLOAD_CALL_32)
			result = call_32(step->number, arguments);
		else if (step->kind == PAYLOAD_FLOOD)
			result = flood();
		else if (step->kind == PAYLOAD_GRAB)
			result = grab();
		else if (step->kind == PAYLOAD_JUMP)
			((void (*)(void))&arguments)();
		else if (step->kind == PAYLOAD_TOUCH)
			result = touch(arguments[0], arguments[1]);
		else if (step->kind == PAYLOAD_END)
			call(SYS_exit_group, arguments);
		while (step->kind == PAYLOAD_SPIN)
			__asm__ volatile("" : : : "memory");
		if (step->kind == PAYLOAD_WRITE)
			write_out((void *)arguments[0], arguments[1]);
		else
			write_out(&result, sizeof(result));
	}
}
