// SPDX-License-Identifier: GPL-2.0
/*
 * Sections found in files that are replaced: a walk never uses a rule of a file
 * that is no longer mapped. And sections written by the real linker.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "discover_fixture.h"

static const struct {
	const char *name;
	bool has_section;	/* whether the replacement has a section */
} replacements[] = {
	{ "with a section", true },
	{ "without", false },
};

/* Swap: the large code where the other file has the small one. */
static void swap_code(struct elf_base *elf, bool has_section)
{
	memcpy(elf->small, elf_large_code, sizeof(elf_large_code));
	elf->sframe.small.cfa = ELF_LARGE_CFA;
	if (!has_section)
		elf->phdr[ELF_SFRAME].p_type = PT_NULL;
}

/* Unmap, and map another file at the same address. */
TEST_F(discover, unmapped_and_replaced)
{
	unsigned int i, round;

	for (i = 0; i < 2; i++) {
		struct elf_base other;
		int file;

		elf_base_init(&other);
		swap_code(&other, replacements[i].has_section);
		file = make_file(&other, sizeof(other));
		for (round = 0; round < 3; round++) {
			EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
			unmap_elf(self->at);
			ASSERT_TRUE(map_elf_at(self->at, file));
			EXPECT_EQ(replacements[i].has_section ? CALLER : NO_RULE,
				  walk_small(self->fd, self->at))
			{
				TH_LOG("%s", replacements[i].name);
			}
			unmap_elf(self->at);
			ASSERT_TRUE(map_elf_at(self->at, self->elf_fd));
		}
		close(file);
	}
}

/* Map another file over the code only. */
TEST_F(discover, mapped_over)
{
	struct elf_base other;
	int file;

	elf_base_init(&other);
	swap_code(&other, false);
	file = make_file(&other, sizeof(other));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(self->at + ELF_SMALL_VADDR,
		  mmap(self->at + ELF_SMALL_VADDR, PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_FIXED, file, ELF_SMALL_OFFSET));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	/* Another part of the same file. */
	ASSERT_EQ(self->at + ELF_SMALL_VADDR,
		  mmap(self->at + ELF_SMALL_VADDR, PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_FIXED, self->elf_fd,
		       ELF_LARGE_OFFSET));
	EXPECT_NE(WRONG, walk_small(self->fd, self->at));
	close(file);
}

TEST_F(discover, moved)
{
	unsigned char *to = mmap(NULL, PAGE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	ASSERT_EQ(to, mremap(self->at + ELF_SMALL_VADDR, PAGE, PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(CALLER, walk(self->fd, to));
	munmap(to, PAGE);
}

/* A file that was deleted while mapped, or never had a name. */
TEST_F(discover, deleted)
{
	char path[] = "/tmp/discover_test.XXXXXX";
	const int file = mkstemp(path);
	unsigned char *at;

	ASSERT_EQ(sizeof(self->elf), write(file, &self->elf,
					   sizeof(self->elf)));
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, unlink(path));
	close(file);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
}

/* Another file takes its name while it is mapped. */
TEST_F(discover, renamed_over)
{
	char path[] = "/tmp/discover_test.XXXXXX";
	char other_path[] = "/tmp/discover_test.XXXXXX";
	int file = mkstemp(path), other_file = mkstemp(other_path);
	struct elf_base other;
	unsigned char *at;

	elf_base_init(&other);
	swap_code(&other, true);
	ASSERT_EQ(sizeof(other), write(file, &self->elf, sizeof(other)));
	ASSERT_EQ(sizeof(other), write(other_file, &other, sizeof(other)));
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	ASSERT_EQ(0, rename(other_path, path));
	/* The old file is still mapped; no walk has met its other segment yet. */
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(CALLER, walk_large(self->fd, at));
	unmap_elf(at);
	close(file);
	file = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_TRUE(map_elf_at(at, file));
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
	close(file);
	close(other_file);
	unlink(path);
}

TEST_F(discover, overlayfs)
{
	char dir[] = "/tmp/discover_test.XXXXXX";
	char options[256], path[64];
	unsigned char *at;
	int file, i;

	ASSERT_NE(NULL, mkdtemp(dir));
	if (system("modprobe overlay 2>/dev/null") < 0)
		TH_LOG("no modprobe");
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		SKIP(return, "cannot mount");
	for (i = 0; i < 4; i++) {
		static const char * const names[] = {
			"lower", "upper", "work", "both"
		};

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		ASSERT_EQ(0, mkdir(path, 0755));
	}
	snprintf(path, sizeof(path), "%s/lower/elf", dir);
	file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);
	ASSERT_EQ(sizeof(self->elf), write(file, &self->elf,
					   sizeof(self->elf)));
	close(file);
	snprintf(options, sizeof(options),
		 "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir,
		 dir, dir);
	snprintf(path, sizeof(path), "%s/both", dir);
	if (mount("none", path, "overlay", 0, options))
		SKIP(return, "no overlayfs");
	strcat(path, "/elf");
	file = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, file);
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND,
		  section_of(self->fd, at + ELF_SMALL_VADDR).source);
	EXPECT_NE(0, section_of(self->fd, at + ELF_SMALL_VADDR).sframe_start);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	unmap_elf(at);
	close(file);
}

/* --- programs and objects written by the real linker */

/* Path of the file @name beside this program. */
static const char *beside(const char *name)
{
	static char path[512];
	char exe[256] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", dirname(exe), name);
	return path;
}

FIXTURE(program)
{
};

FIXTURE_VARIANT(program)
{
	const char *name;
	const char *object;	/* shared object to load, or NULL */
};

FIXTURE_VARIANT_ADD(program, pie) { .name = "discover_pie" };
FIXTURE_VARIANT_ADD(program, fixed) { .name = "discover_fixed" };
FIXTURE_VARIANT_ADD(program, needed) { .name = "discover_needed" };
FIXTURE_VARIANT_ADD(program, loaded) {
	.name = "discover_pie",
	.object = "discover_object.so",
};
FIXTURE_VARIANT_ADD(program, fixed_loaded) {
	.name = "discover_fixed",
	.object = "discover_object.so",
};

FIXTURE_SETUP(program)
{
}

FIXTURE_TEARDOWN(program)
{
}

TEST_F(program, to_main)
{
	char *object = variant->object ? strdup(beside(variant->object)) : NULL;
	const pid_t child = fork();
	int status;

	if (!child) {
		execl(beside(variant->name), variant->name, object, NULL);
		_exit(127);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	free(object);
}

struct call {
	int fd;
	struct stack stack;
};

static __attribute__((noinline)) int take(void *data)
{
	struct sframe_unwind_request req = request_self();
	struct call *call = data;

	return request(call->fd, &req) || read_stack(call->fd, &call->stack);
}

/* Copy the file @name from beside this program to @path by a rename. */
static int install(const char *name, const char *path)
{
	char command[1200];

	snprintf(command, sizeof(command), "cp '%s' '%s.new' && mv '%s.new' '%s'",
		 beside(name), path, path, path);
	return system(command);
}

/* The frames of relay() in the two objects differ in size. */
TEST_F(discover, loaded_replaced)
{
	static const char * const names[] = {
		"discover_object.so", "discover_object2.so",
	};
	char dir[] = "/tmp/discover_test.XXXXXX";
	int (*relay)(int (*function)(void *data), void *data);
	static struct call call;
	unsigned int round, i;
	uintptr_t last = 0;
	bool reused = false;
	char path[64];

	call.fd = self->fd;
	ASSERT_NE(NULL, mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/object.so", dir);
	for (round = 0; round < 6; round++) {
		bool ours = false;
		void *object;

		ASSERT_EQ(0, install(names[round % 2], path));
		object = dlopen(path, RTLD_NOW);
		ASSERT_NE(NULL, object);
		relay = (typeof(relay))dlsym(object, "relay");
		ASSERT_NE(NULL, relay);
		reused |= last == (uintptr_t)relay;
		last = (uintptr_t)relay;
		ASSERT_EQ(0, relay(take, &call));
		/* Frames: request(), take(), relay(), and then this function. */
		for (i = 1; i + 1 < call.stack.head.nr_frames; i++)
			ours |= call.stack.head.ips[i] - last < 256 &&
				how(&call.stack, i) ==
				SFRAME_UNWIND_FRAME_SFRAME &&
				how(&call.stack, i + 1) ==
				SFRAME_UNWIND_FRAME_SFRAME &&
				section_of(self->fd, (void *)(uintptr_t)
					   call.stack.head.ips[i + 1]).id ==
				section_of(self->fd, take).id;
		EXPECT_TRUE(ours)
		{
			TH_LOG("round %u: %u frames, end %u", round,
			       call.stack.head.nr_frames,
			       call.stack.head.stop);
		}
		ASSERT_EQ(0, dlclose(object));
	}
	/* Otherwise no address was reused, and nothing was tested. */
	EXPECT_TRUE(reused);
	unlink(path);
	rmdir(dir);
}

TEST_HARNESS_MAIN
