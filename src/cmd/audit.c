/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/value.h"
#include "cmd/audit.h"
#include "cmd/escape.h"
#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/story.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Prints the ledger: one line for every operation that ended or was refused, the oldest "
	"first. With --run, the events of one run as a story. With --json, the events themselves, "
	"one line each, as they were written and signed.",
	"Values of variables, standard input, contents of files and output are not in the ledger: "
	"names, sizes and hashes are. Arguments are, except what looks like a secret.",
	"key prints the public keys that the ledger is checked with: keep them elsewhere. rotate lets another "
	"key sign from now on. prune removes old events, whole files of them; a signed tombstone "
	"takes their place, and pinfold verify knows it.",
	"proof EVENT prints one event with what proves that it is in the ledger, for somebody who has nothing but that "
	"text and the public key: pinfold verify checks it. EVENT is its place, \"at\" in the event, in the data "
	"directory's own chain; with the id of another chain and a colon before it, in that one.",
	"--cursor-file FILE remembers how far it printed, in every chain: started again with the "
	"same file, it continues there and misses nothing. What was printed just before it was "
	"killed may be printed again.",
	"checkpoint prints the newest checkpoint, as a request to a witness to sign it; witness "
	"DIR, on another machine, reads that and prints the signature, or refuses because events "
	"that it has signed are missing or changed. cosign keeps the answer here; pinfold verify "
	"--witness-key looks for it.",
	"sink add TARGET keeps a copy of all events elsewhere, as they come: in a directory, at "
	"http://ADDRESS:PORT/PATH (POST of JSON lines), or at syslog://ADDRESS:PORT (RFC 5424 "
	"over TCP). ls says how far each copy is, rm ends one, ship sends what is new now.",
	NULL,
};

const struct verb_doc audit_doc = {
	.usage = {"[options]", "key | rotate | prune --before WHEN [--json] | proof EVENT",
		  "sink add TARGET | sink ls [--json] | sink rm ID | sink ship",
		  "checkpoint [--old SIZE] | cosign", "witness DIR [--name NAME | --key FILE]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"The last hour:", "pinfold audit --since 1h"},
			{"What a run did:", "pinfold audit --run run23obm6odpiuefilepsinpumc3g"},
			{"As it happens, for a monitor that may be restarted:",
			 "pinfold audit --follow --json --cursor-file /var/lib/monitor/place"},
			{"For a SIEM:", "pinfold audit --format ocsf --since 1d"},
			{"One event, for a stranger:", "pinfold audit proof 12 >event.tlog-proof"},
		},
};

struct shown {
	const struct request *r;
	bool titled, begun;
	struct audit_cursor *cursor;
};

/* 2026-11-17 is its first moment; seconds need no fraction. NULL: it is neither. */
static const char *completed(const char *text, char to[AUDIT_INSTANT_SIZE])
{
	static const char forms[2][21] = {"0000-00-00", "0000-00-00T00:00:00Z"};

	for (size_t k = 0; k < 2; k++) {
		size_t i = 0;

		while (text[i] && (forms[k][i] == '0' ? text[i] >= '0' && text[i] <= '9'
						      : text[i] == forms[k][i]))
			i++;
		if (text[i] || forms[k][i])
			continue;
		(void)snprintf(to, AUDIT_INSTANT_SIZE, "%.*s%s", k ? 19 : 10, text,
			       k ? ".000Z" : "T00:00:00.000Z");
		return to;
	}
	return NULL;
}

/* A duration before now, or an instant. */
const char *audit_instant(const char *text, char to[AUDIT_INSTANT_SIZE])
{
	struct err none = ERR_INIT;
	uint64_t ago = 0;
	struct tm tm;

	if (text && completed(text, to))
		return to;
	if (!text || strchr(text, 'T') || parse_duration(text, &ago, &none) < 0)
		return text;
	uint64_t ms = show_now_ms();
	ms -= ago < ms ? ago : ms;
	time_t s = (time_t)(ms / 1000);
	if (!gmtime_r(&s, &tm))
		return text;
	size_t n = strftime(to, AUDIT_INSTANT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to + n, AUDIT_INSTANT_SIZE - n, ".%03uZ", (unsigned)(ms % 1000));
	return to;
}

static bool is_format(const struct request *r, const char *name)
{
	return r->format && strcmp(r->format, name) == 0;
}

static bool is_table(const struct request *r)
{
	return !r->json && (!r->format || is_format(r, "table"));
}

static int show_ocsf(const char *line, size_t len)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;

	if (value_parse(line, len, &v, &none) < 0)
		return 0;
	auto_value *as = ocsf_of(v, line, len);
	auto_free char *text = value_text(as, NULL);
	return !text || puts(text) == EOF;
}

/* Beginnings are read for what they say of the ends, and are rows with --all. */
static bool is_row(const struct value *v, const struct request *r)
{
	const char *phase = value_str(value_get(v, "phase"));

	story_remember(v);
	if (r->all || !phase)
		return true;
	if (strcmp(phase, "part") == 0)
		return r->audit.host || r->audit.path;
	return strcmp(phase, "begin") != 0 && strcmp(phase, "started") != 0;
}

static int show(const char *line, size_t len, const char *chain, void *arg)
{
	struct shown *s = arg;
	struct err none = ERR_INIT;
	auto_value *v = NULL;

	(void)chain;
	/* Who reads us learns that nothing was wrong with what he asked for. */
	if (s->r->cursors && !s->begun)
		(void)putchar('\n');
	s->begun = true;
	if (!line)
		return fflush(stdout) != 0 || audit_cursor_keep(s->cursor) < 0;
	if (s->r->cursors)
		(void)printf("%s ", s->cursor->text);
	if (is_format(s->r, "ocsf"))
		return show_ocsf(line, len);
	if (s->r->json || is_format(s->r, "jsonl")) {
		(void)fwrite(line, 1, len, stdout);
		return putchar('\n') == EOF;
	}
	if (value_parse(line, len, &v, &none) < 0)
		return 0;
	if (s->r->audit.run) {
		story_tell(v);
		return 0;
	}
	if (!is_row(v, s->r))
		return 0;
	if (!s->titled)
		printf("%-24s  %-18s  %-10s  %-9s  %s\n", "TIME", "KIND", "WHO", "STATUS", "WHAT");
	s->titled = true;
	story_row(v, &s->r->audit);
	return 0;
}

static int other(const struct request *r, int words, char **argv)
{
	static const struct {
		const char *word;
		int (*run)(const struct request *r);
	} table[] = {
		{"key", audit_key},	  {"rotate", audit_rotate},
		{"prune", audit_prune},	  {"checkpoint", audit_checkpoint},
		{"cosign", audit_cosign},
	};
	struct err e = ERR_INIT;

	if (strcmp(argv[0], "sink") == 0)
		return audit_sink(r, words - 1, argv + 1);
	if (words == 2 && strcmp(argv[0], "witness") == 0)
		return audit_witness(r, argv[1]);
	if (words == 2 && strcmp(argv[0], "proof") == 0)
		return audit_proof(r, argv[1]);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(argv[0], table[i].word) == 0) {
			if (words == 1)
				return table[i].run(r);
			(void)err_set(&e, ERR_INVALID, "\"%.40s\": audit %s takes no other word",
				      argv[1], argv[0]);
			(void)err_remedy(&e, "leave it out");
			return say_failure(&e, r->json);
		}
	(void)err_set(&e, ERR_INVALID, "audit: \"%.40s\" is nothing we do", argv[0]);
	(void)err_remedy(
		&e,
		"use key, rotate, prune, proof EVENT, sink, checkpoint, witness DIR or cosign; without a word "
		"events are printed");
	return say_failure(&e, r->json);
}

int cmd_audit(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	char since[AUDIT_INSTANT_SIZE], until[AUDIT_INSTANT_SIZE];
	int used = 0, status = 0, words = 0;

	/* Options stand behind the words that say what else is to be done. */
	while (words < argc && argv[words][0] != '-')
		words++;
	if (!request_begin(&r, v, argc - words, argv + words, &used, &status))
		return status;
	if (request_end(argc - words - used, argv + words + used, &e) < 0)
		return say_failure(&e, r.json);
	if (words)
		return other(&r, words, argv);
	value_init();
	auto_cursor struct audit_cursor at = {.path = r.cursor_file};
	struct shown s = {.r = &r, .cursor = &at};
	struct pinfold_audit_options o = r.audit;
	o.size = sizeof(o);
	o.tenant = r.tenant;
	o.since = audit_instant(o.since, since);
	o.until = audit_instant(o.until, until);
	o.flags = (r.follow ? PINFOLD_AUDIT_FOLLOW : 0) |
		  (r.all || o.run || is_table(&r) ? PINFOLD_AUDIT_BEGINS : 0);
	if (audit_cursor_open(&at, &o, r.cursors, &e) < 0)
		return say_failure(&e, r.json);
	if (pinfold_audit(&o, show, &s, &error) < 0)
		return say_library_failure(&error, r.cursors);
	status = help_flush();
	return status == 0 && audit_cursor_keep(&at) < 0 ? 125 : status;
}
