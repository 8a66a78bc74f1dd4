// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <cpuid.h>
#include <errno.h>
#include <gcrypt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The algorithm, see digest.h. */
static int algorithm;

/* Returns whether this is a VM under QEMU's binary translation (TCG), without KVM. */
static bool is_translated(void)
{
	unsigned int eax, ebx, ecx, edx, name[3];

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & 1U << 31))
		return false;
	__cpuid(0x40000000, eax, name[0], name[1], name[2]);
	return !memcmp(name, "TCGTCGTCGTCG", sizeof(name));
}

/* Returns whether this processor has instructions for SHA-256. */
static bool has_sha(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
	       ebx & bit_SHA;
}

/* Initialise libgcrypt, unless other code of this process has done so. */
static void initialize(void)
{
	const bool is_slow = is_translated();

	algorithm = has_sha() && !is_slow ? GCRY_MD_SHA256 :
					    GCRY_MD_BLAKE2B_256;
	if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
		return;
	/* AVX2 is a third faster on a real CPU, but three times slower under TCG. */
	if (is_slow)
		gcry_control(GCRYCTL_DISABLE_HWF, "intel-avx2", NULL);
	/* FIPS mode has no BLAKE2, and the digests here protect no secrets. */
	gcry_control(GCRYCTL_NO_FIPS_MODE, 0);
	gcry_check_version(NULL);
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

int sfu_digest_begin(struct digest_run *run)
{
	gcry_md_hd_t handle;

	pthread_once(&once, initialize);
	if (gcry_md_open(&handle, algorithm, 0))
		return -ENOMEM;
	run->handle = handle;
	return 0;
}

void sfu_digest_add(struct digest_run *run, const void *bytes, size_t size)
{
	gcry_md_write(run->handle, bytes, size);
}

void sfu_digest_end(struct digest_run *run, struct digest *digest)
{
	if (digest)
		memcpy(digest->bytes, gcry_md_read(run->handle, algorithm),
		       sizeof(digest->bytes));
	gcry_md_close(run->handle);
	run->handle = NULL;
}

void sfu_digest_text(const struct digest *digest, char text[DIGEST_TEXT_SIZE])
{
	for (size_t i = 0; i < sizeof(digest->bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
}
