/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Far more requests than the daemon can serve, for a while: what becomes of those that are
 * admitted.
 *
 *	overload [-s SECONDS] [-x TIMES] [-r ROOM] [-u UID] [-m] [-- PROGRAM ARG...]
 *
 * 1. alone: one run after the other.
 * 2. capacity: as many callers as the daemon takes without one waiting for long, one run after the
 *    other each; what comes out in a second is what the machine can do.
 * 3. overload: TIMES (10) as many requests a second, whatever becomes of them, for SECONDS (60).
 * 4. alone again: it recovers by itself.
 *
 * Times are from request to result, the wait in the queue included, and of the run by itself. ROOM
 * is the daemon's --max and --queue together: so many threads can be kept waiting by it at once,
 * and some more are there to be refused. The socket is $PINFOLD_SOCKET. Exit 1 when anybody got
 * another answer than a result or busy.
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define ALONE_S 8
#define CAPACITY_S 5
#define SAMPLES_MAX 200000u
#define SECOND 1000000000ull
#define SPARE 16u

static const char *const standard[] = {"/usr/bin/python3", "-I", "-c", "sum(range(300000))", NULL};
static const char *const *program = standard;

/* One of the four. Threads share it. */
struct phase {
	const char *name;
	uint64_t begin, end;
	double rate;	       /* requests a second; 0: each thread as fast as it can */
	uint64_t *total, *own; /* nanoseconds; SAMPLES_MAX */
	atomic_uint n, asked, busy, wrong;
	char complaint[200];
};

static void complain(struct phase *p, const char *code, const char *text)
{
	atomic_fetch_add(&p->wrong, 1);
	(void)snprintf(p->complaint, sizeof(p->complaint), "%.40s: %.140s", code, text);
}

static void ask(struct phase *p)
{
	struct pinfold_run_options o = {.size = sizeof(o),
					.argv = program,
					.limits = "best-effort",
					.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON};
	struct pinfold_run *run = NULL;
	struct pinfold_event ev = {0};
	struct pinfold_error e;

	uint64_t begin = now_ns();
	if (pinfold_run_start(&o, &run, &e) < 0) {
		if (strcmp(e.code, "busy") == 0)
			atomic_fetch_add(&p->busy, 1);
		else
			complain(p, e.code, e.message);
		return;
	}
	uint64_t started = now_ns();
	while (pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT)
		;
	int status = pinfold_run_exit_status(run);
	pinfold_run_free(run);
	uint64_t end = now_ns();
	unsigned i = status == 0 ? atomic_fetch_add(&p->n, 1) : SAMPLES_MAX;
	if (status != 0)
		complain(p, "status", "not 0");
	if (i < SAMPLES_MAX) {
		p->total[i] = end - begin;
		p->own[i] = end - started;
	}
}

static void sleep_until(uint64_t ns)
{
	struct timespec at = {(time_t)(ns / SECOND), (long)(ns % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		;
}

static void *caller(void *arg)
{
	struct phase *p = arg;

	for (;;) {
		unsigned i = atomic_fetch_add(&p->asked, 1);
		uint64_t due = p->rate > 0 ? p->begin + (uint64_t)(i / p->rate * 1e9) : now_ns();

		if (due >= p->end)
			return NULL;
		sleep_until(due);
		ask(p);
	}
}

static void run_phase(struct phase *p, unsigned threads, unsigned seconds)
{
	pthread_t *t = calloc(threads, sizeof(*t));
	unsigned started = 0;

	p->total = calloc(SAMPLES_MAX, sizeof(*p->total));
	p->own = calloc(SAMPLES_MAX, sizeof(*p->own));
	if (!t || !p->total || !p->own)
		err(1, "memory");
	p->begin = now_ns();
	p->end = p->begin + seconds * SECOND;
	while (started < threads && pthread_create(&t[started], NULL, caller, p) == 0)
		started++;
	for (unsigned i = 0; i < started; i++)
		pthread_join(t[i], NULL);
	p->asked -= started; /* each thread's last was not asked any more */
	p->end = now_ns();
	free(t);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* In milliseconds. Sorts. */
static double percentile(uint64_t *samples, unsigned n, unsigned percent)
{
	if (n == 0)
		return 0;
	qsort(samples, n, sizeof(*samples), by_value);
	return (double)samples[(uint64_t)(n - 1) * percent / 100] / 1e6;
}

static unsigned kept(const struct phase *p)
{
	return p->n < SAMPLES_MAX ? p->n : SAMPLES_MAX;
}

static void print(FILE *out, struct phase *p, const struct phase *base, bool markdown)
{
	const char *row =
		markdown ? "| %s | %.0f | %.0f | %u | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f |\n"
			 : "%-14s %8.0f %8.0f %7u %9.1f %9.1f %7.2f %9.1f %9.1f %7.2f\n";
	double s = (double)(p->end - p->begin) / 1e9;
	unsigned n = kept(p);
	double p99 = percentile(p->total, n, 99), own99 = percentile(p->own, n, 99);

	fprintf(out, row, p->name, p->asked / s, p->n / s, p->busy, percentile(p->total, n, 50),
		p99, p99 / percentile(base->total, kept(base), 99), percentile(p->own, n, 50),
		own99, own99 / percentile(base->own, kept(base), 99));
	if (p->wrong)
		fprintf(out, "%s%u wrong answers, the last: %s\n", markdown ? "\n" : "", p->wrong,
			p->complaint);
}

static void head(FILE *out, bool markdown)
{
	if (markdown)
		fputs("| | asked/s | run/s | busy | p50 ms | p99 ms | × alone | own p50 | own p99 | × alone |\n"
		      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
		      out);
	else
		fprintf(out, "%-14s %8s %8s %7s %9s %9s %7s %9s %9s %7s\n", "", "asked/s", "run/s",
			"busy", "p50 ms", "p99 ms", "x alone", "own p50", "own p99", "x alone");
}

int main(int argc, char **argv)
{
	static struct phase p[4] = {{.name = "alone"},
				    {.name = "capacity"},
				    {.name = "overload"},
				    {.name = "alone again"}};
	unsigned long seconds = 60, times = 10, room = 8, uid = 0;
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	bool markdown = false;
	int opt = 0;

	while ((opt = getopt(argc, argv, "s:x:r:u:m")) != -1) {
		switch (opt) {
		case 's': seconds = parse_number(optarg, "-s"); break;
		case 'x': times = parse_number(optarg, "-x"); break;
		case 'r': room = parse_number(optarg, "-r"); break;
		case 'u': uid = parse_number(optarg, "-u"); break;
		case 'm': markdown = true; break;
		default: errx(2, "see the top of overload.c");
		}
	}
	if (optind < argc)
		program = (const char *const *)(argv + optind);
	if (uid)
		become_user(uid);
	run_phase(&p[0], 1, ALONE_S);
	run_phase(&p[1], cpus, CAPACITY_S);
	p[2].rate = (double)times * p[1].n / CAPACITY_S;
	run_phase(&p[2], (unsigned)room + SPARE, (unsigned)seconds);
	run_phase(&p[3], 1, ALONE_S);
	head(stdout, markdown);
	for (int i = 0; i < 4; i++)
		print(stdout, &p[i], &p[0], markdown);
	return p[0].wrong + p[1].wrong + p[2].wrong + p[3].wrong > 0;
}
