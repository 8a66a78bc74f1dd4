// SPDX-License-Identifier: GPL-2.0
/*
 * What a user can make the kernel keep: how many objects of each kind are
 * possible with a given RLIMIT_MEMLOCK, and how much memory they use.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "bench.h"
#include "worst.h"

#define GROUP		"/sys/fs/cgroup/sframe_unwind_worst"
#define USER		1000

/**
 * struct kind - a kind of object
 *
 * @name: for the table.
 * @bound: what limits their number other than memory, for the table.
 * @base: kind whose memory is part of each of these, but not of the module.
 * @most: number of objects to try at most.
 * @setup: creates what they need, not measured.
 * @make: makes object number @i. Returns 0 or -errno.
 */
struct kind {
	const char *name;
	const char *bound;
	const char *base;
	uint32_t most;
	void (*setup)(void);
	int (*make)(uint32_t i);
};

/* Shared by the process that makes objects and the one that measures. */
static struct {
	uint32_t nr;
	int err;
} *made;

static int client, elf_fd, section_fd;
static unsigned char *text, *section;
static size_t section_size;
static uint64_t *stack;

/* --- registrations */

static void setup_ranges(void)
{
	client = new_client();
	text = new_memory(2000000, PROT_READ | PROT_WRITE | PROT_EXEC);
	section = new_memory(4096, PROT_READ | PROT_WRITE);
	section_size = table_size(1, 1);
	put_table(section, (uintptr_t)section, (uintptr_t)text, 1, 1, 1);
}

static int make_range(uint32_t i)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = (uintptr_t)section,
		.sframe_size = section_size,
		.text_start = (uintptr_t)text + i,
		.text_size = 1,
	};

	return register_section(client, &reg) ? -errno : 0;
}

/* A process that registers one section. */
static int make_process(uint32_t i)
{
	int ready[2], err = 0;
	pid_t pid;

	if (pipe(ready))
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		err = make_range(i);
		if (write(ready[1], &err, sizeof(err)) != sizeof(err))
			_exit(1);
		for (;;)
			pause();
	}
	if (pid < 0 || read(ready[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(ready[0]);
	close(ready[1]);
	return err;
}

static int make_idle_process(uint32_t i)
{
	pid_t pid = fork();

	(void)i;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid < 0 ? -errno : 0;
}

/* --- clients and requests */

static int make_file(uint32_t i)
{
	(void)i;
	return open("/dev/null", O_RDWR) < 0 ? -errno : 0;
}

#define SLEEPERS	16

static volatile pid_t sleepers[SLEEPERS];

static void *sleep_for_ever(void *number)
{
	sleepers[(uintptr_t)number] = syscall(SYS_gettid);
	for (;;)
		pause();
	return number;
}

static void setup_sleepers(void)
{
	pthread_t thread;
	uintptr_t i;

	for (i = 0; i < SLEEPERS; i++) {
		if (pthread_create(&thread, NULL, sleep_for_ever, (void *)i))
			die("no thread");
		while (!sleepers[i])
			usleep(1000);
	}
}

static void setup_nothing(void)
{
}

static int make_client(uint32_t i)
{
	(void)i;
	return open_client(O_NONBLOCK) < 0 ? -errno : 0;
}

static int ask_for(int fd, pid_t tid)
{
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.tid = tid,
		.max_depth = 16,
	};

	return request(fd, &req) ? -errno : 0;
}

static int make_ring(uint32_t i)
{
	const int fd = open_client(O_NONBLOCK);

	(void)i;
	return fd < 0 ? -errno : ask_for(fd, 0);
}

/* By clients that are closed when they have reached their limit. */
static int make_request(uint32_t i)
{
	if (i % 1024 == 0) {
		if (i)
			close(client);
		client = open_client(O_NONBLOCK);
		if (client < 0)
			return -errno;
	}
	return ask_for(client, sleepers[i / 1024 % SLEEPERS]);
}

/* Each closed client has one request, which keeps it. */
static int make_closed_client(uint32_t i)
{
	const int fd = open_client(O_NONBLOCK);
	int err;

	if (fd < 0)
		return -errno;
	err = ask_for(fd, sleepers[i % SLEEPERS]);
	close(fd);
	return err;
}

/* --- files */

#define ATTACHED_SIZE	(1 << 20)

static void setup_attach(void)
{
	static const struct elf_spec spec = {};

	client = new_client();
	elf_fd = make_elf(&spec);
	section_fd = new_file(0);
	section_size = table_size(1, 8);
	write_table(section_fd, 0, 0, section_size, 1);
}

static void setup_attach_large(void)
{
	setup_attach();
	section_size = ATTACHED_SIZE;
	write_table(section_fd, 0, 0, section_size, 1);
}

static int make_attachment(uint32_t i)
{
	uint64_t id;
	int err;

	(void)i;
	err = attach_file(client, elf_fd, section_fd, section_size, &id);
	if (err != -ENOSPC)
		return err;
	/* A new client has limits of its own. */
	client = open_client(O_NONBLOCK);
	if (client < 0)
		return -errno;
	return attach_file(client, elf_fd, section_fd, section_size, &id);
}

/*
 * Make code with a section that requests stacks, and files to be mapped many
 * times.
 */
static void make_asker(size_t sframe)
{
	const struct elf_spec spec = {
		.sframe = sframe,
		.sframe_offset = 2 * CODE,
	};

	setup_ranges();
	put_stub(text);
	put_table(section, (uintptr_t)section, (uintptr_t)text, 1, 64, 1);
	register_range(client, (uintptr_t)section, section_size,
		       (uintptr_t)text, 64, 0);
	stack = new_memory(65536, PROT_READ | PROT_WRITE);
	elf_fd = make_elf(&spec);
	if (sframe)
		write_table(elf_fd, 2 * CODE, 2 * CODE, sframe, 1);
}

static void setup_found(void)
{
	make_asker(0);
}

static void setup_read(void)
{
	make_asker(ATTACHED_SIZE);
}

static int map_file_again(uint32_t i)
{
	void *at = (void *)(0x500000000000 + 0x10000UL * i);

	at = mmap(at, 2 * CODE, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED_NOREPLACE, elf_fd, 0);
	return at == MAP_FAILED ? -errno : 0;
}

static int find_in_file(uint32_t i)
{
	const int err = map_file_again(i);

	if (err)
		return err;
	stack[0] = 0x500000000000 + 0x10000UL * i + CODE + 12;
	ask_with_stack(client, text, stack, 8);
	drain(client);
	return 0;
}

/* --- caches of sections */

#define FUNCTIONS	4096U

static size_t large_size;

static void setup_rules(void)
{
	setup_ranges();
	put_stub(text);
	large_size = table_size(FUNCTIONS, 8);
	section = new_memory(large_size, PROT_READ | PROT_WRITE);
	put_table(section, (uintptr_t)section, (uintptr_t)text, FUNCTIONS, 16,
		  8);
	stack = new_memory(65536, PROT_READ | PROT_WRITE);
	/* Allocate the client's ring before measuring. */
	ask_for(client, 0);
}

static void walk_all(void)
{
	uint32_t i, j;

	for (i = 0; i < FUNCTIONS; i += 1024) {
		for (j = 0; j < 1024; j++)
			stack[j] = (uintptr_t)text + 16 * (i + j) + 12;
		stack[j] = 0;
		ask_with_stack(client, text, stack, 1024);
		drain(client);
	}
}

static int make_rules(uint32_t i)
{
	(void)i;
	register_range(client, (uintptr_t)section, large_size, (uintptr_t)text,
		       16 * FUNCTIONS, 0);
	for (i = 0; i < 8; i++)
		walk_all();
	return 0;
}

/* A new section for each, as large as the first one. */
static int make_directory(uint32_t i)
{
	unsigned char *code = new_memory(16 * FUNCTIONS, PROT_READ | PROT_WRITE |
							 PROT_EXEC);
	unsigned char *bytes = new_memory(large_size, PROT_READ | PROT_WRITE);

	(void)i;
	put_stub(code);
	put_table(bytes, (uintptr_t)bytes, (uintptr_t)code, FUNCTIONS, 16, 8);
	register_range(client, (uintptr_t)bytes, large_size, (uintptr_t)code,
		       16 * FUNCTIONS, 0);
	text = code;
	walk_all();
	return 0;
}

static const struct kind kinds[] = {
	{ "file", "-", "-", 4000, setup_nothing, make_file },
	{ "mapping", "-", "-", 10000, setup_found, map_file_again },
	{ "process", "-", "-", 60, setup_ranges, make_idle_process },
	{ "registration", "1,048,576 an address space", "-", 100000,
	  setup_ranges, make_range },
	{ "process with one registration", "RLIMIT_NPROC", "process", 60,
	  setup_ranges, make_process },
	{ "client", "RLIMIT_NOFILE", "file", 4000, setup_nothing, make_client },
	{ "client with a ring", "RLIMIT_NOFILE", "file", 400, setup_nothing,
	  make_ring },
	{ "request, its client closed", "4,096 a thread", "-", 65536,
	  setup_sleepers, make_request },
	{ "client, closed, with one request", "4,096 a thread", "-", 4000,
	  setup_sleepers, make_closed_client },
	{ "attachment, small", "16,384 a client", "-", 20000, setup_attach,
	  make_attachment },
	{ "attachment of 1 MiB", "64 MiB a client", "-", 150,
	  setup_attach_large, make_attachment },
	{ "code where nothing was found", "one a mapping", "mapping", 10000,
	  setup_found, find_in_file },
	{ "section of 1 MiB read from its file", "one a mapping", "mapping",
	  100, setup_read, find_in_file },
	{ "table of rules", "one an address space", "-", 1, setup_rules,
	  make_rules },
	{ "directory of 4,096 functions", "one a section", "-", 100,
	  setup_rules, make_directory },
};

static void write_text(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, content, strlen(content)) < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* Bytes of kernel memory of the cgroup, without page tables and kernel stacks. */
static long kernel_memory(void)
{
	FILE *file = fopen(GROUP "/memory.stat", "r");
	char line[256], word[128];
	long value, sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %ld", word, &value) != 2)
			continue;
		if (!strcmp(word, "kernel"))
			sum += value;
		else if (!strcmp(word, "pagetables") ||
			 !strcmp(word, "kernel_stack"))
			sum -= value;
	}
	if (!file)
		die("no memory.stat");
	fclose(file);
	return sum;
}

static void make_all(const struct kind *kind)
{
	int err;

	made->nr = 0;
	made->err = 0;
	while (made->nr < kind->most) {
		err = kind->make(made->nr);
		if (err) {
			made->err = -err;
			return;
		}
		made->nr++;
	}
}

/* Become a user with RLIMIT_MEMLOCK @limit, or stay root with 0. */
static void become(rlim_t limit)
{
	const struct rlimit files = { 65536, 65536 };
	const struct rlimit lock = { limit ?: RLIM_INFINITY,
				     limit ?: RLIM_INFINITY };
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text(GROUP "/cgroup.procs", pid);
	setrlimit(RLIMIT_NOFILE, &files);
	if (setrlimit(RLIMIT_MEMLOCK, &lock))
		die("RLIMIT_MEMLOCK: %s", strerror(errno));
	if (limit && (setgroups(0, NULL) || setgid(USER) || setuid(USER)))
		die("uid %d: %s", USER, strerror(errno));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void settle(void)
{
	/* Memory freed by RCU, and statistics updated in batches. */
	usleep(300000);
}

static void measure_kind(const struct kind *kind, rlim_t limit)
{
	int ready[2], go[2], status;
	long before, with, without;
	char word = 0;
	pid_t pid;

	if (pipe(ready) || pipe(go))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(ready[0]);
		close(go[1]);
		become(limit);
		kind->setup();
		if (write(ready[1], "r", 1) != 1 || read(go[0], &word, 1) != 1)
			exit(1);
		make_all(kind);
		if (write(ready[1], "r", 1) != 1)
			exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	close(go[0]);
	if (read(ready[0], &word, 1) != 1)
		die("%s: could not be set up", kind->name);
	settle();
	before = kernel_memory();
	if (write(go[1], "g", 1) != 1)
		die("pipe: %s", strerror(errno));
	/* If the process was killed, its objects are gone. */
	if (read(ready[0], &word, 1) != 1)
		made->err = ECHILD;
	settle();
	with = kernel_memory();
	write_text("/proc/sys/vm/drop_caches", "2");
	settle();
	without = kernel_memory();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(ready[0]);
	close(go[1]);
	printf("%s\t%s\t%s\t%lu\t%u\t%u\t%s\t%ld\t%ld\n", kind->name,
	       kind->bound, kind->base, (unsigned long)limit >> 20, made->nr,
	       kind->most, made->err ? strerrorname_np(made->err) : "-",
	       with - before, with - without);
	fflush(stdout);
}

void worst_memory(void)
{
	static const rlim_t limits[] = { 0, 1 << 20, 8 << 20 };
	unsigned int i, j;

	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0700) && errno != EEXIST)
		die(GROUP ": %s", strerror(errno));
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (j = 0; j < 3; j++)
			measure_kind(&kinds[i], limits[j]);
		say("%s", kinds[i].name);
	}
}
