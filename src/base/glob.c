/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The glob is matched without recursion. On a mismatch the last `*` takes one byte more, and when
 * it has come to a slash, the last `**` one directory more: earlier ones never need to be tried
 * again, so that a glob made to be slow is not.
 */
#include "base/glob.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct glob {
	const char *start, *p, *t;
	const char *star_p, *star_t;
	const char *deep_p, *deep_t;
	bool deep_dirs; /* the last ** goes on by directories, not by bytes */
	bool path;	/* a slash is no ordinary byte */
};

static const struct class
{
	const char *name;
	int (*is)(int);
} classes[] = {
	{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
	{"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
	{"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

/* `p` is behind "[:". The class that it names, or NULL; *ret_end is at the bracket, or the end. */
static const struct class *find_class(const char *p, const char **ret_end)
{
	size_t len = strcspn(p, "]");

	*ret_end = p + len;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (p[len] && strlen(classes[i].name) + 1 == len && p[len - 1] == ':' &&
		    memcmp(classes[i].name, p, len - 1) == 0)
			return &classes[i];
	return NULL;
}

/*
 * A bracket expression; `p` is behind its first bracket. Returns where it ends (at its last
 * bracket), or NULL for one that does not end or names a class that is none: those match nothing.
 */
static const char *bracket(const char *p, unsigned char c, bool *ret_match)
{
	bool negated = *p == '!' || *p == '^', match = false, first = true;
	unsigned char low = 0;
	const char *end;

	p += negated;
	for (; first || *p != ']'; p++, first = false) {
		unsigned char at = (unsigned char)*p;

		if (at == '-' && low && p[1] && p[1] != ']') {
			p += 1 + (p[1] == '\\');
			if (!*p)
				return NULL;
			match |= c >= low && c <= (unsigned char)*p;
			low = 0;
			continue;
		}
		if (at == '[' && p[1] == ':') {
			const struct class *known = find_class(p + 2, &end);

			if (!*end || (!known && end > p + 2 && end[-1] == ':'))
				return NULL;
			if (known) {
				match |= c < 0x80 && known->is(c);
				p = end;
				low = 0;
				continue;
			}
		}
		if (at == '\\')
			at = (unsigned char)*++p;
		if (!at)
			return NULL;
		match |= c == at;
		low = at;
	}
	*ret_match = match != negated;
	return p;
}

/* One byte against one element of the glob; both step on when they fit. */
static bool step(struct glob *g)
{
	unsigned char c = (unsigned char)*g->t;
	const char *p = g->p;
	bool match = false;

	if (!c || !*p)
		return false;
	switch (*p) {
	case '?': match = !g->path || c != '/'; break;
	case '[':
		p = bracket(p + 1, c, &match);
		match = match && p && !(g->path && c == '/');
		break;
	case '\\':
		match = (unsigned char)p[1] == c;
		p++;
		break;
	default: match = (unsigned char)*p == c;
	}
	if (match) {
		g->p = p + 1;
		g->t++;
	}
	return match;
}

/* g->p is at a star. Returns true when all that is left fits. */
static bool begin_star(struct glob *g)
{
	const char *p = g->p, *q = p + strspn(p, "*");
	bool between = q - p > 1 && (p == g->start || p[-1] == '/') &&
		       (!*q || *q == '/' || (q[0] == '\\' && q[1] == '/'));

	g->p = q;
	if (g->path && !between) {
		g->star_p = q;
		g->star_t = g->t;
		return false;
	}
	if (!*q)
		return true;
	g->star_p = NULL;
	g->deep_dirs = g->path && *q == '/';
	g->p = g->deep_p = q + g->deep_dirs;
	g->deep_t = g->t;
	return false;
}

static bool go_back(struct glob *g)
{
	if (g->star_p && *g->star_t && *g->star_t != '/') {
		g->p = g->star_p;
		g->t = ++g->star_t;
		return true;
	}
	if (!g->deep_p || !*g->deep_t)
		return false;
	if (g->deep_dirs) {
		g->deep_t = strchr(g->deep_t, '/');
		if (!g->deep_t) {
			g->deep_p = NULL;
			return false;
		}
	}
	g->star_p = NULL;
	g->p = g->deep_p;
	g->t = ++g->deep_t;
	return true;
}

bool glob_match(const char *glob, const char *text, bool path)
{
	/* git compares what comes before the first wildcard apart, and to it the rest is a glob of
	 * its own: in `a**` the stars are at a start. */
	const char *start = glob + strcspn(glob, "*?[\\");
	struct glob g = {.start = start, .p = glob, .t = text, .path = path};

	for (;;) {
		if (*g.p == '*') {
			if (begin_star(&g))
				return true;
			continue;
		}
		if (!*g.p && !*g.t)
			return true;
		if (!step(&g) && !go_back(&g))
			return false;
	}
}

/* Whole names of it, one behind the other. */
static bool has_names(const char *path, const char *want, size_t len, bool anchored, bool below)
{
	for (const char *p = path; *p == '/'; p += 1 + strcspn(p + 1, "/")) {
		if (strncmp(p + 1, want, len) == 0 &&
		    ((!p[1 + len] && !below) || p[1 + len] == '/'))
			return true;
		if (anchored)
			break;
	}
	return false;
}

bool glob_finds(const char *want, const char *path)
{
	char glob[PATH_MAX + 16];
	bool anchored = *want == '/';

	if (strcmp(want, path) == 0)
		return true;
	while (strncmp(want, "./", 2) == 0)
		want += 2;
	want += strspn(want, "/");
	size_t len = strlen(want);
	bool below = len && want[len - 1] == '/';
	while (len && want[len - 1] == '/')
		len--;
	if (!len || has_names(path, want, len, anchored, below))
		return true;
	if (*path != '/' || len > PATH_MAX || strcspn(want, "*?[\\") >= len)
		return false;
	const char *from = anchored ? "" : "**/";
	(void)snprintf(glob, sizeof(glob), "%s%.*s", from, (int)len, want);
	if (!below && glob_match(glob, path + 1, true))
		return true;
	(void)snprintf(glob, sizeof(glob), "%s%.*s/**", from, (int)len, want);
	return glob_match(glob, path + 1, true);
}
