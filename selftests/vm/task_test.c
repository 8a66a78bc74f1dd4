// SPDX-License-Identifier: GPL-2.0
/* Threads without a 64-bit user stack: refused, or reported as such. */
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <dirent.h>
#include <sys/syscall.h>

#include "common.h"
#include "process.h"

FIXTURE(task)
{
	int fd;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(task)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();
}

FIXTURE_TEARDOWN(task)
{
	close(self->fd);
}

/*
 * Far jumps to a 32-bit code segment, spins there until *stop, and returns. All
 * of the code and its stack are below 4 GiB.
 */
struct low {
	atomic_int stop;
	atomic_int tid;
	unsigned char *code;
	unsigned char *stack;
	bool make_request;
	int result;
	int fd;
	struct sframe_unwind_request *req;
};

static void put_le32(unsigned char **p, uint32_t value)
{
	memcpy(*p, &value, 4);
	*p += 4;
}

/*
 *	push %rbx, %rbp; mov %rsp,%r8; mov $stack,%esp; ljmp *32-bit
 * 32:	spin on *stop, or int $0x80 with ebx, ecx, edx; ljmp back
 * 64:	mov %r8,%rsp; pop; ret
 */
static void put_low_code(struct low *low)
{
	unsigned char *p = low->code;
	const uint32_t base = (uintptr_t)low->code;
	static const unsigned char enter[] = {
		0x53, 0x55,			/* push %rbx; push %rbp */
		0x49, 0x89, 0xe0,		/* mov %rsp,%r8 */
	};
	static const unsigned char leave[] = {
		0x4c, 0x89, 0xc4,		/* mov %r8,%rsp */
		0x5d, 0x5b, 0xc3,		/* pop %rbp; pop %rbx; ret */
	};

	memcpy(p, enter, sizeof(enter));
	p += sizeof(enter);
	*p++ = 0xbc;				/* mov $stack,%esp */
	put_le32(&p, (uintptr_t)low->stack + 4096 - 64);
	*p++ = 0xff;				/* ljmp *0x80(base) */
	*p++ = 0x2c;
	*p++ = 0x25;
	put_le32(&p, base + 0x80);

	/* In 32-bit code, at base + 0x40. */
	p = low->code + 0x40;
	if (low->make_request) {
		*p++ = 0xbb;			/* mov $fd,%ebx */
		put_le32(&p, low->fd);
		*p++ = 0xb9;			/* mov $cmd,%ecx */
		put_le32(&p, SFRAME_UNWIND_IOC_REQUEST);
		*p++ = 0xba;			/* mov $req,%edx */
		put_le32(&p, (uintptr_t)low->req);
		*p++ = 0xb8;			/* mov $54,%eax: ioctl */
		put_le32(&p, 54);
		*p++ = 0xcd;			/* int $0x80 */
		*p++ = 0x80;
	} else {
		*p++ = 0x83;			/* cmpl $0,stop */
		*p++ = 0x3d;
		put_le32(&p, (uintptr_t)&low->stop);
		*p++ = 0;
		*p++ = 0x74;			/* je to the compare */
		*p++ = -9;
	}
	*p++ = 0xea;				/* ljmp $0x33,$back */
	put_le32(&p, base + 0x70);
	*p++ = 0x33;
	*p++ = 0;
	memcpy(low->code + 0x70, leave, sizeof(leave));
	p = low->code + 0x80;
	put_le32(&p, base + 0x40);
	*p++ = 0x23;
	*p++ = 0;
}

static struct low *make_low(void)
{
	struct low *low = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return NULL;
	low->code = (unsigned char *)low + PAGE;
	low->stack = (unsigned char *)low + 2 * PAGE;
	return low;
}

static int run_low(struct low *low)
{
	int (*code)(void) = (void *)low->code;
	int ret;

	/* The code preserves rbx, rbp and rsp only. */
	asm volatile("call *%1"
		     : "=a"(ret)
		     : "r"(code)
		     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
		       "r12", "r13", "r14", "r15", "memory", "cc");
	return ret;
}

static void *low_thread(void *arg)
{
	struct low *low = arg;

	atomic_store(&low->tid, gettid());
	run_low(low);
	return NULL;
}

TEST_F(task, spinning_in_32_bit_code)
{
	struct low *low = make_low();
	unsigned int i, refused = 0;
	pthread_t thread;

	ASSERT_NE(NULL, low);
	put_low_code(low);
	ASSERT_EQ(0, pthread_create(&thread, NULL, low_thread, low));
	while (!atomic_load(&low->tid))
		sched_yield();
	self->req.tid = low->tid;
	for (i = 0; i < 1000 && !refused; i++) {
		ASSERT_EQ(0, request_in_turn(self->fd, &self->req));
		ASSERT_STACK(self->fd, &self->stack);
		refused += self->stack.head.stop ==
			   SFRAME_UNWIND_STOP_UNSUPPORTED_TASK;
	}
	EXPECT_EQ(1, refused);
	EXPECT_EQ(0, self->stack.head.nr_frames);
	atomic_store(&low->stop, 1);
	pthread_join(thread, NULL);
}

TEST_F(task, request_from_32_bit_code)
{
	struct low *low = make_low();

	ASSERT_NE(NULL, low);
	low->make_request = true;
	low->fd = self->fd;
	low->req = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, low->req);
	*low->req = self->req;
	put_low_code(low);
	EXPECT_EQ(-EOPNOTSUPP, run_low(low));
	EXPECT_TRUE(is_empty(self->fd));
}

/* An x32 system call, if the kernel supports it. Its number for ioctl is 514. */
TEST_F(task, request_from_x32)
{
	struct sframe_unwind_request *req;
	long ret = 0x40000000 + 514;

	req = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, req);
	*req = self->req;
	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)self->fd), "S"((long)SFRAME_UNWIND_IOC_REQUEST),
		       "d"(req)
		     : "rcx", "r11", "memory");
	/* ENOSYS: a kernel without x32 refuses all such calls. */
	EXPECT_TRUE(ret == -EOPNOTSUPP || ret == -ENOSYS);
	EXPECT_TRUE(is_empty(self->fd));
}

/* The thread of this process whose name starts with @prefix, or 0. */
static pid_t find_thread(const char *prefix)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], name[32] = "";
	pid_t found = 0;
	FILE *f;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 entry->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) &&
		    !strncmp(name, prefix, strlen(prefix)))
			found = atoi(entry->d_name);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A thread of the process that never returns to user space. */
TEST_F(task, io_uring_worker)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL };
	char message[128] = "";
	int ring;

	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		SKIP(return, "io_uring_setup: %s", strerror(errno));
	/* The thread sets its name when it starts to run. */
	do {
		self->req.tid = find_thread("iou-sqp");
	} while (!self->req.tid);
	self->req.message = (uintptr_t)message;
	self->req.message_size = sizeof(message);
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_NE(NULL, strstr(message, "never runs in user space"));
	close(ring);
}

/* Kernel threads have no user stack, not even for privileged callers. */
TEST_F(task, kernel_thread)
{
	self->req.tid = 2;	/* kthreadd */
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(geteuid() ? ESRCH : EOPNOTSUPP, errno);
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_EQ(-1, request(self->fd, &self->req));
	EXPECT_EQ(ESRCH, errno);
}

TEST_HARNESS_MAIN
