// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel gives the results of corpus/EXPECT for each file of corpus/: when
 * it is registered, when it is validated, and in walks through code that it
 * describes. unit/corpus_test.c checks decode and step against the same lines.
 */
#include "common.h"
#include "../fixtures/corpus.h"
#include "scene.h"

#define DIRECTORY	"corpus"
#define MIN_FILES	200

FIXTURE(corpus)
{
	int fd;
	FILE *expect;
	struct corpus_line line;
	struct stack stack;
	struct sframe_unwind_register reg;
	char message[192];
};

/* Address of @offset in the scene of the line. */
static unsigned char *scene_at(const struct corpus_line *line, u64 offset)
{
	return (unsigned char *)(uintptr_t)(line->address + offset);
}

static int make_scene(int fd, u64 address)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.flags = SFRAME_UNWIND_REGISTER_VALIDATE,
		.sframe_start = address + SCENE_OBSERVER,
		.sframe_size = sizeof(struct scene_observer),
		.text_start = address + SCENE_CALLERS,
		.text_size = SCENE_CALLERS_SIZE,
	};
	void *at = (void *)(uintptr_t)address;

	if (mmap(at, SCENE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		return -1;
	/*
	 * Memory is mapped at address 0 here; hide that it is NULL from the
	 * compiler.
	 */
	asm volatile("" : "+r"(at));
	scene_fill(at, address);
	return register_section(fd, &reg);
}

FIXTURE_SETUP(corpus)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, make_scene(self->fd, SCENE_ADDRESS));
	if (make_scene(self->fd, 0) && errno == EPERM)
		SKIP(return, "needs root, for memory at address 0");
	self->expect = corpus_open(DIRECTORY);
	ASSERT_NE(NULL, self->expect);
}

FIXTURE_TEARDOWN(corpus)
{
	if (self->expect)
		fclose(self->expect);
	close(self->fd);
}

/*
 * Read the next line and copy its section into the scene. Returns as
 * corpus_next().
 */
static int next_file(FIXTURE_DATA(corpus) *self)
{
	const int ret = corpus_next(self->expect, &self->line);
	long size;

	if (ret <= 0)
		return ret;
	memset(scene_at(&self->line, 0), 0, sizeof(base));
	size = corpus_read(DIRECTORY, &self->line, scene_at(&self->line, 0),
			   sizeof(base));
	if (size < 0)
		return -1;
	self->message[0] = '\0';
	self->reg = (struct sframe_unwind_register) {
		.size = sizeof(self->reg),
		.sframe_start = self->line.address,
		.sframe_size = size,
		.text_start = self->line.address + SCENE_TEXT,
		.text_size = SCENE_TEXT_SIZE,
		.defect_offset = ~0ULL,
		.message = (uintptr_t)self->message,
		.message_size = sizeof(self->message),
	};
	return 1;
}

#define EXPECT_LINE(condition)						\
	EXPECT_TRUE(condition)						\
	{								\
		TH_LOG("%s: %s: errno %d, offset %#llx, \"%s\"",	\
		       self->line.name, self->line.what, errno,		\
		       self->reg.defect_offset, self->message);		\
	}

/*
 * Whether the message describes the defect. For versions it contains the
 * number.
 */
static bool is_told(const FIXTURE_DATA(corpus) *self)
{
	return strstr(self->message, self->line.defect) ||
	       (!strncmp(self->line.defect, "version is", 10) &&
		strstr(self->message, "version is"));
}

/* Only the header is checked, and its defects are reported. */
TEST_F(corpus, registered)
{
	unsigned int nr = 0;
	int ret, err;

	for (; (ret = next_file(self)) > 0; nr++) {
		err = register_section(self->fd, &self->reg) ? errno : 0;
		EXPECT_LINE(err == self->line.register_err);
		if (!err) {
			ASSERT_EQ(0, unregister_id(self->fd, self->reg.id));
			continue;
		}
		EXPECT_LINE(self->message[0] && !self->reg.id);
		/* An empty section is an error of the range, without a defect. */
		if (strcmp(self->line.stage, "open") || !self->reg.sframe_size)
			continue;
		EXPECT_LINE(self->reg.defect_offset == self->line.offset);
		EXPECT_LINE(is_told(self));
	}
	EXPECT_EQ(0, ret);
	EXPECT_LE(MIN_FILES, nr);
}

/*
 * The whole section is checked, so every defect that a lookup could find is
 * reported.
 */
TEST_F(corpus, validated)
{
	unsigned int nr = 0;
	int ret, err, want;

	for (; (ret = next_file(self)) > 0; nr++) {
		want = self->line.err ?: self->line.register_err;
		self->reg.flags = SFRAME_UNWIND_REGISTER_VALIDATE;
		err = register_section(self->fd, &self->reg) ? errno : 0;
		EXPECT_LINE(err == want);
		if (!err) {
			ASSERT_EQ(0, unregister_id(self->fd, self->reg.id));
			continue;
		}
		EXPECT_LINE(self->message[0] && !self->reg.id);
		if (!self->line.err || !self->reg.sframe_size)
			continue;
		EXPECT_LINE(self->reg.defect_offset == self->line.offset);
		EXPECT_LINE(is_told(self));
	}
	EXPECT_EQ(0, ret);
	EXPECT_LE(MIN_FILES, nr);
}

/* Expected frame type of the second frame of @walk, if there is one. */
static __u8 how_found(const struct corpus_walk *walk)
{
	const size_t length = strlen(walk->rule);

	return length > 7 && !strcmp(walk->rule + length - 7, " signal") ?
		       SFRAME_UNWIND_FRAME_SIGNAL : SFRAME_UNWIND_FRAME_SFRAME;
}

/*
 * Remove a last address outside the scenes, which a misaligned word can form.
 * decode and step report it; the module does not report such addresses.
 */
static void leave_out(struct corpus_walk *want)
{
	const u64 last = want->ips[want->nr_frames - 1];

	if (want->nr_frames < 2 || want->stop != SFRAME_UNWIND_STOP_NO_RULE ||
	    last <= SCENE_SIZE || last - SCENE_ADDRESS <= SCENE_SIZE)
		return;
	want->stop = SFRAME_UNWIND_STOP_BAD_ADDRESS;
	want->nr_frames--;
}

static bool is_as_expected(const FIXTURE_DATA(corpus) *self,
			   const struct corpus_walk *want)
{
	const struct stack *got = &self->stack;
	unsigned int i;

	if (got->head.stop != want->stop ||
	    got->head.nr_frames != want->nr_frames ||
	    got->head.ips[0] != self->line.address + want->pc)
		return false;
	for (i = 1; i < want->nr_frames; i++) {
		if (got->head.ips[i] != want->ips[i] ||
		    how(got, i) != (i == 1 ? how_found(want) :
					     SFRAME_UNWIND_FRAME_SFRAME))
			return false;
	}
	return true;
}

static void log_walk(const struct stack *stack)
{
	const unsigned int stop = stack->head.stop;
	unsigned int i;

	printf("#  got %s", stop_name(stop) ?: "?");
	for (i = 0; i < stack->head.nr_frames; i++)
		printf(" %#llx", stack->head.ips[i]);
	printf("\n");
}

/* Whether a section was removed since the last call. */
static bool was_removed(int fd, bool *was)
{
	struct sframe_unwind_stats now;
	static __u64 corrupt;

	if (stats(fd, &now))
		return false;
	*was = now.corrupt == corrupt + 1 && now.sections == 2;
	if (!*was && (now.corrupt != corrupt || now.sections != 3))
		return false;
	corrupt = now.corrupt;
	return true;
}

/* Walk from @walk's address. Returns false on error. */
static bool walk_from(FIXTURE_DATA(corpus) *self,
		      const struct corpus_walk *walk)
{
	unsigned char *at = scene_at(&self->line, walk->pc - SCENE_CODE_IP);
	struct sframe_unwind_request req = request_self();
	u64 regs[SCENE_NR_REGS];

	req.max_depth = SCENE_DEPTH;
	scene_registers(self->line.address, regs);
	memcpy(at, scene_code, sizeof(scene_code));
	return !enter_scene((__u64 *)regs, at, self->fd, &req,
			    SFRAME_UNWIND_IOC_REQUEST);
}

#define EXPECT_WALK(walk)						\
	EXPECT_TRUE(is_as_expected(self, walk))				\
	{								\
		TH_LOG("%s at %#llx: %s: \"%s\"", self->line.name,	\
		       (unsigned long long)(walk)->pc, self->line.what,	\
		       (walk)->rule);					\
		log_walk(&self->stack);					\
	}

TEST_F(corpus, walked)
{
	struct corpus_walk again;
	unsigned int i, nr = 0;
	bool removed;
	int ret;

	while ((ret = next_file(self)) > 0) {
		for (i = 0; i < self->line.nr_walks; i++, nr++) {
			struct corpus_walk *walk = &self->line.walks[i];

			leave_out(walk);
			ASSERT_EQ(0, register_section(self->fd, &self->reg));
			ASSERT_TRUE(walk_from(self, walk));
			ASSERT_STACK(self->fd, &self->stack);
			EXPECT_WALK(walk);
			/* A corrupt section is removed, any other stays. */
			ASSERT_TRUE(was_removed(self->fd, &removed));
			EXPECT_LINE(removed == !strcmp(walk->rule, "EINVAL"));

			/* Again: cached rules give the same result. */
			again = *walk;
			if (removed)
				again.stop = SFRAME_UNWIND_STOP_NO_RULE;
			ASSERT_TRUE(walk_from(self, walk));
			ASSERT_STACK(self->fd, &self->stack);
			EXPECT_WALK(&again);
			EXPECT_EQ(removed ? -1 : 0,
				  unregister_id(self->fd, self->reg.id));
		}
	}
	EXPECT_EQ(0, ret);
	EXPECT_LE(MIN_FILES, nr);
}

TEST_HARNESS_MAIN
