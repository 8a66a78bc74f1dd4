/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answer the requests of preload/ask.h: send files and sections to preloaded objects.
 */
#ifndef EXEC_ANSWER_H
#define EXEC_ANSWER_H

#include <stdbool.h>
#include <sys/types.h>

#include "exec_shared.h"

struct exec_attach;

/*
 * Create the socket, and fill in its name and the secrets in @setup. Returns the
 * descriptor, or -1 with errno.
 */
int exec_answer_open(struct exec_setup *setup);

/*
 * Answer one request with @files, or with a section from @attach, if there is a request;
 * does not wait. A request without the secret gets no answer. Returns whether there was a
 * request, and sets *@asker to the process ID of its sender, or to 0 if no files were
 * sent.
 */
bool exec_answer(int socket, const struct exec_setup *setup,
		 const int files[EXEC_NR_FILES], struct exec_attach *attach,
		 pid_t *asker);

#endif /* EXEC_ANSWER_H */
