// SPDX-License-Identifier: GPL-2.0
/*
 * Readers: how many replies a request for a file has, and which files are known
 * without being read. As root.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <elf.h>
#include <linux/sframe_unwind.h>

#include "common.h"
#include "userspace/convert/cache/cache.h"
#include "userspace/convert/output/packed.h"
#include "userspace/convert/cache/stamp.h"
#include "userspace/cli/attach/reader_task.h"
#include "userspace/worker/message.h"
#include "userspace/worker/protocol.h"

#define USER 65534

static char directory[] = "/tmp/reader_test.XXXXXX";
static const int no_fds[2] = { -1, -1 };
static pid_t reader;
static int reader_socket;

/* Start a reader, as a child of this process. */
static void start_reader(void)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	reader = fork();
	if (!reader) {
		dup2(sockets[1], READER_SOCKET);
		close_range(READER_SOCKET + 1, ~0U, 0);
		_exit(reader_run(NULL));
	}
	close(sockets[1]);
	reader_socket = sockets[0];
}

static void end_reader(void)
{
	close(reader_socket);
	waitpid(reader, NULL, 0);
}

/* Receive a reply, and close what comes with it. */
static bool hear(struct reader_reply *reply)
{
	static unsigned char rest[READER_MAX_REPLY];
	struct pollfd answer = { .fd = reader_socket, .events = POLLIN };
	ssize_t size;
	int fds[2];

	if (poll(&answer, 1, 60000) != 1)
		return false;
	size = message_receive(reader_socket, rest, sizeof(rest), fds, true);
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	memcpy(reply, rest, sizeof(*reply));
	return size >= (ssize_t)sizeof(*reply);
}

/* Wait until the reader has closed all descriptors that it does not need. */
static bool is_up(void)
{
	struct reader_request request = {
		.what = READER_MAPS,
		.mapping.pid = getpid(),
	};
	struct reader_reply reply;

	return !message_send(reader_socket, &request, sizeof(request), NULL, 0,
			     no_fds) &&
	       hear(&reply) && reply.is_last;
}

/* Map a copy of this program that belongs to @owner. */
static void map_file(const char *name, uid_t owner, struct mapping *mapping)
{
	size_t size;
	unsigned char *bytes = read_file("/proc/self/exe", &size);
	struct stat stat;
	char path[128];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
	    fchown(fd, owner, owner) || fchmod(fd, 0755) || fstat(fd, &stat))
		abort();
	free(bytes);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		abort();
	close(fd);
	*mapping = (struct mapping) {
		.pid = getpid(),
		.start = (uintptr_t)at,
		.end = (uintptr_t)at + ((size + 4095) & ~4095UL),
		.key = { stat.st_dev, stat.st_ino },
	};
	snprintf(mapping->name, sizeof(mapping->name), "%s", path);
}

static bool ask(const struct mapping *mapping)
{
	struct reader_request request = {
		.what = READER_FILE,
		.mapping = *mapping,
		.max_bytes = 64 << 20,
		.max_others = 64 << 20,
	};

	return !message_send(reader_socket, &request, sizeof(request), NULL, 0,
			     no_fds);
}

static unsigned int count_open(void)
{
	unsigned int count = 0;
	char path[64];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)reader);
	fds = opendir(path);
	while (fds && readdir(fds))
		count++;
	closedir(fds);
	return count;
}

/* The descriptors that were passed are closed right after the reply. */
static bool has_closed_all(unsigned int before)
{
	for (int i = 0; i < 1000 && count_open() != before; i++)
		usleep(10000);
	return count_open() == before;
}

static void test_trusted(void)
{
	struct mapping mapping;
	struct reader_reply reply;
	unsigned int before;

	map_file("trusted", 0, &mapping);
	start_reader();
	EXPECT(is_up());
	before = count_open();
	for (int i = 0; i < 3; i++) {
		EXPECT(ask(&mapping));
		EXPECT(hear(&reply));
		EXPECT_EQ(reply.error, 0);
		EXPECT(reply.file.is_trusted);
		EXPECT(reply.is_last);
	}
	EXPECT(has_closed_all(before));
	end_reader();
}

/* Closing a file of a user can block, so the result is sent before. */
static void test_of_user(void)
{
	struct mapping mapping;
	struct reader_reply reply;

	map_file("user", USER, &mapping);
	start_reader();
	for (int i = 0; i < 3; i++) {
		EXPECT(ask(&mapping));
		EXPECT(hear(&reply));
		EXPECT_EQ(reply.error, 0);
		EXPECT(!reply.file.is_trusted);
		EXPECT(!reply.is_last);
		EXPECT(hear(&reply));
		EXPECT(reply.is_last);
	}
	end_reader();
}

/* There is nothing to close. */
static void test_gone(void)
{
	struct mapping mapping;
	struct reader_reply reply;

	map_file("gone", USER, &mapping);
	mapping.name[0] = '\0';
	munmap((void *)(uintptr_t)mapping.start, mapping.end - mapping.start);
	start_reader();
	EXPECT(ask(&mapping));
	EXPECT(hear(&reply));
	EXPECT(reply.error);
	EXPECT(reply.is_last);
	end_reader();
}

/* Stands for the module in readers: it attaches everything. */
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	errno = ENOTTY;
	return fd == READER_DEVICE && request == SFRAME_UNWIND_IOC_ATTACH ?
		       0 : -1;
}

/*
 * In readers, the boot is an hour from now, so that all files seem to be older; or, if
 * this is set, a minute has passed since the files were made.
 */
static bool is_minute_later;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const int err = __real_clock_gettime(clock, now);

	if (is_minute_later)
		now->tv_sec += 60;
	else if (clock == CLOCK_REALTIME)
		now->tv_sec += 3600;
	else if (clock == CLOCK_BOOTTIME)
		now->tv_sec = 0;
	return err;
}

int __real_stat(const char *path, struct stat *stat);
int __wrap_stat(const char *path, struct stat *stat);

int __wrap_stat(const char *path, struct stat *stat)
{
	const int err = __real_stat(path, stat);

	if (!is_minute_later && !strcmp(path, "/proc"))
		stat->st_ctim.tv_sec = time(NULL) + 3600;
	return err;
}

/* The cache is in the directory of the test. */
int __real_sfu_cache_open(const char *path, struct sfu_cache **cache);
int __wrap_sfu_cache_open(const char *path, struct sfu_cache **cache);

int __wrap_sfu_cache_open(const char *path, struct sfu_cache **cache)
{
	char own[64];

	(void)path;
	snprintf(own, sizeof(own), "%s/cache", directory);
	return __real_sfu_cache_open(own, cache);
}

/* Returns whether there can be stamps: older kernels do not report the mount. */
static bool has_stamps(const struct mapping *mapping, uint64_t mount)
{
	const int fd = open(mapping->name, O_RDONLY | O_CLOEXEC);
	struct stamp stamp;
	struct stat stat;
	bool has;

	has = !fstat(fd, &stat) && !sfu_stamp_make(&stamp, fd, &stat, mount);
	close(fd);
	return has;
}

/* Bytes that the reader has read since it was started. */
static uint64_t bytes_read(void)
{
	char path[64], text[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)reader);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? strtoull(text + strlen("rchar: "), NULL, 10) : 0;
}

/* Ask for the file to be attached at once. Returns how many bytes were read for it. */
static uint64_t ask_to_attach(const struct mapping *mapping,
			      struct reader_reply *reply)
{
	const uint64_t before = bytes_read();
	struct reader_request request = {
		.what = READER_FILE,
		.mapping = *mapping,
		.max_bytes = 64 << 20,
		.max_others = 64 << 20,
		.attach.flags = SFRAME_UNWIND_ATTACH_SYSTEM |
				SFRAME_UNWIND_ATTACH_INODE,
	};
	struct reader_reply last;

	if (message_send(reader_socket, &request, sizeof(request), NULL, 0,
			 no_fds) ||
	    !hear(reply) || reply->error || (!reply->is_last && !hear(&last)))
		tap_fail("%s: no reply, or error %d", mapping->name,
			 reply->error);
	return bytes_read() - before;
}

/* Put a section into the cache for the contents of @reply. */
static void put_into_cache(const struct reader_reply *reply)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sframe_unwind_converted *converted;
	char name[CACHE_NAME_SIZE];
	struct sfu_cache *cache;

	EXPECT_EQ(sframe_unwind_convert_fd(fd, "x", NULL, &converted), 0);
	EXPECT_EQ(sfu_cache_open(NULL, &cache), 0);
	EXPECT_EQ(sfu_cache_name(&reply->file.digest, NULL, name), 0);
	EXPECT_EQ(sfu_cache_write(cache, name, "x", converted), 0);
	sfu_cache_close(cache);
	sframe_unwind_converted_free(converted);
	close(fd);
}

/*
 * Of a trusted file that has not changed since it was read, only the headers are read;
 * of a file of a user always everything.
 */
static void test_stamp(void)
{
	struct mapping trusted, of_user;
	struct reader_reply reply, again;
	uint64_t all, bytes;
	int fd;

	map_file("stamp", 0, &trusted);
	map_file("no_stamp", USER, &of_user);
	start_reader();
	EXPECT(is_up());
	all = ask_to_attach(&trusted, &reply) / 2;
	EXPECT(all > 30000);
	EXPECT(!reply.file.is_attached && reply.file.is_uncached);
	put_into_cache(&reply);
	/* By its contents, and then by its stamp. */
	EXPECT(ask_to_attach(&trusted, &again) > all);
	EXPECT(again.file.is_attached);
	end_reader();
	start_reader();
	EXPECT(is_up());
	ask_to_attach(&trusted, &again);
	/* The cache is open now, and only the section is read from it. */
	bytes = ask_to_attach(&trusted, &again);
	EXPECT_EQ(bytes < all, has_stamps(&trusted, reply.file.mount));
	EXPECT(again.file.is_attached);
	EXPECT_EQ(again.file.known.size, reply.file.known.size);
	EXPECT(!memcmp(&again.file.digest, &reply.file.digest,
		       sizeof(struct digest)));
	EXPECT(!memcmp(again.file.elf.segments, reply.file.elf.segments,
		       sizeof(reply.file.elf.segments)));
	/* The same bytes. */
	EXPECT(ask_to_attach(&of_user, &again) > all);
	EXPECT(again.file.is_attached);
	EXPECT(ask_to_attach(&of_user, &again) > all);
	/* It is changed, and gets a new stamp when it has been read. */
	fd = open(trusted.name, O_WRONLY | O_CLOEXEC);
	EXPECT_EQ(pwrite(fd, "x", 1, EI_NIDENT - 1), 1);
	close(fd);
	EXPECT(ask_to_attach(&trusted, &again) > all);
	EXPECT(!again.file.is_attached);
	EXPECT(memcmp(&again.file.digest, &reply.file.digest,
		      sizeof(struct digest)));
	/* It is given to a user. */
	EXPECT_EQ(chown(trusted.name, USER, USER), 0);
	EXPECT(ask_to_attach(&trusted, &again) > all);
	end_reader();
}

/* Returns the mode of the section in the cache for these contents; 0 if there is none. */
static mode_t section_mode(const struct digest *digest)
{
	char name[CACHE_NAME_SIZE], path[256];
	struct stat stat;

	if (sfu_cache_name(digest, NULL, name))
		return 0;
	snprintf(path, sizeof(path), "%s/cache/%s", directory, name);
	return lstat(path, &stat) ? 0 : stat.st_mode & 07777;
}

/* A memory file with a worker's result, for the file @elf_fd. */
static int make_result(int elf_fd)
{
	const int fd = memfd_create("result", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct sframe_unwind_converted *converted;
	struct worker_header header = { .error = 0 };
	struct buffer packed = { 0 };

	memcpy(header.magic, WORKER_MAGIC, sizeof(header.magic));
	if (sframe_unwind_convert_fd(elf_fd, "x", NULL, &converted) ||
	    sfu_packed_write(&packed, converted))
		abort();
	header.packed_size = packed.size;
	if (write(fd, &header, sizeof(header)) != sizeof(header) ||
	    write(fd, packed.bytes, packed.size) != (ssize_t)packed.size ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW))
		abort();
	buffer_free(&packed);
	sframe_unwind_converted_free(converted);
	return fd;
}

/* Have a worker's result attached to the file and stored for contents @digest. */
static void attach_result(const struct mapping *mapping,
			  const struct digest *digest, bool is_trusted)
{
	const int elf_fd = open(mapping->name, O_RDONLY | O_CLOEXEC);
	const int fds[2] = { elf_fd, make_result(elf_fd) };
	struct reader_request request = {
		.what = READER_ATTACH,
		.attach = {
			.is_trusted = is_trusted,
			.is_converted = true,
			.part = { .index = 0, .nr = 1 },
			.digest = *digest,
		},
	};
	struct reader_reply reply, last;

	EXPECT(!message_send(reader_socket, &request, sizeof(request), NULL, 0,
			     fds) &&
	       hear(&reply) && !reply.error && hear(&last) && last.is_last);
	close(fds[0]);
	close(fds[1]);
}

/*
 * Sections of files that users can have written are marked as such in the cache, until
 * they are used for a file that only root can have written.
 */
static void test_sections_of_users(void)
{
	struct mapping trusted, of_user;
	struct digest other = { { 1 } };
	struct reader_reply reply;

	map_file("section", 0, &trusted);
	map_file("section_of_user", USER, &of_user);
	start_reader();
	EXPECT(is_up());
	ask_to_attach(&of_user, &reply);
	attach_result(&of_user, &reply.file.digest, false);
	EXPECT_EQ(section_mode(&reply.file.digest), 0400);
	attach_result(&trusted, &other, true);
	EXPECT_EQ(section_mode(&other), 0600);
	ask_to_attach(&of_user, &reply);
	EXPECT(reply.file.is_attached);
	EXPECT_EQ(section_mode(&reply.file.digest), 0400);
	/* It has the same bytes. */
	ask_to_attach(&trusted, &reply);
	EXPECT(reply.file.is_attached);
	EXPECT_EQ(section_mode(&reply.file.digest), 0600);
	ask_to_attach(&of_user, &reply);
	EXPECT_EQ(section_mode(&reply.file.digest), 0600);
	end_reader();
}

/*
 * A user has mapped a file for writing when it was his, and changes it after it was
 * given to root and read, without a change of its times.
 */
static void test_old_owner(void)
{
	struct reader_reply reply, again;
	struct stat before, after;
	struct mapping trusted;
	unsigned char *kept;
	int fd;

	map_file("old_owner", USER, &trusted);
	fd = open(trusted.name, O_RDWR | O_CLOEXEC);
	kept = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	EXPECT(kept != MAP_FAILED);
	if (kept == MAP_FAILED)
		return;
	kept[EI_NIDENT - 1] = 'x';
	EXPECT_EQ(chown(trusted.name, 0, 0), 0);
	EXPECT_EQ(stat(trusted.name, &before), 0);
	is_minute_later = true;
	start_reader();
	EXPECT(is_up());
	ask_to_attach(&trusted, &reply);
	put_into_cache(&reply);
	ask_to_attach(&trusted, &again);
	EXPECT(again.file.is_attached);
	kept[EI_NIDENT - 1] = 'y';
	EXPECT_EQ(stat(trusted.name, &after), 0);
	EXPECT_EQ(after.st_ctim.tv_sec, before.st_ctim.tv_sec);
	EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	ask_to_attach(&trusted, &again);
	EXPECT(!again.file.is_attached);
	EXPECT(memcmp(&again.file.digest, &reply.file.digest,
		      sizeof(struct digest)));
	end_reader();
	is_minute_later = false;
	munmap(kept, 4096);
}

bool __wrap_workers_end_unused(unsigned int ms);
bool __real_workers_end_unused(unsigned int ms);

/* Shared with the reader: how often it has asked, and until when there are servers. */
static struct {
	unsigned int nr;
	unsigned int nr_used;
} *unused;

bool __wrap_workers_end_unused(unsigned int ms)
{
	__real_workers_end_unused(ms);
	return unused && ++unused->nr < unused->nr_used;
}

/* A reader that has servers looks at them while it waits, and not any more without. */
static void test_servers_of_reader(void)
{
	unused = mmap(NULL, sizeof(*unused), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (unused == MAP_FAILED)
		abort();
	unused->nr_used = 4;
	start_reader();
	EXPECT(is_up());
	for (int i = 0; i < 1000 && unused->nr < 4; i++)
		usleep(10000);
	EXPECT_EQ(unused->nr, 4);
	usleep(1500000);
	EXPECT_EQ(unused->nr, 4);
	EXPECT(is_up());
	end_reader();
	munmap(unused, sizeof(*unused));
	unused = NULL;
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_trusted),
		TAP_TEST(test_of_user),
		TAP_TEST(test_gone),
		TAP_TEST(test_stamp),
		TAP_TEST(test_sections_of_users),
		TAP_TEST(test_old_owner),
		TAP_TEST(test_servers_of_reader),
	};
	char command[64];

	if (!mkdtemp(directory) || chmod(directory, 0755))
		return 2;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) | tap_done();
}
