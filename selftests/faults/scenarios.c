// SPDX-License-Identifier: GPL-2.0
/* What users of the module do. */
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../module/test_timer.h"
#include "scenario.h"

static int result(long ret)
{
	return ret < 0 ? errno : 0;
}

/*
 * Take all records there are. Returns how many were of @type. What fails in a
 * scenario may be one of these reads; the next one does not.
 */
static int drain(int fd, int type)
{
	static char buffer[65536] __attribute__((aligned(8)));
	struct sframe_unwind_record *record;
	ssize_t got, at;
	int nr = 0;

	do {
		got = read(fd, buffer, sizeof(buffer));
		for (at = 0; at < got; at += record->size) {
			record = (void *)(buffer + at);
			nr += record->type == type;
		}
	} while (got > 0 || errno != EAGAIN);
	return nr;
}

/* Read the stack that has been requested by call_request_code(). */
static int read_caller(struct world *world)
{
	const struct stack *stack = &world->stack;
	int err = 0;

	errno = 0;
	if (read_stack(world->fd, &world->stack)) {
		/* A read that fails takes nothing. */
		err = errno == EAGAIN || !errno ? EPROTO : errno;
		if (drain(world->fd, SFRAME_UNWIND_RECORD_STACK) != 1)
			err = EPROTO;
		return err;
	}
	if (stack->head.nr_frames > 1 &&
	    stack->ips[1] - (uintptr_t)call_request_code < 128)
		return 0;
	return LESS;
}

static int request_at(struct world *world, const void *code)
{
	struct sframe_unwind_request req = request_self();
	long ret = call_request_code(code, world->fd, &req);

	return ret ? -ret : read_caller(world);
}

/* Opening, and asking. */

static int run_open(struct world *world)
{
	world->other = open_client(0);
	return result(world->other);
}

static void undo_open(struct world *world)
{
	close(world->other);
}

static int run_query(struct world *world)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };

	return result(query(world->fd, &q));
}

static int run_query_newer(struct world *world)
{
	struct {
		struct sframe_unwind_query query;
		char more[64];
	} newer = { .query.size = sizeof(newer) };

	return result(query(world->fd, &newer.query));
}

static int run_counters(struct world *world)
{
	char text[64];
	int fd = open("/sys/kernel/debug/sframe_unwind/counters", O_RDONLY);
	int err = result(fd < 0 ? fd : read(fd, text, sizeof(text)));

	close(fd);
	return err;
}

/* Registering. */

static int run_register(struct world *world)
{
	world->fake.reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
	return result(register_section(world->fd, &world->fake.reg));
}

static void undo_register(struct world *world)
{
	unregister_id(world->fd, world->fake.reg.id);
}

static bool setup_registered(struct world *world)
{
	return !run_register(world);
}

/* The errno stays the same, whatever becomes of the message. */
static int run_refused(struct world *world)
{
	world->fake.section[2] = 2;
	world->fake.reg.message = (uintptr_t)world->message;
	world->fake.reg.message_size = sizeof(world->message);
	if (!register_section(world->fd, &world->fake.reg))
		return EPROTO;
	return errno == EOPNOTSUPP ? 0 : errno;
}

/* A child that shares what there is, until the end. */
static bool fork_sharer(struct world *world)
{
	world->child = fork();
	if (!world->child) {
		pause();
		_exit(0);
	}
	return world->child > 0;
}

static bool setup_shared(struct world *world)
{
	return setup_registered(world) && fork_sharer(world);
}

static int run_unregister(struct world *world)
{
	return result(unregister_id(world->fd, world->fake.reg.id));
}

static void undo_unregister(struct world *world)
{
	run_register(world);
}

static int batch(struct world *world, unsigned int cmd)
{
	struct sframe_unwind_batch arg = {
		.size = sizeof(arg),
		.entries = (uintptr_t)world->entries,
		.nr = NR_BATCH,
	};
	unsigned int i;

	if (ioctl(world->fd, cmd, &arg))
		return errno;
	for (i = 0; i < NR_BATCH; i++) {
		if (world->entries[i].error)
			return world->entries[i].error;
	}
	return arg.nr == NR_BATCH && !arg.nr_failed ? 0 : EPROTO;
}

/* All that have the section; what is left of them, if not all went before. */
static int unregister_all(struct world *world)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = world->fake.reg.sframe_start,
	};

	if (unregister_section(world->fd, &unreg)) {
		world->nr_left = 0;
		return errno;
	}
	return unreg.removed == world->nr_left || !world->nr_left ? 0 : EPROTO;
}

/* Those that are there after it failed are as documented; who knows which, cleans up. */
static int run_batch(struct world *world)
{
	unsigned int i;
	int err;

	for (i = 0; i < NR_BATCH; i++) {
		world->entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = world->fake.reg.sframe_start,
			.sframe_size = world->fake.reg.sframe_size,
			/* From the middle on to both sides: nodes are split. */
			.text_start = world->fake.reg.text_start + 1000 +
				      (i % 2 ? (long)i : -(long)i),
			.text_size = 1,
		};
	}
	err = batch(world, SFRAME_UNWIND_IOC_REGISTER_BATCH);
	world->nr_left = err ? 0 : NR_BATCH;
	if (err)
		unregister_all(world);
	return err;
}

static void undo_batch(struct world *world)
{
	unregister_all(world);
}

static bool setup_batch(struct world *world)
{
	return !run_batch(world) && fork_sharer(world);
}

static int run_unregister_all(struct world *world)
{
	return unregister_all(world);
}

static void undo_unregister_all(struct world *world)
{
	run_batch(world);
}

static int run_unregister_batch(struct world *world)
{
	unsigned int i;
	int err;

	/* By their ids. */
	for (i = 0; i < NR_BATCH; i++)
		world->entries[i].sframe_start = 0;
	err = batch(world, SFRAME_UNWIND_IOC_UNREGISTER_BATCH);
	world->nr_left = 0;
	if (err) {
		unregister_all(world);
		run_batch(world);
	}
	return err;
}

/* Walks. */

static int run_request(struct world *world)
{
	return request_at(world, world->fake.text);
}

/* A rule of a signal frame; its code is looked at, too. */
static bool setup_signal(struct world *world)
{
	world->fake.section[FAKE_INFO] |= 0x80;
	return setup_registered(world);
}

static bool setup_waiting(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	return setup_registered(world) &&
	       !call_request_code(world->fake.text, world->fd, &req);
}

/* If it fails, the record is there yet. */
static int run_read(struct world *world)
{
	static char buffer[65536];

	return result(read(world->fd, buffer, sizeof(buffer)));
}

static void undo_read(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	call_request_code(world->fake.text, world->fd, &req);
}

/* Records that are large, so that it takes few to get around the ring. */
static __attribute__((noinline)) long request_deep(struct world *world,
						   unsigned int depth)
{
	struct sframe_unwind_request req = request_self();
	long ret;

	ret = depth ? request_deep(world, depth - 1) :
		      call_request_code(world->fake.text, world->fd, &req);
	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

/* The record that waits begins at the ring's end, and ends at its beginning. */
static bool setup_wrapped(struct world *world)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	unsigned int position = 0;

	if (!setup_registered(world) || query(world->fd, &q))
		return false;
	for (;;) {
		if (request_deep(world, 100))
			return false;
		if (position && position + world->stack.head.record.size > q.ring_size)
			return true;
		if (read_stack(world->fd, &world->stack))
			return false;
		position += world->stack.head.record.size;
	}
}

static bool setup_stack_switch(struct world *world)
{
	return make_stack_switch(world) && setup_registered(world);
}

/* A return address in the vDSO. */
static int run_vdso(struct world *world)
{
	Elf64_Ehdr *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t *sp = (void *)(world->pages + PAGE - 64);
	int err;

	*sp = (uintptr_t)vdso + vdso->e_entry + 0x600;
	err = -call_on_stack(world, sp);
	if (err)
		return err;
	err = read_caller(world);
	return err == LESS && world->stack.head.nr_frames > 1 ? 0 : err;
}

static void *sleep_in_read(void *data)
{
	struct world *world = data;
	char byte;

	__atomic_store_n(&world->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return (void *)read(world->pipe[0], &byte, 1);
}

static bool setup_thread(struct world *world)
{
	if (pipe(world->pipe) ||
	    pthread_create(&world->thread, NULL, sleep_in_read, world))
		return false;
	while (!__atomic_load_n(&world->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	return true;
}

static int run_request_thread(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	struct pollfd pfd = { .fd = world->fd, .events = POLLIN };
	int err;

	req.tid = world->tid;
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	if (request(world->fd, &req))
		return errno;
	if (poll(&pfd, 1, 60000) != 1)
		return ETIMEDOUT;
	err = read_caller(world);
	return err == LESS ? 0 : err;
}

/* Is the thread asleep? */
static bool is_asleep(pid_t tid)
{
	char path[64], line[256] = "";
	FILE *file;
	bool asleep;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	asleep = file && fgets(line, sizeof(line), file) &&
		 strstr(line, ") S ");
	if (file)
		fclose(file);
	return asleep;
}

/* Wakes the reader by a stack, of this thread. */
static void *wake_reader(void *data)
{
	struct world *world = data;
	struct sframe_unwind_request req = request_self();

	while (!is_asleep(getpid()))
		sched_yield();
	/* What fails may be this; the second time it does not. */
	return request(world->other, &req) && request(world->other, &req) ?
		       data : NULL;
}

static bool setup_reader(struct world *world)
{
	world->other = open_client(0);
	return world->other >= 0;
}

static int run_read_asleep(struct world *world)
{
	static char buffer[65536];
	void *failed;
	int err;

	if (pthread_create(&world->thread, NULL, wake_reader, world))
		return EPROTO;
	err = result(read(world->other, buffer, sizeof(buffer)));
	/* Asleep for good, if the read did not get there. */
	pthread_join(world->thread, &failed);
	if (err && !failed && read(world->other, buffer, sizeof(buffer)) < 0)
		return EPROTO;
	return err;
}

/* A page of the section that is to come. */
static bool take_page_away(struct world *world, unsigned char *copy)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.start = (uintptr_t)world->fake.section,
		.range.len = PAGE,
	};

	memcpy(copy, world->fake.section, PAGE);
	/* One that waits cannot be polled. */
	world->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return world->uffd >= 0 && !ioctl(world->uffd, UFFDIO_API, &api) &&
	       !ioctl(world->uffd, UFFDIO_REGISTER, &reg) &&
	       !madvise(world->fake.section, PAGE, MADV_DONTNEED);
}

static void *request_in_thread(void *data)
{
	struct world *world = data;
	struct sframe_unwind_request req = request_self();

	long ret = call_request_code(world->fake.text, world->fd, &req);

	__atomic_store_n(&world->done, true, __ATOMIC_RELEASE);
	return (void *)-ret;
}

/* A walk that waits for a page has the client's memory: another one begins. */
static int walk_meanwhile(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	struct pollfd pfd = { .fd = world->uffd, .events = POLLIN };

	/* If that has failed already, nothing waits. */
	while (!poll(&pfd, 1, 1)) {
		if (__atomic_load_n(&world->done, __ATOMIC_ACQUIRE))
			return LESS;
	}
	if (request(world->fd, &req))
		return errno;
	world->nr_left = 1;
	if (read_stack(world->fd, &world->stack))
		return errno;
	world->nr_left = 0;
	return world->stack.head.stop == SFRAME_UNWIND_STOP_NO_MEMORY ? LESS : 0;
}

static int run_two_walks(struct world *world)
{
	static unsigned char copy[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy back = {
		.dst = (uintptr_t)world->fake.section,
		.src = (uintptr_t)copy,
		.len = PAGE,
	};
	unsigned int nr;
	void *failed;
	int err;

	world->done = false;
	world->nr_left = 0;
	/* It is there yet if unregistering it has failed, and its rules are known. */
	undo_register(world);
	err = run_register(world);
	if (err)
		return err;
	if (!take_page_away(world, copy) ||
	    pthread_create(&world->thread, NULL, request_in_thread, world))
		return EPROTO;
	err = walk_meanwhile(world);
	if (ioctl(world->uffd, UFFDIO_COPY, &back))
		return EPROTO;
	pthread_join(world->thread, &failed);
	close(world->uffd);
	undo_register(world);
	nr = drain(world->fd, SFRAME_UNWIND_RECORD_STACK);
	if (failed)
		return nr != world->nr_left ? EPROTO : (long)failed;
	return nr == 1 + world->nr_left ? err : EPROTO;
}

/* Ends of sections. */

static bool setup_events(struct world *world)
{
	struct sframe_unwind_events events = {
		.size = sizeof(events),
		.flags = SFRAME_UNWIND_EVENTS_REMOVED,
	};

	return !ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, &events);
}

static int run_events(struct world *world)
{
	return setup_events(world) ? 0 : errno;
}

static void undo_events(struct world *world)
{
	struct sframe_unwind_events events = { .size = sizeof(events) };

	ioctl(world->fd, SFRAME_UNWIND_IOC_EVENTS, &events);
}

/* Whatever is in the way of a walk, its record comes; if it can be, that of the removal. */
static int run_until_removed(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	int err = result(register_section(world->fd, &world->fake.reg));
	static char buffer[65536] __attribute__((aligned(8)));
	const struct sframe_unwind_record *record = (void *)buffer;
	ssize_t got, at = 0;
	int nr[3] = {};

	/* It may be there yet, if it could not be removed. */
	if (err && err != EEXIST)
		return err;
	err = -call_request_code(world->fake.text, world->fd, &req);
	if (err)
		return err;
	got = read(world->fd, buffer, sizeof(buffer));
	if (got < 0) {
		err = errno;
		drain(world->fd, 0);
		return err;
	}
	for (; at < got; at += record->size) {
		record = (void *)(buffer + at);
		nr[record->type]++;
	}
	if (nr[SFRAME_UNWIND_RECORD_STACK] != 1)
		return EPROTO;
	return nr[SFRAME_UNWIND_RECORD_REMOVED] ? 0 : LESS;
}

static int run_corrupt(struct world *world)
{
	world->fake.section[FAKE_INFO2] = 0xff;
	world->fake.reg.flags = 0;
	return run_until_removed(world);
}

static int run_unreadable(struct world *world)
{
	int err;

	world->fake.reg.flags = 0;
	err = result(register_section(world->fd, &world->fake.reg));
	if (err && err != EEXIST)
		return err;
	mprotect(world->fake.section, PAGE, PROT_NONE);
	/* Another one for the same code is not read, only refused. */
	err = request_at(world, world->fake.text);
	mprotect(world->fake.section, PAGE, PROT_READ | PROT_WRITE);
	if (err == LESS && world->stack.head.stop == SFRAME_UNWIND_STOP_SECTION_REMOVED)
		return 0;
	return err;
}

/* Files. */

static void map_anew(struct world *world)
{
	unmap_elf(world->at);
	world->at = map_elf(world->elf_fd);
}

static int run_discover(struct world *world)
{
	return request_at(world, world->at + ELF_SMALL_VADDR);
}

/* Nothing maps the section: it has to be read. */
static bool setup_unmapped(struct world *world)
{
	return !munmap(world->at, ELF_PAGE);
}

static void undo_unmapped(struct world *world)
{
	map_anew(world);
	setup_unmapped(world);
}

/* A file without a section of its own. */
static bool setup_bare(struct world *world)
{
	world->elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	world->elf_fd = make_file(&world->elf, sizeof(world->elf));
	world->sframe = elf_sframe_at(0);
	world->sframe_fd = make_file(&world->sframe, sizeof(world->sframe));
	map_anew(world);
	world->attach = (struct sframe_unwind_attach) {
		.size = sizeof(world->attach),
		.elf_fd = world->elf_fd,
		.sframe_fd = world->sframe_fd,
		.sframe_size = sizeof(world->sframe),
		.build_id_size = ELF_ID_SIZE,
	};
	memcpy(world->attach.build_id, world->elf.note.id, ELF_ID_SIZE);
	return world->elf_fd >= 0 && world->sframe_fd >= 0 && world->at;
}

static bool setup_bare_system(struct world *world)
{
	if (!setup_bare(world))
		return false;
	world->attach.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	return true;
}

/* A section of several pages, most of them behind its last row. */
static bool setup_bare_large(struct world *world)
{
	const size_t more = 2 * PAGE;

	if (!setup_bare(world))
		return false;
	world->sframe.fre_len += more;
	world->attach.sframe_size += more;
	return pwrite(world->sframe_fd, &world->sframe, sizeof(world->sframe),
		      0) == sizeof(world->sframe) &&
	       !ftruncate(world->sframe_fd, world->attach.sframe_size);
}

static int run_attach(struct world *world)
{
	return result(ioctl(world->fd, SFRAME_UNWIND_IOC_ATTACH,
			    &world->attach));
}

static int run_detach(struct world *world)
{
	struct sframe_unwind_detach arg = {
		.size = sizeof(arg),
		.id = world->attach.id,
	};

	return result(ioctl(world->fd, SFRAME_UNWIND_IOC_DETACH, &arg));
}

static void undo_attach(struct world *world)
{
	run_detach(world);
}

static void undo_detach(struct world *world)
{
	run_attach(world);
}

static bool setup_attached(struct world *world)
{
	return setup_bare(world) && !run_attach(world);
}

static int run_list_attached(struct world *world)
{
	struct sframe_unwind_attached entry;
	struct sframe_unwind_list_attached arg = {
		.size = sizeof(arg),
		.attached = (uintptr_t)&entry,
		.nr = 1,
	};
	int err = result(ioctl(world->fd, SFRAME_UNWIND_IOC_LIST_ATTACHED,
			       &arg));

	return err || entry.id == world->attach.id ? err : EPROTO;
}

static bool setup_discovered(struct world *world)
{
	return !run_discover(world);
}

static int run_list(struct world *world)
{
	struct sframe_unwind_section entry;
	char name[256];
	struct sframe_unwind_list arg = {
		.size = sizeof(arg),
		.from = (uintptr_t)world->at,
		.sections = (uintptr_t)&entry,
		.nr = 1,
		.name = (uintptr_t)name,
		.name_size = sizeof(name),
	};
	int err = result(ioctl(world->fd, SFRAME_UNWIND_IOC_LIST, &arg));

	return err || arg.nr == 1 ? err : EPROTO;
}

/* Interrupts, processes. */

static int run_timer(struct world *world)
{
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.period = 1000000000,
	};

	return result(ioctl(world->fd, SFU_TEST_IOC_TIMER, &spec));
}

static void undo_timer(struct world *world)
{
	struct sfu_test_timer_spec spec = { .size = sizeof(spec) };

	ioctl(world->fd, SFU_TEST_IOC_TIMER, &spec);
}

/* What @work returns in a child. */
static int in_child(struct world *world, int (*work)(struct world *world))
{
	pid_t pid = fork();
	int status, err;

	if (!pid) {
		err = work(world);
		_exit(err == LESS ? 255 : err);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	if (!WIFEXITED(status))
		return EPROTO;
	return WEXITSTATUS(status) == 255 ? LESS : WEXITSTATUS(status);
}

/* The child's own client: the parent reads the other one. */
static int request_in_child(struct world *world)
{
	world->fd = open_client(O_NONBLOCK);
	if (world->fd < 0)
		return errno;
	return run_request(world) ?: run_unregister(world);
}

static int run_fork(struct world *world)
{
	return in_child(world, request_in_child);
}

static int execute(struct world *world)
{
	execl("/bin/true", "true", NULL);
	return errno;
}

static int run_exec(struct world *world)
{
	return in_child(world, execute);
}

const struct scenario scenarios[] = {
	{ "open", NULL, run_open, undo_open },
	{ "query", NULL, run_query, NULL },
	{ "query by a newer program", NULL, run_query_newer, NULL },
	{ "counters", NULL, run_counters, NULL },
	{ "register", NULL, run_register, undo_register },
	{ "register a bad section", NULL, run_refused, NULL },
	{ "register a batch", NULL, run_batch, undo_batch },
	{ "unregister", setup_shared, run_unregister, undo_unregister },
	{ "unregister all of a section", setup_batch, run_unregister_all,
	  undo_unregister_all },
	{ "unregister a batch", setup_batch, run_unregister_batch,
	  undo_unregister_all },
	{ "request", setup_registered, run_request, NULL },
	{ "request in a signal frame", setup_signal, run_request, NULL },
	{ "request of a sleeping thread", setup_thread, run_request_thread, NULL },
	{ "request while another walk waits", NULL, run_two_walks, NULL },
	{ "request through the vDSO", setup_stack_switch, run_vdso, NULL },
	{ "read", setup_waiting, run_read, undo_read },
	{ "read around the ring's end", setup_wrapped, run_read,
	  undo_read },
	{ "read asleep", setup_reader, run_read_asleep, NULL },
	{ "events", NULL, run_events, undo_events },
	{ "removal of a corrupt section", setup_events, run_corrupt, NULL },
	{ "removal of an unreadable section", NULL, run_unreadable, NULL },
	{ "discover", NULL, run_discover, map_anew },
	{ "discover what is not mapped", setup_unmapped, run_discover,
	  undo_unmapped },
	{ "discover what is attached", setup_attached, run_discover, map_anew },
	{ "attach", setup_bare, run_attach, undo_attach },
	{ "attach for all", setup_bare_system, run_attach, undo_attach },
	{ "attach a large section", setup_bare_large, run_attach, undo_attach },
	{ "detach", setup_attached, run_detach, undo_detach },
	{ "list", setup_discovered, run_list, NULL },
	{ "list what is attached", setup_attached, run_list_attached, NULL },
	{ "timer", NULL, run_timer, undo_timer },
	{ "fork", setup_registered, run_fork, NULL },
	{ "exec", setup_registered, run_exec, NULL },
};

const unsigned int nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
