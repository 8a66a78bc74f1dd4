// SPDX-License-Identifier: GPL-2.0
/*
 * How a program run by "sframe-unwind exec" receives its files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/exec_answer.h"
#include "userspace/preload/ask.h"

static struct exec_setup setup;
static int files[EXEC_NR_FILES];
static int listening = -1;

static void begin(void)
{
	if (listening >= 0)
		close(listening);
	listening = exec_answer_open(&setup);
	for (int i = 0; i < EXEC_NR_FILES; i++)
		if (!files[i])
			files[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* What the askers report, and which sections they get. */
static struct exec_report reports[4];
static unsigned int nr_reports, nr_offered;

/* In place of the command's. */
void exec_attach_answer(struct exec_attach *attach, pid_t asker,
			const struct exec_report *report,
			struct exec_section *section,
			int section_files[EXEC_NR_SECTION_FILES])
{
	(void)attach;
	(void)asker;
	if (nr_reports < 4)
		reports[nr_reports++] = *report;
	*section = (struct exec_section) { 0 };
	section_files[EXEC_ELF] = -1;
	section_files[EXEC_SFRAME] = -1;
	if (nr_reports > nr_offered)
		return;
	section->section = nr_reports;
	section->size = 4711;
	section_files[EXEC_ELF] = files[0];
	/* The second one is shared. */
	if (nr_reports == 1)
		section_files[EXEC_SFRAME] = files[1];
}

static int nr_open(void)
{
	int nr = 0;

	for (int i = 0; i < 256; i++)
		nr += fcntl(i, F_GETFD) >= 0;
	return nr;
}

/*
 * Start a child that asks with the setup @as. It exits with 0 if it received
 * the files, 1 if nothing, 2 if something wrong.
 */
static pid_t start_asker(const struct exec_setup *as)
{
	const pid_t pid = fork();
	int got[EXEC_NR_FILES], before;
	struct stat a, b;

	if (pid)
		return pid;
	before = nr_open();
	if (ask_for_files(as, got))
		_exit(nr_open() == before ? 1 : 2);
	for (int i = 0; i < EXEC_NR_FILES; i++)
		if (got[i] < 101 || fstat(got[i], &a) || fstat(files[i], &b) ||
		    a.st_ino != b.st_ino ||
		    fcntl(got[i], F_GETFD) != FD_CLOEXEC)
			_exit(2);
	_exit(nr_open() == before + EXEC_NR_FILES ? 0 : 2);
}

/*
 * Answer until @pid has ended. Returns its status; sets *@asker to the process
 * that sent the right secret.
 */
static int serve(pid_t pid, pid_t *asker)
{
	pid_t who;
	int status;

	*asker = 0;
	while (!waitpid(pid, &status, WNOHANG)) {
		while (exec_answer(listening, &setup, files, NULL, &who))
			if (who)
				*asker = who;
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void gets_files(void)
{
	const int before = nr_open();
	pid_t pid, asker;

	pid = start_asker(&setup);
	EXPECT_EQ(serve(pid, &asker), 0);
	EXPECT_EQ(asker, pid);
	EXPECT_EQ(nr_open(), before);
}

static void survives_the_environment(void)
{
	struct exec_setup parsed, sent = setup;
	char text[256];

	sent.signal = 15;
	sent.depth = 7;
	sent.flags = 1;
	exec_setup_print(&sent, text, sizeof(text));
	EXPECT(!exec_setup_parse(text, &parsed));
	EXPECT(!strcmp(parsed.socket, setup.socket) &&
	       !strcmp(parsed.ask, setup.ask) &&
	       !strcmp(parsed.answer, setup.answer));
	EXPECT(parsed.signal == 15 && parsed.depth == 7 && parsed.flags == 1);
	/* The format of older versions, and the string truncated anywhere. */
	EXPECT(exec_setup_parse("101:102:103:10:0:1", &parsed));
	for (size_t length = strlen(text) - 1; length; length--) {
		text[length] = '\0';
		if (strrchr(text, ':') && strrchr(text, ':')[1] &&
		    !exec_setup_parse(text, &parsed))
			EXPECT(length > 70);
	}
}

static void needs_the_secret(void)
{
	struct exec_setup wrong = setup;
	pid_t pid;
	int status;

	wrong.ask[0] = wrong.ask[0] == '0' ? '1' : '0';
	pid = start_asker(&wrong);
	/* The asker waits in vain: its secret is wrong. */
	for (int i = 0; i < 200; i++) {
		pid_t who;

		while (exec_answer(listening, &setup, files, NULL, &who))
			EXPECT_EQ(who, 0);
		usleep(1000);
	}
	EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* A process that has bound the socket's name does not know the second secret. */
static void wants_the_right_answer(void)
{
	struct exec_setup wrong = setup;
	pid_t pid, asker;

	wrong.answer[5] = wrong.answer[5] == '0' ? '1' : '0';
	pid = start_asker(&wrong);
	EXPECT_EQ(serve(pid, &asker), 1);
	EXPECT_EQ(asker, pid);
}

static void nobody_there(void)
{
	pid_t pid;
	int status;

	close(listening);
	listening = -1;
	pid = start_asker(&setup);
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 1);
}

/* A stranger that finds the name of the asker's socket cannot send to it. */
static void hears_nobody_else(void)
{
	const int stranger = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_un from;
	struct msghdr message = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
	};
	char asked[EXEC_SECRET_SIZE];
	struct iovec vector = { asked, sizeof(asked) };
	pid_t pid, asker;

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	pid = start_asker(&setup);
	while (recvmsg(listening, &message, MSG_PEEK) < 0 && errno == EAGAIN)
		usleep(1000);
	EXPECT_EQ(sendto(stranger, setup.answer, EXEC_SECRET_SIZE, MSG_DONTWAIT,
			 (struct sockaddr *)&from, message.msg_namelen), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(serve(pid, &asker), 0);
	close(stranger);
}

/* File descriptors sent along with a question are not received. */
static void takes_no_files(void)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int before = nr_open();
	struct sockaddr_un address;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec vector = { setup.ask, EXEC_SECRET_SIZE };
	struct msghdr message = {
		.msg_name = &address,
		.msg_namelen = exec_setup_address(&setup, &address),
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	pid_t who;

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	EXPECT_EQ(sendmsg(fd, &message, 0), EXEC_SECRET_SIZE);
	EXPECT(exec_answer(listening, &setup, files, NULL, &who));
	EXPECT(!exec_answer(listening, &setup, files, NULL, &who));
	EXPECT_EQ(nr_open(), before);
	close(fd);
}

/* A process at its limit of open files receives none, and loses none. */
static void no_room(void)
{
	const struct rlimit few = { 101, 101 };
	pid_t pid = fork(), asker;
	int status;

	if (!pid) {
		setrlimit(RLIMIT_NOFILE, &few);
		pid = start_asker(&setup);
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	EXPECT_EQ(serve(pid, &asker), 1);
}

/* Exits with the number of sections that it got, or 100 after an error. */
static pid_t start_section_asker(const struct exec_setup *as)
{
	const pid_t pid = fork();
	struct exec_report report = { 0 };
	struct exec_section section;
	int got[EXEC_NR_SECTION_FILES], socket;
	unsigned int nr = 0;

	if (pid)
		return pid;
	socket = ask_open(as, 2);
	while (nr < 10) {
		if (ask_for_section(socket, as, &report, &section, got))
			_exit(100);
		if (!section.section)
			break;
		nr++;
		if (section.section != nr || section.size != 4711 ||
		    fcntl(got[EXEC_ELF], F_GETFD) != FD_CLOEXEC ||
		    (got[EXEC_SFRAME] >= 0) != (nr == 1))
			_exit(100);
		report = (struct exec_report) { 10 + nr, nr, nr - 1 };
		for (int i = 0; i < EXEC_NR_SECTION_FILES; i++)
			if (got[i] >= 0)
				close(got[i]);
	}
	_exit(got[EXEC_ELF] < 0 && got[EXEC_SFRAME] < 0 ? nr : 100);
}

static void gets_sections(void)
{
	const int before = nr_open();
	pid_t asker;

	nr_reports = 0;
	nr_offered = 2;
	EXPECT_EQ(serve(start_section_asker(&setup), &asker), 2);
	/* It has not asked for the files. */
	EXPECT_EQ(asker, 0);
	EXPECT_EQ(nr_reports, 3);
	EXPECT_EQ(reports[0].section, 0);
	EXPECT_EQ(reports[1].section, 1);
	EXPECT_EQ(reports[1].id, 11);
	EXPECT_EQ(reports[1].error, 0);
	EXPECT_EQ(reports[2].section, 2);
	EXPECT_EQ(reports[2].error, 1);
	EXPECT_EQ(nr_open(), before);
}

static void sections_need_the_secrets(void)
{
	struct exec_setup wrong = setup;
	pid_t asker;

	nr_reports = 0;
	wrong.ask[31] = wrong.ask[31] == '0' ? '1' : '0';
	EXPECT_EQ(serve(start_section_asker(&wrong), &asker), 100);
	EXPECT_EQ(nr_reports, 0);
	wrong = setup;
	wrong.answer[31] = wrong.answer[31] == '0' ? '1' : '0';
	EXPECT_EQ(serve(start_section_asker(&wrong), &asker), 100);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(gets_files),
		TAP_TEST(survives_the_environment),
		TAP_TEST(needs_the_secret),
		TAP_TEST(wants_the_right_answer),
		TAP_TEST(hears_nobody_else),
		TAP_TEST(takes_no_files),
		TAP_TEST(no_room),
		TAP_TEST(gets_sections),
		TAP_TEST(sections_need_the_secrets),
		TAP_TEST(nobody_there),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	return tap_done();
}
