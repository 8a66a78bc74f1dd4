/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes: what events tell of processes, noted for the jobs. Those of one CPU are told in
 * their order, those of several are not: a child can map a file, or end, before its fork is
 * told.
 */
#ifndef ATTACH_CHANGES_H
#define ATTACH_CHANGES_H

#include "events.h"
#include "job.h"
#include "pass.h"
#include "watch.h"

/**
 * struct changes - data of changes_fns
 *
 * @watch: the processes that are served; gets their children.
 * @jobs: get what these change.
 * @pass: gets those that execute programs.
 */
struct changes {
	struct watch *watch;
	struct jobs *jobs;
	struct pass *pass;
};

extern const struct event_fns changes_fns;

#endif /* ATTACH_CHANGES_H */
