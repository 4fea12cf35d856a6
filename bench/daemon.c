/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run in the daemon costs its caller: /usr/bin/true from request to result, in a sandbox of
 * its own and in one that lives, and Python that prints, from request to its first byte; beside the
 * same programs started bare. In one process, over the library; the socket is $PINFOLD_SOCKET.
 *
 *	daemon [-n SAMPLES] [-w WARM-UPS] [-p PAUSE_MS] [-c CODE] [-u UID] [-t TITLE]
 *	       [-o RESULTS] [-m]
 *
 * There is a pause before each sample: sandboxes that wait are made meanwhile, as in a service that
 * is not overloaded. -c CODE: another program than print(1).
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum { BARE, DAEMON, LIVE, BARE_PYTHON, DAEMON_PYTHON, ALL };

static char *program[] = {(char[]){"/usr/bin/true"}, NULL};
static char *python[] = {(char[]){"/usr/bin/python3"}, (char[]){"-I"}, (char[]){"-c"},
			 (char[]){"print(1)"}, NULL};

static struct pinfold_run_options in_daemon(void)
{
	return (struct pinfold_run_options){
		.size = sizeof(struct pinfold_run_options),
		.limits = "best-effort",
		.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON |
			 PINFOLD_PROMPT}; /* as the program and HTTP do */
}

static bool take_program(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = in_daemon();

	o.argv = (const char *const *)program;
	return timed_run(c, &o, ret_ns);
}

static char live[PINFOLD_ID_SIZE]; /* a sandbox that lives as long as we measure */

static void live_begin(void)
{
	struct pinfold_run_options o = in_daemon();
	struct pinfold_error error;

	o.time_ms = 3600000;
	if (pinfold_sandbox_create(&o, live, &error) < 0)
		errx(1, "%s", error.message);
}

static bool take_exec(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = in_daemon();

	o.argv = (const char *const *)program;
	return timed_exec(c, live, &o, ret_ns);
}

static bool take_python(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = in_daemon();

	o.lang = "python";
	o.code = python[3];
	o.code_len = strlen(o.code);
	return timed_run_byte(c, &o, ret_ns);
}

static void take(struct contender *c, size_t which, bool keep, size_t pause_ms)
{
	static bool (*const how[ALL])(struct contender *, uint64_t *) = {
		[BARE] = timed_spawn,
		[DAEMON] = take_program,
		[LIVE] = take_exec,
		[BARE_PYTHON] = timed_spawn_byte,
		[DAEMON_PYTHON] = take_python,
	};
	uint64_t ns = 0;

	(void)poll(NULL, 0, (int)pause_ms);
	if (how[which](c, &ns) && keep)
		contender_sample(c, ns);
}

static void contenders_make(struct contender *c, size_t samples)
{
	static const char *const names[ALL] = {"bare", "daemon", "live", "bare-python",
					       "daemon-python"};

	for (size_t i = 0; i < ALL; i++)
		if (!contender_init(&c[i], names[i], i < BARE_PYTHON ? program : python, samples))
			err(1, "samples");
	c[BARE_PYTHON].base = c[DAEMON_PYTHON].base = names[BARE_PYTHON];
}

int main(int argc, char **argv)
{
	struct options o = {
		.samples = 100, .warmups = 3, .look = {.title = "Daemon", .base = "bare"}};
	struct contender c[ALL];
	size_t pause_ms = 60;
	int opt = 0;

	while ((opt = getopt(argc, argv, "p:c:n:w:u:t:o:m")) != -1) {
		if (opt == 'p')
			pause_ms = parse_number(optarg, "-p");
		else if (opt == 'c')
			python[3] = optarg;
		else if (!option_take(&o, opt, optarg))
			errx(2, "see the top of daemon.c");
	}
	contenders_make(c, o.samples);
	FILE *out = begin(&o);
	live_begin();
	for (size_t i = 0; i < o.warmups + o.samples; i++) {
		size_t order[ALL] = {BARE, DAEMON, LIVE, BARE_PYTHON, DAEMON_PYTHON};

		shuffle(order, ALL);
		for (size_t k = 0; k < ALL; k++)
			take(&c[order[k]], order[k], i >= o.warmups, pause_ms);
	}
	return finish(out, c, ALL, &o);
}
