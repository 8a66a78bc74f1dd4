/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SFrame data for stacks that "record" completes, of code that was generated: what "attach"
 * has attached to code that processes announce, as it tells with --code-fd, see
 * cli/attach/told.h.
 *
 * Such code is freed, and other code made in its place. So a section is for stacks of some
 * time only. It is known that its code was there once, in private memory that was not
 * writable. Before there can be other code, that memory must become executable anew, which the
 * kernel tells as it tells of mappings. So the code was there from the last time before, until
 * the next time after, that anything was mapped there. If that is not known, as too much has
 * happened, the section is not used.
 *
 * All threads of the process must be followed. A process can still replace code unseen, if it
 * wants to, for example by mremap() or through /proc/self/mem. Which code it has, and what it
 * announces, is up to it: it can deceive about its own stacks only.
 */
#ifndef CLI_PROFILE_COPY_CODE_H
#define CLI_PROFILE_COPY_CODE_H

#include <stdint.h>

#include "cli/profile/copy_sections.h"
#include "include/sframe_unwind_profile.h"

struct copy_code;

/* @socket: where it is told; taken over. */
struct copy_code *copy_code_create(int socket);

/* @code may be NULL, here and in all functions. */
void copy_code_free(struct copy_code *code);

/* Follow what processes map. */
void copy_code_follow(struct copy_code *code,
		      const struct sframe_unwind_profile_record *record);

/* What happens before @time is not followed: forget all. */
void copy_code_forget(struct copy_code *code, uint64_t time);

/* The file to poll for what is told; or -1. */
int copy_code_file(const struct copy_code *code);

/* Take what was told. All that happened until @until was followed, from the first call on. */
void copy_code_take(struct copy_code *code, uint64_t until);

/*
 * Find the section for the code that process @pid had at @pc at @time. Then *@table is set to
 * it, as if it was mapped beside the code, and *@number to a number that no file and no other
 * section has. *@table is valid until the next call of another function.
 */
enum copy_section copy_code_find(struct copy_code *code, uint32_t pid, uint64_t time,
				 uint64_t pc, struct sfu_table *table, uint32_t *number);

#endif /* CLI_PROFILE_COPY_CODE_H */
