// SPDX-License-Identifier: GPL-2.0
/*
 * The library's attach function, called by programs built with an older,
 * shorter structure, and with the current one.
 */
#include <dlfcn.h>
#include <libgen.h>

#include "attach_fixture.h"
#include "attach_range.h"

/* Size of the structure as first published. */
#define OLD_SIZE	112

struct sframe_unwind;

struct library {
	void *handle;
	int (*open_fd)(struct sframe_unwind **handle, int fd);
	int (*attach)(struct sframe_unwind *handle,
		      struct sframe_unwind_attach *attach);
	int (*attach_sized)(struct sframe_unwind *handle,
			    struct sframe_unwind_attach *attach, size_t size);
	int (*attach_process)(struct sframe_unwind *handle, unsigned int flags,
			      pid_t pid, uint64_t text_start, uint64_t text_size,
			      const void *section, size_t size, uint64_t *id);
	void (*close)(struct sframe_unwind *handle);
};

/* Load the library that was built beside this program. */
static bool load_library(struct library *library)
{
	char exe[256] = "", path[512];

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return false;
	snprintf(path, sizeof(path),
		 "%s/../userspace/libsframe_unwind.so", dirname(exe));
	library->handle = dlopen(path, RTLD_NOW);
	if (!library->handle) {
		fprintf(stderr, "# %s\n", dlerror());
		return false;
	}
	library->open_fd = dlsym(library->handle, "sframe_unwind_open_fd");
	library->attach = dlsym(library->handle, "sframe_unwind_attach");
	library->attach_sized = dlsym(library->handle,
				      "sframe_unwind_attach_sized");
	library->attach_process = dlsym(library->handle,
					"sframe_unwind_attach_process");
	library->close = dlsym(library->handle, "sframe_unwind_close");
	return library->open_fd && library->attach && library->attach_sized &&
	       library->attach_process && library->close;
}

/* The bytes behind the old structure must not reach the kernel. */
TEST_F(attach, by_an_old_program)
{
	struct sframe_unwind *handle;
	struct library library;

	ASSERT_TRUE(load_library(&library));
	ASSERT_EQ(0, library.open_fd(&handle, open_client(0)));
	self->arg.size = 0;
	memset((char *)&self->arg + OLD_SIZE, 0xa5,
	       sizeof(self->arg) - OLD_SIZE);
	EXPECT_EQ(0, library.attach(handle, &self->arg));
	EXPECT_EQ(OLD_SIZE, self->arg.size);
	EXPECT_NE(0, self->arg.id);
	EXPECT_EQ(0xa5, ((unsigned char *)&self->arg)[OLD_SIZE]);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	library.close(handle);
}

TEST_F(attach, by_a_new_program)
{
	struct sframe_unwind_segment segments[2];
	struct sframe_unwind *handle;
	struct library library;

	ASSERT_TRUE(load_library(&library));
	ASSERT_EQ(0, library.open_fd(&handle, open_client(0)));
	self->arg.size = 0;
	self->arg.flags = SFRAME_UNWIND_ATTACH_INODE;
	tell_segments(&self->arg, &self->elf, segments);
	segments[0].size++;
	EXPECT_EQ(-ESTALE, library.attach_sized(handle, &self->arg,
						sizeof(self->arg)));
	segments[0].size--;
	EXPECT_EQ(0, library.attach_sized(handle, &self->arg,
					  sizeof(self->arg)));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
	library.close(handle);
}

/* A section in memory, for code that no file describes. */
TEST_F(attach, to_code)
{
	unsigned char section[FAKE_SECTION_SIZE], *at;
	const int fd = open_client(0);
	struct sframe_unwind *handle;
	struct library library;
	uint64_t id = 0, start;

	at = map_anonymous_code(&self->elf);
	ASSERT_NE(NULL, at);
	start = (uintptr_t)at + ELF_SMALL_VADDR;
	write_fake_section(section, section);
	ASSERT_TRUE(load_library(&library));
	ASSERT_EQ(0, library.open_fd(&handle, fd));
	EXPECT_EQ(0, library.attach_process(handle, 0, 0, start, ELF_PAGE, section,
					    sizeof(section), &id));
	EXPECT_NE(0, id);
	EXPECT_EQ(CALLER, walk_small(self->fd, at));
	EXPECT_EQ(-EEXIST, library.attach_process(handle, 0, getpid(), start, ELF_PAGE,
						  section, sizeof(section), NULL));
	EXPECT_EQ(0, library.attach_process(handle, SFRAME_UNWIND_ATTACH_REPLACE, 0, start,
					    ELF_PAGE, section, sizeof(section), NULL));
	EXPECT_TRUE(has_ended_id(fd, id));
	EXPECT_EQ(-EINVAL, library.attach_process(handle, 0, 0, start, ELF_PAGE, section,
						  sizeof(section) - 1, NULL));
	EXPECT_EQ(-EINVAL, library.attach_process(handle, SFRAME_UNWIND_ATTACH_SYSTEM, 0,
						  start, ELF_PAGE, section, sizeof(section),
						  NULL));
	EXPECT_EQ(-ESRCH, library.attach_process(handle, 0, 1 << 30, start, ELF_PAGE, section,
						 sizeof(section), NULL));
	library.close(handle);
	close(fd);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, at));
}

TEST_HARNESS_MAIN
