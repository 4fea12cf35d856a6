/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs its caller over HTTP and MCP, beside a bare start of /usr/bin/true: a run and a
 * piece of Python over the Unix socket on one connection, a command by `pinfold mcp`; and the first
 * piece of Python in a fresh session beside a fresh run of the same. The daemon is
 * $PINFOLD_SOCKET's.
 *
 *	http [-n SAMPLES] [-w WARM-UPS] [-p PAUSE_MS] [-u UID] [-t TITLE] [-o RESULTS] [-m] PINFOLD
 *
 * There is a pause before each sample, as in daemon.c.
 */
#include <err.h>
#include <pinfold/pinfold.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "common.h"

enum { BARE, DAEMON, REST, EXECUTE, BARE_BASH, MCP, RUN_PYTHON, FIRST, ALL };

static char *program[] = {(char[]){"/usr/bin/true"}, NULL};
static char *bash[] = {(char[]){"/bin/bash"}, (char[]){"-lc"}, (char[]){"/usr/bin/true"}, NULL};
static struct client http, mcp;
static char sessions[128], execute[192]; /* paths in a sandbox that lives as long as we measure */

static void post(const char *path, const char *body, const char *name, char *to, size_t size)
{
	int status = client_call(&http, "POST", path, body);

	if (status >= 300 || !client_string(&http, name, to, size))
		errx(1, "%s: %d %.200s", path, status, http.answer);
}

static void prepare(const char *pinfold)
{
	char id[64];

	client_unix(&http);
	post("/v1/sandboxes", "{\"ttl\":\"1h\",\"limits\":\"best-effort\"}", "id", id, sizeof(id));
	(void)snprintf(sessions, sizeof(sessions), "/v1/sandboxes/%s/sessions", id);
	post(sessions, "{\"lang\":\"python\",\"name\":\"main\"}", "id", id, sizeof(id));
	(void)snprintf(execute, sizeof(execute), "%s/main/execute", sessions);
	client_mcp(&mcp, pinfold);
}

static bool take_daemon(struct contender *c, uint64_t *ret_ns)
{
	struct pinfold_run_options o = {.size = sizeof(o),
					.argv = (const char *const *)program,
					.limits = "best-effort",
					.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON};

	return timed_run(c, &o, ret_ns);
}

/* An answer that has `part` in it is a good one. */
static bool timed_post(struct contender *c, const char *path, const char *body, const char *part,
		       uint64_t *ret_ns)
{
	uint64_t begin = now_ns();
	int status = client_call(&http, "POST", path, body);

	*ret_ns = now_ns() - begin;
	return strstr(http.answer, part) || contender_failed(c, "%d %.200s", status, http.answer);
}

static bool take_rest(struct contender *c, uint64_t *ret_ns)
{
	return timed_post(c, "/v1/runs",
			  "{\"command\":[\"/usr/bin/true\"],\"limits\":\"best-effort\"}",
			  "\"exit_code\":0", ret_ns);
}

static bool take_execute(struct contender *c, uint64_t *ret_ns)
{
	return timed_post(c, execute, "{\"code\":\"1+1\"}", "\"text/plain\":\"2\"", ret_ns);
}

static bool take_mcp(struct contender *c, uint64_t *ret_ns)
{
	uint64_t begin = now_ns();

	client_tool(&mcp, "sandbox_exec", "{\"command\":\"/usr/bin/true\"}");
	*ret_ns = now_ns() - begin;
	return strstr(mcp.answer, "exit 0") || contender_failed(c, "%.200s", mcp.answer);
}

static bool take_run_python(struct contender *c, uint64_t *ret_ns)
{
	return timed_post(
		c, "/v1/runs",
		"{\"lang\":\"python\",\"code\":\"print(1+1)\",\"limits\":\"best-effort\"}",
		"\"exit_code\":0", ret_ns);
}

/* A session of its own: made, asked once, and then, in nobody's time, removed. */
static bool take_first(struct contender *c, uint64_t *ret_ns)
{
	char path[256];
	uint64_t made = 0, asked = 0;

	if (!timed_post(c, sessions, "{\"lang\":\"python\",\"name\":\"first\"}", "\"id\"", &made))
		return false;
	(void)snprintf(path, sizeof(path), "%s/first/execute", sessions);
	bool good = timed_post(c, path, "{\"code\":\"1+1\"}", "\"text/plain\":\"2\"", &asked);
	(void)snprintf(path, sizeof(path), "%s/first", sessions);
	(void)client_call(&http, "DELETE", path, NULL);
	*ret_ns = made + asked;
	return good;
}

static void take(struct contender *c, size_t which, bool keep, size_t pause_ms)
{
	static bool (*const how[ALL])(struct contender *, uint64_t *) = {
		[BARE] = timed_spawn,		[DAEMON] = take_daemon,	   [REST] = take_rest,
		[EXECUTE] = take_execute,	[BARE_BASH] = timed_spawn, [MCP] = take_mcp,
		[RUN_PYTHON] = take_run_python, [FIRST] = take_first,
	};
	uint64_t ns = 0;

	(void)poll(NULL, 0, (int)pause_ms);
	if (how[which](c, &ns) && keep)
		contender_sample(c, ns);
}

static void contenders_make(struct contender *c, size_t samples)
{
	static const char *const names[ALL] = {"bare",	    "daemon", "rest",	    "execute",
					       "bare-bash", "mcp",    "run-python", "first"};

	for (size_t i = 0; i < ALL; i++)
		if (!contender_init(&c[i], names[i], i == BARE_BASH ? bash : program, samples))
			err(1, "samples");
	c[RUN_PYTHON].base = c[FIRST].base = names[RUN_PYTHON];
}

int main(int argc, char **argv)
{
	struct options o = {
		.samples = 100, .warmups = 3, .look = {.title = "HTTP and MCP", .base = "bare"}};
	struct contender c[ALL];
	size_t pause_ms = 60;
	int opt = 0;

	while ((opt = getopt(argc, argv, "p:n:w:u:t:o:m")) != -1) {
		if (opt == 'p')
			pause_ms = parse_number(optarg, "-p");
		else if (!option_take(&o, opt, optarg))
			errx(2, "see the top of http.c");
	}
	if (optind + 1 != argc)
		errx(2, "which pinfold?");
	contenders_make(c, o.samples);
	FILE *out = begin(&o);
	prepare(argv[optind]);
	for (size_t i = 0; i < o.warmups + o.samples; i++) {
		size_t order[ALL];

		for (size_t k = 0; k < ALL; k++)
			order[k] = k;
		shuffle(order, ALL);
		for (size_t k = 0; k < ALL; k++)
			take(&c[order[k]], order[k], i >= o.warmups, pause_ms);
	}
	client_done(&mcp);
	client_done(&http);
	return finish(out, c, ALL, &o);
}
