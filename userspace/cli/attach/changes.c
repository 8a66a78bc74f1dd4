// SPDX-License-Identifier: GPL-2.0
/*
 * Changes: what events tell of processes.
 */
#include "changes.h"

static void on_mapping(void *data, const struct mapping *mapping)
{
	struct changes *changes = data;

	if (!watch_has(changes->watch, mapping->pid))
		return;
	jobs_add_mapping(changes->jobs, mapping, NULL, false);
	jobs_note_mapping(changes->jobs, mapping->pid, mapping->name);
}

static void on_memory(void *data, pid_t pid)
{
	struct changes *changes = data;

	if (watch_has(changes->watch, pid))
		jobs_note_mapping(changes->jobs, pid, NULL);
}

/*
 * Watch the children of watched processes. Mappings of a child may have been handled
 * before its fork, from another CPU's ring, so queue it as a whole.
 */
static void on_fork(void *data, pid_t child, pid_t parent)
{
	struct changes *changes = data;

	if (!watch_has(changes->watch, parent))
		return;
	jobs_note_fork(changes->jobs, child, parent);
	if (watch_has(changes->watch, child) || watch_add(changes->watch, child))
		return;
	user_add_process(users_of_process(changes->jobs->users, child), child, 0,
			 false);
}

/*
 * The process may not be watched any more: its pidfd can have told before. Nothing else
 * forgets what is known of one that is not looked at.
 */
static void on_end(void *data, pid_t pid)
{
	struct changes *changes = data;

	jobs_note_exit(changes->jobs, pid);
}

/* Its mappings are told, too, unless they were lost. */
static void on_exec(void *data, pid_t pid)
{
	struct changes *changes = data;

	pass_note_exec(changes->pass, pid);
}

const struct event_fns changes_fns = {
	.mapping = on_mapping,
	.memory = on_memory,
	.fork = on_fork,
	.exit = on_end,
	.exec = on_exec,
};
