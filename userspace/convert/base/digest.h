/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Digest: SHA-256 or BLAKE2b-256, by libgcrypt. Both are collision-resistant, and so are
 * both together: contents with the same digest are the same, even if an attacker chooses
 * both.
 *
 * SHA-256 is taken where the processor has instructions for it: it is almost three times as
 * fast there, and slower elsewhere. So machines may have different digests of the same
 * bytes, which costs one conversion where they share a cache.
 */
#ifndef SFRAME_UNWIND_DIGEST_H
#define SFRAME_UNWIND_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a digest; characters of one in hexadecimal, with the terminating 0. */
#define DIGEST_SIZE 32
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

struct digest {
	unsigned char bytes[DIGEST_SIZE];
};

/* A digest being computed. */
struct digest_run {
	void *handle;
};

/* Begin a digest, to be ended. Returns 0, or -ENOMEM: then there is nothing to end. */
int sfu_digest_begin(struct digest_run *run);

/*
 * Add bytes. Only the concatenation of all bytes counts: the caller must make sure
 * that it has only one interpretation.
 */
void sfu_digest_add(struct digest_run *run, const void *bytes, size_t size);

/* End the digest, and store the result in @digest if that is not NULL. */
void sfu_digest_end(struct digest_run *run, struct digest *digest);

/* The digest in lower-case hexadecimal. */
void sfu_digest_text(const struct digest *digest, char text[DIGEST_TEXT_SIZE]);

#endif /* SFRAME_UNWIND_DIGEST_H */
