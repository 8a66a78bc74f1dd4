/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections for all objects of the test's own process, including libc, the
 * loader and the vDSO. The converter makes them once, when the test starts.
 */
#ifndef SELFTESTS_ATTACHED_H
#define SELFTESTS_ATTACHED_H

#include <limits.h>
#include <sys/auxv.h>

#include "common.h"

#define MAX_ATTACHED	8

/* An object and the section that the converter made for it. */
struct attached {
	int elf_fd, sframe_fd;		/* -1: not converted */
	off_t sframe_size;
	unsigned char build_id[SFRAME_UNWIND_BUILD_ID_SIZE];
	__u32 build_id_size;
	uintptr_t base;			/* of the object's virtual address 0 */
	uintptr_t text, text_size;
	bool is_program, is_vdso, is_libc, is_loader;
};

static struct attached attached[MAX_ATTACHED];
static unsigned int nr_attached;

static inline void find_build_id(struct attached *object, const char *note,
				 size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *head = (const void *)note;
		const size_t name = (head->n_namesz + 3) & ~3U;
		const size_t whole = sizeof(*head) + name +
				     ((head->n_descsz + 3) & ~3U);

		if (whole > size)
			return;
		if (head->n_type == NT_GNU_BUILD_ID &&
		    head->n_descsz <= sizeof(object->build_id)) {
			object->build_id_size = head->n_descsz;
			memcpy(object->build_id, note + sizeof(*head) + name,
			       head->n_descsz);
		}
		note += whole;
		size -= whole;
	}
}

/* Write the vDSO's image to a file; it ends with its section headers. */
static inline int copy_vdso(const char *path)
{
	const ElfW(Ehdr) *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const size_t size = image->e_shoff +
			    image->e_shnum * image->e_shentsize;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (write(fd, image, size) != (ssize_t)size)
		perror("# attached.h: vDSO");
	return fd;
}

/* Arguments of the converter, and the name of each object found. */
struct conversion {
	char dir[64];
	char args[8 * PATH_MAX];
	char names[MAX_ATTACHED][NAME_MAX + 1];
};

static inline int add_attached(struct dl_phdr_info *info, size_t size,
			       void *data)
{
	struct attached *object = &attached[nr_attached];
	struct conversion *conversion = data;
	char path[PATH_MAX] = "";
	const char *base;

	(void)size;
	if (nr_attached == MAX_ATTACHED)
		return 1;
	object->base = info->dlpi_addr;
	object->is_program = !nr_attached;
	object->is_vdso = strstr(info->dlpi_name, "vdso");
	object->is_libc = strstr(info->dlpi_name, "/libc.so");
	object->is_loader = strstr(info->dlpi_name, "/ld-linux");
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_NOTE)
			find_build_id(object, (const char *)info->dlpi_addr +
				      phdr->p_vaddr, phdr->p_memsz);
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
			object->text = info->dlpi_addr + phdr->p_vaddr;
			object->text_size = phdr->p_memsz;
		}
	}
	if (object->is_program) {
		if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
			return 1;
		object->elf_fd = open(path, O_RDONLY | O_CLOEXEC);
	} else if (object->is_vdso) {
		snprintf(path, sizeof(path), "%s/vdso", conversion->dir);
		object->elf_fd = copy_vdso(path);
	} else {
		snprintf(path, sizeof(path), "%s", info->dlpi_name);
		object->elf_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	base = strrchr(path, '/');
	snprintf(conversion->names[nr_attached++],
		 sizeof(conversion->names[0]), "%s", base ? base + 1 : path);
	strcat(strcat(conversion->args, " "), path);
	return 0;
}

/* Runs before all tests, which inherit the files. */
__attribute__((constructor))
static void convert_objects(void)
{
	static struct conversion conversion = { .dir = "/tmp/attached-XXXXXX" };
	static char command[9 * PATH_MAX];
	char path[PATH_MAX] = "";

	if (!mkdtemp(conversion.dir) ||
	    readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return;
	*strrchr(path, '/') = '\0';
	dl_iterate_phdr(add_attached, &conversion);
	snprintf(command, sizeof(command),
		 "%s/../userspace/sframe-unwind convert -q -o %s %s >&2", path,
		 conversion.dir, conversion.args);
	if (system(command))
		fprintf(stderr, "# attached.h: failed: %s\n", command);
	for (unsigned int i = 0; i < nr_attached; i++) {
		snprintf(path, sizeof(path), "%s/%.200s.sframe", conversion.dir,
			 conversion.names[i]);
		attached[i].sframe_fd = open(path, O_RDONLY | O_CLOEXEC);
		attached[i].sframe_size = lseek(attached[i].sframe_fd, 0,
						SEEK_END);
	}
	snprintf(command, sizeof(command), "rm -r %s", conversion.dir);
	if (system(command))
		perror("# attached.h: rm");
}

/*
 * Attach the section of one object. The program's is preferred to its own section,
 * which lacks the code that libc links into every program. Returns NULL or an error
 * message.
 */
static inline const char *attach_object(int fd, const struct attached *object,
					__u32 flags)
{
	static char why[160];
	char message[96] = "";
	struct sframe_unwind_attach attach = {
		.size = sizeof(attach),
		.flags = flags | (object->is_program ?
				  SFRAME_UNWIND_ATTACH_PREFER : 0),
		.elf_fd = object->elf_fd,
		.sframe_fd = object->sframe_fd,
		.sframe_size = object->sframe_size,
		.build_id_size = object->build_id_size,
		.message = (uintptr_t)message,
		.message_size = sizeof(message),
	};

	memcpy(attach.build_id, object->build_id, object->build_id_size);
	if (!ioctl(fd, SFRAME_UNWIND_IOC_ATTACH, &attach))
		return NULL;
	snprintf(why, sizeof(why), "object %u: %s: %s",
		 (unsigned int)(object - attached), strerror(errno), message);
	return why;
}

/* Attach the sections of all objects. Returns NULL or an error message. */
static inline const char *attach_objects(int fd, __u32 flags)
{
	const char *why = nr_attached ? NULL : "no objects";

	for (unsigned int i = 0; !why && i < nr_attached; i++)
		why = attach_object(fd, &attached[i], flags);
	return why;
}

#define ASSERT_ATTACHED(fd, flags)					\
	do {								\
		const char *why_ = attach_objects(fd, flags);		\
		ASSERT_EQ(NULL, why_)					\
		{							\
			TH_LOG("%s", why_);				\
		}							\
	} while (0)

static inline bool is_in_text(const struct attached *object, __u64 ip)
{
	return ip - object->text < object->text_size;
}

/* Whether @ip is in an object whose member @what is true. */
#define is_in_object(ip, what)						\
	({								\
		bool found_ = false;					\
		for (unsigned int i_ = 0; i_ < nr_attached; i_++)	\
			found_ |= attached[i_].what &&			\
				  is_in_text(&attached[i_], ip);	\
		found_;							\
	})

#endif /* SELFTESTS_ATTACHED_H */
