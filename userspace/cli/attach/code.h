/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: generated code of processes of known runtimes (see runtimes.h), and of processes
 * that announce it to debuggers (see announced.h), and the sections that are attached to
 * it. This is the bookkeeping; readers look at processes and attach,
 * see reader_code.c, and jobs ask them.
 *
 * A process is entered when it maps a runtime's file or is forked from one that is
 * entered. A reader then looks at its mappings; again, after a pause, when it has made
 * more memory executable, or may have done so; and every CODE_RECHECK_NS. Each look
 * returns all ranges that have a section then. The ranges of a process that has ended, or
 * has become another program, are detached. One that can announce code, but has not, is
 * only remembered after two looks, until it changes: see quiet.h.
 *
 * Each process belongs to the user whose it is when it maps a runtime's file or a look at
 * it ends. What is reserved for a user, and for all, is bounded: see codes_begin_look().
 */
#ifndef ATTACH_CODE_H
#define ATTACH_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "reader_task.h"
#include "user.h"

/* Processes of one user, and of all. */
#define CODE_USER_MAX_PROCESSES	256U
#define CODE_MAX_PROCESSES	2048U

/*
 * Ranges of all processes, by their weights: one part in this many of what the kernel
 * lets one client attach; and those of one user: one part in this many of these. A range
 * has 64 KiB of kernel memory for each unit of its weight, so this limits the memory, too.
 */
#define CODE_SHARE		4U
#define CODE_USER_SHARE		4U

/*
 * Time from a change to the look at it, in which more changes may come; time between two
 * looks at a process, at least CODE_PAUSE times the CPU time of the last one, or
 * CODE_PAUSE_NEW times if that has found announced code, which may be freed soon, within
 * these limits; and time after which it is looked at without any change, normally and if
 * the last look was partial. The latter is doubled, up to the former, each time that the
 * look has brought nothing.
 */
#define CODE_SETTLE_NS		(10 * MS)
#define CODE_PAUSE		20
#define CODE_PAUSE_NEW		3
#define CODE_MIN_NS		(50 * MS)
#define CODE_MAX_NS		(5 * SECOND)
#define CODE_RECHECK_NS		(10 * SECOND)
#define CODE_PARTIAL_NS		SECOND

/* Time between two looks at all processes because of lost events. */
#define CODE_LOST_NS		SECOND

/* Time between two messages about limits. */
#define CODE_TELL_NS		SECOND

/* How long a process is new. See OWNER_NS in user.c. */
#define CODE_NEW_NS		(20 * MS)

/*
 * Time after which a process is found again that had no place: a pass has seen it then,
 * and does not examine it again for as long, see PASS_SEEN_NS.
 */
#define CODE_RETRY_NS		(10 * SECOND)

/* How long, at most, "ready" waits for the section of a runtime's own file. */
#define CODE_FIRST_NS		(60 * SECOND)

/**
 * struct code_process - one process
 *
 * @next: next process in the hash bucket.
 * @of_user, @of_user_before: neighbours in the list user->codes.
 * @pid: the process.
 * @user: who is charged for it.
 * @ranges, @nr: the ranges that have a section, by address.
 * @weight: sum of the weights of these ranges.
 * @nr_reserved: ranges counted for the user: @weight, and during a look those that the
 *	look may attach.
 * @nr_allowed: ranges that the last look was allowed to leave it with.
 * @nr_partial: partial looks in succession that have brought nothing.
 * @is_asked: a reader looks at it.
 * @is_changed: it has changed since the last look began.
 * @is_first: it existed at the start of the command, and was not attached to yet.
 * @announces: it can announce code, as far as is known.
 * @has_worker: a worker is reserved for the look at it.
 * @has_new: the last look has found announced code.
 * @is_quiet: the last look has found that nothing is announced, and there has been no change
 *	since.
 * @is_forked: nothing but its fork is known of it.
 * @is_removed: it has ended during the look, and is in no bucket.
 * @objects, @next_object: see struct reader_code.
 * @text: the runtime's own file, if that has code without .eh_frame; see struct
 *	reader_code.
 * @entered_at: when it was entered.
 * @first_until: until when it counts as @is_first, at most.
 * @began_at: when the last look began.
 * @not_before: end of the pause after the last look.
 * @look_at: time of the next look.
 */
struct code_process {
	struct code_process *next;
	struct code_process *of_user;
	struct code_process **of_user_before;
	pid_t pid;
	struct user *user;
	struct reader_code_range *ranges;
	unsigned int nr;
	unsigned int weight;
	unsigned int nr_reserved;
	unsigned int nr_allowed;
	unsigned int nr_partial;
	bool is_asked;
	bool is_changed;
	bool is_first;
	bool announces;
	bool has_worker;
	bool has_new;
	bool is_quiet;
	bool is_forked;
	bool is_removed;
	struct reader_code_text text;
	struct reader_code_objects objects;
	uint64_t next_object;
	uint64_t entered_at;
	uint64_t first_until;
	uint64_t began_at;
	uint64_t not_before;
	uint64_t look_at;
};

struct codes;

/**
 * struct code_fns - what the bookkeeping needs of others
 *
 * @detach: detach a section.
 * @text_is_done: returns whether the file @text has a section, so that a rule for the
 *	rest of it can be attached; sets *@is_coming if it may get one soon.
 * @tell_limit: called once for each user and limit that is reached, but not more often
 *	than every CODE_TELL_NS: @what is a constant string.
 * @data: argument of all.
 */
struct code_fns {
	void (*detach)(void *data, uint64_t id);
	bool (*text_is_done)(void *data, const struct reader_code_text *text,
			     bool *is_coming);
	void (*tell_limit)(void *data, const char *what, pid_t pid);
	void *data;
};

/*
 * @max_attached: the kernel's limit. @follows: look at announced code, too. @has_events:
 * codes_change() and codes_enter() are called when a process changes, not only now and
 * then. Returns NULL without memory.
 */
struct codes *codes_create(const struct code_fns *fns, uint32_t max_attached,
			   bool follows, bool has_events);

/* Does not detach anything. */
void codes_free(struct codes *codes);

/*
 * Enter @pid, a process of @user, if it is not; it has mapped a runtime's file. Else note
 * that it has changed. If it is entered as a process of another user, that one is
 * forgotten.
 */
void codes_enter(struct codes *codes, struct user *user, pid_t pid,
		 bool is_first);

/* The same for @child, a new process that was forked from one of @user. */
void codes_fork(struct codes *codes, struct user *user, pid_t child);

/*
 * Returns whether the process is entered, or is quiet and has had no place until now; then
 * note that it has changed.
 */
bool codes_change(struct codes *codes, pid_t pid);

/* Returns whether the process is entered; sets *@nr to its ranges, if @nr is not NULL. */
bool codes_has(const struct codes *codes, pid_t pid, unsigned int *nr);

/* The user of whom the process is entered, or quiet; NULL if it is not. */
struct user *codes_user(const struct codes *codes, pid_t pid);

/*
 * Returns whether the process was entered so short a time ago that no other can have got
 * its number meanwhile, or nothing but its fork is known of it.
 */
bool codes_is_new(const struct codes *codes, pid_t pid);

/* The process has ended: detach its ranges. */
void codes_remove(struct codes *codes, pid_t pid);

/*
 * Ranges that a look without a reply may have attached count for its user until all
 * attachments have been listed after the user's killed readers had ended. Call the one
 * when a listing begins, and the other when the strays in it have been detached.
 */
void codes_begin_listing(struct users *users);
void codes_end_listing(struct codes *codes, struct users *users);

/*
 * Begin a look at the process of @user that is due, if there is one: fills in the request
 * to a reader. codes_end_look() must follow. Returns the process, or NULL.
 *
 * The look may use one half of the ranges that are left to all users, so that some are
 * always left for the next one, but not more than are left to this user. A process may
 * keep what it has, unless looks at the user's processes were lost.
 *
 * While a worker is reserved for such a look of the user, other processes that can announce
 * code wait.
 */
struct code_process *codes_begin_look(struct codes *codes, struct user *user,
				      uint64_t now,
				      struct reader_request *request);

/*
 * Take the result of a look: @reply, with the ranges at @entries, @size bytes; @reply is
 * NULL if there is none. @process is not valid afterwards.
 */
void codes_end_look(struct codes *codes, struct code_process *process,
		    const struct reader_reply *reply,
		    const unsigned char *entries, size_t size);

/* Instead of codes_end_look() if no reader was asked: nothing can have been attached. */
void codes_cancel_look(struct codes *codes, struct code_process *process);

/* Note that events were lost: any process may have changed. */
void codes_lose_events(struct codes *codes);

/*
 * Periodic work: look again at processes whose file has got, or lost, its section, and at
 * all after lost events; and have those found again that had no place.
 */
void codes_check(struct codes *codes, struct users *users, uint64_t now);

/* Time after @now of the next look at a process of a user who is served. */
uint64_t codes_next(struct users *users, uint64_t now);

/* Number of ranges, for which @fn is called with their ids, if it is not NULL. */
unsigned int codes_for_each(const struct codes *codes,
			    void (*fn)(void *data, uint64_t id), void *data);

/* Number of processes with at least one range. */
unsigned int codes_processes(const struct codes *codes);

#endif /* ATTACH_CODE_H */
