// SPDX-License-Identifier: GPL-2.0
/* Memory: calls that create and change memory of sections and code. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../include/elf_map.h"
#include "../include/random.h"
#include "calls.h"
#include "content.h"

/*
 * As many as fit into the slot of structures; more than one node of a tree
 * holds.
 */
#define NR_ENTRIES	250

bool memory_put(uint64_t to, const void *from, size_t size)
{
	if (sigsetjmp(self.fault, 0))
		return false;
	self.guarded = true;
	memcpy((void *)to, from, size);
	self.guarded = false;
	return true;
}

bool memory_get(void *to, uint64_t from, size_t size)
{
	if (sigsetjmp(self.fault, 0))
		return false;
	self.guarded = true;
	memcpy(to, (const void *)from, size);
	self.guarded = false;
	return true;
}

/* Whether the range is in the slots, so that the fuzzer's own memory is safe. */
static bool is_ours(uint64_t at, uint64_t length)
{
	return at >= SLOTS_BASE &&
	       at - SLOTS_BASE < NR_SLOTS * SLOT_SIZE &&
	       length <= SLOTS_BASE + NR_SLOTS * SLOT_SIZE - at;
}

/* The marker may be changed, too. */
static bool may_change(uint64_t at, uint64_t length)
{
	return is_ours(at, length) ||
	       (at && at == world.marker && length <= PAGE);
}

static bool put_content(uint64_t to, enum content content, uint64_t seed)
{
	uint64_t bytes[CONTENT_SIZE / sizeof(uint64_t)];
	const size_t size = content_make(content, seed, to, bytes);

	return is_ours(to, size) && memory_put(to, bytes, size);
}

/* Fill a slot with a section, code, and a stack. */
long run_make(const struct call *call, const uint64_t *value)
{
	const uint64_t at = SLOTS_BASE + value[0] % SLOT_STRUCTS * SLOT_SIZE;
	const bool has_file = call->arg[1].base == 'f';
	const void *got = mmap((void *)at, SLOT_USED,
			       PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED |
			       (has_file ? 0 : MAP_ANONYMOUS),
			       has_file ? (int)value[1] : -1, 0);

	if (got == MAP_FAILED)
		return -errno;
	put_content(at, value[2], value[3]);
	put_content(at + SLOT_STACK,
		    value[3] % 4 ? CONTENT_STACK : CONTENT_DEEP, value[3]);
	return 0;
}

long run_fill(const struct call *call, const uint64_t *value)
{
	(void)call;
	return put_content(value[0], value[1], value[2]) ? 0 : -EFAULT;
}

/* Fill an array for batches: registrations of parts of a slot's code. */
long run_entries(const struct call *call, const uint64_t *value)
{
	struct sframe_unwind_batch_entry entry[NR_ENTRIES] = {};
	const uint64_t at = SLOTS_BASE + value[1] % SLOT_STRUCTS * SLOT_SIZE;
	uint64_t seed = value[2];
	unsigned int i;

	(void)call;
	for (i = 0; i < NR_ENTRIES; i++) {
		entry[i].sframe_start = at;
		entry[i].sframe_size = PAGE;
		entry[i].text_start = at + SLOT_TEXT +
				      random_below(&seed, 0x1300) * 0x10;
		entry[i].text_size = 0x10 << random_below(&seed, 6);
		/* For unregistering. */
		if (random_percent(&seed, 30))
			entry[i].id = world.id[random_below(&seed, NR_IDS)];
		if (random_percent(&seed, 20))
			entry[i].sframe_start = 0;
		if (random_percent(&seed, 10))
			content_flip(&entry[i], sizeof(entry[i]), seed);
	}
	return is_ours(value[0], sizeof(entry)) &&
	       memory_put(value[0], entry, sizeof(entry)) ? 0 : -EFAULT;
}

long run_file(const struct call *call, const uint64_t *value)
{
	uint64_t bytes[CONTENT_SIZE / sizeof(uint64_t)];
	size_t size, used;
	int fd;

	used = content_make_file(value[1], value[2], bytes, &size);
	fd = make_file(bytes, used);
	if (fd >= 0 && size > used && ftruncate(fd, size))
		return -errno;
	return call_keep(&call->arg[0], call_result(fd));
}

long run_truncate(const struct call *call, const uint64_t *value)
{
	(void)call;
	if ((int)value[0] >= 200 || value[1] > 1 << 24)
		return -EINVAL;
	return call_result(ftruncate(value[0], value[1]));
}

long run_map_elf(const struct call *call, const uint64_t *value)
{
	const uint64_t at = SLOTS_BASE + value[0] % SLOT_STRUCTS * SLOT_SIZE;

	(void)call;
	if (!map_elf_at((unsigned char *)at, value[1]))
		return -errno;
	/* Add a stack to walk. */
	mmap((void *)(at + SLOT_STACK), 2 * PAGE, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	put_content(at + SLOT_STACK, CONTENT_STACK, value[0]);
	return 0;
}

long run_mmap(const struct call *call, const uint64_t *value)
{
	(void)call;
	/* Without these flags the kernel chooses another address. */
	if (value[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE) &&
	    !is_ours(value[0], value[1]))
		return -EINVAL;
	if (mmap((void *)value[0], value[1], value[2], value[3], value[4],
		 value[5]) == MAP_FAILED)
		return -errno;
	return 0;
}

long run_munmap(const struct call *call, const uint64_t *value)
{
	(void)call;
	if (!may_change(value[0], value[1]))
		return -EINVAL;
	return call_result(munmap((void *)value[0], value[1]));
}

long run_mremap(const struct call *call, const uint64_t *value)
{
	const bool moves = call->arg[3].base == 'm';

	if (!may_change(value[0], value[1]) ||
	    (moves && !is_ours(value[3], value[2])))
		return -EINVAL;
	if (mremap((void *)value[0], value[1], value[2],
		   MREMAP_MAYMOVE | (moves ? MREMAP_FIXED : 0),
		   (void *)value[3]) == MAP_FAILED)
		return -errno;
	return 0;
}

long run_mprotect(const struct call *call, const uint64_t *value)
{
	(void)call;
	if (!may_change(value[0], value[1]))
		return -EINVAL;
	return call_result(mprotect((void *)value[0], value[1], value[2]));
}

long run_madvise(const struct call *call, const uint64_t *value)
{
	(void)call;
	if (!may_change(value[0], value[1]))
		return -EINVAL;
	return call_result(madvise((void *)value[0], value[1], value[2]));
}

/* Find the marker: from now on 'k' stands for its address. */
long run_marker(const struct call *call, const uint64_t *value)
{
	static __thread char maps[8192];
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	char *line;

	(void)call, (void)value;
	if (fd < 0)
		return -errno;
	while (used < sizeof(maps) - 1 &&
	       (got = read(fd, maps + used, sizeof(maps) - 1 - used)) > 0)
		used += got;
	close(fd);
	maps[used] = '\0';
	line = strstr(maps, "[sframe_unwind]");
	if (!line)
		return -ENOENT;
	while (line > maps && line[-1] != '\n')
		line--;
	world.marker = strtoul(line, NULL, 16);
	return 0;
}

/* Page faults are not served: a thread waits until it is killed. */
long run_uffd(const struct call *call, const uint64_t *value)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = value[1], .len = value[2] },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd;

	if (!is_ours(value[1], value[2]))
		return -EINVAL;
	fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range)) {
		close(fd);
		return -EINVAL;
	}
	return call_keep(&call->arg[0], fd);
}
