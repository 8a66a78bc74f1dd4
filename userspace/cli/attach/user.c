// SPDX-License-Identifier: GPL-2.0
/*
 * User: pending work on behalf of each user, and a budget of CPU time for it.
 */
#include <stdlib.h>

#include "child.h"
#include "closer.h"
#include "process.h"
#include "subuid.h"
#include "user.h"

#define NR_BUCKETS 64

/* Longest time for which a user is blocked. */
#define MAX_BLOCKED_NS (60 * SECOND)

/*
 * Cache of the users of processes: entries, and how long they are valid. A process maps
 * its first files within that time, but not even a machine that only creates processes
 * uses up all their numbers in it.
 */
#define NR_OWNERS	1024
#define OWNER_NS	(20 * MS)

struct owner {
	pid_t pid;
	uid_t uid;
	uint64_t seen_at;
};

/**
 * struct users
 *
 * @turn: the user who was served last.
 * @others: stands for users that did not fit into the table, or into memory.
 * @nr: number of users, @others included.
 * @nr_files: files in all queues.
 * @common: only its credit is used: that for trusted files.
 * @owners: cache of the users of processes, by process ID.
 * @subuids: the system's subordinate user IDs.
 */
struct users {
	struct user *buckets[NR_BUCKETS];
	struct user *turn;
	struct user others;
	unsigned int nr;
	unsigned int nr_files;
	struct user common;
	struct owner owners[NR_OWNERS];
	struct subuids *subuids;
};

/* Root can do anything anyway, so it has as much credit as trusted files have. */
static int64_t burst_of(const struct user *user)
{
	return user->uid ? USER_BURST_NS : USERS_BURST_NS;
}

/* --- the table */

static void begin(struct users *users, struct user *user, uid_t uid)
{
	user->uid = uid;
	user->credit_ns = burst_of(user);
	user->credited_at = now_ns();
	if (users->turn) {
		user->turn_next = users->turn->turn_next;
		users->turn->turn_next = user;
	} else {
		user->turn_next = user;
		users->turn = user;
	}
	users->nr++;
}

struct users *users_create(const char *subuid_path)
{
	struct users *users = calloc(1, sizeof(*users));

	if (!users)
		return NULL;
	users->subuids = subuids_create(subuid_path);
	if (!users->subuids) {
		free(users);
		return NULL;
	}
	begin(users, &users->others, USER_OTHERS);
	users->common.credit_ns = USERS_BURST_NS;
	users->common.credited_at = now_ns();
	return users;
}

static void free_queues(struct user *user)
{
	while (user->files) {
		struct queued_file *file = user->files;

		user->files = file->next;
		free(file);
	}
	free(user->processes);
	recents_free(&user->recents);
}

void users_free(struct users *users)
{
	if (!users)
		return;
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		while (users->buckets[i]) {
			struct user *user = users->buckets[i];

			users->buckets[i] = user->next;
			free_queues(user);
			free(user);
		}
	}
	free_queues(&users->others);
	subuids_free(users->subuids);
	free(users);
}

struct user *users_get(struct users *users, uid_t uid)
{
	struct user **bucket, *user;

	if (uid < USER_OTHERS)
		uid = subuids_first(users->subuids, uid);
	bucket = &users->buckets[uid % NR_BUCKETS];
	user = *bucket;
	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	if (users->nr >= USERS_MAX)
		return &users->others;
	user = calloc(1, sizeof(*user));
	if (!user)
		return &users->others;
	begin(users, user, uid);
	user->next = *bucket;
	*bucket = user;
	return user;
}

struct user *users_of_process(struct users *users, pid_t pid)
{
	struct owner *owner = &users->owners[pid % NR_OWNERS];
	const uint64_t now = now_ns();
	struct process process;
	struct user *user;
	uint64_t before;

	if (owner->pid == pid && now < owner->seen_at + OWNER_NS)
		return users_get(users, owner->uid);
	before = cpu_ns();
	if (process_read(pid, &process)) {
		user = users_get(users, USER_UNKNOWN);
	} else {
		*owner = (struct owner) {
			.pid = pid,
			.uid = process.uid,
			.seen_at = now,
		};
		user = users_get(users, process.uid);
	}
	user_charge(user, cpu_ns() - before);
	return user;
}

/* Refill the credit for the time since the last refill, up to @burst. */
static void raise_credit(struct user *user, uint64_t now, int64_t burst)
{
	if (now <= user->credited_at)
		return;
	user->credit_ns += (now - user->credited_at) / USER_SHARE;
	if (user->credit_ns > burst)
		user->credit_ns = burst;
	user->credited_at = now;
}

static void credit(struct user *user, uint64_t now)
{
	raise_credit(user, now, burst_of(user));
}

static bool is_idle(struct user *user, uint64_t now)
{
	credit(user, now);
	return !user->nr_files && !user->nr_processes && !user->nr_reading &&
	       !user->nr_jobs && !user->nr_codes && !user->nr_quiet &&
	       !user->nr_code_ranges &&
	       !user->misses_codes && !user->is_missed && !user->again_at &&
	       !user->is_looked_at &&
	       !user->recents.nr_rechecks &&
	       now >= user->blocked_until + MAX_BLOCKED_NS &&
	       user->credit_ns == burst_of(user);
}

static void leave_circle(struct users *users, struct user *user)
{
	struct user *before = user;

	while (before->turn_next != user)
		before = before->turn_next;
	before->turn_next = user->turn_next;
	if (users->turn == user)
		users->turn = before;
	users->nr--;
}

void users_forget_idle(struct users *users, uint64_t now)
{
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		struct user **link = &users->buckets[i];

		while (*link) {
			struct user *user = *link;

			user->nr_left = children_left_of_all() ?
						children_left(user->uid) : 0;
			if (!is_idle(user, now)) {
				link = &user->next;
				continue;
			}
			*link = user->next;
			leave_circle(users, user);
			free_queues(user);
			free(user);
		}
	}
}

struct user *users_next(struct users *users, const struct user *last)
{
	struct user *next = last ? last->turn_next : users->turn->turn_next;

	return last == users->turn ? NULL : next;
}

void users_set_turn(struct users *users, struct user *user)
{
	users->turn = user;
}

/* --- credit */

void user_charge(struct user *user, uint64_t ns)
{
	user->credit_ns -= ns;
	if (user->credit_ns <= 0)
		user->is_paused = true;
}

void users_charge(struct users *users, uint64_t ns)
{
	users->common.credit_ns -= ns;
}

bool users_have_credit(struct users *users)
{
	raise_credit(&users->common, now_ns(), USERS_BURST_NS);
	return users->common.credit_ns > 0;
}

bool user_is_served(struct user *user, uint64_t now)
{
	credit(user, now);
	if (user->credit_ns >= USER_RESUME_NS)
		user->is_paused = false;
	return !user->is_paused && now >= user->blocked_until &&
	       user->nr_left < CHILDREN_MAX_LEFT &&
	       closers_have_room(user->uid);
}

bool user_is_modest(const struct user *user)
{
	return user->credit_ns > burst_of(user) / 2;
}

void user_block(struct user *user, uint64_t now)
{
	uint64_t time = SECOND << (user->nr_blocked < 6 ? user->nr_blocked : 6);

	/* Start over if the last block ended long enough ago. */
	if (user->nr_blocked && now > user->blocked_until + MAX_BLOCKED_NS) {
		user->nr_blocked = 0;
		time = SECOND;
	}
	user->nr_blocked++;
	user->blocked_until = now + (time < MAX_BLOCKED_NS ? time :
							     MAX_BLOCKED_NS);
	user->is_missed = true;
}

/* --- queues */

void user_add_file(struct users *users, struct user *user,
		   const struct mapping *mapping, bool is_first)
{
	struct queued_file *file;

	for (file = user->files; file; file = file->next) {
		if (!is_same_file(&file->mapping, mapping))
			continue;
		/* The newer mapping is likely to exist longer. */
		file->mapping.pid = mapping->pid;
		file->mapping.start = mapping->start;
		file->mapping.end = mapping->end;
		return;
	}
	if (user->nr_files < USER_MAX_FILES &&
	    users->nr_files < USERS_MAX_FILES)
		file = malloc(sizeof(*file));
	if (!file) {
		user->is_missed = true;
		return;
	}
	file->mapping = *mapping;
	file->is_first = is_first;
	file->next = NULL;
	if (user->files)
		user->last_file->next = file;
	else
		user->files = file;
	user->last_file = file;
	user->nr_files++;
	user->nr_first += is_first;
	users->nr_files++;
}

struct queued_file *user_take_file(struct users *users, struct user *user)
{
	struct queued_file *file = user->files;

	if (!file)
		return NULL;
	user->files = file->next;
	user->nr_files--;
	user->nr_first -= file->is_first;
	users->nr_files--;
	return file;
}

static bool grow_processes(struct user *user)
{
	const unsigned int max = user->max_processes ?
				 2 * user->max_processes : 64;
	struct queued_process *processes;

	if (max > USER_MAX_PROCESSES)
		return false;
	processes = calloc(max, sizeof(*processes));
	if (!processes)
		return false;
	for (unsigned int i = 0; i < user->nr_processes; i++)
		processes[i] = user->processes[(user->first_process + i) %
					       user->max_processes];
	free(user->processes);
	user->processes = processes;
	user->first_process = 0;
	user->max_processes = max;
	return true;
}

bool user_add_process(struct user *user, pid_t pid, uint64_t from,
		      bool is_first)
{
	if (user->nr_processes == user->max_processes &&
	    !grow_processes(user)) {
		user->is_missed = true;
		return false;
	}
	user->processes[(user->first_process + user->nr_processes++) %
			user->max_processes] = (struct queued_process) {
		.pid = pid,
		.is_first = is_first,
		.from = from,
	};
	user->nr_first += is_first;
	return true;
}

bool user_take_process(struct user *user, struct queued_process *process)
{
	if (!user->nr_processes)
		return false;
	*process = user->processes[user->first_process];
	user->first_process = (user->first_process + 1) % user->max_processes;
	user->nr_processes--;
	user->nr_first -= process->is_first;
	return true;
}

bool users_any_first(struct users *users, uint64_t now)
{
	struct user *user = NULL;

	while ((user = users_next(users, user)))
		if (user->nr_first && user_is_served(user, now))
			return true;
	return false;
}

bool user_is_to_look_at(const struct user *user, uint64_t now)
{
	return user->is_missed || (user->again_at && now >= user->again_at);
}

bool users_any_missed(struct users *users, uint64_t now)
{
	struct user *user = NULL;

	while ((user = users_next(users, user)))
		if (user_is_to_look_at(user, now) && user_is_served(user, now))
			return true;
	return false;
}
