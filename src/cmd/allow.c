/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold allow --explain: what a policy would say, and why, without running anything. Of sandboxes
 * that run: allow_live.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/allow.h"
#include "cmd/detach.h"
#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "egress/source.h"
#include "egress/target.h"

static const char *const paragraphs[] = {
	"Says which rule decides about URL, and why: https://HOST/PATH, http://, HOST[:PORT]. Nothing "
	"is connected to and no name is looked up.",
	"What counts is what would count for pinfold run with the same options: --allow, --policy, your "
	"own policy.yaml, a trusted pinfold.yaml of --dir, and the operator's ceiling.yaml.",
	"With the ID of a sandbox that runs, and was made with a policy: --allow adds hosts to what it may "
	"reach, --policy takes the place of all that it has; without either it is shown. A change holds at "
	"once: connections that are open and not allowed any more are closed.",
	"--explain-command says the same of a command that is executed inside, by the commands of the policy.",
	"Exit status of both: 0 allowed, 1 denied, 2 a person would be asked; 125 there is no verdict.",
	NULL,
};

const struct verb_doc allow_doc = {
	.usage = {"--explain URL [--allow HOST[:PORT]]... [--policy FILE]",
		  "--explain-command WORDS [--policy FILE]",
		  "ID [--allow HOST[:PORT]]... | ID --policy FILE | ID"},
	.paragraphs = paragraphs,
	.examples = {{"Would this be reached?",
		      "pinfold allow --explain https://example.org/ --allow example.org"},
		     {"What does a file say?",
		      "pinfold allow --policy net.yaml --explain https://example.org/v1"},
		     {"Would a person be asked before this command?",
		      "pinfold allow --policy net.yaml --explain-command 'git push origin'"},
		     {"One more host for a sandbox that lives:",
		      "pinfold allow $id --allow example.org"}},
};

/* A question and its answer. */
struct asked {
	struct name host;
	struct egress_request q;
	struct egress_verdict v;
	bool is_blind; /* passed through: method and path are not seen */
};

#define DNS_NOTE                                                                                     \
	"port 53 of every address leads to the gate's own name server, whatever rules say: nothing " \
	"else is reached there"

static int decide(const struct policy *p, const char *url, const char *method, struct asked *a,
		  struct err *e)
{
	const char *why = NULL;

	if (target_of_url(url, method, &a->host, &a->q, &why) < 0) {
		(void)err_set(e, ERR_INVALID, "--explain: \"%.120s\": %s", url, why);
		return err_remedy(e, "give https://HOST/PATH, http://HOST/PATH or HOST:PORT");
	}
	struct egress_request first = a->q;
	first.stage = EGRESS_CONNECT;
	policy_decide(p, &first, &a->v);
	bool is_seen = a->v.protocol == EGRESS_HTTP || a->v.protocol == EGRESS_HTTPS;
	a->is_blind = a->v.action != EGRESS_DENY && !is_seen;
	if (a->v.action != EGRESS_DENY && is_seen && a->q.stage == EGRESS_REQUEST)
		policy_decide(p, &a->q, &a->v);
	return 0;
}

static const char *verdict_word(enum egress_action action)
{
	return action == EGRESS_ALLOW ? "allowed" : action == EGRESS_ASK ? "ask" : "denied";
}

static const char *spoken_words(const struct asked *a)
{
	switch (a->v.protocol) {
	case EGRESS_HTTPS: return "https: TLS ends at the gate, each request is judged";
	case EGRESS_HTTP: return "http: each request is judged";
	case EGRESS_TLS:
		return "tls: passed through once its ClientHello names the host and the server's "
		       "certificate is valid for it; method, path and, on a host that many share, "
		       "whom it is for are not seen";
	case EGRESS_TCP: return "tcp: passed through, whatever it is";
	case EGRESS_ANY:
	case EGRESS_DNS:
	case EGRESS_PROTOCOLS: break;
	}
	return "";
}

static void row(const char *name, const char *text)
{
	printf("  %-8s ", name);
	show_text(text);
}

static void print_limits(const struct egress_limits *l)
{
	char up[24], down[24];

	if (l->bytes_up)
		printf("  %-8s %s up\n", "bytes", show_size(l->bytes_up, up, sizeof(up)));
	if (l->bytes_down)
		printf("  %-8s %s down\n", "bytes", show_size(l->bytes_down, down, sizeof(down)));
	if (l->requests_per_minute)
		printf("  %-8s %u a minute\n", "requests", l->requests_per_minute);
	if (l->connections)
		printf("  %-8s %u at once\n", "connect", l->connections);
	if (l->header_bytes)
		printf("  %-8s %u bytes\n", "headers", l->header_bytes);
}

static void print_verdict(const struct policy *p, const struct asked *a, const char *url)
{
	static const char *const places[] = {"header", "query parameter", "basic auth of"};
	char text[600];

	printf("%s  ", verdict_word(a->v.action));
	show_text(url);
	if (a->v.rule != -1) {
		row("rule", a->v.name);
		if (a->v.name != a->v.text)
			row("", a->v.text);
		(void)snprintf(text, sizeof(text), a->v.line ? "%s, line %u" : "%s", a->v.source,
			       a->v.line);
		row("from", text);
	}
	row("because", a->v.why);
	if (a->v.action != EGRESS_DENY)
		row("speaks", spoken_words(a));
	if (a->q.port == 53)
		row("note", DNS_NOTE);
	print_limits(&a->v.limits);
	for (unsigned i = 0; i < a->v.n_inject; i++) {
		(void)snprintf(text, sizeof(text), "%s, as %s %s", a->v.inject[i].secret,
			       places[a->v.inject[i].where], a->v.inject[i].key);
		row("secret", text);
	}
	if (a->v.hint[0])
		row("hint", a->v.hint);
	for (unsigned i = 0; policy_warning(p, i); i++)
		row("note", policy_warning(p, i));
}

static void put_rule(struct json *j, const struct egress_verdict *v)
{
	if (v->rule == -1) {
		json_none(j, "rule");
		return;
	}
	json_open(j, "rule", '{');
	json_bytes(j, "name", v->name, strlen(v->name));
	json_bytes(j, "text", v->text, strlen(v->text));
	json_bytes(j, "source", v->source, strlen(v->source));
	json_u64(j, "line", v->line);
	json_bool(j, "ceiling", v->is_ceiling);
	json_close(j, '}');
}

static void put_limits(struct json *j, const struct egress_limits *l)
{
	const struct {
		const char *key;
		uint64_t value;
	} rows[] = {
		{"bytes_up", l->bytes_up},
		{"bytes_down", l->bytes_down},
		{"requests_per_minute", l->requests_per_minute},
		{"connections", l->connections},
		{"headers", l->header_bytes},
	};

	json_open(j, "limits", '{');
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value)
			json_u64(j, rows[i].key, rows[i].value);
	json_close(j, '}');
}

static int print_json(const struct policy *p, const struct asked *a, const char *url)
{
	static const char *const places[] = {"header", "query", "basic"};
	struct json j;

	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_bytes(&j, "url", url, strlen(url));
	json_str(&j, "host", a->host.text);
	json_u64(&j, "port", a->q.port);
	json_str(&j, "verdict", verdict_word(a->v.action));
	json_str(&j, "why", a->v.why);
	put_rule(&j, &a->v);
	json_str(&j, "protocol",
		 a->v.action == EGRESS_DENY ? NULL : egress_protocol_name(a->v.protocol));
	json_bool(&j, "inspected", a->v.action != EGRESS_DENY && !a->is_blind);
	put_limits(&j, &a->v.limits);
	json_open(&j, "inject", '[');
	for (unsigned i = 0; i < a->v.n_inject; i++) {
		json_open(&j, NULL, '{');
		json_str(&j, "secret", a->v.inject[i].secret);
		json_str(&j, places[a->v.inject[i].where], a->v.inject[i].key);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_str(&j, "hint", a->v.hint[0] ? a->v.hint : NULL);
	json_open(&j, "warnings", '[');
	if (a->q.port == 53)
		json_str(&j, NULL, DNS_NOTE);
	for (unsigned i = 0; policy_warning(p, i); i++)
		json_bytes(&j, NULL, policy_warning(p, i), strlen(policy_warning(p, i)));
	json_close(&j, ']');
	json_close(&j, '}');
	return show_end(&j);
}

static int explain(const struct request *r, struct err *e)
{
	static const int statuses[] = {[EGRESS_DENY] = 1, [EGRESS_ASK] = 2, [EGRESS_ALLOW] = 0};
	struct policy_sources s = {
		.allow = r->run.allow,
		.text = r->run.policy,
		.text_name = r->run.policy_name,
		.with_own = true,
		.project = r->run.dir,
	};
	char note[SOURCE_NOTE_SIZE];
	auto_policy *p = NULL;
	struct asked a;

	if (!r->explain && !r->explain_command) {
		(void)err_set(e, ERR_INVALID, "allow: what is to be explained is missing");
		return err_remedy(e,
				  "use pinfold allow --explain URL; pinfold run --allow HOST runs");
	}
	if (r->explain && r->explain_command)
		return err_set(e, ERR_INVALID, "--explain-command: not with --explain");
	if (policy_gather(&s, &p, note, e) < 0)
		return -EINVAL;
	if (note[0])
		say("%s", note);
	if (r->explain_command)
		return allow_command(r, p, e);
	if (decide(p, r->explain, r->method ? r->method : "GET", &a, e) < 0)
		return -EINVAL;
	if (!r->json)
		print_verdict(p, &a, r->explain);
	else if (print_json(p, &a, r->explain) < 0)
		return -EIO;
	if (!r->json && help_flush() != 0)
		return EXIT_PINFOLD;
	return statuses[a.v.action];
}

/* allow --explain --json URL: the flag is none of the URL's. */
static void put_flag_first(int argc, char **argv)
{
	for (int i = 0; i + 1 < argc; i++)
		if (strncmp(argv[i], "--explain", 9) == 0 && strcmp(argv[i + 1], "--json") == 0) {
			char *flag = argv[i + 1];

			argv[i + 1] = argv[i];
			argv[i] = flag;
		}
}

int cmd_allow(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	put_flag_first(argc, argv);
	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (argc > used && is_sandbox_id(argv[used])) {
		const char *id = argv[used++];
		int more = 0;

		if (!request_begin(&r, v, argc - used, argv + used, &more, &status))
			return status;
		if (request_end(argc - used - more, argv + used + more, &e) < 0)
			return say_failure(&e, r.json);
		return allow_live(&r, id);
	}
	if (argc > used) {
		(void)err_set(&e, ERR_INVALID, "\"%.80s\" is no id of a sandbox", argv[used]);
		(void)err_remedy(&e,
				 "pinfold run --allow %.80s allows a host for a run, pinfold allow "
				 "--explain %.80s says what the policy says; pinfold ps lists ids",
				 argv[used], argv[used]);
		return say_failure(&e, r.json);
	}
	if (r.show_policy) {
		(void)err_set(&e, ERR_INVALID, "ID: is missing");
		(void)err_remedy(&e, "pinfold allow ID --show; pinfold ps lists sandboxes");
		return say_failure(&e, r.json);
	}
	status = explain(&r, &e);
	return status < 0 ? say_failure(&e, r.json) : status;
}
