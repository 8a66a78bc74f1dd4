// SPDX-License-Identifier: GPL-2.0
/*
 * From a mapping to its file, and to no other file. As root; with FUSE.
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common.h"
#include "stuck_file.h"
#include "userspace/cli/attach/open_file.h"

static char directory[] = "/tmp/open_file_test.XXXXXX";

/* A process that maps a file, and sleeps. */
struct victim {
	pid_t pid;
	struct mapped_file mapped;
	char name[256];
};

/*
 * Read the first executable mapping whose name ends with @suffix from
 * /proc/PID/maps.
 */
static bool find_mapping(struct victim *victim, const char *suffix)
{
	char path[64], line[512];
	bool is_found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", victim->pid);
	maps = fopen(path, "re");
	while (maps && !is_found && fgets(line, sizeof(line), maps)) {
		struct mapped_file *mapped = &victim->mapped;
		unsigned int major, minor;
		int at = 0;

		if (sscanf(line, "%lx-%lx %*s %*x %x:%x %lu %n", &mapped->start,
			   &mapped->end, &major, &minor, &mapped->inode,
			   &at) < 5 || !at)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(victim->name, sizeof(victim->name), "%s", line + at);
		mapped->pid = victim->pid;
		mapped->device = makedev(major, minor);
		mapped->name = victim->name;
		is_found = strlen(line) > strlen(suffix) &&
			   strstr(line, suffix);
	}
	if (maps)
		fclose(maps);
	return is_found;
}

/* Start a process that maps @path, inside root directory @root if not NULL. */
static bool start(struct victim *victim, const char *path, const char *root)
{
	char byte;
	int ready[2];

	if (pipe(ready))
		return false;
	victim->pid = fork();
	if (!victim->pid) {
		int fd;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (root && (chroot(root) || chdir("/")))
			_exit(1);
		fd = open(path, O_RDONLY);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 0) == MAP_FAILED)
			_exit(1);
		close(fd);
		close(ready[0]);
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return false;
	close(ready[0]);
	return find_mapping(victim, strrchr(path, '/'));
}

static void stop(struct victim *victim)
{
	kill(victim->pid, SIGKILL);
	waitpid(victim->pid, NULL, 0);
}

/* Create a file with contents @text. Returns its path, in a static buffer. */
static const char *make_file(const char *name, const char *text)
{
	static char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || ftruncate(fd, 8192))
		abort();
	close(fd);
	return path;
}

/* Whether @file has the contents @text. */
static bool reads(const struct open_file *file, const char *text)
{
	const int fd = open_file_to_read(file);
	char got[64] = "";
	const bool is_same = fd >= 0 && read(fd, got, strlen(text)) >= 0 &&
			     !strcmp(got, text);

	if (fd >= 0) {
		if (fcntl(fd, F_GETFL) & O_NONBLOCK)
			tap_fail("it does not wait for the disk");
		close(fd);
	}
	return is_same;
}

/* Without the addresses of the mapping, only the name can be used. */
static struct mapped_file by_name(const struct victim *victim)
{
	struct mapped_file mapped = victim->mapped;

	mapped.start = mapped.end = 0;
	return mapped;
}

static void test_mapping(void)
{
	struct victim victim;
	struct open_file file;
	struct stat stat_;
	const char *path = make_file("plain", "plain");

	EXPECT(start(&victim, path, NULL));
	EXPECT_EQ(open_mapped_file(&victim.mapped, &file), 0);
	EXPECT_EQ(stat(path, &stat_), 0);
	EXPECT_EQ(file.inode, stat_.st_ino);
	EXPECT_EQ(file.device, stat_.st_dev);
	EXPECT_EQ(file.size, 8192);
	EXPECT_EQ(file.changed.tv_nsec, stat_.st_ctim.tv_nsec);
	EXPECT_EQ(file.owner, 0);
	EXPECT(!(file.flags & OPEN_FILE_BY_NAME));
	EXPECT(fcntl(file.fd, F_GETFL) & O_PATH);
	EXPECT(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
	EXPECT(reads(&file, "plain"));
	close(file.fd);
	/* Also if it has been deleted. */
	EXPECT_EQ(unlink(path), 0);
	EXPECT_EQ(open_mapped_file(&victim.mapped, &file), 0);
	EXPECT(reads(&file, "plain"));
	close(file.fd);
	stop(&victim);
	EXPECT(open_mapped_file(&victim.mapped, &file) < 0);
	EXPECT_EQ(file.fd, -1);
}

static void test_name(void)
{
	struct victim victim;
	struct mapped_file mapped;
	struct open_file file;
	const char *path = make_file("named", "named");

	EXPECT(start(&victim, path, NULL));
	mapped = by_name(&victim);
	EXPECT_EQ(open_mapped_file(&mapped, &file), 0);
	EXPECT(file.flags & OPEN_FILE_BY_NAME);
	EXPECT(reads(&file, "named"));
	close(file.fd);
	mapped.inode = 0;
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ENOENT);
	mapped = by_name(&victim);
	mapped.name = "named";
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ENOENT);
	mapped.name = NULL;
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ENOENT);
	mapped = by_name(&victim);
	mapped.device++;
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ESTALE);
	/* The process has ended. */
	mapped = by_name(&victim);
	stop(&victim);
	EXPECT_EQ(open_mapped_file(&mapped, &file), 0);
	close(file.fd);
}

/* The name has been given to another file. */
static void test_swapped(void)
{
	struct victim victim;
	struct mapped_file mapped;
	struct open_file file;
	char other[160];

	EXPECT(start(&victim, make_file("swapped", "first"), NULL));
	snprintf(other, sizeof(other), "%s", make_file("other", "second"));
	EXPECT_EQ(rename(other, victim.name), 0);
	EXPECT_EQ(open_mapped_file(&victim.mapped, &file), 0);
	EXPECT(reads(&file, "first"));
	close(file.fd);
	mapped = by_name(&victim);
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ESTALE);
	EXPECT_EQ(file.fd, -1);
	stop(&victim);
}

/* In a root directory of its own, whose /trap is a link to files of the host. */
static void test_symbolic_link(void)
{
	static const char *const targets[] = {
		"/proc/kmsg", "/proc/self/root/proc/kmsg", "/dev/null",
		"/proc/1/root/etc/passwd", "../../../../etc/passwd",
	};
	struct victim victim;
	struct mapped_file mapped;
	struct open_file file;
	char trap[160];
	struct stat stat_;

	snprintf(trap, sizeof(trap), "%s", make_file("trap", "trap"));
	EXPECT(start(&victim, "/trap", directory));
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		EXPECT_EQ(unlink(trap), 0);
		EXPECT_EQ(symlink(targets[i], trap), 0);
		/* The mapped file can still be opened. */
		EXPECT_EQ(open_mapped_file(&victim.mapped, &file), 0);
		EXPECT(reads(&file, "trap"));
		close(file.fd);
		mapped = by_name(&victim);
		mapped.name = "/trap";
		EXPECT_EQ(open_mapped_file(&mapped, &file), -ESTALE);
		EXPECT_EQ(file.fd, -1);
		/* Also if the mapping claims to be of that file. */
		if (!stat(targets[i], &stat_)) {
			mapped.device = stat_.st_dev;
			mapped.inode = stat_.st_ino;
			EXPECT_EQ(open_mapped_file(&mapped, &file), -ESTALE);
		}
	}
	unlink(trap);
	mapped.name = "/../../../../../../etc/passwd";
	EXPECT_EQ(open_mapped_file(&mapped, &file), -ENOENT);
	stop(&victim);
}

static void look_at(const char *path, int want)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	struct open_file file;
	int got;

	if (fd < 0)
		return;
	got = open_path_file(fd, &file);
	if (got != want)
		tap_fail("%s: %d, not %d", path, got, want);
	if (!got)
		close(file.fd);
	close(fd);
}

/* None of these may ever be opened. */
static void test_no_files(void)
{
	char fifo[160];

	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	EXPECT_EQ(mkfifo(fifo, 0666), 0);
	look_at(fifo, -ENOTSUP);
	look_at("/proc/kmsg", -ENOTSUP);
	look_at("/proc/self/mem", -ENOTSUP);
	look_at("/proc/sys/kernel/hostname", -ENOTSUP);
	look_at("/sys/kernel/uevent_seqnum", -ENOTSUP);
	look_at("/sys/kernel/debug/fault_around_bytes", -ENOTSUP);
	look_at("/sys/kernel/tracing/trace_pipe", -ENOTSUP);
	look_at("/sys/fs/cgroup/cgroup.procs", -ENOTSUP);
	look_at("/dev/null", -ENOTSUP);
	look_at("/dev/kmsg", -ENOTSUP);
	look_at("/tmp", -ENOTSUP);
	look_at(directory, -ENOTSUP);
	look_at("/proc/self/exe", 0);
	look_at("/bin/sh", 0);
}

static void test_memfd(void)
{
	const int fd = memfd_create("test", MFD_CLOEXEC);
	struct open_file file;

	EXPECT_EQ(write(fd, "memory", 6), 6);
	EXPECT_EQ(open_path_file(fd, &file), 0);
	EXPECT(reads(&file, "memory"));
	close(file.fd);
	close(fd);
}

/* --- leases */

static void take_lease(const char *path, int ready, int go)
{
	const int fd = open(path, O_RDWR);
	char byte;

	signal(SIGIO, SIG_IGN);
	/* Changing the user ID clears PR_SET_PDEATHSIG. */
	if (setgroups(0, NULL) || setresgid(65533, 65533, 65533) ||
	    setresuid(65533, 65533, 65533) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    fcntl(fd, F_SETLEASE, F_WRLCK) || write(ready, "x", 1) != 1)
		_exit(1);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

static void test_lease(void)
{
	struct open_file file;
	int ready[2], go[2], fd;
	struct timespec before, after;
	char path[160], byte;
	pid_t holder;

	snprintf(path, sizeof(path), "%s", make_file("leased", "leased"));
	EXPECT_EQ(chown(path, 65533, 65533), 0);
	EXPECT_EQ(pipe(ready), 0);
	EXPECT_EQ(pipe(go), 0);
	holder = fork();
	if (!holder)
		take_lease(path, ready[1], go[0]);
	EXPECT_EQ(read(ready[0], &byte, 1), 1);
	fd = open(path, O_PATH | O_CLOEXEC);
	EXPECT_EQ(open_path_file(fd, &file), 0);
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(open_file_to_read(&file), -EWOULDBLOCK);
	clock_gettime(CLOCK_MONOTONIC, &after);
	EXPECT(after.tv_sec - before.tv_sec <= 5);
	EXPECT_EQ(write(go[1], "x", 1), 1);
	EXPECT_EQ(waitpid(holder, NULL, 0), holder);
	EXPECT(reads(&file, "leased"));
	close(file.fd);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

/* --- FUSE */

static int open_it(void *data)
{
	const char *path = data;
	const int fd = open(path, O_PATH | O_CLOEXEC);
	struct open_file file;

	if (fd < 0 || open_path_file(fd, &file))
		return 1;
	if (!(file.flags & OPEN_FILE_MAY_BLOCK))
		return 2;
	return open_file_to_read(&file) < 0 ? 3 : 0;
}

/* Opening may block, and that is known before: then a child opens the file. */
static void test_fuse(void)
{
	struct child_spec spec = { .run = open_it, .user = 4321 };
	struct stuck_file stuck;
	struct child *child;
	int status;

	EXPECT(stuck_file_make(&stuck));
	spec.data = stuck.path;
	EXPECT_EQ(child_start(&child, &spec), 0);
	EXPECT(stuck_file_wait(&stuck, 1));
	EXPECT(!child_collect(child, &status, NULL));
	child_leave(child);
	stuck_file_end(&stuck);
	EXPECT(wait_for_children());
}

static void test_overlay(void)
{
	char options[512], path[256], lower[160], merged[160];
	struct open_file file;
	int fd;

	snprintf(lower, sizeof(lower), "%s/lower", directory);
	snprintf(merged, sizeof(merged), "%s/merged", directory);
	EXPECT_EQ(mkdir(lower, 0755), 0);
	EXPECT_EQ(mkdir(merged, 0755), 0);
	make_file("lower/file", "below");
	snprintf(options, sizeof(options), "lowerdir=%s:%s", lower, directory);
	if (mount("none", merged, "overlay", MS_RDONLY, options))
		return;
	snprintf(path, sizeof(path), "%s/file", merged);
	fd = open(path, O_PATH | O_CLOEXEC);
	EXPECT(fd >= 0);
	EXPECT_EQ(open_path_file(fd, &file), 0);
	close(fd);
	EXPECT(file.flags & OPEN_FILE_MAY_BLOCK);
	EXPECT(reads(&file, "below"));
	close(file.fd);
	umount2(merged, MNT_DETACH);
}

/* --- ownership */

static bool is_trusted(const char *path)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	struct open_file file;
	bool trusted;

	if (fd < 0 || open_path_file(fd, &file))
		abort();
	close(fd);
	trusted = open_file_is_trusted(&file, getpid());
	close(file.fd);
	return trusted;
}

static bool is_of_system(const char *path)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	struct open_file file;
	bool is;

	if (open_path_file(fd, &file))
		abort();
	is = open_file_is_of_system(&file);
	close(file.fd);
	close(fd);
	return is;
}

/* Other mounts are not, even of the same files. */
static void test_system(void)
{
	char there[160], path[256];
	bool is_system;

	EXPECT(is_of_system("/usr/bin/env"));
	/* A file only: if the mount stays, what is removed is not /usr. */
	snprintf(path, sizeof(path), "%s", make_file("env", "root's"));
	EXPECT_EQ(mount("/usr/bin/env", path, NULL, MS_BIND, NULL), 0);
	is_system = is_of_system(path);
	EXPECT_EQ(umount2(path, MNT_DETACH), 0);
	EXPECT(!is_system);
	snprintf(there, sizeof(there), "%s/other", directory);
	EXPECT_EQ(mkdir(there, 0755), 0);
	EXPECT_EQ(mount("none", there, "tmpfs", 0, NULL), 0);
	EXPECT(is_trusted(make_file("other/file", "root's")));
	EXPECT(!is_of_system(make_file("other/second", "root's")));
	umount2(there, MNT_DETACH);
}

static void test_trust(void)
{
	char trust[160], again[160], path[256];

	snprintf(trust, sizeof(trust), "%s/trust", directory);
	EXPECT_EQ(mkdir(trust, 0755), 0);
	EXPECT_EQ(mount("none", trust, "tmpfs", 0, NULL), 0);
	snprintf(path, sizeof(path), "%s", make_file("trust/file", "root's"));
	EXPECT(is_trusted(path));
	EXPECT_EQ(chmod(path, 0664), 0);
	EXPECT(!is_trusted(path));
	EXPECT_EQ(chmod(path, 0644), 0);
	EXPECT_EQ(chown(path, 65533, 0), 0);
	EXPECT(!is_trusted(path));
	EXPECT_EQ(chown(path, 0, 0), 0);
	EXPECT(is_trusted(path));
	/* A second mount with nosuid makes no difference to the first one. */
	snprintf(again, sizeof(again), "%s/again", directory);
	EXPECT_EQ(mkdir(again, 0755), 0);
	EXPECT_EQ(mount(trust, again, NULL, MS_BIND, NULL), 0);
	EXPECT_EQ(mount(NULL, again, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID, NULL),
		  0);
	snprintf(path, sizeof(path), "%s/file", again);
	EXPECT(is_trusted(path));
	EXPECT_EQ(mount(NULL, trust, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID, NULL),
		  0);
	EXPECT(!is_trusted(path));
	snprintf(path, sizeof(path), "%s/file", trust);
	EXPECT(!is_trusted(path));
	umount2(again, MNT_DETACH);
	umount2(trust, MNT_DETACH);
}

/*
 * An overlay belongs to the namespace where it was mounted, and so do the
 * owners that it reports.
 */
static void test_trust_in_overlay(void)
{
	const int here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	char options[512], path[256], merged[160];
	struct victim victim;
	struct open_file file;

	snprintf(merged, sizeof(merged), "%s/owned", directory);
	snprintf(path, sizeof(path), "%s/below", merged);
	EXPECT_EQ(mkdir(merged, 0755), 0);
	make_file("below", "root's");
	snprintf(options, sizeof(options), "lowerdir=%s:%s/lower", directory,
		 directory);
	EXPECT_EQ(unshare(CLONE_NEWNS), 0);
	EXPECT_EQ(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	if (!mount("none", merged, "overlay", MS_RDONLY, options)) {
		EXPECT(is_trusted(path));
		EXPECT(start(&victim, path, NULL));
		EXPECT_EQ(setns(here, CLONE_NEWNS), 0);
		EXPECT_EQ(open_mapped_file(&victim.mapped, &file), 0);
		EXPECT_EQ(file.owner, 0);
		EXPECT(!open_file_is_trusted(&file, victim.pid));
		close(file.fd);
		stop(&victim);
	}
	EXPECT_EQ(setns(here, CLONE_NEWNS), 0);
	close(here);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_mapping),
		TAP_TEST(test_name),
		TAP_TEST(test_swapped),
		TAP_TEST(test_symbolic_link),
		TAP_TEST(test_no_files),
		TAP_TEST(test_memfd),
		TAP_TEST(test_lease),
		TAP_TEST(test_fuse),
		TAP_TEST(test_overlay),
		TAP_TEST(test_trust),
		TAP_TEST(test_trust_in_overlay),
		TAP_TEST(test_system),
	};
	const unsigned int descriptors = count_descriptors();
	char command[64];

	if (!mkdtemp(directory) || chmod(directory, 0755))
		return 2;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) | tap_done();
}
