/* SPDX-License-Identifier: Apache-2.0 */
#include "store/donor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "store/db.h"

#define KEPT "index." /* of earlier pushes, each with the number of its snapshot's row */
#define KEPT_MAX 8u

static int find(struct store *s, const struct workspace *w, const char *key, struct donor *donor,
		struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(
		s->db, &rows, e,
		"SELECT y.workspace, s.stack, y.key FROM sync y JOIN snap s ON s.id = y.snap WHERE"
		" y.workspace <> ?2 ORDER BY y.key = ?1 DESC, y.made DESC LIMIT 1",
		"ti", key, w->id);

	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	donor->workspace = db_int(rows, 0);
	(void)snprintf(donor->key, sizeof(donor->key), "%s", db_text(rows, 2));
	donor->found = true;
	return stack_parse(db_text(rows, 1), &donor->stack, e);
}

/* A link would let its owner change what the donor has; a copy is small and made once. */
static void copy_of(const struct store *s, const struct donor *d, const char *what, int to,
		    const char *as)
{
	char name[96], buf[65536];
	bool owned = s->owned;
	ssize_t n = 0;

	(void)snprintf(name, sizeof(name), "sync/%lld-%s/%s", (long long)d->workspace, d->key,
		       what);
	(void)unlinkat(to, as, 0);
	auto_close int from = openat(s->home_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int out =
		from < 0 ? FD_NONE
			 : openat(to, as, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
				  0644);
	while (from >= 0 && out >= 0 && (n = read(from, buf, sizeof(buf))) > 0)
		if (fd_write_all(out, buf, (size_t)n) < 0)
			break; /* a damaged one is no good, and no harm */
	if (owned && out >= 0)
		(void)!fchown(out, SANDBOX_UID,
			      SANDBOX_UID); /* then it cannot be read, and no harm */
}

/* The snapshot that the last push made; 0: there was none. */
static int last_push(struct store *s, const struct workspace *w, const char *key, int64_t *ret,
		     struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT snap FROM sync WHERE workspace = ?1 AND key = ?2",
			 "it", w->id, key);

	if (r >= 0)
		r = db_next(rows, e);
	*ret = r > 0 ? db_int(rows, 0) : 0;
	return r;
}

/* Is what that push made still below where the workspace stands, by itself or merged? */
static int still_there(struct store *s, const struct workspace *w, int64_t snap, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(
		s->db, &rows, e,
		"WITH RECURSIVE up(id) AS (SELECT layer FROM snap WHERE id = ?1 AND workspace = ?2"
		" UNION SELECT l.merged FROM up JOIN layer l ON l.id = up.id WHERE l.merged > 0)"
		" SELECT id FROM up",
		"ii", snap, w->id);
	bool found = false;

	while (r >= 0 && (r = db_next(rows, e)) > 0)
		found = found || stack_has(&w->stack, (uint32_t)db_int(rows, 0));
	return r < 0 ? r : found;
}

/* The largest number below `most` of an index that was kept, 0: there is none; and how many there
 * are. */
static int64_t find_kept(int fd, int64_t most, unsigned *ret_count)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = again < 0 ? NULL : fdopendir(again);
	const struct dirent *d = NULL;
	int64_t found = 0;

	*ret_count = 0;
	while (all && (d = readdir(all))) {
		long long id = 0;
		int n = 0;

		if (sscanf(d->d_name, KEPT "%18lld%n", &id, &n) != 1 || d->d_name[n] || id <= 0)
			continue;
		++*ret_count;
		if (id < most && id > found)
			found = id;
	}
	if (all)
		(void)closedir(all); /* only read */
	else
		fd_close(&again);
	return found;
}

/* What the push before was, if it is still there; then that one is the last. */
static int bring_back(struct store *s, const struct workspace *w, const char *key, int fd,
		      struct err *e)
{
	int64_t id = INT64_MAX;
	char name[40];
	unsigned count = 0;
	int r = 0;

	while (r == 0 && (id = find_kept(fd, id, &count)) > 0) {
		(void)snprintf(name, sizeof(name), KEPT "%lld", (long long)id);
		r = still_there(s, w, id, e);
		if (r > 0 && linkat(fd, name, fd, "index", 0) < 0)
			r = err_sys(e, "remember an earlier push");
	}
	if (r > 0)
		r = db_run(s->db, e, "UPDATE sync SET snap = ?3 WHERE workspace = ?1 AND key = ?2",
			   "iti", w->id, key, id);
	return r < 0 ? r : id > 0;
}

/* What is remembered of a push that was taken back would be wrong now. What has arrived for one
 * that was cut off is good: each piece is known by its hash. */
static int forget_undone(struct store *s, const struct workspace *w, const char *key, int fd,
			 struct err *e)
{
	int64_t last = 0;
	int r = last_push(s, w, key, &last, e);

	if (r >= 0)
		r = still_there(s, w, last, e);
	if (r != 0)
		return r;
	if ((unlinkat(fd, "index", 0) < 0 && errno != ENOENT) ||
	    (unlinkat(fd, "donor", 0) < 0 && errno != ENOENT))
		return err_sys(e, "forget a push that was taken back");
	return bring_back(s, w, key, fd, e);
}

/* For who looks for his pieces here. Without it none is found, and more travels. */
static void keep_to(int fd, const char *to)
{
	auto_close int out =
		openat(fd, "to", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (out >= 0)
		(void)fd_write_all(out, to, strlen(to));
}

int donor_state(struct store *s, const struct workspace *w, const char *key, const char *to,
		struct donor_place *place, struct donor *donor, struct err *e)
{
	char name[80];
	int r = 0;

	*donor = (struct donor){.found = false};
	(void)snprintf(name, sizeof(name), "sync/%lld-%s", (long long)w->id, key);
	(void)snprintf(place->path, place->size, "%s/%s", s->home, name);
	if (mkdirat(s->home_fd, "sync", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "%s/sync", s->home);
	bool fresh = mkdirat(s->home_fd, name, 0700) == 0;
	auto_close int fd =
		openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (fresh && s->owned && fchown(fd, SANDBOX_UID, SANDBOX_UID) < 0))
		return err_sys(e, "%s", place->path);
	keep_to(fd, to);
	r = forget_undone(s, w, key, fd, e);
	if (r == 0)
		r = find(s, w, key, donor, e);
	if (r >= 0 && donor->found) {
		copy_of(s, donor, "index", fd, "donor");
		copy_of(s, donor, "to", fd, "donor.to");
	}
	if (r >= 0)
		place->fd = take_fd(&fd);
	return r;
}

/* Under a name of its own, for when a later push is undone. It is never written again: the next one
 * is renamed over "index". Without it, more stays that the directory no longer has. */
static void keep_index(const struct store *s, const struct workspace *w, const char *key,
		       int64_t snap)
{
	char name[80];
	unsigned count = 0;

	(void)snprintf(name, sizeof(name), "sync/%lld-%s", (long long)w->id, key);
	auto_close int fd =
		openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || snap <= 0)
		return;
	(void)snprintf(name, sizeof(name), KEPT "%lld", (long long)snap);
	(void)!linkat(fd, "index", fd, name, 0);
	int64_t oldest = INT64_MAX, id = oldest;
	while ((id = find_kept(fd, id, &count)) > 0)
		oldest = id;
	if (count > KEPT_MAX) {
		(void)snprintf(name, sizeof(name), KEPT "%lld", (long long)oldest);
		(void)unlinkat(fd, name, 0);
	}
}

int donor_note(struct store *s, const struct workspace *w, const char *key, uint64_t seq,
	       struct err *e)
{
	int64_t last = 0;
	int r = db_run(
		s->db, e,
		"REPLACE INTO sync(workspace, key, snap, made) SELECT ?1, ?2, id, ?4 FROM snap"
		" WHERE workspace = ?1 AND seq = ?3 AND layer > 0",
		"itii", w->id, key, (int64_t)seq, store_now_ms());

	if (r >= 0)
		r = last_push(s, w, key, &last, e);
	if (r >= 0)
		keep_index(s, w, key, last);
	return r < 0 ? r : 0;
}

/* W-KEY and pull-W-KEY; else 0. */
static int64_t whose(const char *name)
{
	long long id = 0;
	int n = 0;

	name += strncmp(name, "pull-", 5) == 0 ? 5 : 0;
	return sscanf(name, "%lld-%n", &id, &n) == 1 && n > 0 ? id : 0;
}

int donor_collect(struct store *s, struct err *e)
{
	const struct dirent *d = NULL;
	int fd = openat(s->home_fd, "sync", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!all) {
		fd_close(&fd);
		return 0; /* nobody has pushed anything */
	}
	while (r >= 0 && (d = readdir(all))) {
		int64_t id = whose(d->d_name);

		r = id > 0 ? workspace_exists(s, id, e) : 1;
		if (r == 0)
			(void)remove_tree_at(dirfd(all), d->d_name); /* or the next time */
	}
	(void)closedir(all); /* only read */
	return r < 0 ? r : 0;
}
