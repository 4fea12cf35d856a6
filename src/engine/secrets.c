/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what looks like a secret in the directory of --dir, so that the plan can put whiteouts over it.
 * The search is the caller's own, in a directory of the caller's; it is bounded, so that a run begins as
 * soon in a large directory as in a small one, and says when it did not see all.
 */
#include "engine/secrets.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "base/fd.h"

#define ENTRIES_MAX 50000u
#define DEPTH_MAX 24
#define LOOK_BYTES (64u << 10)

enum kind { HIDE, HIDE_IF, SHOW };

static const struct row {
	enum kind kind;
	const char *pattern, *text, *what;
} rows[] = {
#define SECRET(pattern, what) {HIDE, pattern, NULL, what},
#define SECRET_IF(pattern, text, what) {HIDE_IF, pattern, text, what},
#define NO_SECRET(pattern) {SHOW, pattern, NULL, NULL},
#include "engine/secrets.def"
#undef SECRET
#undef SECRET_IF
#undef NO_SECRET
};

struct search {
	const char *const *hide, *const *show;
	struct secrets *found;
	const char *past; /* a name at the top that is not looked into, or NULL */
	unsigned entries;
	char path[4096];
};

static bool matches(const char *pattern, const char *path)
{
	size_t slashes = 0, n = strlen(path);

	for (const char *c = pattern; *c; c++)
		slashes += *c == '/';
	/* As many names from the end as the pattern has. */
	while (n > 0 && (path[n - 1] != '/' || slashes-- > 0))
		n--;
	return fnmatch(pattern, path + n, FNM_PATHNAME) == 0;
}

static bool is_listed(const char *const *list, const char *path)
{
	for (; list && *list; list++) {
		const char *pattern = *list;

		while (strncmp(pattern, "./", 2) == 0)
			pattern += 2;
		if (strcmp(pattern, path) == 0 || matches(pattern, path))
			return true;
	}
	return false;
}

static bool contains(int dir, const char *name, const char *text)
{
	char buf[LOOK_BYTES];
	size_t n = 0;
	struct stat st;
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       fd_read_max(fd, buf, sizeof(buf), &n) == 0 && memmem(buf, n, text, strlen(text));
}

/* What it is, or NULL. */
static const char *judge(const struct search *s, int dir, const char *name)
{
	if (is_listed(s->show, s->path))
		return NULL;
	if (is_listed(s->hide, s->path))
		return "named by --hide";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!matches(rows[i].pattern, s->path))
			continue;
		if (rows[i].kind == SHOW)
			return NULL;
		if (rows[i].kind == HIDE || contains(dir, name, rows[i].text))
			return rows[i].what;
	}
	return NULL;
}

static void note(struct search *s, const char *what)
{
	struct secrets *f = s->found;

	if (f->n == SECRETS_MAX) {
		f->beyond = true;
		return;
	}
	f->what[f->n] = what;
	f->path[f->n] = strdup(s->path);
	f->n += f->path[f->n] != NULL;
}

static void search(struct search *s, int dir, size_t len, int depth)
{
	const struct dirent *d;
	DIR *all = depth < DEPTH_MAX ? fdopendir(dir) : NULL;

	if (!all) {
		s->found->beyond = true;
		close(dir);
		return;
	}
	while (!s->found->beyond && (d = readdir(all))) {
		size_t n = strlen(d->d_name);

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    (depth == 0 && s->past && strcmp(d->d_name, s->past) == 0))
			continue;
		s->found->beyond = ++s->entries > ENTRIES_MAX || len + n + 2 > sizeof(s->path);
		if (s->found->beyond)
			break;
		memcpy(s->path + len, d->d_name, n + 1);
		const char *what = judge(s, dirfd(all), d->d_name);
		if (what)
			note(s, what);
		else if (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) {
			int below = openat(dirfd(all), d->d_name,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			memcpy(s->path + len + n, "/", 2);
			if (below >= 0)
				search(s, below, len + n + 1, depth + 1);
		}
	}
	(void)closedir(all); /* only read */
}

static int find(int dir, const char *const *lists[2], const char *prefix, struct secrets *ret,
		struct err *e)
{
	struct search *s = calloc(1, sizeof(*s));
	int top = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct secrets){0};
	if (!s || top < 0) {
		if (top >= 0)
			close(top);
		free(s);
		return err_sys(e, "--dir");
	}
	s->hide = lists[0];
	s->show = lists[1];
	s->found = ret;
	s->past = *prefix ? "objects" : NULL;
	(void)snprintf(s->path, sizeof(s->path), "%s", prefix);
	search(s, top, strlen(prefix), 0);
	free(s);
	return 0;
}

int secrets_find(int dir, const char *const *hide, const char *const *show, struct secrets *ret,
		 struct err *e)
{
	return find(dir, (const char *const *[]){hide, show}, "", ret, e);
}

int secrets_find_git(int dir, const char *const *hide, const char *const *show, struct secrets *ret,
		     struct err *e)
{
	return find(dir, (const char *const *[]){hide, show}, ".git/", ret, e);
}

void secrets_done(struct secrets *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	*s = (struct secrets){0};
}

static const char *what_at(struct search *s, int dir, size_t len)
{
	auto_close int parent = FD_NONE;
	const char *name = NULL;
	struct err ignored = ERR_INIT;
	char next = s->path[len];

	s->path[len] = '\0';
	const char *what = beneath_parent(dir, s->path, &parent, &name, &ignored) < 0
				   ? NULL
				   : judge(s, parent, name);
	s->path[len] = next;
	return what;
}

const char *secrets_what(int dir, const char *path)
{
	auto_free struct search *s = calloc(1, sizeof(*s));
	size_t n = strlen(path);
	const char *what = NULL;

	if (!s || n >= sizeof(s->path))
		return "a path that could not be looked at";
	memcpy(s->path, path, n + 1);
	for (size_t at = 1; at <= n && !what; at++)
		if (at == n || path[at] == '/')
			what = what_at(s, dir, at);
	return what;
}
