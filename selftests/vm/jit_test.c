// SPDX-License-Identifier: GPL-2.0
/*
 * Code that a program announces by __register_frame(), with jit.so preloaded: stacks go
 * through it, as libgcc's own unwinder does.
 *
 * Racing: run with KCSAN
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unwind.h>

#include <sframe_unwind.h>

#include "common.h"

void __register_frame(void *begin);
void __deregister_frame(void *begin);
void __register_frame_info(const void *begin, void *object);
void *__deregister_frame_info(const void *begin);
void __register_frame_info_bases(const void *begin, void *object, void *text,
				 void *data);
void *__deregister_frame_info_bases(const void *begin);
void __register_frame_table(void *table);
void __register_frame_info_table(void *table, void *object);

#define NR_THREADS	4
#define ROUNDS		300
#define NR_FUNCTIONS	2000

/* Preload the object: execute this program again. */
__attribute__((constructor))
static void preload(int argc, char **argv)
{
	char path[4096];
	ssize_t length;

	if (getenv("LD_PRELOAD"))
		return;
	length = readlink("/proc/self/exe", path, sizeof(path) - 100);
	if (length < 0)
		exit(1);
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/../userspace/sframe_unwind/jit.so");
	if (access(path, R_OK) || setenv("LD_PRELOAD", path, 1) ||
	    setenv("SFRAME_UNWIND_JIT", "verbose", 1))
		exit(1);
	execv("/proc/self/exe", argv);
	exit(1);
}

/*
 * An allocator that holds its lock across fork(), as those that programs bring along do. Its
 * handlers are installed after those of the preloaded object, so its lock is taken first.
 */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size)
{
	void *memory;

	pthread_mutex_lock(&allocator);
	memory = __libc_malloc(size);
	pthread_mutex_unlock(&allocator);
	return memory;
}

void *calloc(size_t nr, size_t size)
{
	void *memory;

	pthread_mutex_lock(&allocator);
	memory = __libc_calloc(nr, size);
	pthread_mutex_unlock(&allocator);
	return memory;
}

void *realloc(void *memory, size_t size)
{
	pthread_mutex_lock(&allocator);
	memory = __libc_realloc(memory, size);
	pthread_mutex_unlock(&allocator);
	return memory;
}

void free(void *memory)
{
	pthread_mutex_lock(&allocator);
	__libc_free(memory);
	pthread_mutex_unlock(&allocator);
}

static void lock_allocator(void)
{
	pthread_mutex_lock(&allocator);
}

static void unlock_allocator(void)
{
	pthread_mutex_unlock(&allocator);
}

__attribute__((constructor(65535)))
static void keep_allocator(void)
{
	if (pthread_atfork(lock_allocator, unlock_allocator, unlock_allocator))
		exit(1);
}

/* Calls its argument. The frame pointer does not lead to the caller. */
static const unsigned char code[] = {
	0x55,			/* 0 push %rbp */
	0x31, 0xed,		/* 1 xor %ebp, %ebp */
	0xff, 0xd7,		/* 3 call *%rdi */
	0x5d,			/* 5 pop %rbp */
	0xc3,			/* 6 ret */
};

/* Calls its argument in the same place, with another frame. */
static const unsigned char other_code[] = {
	0x50,			/* 0 push %rax */
	0x50,			/* 1 push %rax */
	0x50,			/* 2 push %rax */
	0xff, 0xd7,		/* 3 call *%rdi */
	0x48, 0x83, 0xc4, 24,	/* 5 add $24, %rsp */
	0xc3,			/* 9 ret */
};

#define CALL_END	5

static const unsigned char cie[] = {
	20, 0, 0, 0,		/* length */
	0, 0, 0, 0,		/* CIE */
	1, 0,			/* version, augmentation */
	1, 0x78, 16,		/* alignment of code and data, column */
	0x0c, 7, 8,		/* CFA = rsp + 8 */
	0x90, 1,		/* return address at CFA - 8 */
	0, 0, 0, 0, 0, 0,
};

static const unsigned char instructions[] = {
	0x41, 0x0e, 16,		/* 1: CFA = rsp + 16, */
	0x86, 2,		/* rbp at CFA - 16 */
	0x45, 0x0e, 8, 0xc6,	/* 6: CFA = rsp + 8 */
};

static const unsigned char other_instructions[] = {
	0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32,
	0x46, 0x0e, 8,		/* 9: CFA = rsp + 8 */
};

#define ROOM		64		/* for one function */
#define FDE_SIZE	40

/* Write code, and its FDE to @at, for a CIE at @cie_at. Returns the FDE's end. */
static unsigned char *emit(unsigned char *text, bool is_other, unsigned char *at,
			   const unsigned char *cie_at)
{
	memcpy(text, is_other ? other_code : code,
	       is_other ? sizeof(other_code) : sizeof(code));
	memset(at, 0, FDE_SIZE);
	put32(at, FDE_SIZE - 4);
	put32(at + 4, at + 4 - cie_at);
	put64(at + 8, (uintptr_t)text);
	put64(at + 16, is_other ? sizeof(other_code) : sizeof(code));
	memcpy(at + 24, is_other ? other_instructions : instructions,
	       is_other ? sizeof(other_instructions) : sizeof(instructions));
	return at + FDE_SIZE;
}

/**
 * struct jit - generated code
 *
 * @text: its function; a page, and another one behind it.
 * @eh_frame: its section.
 */
struct jit {
	unsigned char *text;
	unsigned char eh_frame[sizeof(cie) + FDE_SIZE + 4];
};

static bool allocate(struct jit *jit, int protection)
{
	jit->text = mmap(NULL, 2 * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	return jit->text != MAP_FAILED;
}

static void generate(struct jit *jit, bool is_other)
{
	unsigned char *end;

	memcpy(jit->eh_frame, cie, sizeof(cie));
	end = emit(jit->text, is_other, jit->eh_frame + sizeof(cie),
		   jit->eh_frame);
	put32(end, 0);
}

static bool make(struct jit *jit, bool is_other)
{
	if (!allocate(jit, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	generate(jit, is_other);
	return true;
}

static void unmake(struct jit *jit)
{
	munmap(jit->text, 2 * PAGE);
}

/*
 * Stacks
 */

static struct sframe_unwind *handle;

/* What take() has found. */
static __thread uint64_t ips[16];
static __thread int nr_ips;
static __thread unsigned int nr_by_libgcc;
static __thread uint64_t by_libgcc[16];

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *data)
{
	(void)data;
	if (nr_by_libgcc < 16)
		by_libgcc[nr_by_libgcc++] = _Unwind_GetIP(context);
	return nr_by_libgcc < 16 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static __attribute__((noinline)) void take(void)
{
	nr_ips = sframe_unwind_own_stack(handle, 0, ips, NULL, 16, NULL);
	asm volatile("" ::: "memory");
}

static __attribute__((noinline)) void take_both(void)
{
	nr_by_libgcc = 0;
	_Unwind_Backtrace(note, NULL);
	take();
	asm volatile("" ::: "memory");
}

typedef void (*jit_fn)(void (*callback)(void));

static __attribute__((noinline)) void call(const struct jit *jit,
					   void (*callback)(void))
{
	((jit_fn)jit->text)(callback);
	asm volatile("" ::: "memory");
}

/*
 * Returns the frames of a stack through @jit: up to its frame, or also to its caller and
 * further; 0 if it is wrong.
 */
enum { WRONG, TO_JIT, BEYOND };

static int stack_of(const struct jit *jit)
{
	call(jit, take);
	if (nr_ips < 3 || !inside(ips[1], take, 256) ||
	    ips[2] != (uintptr_t)jit->text + CALL_END)
		return WRONG;
	if (nr_ips == 3)
		return TO_JIT;
	return inside(ips[3], call, 128) && nr_ips > 4 ? BEYOND : WRONG;
}

FIXTURE(jit)
{
	int fd;
	struct jit jit;
	unsigned int before;
};

FIXTURE_SETUP(jit)
{
	ASSERT_EQ(0, sframe_unwind_open(&handle, 0));
	self->fd = sframe_unwind_fd(handle);
	self->before = count_sections(self->fd);
	ASSERT_TRUE(make(&self->jit, false));
	ASSERT_EQ(TO_JIT, stack_of(&self->jit));
}

FIXTURE_TEARDOWN(jit)
{
	EXPECT_EQ(self->before, count_sections(self->fd));
	unmake(&self->jit);
	sframe_unwind_close(handle);
}

/* libgcc unwinds through the code, too: the call has been passed on. */
TEST_F(jit, announced)
{
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	call(&self->jit, take_both);
	ASSERT_LT(3, nr_by_libgcc);
	EXPECT_EQ((uintptr_t)self->jit.text + CALL_END, by_libgcc[1]);
	EXPECT_TRUE(inside(by_libgcc[2], call, 128));

	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	call(&self->jit, take_both);
	EXPECT_EQ(2, nr_by_libgcc);
}

/* Only one of several functions, as LLVM announces them to its own unwinder. */
TEST_F(jit, one_function)
{
	unsigned char *fde = self->jit.eh_frame + sizeof(cie);

	__register_frame(fde);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(fde);
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
}

TEST_F(jit, other_forms)
{
	void *table[] = { self->jit.eh_frame, NULL };
	char object[64] = {};

	__register_frame_info(self->jit.eh_frame, object);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	EXPECT_EQ((void *)object, __deregister_frame_info(self->jit.eh_frame));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));

	__register_frame_info_bases(self->jit.eh_frame, object, NULL, NULL);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	EXPECT_EQ((void *)object, __deregister_frame_info_bases(self->jit.eh_frame));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));

	__register_frame_info_table(table, object);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	EXPECT_EQ((void *)object, __deregister_frame_info(table));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
}

TEST_F(jit, table_of_two)
{
	struct jit second;
	void *table[] = { self->jit.eh_frame, second.eh_frame, NULL };

	ASSERT_TRUE(make(&second, true));
	__register_frame_table(table);
	EXPECT_EQ(self->before + 2, count_sections(self->fd));
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	EXPECT_EQ(BEYOND, stack_of(&second));
	__deregister_frame(table);
	EXPECT_EQ(self->before, count_sections(self->fd));
	unmake(&second);
}

/* LLVM's MCJIT announces code that is not executable yet. */
TEST_F(jit, executable_later)
{
	struct jit late;

	ASSERT_TRUE(allocate(&late, PROT_READ | PROT_WRITE));
	generate(&late, false);
	__register_frame(late.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	/* Another page. */
	ASSERT_EQ(0, mprotect(late.text + PAGE, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(self->before, count_sections(self->fd));
	ASSERT_EQ(0, mprotect(late.text, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	EXPECT_EQ(BEYOND, stack_of(&late));
	__deregister_frame(late.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));

	/* And code that never becomes executable. */
	ASSERT_EQ(0, mprotect(late.text, PAGE, PROT_READ | PROT_WRITE));
	__register_frame(late.eh_frame);
	__deregister_frame(late.eh_frame);
	ASSERT_EQ(0, mprotect(late.text, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(self->before, count_sections(self->fd));
	unmake(&late);
}

/* Other code in the place of code that was never taken back. */
TEST_F(jit, reused_code)
{
	struct jit second;

	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	second.text = self->jit.text;
	generate(&second, true);
	__register_frame(second.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	EXPECT_EQ(BEYOND, stack_of(&second));
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&second));
	__deregister_frame(second.eh_frame);
}

/* The same, with the .eh_frame in the same place. */
TEST_F(jit, reused_section)
{
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
	generate(&self->jit, true);
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
}

/* Give the function a rule that has no form in SFrame: CFA = *rsp + rax. */
static void make_formless(struct jit *jit)
{
	memcpy(jit->eh_frame + sizeof(cie) + 24, "\x0f\x06\x77\x00\x06\x70\x00\x22", 8);
}

/* Objects announce their own .eh_frame if they find libgcc: it is no generated code. */
TEST_F(jit, objects)
{
	static unsigned char own[sizeof(self->jit.eh_frame)];

	/* In memory of the program, for generated code. */
	memcpy(own, self->jit.eh_frame, sizeof(own));
	__register_frame(own);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	__deregister_frame(own);
	/* For code of the program. */
	put64(own + sizeof(cie) + 8, (uintptr_t)call);
	__register_frame(own);
	EXPECT_EQ(self->before, count_sections(self->fd));
	__deregister_frame(own);
}

/* What cannot be converted is passed on all the same. */
TEST_F(jit, not_converted)
{
	make_formless(&self->jit);
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
}

/* Nor is the rule of older code in its place used for it. */
TEST_F(jit, not_converted_in_reused_memory)
{
	struct jit second;

	__register_frame(self->jit.eh_frame);
	second.text = self->jit.text;
	generate(&second, true);
	make_formless(&second);
	__register_frame(second.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	EXPECT_EQ(TO_JIT, stack_of(&second));
	__deregister_frame(second.eh_frame);
	__deregister_frame(self->jit.eh_frame);
}

/* Code that waits, and was never taken back, gives way to newer code. */
TEST_F(jit, reused_before_executable)
{
	struct jit older, newer;

	ASSERT_TRUE(allocate(&older, PROT_READ | PROT_WRITE));
	generate(&older, false);
	__register_frame(older.eh_frame);
	newer.text = older.text;
	generate(&newer, true);
	__register_frame(newer.eh_frame);
	ASSERT_EQ(0, mprotect(newer.text, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(BEYOND, stack_of(&newer));
	ASSERT_EQ(0, mprotect(newer.text, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(BEYOND, stack_of(&newer));
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	__deregister_frame(older.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&newer));
	__deregister_frame(newer.eh_frame);
	unmake(&older);
}

/* Functions of two sections between each other. */
TEST_F(jit, interleaved)
{
	unsigned char first[sizeof(cie) + 2 * FDE_SIZE + 4], second[sizeof(cie) + FDE_SIZE + 4];
	struct jit functions[3];
	unsigned char *at;
	unsigned int i, order;

	for (i = 0; i < 3; i++)
		functions[i].text = self->jit.text + 32 * (i + 1);
	memcpy(first, cie, sizeof(cie));
	memcpy(second, cie, sizeof(cie));
	at = emit(functions[0].text, false, first + sizeof(cie), first);
	at = emit(functions[2].text, false, at, first);
	put32(at, 0);
	at = emit(functions[1].text, true, second + sizeof(cie), second);
	put32(at, 0);
	for (order = 0; order < 2; order++) {
		__register_frame(order ? first : second);
		__register_frame(order ? second : first);
		for (i = 0; i < 3; i++)
			EXPECT_EQ(BEYOND, stack_of(&functions[i]));
		__deregister_frame(second);
		EXPECT_EQ(BEYOND, stack_of(&functions[0]));
		EXPECT_EQ(TO_JIT, stack_of(&functions[1]));
		EXPECT_EQ(BEYOND, stack_of(&functions[2]));
		__deregister_frame(first);
	}
}

TEST_F(jit, fork)
{
	int status;
	pid_t child;

	__register_frame(self->jit.eh_frame);
	child = fork();
	if (!child) {
		int result = stack_of(&self->jit) != BEYOND;

		__deregister_frame(self->jit.eh_frame);
		result |= stack_of(&self->jit) != TO_JIT;
		__register_frame(self->jit.eh_frame);
		result |= stack_of(&self->jit) != BEYOND;
		_exit(result);
	}
	ASSERT_LT(0, child);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
}

/* A daemon closes all descriptors, or uses the numbers for other files. */
TEST_F(jit, descriptors_gone)
{
	struct sframe_unwind *mine;
	int i;

	ASSERT_EQ(0, close_range(3, ~0U, 0));
	ASSERT_EQ(0, sframe_unwind_open(&mine, 0));
	handle = mine;
	self->fd = sframe_unwind_fd(mine);
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));

	for (i = 500; i < 600; i++)
		ASSERT_EQ(i, dup2(STDERR_FILENO, i));
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
	for (i = 500; i < 600; i++)
		EXPECT_EQ(0, close(i));
}

/* Code that cannot be unregistered for want of descriptors is so later. */
TEST_F(jit, no_descriptor)
{
	const struct rlimit none = { 3, 4096 }, many = { 1024, 4096 };
	struct jit second;

	ASSERT_TRUE(make(&second, true));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	ASSERT_EQ(0, close_range(500, ~0U, 0));
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(self->before + 1, count_sections(self->fd));
	__register_frame(second.eh_frame);
	EXPECT_EQ(TO_JIT, stack_of(&second));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &many));
	__deregister_frame(second.eh_frame);
	EXPECT_EQ(self->before, count_sections(self->fd));
	EXPECT_EQ(TO_JIT, stack_of(&self->jit));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	__deregister_frame(self->jit.eh_frame);
	unmake(&second);
}

/* A few descriptors: ours is not among the lowest. */
TEST_F(jit, small_limit)
{
	const struct rlimit few = { 64, 4096 };
	int fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	ASSERT_EQ(0, close_range(500, ~0U, 0));
	__register_frame(self->jit.eh_frame);
	EXPECT_EQ(BEYOND, stack_of(&self->jit));
	fd = dup(STDERR_FILENO);
	EXPECT_EQ(self->fd + 1, fd);
	close(fd);
	__deregister_frame(self->jit.eh_frame);
}

/* The calls are no cancellation points, and leave no lock held. */
static void *announce_cancelled(void *data)
{
	struct jit *jit = data;

	pthread_cancel(pthread_self());
	close_range(500, ~0U, 0);
	__register_frame(jit->eh_frame);
	close_range(500, ~0U, 0);
	mprotect(jit->text, PAGE, PROT_READ | PROT_EXEC);
	jit->text = NULL;
	pthread_testcancel();
	return NULL;
}

TEST_F(jit, cancelled)
{
	pthread_t thread;
	struct jit other;
	void *result, *text;

	ASSERT_TRUE(allocate(&other, PROT_READ | PROT_WRITE));
	generate(&other, false);
	text = other.text;
	ASSERT_EQ(0, pthread_create(&thread, NULL, announce_cancelled, &other));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(PTHREAD_CANCELED, result);
	EXPECT_EQ(NULL, (void *)other.text);
	other.text = text;
	EXPECT_EQ(BEYOND, stack_of(&other));
	__deregister_frame(other.eh_frame);
	unmake(&other);
}

/* Signal handlers that fork, at any time. */
static volatile sig_atomic_t nr_forks, nr_bad_children;

static void fork_in_handler(int signal)
{
	const int old_errno = errno;
	const pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		nr_bad_children++;
	nr_forks++;
	errno = old_errno;
}

TEST_F(jit, forks_in_handlers)
{
	const struct sigaction action = {
		.sa_handler = fork_in_handler,
		.sa_flags = SA_RESTART,
	};
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = {};
	struct jit late;

	/* While code waits, mprotect() takes the lock. */
	ASSERT_TRUE(allocate(&late, PROT_READ | PROT_WRITE));
	generate(&late, false);
	__register_frame(late.eh_frame);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	while (nr_forks < 100)
		mprotect(late.text + PAGE, PAGE, PROT_READ | PROT_EXEC);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_EQ(0, nr_bad_children);
	__deregister_frame(late.eh_frame);
	unmake(&late);
}

/* errno is the program's. */
TEST_F(jit, errno_is_kept)
{
	errno = 4711;
	__register_frame(self->jit.eh_frame);
	__deregister_frame(self->jit.eh_frame);
	EXPECT_EQ(0, mprotect(self->jit.text, PAGE,
			      PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_EQ(4711, errno);
	EXPECT_EQ(-1, mprotect(self->jit.text + 1, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(jit, many_functions)
{
	const size_t size = NR_FUNCTIONS * ROOM;
	unsigned char *eh_frame, *at;
	struct jit many;
	unsigned int i;

	many.text = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	eh_frame = malloc(sizeof(cie) + NR_FUNCTIONS * FDE_SIZE + 4);
	ASSERT_NE(MAP_FAILED, (void *)many.text);
	ASSERT_NE(NULL, eh_frame);
	memcpy(eh_frame, cie, sizeof(cie));
	at = eh_frame + sizeof(cie);
	for (i = 0; i < NR_FUNCTIONS; i++)
		at = emit(many.text + i * ROOM, i % 2, at, eh_frame);
	put32(at, 0);

	/* Each is a range, because other code may be between them. */
	__register_frame(eh_frame);
	EXPECT_EQ(self->before + NR_FUNCTIONS, count_sections(self->fd));
	for (i = 0; i < NR_FUNCTIONS; i++) {
		const struct jit one = { .text = many.text + i * ROOM };

		ASSERT_EQ(BEYOND, stack_of(&one));
	}
	__deregister_frame(eh_frame);
	free(eh_frame);
	munmap(many.text, size);
}

TEST_F(jit, many_sections)
{
	struct jit *all = calloc(NR_FUNCTIONS, sizeof(*all));
	unsigned char *text;
	unsigned int i;

	text = mmap(NULL, NR_FUNCTIONS * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)text);
	ASSERT_NE(NULL, all);
	for (i = 0; i < NR_FUNCTIONS; i++) {
		all[i].text = text + i * ROOM;
		generate(&all[i], i % 2);
		__register_frame(all[i].eh_frame);
	}
	EXPECT_EQ(self->before + NR_FUNCTIONS, count_sections(self->fd));
	for (i = 0; i < NR_FUNCTIONS; i++)
		ASSERT_EQ(BEYOND, stack_of(&all[i]));
	for (i = 0; i < NR_FUNCTIONS; i += 2)
		__deregister_frame(all[i].eh_frame);
	for (i = 0; i < NR_FUNCTIONS; i++)
		ASSERT_EQ(i % 2 ? BEYOND : TO_JIT, stack_of(&all[i]));
	for (i = 1; i < NR_FUNCTIONS; i += 2)
		__deregister_frame(all[i].eh_frame);
	munmap(text, NR_FUNCTIONS * ROOM);
	free(all);
}

/* Threads generate, call and take back code in the same memory again and again. */
static void *churn(void *data)
{
	struct jit jit;
	long wrong = 0;
	int i;

	(void)data;
	if (!allocate(&jit, PROT_READ | PROT_WRITE))
		return (void *)1L;
	for (i = 0; i < ROUNDS; i++) {
		wrong += mprotect(jit.text, PAGE, PROT_READ | PROT_WRITE) != 0;
		generate(&jit, i % 2);
		__register_frame(jit.eh_frame);
		wrong += mprotect(jit.text, PAGE, PROT_READ | PROT_EXEC) != 0;
		wrong += stack_of(&jit) != BEYOND;
		__deregister_frame(jit.eh_frame);
		wrong += stack_of(&jit) != TO_JIT;
	}
	unmake(&jit);
	return (void *)wrong;
}

TEST_F(jit, threads)
{
	pthread_t threads[NR_THREADS];
	void *wrong;
	int i;

	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, churn, NULL));
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &wrong));
		EXPECT_EQ(NULL, wrong);
	}
}

/*
 * Registrations by a thread while another one forks. The children do not announce code, because
 * libgcc's own lock may have been held at the fork.
 */
TEST_F(jit, threads_and_forks)
{
	pthread_t thread;
	struct jit late;
	void *wrong;
	int i, status;

	ASSERT_TRUE(allocate(&late, PROT_READ | PROT_WRITE));
	generate(&late, true);
	__register_frame(late.eh_frame);
	__register_frame(self->jit.eh_frame);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, NULL));
	for (i = 0; i < 100; i++) {
		const pid_t child = fork();

		if (!child) {
			alarm(30);
			if (mprotect(late.text, PAGE, PROT_READ | PROT_EXEC))
				_exit(1);
			_exit(stack_of(&late) != BEYOND ||
			      stack_of(&self->jit) != BEYOND);
		}
		ASSERT_LT(0, child);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, pthread_join(thread, &wrong));
	EXPECT_EQ(NULL, wrong);
	__deregister_frame(late.eh_frame);
	__deregister_frame(self->jit.eh_frame);
	unmake(&late);
}

TEST_HARNESS_MAIN
