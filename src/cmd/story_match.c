/* SPDX-License-Identifier: Apache-2.0 */
/* Of a row that a filter found: the connections or files by which it did, in a few words. */
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "cmd/story.h"

#define SHOWN_MAX 3u

struct words {
	char *to;
	size_t size, len;
	unsigned n; /* also of those that have no room */
};

static const char *text_of(const struct value *v, const char *key)
{
	const char *text = value_str(value_get(v, key));

	return text ? text : "";
}

static void add(struct words *w, const char *verb, const char *what, long long port)
{
	char number[24] = "";

	if (w->n++ >= SHOWN_MAX)
		return;
	if (port)
		(void)snprintf(number, sizeof(number), ":%lld", port);
	int k = snprintf(w->to + w->len, w->size - w->len, "%s%s %s%s", w->len ? ", " : "", verb,
			 what, number);
	w->len += k < 0 ? 0 : (size_t)k;
	w->len = w->len < w->size ? w->len : w->size - 1;
}

/* As the library looks for it: the whole word. */
static bool has_host(const char *what, const char *want)
{
	size_t n = strlen(want);

	for (const char *p = what; n && (p = strstr(p, want)); p++)
		if ((p == what || strchr(" /[@", p[-1])) && (!p[n] || strchr(" :]/", p[n])))
			return true;
	return false;
}

static void add_hosts(struct words *w, const struct value *data, const char *want)
{
	const struct value *rows = value_get(data, "network"), *list = value_get(data, "denials");

	for (size_t i = 0; i < value_len(rows); i++) {
		const struct value *row = value_at(rows, i);

		if (strcmp(text_of(row, "host"), want) == 0)
			add(w, text_of(row, "verdict"), want,
			    (long long)value_int(value_get(row, "port")));
	}
	for (size_t i = 0; i < value_len(list); i++) {
		const struct value *row = value_at(list, i);

		if (strcmp(text_of(row, "kind"), "network") == 0 &&
		    has_host(text_of(row, "what"), want))
			add(w, "refused", text_of(row, "what"), 0);
	}
}

static void add_paths(struct words *w, const struct value *data, const char *want)
{
	const struct value *files = value_get(data, "files");

	for (size_t i = 0; i < value_len(files); i++) {
		const char *path = text_of(value_at(files, i), "path");
		const char *change = text_of(value_at(files, i), "change");

		if (glob_finds(want, path))
			add(w, *change ? change : "changed", path, 0);
	}
}

void story_match(const struct value *event, const char *host, const char *path, char *to,
		 size_t size)
{
	const struct value *data = value_get(event, "data");
	struct words w = {.to = to, .size = size};

	to[0] = '\0';
	if (host)
		add_hosts(&w, data, host);
	if (path)
		add_paths(&w, data, path);
	if (w.n > SHOWN_MAX)
		(void)snprintf(to + w.len, size - w.len, " and %u more", w.n - SHOWN_MAX);
}
