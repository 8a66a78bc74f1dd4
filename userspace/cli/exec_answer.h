/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other end of preload/ask.h: giving files to those who ask.
 */
#ifndef EXEC_ANSWER_H
#define EXEC_ANSWER_H

#include <stdbool.h>
#include <sys/types.h>

#include "exec_shared.h"

/*
 * Make the socket, and fill in its name and the secrets in @setup. Returns its
 * number, or -1 with errno.
 */
int exec_answer_open(struct exec_setup *setup);

/*
 * Give @files to who has asked, if somebody has; does not wait. Who does not
 * know the secret gets none. Returns true with *@asker, which is 0 for those,
 * or false if nobody waits.
 */
bool exec_answer(int socket, const struct exec_setup *setup,
		 const int files[EXEC_NR_FILES], pid_t *asker);

#endif /* EXEC_ANSWER_H */
