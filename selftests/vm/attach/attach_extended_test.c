// SPDX-License-Identifier: GPL-2.0
/*
 * Extended sections: who may attach them, and walks by rules that SFrame V3 has no
 * form for: CFAs in memory, in a register that a callee has saved or not changed, on
 * another stack.
 */
#include "attach.h"
#include "extended_section.h"

#define EXTENDED	SFRAME_UNWIND_ATTACH_EXTENDED

/*
 * Functions that are called as function(fd, cmd, arg, sp, next), by their offset in the
 * file's code; and return addresses in them.
 */
enum {
	REQUEST = 0,	/* requests a stack */
	SAVE = 0x10,	/* saves rbx, changes it, calls REQUEST */
	SAVE_RA = 0x18,
	SWITCH = 0x20,	/* keeps rsp in rbx, sets it to sp, calls next */
	SWITCH_RA = 0x2a,
	KEEP = 0x30,	/* keeps rsp in memory, calls next */
	KEEP_RA = 0x3f,
	CIRCLE = 0x50,	/* sets rsp to sp, calls REQUEST; its CFA is in memory */
	CIRCLE_RA = 0x5c,
	BASE = 0x70,	/* keeps rsp in r9, calls next */
	BASE_RA = 0x7a,
	CODE_SIZE = 0x7f
};

static const uint8_t code[CODE_SIZE] = {
	[REQUEST] = 0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05, 0xc3,				/* syscall; ret */
	[SAVE] = 0x53, 0x31, 0xdb,			/* push %rbx; xor %ebx,%ebx */
	0xe8, 0xe8, 0xff, 0xff, 0xff,			/* call REQUEST */
	0x5b, 0xc3,					/* pop %rbx; ret */
	[SWITCH] = 0x53, 0x48, 0x89, 0xe3,		/* push %rbx; mov %rsp,%rbx */
	0x48, 0x89, 0xcc, 0x41, 0xff, 0xd0,		/* mov %rcx,%rsp; call *%r8 */
	0x48, 0x89, 0xdc, 0x5b, 0xc3,			/* mov %rbx,%rsp; pop; ret */
	[KEEP] = 0x48, 0x89, 0xe0,			/* mov %rsp,%rax */
	0x48, 0x83, 0xec, 0x28,				/* sub $40,%rsp */
	0x48, 0x89, 0x44, 0x24, 0x10,			/* mov %rax,16(%rsp) */
	0x41, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3,	/* call *%r8; add; ret */
	[CIRCLE] = 0x53, 0x48, 0x89, 0xe3, 0x48, 0x89, 0xcc,
	0xe8, 0xa4, 0xff, 0xff, 0xff,			/* call REQUEST */
	0x48, 0x89, 0xdc, 0x5b, 0xc3,
	[BASE] = 0x49, 0x89, 0xe1,			/* mov %rsp,%r9 */
	0x48, 0x83, 0xec, 0x28, 0x41, 0xff, 0xd0,	/* sub $40,%rsp; call *%r8 */
	0x48, 0x83, 0xc4, 0x28, 0xc3,			/* add; ret */
};

#define NR_ROWS	17

/*
 * Flexible rows: start, info, words. 0x39 is rsp + n, 0x19 rbx + n, 0x49 r9 + n, 0x3f
 * *(rsp + n) + m.
 */
static const uint8_t rows[] = {
	0x00, 0x04, 0x39, 8,
	0x11, 0x04, 0x39, 16,
	0x19, 0x04, 0x39, 8,
	0x21, 0x04, 0x39, 16,
	0x24, 0x04, 0x19, 16,
	0x2d, 0x04, 0x39, 16,
	0x2e, 0x04, 0x39, 8,
	0x37, 0x04, 0x39, 48,
	0x3c, 0x06, 0x3f, 16, 8,
	0x3f, 0x04, 0x39, 48,
	0x43, 0x04, 0x39, 8,
	0x51, 0x04, 0x39, 16,
	0x57, 0x06, 0x3f, 16, 8,
	0x5f, 0x04, 0x39, 16,
	0x60, 0x04, 0x39, 8,
	0x73, 0x04, 0x49, 8,
	0x7e, 0x04, 0x39, 8,
};

_Static_assert(sizeof(rows) <= EXTENDED_ROWS, "rows do not fit");

static struct extended_section make_section(void)
{
	struct extended_section section =
		extended_section(CODE_SIZE, rows, sizeof(rows), NR_ROWS);
	static const struct extended_run runs[EXTENDED_RUNS] = {
		{ 0, 0 }, { SAVE, 1 }, { KEEP, 0 }, { CIRCLE, 1 }, { BASE, 0 },
		{ BASE_RA - 1, 2 }, { BASE_RA, 0 }
	};

	memcpy(section.runs, runs, sizeof(runs));
	return section;
}

#define AT(member)	EXTENDED_AT(member)

FIXTURE(extended)
{
	int fd;
	unsigned char *at;
	struct extended_section section;
	struct sframe_unwind_attach arg;
	char message[256];
};

FIXTURE_SETUP(extended)
{
	struct elf_base elf;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&elf);
	elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	memcpy(elf.small, code, sizeof(code));
	self->section = make_section();
	self->arg = (struct sframe_unwind_attach) {
		.size = sizeof(self->arg),
		.flags = EXTENDED,
		.elf_fd = make_file(&elf, sizeof(elf)),
		.sframe_fd = make_file(&self->section, sizeof(self->section)),
		.sframe_size = sizeof(self->section),
		.build_id_size = ELF_ID_SIZE,
		.message = (uintptr_t)self->message,
		.message_size = sizeof(self->message),
	};
	memcpy(self->arg.build_id, elf.note.id, ELF_ID_SIZE);
	ASSERT_LE(0, self->arg.elf_fd);
	ASSERT_LE(0, self->arg.sframe_fd);
	self->at = map_elf(self->arg.elf_fd);
	ASSERT_NE(NULL, self->at);
}

FIXTURE_TEARDOWN(extended)
{
	unmap_elf(self->at);
	close(self->arg.sframe_fd);
	close(self->arg.elf_fd);
	close(self->fd);
}

TEST_F(extended, needs_its_flag)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_QUERY, &query));
	EXPECT_TRUE(query.features & SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED);
	self->arg.flags = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(AT(auxhdr_len), self->arg.defect_offset);
	self->arg.flags = EXTENDED;
	EXPECT_EQ(0, attach(self->fd, &self->arg))
	{
		TH_LOG("%s", self->message);
	}
}

TEST_F(extended, section_without_extensions)
{
	const struct elf_sframe sframe = elf_sframe_at(0);

	self->arg.sframe_size = sizeof(sframe);
	ASSERT_EQ(sizeof(sframe), pwrite(self->arg.sframe_fd, &sframe,
					 sizeof(sframe), 0));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

TEST_F(extended, not_with_share)
{
	self->arg.flags |= SFRAME_UNWIND_ATTACH_INODE;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	self->arg.flags |= SFRAME_UNWIND_ATTACH_SHARE;
	self->arg.share_id = self->arg.id;
	self->arg.sframe_size = 0;
	close(self->arg.sframe_fd);
	self->arg.sframe_fd = -1;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.flags &= ~EXTENDED;
	EXPECT_EQ(0, attach(self->fd, &self->arg))
	{
		TH_LOG("%s", self->message);
	}
}

/* The sections of corpus/extended are refused for what its EXPECT says. */
TEST_F(extended, sections_are_validated)
{
	FILE *expect = fopen("corpus/extended/EXPECT", "r");
	char line[1024], name[64], defect[128], path[128];
	unsigned int nr = 0, offset;

	ASSERT_NE(NULL, expect);
	while (fgets(line, sizeof(line), expect)) {
		if (line[0] == '#')
			continue;
		ASSERT_EQ(3, sscanf(line, "%63[^\t]\t%x\t%127[^\t]", name,
				    &offset, defect));
		snprintf(path, sizeof(path), "corpus/extended/%s.sframe", name);
		close(self->arg.sframe_fd);
		self->arg.sframe_fd = open(path, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, self->arg.sframe_fd);
		self->arg.sframe_size = lseek(self->arg.sframe_fd, 0, SEEK_END);
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(offset, self->arg.defect_offset)
		{
			TH_LOG("%s", name);
		}
		EXPECT_NE(NULL, strstr(self->message, defect))
		{
			TH_LOG("%s: %s", name, self->message);
		}
		nr++;
	}
	fclose(expect);
	EXPECT_LT(20, nr);
}

typedef long (*function_t)(int fd, unsigned long cmd, void *arg, void *sp,
			   const void *next);

static __attribute__((noinline)) long
call_code(const void *function, int fd, struct sframe_unwind_request *request,
	  void *sp, const void *next)
{
	const long ret = ((function_t)(uintptr_t)function)
		(fd, SFRAME_UNWIND_IOC_REQUEST, request, sp, next);

	asm volatile("" ::: "memory");	/* no tail call */
	return ret;
}

/* Whether frame @i of @stack is in call_code(). */
static bool is_caller(const struct stack *stack, unsigned int i)
{
	return i < stack->head.nr_frames &&
	       stack->head.ips[i] - (uintptr_t)call_code < 128 &&
	       how(stack, i) == SFRAME_UNWIND_FRAME_SFRAME;
}

TEST_F(extended, cfa_in_memory)
{
	struct sframe_unwind_request request = request_self();
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	struct stack stack;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, call_code(start + KEEP, self->fd, &request, NULL,
				       start));
		ASSERT_STACK(self->fd, &stack);
		EXPECT_EQ((uintptr_t)start + KEEP_RA, stack.head.ips[1]);
		EXPECT_TRUE(is_caller(&stack, 2));
	}
}

/* Call SWITCH, on a stack that ends at @sp; it calls @next. */
static bool can_leave_stack(int fd, const unsigned char *start, void *sp,
			    int next)
{
	struct sframe_unwind_request request = request_self();
	const unsigned int inner = next == SAVE ? 2 : 1;
	struct stack stack;

	if (call_code(start + SWITCH, fd, &request, sp, start + next) ||
	    read_stack(fd, &stack))
		return false;
	fprintf(stderr, "# %u frames, stop %u\n", stack.head.nr_frames,
		stack.head.stop);
	return stack.head.nr_frames > inner + 1 &&
	       stack.head.ips[inner] == (uintptr_t)start + SWITCH_RA &&
	       is_caller(&stack, inner + 1);
}

TEST_F(extended, cfa_in_a_saved_register)
{
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	void *above[1024] __attribute__((aligned(16)));
	char *below;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	below = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, below);
	/* Twice, the second time with cached rules. */
	for (int i = 0; i < 2; i++) {
		EXPECT_TRUE(can_leave_stack(self->fd, start, below + 0x4000,
					    SAVE));
		EXPECT_TRUE(can_leave_stack(self->fd, start, below + 0x4000,
					    REQUEST));
		/* The CFA of SWITCH is below its stack pointer. */
		EXPECT_TRUE(can_leave_stack(self->fd, start, above + 1024,
					    SAVE));
		EXPECT_TRUE(can_leave_stack(self->fd, start, above + 1024,
					    REQUEST));
	}
	munmap(below, 0x4000);
}

/* Without the tables, the register is unknown. */
TEST_F(extended, no_layout)
{
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	struct sframe_unwind_request request = request_self();
	void *above[1024] __attribute__((aligned(16)));
	struct stack stack;

	self->section.layouts[1][0] = 255;
	ASSERT_EQ(sizeof(self->section),
		  pwrite(self->arg.sframe_fd, &self->section,
			 sizeof(self->section), 0));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, call_code(start + SWITCH, self->fd, &request, above + 1024,
			       start + SAVE));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(3, stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_REGISTER, stack.head.stop);
}

/*
 * Call BASE, which calls @next. Returns the stop reason if the stack ends there, 0 if it
 * goes on with the caller, or -1.
 */
static int stop_in_base(int fd, const unsigned char *start,
			const unsigned char *next, unsigned int inner)
{
	struct sframe_unwind_request request = request_self();
	struct stack stack;

	if (call_code(start + BASE, fd, &request, NULL, next) ||
	    read_stack(fd, &stack) || stack.head.nr_frames <= inner ||
	    stack.head.ips[inner] != (uintptr_t)start + BASE_RA)
		return -1;
	if (stack.head.nr_frames == inner + 1)
		return stack.head.stop;
	return is_caller(&stack, inner + 1) ? 0 : -1;
}

TEST_F(extended, cfa_in_a_kept_register)
{
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	unsigned char *const other = map_elf(self->arg.elf_fd);

	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	/* Twice, the second time with cached rules. */
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, stop_in_base(self->fd, start, start + REQUEST, 1));
		/* The function between these may change it. */
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_REGISTER,
			  stop_in_base(self->fd, start, start + SAVE, 2));
		/* The call does not lead to another file. */
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_REGISTER,
			  stop_in_base(self->fd, start,
				       other + ELF_SMALL_VADDR + REQUEST, 1));
	}
	unmap_elf(other);
}

/* Nothing says that the call keeps it. */
TEST_F(extended, register_that_is_not_kept)
{
	unsigned char *const start = self->at + ELF_SMALL_VADDR;

	self->section.layouts[2][5] = 0;
	ASSERT_EQ(sizeof(self->section),
		  pwrite(self->arg.sframe_fd, &self->section,
			 sizeof(self->section), 0));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_REGISTER,
		  stop_in_base(self->fd, start, start + REQUEST, 1));
}

/* Two frames whose CFAs lead to each other. */
TEST_F(extended, circle)
{
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	struct sframe_unwind_request request = request_self();
	uintptr_t area[128] __attribute__((aligned(16))) = { 0 };
	uintptr_t *const sp = area + 64;
	const uintptr_t ra = (uintptr_t)start + CIRCLE_RA;
	struct stack stack;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	/* The CFA of the first frame is sp + 10, then that is sp + 4, then sp + 10. */
	sp[2] = (uintptr_t)&sp[9];
	sp[9] = ra;
	sp[12] = (uintptr_t)&sp[3];
	sp[3] = ra;
	sp[6] = (uintptr_t)&sp[9];
	ASSERT_EQ(0, call_code(start + CIRCLE, self->fd, &request, sp, NULL));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_PROGRESS, stack.head.stop);
	EXPECT_GE(8, stack.head.nr_frames);
}

/* Steps to lower addresses are limited, even without a circle. */
TEST_F(extended, many_switches)
{
	enum { STEPS = 100, WORDS = 8 };
	unsigned char *const start = self->at + ELF_SMALL_VADDR;
	struct sframe_unwind_request request = request_self();
	static uintptr_t area[(STEPS + 2) * WORDS + 64];
	uintptr_t *sp = area + STEPS * WORDS + 64;
	void *const first = sp;
	struct stack stack;

	request.max_depth = 128;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (int i = 0; i < STEPS; i++, sp -= WORDS) {
		sp[2] = (uintptr_t)(sp - WORDS - 1);
		sp[-WORDS - 1] = (uintptr_t)start + CIRCLE_RA;
	}
	ASSERT_EQ(0, call_code(start + CIRCLE, self->fd, &request, first, NULL));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_PROGRESS, stack.head.stop);
	EXPECT_EQ(2 + 64, stack.head.nr_frames);
}

TEST_HARNESS_MAIN
