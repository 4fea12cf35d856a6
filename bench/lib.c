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

#include "measure.h"
#include "table.h"

static char *const program[] = {"/usr/bin/true", NULL};

static uint64_t sandboxed(struct contender *c)
{
	struct pinfold_run_options o = {.size = sizeof(o),
					.argv = (const char *const *)program,
					.flags = PINFOLD_NO_STDIN | PINFOLD_LOCAL};
	struct pinfold_run *run = NULL;
	struct pinfold_event ev = {0};
	struct pinfold_error error;

	uint64_t begin = now_ns();
	if (pinfold_run_start(&o, &run, &error) < 0) {
		c->failures++;
		(void)snprintf(c->reason, sizeof(c->reason), "%.150s", error.message);
		return 0;
	}
	while (pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT)
		;
	int status = pinfold_run_exit_status(run);
	pinfold_run_free(run);
	uint64_t end = now_ns();
	if (status == 0)
		return end - begin;
	c->failures++;
	(void)snprintf(c->reason, sizeof(c->reason), "exit status %d", status);
	return 0;
}

/* Whose turn is first changes from round to round. */
static void round_of_both(struct contender *bare, struct contender *lib, bool keep)
{
	size_t order[] = {0, 1};
	uint64_t ns = 0;

	shuffle(order, 2);
	for (size_t i = 0; i < 2; i++) {
		struct contender *c = order[i] ? lib : bare;

		if (c == lib)
			ns = sandboxed(lib);
		else if (!timed_spawn(bare, &ns))
			ns = 0;
		if (keep && ns)
			contender_sample(c, ns);
	}
}

static size_t options_parse(struct look *look, size_t *ret_warmups, unsigned long *ret_uid,
			    int argc, char **argv)
{
	size_t samples = 100;
	int opt = 0;

	while ((opt = getopt(argc, argv, "n:w:u:t:o:m")) != -1) {
		if (opt == 'n')
			samples = parse_number(optarg, "-n");
		else if (opt == 'w')
			*ret_warmups = parse_number(optarg, "-w");
		else if (opt == 'u')
			*ret_uid = parse_number(optarg, "-u");
		else if (opt == 't')
			look->title = optarg;
		else if (opt == 'o')
			look->results = results_open(optarg);
		else if (opt == 'm')
			look->markdown = true;
		else
			errx(2, "see the top of lib.c");
	}
	return samples;
}

int main(int argc, char **argv)
{
	struct look look = {.title = "Library", .base = "bare"};
	size_t warmups = 5;
	unsigned long uid = 0;
	char *list[] = {(char[]){"@bare"}, program[0], (char[]){"@libpinfold"}, program[0], NULL};
	struct contender c[CONTENDERS_MAX];
	size_t samples = options_parse(&look, &warmups, &uid, argc, argv);
	size_t n = contenders_parse(c, list, samples);

	FILE *out = streams_take();
	if (uid)
		become_user(uid);
	for (size_t i = 0; i < warmups + samples; i++)
		round_of_both(&c[0], &c[1], i >= warmups);
	table_print(out, c, n, &look);
	contenders_done(c, n);
	return fclose(out) == 0 ? 0 : 1;
}
