// SPDX-License-Identifier: GPL-2.0
/*
 * Digests: the algorithm that this processor is fast at, over the concatenation of the
 * bytes.
 */
#include <cpuid.h>
#include <string.h>

#include "convert/base/digest.h"
#include "tap.h"

/* Of "abc". */
#define SHA256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define BLAKE2B "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"

/* The first bytes of the name of a processor that QEMU translates: "TCGT". */
#define TRANSLATED 0x54474354

static void digest_of(const char *first, const char *second,
		      char text[DIGEST_TEXT_SIZE])
{
	struct digest_run run;
	struct digest digest;

	text[0] = '\0';
	if (sfu_digest_begin(&run))
		return;
	sfu_digest_add(&run, first, strlen(first));
	sfu_digest_add(&run, second, strlen(second));
	sfu_digest_end(&run, &digest);
	sfu_digest_text(&digest, text);
}

/* Whether the processor has instructions for SHA-256, and they are not emulated. */
static bool has_sha(void)
{
	unsigned int eax, ebx, ecx, edx;

	__cpuid(0x40000000, eax, ebx, ecx, edx);
	if (ebx == TRANSLATED)
		return false;
	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
	       ebx & bit_SHA;
}

static void algorithm(void)
{
	char text[DIGEST_TEXT_SIZE];

	digest_of("abc", "", text);
	if (strcmp(text, has_sha() ? SHA256 : BLAKE2B))
		tap_fail("%s", text);
}

static void concatenation(void)
{
	char whole[DIGEST_TEXT_SIZE], parts[DIGEST_TEXT_SIZE];
	char other[DIGEST_TEXT_SIZE];

	digest_of("abc", "", whole);
	digest_of("a", "bc", parts);
	digest_of("abd", "", other);
	EXPECT(!strcmp(whole, parts));
	EXPECT(strcmp(whole, other));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(algorithm),
		TAP_TEST(concatenation),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
