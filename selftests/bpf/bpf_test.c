// SPDX-License-Identifier: GPL-2.0
/*
 * BPF: programs of each type request stacks and get them at once, by libbpf.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sframe_unwind.h>

#include "common.h"
#include "monitor.h"
#include "loading.h"

#define AT_ONCE_SINCE	612	/* 6.1 cannot tell whether rules are valid without waiting */
#define MODULE		"sframe_unwind"
#define MODULE_FILE	"/run/vm/modules/0.ko"	/* see qemu/guest */
#define TRACED_STACKS	"/sys/kernel/tracing/events/sframe_unwind/stack/enable"

static void say_errors(struct __test_metadata *_metadata, const char *what, const __u64 *of)
{
	for (int i = 0; i < NR_ERRORS; i++) {
		if (of[i])
			TH_LOG("%s: %llu times %s", what, of[i], strerror(i));
	}
}

static void say(struct __test_metadata *_metadata, const struct stacks__bss *got)
{
	TH_LOG("%llu events, %llu accepted, %llu stacks (%llu again), %llu credited, %llu lost, %llu at once, %llu elsewhere",
	       got->events, got->accepted, got->stacks, got->again, got->credited, got->lost,
	       got->at_once, got->elsewhere);
	say_errors(_metadata, "request", got->refused);
	say_errors(_metadata, "get_stack", got->not_now);
}

/* Nothing is missing, and nothing is there twice. */
static void expect_sums(struct __test_metadata *_metadata, const struct stacks__bss *got)
{
	say(_metadata, got);
	EXPECT_EQ(got->accepted, got->credited + got->lost);
	EXPECT_EQ(0, got->unknown);
	EXPECT_EQ(0, got->bad);
	for (int i = 0; i < NR_SLOTS; i++)
		ASSERT_EQ(0, got->waiting[i]);
	/*
	 * A timer also fires in the thread when that is exiting. The other errors need more
	 * threads or other programs.
	 */
	EXPECT_EQ(got->refused[EAGAIN] + got->refused[EINVAL], sum(got->refused));
	EXPECT_EQ(got->not_now[EAGAIN] + got->not_now[EINVAL], sum(got->not_now));
	EXPECT_GE(got->events / 20, got->refused[EINVAL] + got->not_now[EINVAL]);
}

/* That may need a moment after the last link is gone. */
static bool remove_module(const char *name)
{
	for (unsigned int i = 0; i < 100; i++) {
		if (!syscall(SYS_delete_module, name, O_NONBLOCK) || errno == ENOENT)
			return true;
		usleep(100000);
	}
	return false;
}

static bool load_module(void)
{
	int fd = open(MODULE_FILE, O_RDONLY | O_CLOEXEC);
	bool loaded = !syscall(SYS_finit_module, fd, "", 0);

	close(fd);
	return loaded;
}

static bool trace_stacks(const char *value)
{
	int fd = open(TRACED_STACKS, O_WRONLY | O_CLOEXEC);
	bool done = write(fd, value, 1) == 1;

	close(fd);
	return done;
}

/* --- each type of program */

/* Of each test of a type of program. */
static unsigned int seconds(void)
{
	const char *value = getenv("BPF_SECONDS");

	return value ? atoi(value) : 3;
}

FIXTURE(type)
{
	struct loaded l;
};

FIXTURE_VARIANT(type)
{
	const char *program;
	enum how how;
	unsigned int since;	/* the first kernel that loads it, version * 100 + level */
};

#define TYPE(name, how_, since_)					\
	FIXTURE_VARIANT_ADD(type, name)					\
	{								\
		.program = "at_" #name, .how = how_, .since = since_,	\
	}

TYPE(perf_event, BY_TIMER, 612);
TYPE(tracepoint, BY_SECTION, 612);
TYPE(kprobe, BY_SECTION, 612);
TYPE(uprobe, BY_UPROBE, 612);
TYPE(fentry, BY_SECTION, 601);
TYPE(tp_btf, BY_SECTION, 601);
TYPE(raw_tp, BY_SECTION, 702);

/* More events than a timer causes in a VM, and within exceptions. */
FIXTURE_VARIANT_ADD(type, page_fault)
{
	.program = "at_perf_event", .how = BY_PAGE_FAULT, .since = 612,
};

FIXTURE_SETUP(type)
{
	if (!has_feature())
		SKIP(return, "the module has no BTF");
	if (kernel_version() < variant->since)
		SKIP(return, "this kernel loads no such program that calls a module");
}

FIXTURE_TEARDOWN(type)
{
}

/* Each request has one stack, the right one; many at a time share it. */
TEST_F(type, request)
{
	const char *const names[] = { variant->program, "by_tp_btf", "on_lost", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, variant->how, DO_REQUEST,
				1000 * seconds()));
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, self->l.got);
	EXPECT_LT(1000, self->l.got->events);
	EXPECT_EQ(self->l.got->events, self->l.got->accepted + sum(self->l.got->refused));
	EXPECT_LT(100, self->l.got->stacks);
	EXPECT_GE(self->l.got->events / 20, self->l.got->elsewhere);
}

/* Most are in the rule cache, after the first. */
TEST_F(type, get_stack)
{
	const char *const names[] = { variant->program, "by_tp_btf", "on_lost", NULL };
	const struct stacks__bss *got;

	ASSERT_EQ(NULL, prepare(&self->l, names, variant->how, DO_GET_STACK,
				1000 * seconds()));
	got = self->l.got;
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, got);
	EXPECT_LT(1000, got->events);
	EXPECT_EQ(got->events, got->at_once + sum(got->not_now));
	EXPECT_EQ(sum(got->not_now), got->accepted + sum(got->refused));
	if (kernel_version() >= AT_ONCE_SINCE) {
		EXPECT_LT(got->events / 2, got->at_once);
	} else {
		EXPECT_EQ(0, got->at_once);
	}
}

FIXTURE(bpf)
{
	struct loaded l;
};

FIXTURE_SETUP(bpf)
{
	if (!has_feature())
		SKIP(return, "the module has no BTF");
}

FIXTURE_TEARDOWN(bpf)
{
}

/* Stacks by other types of programs than tp_btf. */
TEST_F(bpf, received_by_raw_tracepoint)
{
	const char *const names[] = { "at_tp_btf", "by_raw_tp", "on_lost", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 300));
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, self->l.got);
	EXPECT_LT(0, self->l.got->stacks);
}

TEST_F(bpf, received_by_tracepoint)
{
	const char *const names[] = { "at_tp_btf", "by_tracepoint", "on_lost", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 300));
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, self->l.got);
	EXPECT_LT(0, self->l.got->stacks);
}

TEST_F(bpf, faultable)
{
	const char *const names[] = { "at_uprobe_faultable", NULL };

	if (kernel_version() < 612)
		SKIP(return, "this kernel loads no such program that calls a module");
	ASSERT_EQ(NULL, prepare(&self->l, names, BY_UPROBE, DO_GET_STACK_FAULTABLE, 300));
	ASSERT_TRUE(run_target(&self->l.target));
	say(_metadata, self->l.got);
	EXPECT_LT(0, self->l.got->events);
	/* Also the first one. */
	EXPECT_EQ(self->l.got->events, self->l.got->at_once);
	EXPECT_EQ(0, self->l.got->elsewhere);
	EXPECT_EQ(0, self->l.got->bad);
}

/* Where nothing may sleep it fails. */
TEST_F(bpf, faultable_by_tail_call)
{
	const char *const names[] = { "at_uprobe_faultable", "tail_caller", NULL };
	const struct stacks__bss *got;
	const __u32 first = 0;
	int program;

	if (kernel_version() < 612)
		SKIP(return, "this kernel loads no such program that calls a module");
	ASSERT_EQ(NULL, prepare(&self->l, names, BY_UPROBE, DO_GET_STACK_FAULTABLE, 300));
	got = self->l.got;
	program = bpf_program__fd(self->l.programs->progs.at_uprobe_faultable);
	if (bpf_map_update_elem(bpf_map__fd(self->l.programs->maps.called), &first, &program,
				BPF_ANY)) {
		ASSERT_LE(700, kernel_version());
		SKIP(return, "this kernel refuses the tail call");
	}
	ASSERT_TRUE(run_target(&self->l.target));
	say(_metadata, got);
	EXPECT_LT(0, got->at_once);
	EXPECT_LT(0, got->not_now[EAGAIN]);
	EXPECT_EQ(got->events, got->at_once + got->not_now[EAGAIN]);
}

static bool can_trace(const char *function)
{
	const char *const names[] = { "at_any", NULL };
	struct stacks *programs = open_programs(names);
	struct bpf_link *link = NULL;
	bool can;

	if (programs &&
	    !bpf_program__set_attach_target(programs->progs.at_any, 0, function) &&
	    !stacks__load(programs))
		link = bpf_program__attach(programs->progs.at_any);
	can = link;
	bpf_link__destroy(link);
	stacks__destroy(programs);
	return can;
}

/* Programs there would run where a nested call is not noticed. */
TEST_F(bpf, calls_are_not_traced)
{
	EXPECT_FALSE(can_trace("sframe_unwind_request"));
	EXPECT_FALSE(can_trace("sframe_unwind_get_stack"));
	EXPECT_FALSE(can_trace("sframe_unwind_get_stack_faultable"));
	/* The compiler may have put them into these. */
	EXPECT_FALSE(can_trace("begin_call"));
	EXPECT_FALSE(can_trace("end_call"));
	EXPECT_FALSE(can_trace("has_stack"));
	EXPECT_FALSE(can_trace("is_room"));
	EXPECT_TRUE(can_trace("sfu_walk_at_once"));
}

TEST_F(bpf, bad_arguments)
{
	const char *const names[] = { "bad_arguments", "by_tp_btf", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 10));
	ASSERT_TRUE(run_target(&self->l.target));
	EXPECT_LT(0, self->l.got->events);
	EXPECT_EQ(self->l.got->events, self->l.got->refused[EINVAL]);
	EXPECT_EQ(3 * self->l.got->events, self->l.got->not_now[EINVAL]);
}

/* No request is made for nobody. */
TEST_F(bpf, nobody_receives)
{
	const char *const names[] = { "at_fentry", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 10));
	ASSERT_TRUE(run_target(&self->l.target));
	EXPECT_LT(0, self->l.got->events);
	EXPECT_EQ(self->l.got->events, self->l.got->refused[ENOTCONN]);
}

/* What the calls cause themselves, and at our events. */
TEST_F(bpf, nested)
{
	const char *const names[] = { "at_fentry", "by_tp_btf", "on_lost", "at_request_event",
				      "at_stack_event", "in_get_stack", NULL };

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_GET_STACK, 1000));
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, self->l.got);
	EXPECT_LT(100, self->l.got->nested);
	EXPECT_EQ(0, self->l.got->not_refused);
}

/* Functions of a walk, and of the delivery of its result: more requests that it serves. */
TEST_F(bpf, within_a_walk)
{
	const char *const names[] = { "at_fentry", "by_tp_btf", "on_lost", "at_walk",
				      "at_delivery", NULL };
	const struct stacks__bss *got;

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 1000));
	got = self->l.got;
	ASSERT_TRUE(run_target(&self->l.target));
	expect_sums(_metadata, got);
	EXPECT_LT(100, got->in_walk);
	EXPECT_EQ(got->events + got->in_walk, got->accepted + sum(got->refused));
}

/* A program that takes its time can keep a thread from user space; but not from its end. */
TEST_F(bpf, kept_thread_is_killed)
{
	const char *const names[] = { "at_fentry", "by_tp_btf", "on_lost", "at_end_of_work",
				      NULL };
	struct stacks__bss *got;
	unsigned int tries = 0;
	int status;

	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 60000));
	got = self->l.got;
	ASSERT_EQ(1, write(self->l.target.go, "", 1));
	while (got->in_walk < 20 && tries++ < 200)
		usleep(50000);
	ASSERT_EQ(0, kill(self->l.target.pid, SIGKILL));
	for (tries = 0; tries < 200; tries++) {
		if (waitpid(self->l.target.pid, &status, WNOHANG) == self->l.target.pid)
			break;
		usleep(50000);
	}
	/* So that it ends in any case. */
	got->target = 0;
	EXPECT_GT(200, tries);
	say(_metadata, got);
	EXPECT_LE(20, got->in_walk);
	/* It was kept. */
	EXPECT_LT(got->events * 2, got->in_walk);
}

TEST_F(bpf, nmi)
{
	const char *const names[] = { "at_nmi", "by_tp_btf", "on_lost", NULL };
	struct stacks__bss *got;
	int monitor = open_monitor();

	if (monitor < 0)
		SKIP(return, "no monitor");
	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_GET_STACK, 4000));
	got = self->l.got;
	ASSERT_EQ(1, write(self->l.target.go, "", 1));
	while (!waitpid(self->l.target.pid, NULL, WNOHANG)) {
		cause_nmi(monitor);
		usleep(5000);
	}
	say(_metadata, got);
	EXPECT_LT(20, got->events);
	if (kernel_version() >= AT_ONCE_SINCE) {
		EXPECT_LT(0, got->at_once);
	}
	EXPECT_LT(0, got->stacks);
	EXPECT_EQ(got->accepted, got->credited + got->lost);
	EXPECT_EQ(0, got->bad);
}

/* Programs hold the module, and nothing does after them. */
TEST_F(bpf, module_is_removed)
{
	const char *const names[] = { "at_fentry", "by_tp_btf", "on_lost", NULL };

	ASSERT_TRUE(remove_module(MODULE "_test"));
	ASSERT_EQ(NULL, prepare(&self->l, names, BY_SECTION, DO_REQUEST, 300));
	EXPECT_EQ(-1, syscall(SYS_delete_module, MODULE, O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	ASSERT_TRUE(run_target(&self->l.target));
	EXPECT_LT(0, self->l.got->stacks);
	stacks__destroy(self->l.programs);
	/* Links that the object does not have are closed here. */
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	ASSERT_TRUE(remove_module(MODULE));
	ASSERT_TRUE(load_module());
	EXPECT_TRUE(has_feature());
}

/* The kernel ends the tracing of an event after the module's exit function. */
TEST_F(bpf, removed_while_traced)
{
	ASSERT_TRUE(remove_module(MODULE "_test"));
	ASSERT_TRUE(trace_stacks("1"));
	ASSERT_TRUE(remove_module(MODULE));
	ASSERT_TRUE(load_module());
	ASSERT_TRUE(trace_stacks("1"));
	ASSERT_TRUE(trace_stacks("0"));
}

/* The feature is there if and only if there is BTF. */
TEST(feature)
{
	EXPECT_EQ(!access("/sys/kernel/btf/" MODULE, F_OK), has_feature());
	if (kernel_version() >= 612)
		EXPECT_TRUE(has_feature());
}

TEST_HARNESS_MAIN
