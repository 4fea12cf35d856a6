/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what looks like a secret in the directory of --dir, so that the plan can put whiteouts over
 * it. The search is the caller's own, in a directory of the caller's, level by level. It sees all
 * or fails: what nobody looked at is not shown. A directory that cannot be searched is hidden
 * whole; one that is too large is refused, unless the caller says which part of it may be seen as
 * it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "base/fd.h"
#include "engine/secrets.h"
#include "engine/secrets_own.h"

#define ENTRIES_MAX 1000000u /* a second or two */

struct search {
	struct secrets_said said;
	struct secrets_own own;
	struct secrets *found;
	const char *past; /* a name at the top that is not looked into, or NULL */
	size_t prefix;	  /* bytes of each path that are no part of the directory */
	unsigned named;	  /* found by their literal paths, before all others */
	unsigned entries;
	char **queue; /* directories: [next, n) are still to be looked into */
	size_t next, n, room;
	char path[4096];
};

static int note(struct search *s, const char *what, struct err *e)
{
	struct secrets *f = s->found;

	for (unsigned i = 0; i < s->named; i++)
		if (strcmp(f->path[i], s->path) == 0)
			return 0;
	if (f->n == SECRETS_MAX) {
		(void)err_set(
			e, ERR_LIMIT,
			"--dir: more than %u files in it look like secrets or are named by --hide",
			SECRETS_MAX);
		return err_remedy(e,
				  "hide the directory that they are in, name with --show what may "
				  "be seen, or show a smaller directory");
	}
	f->what[f->n] = what;
	f->path[f->n] = strdup(s->path);
	if (!f->path[f->n])
		return err_sys(e, "--dir");
	f->n++;
	return 0;
}

static int push(struct search *s, struct err *e)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		char **queue = reallocarray(s->queue, room, sizeof(*queue));

		if (!queue)
			return err_sys(e, "--dir");
		s->queue = queue;
		s->room = room;
	}
	s->queue[s->n] = strdup(s->path);
	if (!s->queue[s->n])
		return err_sys(e, "--dir");
	s->n++;
	return 0;
}

/* One name of the directory that is the first `len` bytes of `path`. 1: it has no room there. */
static int look(struct search *s, int dir, size_t len, const struct dirent *d, struct err *e)
{
	size_t n = strlen(d->d_name);

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
	    (len == s->prefix && s->past && strcmp(d->d_name, s->past) == 0))
		return 0;
	if (++s->entries > ENTRIES_MAX) {
		(void)err_set(e, ERR_LIMIT,
			      "--dir: it has more than %u files, too many to search for secrets",
			      ENTRIES_MAX);
		return err_remedy(e,
				  "show a smaller directory, or name with --show NAME/ what in it "
				  "may be seen without a search");
	}
	if (len + n + 2 > sizeof(s->path))
		return 1;
	memcpy(s->path + len, d->d_name, n + 1);
	const char *what = secrets_of(dir, d->d_name, s->path, &s->said);
	if (what)
		return note(s, what, e);
	if ((d->d_type != DT_DIR && d->d_type != DT_UNKNOWN) ||
	    secrets_listed(s->said.show, s->path, true))
		return 0;
	return push(s, e);
}

static int all_of(struct search *s, DIR *all, size_t len, struct err *e)
{
	const struct dirent *d = NULL;
	int r = 0;

	if (len > s->prefix)
		s->path[len++] = '/';
	while (r == 0 && (errno = 0, d = readdir(all)))
		r = look(s, dirfd(all), len, d, e);
	if (r == 0 && errno)
		return err_sys(e, "--dir");
	if (r == 1) {
		s->path[len - 1] = '\0';
		r = note(s, "too deep to be searched", e);
	}
	return r;
}

static bool is_own(const struct search *s, int fd)
{
	struct stat st;

	return fd >= 0 && s->own.n && fstat(fd, &st) == 0 && secrets_own_is(&s->own, &st) &&
	       !secrets_listed(s->said.show, s->path, false);
}

/* Below one of them: the ledger's directory has its key, too. */
static bool is_in_own(const struct search *s, int fd)
{
	struct stat was = {0}, st;
	int at = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool found = false;

	while (at >= 0 && !found && fstat(at, &st) == 0 &&
	       (st.st_dev != was.st_dev || st.st_ino != was.st_ino)) {
		int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		found = secrets_own_is(&s->own, &st);
		was = st;
		fd_close(&at);
		at = up;
	}
	fd_close(&at);
	return found;
}

static int refuse_own(struct err *e)
{
	(void)err_set(e, ERR_INVALID, "--dir: it is where pinfold keeps its own files and keys");
	return err_remedy(e, "show another directory, or copy out of it what is to be seen");
}

/* The directory `path`. */
static int look_into(struct search *s, int top, struct err *e)
{
	const char *below = s->path + s->prefix;
	auto_close int fd = beneath_dir(top, *below ? below : ".");

	if (is_own(s, fd))
		return *below ? note(s, SECRET_OWN, e) : refuse_own(e);
	if (!*below && fd >= 0 && s->own.n && is_in_own(s, fd))
		return refuse_own(e);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	if (all) {
		(void)take_fd(&fd);
		int r = all_of(s, all, strlen(s->path), e);
		(void)closedir(all); /* only read */
		return r;
	}
	switch (*below && fd < 0 ? errno : 0) {
	case ENOTDIR:
	case ELOOP:
	case ENOENT: return 0;
	case EACCES:
	case EPERM: return note(s, "a directory that cannot be searched", e);
	case EXDEV: return note(s, SECRET_MOUNTED, e);
	default: return err_sys(e, "--dir");
	}
}

/* What --hide names without a star, wherever it is. */
static int look_up(struct search *s, int top, struct err *e)
{
	struct err ignored = ERR_INIT;
	struct stat st;
	int r = 0;

	for (const char *const *p = s->said.hide; p && *p && r >= 0; p++) {
		(void)secrets_pattern(*p, s->path, sizeof(s->path));
		if (strncmp(s->path, s->queue[0], s->prefix) == 0 && s->path[s->prefix] &&
		    !s->path[strcspn(s->path, "*?[\\")] &&
		    beneath_look(top, s->path + s->prefix, &st, &ignored) >= 0 && st.st_mode != 0 &&
		    !secrets_listed(s->said.show, s->path, false))
			r = note(s, SECRET_NAMED, e);
		s->named = s->found->n;
	}
	return r;
}

/* As a walk would meet them: what is in a directory follows it. */
static int by_path(const void *a, const void *b)
{
	const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	return (*x == '/' ? 1 : *x * 2) - (*y == '/' ? 1 : *y * 2);
}

/* What is below something hidden is hidden with it, and needs no whiteout. */
static int arrange(struct secrets *f, struct err *e)
{
	struct one {
		char *path;
		const char *what;
	} *all = calloc(f->n + 1, sizeof(*all));
	unsigned n = 0;

	if (!all)
		return err_sys(e, "--dir");
	for (unsigned i = 0; i < f->n; i++)
		all[i] = (struct one){f->path[i], f->what[i]};
	qsort(all, f->n, sizeof(*all), by_path);
	for (unsigned i = 0; i < f->n; i++) {
		size_t len = n ? strlen(f->path[n - 1]) : 0;

		if (n && strncmp(f->path[n - 1], all[i].path, len) == 0 &&
		    all[i].path[len] == '/') {
			free(all[i].path);
			continue;
		}
		f->path[n] = all[i].path;
		f->what[n++] = all[i].what;
	}
	f->n = n;
	f->path[n] = NULL;
	free(all);
	return 0;
}

static int find(int top, const struct secrets_said *said, const char *prefix, struct secrets *ret,
		struct err *e)
{
	struct search *s = calloc(1, sizeof(*s));

	*ret = (struct secrets){0};
	if (!s)
		return err_sys(e, "--dir");
	s->said = *said;
	secrets_own_find(&s->own);
	s->found = ret;
	s->prefix = strlen(prefix);
	s->past = *prefix ? "objects" : NULL;
	(void)snprintf(s->path, sizeof(s->path), "%s", prefix);
	int r = push(s, e);
	if (r >= 0)
		r = look_up(s, top, e);
	while (r >= 0 && s->next < s->n) {
		(void)snprintf(s->path, sizeof(s->path), "%s", s->queue[s->next]);
		free(s->queue[s->next]);
		s->queue[s->next++] = NULL;
		r = look_into(s, top, e);
	}
	if (r >= 0)
		r = arrange(ret, e);
	for (size_t i = s->next; i < s->n; i++)
		free(s->queue[i]);
	free(s->queue);
	free(s);
	if (r < 0)
		secrets_done(ret);
	return r;
}

int secrets_find(int dir, const struct secrets_said *said, struct secrets *ret, struct err *e)
{
	return find(dir, said, "", ret, e);
}

int secrets_find_git(int dir, const struct secrets_said *said, struct secrets *ret, struct err *e)
{
	return find(dir, said, ".git/", ret, e);
}

void secrets_done(struct secrets *s)
{
	for (unsigned i = 0; i < s->n; i++)
		free(s->path[i]);
	*s = (struct secrets){0};
}
