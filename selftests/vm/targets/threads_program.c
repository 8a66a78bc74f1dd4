// SPDX-License-Identifier: GPL-2.0
/*
 * A process whose threads sleep, run, or wait for a child of vfork(2); its main
 * thread has a hostile name. With debugging information, without SFrame data.
 *
 * usage: threads_program NUMBER [sleeping]
 *   NUMBER    threads that sleep
 *   sleeping  no others
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))

static sem_t never, ready;
static volatile unsigned int counter;

INLINE void inlined_wait(void)
{
	while (sem_wait(&never))	/* LINE inlined_wait */
		;
	counter++;
}

NOINLINE static void wait_here(void)
{
	inlined_wait();			/* LINE wait_here */
	counter++;
}

NOINLINE static void *sleeper(void *data)
{
	(void)data;
	sem_post(&ready);
	wait_here();			/* LINE sleeper */
	counter++;
	return NULL;
}

NOINLINE static void run_here(void)
{
	for (;;)
		counter++;
}

NOINLINE static void *runner(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "runner");
	sem_post(&ready);
	run_here();
	counter++;
	return NULL;
}

NOINLINE static void *vforker(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "vforker");
	sem_post(&ready);
	if (!vfork()) {
		syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			syscall(SYS_pause);
	}
	return NULL;
}

static void start(void *(*function)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	if (pthread_create(&thread, &attributes, function, NULL)) {
		perror("pthread_create");
		exit(1);
	}
	sem_wait(&ready);
}

int main(int argc, char **argv)
{
	const int nr = argc > 1 ? atoi(argv[1]) : 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sem_init(&never, 0, 0);
	sem_init(&ready, 0, 0);
	for (int i = 0; i < nr; i++)
		start(sleeper);
	if (argc <= 2) {
		start(runner);
		start(vforker);
	}
	prctl(PR_SET_NAME, "a\033[31m\nTID 1");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
