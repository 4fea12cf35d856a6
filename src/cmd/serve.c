/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/http.h"
#include "cmd/keep.h"
#include "cmd/noted.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/settle.h"
#include "cmd/standing.h"
#include "cmd/verb.h"

#define COUNT_MAX 20000u

static const char *const paragraphs[] = {
	"Runs go to the daemon when they find its socket and may connect: to root's daemon "
	"everybody in group pinfold, otherwise the user who started it. Sandboxes wait there "
	"ready-made, so a run starts sooner. What they may do is the same, and each is used once.",
	"SIGTERM ends it: no new run begins, and running ones have ten seconds to end. When it "
	"dies, every sandbox dies with it, and the next start removes what was left.",
	"How many wait follows demand: as many as were wanted at the same time, at least --warm "
	"and --warm-python, at most what fits into --warm-memory; fewer when the host is short of "
	"memory.",
	"At most --max runs go on at once. Up to --queue more wait, each for at most half a "
	"minute; others are refused with the code busy. Users take turns. Waiting does not count "
	"as --time.",
	"HTTP is served on a Unix socket beside the other, where callers are known by their uid, "
	"and with --listen on TCP, where every call needs a token (pinfold token new). GET "
	"/openapi.json describes it. With --tls-cert and --tls-key it is TLS there. SIGHUP reads "
	"the two again and replaces the process that speaks HTTP; nothing that it does is lost.",
	"A run whose limits, --dir or --user differ from those of the waiting sandboxes gets one "
	"made for it.",
	NULL,
};

const struct verb_doc serve_doc = {
	.usage = {"[options]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"A daemon for this user:", "pinfold serve &"},
			{"More that wait, at another place:",
			 "pinfold serve --socket /tmp/p.sock --warm 16"},
			{"With HTTP on TCP:", "pinfold serve --listen 127.0.0.1:8787"},
			{"With TLS, for other machines, by the name that --host says:",
			 "pinfold serve --listen 0.0.0.0:8787 --tls-cert c.pem --tls-key k.pem"},
		},
};

static int check_count(const char *option, uint64_t value, struct err *e)
{
	if (value <= COUNT_MAX || value == UINT64_MAX)
		return 0;
	(void)err_set(e, ERR_INVALID, "--%s: too much", option);
	return err_remedy(e, "give a value up to %u", COUNT_MAX);
}

/* The library's way to say none, and not given. */
static uint32_t as_option(uint64_t value)
{
	return value == UINT64_MAX ? 0 : value ? (uint32_t)value : UINT32_MAX;
}

static void renewed(void *arg)
{
	http_renew(arg);
}

int cmd_serve(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error failure;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	/* What passes through the daemon is others': no core of it or of what it starts. 1 and not
	 * 0, for a core_pattern that is a pipe; sandboxes have the same (sandbox/confine.c). */
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
	if (request_end(argc - used, argv + used, &e) < 0 || check_count("warm", r.warm, &e) < 0 ||
	    check_count("warm-python", r.warm_python, &e) < 0 ||
	    check_count("warm-node", r.warm_node, &e) < 0 ||
	    check_count("warm-r", r.warm_r, &e) < 0 || check_count("max", r.max, &e) < 0 ||
	    check_count("queue", r.queue, &e) < 0 || standing_check(&r, "--mcp-policy", &e) < 0)
		return say_failure(&e, false);
	struct pinfold_serve_options o = {
		.size = sizeof(o),
		.socket = r.socket,
		.warm = as_option(r.warm),
		.max = (uint32_t)r.max,
		.python = as_option(r.warm_python),
		.preload = r.preload,
		.warm_memory = r.warm_memory,
		.queue = as_option(r.queue),
		.node = as_option(r.warm_node),
		.r = as_option(r.warm_r),
	};
	struct http_options http = {
		.daemon_socket = r.socket,
		.conformance = r.conformance,
		.open_probes = r.open_probes,
		.unix_path = r.http_socket,
		.addresses = (const char *const *)r.listen.items,
		.hosts = (const char *const *)r.hosts.items,
		.log = r.log && strcmp(r.log, "off") ? r.log : NULL,
		.origins = (const char *const *)r.origins.items,
		.keep_ms = r.run.keep_ms,
		.keep_bytes = r.keep_bytes,
		.mcp_policy = r.policy_text,
		.tls_cert = r.tls_cert,
		.tls_key = r.tls_key,
	};
	struct http_side side = {0};
	o.renewed = renewed;
	o.renewed_arg = &side;
	struct noted n = {.kind = "daemon.serve"};
	noted_word(&n, "http", r.no_http ? NULL : r.listen.len ? r.listen.items[0] : "socket");
	if (noted_begin(&n, &e) < 0 || (!r.no_http && http_start(&http, &side, &e) < 0)) {
		(void)noted_end(&n, -1, &e);
		return say_failure(&e, false);
	}
	if (side.pid > 0)
		(void)fprintf(stderr, "pinfold: HTTP on %s%s%s\n", side.path,
			      r.listen.len ? ", " : "", r.listen.len ? r.listen.items[0] : "");
	settle_now(); /* it goes on for long */
	keep_ledger();
	int result = pinfold_serve(&o, &failure);
	http_stop(&side);
	struct pinfold_error ignored; /* the next daemon does */
	(void)noted_over(&n, result, failure.code);
	(void)pinfold_ledger_join(PINFOLD_JOIN_NOW, &ignored);
	settle_end();
	return result == 0 ? 0 : say_library_failure(&failure, false);
}
