/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox costs a program that links libpinfold: create, run /usr/bin/true, destroy, against
 * a bare posix_spawn() of the same from the same process. No start of the pinfold CLI is in it.
 *
 *	lib [-n SAMPLES] [-w WARM-UPS] [-u UID] [-t TITLE] [-o RESULTS] [-m]
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <unistd.h>

#include "common.h"

static char *const program[] = {"/usr/bin/true", NULL};
static const struct pinfold_run_options sandboxed = {.size = sizeof(sandboxed),
						     .argv = (const char *const *)program,
						     .flags = PINFOLD_NO_STDIN | PINFOLD_LOCAL};

/* Whose turn is first changes from round to round. */
static void round_of_both(struct contender *bare, struct contender *lib, bool keep)
{
	size_t order[] = {0, 1};

	shuffle(order, 2);
	for (size_t i = 0; i < 2; i++) {
		struct contender *c = order[i] ? lib : bare;
		uint64_t ns = 0;

		if ((c == lib ? timed_run(c, &sandboxed, &ns) : timed_spawn(c, &ns)) && keep)
			contender_sample(c, ns);
	}
}

int main(int argc, char **argv)
{
	struct options o = {
		.samples = 100, .warmups = 5, .look = {.title = "Library", .base = "bare"}};
	char *list[] = {(char[]){"@bare"}, program[0], (char[]){"@libpinfold"}, program[0], NULL};
	struct contender c[CONTENDERS_MAX];
	int opt = 0;

	while ((opt = getopt(argc, argv, "n:w:u:t:o:m")) != -1)
		if (!option_take(&o, opt, optarg))
			errx(2, "see the top of lib.c");
	size_t n = contenders_parse(c, list, o.samples);
	FILE *out = begin(&o);
	for (size_t i = 0; i < o.warmups + o.samples; i++)
		round_of_both(&c[0], &c[1], i >= o.warmups);
	return finish(out, c, n, &o);
}
