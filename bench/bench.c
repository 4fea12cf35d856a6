/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long programs take from posix_spawn() to the end of waitpid(), side by side:
 *
 *	bench [-n SAMPLES] [-s SECONDS] [-w WARM-UPS] [-u UID] [-t TITLE] [-b BASE] [-p PEER]
 *	      [-o RESULTS] [-m] -- @NAME[/MAX] PROGRAM ARG... @NAME...
 *
 * One round starts every contender once, one after the other, in an order that changes from round
 * to round: what the machine does meanwhile meets all of them alike. A contender with a maximum
 * sits out most rounds, evenly. No round begins after SECONDS. One that only fails in the
 * warm-up is left out, with the reason.
 */
#include <err.h>
#include <unistd.h>

#include "common.h"

static void options_parse(struct options *o, size_t *ret_seconds, int argc, char **argv)
{
	int opt = 0;

	while ((opt = getopt(argc, argv, "+s:b:p:n:w:u:t:o:m")) != -1) {
		if (opt == 's')
			*ret_seconds = parse_number(optarg, "-s");
		else if (opt == 'b')
			o->look.base = optarg;
		else if (opt == 'p')
			o->look.peer = optarg;
		else if (!option_take(o, opt, optarg))
			errx(2, "see the top of bench.c");
	}
}

/* Who never succeeds is left out; a single failure is only counted. */
static void warm_up(struct contender *c, size_t n, size_t rounds)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++) {
		size_t tries = 0, good = 0;

		while (tries < rounds && tries < c[i].max) {
			good += timed_spawn(&c[i], &ns);
			tries++;
		}
		if (tries && !good)
			c[i].max = 0;
	}
}

/* Spreads the samples of a contender that has fewer than there are rounds. */
static bool is_due(const struct contender *c, size_t round, size_t rounds)
{
	return (round + 1) * c->max / rounds != round * c->max / rounds;
}

static void measure(struct contender *c, size_t n, size_t rounds, size_t seconds)
{
	uint64_t end = now_ns() + seconds * 1000000000u;
	size_t order[CONTENDERS_MAX];
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t round = 0; round < rounds && now_ns() < end; round++) {
		shuffle(order, n);
		for (size_t i = 0; i < n; i++) {
			struct contender *one = &c[order[i]];

			if (is_due(one, round, rounds) && timed_spawn(one, &ns))
				contender_sample(one, ns);
		}
	}
}

int main(int argc, char **argv)
{
	struct options o = {.samples = 100, .warmups = 5, .look = {.title = "Samples"}};
	struct contender c[CONTENDERS_MAX];
	size_t seconds = 120;

	options_parse(&o, &seconds, argc, argv);
	size_t n = contenders_parse(c, argv + optind, o.samples);
	FILE *out = begin(&o);
	warm_up(c, n, o.warmups);
	measure(c, n, o.samples, seconds);
	table_print(out, c, n, &o.look);
	results_print(c, n, &o);
	commands_print(out, c, n, &o.look);
	contenders_done(c, n);
	return fclose(out) == 0 ? 0 : 1;
}
