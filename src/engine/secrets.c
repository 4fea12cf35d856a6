/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks like a secret, by the list of secrets.def and by what the caller said.
 */
#include "engine/secrets.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apply/beneath.h"
#include "base/fd.h"
#include "engine/secrets_own.h"

#define LOOK_BYTES (64u << 10)
#define CONFIG_BYTES (1u << 20)
#define PATH_BYTES 4096u

enum kind { HIDE, HIDE_IF, HIDE_CONFIG, SHOW };

static const struct row {
	enum kind kind;
	const char *pattern, *text, *what;
} rows[] = {
#define SECRET(pattern, what) {HIDE, pattern, NULL, what},
#define SECRET_IF(pattern, text, what) {HIDE_IF, pattern, text, what},
#define SECRET_CONFIG(pattern, what) {HIDE_CONFIG, pattern, NULL, what},
#define NO_SECRET(pattern) {SHOW, pattern, NULL, NULL},
#include "engine/secrets.def"
#undef SECRET
#undef SECRET_IF
#undef SECRET_CONFIG
#undef NO_SECRET
};

/* As fnmatch(), which takes too long for a million names: nearly all patterns have one star or
 * none. */
static bool is_like(const char *pattern, const char *text)
{
	size_t before = strcspn(pattern, "*?[\\"), n = strlen(text);
	const char *after = pattern + before;

	if (!*after)
		return strcmp(pattern, text) == 0;
	if (*after != '*' || after[1 + strcspn(after + 1, "*?[\\")])
		return fnmatch(pattern, text, FNM_PATHNAME) == 0;
	size_t rest = strlen(++after);
	return n >= before + rest && memcmp(pattern, text, before) == 0 &&
	       memcmp(after, text + n - rest, rest) == 0 &&
	       !memchr(text + before, '/', n - rest - before);
}

static bool matches(const char *pattern, const char *path)
{
	size_t slashes = 0, n = strlen(path);

	for (const char *c = pattern; *c; c++)
		slashes += *c == '/';
	/* As many names from the end as the pattern has. */
	while (n > 0 && (path[n - 1] != '/' || slashes-- > 0))
		n--;
	return is_like(pattern, path + n);
}

bool secrets_pattern(const char *pattern, char *ret, size_t size)
{
	while (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	size_t all = strnlen(pattern, size - 1), n = all;

	while (n > 1 && pattern[n - 1] == '/')
		n--;
	memcpy(ret, pattern, n);
	ret[n] = '\0';
	return n < all;
}

bool secrets_listed(const char *const *list, const char *path, bool whole)
{
	char pattern[PATH_BYTES];

	for (; list && *list; list++) {
		if (!secrets_pattern(*list, pattern, sizeof(pattern)) && whole)
			continue;
		if (strcmp(pattern, path) == 0 || matches(pattern, path))
			return true;
	}
	return false;
}

static int open_file(int dir, const char *name)
{
	struct stat st;
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? take_fd(&fd) : FD_NONE;
}

static bool contains(int dir, const char *name, const char *text)
{
	char buf[LOOK_BYTES];
	size_t n = 0;
	auto_close int fd = open_file(dir, name);

	return fd >= 0 && fd_read_max(fd, buf, sizeof(buf), &n) == 0 &&
	       memmem(buf, n, text, strlen(text));
}

/* Before the host of an address: a password, or a name as long as a token is. `git@host:path` and
 * `ssh://git@host/` have neither. */
static bool has_credential(const char *line)
{
	for (const char *at = line; (at = strstr(at, "://"));) {
		const char *scheme = at;

		at += 3;
		size_t user = strcspn(at, ":@/ \t\"'");
		const char *host = memchr(at, '@', strcspn(at, "/ \t\"'"));

		if (!host)
			continue;
		if (at[user] == ':' && at + user + 1 < host)
			return true;
		while (scheme > line && isalnum((unsigned char)scheme[-1]))
			scheme--;
		if (strncasecmp(scheme, "ssh", 3) != 0 && user >= 16)
			return true;
	}
	return false;
}

/* One line of git's configuration. */
static bool tells(char *line)
{
	static const char *const keys[] = {"extraheader", "token", "passw", "secret"};
	static const char *const values[] = {"password=", "token=", "authorization:"};
	char *value = strchr(line, '=');
	bool found = has_credential(line);

	if (!value || found)
		return found;
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && *line != '['; i++)
		found = found || strcasestr(line, keys[i]);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		found = found || strcasestr(value, values[i]);
	return found;
}

static bool config_tells(int dir, const char *name)
{
	auto_close int fd = open_file(dir, name);
	auto_free char *buf = fd >= 0 ? malloc(CONFIG_BYTES + 1) : NULL;
	bool found = false;
	char *more = buf;
	size_t n = 0;

	if (fd < 0)
		return false;
	if (!buf || fd_read_max(fd, buf, CONFIG_BYTES, &n) < 0 || n == CONFIG_BYTES ||
	    memchr(buf, '\0', n))
		return true; /* not all of it could be looked at */
	buf[n] = '\0';
	for (char *line; !found && (line = strsep(&more, "\n"));)
		found = tells(line);
	return found;
}

const char *secrets_of(int dir, const char *name, const char *path, const struct secrets_said *said)
{
	if (secrets_listed(said->show, path, false))
		return NULL;
	if (secrets_listed(said->hide, path, false))
		return SECRET_NAMED;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		if (!matches(row->pattern, path))
			continue;
		if (row->kind == SHOW)
			return NULL;
		if (row->kind == HIDE || (row->kind == HIDE_IF && contains(dir, name, row->text)) ||
		    (row->kind == HIDE_CONFIG && config_tells(dir, name)))
			return row->what;
	}
	return NULL;
}

static const char *what_at(int dir, const char *path, const struct secrets_own *own,
			   const struct secrets_said *said)
{
	auto_close int parent = FD_NONE;
	const char *name = NULL;
	struct err ignored = ERR_INIT;
	struct stat st;

	if (beneath_parent(dir, path, &parent, &name, &ignored) < 0)
		return NULL;
	if (own->n && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    secrets_own_is(own, &st) && !secrets_listed(said->show, path, false))
		return SECRET_OWN;
	return secrets_of(parent, name, path, said);
}

const char *secrets_what(int dir, const char *path, const struct secrets_said *said)
{
	static const struct secrets_said nothing;
	size_t n = strlen(path);
	const char *what = NULL;
	struct secrets_own own;
	char at[PATH_BYTES];

	if (n >= sizeof(at))
		return "a path that could not be looked at";
	secrets_own_find(&own);
	said = said ? said : &nothing;
	for (size_t i = 1; i <= n && !what; i++) {
		if (i < n && path[i] != '/')
			continue;
		memcpy(at, path, i);
		at[i] = '\0';
		what = what_at(dir, at, &own, said);
		if (!what && secrets_listed(said->show, at, true))
			return NULL;
	}
	return what;
}
