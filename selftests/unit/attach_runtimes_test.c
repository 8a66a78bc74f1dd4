// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", known runtimes: the table, and the configuration file, whose
 * lines may be anything.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/attach/runtimes.h"
#include "userspace/cli/cli.h"

/* What the command has printed. */
static char said[8192];

int complain(const char *format, ...)
{
	const size_t length = strlen(said);
	va_list args;

	va_start(args, format);
	vsnprintf(said + length, sizeof(said) - length, format, args);
	va_end(args);
	return CLI_TROUBLE;
}

static char *line;
static struct runtime parsed;

/* Returns what is wrong with the line @text, "" if it is good. There is nothing behind it. */
static const char *parse(const char *text)
{
	const char *problem;

	free(line);
	line = strdup(text);
	if (!line)
		abort();
	problem = runtimes_parse(line, &parsed);
	return problem ? problem : "";
}

static bool is_refused(const char *text)
{
	return *parse(text) && !parsed.name;
}

static void a_name_is_enough(void)
{
	EXPECT(!strcmp(parse("  my-runtime*\t"), ""));
	EXPECT(!strcmp(parsed.name, "my-runtime*"));
	EXPECT(!parsed.has_text && !parsed.switches && !parsed.is_off && !parsed.option);
	EXPECT(!parsed.unless[0]);
}

static void empty_lines_and_comments(void)
{
	static const char * const texts[] = { "", " \t ", "# node", "\t#" };

	for (unsigned int i = 0; i < 4; i++) {
		EXPECT(!strcmp(parse(texts[i]), ""));
		EXPECT(!parsed.name);
	}
}

static void everything_at_once(void)
{
	EXPECT(!strcmp(parse("vm text switch unless libA* unless libB option  -x \t --y z "), ""));
	EXPECT(parsed.has_text && parsed.switches);
	EXPECT(!strcmp(parsed.unless[0], "libA*"));
	EXPECT(!strcmp(parsed.unless[1], "libB"));
	EXPECT(!parsed.unless[2]);
	EXPECT(!strcmp(parsed.option, "-x --y z"));
	EXPECT(!parsed.is_shared && !parsed.frame);
	EXPECT(!strcmp(parse("vm frame do_it shared option frame x"), ""));
	EXPECT(parsed.is_shared && !strcmp(parsed.frame, "do_it"));
	EXPECT(!strcmp(parsed.option, "frame x"));
	EXPECT(!strcmp(parse("vm off"), ""));
	EXPECT(parsed.is_off && !parsed.is_never);
	EXPECT(!strcmp(parse("lib* never"), ""));
	EXPECT(parsed.is_never && !parsed.is_off);
	EXPECT(!strcmp(parse("libX* announces"), ""));
	EXPECT(parsed.announces && !parsed.is_never && !parsed.is_off);
}

/* However they are separated, and whether or not a space follows the last one. */
static void words_of_an_option(void)
{
	static const char * const texts[] = {
		"vm option -ab c", "vm option -ab c ", "vm option  -ab c", "vm option -ab \t c",
		"vm option\t-ab\tc\t\t",
	};

	for (unsigned int i = 0; i < 5; i++) {
		EXPECT(!strcmp(parse(texts[i]), ""));
		EXPECT(!strcmp(parsed.option, "-ab c"));
	}
	EXPECT(!strcmp(parse("vm option x"), ""));
	EXPECT(!strcmp(parsed.option, "x"));
}

static void malformed_lines(void)
{
	static const char * const texts[] = {
		"/usr/bin/vm", "a*b*c*", "vm nonsense", "vm text=1", "vm unless",
		"vm unless a/b", "vm unless a*b*c*d", "vm option", "vm option \t ",
		"vm off text", "vm off option x",
		"vm never off", "vm announces off", "vm text announces", "vm announces option x", "vm announces switch",
		"vm never text", "vm off switch", "vm unless x never", "vm\001", "vm unless \033",
		"vm frame", "vm frame \t ", "vm shared off", "vm frame f never", "vm announces shared",
		"vm frame 1234567890123456789012345678901234567890123456789012345678901234",
		"vm unless 1 unless 2 unless 3 unless 4 unless 5", "vm TEXT",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!is_refused(texts[i]))
			tap_fail("accepted: %s", texts[i]);
	}
}

static void any_bytes(void)
{
	char text[64];

	for (unsigned int i = 0; i < 200000; i++) {
		for (unsigned int at = 0; at < sizeof(text) - 1; at++)
			text[at] = "vm\ttextunlessoptionoffsharedframe *?[]-# \377"[random() % 42];
		text[random() % sizeof(text)] = '\0';
		text[sizeof(text) - 1] = '\0';
		parse(text);
		EXPECT(!parsed.name || *parsed.name);
	}
}

static void built_in(void)
{
	const struct runtime *node = runtimes_find("/usr/bin/node");

	EXPECT(node && node->has_text && !node->switches && !node->option);
	EXPECT(runtimes_find("node (deleted)") == node);
	EXPECT(runtimes_find("/usr/lib/x86_64-linux-gnu/libnode.so.137"));
	EXPECT(!runtimes_find("/usr/bin/node/other"));
	EXPECT(!runtimes_find("/usr/bin/node_exporter"));
	EXPECT(runtimes_find("/usr/bin/python3.15"));
	EXPECT(runtimes_find("/usr/lib/libpython3.15.so.1.0"));
	EXPECT(!runtimes_find("/usr/bin/python3.14"));
	EXPECT(!runtimes_find("/usr/bin/python3.1"));
	EXPECT(runtimes_find("libcoreclr.so"));
	EXPECT(runtimes_find("/usr/bin/php8.4") && runtimes_find("php8.4")->is_shared);
	EXPECT(!strcmp(runtimes_find("libphp8.5.so")->frame, "execute_ex"));
	EXPECT(runtimes_find("php-fpm8.4") && runtimes_find("php-cgi8.4"));
	/* Their code may use rbp. */
	EXPECT(!runtimes_find("php8.3") && !runtimes_find("php-fpm8.2"));
	EXPECT(!runtimes_find(""));
	EXPECT(!runtimes_find("/"));
}

static void longest_names(void)
{
	char name[1000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EXPECT(!runtimes_find(name));
}

static void excluded_files(void)
{
	const struct runtime *python = runtimes_find("python3.15");

	EXPECT(python);
	EXPECT(runtime_excludes(python, "/usr/lib/libLLVM.so.21.1"));
	EXPECT(runtime_excludes(python, "libllvmlite.so (deleted)"));
	EXPECT(!runtime_excludes(python, "/usr/lib/libLLVM/libc.so.6"));
	/* Whatever the runtime is. */
	EXPECT(runtime_excludes(runtimes_find("node"), "libLLVM.so.21.1"));
	EXPECT(runtime_excludes(runtimes_find("libjvm.so"), "/x/libgandiva_jni.so"));
	EXPECT(runtime_excludes(python, "libtorch_cpu.so"));
	EXPECT(runtime_excludes(python, "libluajit-5.1.so.2"));
	EXPECT(!runtime_excludes(python, "libtorch_python.so"));
}

#define HAS(runtime, words) runtime_has_option(runtime, words, sizeof(words) - 1)

static void options(void)
{
	const struct runtime *java = runtimes_find("libjvm.so");
	const struct runtime *erlang = runtimes_find("beam.smp");

	EXPECT(java && erlang);
	EXPECT(!java->switches && erlang->switches);
	EXPECT(HAS(java, "java\0-XX:+PreserveFramePointer\0Sample\0"));
	EXPECT(!HAS(java, "java\0-XX:-PreserveFramePointer\0Sample\0"));
	EXPECT(!HAS(java, "java\0-XX:+PreserveFramePointerX\0Sample\0"));
	EXPECT(!HAS(java, "java\0X-XX:+PreserveFramePointer\0"));
	/* Without a 0 at its end, as when it was cut. */
	EXPECT(!HAS(java, "java\0-XX:+PreserveFramePointer"));
	EXPECT(!HAS(java, "java\0-XX:+Preserve"));
	EXPECT(!runtime_has_option(java, "", 0));
	EXPECT(HAS(erlang, "beam.smp\0-JPperf\0true\0--\0"));
	EXPECT(!HAS(erlang, "beam.smp\0-JPperf\0false\0"));
	EXPECT(!HAS(erlang, "beam.smp\0-JPperf\0--\0true\0"));
	EXPECT(runtime_has_option(runtimes_find("node"), "", 0));
}

/* --- the file; what is read stays, so the cases follow each other */

static const char path[] = "runtimes.conf";

static void write_file(const void *bytes, size_t size, mode_t mode)
{
	int fd;

	said[0] = '\0';
	/* A case that failed may have left another kind of file. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fchmod(fd, mode))
		tap_fail("cannot write %s", path);
	close(fd);
}

static void no_file(void)
{
	said[0] = '\0';
	runtimes_read("none/such", false);
	EXPECT(!said[0]);
}

static void files_of_others(void)
{
	static const mode_t modes[] = { 0666, 0620, 0602 };

	for (unsigned int i = 0; i < 3; i++) {
		write_file("others\n", 7, modes[i]);
		runtimes_read(path, false);
		EXPECT(strstr(said, "is not used"));
		EXPECT(!runtimes_find("others"));
	}
	unlink(path);
	said[0] = '\0';
	EXPECT(!mkfifo(path, 0600));
	runtimes_read(path, false);
	EXPECT(strstr(said, "is not used"));
	unlink(path);
	runtimes_read("/", true);
	/* One that only this user can write, in the place of another. */
	write_file("others\n", 7, 0600);
	EXPECT(!rename(path, "target") && !symlink("target", path));
	runtimes_read(path, false);
	EXPECT(strstr(said, "is not used: it is a symbolic link"));
	EXPECT(!unlink(path) && !unlink("target"));
	said[0] = '\0';
	EXPECT(!mkdir(path, 0700));
	runtimes_read(path, false);
	EXPECT(strstr(said, "is not used: it is no regular file"));
	EXPECT(!rmdir(path));
}

static void directories_of_others(void)
{
	write_file("others\n", 7, 0600);
	EXPECT(!chmod(".", 0770));
	runtimes_read(path, false);
	EXPECT(strstr(said, "is not used: others than root can write its directory"));
	EXPECT(!runtimes_find("others"));
	EXPECT(!chmod(".", 0700) && !unlink(path));
}

static void lines_of_a_file(void)
{
	static const char text[] =
		"# first\nmine text\nmine off\n\nnode off\n/bad\nvm nonsense\n"
		"zero\0byte\nlast unless x\nlibnot* never\nlibnot.so\n"
		"libsays* announces\nlibLLVM.so.9 off\n";
	char bytes[sizeof(text) + RUNTIMES_LINE_SIZE + 10];

	memset(bytes, 'x', sizeof(bytes));
	bytes[RUNTIMES_LINE_SIZE + 9] = '\n';
	memcpy(bytes + RUNTIMES_LINE_SIZE + 10, text, sizeof(text) - 1);
	write_file(bytes, sizeof(bytes) - 1, 0644);
	runtimes_read(path, false);
	unlink(path);
	EXPECT(strstr(said, "runtimes.conf, line 1, is left out: too long"));
	EXPECT(strstr(said, "line 7, is left out: not the name"));
	EXPECT(strstr(said, "line 8, is left out: only"));
	EXPECT(strstr(said, "line 9, is left out: has a byte 0"));
	EXPECT(!strstr(said, "line 10"));
	/* The first that matches, and these before those of the table. */
	EXPECT(runtimes_find("mine") && runtimes_find("mine")->has_text);
	EXPECT(!runtimes_find("node"));
	EXPECT(runtimes_find("libnode.so.1"));
	EXPECT(runtimes_find("last") && !strcmp(runtimes_find("last")->unless[0], "x"));
	EXPECT(!runtimes_find("zero"));
	EXPECT(runtimes_find("libnot.so") && !runtimes_find("libnot.so.1"));
	EXPECT(runtime_excludes(runtimes_find("mine"), "/usr/lib/libnot.so.1"));
	EXPECT(runtime_excludes(runtimes_find("libcoreclr.so"), "libnot.so.1"));
	EXPECT(!runtime_excludes(runtimes_find("mine"), "libmine.so.1"));
	/* Files that announce code are of no runtime. */
	EXPECT(runtimes_announce("/lib/libsays.so") && !runtimes_find("libsays.so"));
	EXPECT(!runtimes_announce("libLLVM.so.9"));
	EXPECT(runtimes_announce("libLLVM.so.22.1 (deleted)"));
	EXPECT(!runtimes_announce("mine") && !runtimes_announce("libc.so.6"));
	EXPECT(runtime_excludes(runtimes_find("mine"), "libLLVM.so.22.1"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_name_is_enough),
		TAP_TEST(empty_lines_and_comments),
		TAP_TEST(everything_at_once),
		TAP_TEST(words_of_an_option),
		TAP_TEST(malformed_lines),
		TAP_TEST(any_bytes),
		TAP_TEST(built_in),
		TAP_TEST(longest_names),
		TAP_TEST(excluded_files),
		TAP_TEST(options),
		TAP_TEST(no_file),
		TAP_TEST(files_of_others),
		TAP_TEST(directories_of_others),
		TAP_TEST(lines_of_a_file),
	};
	char directory[] = "/tmp/runtimes.XXXXXX";

	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	rmdir(directory);
	free(line);
	return tap_done();
}
