// SPDX-License-Identifier: GPL-2.0
/*
 * Several threads concurrently walk through code that no walk has met before:
 * one of them adds the section, the others nothing.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "elf_map.h"

#define WALKERS		4
#define ROUNDS		40

/* No more rounds after that time: some kernels are slow. */
#define MAX_SECONDS	25

/* Large enough that changing its protection takes milliseconds. */
#define LOCK_SIZE	(128UL << 20)

FIXTURE(race)
{
	int fd;
	int elf_fd;
	struct elf_base elf;
	pthread_t walker[WALKERS], locker;
	pthread_barrier_t begin, end;
	unsigned char *at;	/* code walked in this round; NULL ends the test */
	atomic_bool over;
	atomic_int found;
};

/* Hold the mmap lock when walks start, so that they wait and continue together. */
static void *take_mmap_lock(void *arg)
{
	FIXTURE_DATA(race) *self = arg;
	unsigned char *p = mmap(NULL, LOCK_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Real-time kernels have no huge pages to disable. */
	if (p == MAP_FAILED ||
	    (madvise(p, LOCK_SIZE, MADV_NOHUGEPAGE) && errno != EINVAL) ||
	    madvise(p, LOCK_SIZE, MADV_POPULATE_READ))
		return NULL;
	while (!self->over) {
		mprotect(p, LOCK_SIZE, PROT_NONE);
		mprotect(p, LOCK_SIZE, PROT_READ);
	}
	munmap(p, LOCK_SIZE);
	return p;
}

static void *walk_in_rounds(void *arg)
{
	FIXTURE_DATA(race) *self = arg;
	int fd = open_client(0);

	for (;;) {
		pthread_barrier_wait(&self->begin);
		if (!self->at)
			break;
		self->found += walk_small(fd, self->at) == CALLER;
		pthread_barrier_wait(&self->end);
	}
	close(fd);
	return NULL;
}

FIXTURE_SETUP(race)
{
	int i;

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&self->elf);
	self->elf_fd = make_file(&self->elf, sizeof(self->elf));
	self->over = false;
	pthread_barrier_init(&self->begin, NULL, WALKERS + 1);
	pthread_barrier_init(&self->end, NULL, WALKERS + 1);
	for (i = 0; i < WALKERS; i++)
		ASSERT_EQ(0, pthread_create(&self->walker[i], NULL,
					    walk_in_rounds, self));
	ASSERT_EQ(0, pthread_create(&self->locker, NULL, take_mmap_lock, self));
}

FIXTURE_TEARDOWN(race)
{
	void *locked;
	int i;

	self->at = NULL;
	pthread_barrier_wait(&self->begin);
	for (i = 0; i < WALKERS; i++)
		pthread_join(self->walker[i], NULL);
	self->over = true;
	pthread_join(self->locker, &locked);
	EXPECT_NE(NULL, locked);
	close(self->elf_fd);
	close(self->fd);
}

/* Let all threads walk through the new code at @at. */
static void do_round(FIXTURE_DATA(race) *self, unsigned char *at)
{
	self->at = at;
	self->found = 0;
	pthread_barrier_wait(&self->begin);
	pthread_barrier_wait(&self->end);
}

/* Number of sections listed for the mapped file. */
static unsigned int count_listed(int fd, const unsigned char *at)
{
	static struct sframe_unwind_section sections[64];
	struct sframe_unwind_list list = {
		.size = sizeof(list),
		.sections = (uintptr_t)sections,
		.nr = 64,
		.from = (uintptr_t)at,
	};
	unsigned int i, nr = 0;

	if (ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list))
		return ~0U;
	for (i = 0; i < list.nr; i++)
		nr += sections[i].text_start - (uintptr_t)at < ELF_MAPPED_SIZE;
	return nr;
}

TEST_F_TIMEOUT(race, listed_once, 50)
{
	const time_t end = time(NULL) + MAX_SECONDS;
	unsigned char *at;
	int i;

	for (i = 0; i < ROUNDS && time(NULL) < end; i++) {
		at = map_elf(self->elf_fd);
		ASSERT_NE(NULL, at);
		do_round(self, at);
		ASSERT_EQ(WALKERS, self->found);
		ASSERT_EQ(1, count_listed(self->fd, at));
	}
}

/* Code registered next to it is found, and can be unregistered. */
TEST_F_TIMEOUT(race, neighbour, 50)
{
	const time_t end = time(NULL) + MAX_SECONDS;
	struct fake fake;
	unsigned char *at;
	int i;

	ASSERT_TRUE(make_fake(&fake));
	for (i = 0; i < ROUNDS && time(NULL) < end; i++) {
		at = map_elf(self->elf_fd);
		ASSERT_NE(NULL, at);
		fake.text = mmap(at + ELF_SMALL_VADDR + ELF_PAGE, PAGE,
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		ASSERT_NE(MAP_FAILED, fake.text);
		put_request_code(&fake);
		write_fake_section(fake.section, fake.text);
		fake.reg.text_start = (uintptr_t)fake.text;
		ASSERT_EQ(0, register_section(self->fd, &fake.reg));
		do_round(self, at);
		ASSERT_EQ(WALKERS, self->found);
		ASSERT_EQ(CALLER, walk(self->fd, fake.text));
		ASSERT_EQ(0, unregister_id(self->fd, fake.reg.id));
	}
}

TEST_HARNESS_MAIN
