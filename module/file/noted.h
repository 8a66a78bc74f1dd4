/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Noted: which code a section is for, if there is no file that tells.
 *
 * Anonymous memory can become other code at any time. So a section that is attached with
 * UNCHANGED knows the bytes of its functions, of which its image has hashes, and a
 * walk compares a function with them before it uses one of its rules. It does so once in
 * each epoch: private memory that is not writable can change only after its mapping has,
 * which ends the epoch. So rules that are in the cache from an earlier epoch do not become
 * valid again by a check of their section, see sfu_rules_renew().
 *
 * A long function has a hash for each piece. Of these, the first one, which has the
 * function's beginning, and the one that the rule is for are compared. A function is what
 * an entry of the section's index describes. It is up to who attaches the section that it is
 * one: the converter has SFRAME_UNWIND_CONVERT_BY_FUNCTION for that.
 *
 * It is not noticed until the next epoch if the memory changes and its mapping does not: by
 * ptrace, /proc/PID/mem, or I/O to pages that were pinned before. With that, a process can
 * deceive about its own stacks only.
 */
#ifndef SFU_NOTED_H
#define SFU_NOTED_H

#include <linux/types.h>

struct sfu_image;
struct sfu_message;

/*
 * Note the functions of the new @image, from a copy of its code in the current mm: that at
 * address 0 in the image is at @code. No other thread may know the image yet. May sleep.
 * Returns 0; or -EFAULT if a function cannot be read, -ENOSPC if the image takes more than
 * @max_memory bytes then, -EINTR or -ENOMEM, with @message.
 */
int sfu_noted_fill(struct sfu_image *image, u64 code, u64 max_memory,
		   struct sfu_message *message);

#define SFU_NOTED_PARTS	2

/**
 * struct sfu_noted - what is compared of a function
 *
 * @nr: parts of it.
 * @parts.start: address.
 * @parts.size: in bytes.
 * @parts.hash: of the bytes.
 */
struct sfu_noted {
	u32 nr;
	struct {
		u64 start;
		u32 size;
		u64 hash;
	} parts[SFU_NOTED_PARTS];
};

/*
 * Get what was noted of the function at @pc, which @image, used at @address, must have, as
 * far as a rule for @pc needs it. The caller must have a reference to its bytes.
 */
void sfu_noted_get(const struct sfu_image *image, u64 address, u64 pc,
		   struct sfu_noted *noted);

/*
 * Compare that with what is in the current mm. May sleep: no bytes of sections may
 * be held. Returns 0 if it is the same; -ESTALE if not; or -EFAULT if it cannot be read.
 */
int sfu_noted_check(const struct sfu_noted *noted);

void sfu_noted_init(void);

#endif /* SFU_NOTED_H */
