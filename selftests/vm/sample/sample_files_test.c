// SPDX-License-Identifier: GPL-2.0
/* Frames as places in files: the build IDs of files of all kinds, and what has none. */
#include <elf.h>
#include <linux/memfd.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "process.h"
#include "stack_map.h"

#define MAX_FILES	16
#define CODE		0x400	/* offset of the code */
#define NOTE		0x200
#define DIRECTORY	"/tmp/sample_files"

/* What a file begins with. */
struct head {
	Elf64_Ehdr ehdr;
	Elf64_Phdr load, note;
};

struct note {
	Elf64_Nhdr head;
	char name[4];
	unsigned char id[64];
};

static const struct note build_id_note = {
	.head = { 4, 20, NT_GNU_BUILD_ID },
	.name = "GNU",
	.id = "0123456789abcdefghi",
};

/* mov byte ptr [rdi], 1; ret */
static const unsigned char code[] = { 0xc6, 0x07, 0x01, 0xc3 };

FIXTURE(files)
{
	struct sampled s;
	const struct sframe_unwind_file *file;
	struct taken t;
};

static const struct sframe_unwind_file *map_files(int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, SFRAME_UNWIND_FILES);
}

static int start_here(struct sampled *s, unsigned int max_files)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);

	if (start_files(s, max_files))
		return -1;
	return sample_at(s, &attr, 0, -1, 0) > 0 ? start(s) : -1;
}

FIXTURE_SETUP(files)
{
	mkdir(DIRECTORY, 0700);
	ASSERT_EQ(0, start_here(&self->s, MAX_FILES));
	self->file = map_files(self->s.fd, PAGE);
	ASSERT_NE(MAP_FAILED, self->file);
}

FIXTURE_TEARDOWN(files)
{
	end_sampled(&self->s);
}

/* Write a file with @note, and code at @offset. Returns its descriptor. */
static int write_file(int fd, const struct note *note, __u64 offset)
{
	const struct head head = {
		.ehdr = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		},
		.load = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_filesz = PAGE,
			.p_memsz = PAGE,
		},
		.note = {
			.p_type = PT_NOTE,
			.p_offset = NOTE,
			.p_filesz = sizeof(*note),
			.p_align = 4,
		},
	};

	if (fd < 0 || ftruncate(fd, (offset & -PAGE) + PAGE) ||
	    pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, note, sizeof(*note), NOTE) != sizeof(*note) ||
	    pwrite(fd, code, sizeof(code), offset) != sizeof(code))
		abort();
	return fd;
}

static int new_file(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
}

static void *map_code(int fd, __u64 offset)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd,
			offset & -PAGE);

	if (at == MAP_FAILED)
		abort();
	return at + offset % PAGE;
}

/* Returns the place of the code at @at, which causes a page fault. */
static __u64 place_of(struct sampled *s, struct taken *t, void *at)
{
	const struct sframe_unwind_map_entry *entry;
	void (*function)(char *) = at;
	unsigned int i;
	char *page;

	/* Those of other code that was mapped there. */
	while (take(s, t) == 1)
		;
	for (i = 0; i < 100; i++) {
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		function(page);
		munmap(page, PAGE);
		while (take(s, t) == 1) {
			entry = t->user_id ? find_stack(s, t->user_id) : NULL;
			if (!entry || !(entry->fields & SFRAME_UNWIND_SAMPLE_PLACES))
				continue;
			/* Not one of another fault. */
			if ((entry->words[0] & (PAGE - 1)) ==
			    ((uintptr_t)at & (PAGE - 1)))
				return entry->words[0];
		}
	}
	return 0;
}

static unsigned int why(__u64 place)
{
	return place & SFRAME_UNWIND_PLACE_FILE ?
		       0 : place >> SFRAME_UNWIND_PLACE_WHY_SHIFT;
}

static unsigned int index_of(__u64 place)
{
	return (place & ~SFRAME_UNWIND_PLACE_FILE) >>
	       SFRAME_UNWIND_PLACE_FILE_SHIFT;
}

/* The place is in a file with the build ID of @note, at CODE. */
#define EXPECT_FILE(place, note)					\
	do {								\
		const __u64 place_ = (place);				\
		const struct sframe_unwind_file *file_ =		\
			&self->file[index_of(place_) % MAX_FILES];	\
		EXPECT_TRUE(place_ & SFRAME_UNWIND_PLACE_FILE)		\
		{							\
			TH_LOG("%llx", place_);				\
		}							\
		EXPECT_EQ(CODE, place_ & ((1ULL << SFRAME_UNWIND_PLACE_FILE_SHIFT) - 1)); \
		EXPECT_GT(MAX_FILES, index_of(place_));			\
		EXPECT_EQ((note)->head.n_descsz, file_->build_id_size);	\
		EXPECT_EQ(0, memcmp((note)->id, file_->build_id,	\
				    (note)->head.n_descsz));		\
	} while (0)

/* The place is the address of @at, for the reason @reason. */
#define EXPECT_NONE(reason, place, at)					\
	do {								\
		const __u64 place_ = (place);				\
		EXPECT_EQ((reason), why(place_));			\
		EXPECT_EQ((uintptr_t)(at), place_ &			\
			  ((1ULL << SFRAME_UNWIND_PLACE_WHY_SHIFT) - 1)); \
	} while (0)

static int errno_of_sampler(struct sframe_unwind_sampler sampler)
{
	int fd = open_client(0), err = 0;

	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		err = errno;
	close(fd);
	return err;
}

#define TRY(...)							\
	errno_of_sampler((struct sframe_unwind_sampler) {		\
			.size = sizeof(struct sframe_unwind_sampler),	\
			.ring_pages = 1, .clockid = CLOCK_MONOTONIC,	\
			__VA_ARGS__ })

TEST(arguments)
{
	const __u32 flag = SFRAME_UNWIND_SAMPLER_BUILD_IDS;

	EXPECT_EQ(EINVAL, TRY(.flags = flag));
	EXPECT_EQ(EINVAL, TRY(.max_files = 1));
	EXPECT_EQ(EINVAL, TRY(.flags = flag, .max_files = 65537));
	EXPECT_EQ(0, TRY(.flags = flag, .max_files = 65536));
	EXPECT_EQ(0, TRY(.flags = flag, .max_files = 1));
}

TEST_F(files, mmap)
{
	int fd = self->s.fd;

	EXPECT_EQ(MAP_FAILED, map_files(fd, 2 * PAGE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, SFRAME_UNWIND_FILES));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd,
				   SFRAME_UNWIND_FILES));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, mprotect((void *)self->file, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(files, valid)
{
	int fd = write_file(new_file(DIRECTORY "/valid"), &build_id_note, CODE);
	void *at = map_code(fd, CODE);

	EXPECT_FILE(place_of(&self->s, &self->t, at), &build_id_note);
	/* As cached. */
	EXPECT_FILE(place_of(&self->s, &self->t, at), &build_id_note);
	/* Another file with the same build ID. */
	write_file(fd = new_file(DIRECTORY "/same"), &build_id_note, CODE);
	EXPECT_EQ(place_of(&self->s, &self->t, at),
		  place_of(&self->s, &self->t, map_code(fd, CODE)));
}

TEST_F(files, deleted)
{
	int fd = write_file(new_file(DIRECTORY "/deleted"), &build_id_note, CODE);
	void *at = map_code(fd, CODE);

	close(fd);
	unlink(DIRECTORY "/deleted");
	EXPECT_FILE(place_of(&self->s, &self->t, at), &build_id_note);
}

TEST_F(files, memfd)
{
	int fd = write_file(syscall(SYS_memfd_create, "sample", 0),
			    &build_id_note, CODE);

	EXPECT_FILE(place_of(&self->s, &self->t, map_code(fd, CODE)),
		    &build_id_note);
}

/* A file is replaced by another one, and then written anew. */
TEST_F(files, replaced)
{
	struct note other = build_id_note, third = build_id_note;
	void *at, *new_at;
	int fd;

	other.id[0] = 'x';
	third.id[0] = 'y';
	at = map_code(write_file(new_file(DIRECTORY "/file"), &build_id_note,
				 CODE), CODE);
	EXPECT_FILE(place_of(&self->s, &self->t, at), &build_id_note);
	fd = write_file(new_file(DIRECTORY "/new"), &other, CODE);
	ASSERT_EQ(0, rename(DIRECTORY "/new", DIRECTORY "/file"));
	new_at = map_code(fd, CODE);
	EXPECT_FILE(place_of(&self->s, &self->t, at), &build_id_note);
	EXPECT_FILE(place_of(&self->s, &self->t, new_at), &other);
	/* The time of change has the resolution of a tick. */
	usleep(20000);
	write_file(fd, &third, CODE);
	EXPECT_FILE(place_of(&self->s, &self->t, new_at), &third);
}

TEST_F(files, overlayfs)
{
	int fd;

	mkdir(DIRECTORY "/lower", 0700);
	mkdir(DIRECTORY "/upper", 0700);
	mkdir(DIRECTORY "/work", 0700);
	mkdir(DIRECTORY "/merged", 0700);
	close(write_file(new_file(DIRECTORY "/lower/file"), &build_id_note, CODE));
	if (mount("overlay", DIRECTORY "/merged", "overlay", 0,
		  "lowerdir=" DIRECTORY "/lower,upperdir=" DIRECTORY
		  "/upper,workdir=" DIRECTORY "/work"))
		SKIP(return, "no overlayfs: %s", strerror(errno));
	fd = open(DIRECTORY "/merged/file", O_RDONLY);
	EXPECT_FILE(place_of(&self->s, &self->t, map_code(fd, CODE)),
		    &build_id_note);
	close(fd);
	umount2(DIRECTORY "/merged", MNT_DETACH);
}

TEST_F(files, no_file)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at + CODE, code, sizeof(code));
	EXPECT_NONE(SFRAME_UNWIND_PLACE_NO_FILE,
		    place_of(&self->s, &self->t, at + CODE), at + CODE);
}

TEST_F(files, not_elf)
{
	int fd = new_file(DIRECTORY "/text");
	void *at;

	ASSERT_EQ(0, ftruncate(fd, PAGE));
	ASSERT_EQ(sizeof(code), pwrite(fd, code, sizeof(code), CODE));
	at = map_code(fd, CODE);
	EXPECT_NONE(SFRAME_UNWIND_PLACE_NO_BUILD_ID,
		    place_of(&self->s, &self->t, at), at);
}

/* Notes that are no build ID, or are cut or overlap something. */
TEST_F(files, hostile_notes)
{
	const struct note notes[] = {
		{},
		{ .head = { 4, 20, NT_GNU_ABI_TAG }, .name = "GNU" },
		{ .head = { 4, 20, NT_GNU_BUILD_ID }, .name = "ABC" },
		{ .head = { 4, 0, NT_GNU_BUILD_ID }, .name = "GNU" },
		{ .head = { 4, 33, NT_GNU_BUILD_ID }, .name = "GNU" },
		{ .head = { 4, 64 + 1, NT_GNU_BUILD_ID }, .name = "GNU" },
		{ .head = { 4, 0xffffffff, NT_GNU_BUILD_ID }, .name = "GNU" },
		{ .head = { 0xffffffff, 20, NT_GNU_BUILD_ID }, .name = "GNU" },
		{ .head = { 0xfffffff8, 0xfffffff8, NT_GNU_BUILD_ID } },
		{ .head = { 68, 20, NT_GNU_BUILD_ID }, .name = "GNU" },
	};

	for (unsigned int i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		int fd = write_file(new_file(DIRECTORY "/hostile"), &notes[i],
				    CODE);
		void *at = map_code(fd, CODE);

		EXPECT_NONE(SFRAME_UNWIND_PLACE_NO_BUILD_ID,
			    place_of(&self->s, &self->t, at), at);
		unlink(DIRECTORY "/hostile");
	}
}

/* The segment of notes is where there is no file, or a part of the header. */
TEST_F(files, hostile_segments)
{
	static const __u64 offsets[] = { 0, 60, PAGE - 8, PAGE, 1ULL << 46,
					 1ULL << 63, ~0ULL };

	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		int fd = write_file(new_file(DIRECTORY "/segment"),
				    &build_id_note, CODE);
		void *at;

		ASSERT_EQ(8, pwrite(fd, &offsets[i], 8,
				    offsetof(struct head, note.p_offset)));
		at = map_code(fd, CODE);
		EXPECT_NONE(SFRAME_UNWIND_PLACE_NO_BUILD_ID,
			    place_of(&self->s, &self->t, at), at);
		unlink(DIRECTORY "/segment");
	}
}

/* An offset that a place has no room for. */
TEST_F(files, large_offset)
{
	const __u64 offset = (1ULL << SFRAME_UNWIND_PLACE_FILE_SHIFT) + CODE;
	int fd = write_file(syscall(SYS_memfd_create, "sample", 0),
			    &build_id_note, offset);
	void *at = map_code(fd, offset);

	EXPECT_NONE(SFRAME_UNWIND_PLACE_UNREADABLE,
		    place_of(&self->s, &self->t, at), at);
}

/* A child stops for its tracer, which sets its address to @ip. Returns its pid. */
static pid_t run_at(struct sampled *s, __u64 ip)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct user_regs_struct regs;
	pid_t child = fork();
	int status;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		raise(SIGSTOP);
		_exit(1);
	}
	if (waitpid(child, &status, 0) != child ||
	    sample_at(s, &attr, child, -1, 0) < 0 ||
	    ptrace(PTRACE_CONT, child, NULL, NULL) ||
	    waitpid(child, &status, 0) != child ||
	    ptrace(PTRACE_GETREGS, child, NULL, &regs))
		return -1;
	regs.rip = ip;
	regs.orig_rax = -1;
	if (ptrace(PTRACE_SETREGS, child, NULL, &regs) ||
	    ptrace(PTRACE_CONT, child, NULL, NULL) ||
	    waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGSEGV)
		return -1;
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child ? child : -1;
}

/*
 * The place of a child that runs at @ip; 0 if the stack that is to be taken when it
 * stops is asked for only after it has been continued.
 */
static __u64 forged_place(struct sampled *s, struct taken *t, __u64 ip)
{
	const struct sframe_unwind_map_entry *entry;
	const pid_t child = run_at(s, ip);
	__u64 place = 0;

	while (take(s, t) == 1) {
		if ((pid_t)t->head.pid != child || !t->user_id)
			continue;
		entry = find_stack(s, t->user_id);
		if (entry && (entry->words[0] & (PAGE - 1)) == (ip & (PAGE - 1)))
			place = entry->words[0];
	}
	return child < 0 ? 0 : place;
}

/* The address of a thread, which is any number, is not mistaken for a place. */
TEST_F(files, forged)
{
	const __u64 ip = 0xffffff8000000123ULL;
	__u64 place = 0;

	for (int i = 0; i < 20 && !place; i++)
		place = forged_place(&self->s, &self->t, ip);
	EXPECT_NONE(SFRAME_UNWIND_PLACE_NO_FILE, place, ip & ~(0xffULL << 56));
}

/* More files than the table has room for. */
TEST_F(files, full)
{
	unsigned int refused = 0;
	struct note note = build_id_note;
	void *at[MAX_FILES + 2];
	__u64 place;

	for (int i = 0; i < MAX_FILES + 2; i++) {
		note.id[0] = i;
		at[i] = map_code(write_file(new_file(DIRECTORY "/many"), &note,
					    CODE), CODE);
		unlink(DIRECTORY "/many");
		place = place_of(&self->s, &self->t, at[i]);
		if (why(place) == SFRAME_UNWIND_PLACE_FULL)
			refused++;
		else
			EXPECT_FILE(place, &note);
	}
	EXPECT_LE(2, refused);
	/* Those that are there are still found. */
	note.id[0] = 0;
	EXPECT_FILE(place_of(&self->s, &self->t, at[0]), &note);
}

TEST_HARNESS_MAIN
