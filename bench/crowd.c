/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to make one more sandbox that lives, beside few and beside many that do, from
 * request to answer. In one process, over the library; the socket is $PINFOLD_SOCKET.
 *
 *	crowd [-f FEW] [-l LIVE] [-n SAMPLES] [-w WARM-UPS] [-u UID] [-t TITLE] [-o RESULTS] [-m]
 *
 * Each sample is ended again before the next. All of them are the daemon's, and end with it.
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <poll.h>
#include <unistd.h>

#include "common.h"

#define PAUSE_MS 20

enum { FEW, MANY, ALL };

static char *program[] = {(char[]){"-"}, NULL};

static struct pinfold_run_options options(void)
{
	return (struct pinfold_run_options){.size = sizeof(struct pinfold_run_options),
					    .limits = "best-effort",
					    .time_ms = 3600000};
}

static void fill(size_t from, size_t to)
{
	struct pinfold_run_options o = options();
	struct pinfold_error error;
	char id[PINFOLD_ID_SIZE];

	for (size_t i = from; i < to; i++)
		if (pinfold_sandbox_create(&o, id, &error) < 0)
			errx(1, "sandbox %zu: %s", i + 1, error.message);
}

static void take(struct contender *c, bool keep)
{
	struct pinfold_run_options o = options();
	struct pinfold_error error;
	char id[PINFOLD_ID_SIZE];

	(void)poll(NULL, 0, PAUSE_MS);
	uint64_t before = now_ns();
	if (pinfold_sandbox_create(&o, id, &error) < 0) {
		(void)contender_failed(c, "%.250s", error.message);
		return;
	}
	if (keep)
		contender_sample(c, now_ns() - before);
	if (pinfold_sandbox_destroy(id, &error) < 0)
		errx(1, "%s", error.message);
}

int main(int argc, char **argv)
{
	struct options o = {
		.samples = 100, .warmups = 3, .look = {.title = "Crowd", .base = "few"}};
	size_t live[ALL] = {10, 5000}, have = 0;
	struct contender c[ALL];
	int opt = 0;

	while ((opt = getopt(argc, argv, "f:l:n:w:u:t:o:m")) != -1) {
		if (opt == 'f' || opt == 'l')
			live[opt == 'l'] = parse_number(optarg, "how many");
		else if (!option_take(&o, opt, optarg))
			errx(2, "see the top of crowd.c");
	}
	if (!contender_init(&c[FEW], "few", program, o.samples) ||
	    !contender_init(&c[MANY], "many", program, o.samples))
		err(1, "samples");
	FILE *out = begin(&o);
	for (size_t i = 0; i < ALL; i++) {
		fill(have, live[i]);
		have = live[i];
		for (size_t k = 0; k < o.warmups + o.samples; k++)
			take(&c[i], k >= o.warmups);
	}
	return finish(out, c, ALL, &o);
}
