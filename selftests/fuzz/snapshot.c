// SPDX-License-Identifier: GPL-2.0
/*
 * snapshot: the snapshot of a file of arbitrary bytes. It must be sealed,
 * contain the file's bytes where it contains any, be the same each time, and be
 * converted to the same section as the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <sframe_unwind_convert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "convert/snapshot/snapshot.h"
#include "fuzz.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int make_file(const u8 *data, size_t size)
{
	const int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/* The bytes of the snapshot, with zeroes in its holes. */
static u8 *read_all(const struct sfu_snapshot *snapshot, const u8 *data,
		    size_t size)
{
	u8 *bytes = malloc(size + 1);
	size_t others = 0;

	FUZZ_CHECK(snapshot->size == size &&
		   pread(snapshot->fd, bytes, size + 1, 0) == (ssize_t)size,
		   "not of the file's size");
	for (size_t i = 0; i < size; i++) {
		FUZZ_CHECK(!bytes[i] || bytes[i] == data[i], "byte %zu", i);
		others += bytes[i] != data[i];
	}
	FUZZ_CHECK(snapshot->nr_bytes <= size - others, "%llu of %zu bytes",
		   (unsigned long long)snapshot->nr_bytes, size);
	return bytes;
}

static void check_headers(const struct sfu_snapshot *snapshot)
{
	const struct sfu_elf *elf = &snapshot->elf;

	FUZZ_CHECK(!snapshot->elf_status == !elf->problem, "%d",
		   snapshot->elf_status);
	FUZZ_CHECK(!snapshot->elf_status ||
		   snapshot->elf_status == -EINVAL ||
		   snapshot->elf_status == -EOPNOTSUPP, "%d",
		   snapshot->elf_status);
	FUZZ_CHECK(!snapshot->has_own || elf->sframe_size, "has_own without a section");
}

/* Of a file that is not convertible the snapshot need only say so. */
static bool is_convertible(const u8 *data, size_t size)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       header.e_machine == EM_X86_64 &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static void check_refused(const u8 *bytes, size_t size)
{
	struct sframe_unwind_converted *converted;

	FUZZ_CHECK(sframe_unwind_convert_memory(bytes, size, "file", NULL,
						&converted), "converted");
}

/* Both conversions fail, or both give the same section. */
static void check_conversion(const u8 *file, const u8 *copy, size_t size)
{
	struct sframe_unwind_converted *a, *b;
	char message[600];
	int err;

	err = sframe_unwind_convert_memory(file, size, "file", NULL, &a);
	snprintf(message, sizeof(message), "%s", sframe_unwind_convert_error());
	FUZZ_CHECK(sframe_unwind_convert_memory(copy, size, "file", NULL,
						&b) == err, "not %d", err);
	FUZZ_CHECK(!strcmp(message, sframe_unwind_convert_error()), "%s, not %s",
		   sframe_unwind_convert_error(), message);
	if (err)
		return;
	FUZZ_CHECK(a->size == b->size && !memcmp(a->bytes, b->bytes, a->size) &&
		   a->build_id_size == b->build_id_size &&
		   !memcmp(a->build_id, b->build_id, a->build_id_size) &&
		   a->nr_left_out == b->nr_left_out, "converted otherwise");
	sframe_unwind_converted_free(a);
	sframe_unwind_converted_free(b);
}

void fuzz_snapshot(const u8 *data, size_t size)
{
	const int fd = make_file(data, size);
	struct sfu_snapshot first, second;
	u8 *bytes;
	int err;

	sfu_message_begin("file");
	err = sfu_snapshot_take(fd, NULL, &first);
	FUZZ_CHECK(err == sfu_snapshot_take(fd, NULL, &second), "not %d", err);
	close(fd);
	FUZZ_CHECK(!err || (err == -EFBIG && *sfu_message_text()), "%d", err);
	if (err) {
		FUZZ_CHECK(first.fd == -1 && second.fd == -1, "a file");
		return;
	}
	FUZZ_CHECK((fcntl(first.fd, F_GET_SEALS) & SEALS) == SEALS, "seals");
	FUZZ_CHECK(!memcmp(&first.digest, &second.digest, sizeof(first.digest)),
		   "two digests");
	check_headers(&first);
	bytes = read_all(&first, data, size);
	if (is_convertible(data, size))
		check_conversion(data, bytes, size);
	else
		check_refused(bytes, size);
	free(bytes);
	sfu_snapshot_free(&first);
	sfu_snapshot_free(&second);
}
