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

/* Cuts the line at the first of `marks`: *ret_value is what stands behind it. The key's length, or 0
 * where there is none. */
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

int preset_pip(const char *text, preset_url found, void *arg)
{
	bool is_ours = false;
	struct line l, value;

	/* A line that is indented goes on with the value before it. */
	while (next_line(&text, &l)) {
		if (is_comment(&l))
			continue;
		if (!l.is_indented) {
			size_t n = l.at[0] == '[' ? 0 : split(&l, "=:", &value);

			is_ours = is_key(&l, n, "index-url") || is_key(&l, n, "extra-index-url") ||
				  is_key(&l, n, "find-links") || is_key(&l, n, "index_url") ||
				  is_key(&l, n, "extra_index_url");
			if (n)
				l = value;
		}
		int r = is_ours ? words(&l, found, arg) : 0;
		if (r)
			return r;
	}
	return 0;
}

int preset_npm(const char *text, preset_url found, void *arg)
{
	struct line l, value;

	while (next_line(&text, &l)) {
		size_t n = is_comment(&l) ? 0 : split(&l, "=", &value);
		bool is_scope =
			n > 10 && l.at[0] == '@' && strncasecmp(l.at + n - 9, ":registry", 9) == 0;

		if (!is_scope && !is_key(&l, n, "registry"))
			continue;
		int r = words(&value, found, arg);
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
