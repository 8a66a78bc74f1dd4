/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generated: code that a test generates and announces by __register_frame(), with jit.so
 * preloaded, and stacks through it.
 */
#ifndef SELFTESTS_GENERATED_H
#define SELFTESTS_GENERATED_H

#include <pthread.h>

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

static __attribute__((noinline)) void take(void)
{
	nr_ips = sframe_unwind_own_stack(handle, 0, ips, NULL, 16, NULL);
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

#endif /* SELFTESTS_GENERATED_H */
