/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes a second callers get that ask again as soon as they have their result:
 *
 *	rate [-s SECONDS] [-r ROUNDS] [-c CALLERS] [-u UID] [-t TITLE] [-o RESULTS] [-m]
 *	     -- @NAME PROGRAM ARG... @NAME...
 *
 * A contender of the name `daemon` is run by libpinfold in the daemon of $PINFOLD_SOCKET, one of
 * the name `http` is asked for over its HTTP, on a connection that stays; what has to be made anew
 * for the next caller is in their time. Others are started by posix_spawn(). Each caller is a
 * process; %c in a word becomes its number, for runtimes that want a name for each container.
 * SECONDS are what each contender gets, in ROUNDS equal parts, in turns with the others.
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "common.h"

#define CALLERS_MAX 9

/* Shared with the callers. */
struct count {
	atomic_ulong good, bad;
	char reason[300];
};

struct pace {
	size_t seconds, rounds, callers;
};

static char *numbered(const char *word, size_t caller)
{
	char *copy = strdup(word), *at;

	if (!copy)
		err(1, "memory");
	while ((at = strstr(copy, "%c")))
		memmove(at + 1, at + 2, strlen(at + 2) + 1), *at = (char)('0' + caller);
	return copy;
}

static void number_words(struct contender *c, size_t caller)
{
	size_t n = 0;

	while (c->argv[n])
		n++;
	char **words = calloc(n + 1, sizeof(*words));
	if (!words)
		err(1, "memory");
	for (size_t i = 0; i < n; i++)
		words[i] = numbered(c->argv[i], caller);
	c->argv = words;
}

/* Where we are: a caller's own process, with one connection. */
static bool once_http(struct contender *c)
{
	static struct client http;
	char body[256];

	if (!http.in)
		client_unix(&http);
	(void)snprintf(body, sizeof(body), "{\"command\":[\"%s\"],\"limits\":\"best-effort\"}",
		       c->argv[0]);
	int status = client_call(&http, "POST", "/v1/runs", body);
	return strstr(http.answer, "\"exit_code\":0") ||
	       contender_failed(c, "%d %.200s", status, http.answer);
}

static bool once(struct contender *c)
{
	struct pinfold_run_options o = {.size = sizeof(o),
					.argv = (const char *const *)c->argv,
					.limits = "best-effort",
					.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON};
	uint64_t ns = 0;

	if (strcmp(c->name, "http") == 0)
		return once_http(c);
	return strcmp(c->name, "daemon") == 0 ? timed_run(c, &o, &ns) : timed_spawn(c, &ns);
}

/* Where we are: a caller's own process. One who is refused asks again. */
static void call(struct contender *c, struct count *count, size_t caller, uint64_t end)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	number_words(c, caller);
	while (now_ns() < end) {
		if (once(c)) {
			atomic_fetch_add(&count->good, 1);
		} else {
			atomic_fetch_add(&count->bad, 1);
			memcpy(count->reason, c->reason, sizeof(count->reason));
		}
	}
	_exit(0);
}

/* Returns how long it took until the last caller had his last result. */
static uint64_t part(struct contender *c, struct count *count, const struct pace *pace)
{
	uint64_t begin = now_ns(), end = begin + pace->seconds * 1000000000u / pace->rounds;

	for (size_t i = 0; i < pace->callers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0)
			call(c, count, i, end);
	}
	while (wait(NULL) > 0)
		;
	return now_ns() - begin;
}

static void row_print(FILE *out, bool markdown, const char *const cells[4])
{
	static const char *const looks[2] = {"%-17s%12s%12s%12s\n", "| %s | %s | %s | %s |\n"};

	fprintf(out, looks[markdown], cells[0], cells[1], cells[2], cells[3]);
}

static void print(FILE *out, const struct contender *c, struct count *count, const uint64_t *ns,
		  const struct options *o, size_t n)
{
	fprintf(out, "%s%s\n\n", o->look.markdown ? "### " : "", o->look.title);
	row_print(out, o->look.markdown,
		  (const char *const[]){"contender", "sandboxes", "failed", "per second"});
	if (o->look.markdown)
		row_print(out, true, (const char *const[]){"---", "--:", "--:", "--:"});
	for (size_t i = 0; i < n; i++) {
		char good[24], bad[24], rate[24];
		double per_second = (double)count[i].good * 1e9 / (double)ns[i];

		(void)snprintf(good, sizeof(good), "%lu", count[i].good);
		(void)snprintf(bad, sizeof(bad), "%lu", count[i].bad);
		(void)snprintf(rate, sizeof(rate), "%.1f", per_second);
		row_print(out, o->look.markdown, (const char *const[]){c[i].name, good, bad, rate});
		if (o->results)
			fprintf(o->results, "%s\t%s\t%.3f\n", o->look.title, c[i].name, per_second);
	}
	fputs("\n", out);
	for (size_t i = 0; i < n; i++)
		if (count[i].bad)
			fprintf(out, "%s%s: last failed with %s\n\n", o->look.markdown ? "- " : "",
				c[i].name, count[i].reason);
}

static void measure(struct contender *c, size_t n, struct count *count, uint64_t *ns,
		    const struct pace *pace)
{
	for (size_t round = 0; round < pace->rounds; round++)
		for (size_t i = 0; i < n; i++)
			ns[i] += part(&c[i], &count[i], pace);
}

int main(int argc, char **argv)
{
	struct options o = {.samples = 1, .look = {.title = "Rate"}};
	struct pace pace = {30, 3, 2};
	struct contender c[CONTENDERS_MAX];
	uint64_t ns[CONTENDERS_MAX] = {0};
	int opt = 0;

	while ((opt = getopt(argc, argv, "+s:r:c:u:t:o:m")) != -1) {
		if (opt == 's')
			pace.seconds = parse_number(optarg, "-s");
		else if (opt == 'r')
			pace.rounds = parse_number(optarg, "-r");
		else if (opt == 'c')
			pace.callers = parse_number(optarg, "-c");
		else if (!option_take(&o, opt, optarg))
			errx(2, "see the top of rate.c");
	}
	if (!pace.seconds || !pace.rounds || !pace.callers || pace.callers > CALLERS_MAX)
		errx(2, "at least one of each, and at most %d callers", CALLERS_MAX);
	size_t n = contenders_parse(c, argv + optind, 1);
	struct count *count = mmap(NULL, sizeof(*count) * CONTENDERS_MAX, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED)
		err(1, "memory");
	FILE *out = begin(&o);
	measure(c, n, count, ns, &pace);
	print(out, c, count, ns, &o, n);
	contenders_done(c, n);
	return fclose(out) == 0 && (!o.results || fflush(o.results) == 0) ? 0 : 1;
}
