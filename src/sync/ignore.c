/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule is a glob. Without a slash (one at its end apart) it is about the last name of a path,
 * else about the whole path from the directory of its file. `*`, `?` and `[...]` never match a
 * slash there; a `**` between slashes, or at an end, matches any number of directories.
 *
 * The glob is matched without recursion. On a mismatch the last `*` takes one byte more, and when
 * it has come to a slash, the last `**` one directory more: earlier ones never need to be tried
 * again, so that a rule made to be slow is not.
 */
#include "sync/ignore.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

struct rule {
	const char *glob;
	bool again;    /* began with ! */
	bool dir_only; /* ended with / */
	bool is_name;  /* has no slash: about the last name alone */
};

struct ignore_rules {
	char *text;
	size_t n;
	struct rule rules[];
};

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

static bool glob_match(const char *glob, const char *text, bool path)
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

enum ignore_verdict ignore_match(const struct ignore_rules *rules, const char *path, bool is_dir)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = rules ? rules->n : 0; i-- > 0;) {
		const struct rule *r = &rules->rules[i];

		if (r->dir_only && !is_dir)
			continue;
		if (r->is_name ? glob_match(r->glob, name, false) : glob_match(r->glob, path, true))
			return r->again ? IGNORE_IN : IGNORE_OUT;
	}
	return IGNORE_SILENT;
}

static bool is_gits_own(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || !at[4]))
			return true;
	}
	return false;
}

bool ignore_judge(const struct ignore_level *levels, size_t n, const char *path, bool is_dir)
{
	enum ignore_verdict verdict = IGNORE_SILENT;

	for (size_t i = n; i-- > 0 && verdict == IGNORE_SILENT;)
		if (levels[i].pinfold)
			verdict = ignore_match(levels[i].pinfold,
					       path + levels[i].path_len + (levels[i].path_len > 0),
					       is_dir);
	if (verdict != IGNORE_SILENT || is_gits_own(path))
		return verdict == IGNORE_OUT;
	for (size_t i = n; i-- > 0 && verdict == IGNORE_SILENT;)
		if (levels[i].git)
			verdict = ignore_match(levels[i].git,
					       path + levels[i].path_len + (levels[i].path_len > 0),
					       is_dir);
	return verdict == IGNORE_OUT;
}

/* Spaces at the end do not count, unless a backslash is before them. */
static void trim(char *line)
{
	char *spaces = NULL;

	for (char *p = line; *p; p++) {
		if (*p == ' ') {
			spaces = spaces ? spaces : p;
			continue;
		}
		spaces = NULL;
		if (*p == '\\' && !*++p)
			return;
	}
	if (spaces)
		*spaces = 0;
}

/* The line is cut as the rule needs it. False: it is none. */
static bool parse_line(char *line, struct rule *ret)
{
	if (!*line || *line == '#')
		return false;
	trim(line);
	*ret = (struct rule){.again = *line == '!'};
	line += ret->again;
	size_t len = strlen(line);
	if (len && line[len - 1] == '/') {
		ret->dir_only = true;
		line[--len] = 0;
	}
	ret->is_name = !strchr(line, '/');
	ret->glob = line + (*line == '/');
	return len > 0;
}

int ignore_parse(const char *text, size_t len, struct ignore_rules **ret, struct err *e)
{
	auto_free char *copy = malloc(len + 1);
	size_t lines = 1;

	if (!copy)
		return err_sys(e, "rules of what to leave out");
	if (len > IGNORE_FILE_MAX)
		return err_set(e, ERR_LIMIT, "more than %u bytes of rules", IGNORE_FILE_MAX);
	for (size_t i = 0; i < len; i++) {
		copy[i] = text[i];
		lines += text[i] == '\n';
	}
	copy[len] = 0;
	struct ignore_rules *rules = malloc(sizeof(*rules) + lines * sizeof(rules->rules[0]));
	if (!rules)
		return err_sys(e, "rules of what to leave out");
	rules->n = 0;
	char *at = copy, *end = copy + len;
	if (len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3; /* editors put it there, and git passes over it */
	while (at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		*stop = 0;
		if (stop > at && stop < end && stop[-1] == '\r')
			stop[-1] = 0;
		rules->n += parse_line(at, &rules->rules[rules->n]);
		at = stop + 1;
	}
	rules->text = take_ptr(&copy);
	*ret = rules;
	return 0;
}

void ignore_free(struct ignore_rules *rules)
{
	if (rules)
		free(rules->text);
	free(rules);
}
