/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/story.h"

#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/id.h"
#include "cmd/escape.h"

#define TEXT_SIZE 2048

static const char *text_of(const struct value *v, const char *key)
{
	const char *text = value_str(value_get(v, key));

	return text ? text : "";
}

/* Without what a terminal would act on. */
static const char *safe(const char *text, char to[TEXT_SIZE])
{
	escape_line(text, to, TEXT_SIZE);
	return to;
}

static void command(const struct value *data, char to[TEXT_SIZE])
{
	const struct value *words = value_get(data, "command");
	const char *lang = text_of(data, "lang");
	size_t n = 0;

	to[0] = '\0';
	if (*lang)
		n = (size_t)snprintf(to, TEXT_SIZE, "%s program", lang);
	for (size_t i = 0; i < value_len(words) && n < TEXT_SIZE - 1; i++) {
		const char *word = value_str(value_at(words, i));

		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s", n ? " " : "",
				      word ? word : "");
	}
}

/* What runs that have not ended were asked for: the event of an end does not say it again. */
#define ASKED_MAX 256u
#define KEY_SIZE (ID_SIZE + 24)
static struct {
	char run[KEY_SIZE], text[200];
} asked[ASKED_MAX];
static unsigned asked_next;

/* By what it is known later: a run by its id, a command in the background by sandbox and pid. */
static void key_of(const struct value *event, const struct value *data, char to[KEY_SIZE])
{
	const struct value *pid = value_get(data, "pid");
	bool own = value_true(value_get(data, "own")) || !pid;

	if (*text_of(event, "run") || !*text_of(event, "sandbox"))
		(void)snprintf(to, KEY_SIZE, "%.29s", text_of(event, "run"));
	else
		(void)snprintf(to, KEY_SIZE, "%.29s:%lld", text_of(event, "sandbox"),
			       own ? 0 : (long long)value_int(pid));
}

void story_remember(const struct value *event)
{
	const struct value *data = value_get(event, "data");
	char words[TEXT_SIZE], key[KEY_SIZE];

	key_of(event, data, key);
	if (!*key || !value_get(data, "command"))
		return;
	command(data, words);
	(void)snprintf(asked[asked_next].run, sizeof(asked[0].run), "%s", key);
	(void)snprintf(asked[asked_next].text, sizeof(asked[0].text), "%.160s%s", words,
		       strlen(words) > 160 ? "..." : "");
	asked_next = (asked_next + 1) % ASKED_MAX;
}

static const char *kept(const char *run)
{
	for (unsigned i = 0; *run && i < ASKED_MAX; i++)
		if (strcmp(asked[i].run, run) == 0)
			return asked[i].text;
	return NULL;
}

static int keep_beginning(const char *line, size_t len, const char *chain, void *arg)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;

	(void)chain;
	if (line && value_parse(line, len, &v, &none) >= 0)
		story_remember(v);
	return kept(arg) != NULL;
}

/* A filter may have left out its beginning: the ledger is asked again, for that run. */
static const char *remembered(const char *run, bool look)
{
	struct pinfold_audit_options o = {
		.size = sizeof(o), .run = run, .flags = PINFOLD_AUDIT_BEGINS};
	struct pinfold_error none;
	char id[ID_SIZE];

	(void)snprintf(id, sizeof(id), "%s", run);
	if (look && *run && !kept(run))
		(void)pinfold_audit(&o, keep_beginning, id, &none); /* or it is not told */
	return kept(run) ? kept(run) : "";
}

/* It may have ended before who sent it there had written that down. */
static const char *sent(const struct value *event, const struct value *data, bool look)
{
	struct pinfold_audit_options o = {.size = sizeof(o),
					  .sandbox = text_of(event, "sandbox"),
					  .kind = "sandbox",
					  .since = text_of(data, "began")};
	struct pinfold_error none;
	char key[KEY_SIZE];

	key_of(event, data, key);
	if (look && !kept(key) && *o.since)
		(void)pinfold_audit(&o, keep_beginning, key, &none); /* or it is not told */
	return kept(key) ? kept(key) : "";
}

/* The subject of events that are about one thing. */
static const char *subject(const struct value *event, const struct value *data, bool look)
{
	static const char *const keys[] = {"secret", "answer", "what", "target", "sink", "name"};
	const char *kind = text_of(event, "kind"), *dot = strrchr(kind, '.');

	if (strcmp(kind, "sandbox.create") == 0 || strcmp(kind, "sandbox.spawn") == 0 ||
	    strcmp(kind, "sandbox.exited") == 0)
		return sent(event, data, look);
	if (strcmp(kind, "run") == 0 || strcmp(kind, "run.more") == 0 ||
	    (dot && strcmp(dot, ".exec") == 0))
		return remembered(text_of(event, "run"), look);
	for (size_t i = 0; strcmp(kind, "alert") != 0 && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (*text_of(data, keys[i]))
			return text_of(data, keys[i]);
	return "";
}

/* What the chain says of itself, and of a run that was made again. */
static size_t own_words(const struct value *event, const struct value *data, char to[TEXT_SIZE])
{
	const char *kind = text_of(event, "kind");
	const struct value *rows = value_get(data, "chains");
	size_t n = 0;

	to[0] = '\0';
	if (strcmp(kind, "ledger.cut") == 0)
		return (size_t)snprintf(to, TEXT_SIZE, "%lld bytes at the end were no event",
					(long long)value_int(value_get(data, "bytes")));
	if (strcmp(kind, "ledger.gap") == 0)
		return (size_t)snprintf(to, TEXT_SIZE, "%lld events are missing since %.24s",
					(long long)value_int(value_get(data, "events")),
					text_of(data, "since"));
	if (strcmp(kind, "run.replay") == 0)
		n = (size_t)snprintf(to, TEXT_SIZE, "%.29s again", text_of(data, "run"));
	if (n && *text_of(data, "replay"))
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, " as %.29s%s", text_of(data, "replay"),
				      !value_get(data, "identical") ? ""
				      : value_true(value_get(data, "identical"))
					      ? ": identical"
					      : ": not identical");
	for (size_t i = 0; i < value_len(rows) && n < TEXT_SIZE; i++)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s", n ? ", " : "",
				      text_of(value_at(rows, i), "directory"));
	return n;
}

/* What it was about, in a few words. */
static void about(const struct value *event, bool look, char to[TEXT_SIZE])
{
	static const char *const names[] = {"workspace", "run", "sandbox"};
	const struct value *data = value_get(event, "data");
	size_t n = own_words(event, data, to);

	for (size_t i = 0; i < 3 && n < TEXT_SIZE; i++)
		if (*text_of(event, names[i]) && (i < 2 || !n))
			n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s", n ? " " : "",
					      text_of(event, names[i]));
	const char *of = subject(event, data, look);
	if (*of && n < TEXT_SIZE)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s", n ? " " : "", of);
	const char *code = text_of(value_get(data, "error"), "code");
	if (*code && n < TEXT_SIZE)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s", n ? " " : "", code);
	if (*text_of(data, "rule") && n < TEXT_SIZE)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s%s: %s", n ? " " : "",
				      text_of(data, "rule"), text_of(data, "what"));
	if (*text_of(event, "clock_latest") && n < TEXT_SIZE)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, "%s(clock behind %.24s)", n ? " " : "",
				      text_of(event, "clock_latest"));
	if (strncmp(text_of(event, "kind"), "sandbox.e", 9) == 0 && *text_of(data, "why") &&
	    n < TEXT_SIZE)
		n += (size_t)snprintf(to + n, TEXT_SIZE - n, " by %s", text_of(data, "why"));
	if (value_len(value_get(data, "denials")) && n < TEXT_SIZE)
		(void)snprintf(to + n, TEXT_SIZE - n, "%s(%zu denial%s)", n ? " " : "",
			       value_len(value_get(data, "denials")),
			       value_len(value_get(data, "denials")) == 1 ? "" : "s");
}

static void who(const struct value *event, char *to, size_t size)
{
	const struct value *w = value_get(event, "who");

	if (*text_of(event, "tenant"))
		(void)snprintf(to, size, "%s", text_of(event, "tenant"));
	else if (w)
		(void)snprintf(to, size, "uid %lld", (long long)value_int(value_get(w, "uid")));
	else
		(void)snprintf(to, size, "-");
}

void story_row(const struct value *event, const struct pinfold_audit_options *by)
{
	char what[TEXT_SIZE], found[TEXT_SIZE], clean[TEXT_SIZE], kind[TEXT_SIZE];
	char asker[80], whom[TEXT_SIZE];
	const struct value *data = value_get(event, "data");
	const char *status = text_of(data, "status");
	char text[32];

	about(event, by != NULL, what);
	who(event, asker, sizeof(asker));
	if (strcmp(status, "exited") == 0)
		(void)snprintf(text, sizeof(text), "exit %lld",
			       (long long)value_int(value_get(data, "exit_status")));
	else
		(void)snprintf(text, sizeof(text), "%.20s",
			       *status			  ? status
			       : *text_of(event, "phase") ? text_of(event, "phase")
							  : "-");
	printf("%-24.24s  %-18s  %-10s  %s", text_of(event, "time"),
	       safe(text_of(event, "kind"), kind), safe(asker, whom), text);
	if (*what)
		printf("%*s%s", (int)(11 - (strlen(text) < 9 ? strlen(text) : 9)), "",
		       safe(what, clean));
	found[0] = '\0';
	if (by)
		story_match(event, by->host, by->path, found, sizeof(found));
	if (*found)
		printf(": %s", safe(found, clean));
	printf("\n");
}

static void tell_packages(const struct value *list)
{
	char name[TEXT_SIZE], version[TEXT_SIZE];

	for (size_t i = 0; i < value_len(list); i++)
		printf("%s%s %s%s", i ? ", " : "    with packages ",
		       safe(text_of(value_at(list, i), "name"), name),
		       safe(text_of(value_at(list, i), "version"), version),
		       i + 1 == value_len(list) ? "\n" : "");
}

static void tell_begin(const struct value *event, const struct value *data)
{
	char words[TEXT_SIZE], clean[TEXT_SIZE], by[80], whom[TEXT_SIZE];
	const struct value *env = value_get(data, "environment");
	const struct value *w = value_get(event, "who");

	command(data, words);
	who(event, by, sizeof(by));
	printf("%s  %s asked for: %s%s%s\n", text_of(event, "time"), safe(by, whom),
	       safe(words, clean), *text_of(data, "code_sha256") ? ", sha256 " : "",
	       text_of(data, "code_sha256"));
	if (*text_of(data, "request"))
		printf("    by request %s\n", safe(text_of(data, "request"), clean));
	if (*text_of(w, "client"))
		printf("    through %s\n", safe(text_of(w, "client"), clean));
	if (*text_of(event, "sandbox") || *text_of(data, "image"))
		printf("    in %s%s, isolation %s%s%s\n",
		       *text_of(event, "sandbox") ? "sandbox " : "a sandbox of the daemon",
		       text_of(event, "sandbox"),
		       *text_of(data, "isolation") ? text_of(data, "isolation") : "as it has",
		       *text_of(data, "image") ? ", image " : "",
		       safe(text_of(data, "image"), clean));
	if (*text_of(event, "workspace"))
		printf("    in workspace %s, at snapshot %lld\n", text_of(event, "workspace"),
		       (long long)value_int(value_get(data, "snapshot_before")));
	if (*text_of(data, "dir"))
		printf("    with a copy of %s\n", safe(text_of(data, "dir"), clean));
	tell_packages(value_get(data, "packages"));
	for (size_t i = 0; i < value_len(env); i++)
		printf("%s%s%s", i ? ", " : "    with variables ",
		       safe(value_str(value_at(env, i)), clean),
		       i + 1 == value_len(env) ? "\n" : "");
}

static void tell_output(const struct value *data, const char *name)
{
	const struct value *o = value_get(data, name);

	if (o)
		printf("    %s: %lld bytes, sha256 %s\n", name,
		       (long long)value_int(value_get(o, "bytes")), text_of(o, "sha256"));
}

static void tell_lists(const struct value *data)
{
	const struct value *denials = value_get(data, "denials"), *files = value_get(data, "files");
	const struct value *network = value_get(data, "network");
	const struct value *requests = value_get(data, "requests");
	char clean[TEXT_SIZE];

	for (size_t i = 0; i < value_len(denials); i++)
		printf("    refused, %lld times: %s\n",
		       (long long)value_int(value_get(value_at(denials, i), "count")),
		       safe(text_of(value_at(denials, i), "what"), clean));
	for (size_t i = 0; i < value_len(network); i++) {
		const struct value *row = value_at(network, i);

		printf("    %s, %lld times: %s:%lld, %lld bytes in, %lld out\n",
		       text_of(row, "verdict"), (long long)value_int(value_get(row, "count")),
		       safe(text_of(row, "host"), clean),
		       (long long)value_int(value_get(row, "port")),
		       (long long)value_int(value_get(row, "bytes_in")),
		       (long long)value_int(value_get(row, "bytes_out")));
	}
	for (size_t i = 0; i < value_len(requests); i++) {
		const struct value *row = value_at(requests, i);

		printf("    asked %s:%lld: %s ", safe(text_of(row, "host"), clean),
		       (long long)value_int(value_get(row, "port")), text_of(row, "method"));
		printf("%s: ", safe(text_of(row, "path"), clean));
		if (value_get(row, "status"))
			printf("status %lld\n", (long long)value_int(value_get(row, "status")));
		else
			printf("it waited for an answer\n");
	}
	for (size_t i = 0; i < value_len(files); i++)
		printf("    %s %s\n",
		       *text_of(value_at(files, i), "change")
			       ? text_of(value_at(files, i), "change")
			       : "changed",
		       safe(text_of(value_at(files, i), "path"), clean));
}

static void tell_alert(const struct value *event, const struct value *data)
{
	char clean[TEXT_SIZE];
	const char *action = text_of(data, "action");

	printf("%s  alert %s: %s%s\n", text_of(event, "time"), text_of(data, "rule"),
	       safe(text_of(data, "what"), clean),
	       strcmp(action, "kill") == 0    ? "; it was killed for that"
	       : strcmp(action, "pause") == 0 ? "; it was paused for that"
					      : "");
}

static void tell_approval(const struct value *event, const struct value *data)
{
	const struct value *by = value_get(data, "by_uid");
	char clean[TEXT_SIZE];

	if (!*text_of(data, "answer")) {
		printf("%s  a person was asked (%s): %s\n", text_of(event, "time"),
		       text_of(data, "approval"), safe(text_of(data, "what"), clean));
		return;
	}
	printf("%s  the answer was: %s", text_of(event, "time"), text_of(data, "answer"));
	if (by)
		printf(", by uid %lld", (long long)value_int(by));
	printf("\n");
}

static void tell_end(const struct value *event, const struct value *data)
{
	const struct value *error = value_get(data, "error");
	char clean[TEXT_SIZE];

	printf("%s  it ended: %s", text_of(event, "time"), text_of(data, "status"));
	if (value_get(data, "exit_status"))
		printf(", exit status %lld", (long long)value_int(value_get(data, "exit_status")));
	if (value_get(data, "wall_ms"))
		printf(", after %lld ms", (long long)value_int(value_get(data, "wall_ms")));
	printf("\n");
	if (*text_of(data, "limit"))
		printf("    it hit the limit %s\n", text_of(data, "limit"));
	if (error)
		printf("    %s: %s\n", text_of(error, "code"),
		       safe(text_of(error, "message"), clean));
	if (value_int(value_get(value_get(data, "stdin"), "bytes")))
		tell_output(data, "stdin");
	tell_output(data, "stdout");
	tell_output(data, "stderr");
	tell_lists(data);
	if (value_get(data, "snapshot"))
		printf("    the workspace stands at snapshot %lld\n",
		       (long long)value_int(value_get(data, "snapshot")));
}

void story_tell(const struct value *event)
{
	const struct value *data = value_get(event, "data");
	const char *phase = text_of(event, "phase");
	char clean[TEXT_SIZE];

	if (strncmp(text_of(event, "kind"), "api.", 4) == 0) {
		printf("%s  over HTTP: %s, %s\n", text_of(event, "time"),
		       safe(text_of(event, "kind") + 4, clean), text_of(data, "status"));
	} else if (strcmp(phase, "part") == 0) {
		tell_lists(data);
	} else if (strcmp(text_of(event, "kind"), "alert") == 0) {
		tell_alert(event, data);
	} else if (strncmp(text_of(event, "kind"), "approval.", 9) == 0) {
		tell_approval(event, data);
	} else if (strcmp(phase, "begin") == 0) {
		tell_begin(event, data);
	} else if (strcmp(phase, "started") == 0) {
		printf("%s  it runs in sandbox %s\n", text_of(event, "time"),
		       text_of(event, "sandbox"));
	} else if (strcmp(phase, "refused") == 0) {
		tell_begin(event, data);
		printf("    it was refused: %s: %s\n", text_of(value_get(data, "error"), "code"),
		       safe(text_of(value_get(data, "error"), "message"), clean));
	} else {
		tell_end(event, data);
	}
}
