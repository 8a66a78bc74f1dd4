// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach_job_scene.h"
#include "attach_world.h"
#include "userspace/cli/attach/closer.h"
#include "userspace/cli/attach/worker.h"

struct jobs jobs;
static struct report report;
static uint64_t maps_ns;

const struct file *mapped[NR_PROCESSES];

/* --- in place of readers */

struct asked asked[NR_ASKED];
unsigned int nr_asked;
bool is_without_readers;
struct reader_request last;
unsigned int looks[NR_PROCESSES];

bool readers_has_room(const struct readers *readers, const struct user *user)
{
	(void)readers;
	(void)user;
	return nr_asked < NR_ASKED;
}

int readers_ask(struct readers *readers, struct user *user, void *question,
		const struct reader_request *request, const int fds[2])
{
	(void)readers;
	(void)fds;
	if (is_without_readers)
		return -EAGAIN;
	asked[nr_asked].question = question;
	asked[nr_asked].user = user;
	asked[nr_asked++].request = *request;
	looks[request->mapping.pid]++;
	if (request->mapping.pid == VICTIM)
		last = *request;
	return 0;
}

void mapping_set_name(struct mapping *mapping, const char *name)
{
	snprintf(mapping->name, sizeof(mapping->name), "%s", name);
}

/* --- in place of children, and of what the command prints */

void closer_close(int fd, uid_t user)
{
	(void)user;
	if (fd >= 0)
		close(fd);
}

char refusal[64];

void report_file(struct report *to, const char *name, enum file_state state,
		 const char *text)
{
	(void)to;
	(void)name;
	if (state == FILE_REFUSED)
		snprintf(refusal, sizeof(refusal), "%s", text);
}

void report_refused(struct report *to, const char *name, const char *reason)
{
	(void)to;
	(void)name;
	(void)reason;
}

void report_limit(struct report *to, const char *what, pid_t pid)
{
	(void)to;
	(void)what;
	(void)pid;
}

int complain(const char *format, ...)
{
	(void)format;
	return 0;
}

/* A worker that has converted everything at once. */
unsigned int nr_snapshots;
static bool has_ended;

int worker_start_many(struct worker **worker, const int *snapshots,
		      unsigned int nr, const struct worker_limits *limits)
{
	(void)snapshots;
	(void)limits;
	*worker = (struct worker *)&nr_snapshots;
	nr_snapshots = nr;
	has_ended = true;
	return 0;
}

int worker_finish(struct worker *worker, struct worker_end *end)
{
	(void)worker;
	if (!has_ended)
		return -EAGAIN;
	has_ended = false;
	*end = (struct worker_end) {
		.result_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
	};
	return 0;
}

void worker_kill(struct worker *worker)
{
	(void)worker;
}

int worker_fd(const struct worker *worker)
{
	(void)worker;
	return -1;
}

uint64_t worker_deadline(const struct worker *worker)
{
	(void)worker;
	return 0;
}

const char *worker_weakness(int result_fd)
{
	(void)result_fd;
	return NULL;
}

/* --- the scene */

static void detach(void *data, uint64_t id)
{
	(void)data;
	(void)id;
}

void scene_begin(void)
{
	scene_end();
	world_begin();
	for (pid_t pid = ROOT; pid <= OTHER; pid++)
		world_add(pid, pid == ROOT ? 0 : 100 * pid);
	memset(mapped, 0, sizeof(mapped));
	memset(looks, 0, sizeof(looks));
	nr_asked = 0;
	refusal[0] = '\0';
	jobs = (struct jobs) {
		.users = users_create(NULL),
		.known = known_files_create(detach, NULL),
		.report = &report,
		.maps_ns = &maps_ns,
	};
	jobs_init(&jobs);
}

void map(pid_t pid, uint64_t inode)
{
	struct mapping mapping = world_mapping(inode);

	mapping.pid = pid;
	mapping.key.device = DEVICE;
	mapping.generation = GENERATION;
	jobs_add_mapping(&jobs, &mapping, NULL, false);
	jobs_schedule(&jobs);
}

/* A file that is no program. */
static void answer(void *question, struct user *user,
		   const struct reader_request *request)
{
	const struct file *file = mapped[request->mapping.pid];
	struct reader_reply reply = { .is_last = true };
	const int no_fds[2] = { -1, -1 };

	if (!file) {
		reply.stage = READER_FIND;
		reply.error = -ENOENT;
	} else {
		reply.file.is_found = true;
		reply.file.is_trusted = file->is_trusted;
		reply.file.elf_status = -EINVAL;
		reply.file.known = (struct reader_known) {
			.is_set = true,
			.device = file->device,
			.inode = file->inode,
			.size = file->size,
		};
		reply.file.is_known =
			!memcmp(&request->known, &reply.file.known,
				sizeof(request->known));
	}
	jobs_told(&jobs, question, user, &reply, NULL, 0, no_fds);
}

void read_all(void)
{
	while (nr_asked) {
		const unsigned int i = --nr_asked;

		answer(asked[i].question, asked[i].user, &asked[i].request);
		jobs_schedule(&jobs);
	}
}

void map_and_read(pid_t pid, uint64_t inode)
{
	map(pid, inode);
	read_all();
}

void pass_time(uint64_t ns)
{
	world.now += ns;
	jobs_recheck(&jobs, world.now);
	jobs_schedule(&jobs);
	read_all();
}

void storm(uint64_t ns)
{
	const uint64_t end = world.now + ns;

	while (world.now < end) {
		world.now += 2 * MS;
		map_and_read(ATTACKER, 42);
		if (world.now / (2 * MS) % 250 == 0)
			pass_time(0);
	}
}

struct known *known_of(const struct file *file)
{
	return known_find_inode(jobs.known, file->device, file->inode);
}

void scene_end(void)
{
	jobs_end(&jobs);
	codes_free(jobs.codes);
	users_free(jobs.users);
	known_files_free(jobs.known);
}
