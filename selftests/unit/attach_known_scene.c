// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "attach_known_scene.h"

struct known_files *files;

uint64_t detached[8];
unsigned int nr_detached;

static void detach(void *data, uint64_t id)
{
	if (data == &nr_detached && nr_detached < 8)
		detached[nr_detached++] = id;
}

void scene_begin(void)
{
	known_files_free(files);
	world_begin();
	nr_detached = 0;
	files = known_files_create(detach, &nr_detached);
}

struct known file(uint64_t inode, enum file_state state)
{
	return (struct known) {
		.key = { .device = 1, .inode = inode },
		.device = 9,
		.inode = inode,
		.group = known_group(files, 5),
		.state = state,
		.retry_at = UINT64_MAX,
	};
}

struct known attached(uint64_t inode, uint64_t id)
{
	struct known known = file(inode, FILE_ATTACHED);

	known.id = id;
	known.has_digest = true;
	memset(&known.digest, 7, sizeof(known.digest));
	memcpy(known.digest.bytes, &inode, sizeof(inode));
	known.functions = 10;
	known.bytes = 100;
	known.memory = 1000;
	return known;
}

struct known *set(struct known known)
{
	known_set(files, &known);
	return known_find_inode(files, known.device, known.inode);
}

struct known *find(uint64_t device, uint64_t inode)
{
	const struct file_key key = { device, inode };

	return known_find(files, &key);
}

int scene_run(const struct tap_test *tests, size_t nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		scene_begin();
		tap_run(&tests[i], 1);
	}
	known_files_free(files);
	return tap_done();
}
