// SPDX-License-Identifier: GPL-2.0
/*
 * The cache of files by build ID: its layout, and that nobody else can lead it to write
 * elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "elf_base.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/build_id_cache.h"
#include "userspace/convert/snapshot/snapshot.h"

#define ID	"1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d"
#define LINK	".debug/.build-id/1d/1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d"
#define PLAIN	".debug/sframe-unwind/" ID

static char work[64], home[80];
static volatile sig_atomic_t is_interrupted;
static struct build_id_cache cache;
static struct elf_base elf;
static struct history_object known;
static struct object_file file = { .fd = -1 };

/* Called before each part of a file is copied, or NULL. */
static void (*meanwhile)(void);

ssize_t __real_sendfile(int to, int from, off_t *offset, size_t size);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t size);

ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t size)
{
	if (meanwhile)
		meanwhile();
	return __real_sendfile(to, from, offset, size);
}

/* A path below HOME. */
__attribute__((format(printf, 1, 2)))
static const char *in(const char *format, ...)
{
	static char texts[4][1400];
	static unsigned int next;
	char *to = texts[next++ % 4];
	const int length = sprintf(to, "%s/", home);
	va_list args;

	va_start(args, format);
	vsnprintf(to + length, sizeof(texts[0]) - length, format, args);
	va_end(args);
	return to;
}

/* A new HOME without a cache, and a file of @size bytes. */
static void start(const char *name, off_t size)
{
	build_id_cache_close(&cache);
	remove_tree(home);
	mkdir(home, 0755);
	if (file.fd >= 0)
		close(file.fd);
	elf_base_init(&elf);
	file = (struct object_file){
		.fd = open(work, O_TMPFILE | O_RDWR, 0600),
		.size = size,
		.is_ours = true,
	};
	if (write(file.fd, &elf, sizeof(elf)) != sizeof(elf) ||
	    ftruncate(file.fd, size))
		abort();
	known = (struct history_object){
		.name = (char *)name,
		.build_id_size = sizeof(elf.note.id),
	};
	memcpy(known.build_id, elf.note.id, sizeof(elf.note.id));
	cache = (struct build_id_cache){ .top = -1, .is_interrupted = &is_interrupted };
	said[0] = '\0';
}

static int open_cache(void)
{
	return build_id_cache_open(&cache, "record", home);
}

static int put(void)
{
	return build_id_cache_put(&cache, &known, &file);
}

static bool leads_to(const char *link, const char *want)
{
	char to[2048];
	const ssize_t length = readlink(in("%s", link), to, sizeof(to) - 1);

	to[length < 0 ? 0 : length] = '\0';
	return !strcmp(to, want) ? true : tap_fail("%s leads to %s", link, to);
}

static bool exists(const char *path)
{
	struct stat status;

	return !lstat(path, &status);
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat status;

	return !lstat(path, &status) && (status.st_mode & ~S_IFMT) == mode;
}

static unsigned int nr_found;

static int count_one(const char *path, const struct stat *status, int type,
		     struct FTW *ftw)
{
	(void)path;
	(void)type;
	(void)ftw;
	nr_found += S_ISREG(status->st_mode);
	return 0;
}

/* Number of regular files in the cache. */
static unsigned int nr_files(void)
{
	nr_found = 0;
	nftw(in(".debug"), count_one, 16, FTW_PHYS);
	return nr_found;
}

static bool is_copy(const char *path)
{
	char bytes[sizeof(elf)];
	const int fd = open(path, O_RDONLY);
	struct stat status;
	bool is_equal = fd >= 0 && !fstat(fd, &status) &&
			(uint64_t)status.st_size == file.size &&
			read(fd, bytes, sizeof(bytes)) == sizeof(bytes) &&
			!memcmp(bytes, &elf, sizeof(elf));

	close(fd);
	return is_equal;
}

/* As perf lays it out; nobody else may read what only some may. */
static void layout(void)
{
	start("/usr/lib/code.so", 3 << 20);
	umask(0);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT(!build_id_cache_has(&cache, &known));
	EXPECT_EQ(put(), 0);
	umask(022);
	EXPECT(build_id_cache_has(&cache, &known));
	EXPECT(leads_to(LINK, "../../usr/lib/code.so/" ID));
	EXPECT(is_copy(in(".debug/usr/lib/code.so/" ID "/elf")));
	EXPECT(is_copy(in(LINK "/elf")));
	EXPECT_EQ(nr_files(), 1);
	EXPECT(has_mode(in(".debug/usr/lib/code.so/" ID "/elf"), 0600));
	EXPECT(has_mode(in(".debug"), 0700));
	EXPECT(has_mode(in(".debug/usr/lib"), 0700));
	EXPECT(has_mode(in(".debug/.build-id/1d"), 0700));
}

static void sizes_of_build_ids(void)
{
	for (uint32_t size = 2; size <= sizeof(elf.note.id); size++) {
		start("/code.so", sizeof(elf));
		known.build_id_size = size;
		EXPECT_EQ(open_cache(), CLI_OK);
		EXPECT_EQ(put(), size == sizeof(elf.note.id) ? 0 : -ESTALE);
		EXPECT_EQ(build_id_cache_has(&cache, &known),
			  size == sizeof(elf.note.id));
		elf.note.head.n_descsz = size;
		EXPECT_EQ(pwrite(file.fd, &elf, sizeof(elf), 0), sizeof(elf));
		EXPECT_EQ(put(), 0);
		EXPECT(build_id_cache_has(&cache, &known));
		EXPECT(is_copy(in(".debug/.build-id/1d/%.*s/elf",
				  (int)size * 2 - 2, ID)));
	}
}

/* Names that mean something else below the cache, or that are none. */
static void names(void)
{
	char longest[1100] = "/", parts[64] = "", part[400] = "/";
	const char *bad[] = {
		"/code.so (deleted)", "/memfd:code (deleted)", "code.so", "//anon", "/",
		"/usr//code.so", "/usr/", "/../../code.so", "/usr/../code.so", "/..",
		"/./code.so", "/.build-id/1d/code.so", "/sframe-unwind/" ID "/elf",
		longest, parts, part,
	};

	memset(longest + 1, 'x', sizeof(longest) - 2);
	for (unsigned int i = 100; i < 1000; i += 100)
		longest[i] = '/';
	for (unsigned int i = 0; i < 17; i++)
		strcat(parts, "/x");
	memset(part + 1, 'x', 300);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(bad[i], sizeof(elf));
		EXPECT_EQ(open_cache(), CLI_OK);
		EXPECT_EQ(put(), 0);
		EXPECT(leads_to(LINK, "../../sframe-unwind/" ID));
		EXPECT(is_copy(in(PLAIN "/elf")));
	}
	start("/.hidden/a\nb/...", sizeof(elf));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(put(), 0);
	EXPECT(is_copy(in(".debug/.hidden/a\nb/.../" ID "/elf")));
}

/* What is in the way of the path, by accident or on purpose. */
static void in_the_way(void)
{
	int fd;

	start("/usr/lib/code.so", sizeof(elf));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(mkdir(in(".debug/usr"), 0755), 0);
	fd = open(in(".debug/usr/lib"), O_CREAT | O_WRONLY, 0644);
	EXPECT(fd >= 0);
	close(fd);
	EXPECT_EQ(put(), 0);
	EXPECT(leads_to(LINK, "../../sframe-unwind/" ID));

	start("/code.so", sizeof(elf));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(mkdir(in(".debug/code.so"), 0755), 0);
	EXPECT_EQ(mkdir(in(".debug/code.so/" ID), 0755), 0);
	EXPECT_EQ(mkdir(in(".debug/code.so/" ID "/elf"), 0755), 0);
	EXPECT_EQ(put(), 0);
	EXPECT(leads_to(LINK, "../../sframe-unwind/" ID));
	EXPECT(is_copy(in(LINK "/elf")));
	EXPECT_EQ(nr_files(), 1);
}

/* What is there, but is not the file. */
static void replaced(void)
{
	start("/code.so", sizeof(elf));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(put(), 0);
	/* Half of it, as a computer that crashed may leave it. */
	EXPECT_EQ(truncate(in(LINK "/elf"), 100), 0);
	EXPECT(!build_id_cache_has(&cache, &known));
	EXPECT_EQ(put(), 0);
	EXPECT(is_copy(in(LINK "/elf")));
	/* Another folder is removed, and then a FIFO is in its place. */
	EXPECT_EQ(unlink(in(LINK)), 0);
	EXPECT_EQ(symlink("../../gone", in(LINK)), 0);
	EXPECT(!build_id_cache_has(&cache, &known));
	EXPECT_EQ(put(), 0);
	EXPECT(build_id_cache_has(&cache, &known));
	EXPECT_EQ(unlink(in(LINK "/elf")), 0);
	EXPECT_EQ(mkfifo(in(LINK "/elf"), 0600), 0);
	alarm(10);
	EXPECT(!build_id_cache_has(&cache, &known));
	EXPECT_EQ(put(), 0);
	alarm(0);
	EXPECT(is_copy(in(LINK "/elf")));
	/* A folder in place of the link stays. */
	EXPECT_EQ(unlink(in(LINK)), 0);
	EXPECT_EQ(mkdir(in(LINK), 0755), 0);
	EXPECT_EQ(put(), -EISDIR);
	EXPECT_EQ(rmdir(in(LINK)), 0);
	EXPECT_EQ(rmdir(in(".debug/.build-id/1d")), 0);
}

/* Whoever can make links in a folder of the cache must not get root to follow them. */
static void links(void)
{
	char target[80];

	snprintf(target, sizeof(target), "%s/target", work);
	for (unsigned int i = 0; i < 5; i++) {
		static const char *const at[] = {
			".debug/.build-id", ".debug/.build-id/1d", ".debug/usr",
			".debug/usr/code.so", ".debug/usr/code.so/" ID,
		};

		remove_tree(target);
		EXPECT_EQ(mkdir(target, 0755), 0);
		start("/usr/code.so", sizeof(elf));
		EXPECT_EQ(open_cache(), CLI_OK);
		if (i == 1)
			EXPECT_EQ(mkdir(in(".debug/.build-id"), 0755), 0);
		if (i > 2)
			EXPECT_EQ(mkdir(in(".debug/usr"), 0755), 0);
		if (i > 3)
			EXPECT_EQ(mkdir(in(".debug/usr/code.so"), 0755), 0);
		EXPECT_EQ(symlink(target, in("%s", at[i])), 0);
		EXPECT_EQ(put(), i < 2 ? -ENOTDIR : 0);
		EXPECT_EQ(rmdir(target), 0);
	}
	/* "elf" is replaced, not written to. */
	start("/code.so", sizeof(elf));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(mkdir(in(".debug/code.so"), 0755), 0);
	EXPECT_EQ(mkdir(in(".debug/code.so/" ID), 0755), 0);
	EXPECT_EQ(symlink(target, in(".debug/code.so/" ID "/elf")), 0);
	EXPECT_EQ(put(), 0);
	EXPECT(!exists(target));
	EXPECT(is_copy(in(".debug/code.so/" ID "/elf")));
	/* HOME is ours, and so is a link in it. */
	EXPECT_EQ(mkdir(target, 0755), 0);
	start("/code.so", sizeof(elf));
	EXPECT_EQ(symlink(target, in(".debug")), 0);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(put(), 0);
	EXPECT(is_copy(in(LINK "/elf")));
	remove_tree(target);
}

/* Folders that others can write to, whose files they could exchange at any time. */
static void of_others(void)
{
	start("/usr/code.so", sizeof(elf));
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(chmod(home, i ? 0775 : 0757), 0);
		EXPECT_EQ(open_cache(), CLI_TROUBLE);
		EXPECT(strstr(said, "other users may change what is in"));
		EXPECT(!exists(in(".debug")));
	}
	EXPECT_EQ(chmod(home, 01777), 0);
	EXPECT_EQ(open_cache(), CLI_TROUBLE);
	EXPECT_EQ(chmod(home, 0755), 0);
	EXPECT_EQ(mkdir(in(".debug"), 0755), 0);
	EXPECT_EQ(chmod(in(".debug"), 0777), 0);
	EXPECT_EQ(open_cache(), CLI_TROUBLE);
	EXPECT(strstr(said, "/.debug: set HOME"));
	EXPECT_EQ(chmod(in(".debug"), 0755), 0);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(mkdir(in(".debug/usr"), 0755), 0);
	EXPECT_EQ(chmod(in(".debug/usr"), 0777), 0);
	EXPECT_EQ(put(), 0);
	EXPECT(leads_to(LINK, "../../sframe-unwind/" ID));
	EXPECT_EQ(unlink(in(LINK)), 0);
	EXPECT_EQ(chmod(in(".debug/.build-id"), 0777), 0);
	EXPECT_EQ(put(), -EPERM);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(build_id_cache_open(&cache, "record", NULL), CLI_TROUBLE);
	EXPECT(strstr(said, "HOME is not set"));
	EXPECT_EQ(build_id_cache_open(&cache, "record", in("none")), CLI_TROUBLE);
	EXPECT(strstr(said, "/none: No such file"));
	EXPECT_EQ(build_id_cache_open(&cache, "record", "/proc"), CLI_TROUBLE);
	EXPECT(strstr(said, "/proc/.debug: "));
}

/* "sudo -E": HOME is another user's. */
static void home_of_another(void)
{
	start("/usr/code.so", sizeof(elf));
	EXPECT_EQ(chown(home, 1000, 1000), 0);
	EXPECT_EQ(open_cache(), CLI_TROUBLE);
	EXPECT(strstr(said, "other users may change what is in"));
	EXPECT(!exists(in(".debug")));
	EXPECT_EQ(chown(home, 0, 0), 0);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(mkdir(in(".debug/usr"), 0755), 0);
	EXPECT_EQ(chown(in(".debug/usr"), 1000, 1000), 0);
	EXPECT_EQ(put(), 0);
	EXPECT(leads_to(LINK, "../../sframe-unwind/" ID));
}

/* Nothing is left of a copy that fails. */
static void disk_full(void)
{
	struct rlimit limit;

	start("/code.so", 8 << 20);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = 5 << 20;
	EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EXPECT_EQ(put(), -EFBIG);
	limit.rlim_cur = limit.rlim_max;
	EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EXPECT(!build_id_cache_has(&cache, &known));
	EXPECT_EQ(nr_files(), 0);
	is_interrupted = 1;
	EXPECT_EQ(put(), -EINTR);
	is_interrupted = 0;
	EXPECT_EQ(nr_files(), 0);
	EXPECT_EQ(put(), 0);
	EXPECT_EQ(nr_files(), 1);
}

static void touch(void)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1 } };

	futimens(file.fd, times);
}

/* The file is not as it was when it was opened. */
static void changed(void)
{
	start("/code.so", 1 << 20);
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(ftruncate(file.fd, 1000000), 0);
	EXPECT_EQ(put(), -ESTALE);
	EXPECT_EQ(ftruncate(file.fd, 2 << 20), 0);
	EXPECT_EQ(put(), -ESTALE);
	EXPECT_EQ(ftruncate(file.fd, 1 << 20), 0);
	meanwhile = touch;
	EXPECT_EQ(put(), -ESTALE);
	meanwhile = NULL;
	elf.note.id[7]++;
	EXPECT_EQ(pwrite(file.fd, &elf, sizeof(elf), 0), sizeof(elf));
	EXPECT_EQ(put(), -ESTALE);
	EXPECT_EQ(nr_files(), 0);
	EXPECT(!build_id_cache_has(&cache, &known));
}

/* Several recorders keep the same file. */
static void at_once(void)
{
	int status, failed = 0;

	for (unsigned int round = 0; round < 20; round++) {
		start("/usr/code.so", 1 << 20);
		for (unsigned int i = 0; i < 8; i++) {
			if (fork())
				continue;
			_exit(open_cache() || put() ||
			      !build_id_cache_has(&cache, &known));
		}
		while (wait(&status) > 0)
			failed += !!status;
		EXPECT_EQ(failed, 0);
		EXPECT(is_copy(in(LINK "/elf")));
		EXPECT_EQ(nr_files(), 1);
	}
}

/* perf lists the files that are still at their paths: this program. */
static void listed(void)
{
	struct sfu_snapshot headers;
	char path[512] = "", want[600], line[600];
	bool is_listed = false;
	FILE *perf;

	start(path, 0);
	close(file.fd);
	file.fd = open("/proc/self/exe", O_RDONLY);
	path[readlink("/proc/self/exe", path, sizeof(path) - 1)] = '\0';
	file.size = lseek(file.fd, 0, SEEK_END);
	EXPECT_EQ(sfu_snapshot_headers(file.fd, &headers), 0);
	EXPECT_EQ(headers.elf.build_id_size, sizeof(known.build_id));
	memcpy(known.build_id, headers.elf.build_id, sizeof(known.build_id));
	EXPECT_EQ(open_cache(), CLI_OK);
	EXPECT_EQ(put(), 0);
	for (unsigned int i = 0; i < sizeof(known.build_id); i++)
		sprintf(want + 2 * i, "%02x", known.build_id[i]);
	sprintf(want + 2 * sizeof(known.build_id), " %s\n", path);
	setenv("HOME", home, 1);
	perf = popen("perf buildid-cache -l 2>/dev/null", "r");
	EXPECT(perf);
	while (fgets(line, sizeof(line), perf))
		is_listed |= !strcmp(line, want);
	pclose(perf);
	EXPECT(is_listed);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(layout),
		TAP_TEST(sizes_of_build_ids),
		TAP_TEST(names),
		TAP_TEST(in_the_way),
		TAP_TEST(replaced),
		TAP_TEST(links),
		TAP_TEST(of_others),
		TAP_TEST(disk_full),
		TAP_TEST(changed),
		TAP_TEST(at_once),
	};
	static const struct tap_test root[] = { TAP_TEST(home_of_another) };
	static const struct tap_test perf[] = { TAP_TEST(listed) };

	umask(022);
	strcpy(work, "/var/tmp/build-id-cache.XXXXXX");
	if (!mkdtemp(work))
		return 1;
	snprintf(home, sizeof(home), "%s/home", work);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	if (geteuid())
		tap_skip("home_of_another", "not root");
	else
		tap_run(root, 1);
	if (system("perf buildid-cache -h >/dev/null 2>&1") == 127 << 8)
		tap_skip("listed", "no perf");
	else
		tap_run(perf, 1);
	remove_tree(work);
	return tap_done();
}
