// SPDX-License-Identifier: GPL-2.0
/*
 * Samples inside a system call, a futex wait, a page fault and an interrupt: kernel
 * frames, how the thread has entered the kernel, and the user frames that gdb finds in the
 * same thread, up to the outermost one.
 *
 * Long: see selftests/check.
 */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "attached.h"
#include "process.h"
#include "sampled.h"
#include "userfaultfd.h"

#define MAX_PCS		64
#define SYSCALL_SIZE	2	/* of the instruction */

/* The frames that gdb finds, innermost first. */
struct pcs {
	unsigned int nr;
	__u64 of[MAX_PCS];
};

/* Memory shared with the process that is sampled. */
struct scene {
	bool is_ready, may_begin;
	unsigned int futex;
	int pipe;
};

FIXTURE(gdb)
{
	struct sampled s;
	struct taken sample, stack;
	struct scene *scene;
	struct pcs pcs;
	pid_t child;
};

/* What the process does, which stops it or never ends. */
FIXTURE_VARIANT(gdb)
{
	void (*act)(struct scene *scene);
	const char *event;		/* a tracepoint; NULL: context switches */
	enum sframe_unwind_entry entry;
	int nr;				/* of the system call */
};

#define NOT_INLINED	__attribute__((noipa))

static NOT_INLINED long system_call(long nr, long a, long b, long c)
{
	register long d asm("r10") = 0;
	long ret = nr;

	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"(a), "S"(b), "d"(c), "r"(d)
		     : "rcx", "r11", "memory");
	return ret;
}

static NOT_INLINED void read_pipe(struct scene *scene)
{
	char byte;

	system_call(SYS_read, scene->pipe, (long)&byte, 1);
}

static NOT_INLINED void wait_for_futex(struct scene *scene)
{
	system_call(SYS_futex, (long)&scene->futex, FUTEX_WAIT, 0);
}

/* Nobody provides the page. */
static NOT_INLINED void touch_missing_page(struct scene *scene)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = uffd_open(page, PAGE, 0);

	(void)scene;
	if (fd >= 0)
		*(volatile char *)page = 1;
	_exit(1);
}

/* One instruction, so that each interrupt arrives at the same one. */
static NOT_INLINED void loop(struct scene *scene)
{
	(void)scene;
	asm volatile("1: jmp 1b");
}

FIXTURE_VARIANT_ADD(gdb, read) {
	.act = read_pipe,
	.entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL,
	.nr = SYS_read,
};

FIXTURE_VARIANT_ADD(gdb, futex) {
	.act = wait_for_futex,
	.entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL,
	.nr = SYS_futex,
};

FIXTURE_VARIANT_ADD(gdb, page_fault) {
	.act = touch_missing_page,
	.entry = SFRAME_UNWIND_ENTRY_PAGE_FAULT,
};

FIXTURE_VARIANT_ADD(gdb, interrupt) {
	.act = loop,
	.event = "irq_vectors/local_timer_entry",
	.entry = SFRAME_UNWIND_ENTRY_INTERRUPT,
};

/* Some frames below, which have to be on both stacks. */
static NOT_INLINED void descend(void (*act)(struct scene *scene),
				struct scene *scene, unsigned int depth)
{
	if (depth)
		descend(act, scene, depth - 1);
	else
		act(scene);
	asm volatile("" ::: "memory");	/* no tail call */
}

/* On one CPU, whose ring has the stack behind its sample. */
static NOT_INLINED void be_sampled(void (*act)(struct scene *scene),
				   struct scene *scene)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		_exit(1);
	__atomic_store_n(&scene->is_ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&scene->may_begin, __ATOMIC_ACQUIRE))
		sched_yield();
	descend(act, scene, 5);
	asm volatile("" ::: "memory");	/* no tail call */
}

FIXTURE_SETUP(gdb)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	self->scene = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->scene);
	self->scene->pipe = pipes[0];
	ASSERT_SAMPLED(&self->s, 256);
	ASSERT_ATTACHED(self->s.fd, SFRAME_UNWIND_ATTACH_SYSTEM);
	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		end_sampled(&self->s);
		be_sampled(variant->act, self->scene);
		_exit(1);
	}
}

FIXTURE_TEARDOWN(gdb)
{
	kill(self->child, SIGKILL);
	waitpid(self->child, NULL, 0);
	end_sampled(&self->s);
}

/* Have gdb find the frames of the process. Returns NULL or an error. */
static const char *ask_gdb(pid_t pid, struct pcs *pcs)
{
	static const char script[] =
		"set backtrace past-main on\n"
		"set backtrace past-entry on\n"
		"printf \"pc %lx sp %lx\\n\", (long)$pc, (long)$sp\n"
		"while 1\n"
		"up-silently\n"
		"printf \"pc %lx sp %lx\\n\", (long)$pc, (long)$sp\n"
		"end\n";
	char path[] = "/tmp/sample_gdb-XXXXXX", command[128], line[256];
	unsigned long pc, sp, last_pc = 0, last_sp = 0;
	int fd = mkstemp(path);
	FILE *gdb;

	pcs->nr = 0;
	if (write(fd, script, sizeof(script) - 1) != sizeof(script) - 1)
		return "no script";
	snprintf(command, sizeof(command),
		 "gdb -nx -q -batch -p %d -x %s 2>&1 </dev/null", pid, path);
	gdb = popen(command, "re");
	while (gdb && fgets(line, sizeof(line), gdb)) {
		if (sscanf(line, "pc %lx sp %lx", &pc, &sp) != 2) {
			fprintf(stderr, "# gdb: %s", line);
			continue;
		}
		/* A function inlined into another one is no frame of its own. */
		if ((pc != last_pc || sp != last_sp) && pcs->nr < MAX_PCS)
			pcs->of[pcs->nr++] = pc;
		last_pc = pc;
		last_sp = sp;
	}
	if (gdb)
		pclose(gdb);
	close(fd);
	unlink(path);
	return pcs->nr ? NULL : "gdb finds no frame";
}

/* Whether @t is a sample at the instruction where gdb has found the process. */
static bool is_wanted(const struct taken *t, const struct pcs *pcs,
		      const FIXTURE_VARIANT(gdb) *variant)
{
	return t->type == SFRAME_UNWIND_RECORD_SAMPLE &&
	       t->head.entry == variant->entry &&
	       t->head.entry_nr == variant->nr && t->ip == pcs->of[0];
}

/*
 * Read records up to a sample that is wanted, and to its user stack. A later sample
 * replaces one whose stack is not there yet. Returns whether both have been found.
 */
static bool find_stack(FIXTURE_DATA(gdb) *self,
		       const FIXTURE_VARIANT(gdb) *variant)
{
	struct taken *sample = &self->sample, *stack = &self->stack;

	while (take(&self->s, stack) == 1) {
		if (is_wanted(stack, &self->pcs, variant)) {
			*sample = *stack;
			if (sample->head.user == SFRAME_UNWIND_USER_AT_ONCE)
				return true;
		} else if (sample->type &&
			   stack->type == SFRAME_UNWIND_RECORD_USER_STACK &&
			   stack->cookie == sample->cookie) {
			return true;
		}
	}
	return false;
}

/*
 * Whether the innermost frame is where gdb has found the process. A stack that follows a
 * sample is that of the return to user mode. Of a system call that gdb has interrupted,
 * this may be the system call instruction, to restart it.
 */
static bool is_innermost(const FIXTURE_DATA(gdb) *self,
			 const FIXTURE_VARIANT(gdb) *variant)
{
	const __u64 ip = self->stack.user[0];

	return ip == self->pcs.of[0] ||
	       (variant->entry == SFRAME_UNWIND_ENTRY_SYSTEM_CALL &&
		self->stack.type == SFRAME_UNWIND_RECORD_USER_STACK &&
		ip + SYSCALL_SIZE == self->pcs.of[0]);
}

static void show(const char *what, const __u64 *address, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		fprintf(stderr, "# %s %llx\n", what, address[i]);
}

/* Whether the process is where it stays. */
static bool is_there(FIXTURE_DATA(gdb) *self,
		     const FIXTURE_VARIANT(gdb) *variant)
{
	struct taken t;

	if (variant->entry == SFRAME_UNWIND_ENTRY_SYSTEM_CALL)
		return sleeps_in(self->child, variant->nr);
	if (variant->entry == SFRAME_UNWIND_ENTRY_PAGE_FAULT)
		return sleeps_in(self->child, -1);
	while (take(&self->s, &t) == 1) {
		if (t.type == SFRAME_UNWIND_RECORD_SAMPLE &&
		    inside(t.ip, variant->act, 64))
			return true;
	}
	return false;
}

#define WAIT_FOR(condition)						\
	do {								\
		const time_t end_ = time(NULL) + 240;			\
		bool is_met_;						\
									\
		while (!(is_met_ = (condition)) && time(NULL) < end_)	\
			usleep(1000);					\
		ASSERT_TRUE(is_met_);					\
	} while (0)

TEST_F(gdb, finds_the_same_frames)
{
	struct perf_event_attr attr =
		variant->event ? tracepoint(variant->event) :
				 software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	const char *why;

	if (variant->event && !attr.config)
		SKIP(return, "no such tracepoint");
	WAIT_FOR(__atomic_load_n(&self->scene->is_ready, __ATOMIC_ACQUIRE));
	ASSERT_LT(0, sample_at(&self->s, &attr, self->child, -1,
			       SFRAME_UNWIND_SAMPLE_REGISTERS));
	ASSERT_EQ(0, start(&self->s));
	__atomic_store_n(&self->scene->may_begin, true, __ATOMIC_RELEASE);
	WAIT_FOR(is_there(self, variant));
	/* A stack that was not taken at once is delivered when gdb stops the process. */
	why = ask_gdb(self->child, &self->pcs);
	ASSERT_EQ(NULL, why)
	{
		TH_LOG("%s", why);
	}
	WAIT_FOR(find_stack(self, variant));
	EXPECT_LE(3, self->sample.nr_kernel);
	EXPECT_EQ(0, self->sample.head.kernel_cut);
	EXPECT_EQ(SFRAME_UNWIND_STOP_COMPLETE, self->stack.head.stop);
	EXPECT_LE(10, self->stack.nr_user);
	EXPECT_EQ(self->pcs.nr, self->stack.nr_user);
	EXPECT_TRUE(is_innermost(self, variant) &&
		    !memcmp(self->pcs.of + 1, self->stack.user + 1,
			    (self->pcs.nr - 1) * 8))
	{
		show("sample", self->stack.user, self->stack.nr_user);
		show("gdb", self->pcs.of, self->pcs.nr);
	}
}

TEST_HARNESS_MAIN
