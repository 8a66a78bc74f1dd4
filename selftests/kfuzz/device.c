// SPDX-License-Identifier: GPL-2.0
/* Device: file operations of the device, and checks of their results. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../../module/test/test.h"
#include "../include/wrappers.h"
#include "calls.h"
#include "shared.h"
#include "stub.h"

/* Larger than any structure, so that an unknown tail is tested, too. */
#define MAX_STRUCT	256

/* A kernel thread, and a number that no thread can have. */
#define KTHREADD	2
#define PID_MAX		(1U << 22)

static const unsigned char stub_bytes[] = STUB_BYTES;

/* Build the structure of @call, with poisoned output members. */
static void make_struct(const struct call *call, const uint64_t *value,
			unsigned char *to)
{
	const struct call_type *type = &call_types[call->type];
	int i;

	memset(to, 0, MAX_STRUCT);
	if (type->id)
		memset(to + type->id, 0xa5, sizeof(uint64_t));
	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++) {
		const struct arg_type *arg = &type->arg[i];

		if (arg->kind == KIND_BUILD_ID)
			memset(to + arg->offset, value[i], arg->size);
		else if (arg->size)
			memcpy(to + arg->offset, &value[i], arg->size);
	}
}

static long call_at(uint64_t ip, const struct call *call, const uint64_t *value,
		    uint32_t cmd, uint64_t at)
{
	const struct stub stub = {
		.ip = ip,
		.sp = value[call_find(call, KIND_SP)],
		.fp = value[call_find(call, KIND_FP)],
		.other = value[call_find(call, KIND_SP) + 2],
		.fd = value[0],
		.cmd = cmd,
		.arg = at,
	};
	long ret;

	memory_put(ip, stub_bytes, sizeof(stub_bytes));
	if (sigsetjmp(self.fault, 0))
		return -EFAULT;
	self.guarded = true;
	ret = stub_call(&stub);
	self.guarded = false;
	return ret;
}

/* Whether ioctl @type is documented to return @ret. */
static bool is_documented(const struct call_type *type, long ret)
{
	const int *error;

	/* Success, or the descriptor is not open or another file. */
	if (ret >= 0 || ret == -EBADF || ret == -ENOTTY)
		return true;
	for (error = type->errnos; *error; error++) {
		if (ret == -*error)
			return true;
	}
	return false;
}

/*
 * Whether @ret may come from something other than the ioctl in the code at an
 * address of the program's choice. That code may be another, and other threads
 * and processes of the program may change it while it runs.
 */
static bool may_be_others(long ret)
{
	return ret == -ENOEXEC || !run_is_alone();
}

/*
 * The thread for @call. Never one that outlives the program: requests for it,
 * and the state that walks create for it, could be left at the end.
 */
static uint64_t choose_thread(const struct call *call, uint64_t tid)
{
	const struct arg *arg = &call->arg[call_find(call, KIND_TID)];

	if ((arg->base == 't' && !arg->value) || !tid ||
	    tid == KTHREADD || (uint32_t)tid >= PID_MAX)
		return tid;
	return PID_MAX;
}

long run_ioctl(const struct call *call, const uint64_t *args)
{
	const struct call_type *type = &call_types[call->type];
	const int ip = call_find(call, KIND_IP);
	const int keep = call_find(call, KIND_NEW_ID);
	const int tid = call_find(call, KIND_TID);
	unsigned char structure[MAX_STRUCT];
	uint64_t id, value[MAX_ARGS];
	long ret;

	memcpy(value, args, sizeof(value));
	if (tid >= 0)
		value[tid] = choose_thread(call, value[tid]);
	make_struct(call, value, structure);
	memory_put(value[1], structure, MAX_STRUCT);
	if (ip >= 0 && !value[ip] && type->cmd == SFRAME_UNWIND_IOC_REQUEST) {
		/* By our own code, which has a section. */
		ret = call_result(request(value[0], (void *)value[1]));
	} else if (ip < 0 || !value[ip]) {
		ret = call_result(ioctl(value[0], type->cmd, value[1]));
	} else {
		ret = call_at(value[ip], call, value, type->cmd, value[1]);
	}
	if (!(ip >= 0 && value[ip] && may_be_others(ret)) &&
	    !is_documented(type, ret))
		fail("%s returned %ld, which is not in its description",
		     type->name, -ret);
	if (!ret && keep >= 0 &&
	    memory_get(&id, value[1] + type->id, sizeof(id)))
		call_keep(&call->arg[keep], id);
	return ret;
}

long run_raw_ioctl(const struct call *call, const uint64_t *value)
{
	(void)call;
	return call_result(ioctl(value[0], value[1], value[2]));
}

long run_open(const struct call *call, const uint64_t *value)
{
	const int fd = open(SFRAME_UNWIND_DEVICE, O_RDWR | (int)value[1]);

	return call_keep(&call->arg[0], call_result(fd));
}

long run_close(const struct call *call, const uint64_t *value)
{
	(void)call;
	/* Protect the fuzzer's own descriptors. */
	if ((int)value[0] <= 2 || (int)value[0] >= FD_SHARED)
		return -EBADF;
	return call_result(close(value[0]));
}

long run_dup(const struct call *call, const uint64_t *value)
{
	return call_keep(&call->arg[1], call_result(dup(value[0])));
}

/* Whether these are whole records of known types and valid sizes. */
static bool are_records(const unsigned char *bytes, long size, long max_size)
{
	struct sframe_unwind_record record;

	while (size) {
		if (size < (long)sizeof(record))
			return false;
		memcpy(&record, bytes, sizeof(record));
		if (record.size < sizeof(record) || record.size % 8 ||
		    record.size > size || record.size > max_size ||
		    record.reserved || !record.type || record.type > SFRAME_UNWIND_RECORD_REMOVED)
			return false;
		bytes += record.size;
		size -= record.size;
	}
	return true;
}

long run_read(const struct call *call, const uint64_t *value)
{
	static __thread unsigned char bytes[16384];
	struct sframe_unwind_query query = { .size = sizeof(query) };
	const size_t size = value[2] < sizeof(bytes) ? value[2] : sizeof(bytes);
	long ret;

	/* Other files of the program contain no records. */
	if (ioctl(value[0], SFRAME_UNWIND_IOC_QUERY, &query))
		return -errno;
	/*
	 * Into the program's buffer; or into ours, which no other thread
	 * changes.
	 */
	if (call->arg[1].base != 'm')
		return call_result(read(value[0], (void *)value[1], value[2]));
	ret = call_result(read(value[0], bytes, size));
	if (ret > 0 && !are_records(bytes, ret, query.max_record_size))
		fail("read: not whole records in %ld bytes", ret);
	return ret;
}

long run_poll(const struct call *call, const uint64_t *value)
{
	struct pollfd pfd = { .fd = value[0], .events = POLLIN };

	(void)call;
	return call_result(poll(&pfd, 1, 0));
}

/*
 * Each thread has a timer of its own, because two threads cannot start and stop
 * the same one.
 */
long run_timer(const struct call *call, const uint64_t *value)
{
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.period = value[0],
		.max_depth = value[1],
	};
	int fd = self.timer;
	long ret;

	(void)call;
	if (fd >= 0) {
		self.timer = -1;
		spec.period = 0;
		ret = call_result(ioctl(fd, SFU_TEST_IOC_TIMER, &spec));
		close(fd);
		return ret;
	}
	fd = open_test_client(O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = call_result(ioctl(fd, SFU_TEST_IOC_TIMER, &spec));
	if (ret)
		close(fd);
	else
		self.timer = fd;
	return ret;
}
