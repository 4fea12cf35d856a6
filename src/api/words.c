/* SPDX-License-Identifier: Apache-2.0 */
#include "api/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/op.h"
#include "base/fd.h"

/* What makes sense on a command line alone, and what is said instead: never longer. */
static const struct {
	const char *words, *instead;
} phrases[] = {
	{"run it with --no-daemon", "leave it out"},
	{", or run it without --detach", ""},
	{"make it with pinfold run --detach --user root", "make it with user root"},
	{"--dir or --stdin", "files or stdin"},
	{" or /work", ""},
	{"inside you find the host's /usr, and the directory of --dir at /work",
	 "inside you find the host's programs, in /usr"},
	{"pinfold exec --detach runs one in the background", "exec starts one with background"},
	{"pinfold resume ", "resume "},
	{"pinfold extend gives", "extend gives"},
	{"pinfold ps lists", "the list has"},
	{"pinfold ps tells whether", "look whether"},
	{"pinfold ls lists", "the list has"},
	{"make it with: pinfold new ", "make a workspace of name "},
	{"remove it with: pinfold rm ", "remove workspace "},
	{"remove them first: pinfold rm ", "remove them first: "},
	{"pinfold log ", "the log of "},
	{"pinfold undo, or allow more with pinfold limit",
	 "undo; whoever runs the daemon may allow more"},
	{"pinfold undo, or allow it more: pinfold limit ",
	 "undo, or have it raised: pinfold limit "},
	{"say it when the workspace is made: pinfold new NAME ",
	 "say it when the workspace is made: "},
	{"--package: ", "packages: "},
	/* What is a number here is not what is one there. */
	{"2m, 1h30m or a number of seconds", "1h30m as text, or ms as a number"},
	{"wait for it, or run beside it with --share", "wait for it"},
};

static bool is_field(const char *name, size_t len)
{
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		for (unsigned k = 0; op->path && k < op->n_args; k++)
			if (op->args[k].flags & (IN_BODY | IN_QUERY) &&
			    strlen(op->args[k].name) == len &&
			    strncmp(op->args[k].name, name, len) == 0)
				return true;
	}
	return false;
}

/* The option at `p` as a field in `ret`. Returns its length with the dashes, 0: it is none. */
static size_t option_at(const char *p, size_t len, char ret[32])
{
	size_t n = 0;

	if (len < 4 || strncmp(p, "--", 2) != 0)
		return 0;
	for (; n < len - 2 && n < 31 && ((p[n + 2] >= 'a' && p[n + 2] <= 'z') || p[n + 2] == '-');
	     n++)
		ret[n] = p[n + 2] == '-' ? '_' : p[n + 2];
	ret[n] = '\0';
	return is_field(ret, n) ? n + 2 : 0;
}

static size_t phrase_at(const char *p, size_t len, const char **ret)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
		size_t n = strlen(phrases[i].words);

		if (n <= len && strncmp(p, phrases[i].words, n) == 0) {
			*ret = phrases[i].instead;
			return n;
		}
	}
	return 0;
}

/* From `from`, `len` bytes, to `to`, which is not behind it. Returns how many were written. */
static size_t reword(char *to, const char *from, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len;) {
		const char *instead = NULL;
		char field[32];
		size_t n = phrase_at(from + i, len - i, &instead);

		if (!n && (i == 0 || from[i - 1] != '-')) {
			n = option_at(from + i, len - i, field);
			instead = field;
		}
		if (!n) {
			to[out++] = from[i++];
			continue;
		}
		i += n;
		memmove(to + out, instead, strlen(instead));
		out += strlen(instead);
	}
	return out;
}

void words_of_fields(char *text)
{
	text[reword(text, text, strlen(text))] = '\0';
}

/* What is said to people. Text of a program cannot have these: its quotes are written with a
 * backslash. */
static const char *const said[] = {"\"hint\":\"", "\"message\":\"", "\"remedy\":\""};

/* Behind the next of them; NULL: there is none. */
static const char *next_said(const char *doc)
{
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		const char *at = strstr(doc, said[i]);

		if (at && (!first || at + strlen(said[i]) < first))
			first = at + strlen(said[i]);
	}
	return first;
}

static void reword_said(char *doc)
{
	char *to = doc;
	const char *from = doc, *end = doc + strlen(doc), *words;

	while ((words = next_said(from))) {
		const char *stop = words;

		while (*stop && *stop != '"')
			stop += *stop == '\\' && stop[1] ? 2 : 1;
		memmove(to, from, (size_t)(words - from));
		to += words - from;
		to += reword(to, words, (size_t)(stop - words));
		from = stop;
	}
	memmove(to, from, (size_t)(end - from) + 1);
}

static void name_artifact(struct value *doc, const char *stream, const char *op, const char *run)
{
	struct value *s = value_get(doc, stream);
	char path[96];

	if (!value_true(value_get(s, "truncated")))
		return;
	op_route(op, run, path, sizeof(path));
	value_set(s, "artifact", value_of_str(path));
}

char *words_of_result(char *doc, const char *run)
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (!doc)
		return NULL;
	reword_said(doc);
	if (!strstr(doc, "\"truncated\":true") || value_parse(doc, strlen(doc), &v, &ignored) < 0)
		return doc;
	name_artifact(v, "stdout", "run.stdout", run);
	name_artifact(v, "stderr", "run.stderr", run);
	char *told = value_text(v, NULL);
	if (!told)
		return doc;
	free(doc);
	return told;
}
