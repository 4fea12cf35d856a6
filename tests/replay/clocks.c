/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sees of its clocks in a deterministic run, by its first word. alarms: how many of
 * many short alarms rang before they were due, and what is left of one that has rung. order: two
 * threads sleep, one of which began late by the true clock. devices: ways to time and random bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile long long shown;

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void ring(int sig)
{
	shown = sig ? now() : 0;
}

static void quiet(int sig)
{
	(void)sig;
}

static void on_alarm(void (*f)(int))
{
	struct sigaction sa = {.sa_handler = f};

	sigaction(SIGALRM, &sa, NULL);
}

static void alarms(void)
{
	struct itimerval want = {{0}, {0}}, left;
	int early = 0;

	on_alarm(ring);
	for (int i = 0; i < 2000; i++) {
		long us = 1 + i % 4;
		long long begin = now();

		shown = 0;
		want.it_value.tv_usec = us;
		setitimer(ITIMER_REAL, &want, NULL);
		while (!shown)
			;
		early += shown - begin < us * 1000;
	}
	on_alarm(quiet);
	want.it_value.tv_usec = 20000;
	setitimer(ITIMER_REAL, &want, NULL);
	getitimer(ITIMER_REAL, &left);
	printf("%d %ld", early, (long)left.it_value.tv_usec);
	pause();
	want.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &want, &left);
	printf(" %ld\n", (long)left.it_value.tv_usec);
}

static void *early(void *lag)
{
	const struct timespec ts = {0, lag ? 190000000 : 200000000};

	/* No function of libc's: nothing that is pinned counts it. */
	if (lag)
		syscall(SYS_ppoll, NULL, 0, &(struct timespec){0, 30000000}, NULL, 8);
	nanosleep(&ts, NULL); /* tidy: it is what is tested */
	printf("%s\n", lag ? "190 ms" : "200 ms");
	return NULL;
}

static void order(void)
{
	pthread_t first, second;

	pthread_create(&first, NULL, early, NULL);
	pthread_create(&second, NULL, early, "");
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

static void print(const char *name, const void *bytes)
{
	unsigned long long v;

	memcpy(&v, bytes, sizeof(v));
	printf("%s %llx\n", name, v);
}

static void devices(void)
{
	char bytes[8] = {0};
	struct iovec part = {bytes, sizeof(bytes)};
	int fd = open("/dev/urandom", O_RDONLY);
	struct timeval tv;

	print("auxv", (void *)getauxval(AT_RANDOM));
	if (readv(fd, &part, 1) == 8)
		print("readv", bytes);
	if (pread(fd, bytes, sizeof(bytes), 0) == 8)
		print("pread", bytes);
	syscall(SYS_gettimeofday, &tv, NULL);
	printf("gettimeofday %ld\n", (long)tv.tv_usec);
}

int main(int n, char **words)
{
	const char *word = n > 1 ? words[1] : "";

	if (strcmp(word, "alarms") == 0)
		alarms();
	else if (strcmp(word, "order") == 0)
		order();
	else if (strcmp(word, "devices") == 0)
		devices();
	else
		printf("%lld\n", now()); /* of a static one: the truth */
	return 0;
}
