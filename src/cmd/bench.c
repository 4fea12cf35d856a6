/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/contest.h"
#include "cmd/private.h"
#include "cmd/report.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/sig.h"
#include "cmd/verb.h"
#include "measure/timed.h"

#define SAMPLES_STANDARD 100u
#define SAMPLES_MAX 100000u
#define EXIT_INCOMPLETE 1 /* one of ours gave no sample */

static const char *const paragraphs[] = {
	"Measures on this machine, side by side: /usr/bin/true started bare, in a sandbox by "
	"libpinfold, in one that waited in a daemon, and in bubblewrap where it is installed; "
	"Python's print(1) bare and in the daemon, to its first byte. The daemon is its own, with "
	"a socket that nobody else sees, and is gone afterwards.",
	"A busy machine makes every time in it worthless: look at the ratios, and only within one "
	"table. Samples of all are taken in turns, so that what the machine does besides meets all "
	"of them alike; the first rounds do not count.",
	"bubblewrap gets the least that starts the program: the same namespaces, but no /etc, no "
	"system call filter and no limits.",
	"Exit status: 0; 1 when a sandbox of ours gave no sample, with the reason below the table.",
	NULL,
};

const struct verb_doc bench_doc = {
	.usage = {"[--samples COUNT] [--json]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"How fast is it here?", "pinfold bench"},
			{"Quicker, and coarser; for a script:",
			 "pinfold bench --samples 20 --json"},
		},
};

/* Signals wait until both sides can take them: a child that is told to end too early would leave
 * its directory. */
static int start(struct private_daemon *d, struct err *e)
{
	sigset_t ending, old;

	(void)sigemptyset(&ending);
	(void)sigaddset(&ending, SIGINT);
	(void)sigaddset(&ending, SIGTERM);
	(void)sigaddset(&ending, SIGHUP);
	(void)sigaddset(&ending, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, &ending, &old);
	int r = private_start(d, e);
	if (r >= 0)
		r = sig_init(e);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	return r;
}

static int measure(struct contest *t, struct err *e)
{
	struct private_daemon d = PRIVATE_INIT;
	int kept[3], r = start(&d, e);

	if (r >= 0 && streams_take(kept) < 0)
		r = err_sys(e, "standard streams");
	if (r >= 0) {
		contest_run(t, isatty(kept[2]) ? kept[2] : FD_NONE);
		streams_give_back(kept);
	}
	private_stop(&d);
	sig_done();
	return r;
}

static int check_samples(uint64_t *samples, struct err *e)
{
	if (!*samples)
		*samples = SAMPLES_STANDARD;
	if (*samples <= SAMPLES_MAX)
		return 0;
	(void)err_set(e, ERR_INVALID, "--samples: too many");
	return err_remedy(e, "give a value up to %u", SAMPLES_MAX);
}

static double load_average(void)
{
	double load = 0;

	return getloadavg(&load, 1) == 1 ? load : 0;
}

static int bench(size_t samples, bool json, struct err *e)
{
	double load = load_average(); /* before we are one of those who make it */
	struct contest t;

	int r = contest_init(&t, samples, e);
	if (r >= 0)
		r = measure(&t, e);
	if (r < 0)
		r = say_failure(e, json);
	else if (t.signo)
		r = 128 + t.signo;
	else
		r = report(&t, load, json);
	if (r == 0 && !contest_is_complete(&t))
		r = EXIT_INCOMPLETE;
	contest_done(&t);
	return r;
}

int cmd_bench(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0 || check_samples(&r.samples, &e) < 0)
		return say_failure(&e, r.json);
	return bench(r.samples, r.json, &e);
}
