/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of package managers, as far as they name URLs. Pure. */
#include <string.h>
#include <strings.h>

#include "egress/preset.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct line {
	const char *at;
	size_t len; /* without blanks at its ends */
	bool is_indented;
};

/* false at the end of the text. */
static bool next_line(const char **text, struct line *ret)
{
	if (!**text)
		return false;
	size_t n = strcspn(*text, "\n");
	*ret = (struct line){.at = *text, .len = n, .is_indented = is_blank(**text)};
	*text += n + ((*text)[n] == '\n');
	while (ret->len && is_blank(ret->at[0])) {
		ret->at++;
		ret->len--;
	}
	while (ret->len && is_blank(ret->at[ret->len - 1]))
		ret->len--;
	return true;
}

static bool is_comment(const struct line *l)
{
	return l->len == 0 || l->at[0] == '#' || l->at[0] == ';';
}

/* Cuts the line at the first of `marks`: *ret_value is what stands behind it. The key's length, or
 * 0 where there is none. */
static size_t split(const struct line *l, const char *marks, struct line *ret_value)
{
	size_t n = 0;

	while (n < l->len && !strchr(marks, l->at[n]))
		n++;
	if (n == l->len)
		return 0;
	ret_value->at = l->at + n + 1;
	ret_value->len = l->len - n - 1;
	while (ret_value->len && is_blank(ret_value->at[0])) {
		ret_value->at++;
		ret_value->len--;
	}
	while (n && is_blank(l->at[n - 1]))
		n--;
	return n;
}

static bool is_key(const struct line *l, size_t n, const char *key)
{
	return n == strlen(key) && strncasecmp(l->at, key, n) == 0;
}

/* Each word that looks like a URL. */
static int words(const struct line *l, preset_url found, void *arg)
{
	for (size_t at = 0; at < l->len;) {
		size_t n = 0;

		while (at + n < l->len && !is_blank(l->at[at + n]))
			n++;
		if (n > 3 && memmem(l->at + at, n, "://", 3)) {
			int r = found(l->at + at, n, arg);

			if (r)
				return r;
		}
		at += n + 1;
	}
	return 0;
}

/* As pip reads a key: in any case, and with _ for -. */
static bool is_spelt(const struct line *l, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!key[i] || (!(l->at[i] == '_' && key[i] == '-') &&
				strncasecmp(&l->at[i], &key[i], 1) != 0))
			return false;
	return n && !key[n];
}

static bool is_any(const struct line *l, size_t n, const char *const *keys)
{
	while (*keys && !is_spelt(l, n, *keys))
		keys++;
	return *keys;
}

static int pip_values(const char *text, const char *const *keys, preset_url found, void *arg)
{
	bool is_ours = false;
	struct line l, value;

	/* A line that is indented goes on with the value before it. */
	while (next_line(&text, &l)) {
		if (is_comment(&l))
			continue;
		if (!l.is_indented) {
			size_t n = l.at[0] == '[' ? 0 : split(&l, "=:", &value);

			is_ours = is_any(&l, n, keys);
			if (n)
				l = value;
		}
		int r = is_ours ? words(&l, found, arg) : 0;
		if (r)
			return r;
	}
	return 0;
}

int preset_pip(const char *text, preset_url found, void *arg)
{
	static const char *const keys[] = {"index-url", "extra-index-url", "find-links", NULL};

	return pip_values(text, keys, found, arg);
}

int preset_pip_key(const char *text, const char *key, preset_url found, void *arg)
{
	return pip_values(text, (const char *const[]){key, NULL}, found, arg);
}

/* "registry" or "@scope:registry"; the scope, if it is that. */
static bool npm_key(const struct line *l, size_t n, struct line *ret_scope)
{
	static const char end[] = ":registry";
	size_t m = strlen(end);

	*ret_scope = (struct line){.at = l->at};
	if (n <= m + 1 || l->at[0] != '@' || strncasecmp(l->at + n - m, end, m) != 0)
		return is_key(l, n, "registry");
	ret_scope->len = n - m;
	return true;
}

int preset_npm(const char *text, preset_url found, void *arg)
{
	struct line l, value, scope;

	while (next_line(&text, &l)) {
		size_t n = is_comment(&l) ? 0 : split(&l, "=", &value);
		int r = npm_key(&l, n, &scope) ? words(&value, found, arg) : 0;

		if (r)
			return r;
	}
	return 0;
}

int preset_npm_scope(const char *text, const char *wanted, preset_url found, void *arg)
{
	struct line l, value, scope;
	size_t len = wanted ? strlen(wanted) : 0;

	while (next_line(&text, &l)) {
		size_t n = is_comment(&l) ? 0 : split(&l, "=", &value);
		bool is_it = npm_key(&l, n, &scope) && scope.len == len &&
			     (!len || memcmp(scope.at, wanted, len) == 0);
		int r = is_it ? words(&value, found, arg) : 0;

		if (r)
			return r;
	}
	return 0;
}

int preset_npm_scopes(const char *text, preset_url found, void *arg)
{
	struct line l, value, scope;

	while (next_line(&text, &l)) {
		size_t n = is_comment(&l) ? 0 : split(&l, "=", &value);
		int r = npm_key(&l, n, &scope) && scope.len ? found(scope.at, scope.len, arg) : 0;

		if (r)
			return r;
	}
	return 0;
}

int preset_apt_list(const char *text, preset_url found, void *arg)
{
	struct line l;

	/* deb [options] URL suite component…; an option has no ://. */
	while (next_line(&text, &l)) {
		if (is_comment(&l) || l.len < 4 || strncmp(l.at, "deb", 3) != 0)
			continue;
		int r = words(&l, found, arg);
		if (r)
			return r;
	}
	return 0;
}

int preset_apt_deb822(const char *text, preset_url found, void *arg)
{
	bool is_ours = false;
	struct line l, value;

	while (next_line(&text, &l)) {
		if (l.len && l.at[0] == '#')
			continue;
		if (!l.is_indented) {
			size_t n = split(&l, ":", &value);

			is_ours = is_key(&l, n, "URIs");
			if (n)
				l = value;
		}
		int r = is_ours ? words(&l, found, arg) : 0;
		if (r)
			return r;
	}
	return 0;
}

/* [url "https://host/"], [http "https://host/"], [credential "https://host"]. */
int preset_git(const char *text, preset_url found, void *arg)
{
	static const char *const sections[] = {"[url \"", "[http \"", "[credential \""};
	struct line l;

	while (next_line(&text, &l)) {
		for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
			size_t n = strlen(sections[i]);
			const char *end = l.len > n ? memchr(l.at + n, '"', l.len - n) : NULL;

			if (!end || strncasecmp(l.at, sections[i], n) != 0)
				continue;
			int r = found(l.at + n, (size_t)(end - l.at) - n, arg);
			if (r)
				return r;
		}
	}
	return 0;
}

/* The first text in quotes behind `key`, on this line or the next few. */
static const char *quoted(const char *text, const char *key, size_t *ret_len)
{
	const char *at = strstr(text, key);
	size_t n = at ? strcspn(at + strlen(key), "\"'") : 0;

	if (!at || n > 64 || at[strlen(key) + n] == '\0')
		return NULL;
	at += strlen(key) + n;
	*ret_len = strcspn(at + 1, "\"'\n");
	return at[1 + *ret_len] == at[0] ? at + 1 : NULL;
}

/* PyPI = PackageIndex("https://host/", file_storage_domain="host") */
int preset_pip_text(const char *text, preset_url found, void *arg)
{
	const char *line = strstr(text, "\nPyPI = PackageIndex(");
	size_t len = 0;
	const char *at = line ? quoted(line, "PackageIndex(", &len) : NULL;
	int r = at ? found(at, len, arg) : 0;

	if (r == 0 && at && (at = quoted(line, "file_storage_domain=", &len)))
		r = found(at, len, arg);
	return r;
}

/* new Definition('registry', { default: 'https://host/', or define('registry', { … */
int preset_npm_text(const char *text, preset_url found, void *arg)
{
	const char *entry = strstr(text, "('registry', {");
	size_t len = 0;
	const char *at = entry ? quoted(entry, "default:", &len) : NULL;

	return at ? found(at, len, arg) : 0;
}
