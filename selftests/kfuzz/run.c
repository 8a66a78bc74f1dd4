// SPDX-License-Identifier: GPL-2.0
/* Run: a process that executes a program. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../include/wrappers.h"
#include "calls.h"
#include "cover.h"
#include "run.h"
#include "shared.h"

#define ALTSTACK_SIZE	16384
#define MAX_FORKS	3
#define THREAD_STACK	(512UL << 10)	/* including thread-local variables */

struct world world;
__thread struct thread self;

static struct job *job;
static unsigned int job_nr;
static bool is_child;

/* A fault in code or memory of the program. */
static void on_fault(int signal)
{
	(void)signal;
	if (!self.guarded)
		_exit(99);
	self.guarded = false;
	siglongjmp(self.fault, 1);
}

static void on_request(int signal)
{
	struct sframe_unwind_request args = {
		.size = sizeof(args),
		.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK,
	};
	const int before = errno;

	(void)signal;
	/* By our own code, so that the walk continues to the signal frame. */
	request(world.fd[0], &args);
	errno = before;
}

bool run_is_alone(void)
{
	return !is_child && world.forks == MAX_FORKS &&
	       program_threads(&job->program) == 1;
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {
		.sa_handler = handler,
		.sa_flags = flags,
	};

	sigaction(signal, &action, NULL);
}

static void handle_signals(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	unsigned int i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		handle(faults[i], on_fault, SA_ONSTACK | SA_NODEFER);
	handle(SIGUSR1, on_request, SA_ONSTACK);
	handle(SIGUSR2, on_request, SA_RESTART);
}

/* Make the @nr-th allocation or copy of the module fail; 0: none. */
static void set_fail(unsigned int nr)
{
	char text[16];
	int length;

	if (self.fail_fd < 0)
		self.fail_fd = open("/proc/thread-self/fail-nth",
				    O_WRONLY | O_CLOEXEC);
	length = snprintf(text, sizeof(text), "%u", nr);
	/* Without this file the kernel has no fault injection. */
	if (pwrite(self.fail_fd, text, length, 0) < 0)
		errno = 0;
}

static void trace(const struct call *call, long ret)
{
	char text[1024];

	call_print(call, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	printf("%s -> %s%ld\n", text, ret < 0 ? "error " : "",
	       ret < 0 ? -ret : ret);
	fflush(stdout);
}

long run_call(const struct call *call)
{
	const struct call_type *type = &call_types[call->type];
	uint64_t value[MAX_ARGS] = {};
	unsigned int i;
	long ret;

	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++)
		value[i] = call_value(&call->arg[i]);
	atomic_fetch_add(&shared->calls[call->type], 1);
	if (call->fail)
		set_fail(call->fail);
	ret = type->run(call, value);
	if (call->fail)
		set_fail(0);
	if (ret >= 0)
		atomic_fetch_add(&shared->successes[call->type], 1);
	if (shared->trace)
		trace(call, ret);
	return ret;
}

static void run_thread(void)
{
	static __thread char altstack[ALTSTACK_SIZE];
	const stack_t stack = { .ss_sp = altstack, .ss_size = ALTSTACK_SIZE };
	const struct program *program = &job->program;

	sigaltstack(&stack, NULL);
	for (; self.round < program->rounds; self.round++) {
		for (; self.position < program->nr; self.position++) {
			const struct call *call =
				&program->call[self.position];

			if (call->thread == self.nr &&
			    !(self.round && call_types[call->type].once))
				run_call(call);
		}
		self.position = 0;
	}
	if (is_child)
		_exit(0);
}

static void start(unsigned int nr)
{
	self.nr = nr;
	self.fail_fd = -1;
	self.timer = -1;
	world.tid[nr] = syscall(SYS_gettid);
	cover_enable(job_nr, nr);
}

static void *start_thread(void *nr)
{
	start((uintptr_t)nr);
	run_thread();
	return NULL;
}

static void prepare(unsigned int nr)
{
	job = &shared->job[nr];
	job_nr = nr;
	handle_signals();
	mmap((void *)(SLOTS_BASE + SLOT_STRUCTS * SLOT_SIZE), STRUCTS_SIZE,
	     PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

void run_program(unsigned int nr)
{
	pthread_t thread[MAX_THREADS];
	pthread_attr_t attr;
	unsigned int i, threads;

	prepare(nr);
	memset(&world, 0, sizeof(world));
	memset(world.fd, 0xff, sizeof(world.fd));
	world.tid[OTHER_TID] = atomic_load(&shared->job[(nr + 1) % NR_JOBS].child);
	world.forks = MAX_FORKS;
	start(0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	threads = program_threads(&job->program);
	for (i = 1; i < threads; i++) {
		if (pthread_create(&thread[i], &attr, start_thread,
				   (void *)(uintptr_t)i))
			_exit(98);
	}
	run_thread();
	for (i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

void run_save(void)
{
	job->world = world;
	job->thread = self;
}

void run_rest(unsigned int nr)
{
	prepare(nr);
	world = job->world;
	self = job->thread;
	self.fail_fd = -1;
	self.timer = -1;
	self.position++;
	is_child = true;
	run_thread();
	_exit(0);
}

void run_as_child(void)
{
	is_child = true;
	self.fail_fd = -1;
	self.timer = -1;
	world.tid[self.nr] = syscall(SYS_gettid);
	cover_enable(job_nr, MAX_THREADS);
}
