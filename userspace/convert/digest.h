/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Digest: BLAKE2b-256, by libgcrypt. What has the same digest is the same: nobody
 * can make two contents with one digest, also not by choosing both.
 */
#ifndef SFRAME_UNWIND_DIGEST_H
#define SFRAME_UNWIND_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a digest, and characters of one in hexadecimal, with the zero. */
#define DIGEST_SIZE 32
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1)

struct digest {
	unsigned char bytes[DIGEST_SIZE];
};

/* A digest in the making. */
struct digest_run {
	void *handle;
};

/* Begin one. Returns 0, or -ENOMEM: then there is nothing to end. */
int sfu_digest_begin(struct digest_run *run);

/* Add bytes. The caller sees to it that one run of additions has one meaning. */
void sfu_digest_add(struct digest_run *run, const void *bytes, size_t size);

/* End it, with the result in @digest if that is not NULL. */
void sfu_digest_end(struct digest_run *run, struct digest *digest);

/* The digest in lower-case hexadecimal. */
void sfu_digest_text(const struct digest *digest, char text[DIGEST_TEXT_SIZE]);

#endif /* SFRAME_UNWIND_DIGEST_H */
