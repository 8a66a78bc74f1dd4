// SPDX-License-Identifier: GPL-2.0
/*
 * Code that a program announces by __register_frame(), with jit.so preloaded: stacks go
 * through it, as libgcc's own unwinder does; for as long as it is there.
 */
#include <unwind.h>

#include "generated.h"

#define NR_FUNCTIONS	2000

/* What take_both() has found by libgcc. */
static unsigned int nr_by_libgcc;
static uint64_t by_libgcc[16];

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *data)
{
	(void)data;
	if (nr_by_libgcc < 16)
		by_libgcc[nr_by_libgcc++] = _Unwind_GetIP(context);
	return nr_by_libgcc < 16 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static __attribute__((noinline)) void take_both(void)
{
	nr_by_libgcc = 0;
	_Unwind_Backtrace(note, NULL);
	take();
	asm volatile("" ::: "memory");
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

TEST_HARNESS_MAIN
