/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule is a glob. Without a slash (one at its end apart) it is about the last name of a path,
 * else about the whole path from the directory of its file.
 */
#include "sync/ignore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/glob.h"

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
		if (stop > at && stop[-1] == '\r')
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
