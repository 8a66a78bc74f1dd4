// SPDX-License-Identifier: GPL-2.0
/*
 * Which files "record --build-id" keeps, and what becomes known of what other processes
 * have mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_stub.h"
#include "fuse_overlay.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/record_files.h"
#include "userspace/convert/snapshot/snapshot.h"

static char work[64], program[512];
static struct sfu_snapshot headers;
static volatile sig_atomic_t is_interrupted;
static struct record_files *files;

static bool start(void)
{
	record_files_free(files);
	remove_tree(work);
	mkdir(work, 0755);
	setenv("HOME", work, 1);
	said[0] = '\0';
	return !record_files_create(&files, &is_interrupted);
}

/* Where this program's code is. */
static struct sframe_unwind_profile_record own;

static void find_own(void *data, const struct sframe_unwind_profile_record *record)
{
	const uintptr_t here = (uintptr_t)find_own;

	(void)data;
	if (record->kind == SFRAME_UNWIND_PROFILE_MAP && here >= record->map.start &&
	    here - record->map.start < record->map.size) {
		own = *record;
		own.map.name = program;
	}
}

static bool has_own_id(const struct sframe_unwind_profile_record *record)
{
	return record->map.build_id_size == headers.elf.build_id_size &&
	       !memcmp(record->map.build_id, headers.elf.build_id,
		       headers.elf.build_id_size);
}

static void own_mapping(void)
{
	EXPECT(inspect_process(getpid(), false, find_own, NULL));
	EXPECT(own.map.start);
	EXPECT(has_own_id(&own));
}

/* A mapping whose build ID the kernel has not told. */
static struct sframe_unwind_profile_record unknown(pid_t pid)
{
	struct sframe_unwind_profile_record record = own;

	record.pid = pid;
	record.map.build_id_size = 0;
	memset(record.map.build_id, 0, sizeof(record.map.build_id));
	return record;
}

static pid_t ended(void)
{
	const pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* The first process that has a file mapped ends before it is looked at. */
static void completed(void)
{
	struct sframe_unwind_profile_record record = unknown(ended());
	struct stat own_file;

	EXPECT(start());
	EXPECT_EQ(stat(program, &own_file), 0);
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 2);
	EXPECT_EQ(record.map.build_id_size, 0);
	record = unknown(getpid());
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 2);
	EXPECT(has_own_id(&record));
	record = unknown(ended());
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 3);
	EXPECT_EQ(record.map.build_id_size, 0);
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 2);
	EXPECT(has_own_id(&record));
}

/*
 * A process has mapped another file where it had mapped the one of the event. Others that
 * map that one do not get the build ID.
 */
static void replaced(void)
{
	struct sframe_unwind_profile_record record = unknown(getpid());
	struct stat other;

	EXPECT(start());
	EXPECT_EQ(stat("/proc/self/exe", &other), 0);
	record_files_complete(files, &record, other.st_dev, other.st_ino + 1, 2);
	record = unknown(ended());
	record_files_complete(files, &record, other.st_dev, other.st_ino + 1, 2);
	EXPECT_EQ(record.map.build_id_size, 0);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/*
 * A process with many mappings maps and unmaps files of which the kernel does not know the
 * build ID.
 */
static void unmapped(void)
{
	const unsigned int nr = 30000, nr_events = 2000;
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * nr * page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct sframe_unwind_profile_record record = unknown(getpid());
	const double begin = now();

	EXPECT(start());
	EXPECT(pages != MAP_FAILED);
	for (unsigned int i = 0; i < nr; i++)
		EXPECT_EQ(mprotect(pages + 2 * i * page, page, PROT_READ | PROT_EXEC), 0);
	record.map.start = (uintptr_t)pages + page;
	record.map.size = page;
	record.map.name = "/gone";
	inspect_begin(&is_interrupted, 0);
	for (unsigned int i = 0; i < nr_events; i++) {
		record_files_complete(files, &record, 1, 2 + i, 3);
		EXPECT_EQ(record.map.build_id_size, 0);
	}
	EXPECT(now() - begin < 10);
	munmap(pages, 2 * nr * page);
}

/* After a signal, nothing is looked at: not even what would have been quick. */
static void after_signal(void)
{
	struct sframe_unwind_profile_record record = unknown(getpid());
	struct stat own_file;

	EXPECT(start());
	EXPECT_EQ(stat(program, &own_file), 0);
	inspect_begin(&is_interrupted, 0);
	is_interrupted = 1;
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 2);
	is_interrupted = 0;
	EXPECT_EQ(record.map.build_id_size, 0);
	inspect_begin(&is_interrupted, 0);
	record_files_complete(files, &record, own_file.st_dev, own_file.st_ino, 2);
	EXPECT(has_own_id(&record));
}

/* A profile with a sample at an address. */
static int write_profile(const char *path, uint64_t address)
{
	const struct sframe_unwind_profile_source source = {
		.name = "one", .ids = (uint64_t[]){ 1 }, .nr_ids = 1,
	};
	const struct sframe_unwind_profile_record sample = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.time = 1,
		.pid = own.pid,
		.tid = own.pid,
		.sample = {
			.frames = &address,
			.nr_user = 1,
			.flags = SFRAME_UNWIND_PROFILE_CHAIN,
		},
	};
	struct sframe_unwind_profile_writer *writer;
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int ret;

	ret = sframe_unwind_profile_create(&writer, fd, &source, 1, 0, -1);
	if (!ret)
		ret = sframe_unwind_profile_write(writer, &own);
	if (!ret)
		ret = sframe_unwind_profile_write(writer, &sample);
	if (!ret)
		ret = sframe_unwind_profile_finish(writer);
	close(fd);
	return ret;
}

static bool is_kept(void)
{
	char path[256], *end = path;

	end += sprintf(end, "%s/.debug/.build-id/%02x/", work, headers.elf.build_id[0]);
	for (uint32_t i = 1; i < headers.elf.build_id_size; i++)
		end += sprintf(end, "%02x", headers.elf.build_id[i]);
	strcpy(end, "/elf");
	return !access(path, R_OK);
}

static void kept(void)
{
	char profile[96];

	snprintf(profile, sizeof(profile), "%s.data", work);
	/* It is mapped, but has no sample. */
	EXPECT(start());
	record_files_add(files, &own);
	record_files_open(files);
	EXPECT_EQ(write_profile(profile, 0x1000), 0);
	EXPECT_EQ(record_files_use(files, profile), CLI_OK);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(!is_kept());
	EXPECT_EQ(write_profile(profile, own.map.start), 0);
	EXPECT_EQ(record_files_use(files, profile), CLI_OK);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(is_kept());
	EXPECT_EQ(strlen(said), 0);
	/* One that cannot be opened any more is no failure. */
	EXPECT(start());
	own.map.name = "/gone";
	own.map.start += 4096;
	record_files_add(files, &own);
	own.map.name = program;
	own.map.start -= 4096;
	EXPECT_EQ(record_files_use(files, profile), CLI_OK);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(strstr(said, "cannot be opened any more"));
	EXPECT(!is_kept());
	unlink(profile);
}

/* Start a process of another user, which sleeps. */
static pid_t start_other(uid_t user)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	if (setresuid(user, user, user))
		_exit(1);
	for (;;)
		pause();
}

/*
 * One user maps ever new files. They are not noted without limit, and those of others are
 * noted.
 */
static void storm(void)
{
	struct sframe_unwind_profile_record record = own;
	const pid_t attacker = start_other(65533), another = start_other(65534);
	char profile[96];

	snprintf(profile, sizeof(profile), "%s.data", work);
	EXPECT_EQ(write_profile(profile, own.map.start), 0);
	EXPECT(start());
	inspect_begin(&is_interrupted, 0);
	record.pid = attacker;
	record.map.name = "/gone";
	for (unsigned int i = 0; i < 65536 + 10; i++) {
		memcpy(record.map.build_id, &i, sizeof(i));
		record_files_add(files, &record);
	}
	record = own;
	record.pid = attacker;
	record_files_add(files, &record);
	EXPECT_EQ(record_files_use(files, profile), CLI_OK);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(!is_kept());
	record.pid = another;
	record_files_add(files, &record);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(is_kept());
	unlink(profile);
	kill(attacker, SIGKILL);
	kill(another, SIGKILL);
	waitpid(attacker, NULL, 0);
	waitpid(another, NULL, 0);
}

/* Files that are open leave room for others that the recorder needs. */
static void many(void)
{
	struct sframe_unwind_profile_record record = own;
	struct rlimit limit, low;
	int spare[20];

	EXPECT(start());
	EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 60;
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (unsigned int i = 0; i < 100; i++) {
		record.map.build_id[0] = i;
		record_files_add(files, &record);
	}
	record_files_open(files);
	for (unsigned int i = 0; i < 20; i++) {
		spare[i] = open("/dev/null", O_RDONLY);
		EXPECT(spare[i] >= 0);
	}
	for (unsigned int i = 0; i < 20; i++)
		close(spare[i]);
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static bool leads_to(const char *folder)
{
	char link[256], to[1024], *end = link;
	ssize_t length;

	end += sprintf(end, "%s/.debug/.build-id/%02x/", work, headers.elf.build_id[0]);
	for (uint32_t i = 1; i < headers.elf.build_id_size; i++)
		end += sprintf(end, "%02x", headers.elf.build_id[i]);
	length = readlink(link, to, sizeof(to) - 1);
	to[length < 0 ? 0 : length] = '\0';
	return !strncmp(to, "../..", 5) && !strncmp(to + 5, folder, strlen(folder));
}

/* Another user's file with the build ID of this program comes before it, and after it. */
static void of_another(void)
{
	char profile[96], theirs[96];
	struct sframe_unwind_profile_record other = own;

	snprintf(profile, sizeof(profile), "%s.data", work);
	snprintf(theirs, sizeof(theirs), "%s/theirs", work);
	EXPECT_EQ(write_profile(profile, own.map.start), 0);
	for (unsigned int i = 0; i < 3; i++) {
		char copy[700];

		EXPECT(start());
		snprintf(copy, sizeof(copy), "cp '%s' %s", program, theirs);
		EXPECT_EQ(system(copy), 0);
		EXPECT_EQ(chown(theirs, 1000, 1000), 0);
		other.map.name = theirs;
		other.map.start = own.map.start + 4096;
		if (i == 1)
			record_files_add(files, &own);
		record_files_open(files);
		record_files_add(files, &other);
		record_files_open(files);
		if (i == 0)
			record_files_add(files, &own);
		EXPECT_EQ(record_files_use(files, profile), CLI_OK);
		EXPECT_EQ(record_files_keep(files, true), CLI_OK);
		EXPECT(leads_to(i == 2 ? theirs : program));
	}
	unlink(profile);
}

/* What the process of @overlay has mapped, by a name that leads nowhere. */
static struct sframe_unwind_profile_record mapped_of(const struct fuse_overlay *overlay)
{
	struct sframe_unwind_profile_record record = own;

	record.pid = overlay->pid;
	record.map.start = (uintptr_t)overlay->start;
	record.map.size = FUSE_PAGE;
	record.map.name = "/nowhere";
	return record;
}

/* Who serves a file does not answer when it is closed. It is not opened then. */
static void served(void)
{
	struct sframe_unwind_profile_record record;
	struct fuse_overlay overlay;
	char profile[96];
	double begin;

	snprintf(profile, sizeof(profile), "%s.data", work);
	EXPECT(start());
	EXPECT(!unshare(CLONE_NEWNS));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !fuse_overlay_start(&overlay, work, FUSE_NO_CLOSE, 0)) {
		printf("# no overlay of FUSE\n");
		return;
	}
	record = mapped_of(&overlay);
	begin = now();
	record_files_add(files, &record);
	record_files_open(files);
	EXPECT_EQ(write_profile(profile, own.map.start), 0);
	EXPECT_EQ(record_files_use(files, profile), CLI_OK);
	EXPECT_EQ(record_files_keep(files, true), CLI_OK);
	EXPECT(!is_kept());
	EXPECT(strstr(said, "cannot be opened"));
	EXPECT(now() - begin < FUSE_SECONDS / 2);
	unlink(profile);
	fuse_overlay_stop(&overlay);
}

/* A user reads a copy of what may block: here, it is no ELF file. */
static void copied(void)
{
	struct sframe_unwind_profile_record record;
	struct fuse_overlay overlay;
	char profile[96];

	snprintf(profile, sizeof(profile), "%s.data", work);
	EXPECT_EQ(write_profile(profile, own.map.start), 0);
	EXPECT(start() && !chmod(profile, 0644));
	remove_tree(work);
	EXPECT(!seteuid(65534) && start() && !seteuid(0));
	if (!fuse_overlay_start(&overlay, work, FUSE_ANSWERS, 0)) {
		printf("# no overlay of FUSE\n");
		return;
	}
	record = mapped_of(&overlay);
	EXPECT(!seteuid(65534));
	record_files_add(files, &record);
	record_files_open(files);
	record_files_use(files, profile);
	record_files_keep(files, true);
	EXPECT(!seteuid(0));
	EXPECT(strstr(said, "it was replaced"));
	unlink(profile);
	fuse_overlay_stop(&overlay);
}

static unsigned int nr_got;

/* Stop the child, which has not sent everything: there is no room for that much. */
static void stop_child(void *data, const struct sframe_unwind_profile_record *record)
{
	char path[64], line[32] = "";
	FILE *children;

	(void)record;
	if (nr_got++)
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	if (children && fgets(line, sizeof(line), children))
		*(bool *)data = !kill(atoi(line), SIGSTOP);
	if (children)
		fclose(children);
}

/* A child that gets stuck on the way has not told everything. */
static void partial(void)
{
	const unsigned int nr = 2000;
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, nr * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	bool is_stopped = false;

	EXPECT(pages != MAP_FAILED);
	for (unsigned int i = 0; i < nr; i += 2)
		EXPECT_EQ(mprotect(pages + i * page, page, PROT_READ | PROT_EXEC), 0);
	EXPECT(!inspect_process(getpid(), false, stop_child, &is_stopped));
	EXPECT(is_stopped);
	EXPECT(nr_got < nr / 2);
	inspect_complain();
	EXPECT(strstr(said, "could not be looked at in time"));
	/* Another child tells all. */
	nr_got = 1;
	EXPECT(inspect_process(getpid(), false, stop_child, &is_stopped));
	EXPECT(nr_got > nr / 2);
	munmap(pages, nr * page);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(own_mapping),
		TAP_TEST(completed),
		TAP_TEST(replaced),
		TAP_TEST(unmapped),
		TAP_TEST(after_signal),
		TAP_TEST(kept),
		TAP_TEST(many),
		TAP_TEST(partial),
	};
	static const struct tap_test root[] = {
		TAP_TEST(of_another),
		TAP_TEST(storm),
		TAP_TEST(served),
		TAP_TEST(copied),
	};
	int fd = open("/proc/self/exe", O_RDONLY);

	if (sfu_snapshot_headers(fd, &headers) ||
	    readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return 1;
	close(fd);
	strcpy(work, "/var/tmp/record-files.XXXXXX");
	if (!mkdtemp(work) || chmod(work, 0755))
		return 1;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	if (geteuid()) {
		tap_skip("of_another", "not root");
		tap_skip("storm", "not root");
		tap_skip("served", "not root");
		tap_skip("copied", "not root");
	} else {
		tap_run(root, sizeof(root) / sizeof(root[0]));
	}
	record_files_free(files);
	remove_tree(work);
	return tap_done();
}
