/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run the daemon, "sframe-unwind attach", while a command needs SFrame data for
 * code that has none.
 */
#ifndef CLI_PROFILE_ATTACHING_H
#define CLI_PROFILE_ATTACHING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct attaching_pids - processes
 *
 * @list: their numbers.
 * @nr: number of those.
 * @room: room for those.
 */
struct attaching_pids {
	pid_t *list;
	uint32_t nr;
	uint32_t room;
};

/*
 * Start it for the processes @pids, or if that is NULL for all. @command: for messages.
 * Returns its process, and in *@ready a file for attaching_wait(); or -1 after a message.
 */
pid_t attaching_begin(const char *command, const struct attaching_pids *pids,
		      int *ready);

/*
 * Wait until it has attached what the processes have mapped, or has ended, or
 * *@is_interrupted; two minutes at most. If @is_quiet, no message says that it waits. Closes
 * @ready.
 */
void attaching_wait(const char *command, int ready, bool is_quiet,
		    const volatile sig_atomic_t *is_interrupted);

/* Both: start it, and wait. */
pid_t attaching_start(const char *command, const struct attaching_pids *pids,
		      bool is_quiet,
		      const volatile sig_atomic_t *is_interrupted);

/*
 * The same for all processes; *@code is set to a socket where it tells announced code that it
 * has attached to, see cli/attach/told.h.
 */
pid_t attaching_start_telling(const char *command, int *code, bool is_quiet,
			      const volatile sig_atomic_t *is_interrupted);

/*
 * End it, which detaches everything; kill it if that takes more than 5 seconds. 0 and -1 do
 * nothing.
 */
void attaching_end(pid_t pid);

#endif /* CLI_PROFILE_ATTACHING_H */
