/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attach sections, converted from call frame information, to the files that observed
 * programs have mapped: for each program alone, which needs no privilege.
 *
 * The section for a file is converted when a stack ends in the file, or before that for
 * the files of the command that is run. It is attached by the preloaded object, in the
 * program, when a stack of the program has ended there.
 */
#ifndef EXEC_ATTACH_H
#define EXEC_ATTACH_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "exec_shared.h"

struct exec_attach;
struct sframe_unwind;
struct sframe_unwind_stack;

/*
 * Returns NULL if out of memory. If not @is_on, nothing is converted or attached, but
 * exec_attach_judge() says what is missing.
 */
struct exec_attach *exec_attach_create(struct sframe_unwind *handle,
				       struct exec_page *page, bool is_on);
void exec_attach_free(struct exec_attach *attach);

/*
 * To be called when the program @pid has started. With @ahead, the files that it has
 * mapped are converted now.
 */
void exec_attach_begin(struct exec_attach *attach, pid_t pid, bool ahead);

/**
 * enum exec_verdict - what to do with a stack
 *
 * @EXEC_PRINT: print it.
 * @EXEC_HOLD: a conversion may help: judge it again when one has ended.
 * @EXEC_RETRY: let the program request it again, after it has attached what is offered.
 * @EXEC_RETRY_LATER: as EXEC_RETRY, after a short time.
 */
enum exec_verdict { EXEC_PRINT, EXEC_HOLD, EXEC_RETRY, EXEC_RETRY_LATER };

/*
 * Judge @stack. *@missing is set to a line, valid until the next call, that says what is
 * missing if the stack is printed as it is; or to NULL. Not escaped.
 */
enum exec_verdict exec_attach_judge(struct exec_attach *attach,
				    const struct sframe_unwind_stack *stack,
				    const char **missing);

/*
 * Answer a question by process @asker, which attaches for its parent: note @report, and
 * get the next section and its files, -1 if there is none.
 */
void exec_attach_answer(struct exec_attach *attach, pid_t asker,
			const struct exec_report *report,
			struct exec_section *section,
			int files[EXEC_NR_SECTION_FILES]);

/* Conversions that run at the same time, at most. */
#define EXEC_MAX_CONVERSIONS 4

/* Fill @files with what to wait for. */
void exec_attach_poll(const struct exec_attach *attach,
		      struct pollfd files[EXEC_MAX_CONVERSIONS]);

/* Handle the conversions that have ended. Returns whether there was one. */
bool exec_attach_run(struct exec_attach *attach,
		     const struct pollfd files[EXEC_MAX_CONVERSIONS]);

#endif /* EXEC_ATTACH_H */
