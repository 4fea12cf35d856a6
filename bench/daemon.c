/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run in the daemon costs its caller: /usr/bin/true from request to result, and Python that
 * prints, from request to its first byte; beside the same programs started bare. In one process,
 * over the library; the socket is $PINFOLD_SOCKET.
 *
 *	daemon [-n SAMPLES] [-w WARM-UPS] [-p PAUSE_MS] [-c CODE] [-u UID] [-t TITLE] [-o RESULTS] [-m]
 *
 * There is a pause before each sample: sandboxes that wait are made meanwhile, as in a service that
 * is not overloaded. -c CODE: another program than print(1).
 */
#include <err.h>
#include <fcntl.h>
#include <pinfold/pinfold.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "table.h"

extern char **environ;

static const char *code = "print(1)";

static uint64_t fail(struct contender *c, const char *why)
{
	c->failures++;
	(void)snprintf(c->reason, sizeof(c->reason), "%.150s", why);
	return 0;
}

static uint64_t in_daemon(struct contender *c, const char *lang, bool first_byte)
{
	static const char *const program[] = {"/usr/bin/true", NULL};
	struct pinfold_run_options o = {.size = sizeof(o),
					.limits = "best-effort",
					.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON};
	struct pinfold_run *run = NULL;
	struct pinfold_event ev = {0};
	struct pinfold_error error;
	uint64_t first = 0;

	o.lang = lang;
	o.argv = lang ? NULL : program;
	o.code = lang ? code : NULL;
	o.code_len = lang ? strlen(code) : 0;
	uint64_t begin = now_ns();
	if (pinfold_run_start(&o, &run, &error) < 0)
		return fail(c, error.message);
	while (pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT)
		if (ev.kind == PINFOLD_EVENT_STDOUT && !first)
			first = now_ns();
	int status = pinfold_run_exit_status(run);
	pinfold_run_free(run);
	uint64_t end = now_ns();
	if (status != 0)
		return fail(c, "exit status");
	return (first_byte ? first : end) - begin;
}

/* From posix_spawn() to the first byte of its output. */
static uint64_t bare_python(struct contender *c)
{
	char *argv[] = {(char[]){"/usr/bin/python3"}, (char[]){"-I"}, (char[]){"-c"},
			(char *)(uintptr_t)code, NULL};
	posix_spawn_file_actions_t actions;
	int out[2], status = 0;
	pid_t pid = 0;
	char byte;

	if (pipe2(out, O_CLOEXEC) < 0)
		err(1, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	uint64_t begin = now_ns();
	int r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	close(out[1]);
	bool got = r == 0 && read(out[0], &byte, 1) == 1;
	uint64_t first = now_ns();
	close(out[0]);
	posix_spawn_file_actions_destroy(&actions);
	if (r == 0)
		(void)waitpid(pid, &status, 0);
	return got ? first - begin : fail(c, "no output");
}

static void take(struct contender *c, size_t which, bool keep, unsigned pause_ms)
{
	uint64_t ns = 0;

	(void)poll(NULL, 0, (int)pause_ms);
	switch (which) {
	case 0:
		if (!timed_spawn(c, &ns))
			ns = 0;
		break;
	case 1: ns = in_daemon(c, NULL, false); break;
	case 2: ns = bare_python(c); break;
	case 3: ns = in_daemon(c, "python", true); break;
	}
	if (keep && ns)
		contender_sample(c, ns);
}

int main(int argc, char **argv)
{
	struct look look = {.title = "Daemon", .base = "bare"};
	size_t warmups = 3, samples = 100, pause_ms = 60;
	unsigned long uid = 0;
	char *list[] = {(char[]){"@bare"},
			(char[]){"/usr/bin/true"},
			(char[]){"@daemon"},
			(char[]){"/usr/bin/true"},
			(char[]){"@bare-python"},
			(char[]){"/usr/bin/python3"},
			(char[]){"@daemon-python"},
			(char[]){"/usr/bin/python3"},
			NULL};
	struct contender c[CONTENDERS_MAX];
	int opt = 0;

	while ((opt = getopt(argc, argv, "n:w:p:c:u:t:o:m")) != -1) {
		switch (opt) {
		case 'n': samples = parse_number(optarg, "-n"); break;
		case 'w': warmups = parse_number(optarg, "-w"); break;
		case 'p': pause_ms = parse_number(optarg, "-p"); break;
		case 'c': code = optarg; break;
		case 'u': uid = parse_number(optarg, "-u"); break;
		case 't': look.title = optarg; break;
		case 'o': look.results = results_open(optarg); break;
		case 'm': look.markdown = true; break;
		default: errx(2, "see the top of daemon.c");
		}
	}
	size_t n = contenders_parse(c, list, samples);
	FILE *out = streams_take();
	if (uid)
		become_user(uid);
	for (size_t i = 0; i < warmups + samples; i++) {
		size_t order[] = {0, 1, 2, 3};

		shuffle(order, 4);
		for (size_t k = 0; k < 4; k++)
			take(&c[order[k]], order[k], i >= warmups, (unsigned)pause_ms);
	}
	table_print(out, c, n, &look);
	contenders_done(c, n);
	return fclose(out) == 0 ? 0 : 1;
}
