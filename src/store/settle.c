/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One settles, one waits to do so, and all others know that the one who waits will see their work,
 * too. So nothing is left undone, and there are never more than two.
 */
#include "store/settle.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/depset.h"
#include "store/reserve.h"
#include "store/upper.h"

#define LOG_BYTES_MAX (256 << 10) /* who opens the store reads it all */

static int lock_file(const struct store *s, const char *name, bool wait, int *ret_fd, struct err *e)
{
	auto_close int fd =
		openat(s->home_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(e, "%s/%s", s->home, name);
	int r = 0;
	do
		r = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EWOULDBLOCK ? 0 : err_sys(e, "%s/%s", s->home, name);
	*ret_fd = take_fd(&fd);
	return 1;
}

static int64_t ask(struct store *s, const char *sql, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, sql, "");

	if (r >= 0)
		r = db_next(rows, e);
	return r < 0 ? r : r == 0 ? 0 : db_int(rows, 0);
}

static bool is_log_long(const struct store *s)
{
	struct stat st;

	return fstatat(s->home_fd, "store.db-wal", &st, 0) == 0 && st.st_size > LOG_BYTES_MAX;
}

bool store_unsettled(const struct store *s)
{
	return s->changed || is_log_long(s);
}

/* A durable commit takes all that were before it to disk. */
static int note(struct store *s, const char *key, int64_t value, struct err *e)
{
	int r = db_begin(s->db, true, e);

	if (r >= 0)
		r = db_run(s->db, e, "REPLACE INTO meta(key, value) VALUES(?1, ?2)", "ti", key,
			   value);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

int store_sync_layers(struct store *s, int64_t *ret_last, struct err *e)
{
	int64_t last = ask(s, "SELECT coalesce(max(id), 0) FROM snap", e);
	int64_t settled =
		last < 0 ? last : ask(s, "SELECT value FROM meta WHERE key = 'settled'", e);

	if (settled < 0)
		return (int)settled;
	*ret_last = last;
	if (last <= settled)
		return 0;
	return syncfs(s->layers_fd) < 0 ? err_sys(e, "write the layers to disk") : 1;
}

/* 1: it was done; 0: there was nothing to do. */
static int settle(struct store *s, struct err *e)
{
	int64_t last = 0;
	int r = store_sync_layers(s, &last, e);

	if (r <= 0)
		return r;
	r = note(s, "settled", last, e);
	if (r < 0)
		return r;
	db_checkpoint(s->db);
	return 1;
}

int store_sync(struct store *s, struct err *e)
{
	int r = settle(s, e);

	return r < 0 ? r : 0;
}

int store_write_out(struct store *s, struct err *e)
{
	int r = settle(s, e);

	return r < 0 ? r : r > 0 ? 0 : note(s, "written", store_now_ms(), e);
}

/* Layers that were frozen since the last time. */
static int tidy(struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int64_t done = ask(s, "SELECT value FROM meta WHERE key = 'tidied'", e), last = done;
	int r = db_query(s->db, &rows, e,
			 "SELECT id FROM layer WHERE state = 1 AND id > ?1 ORDER BY id", "i", done);

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		last = db_int(rows, 0);
		layer_tidy(s, (uint32_t)last);
	}
	db_done(&rows);
	if (r >= 0 && last > done)
		r = db_run(s->db, e, "REPLACE INTO meta(key, value) VALUES('tidied', ?1)", "i",
			   last);
	return r;
}

int store_settle(struct store *s, int (*merge)(struct store *s, struct err *e), struct err *e)
{
	auto_close int next = FD_NONE, mine = FD_NONE;
	uint64_t bytes = 0;
	int r = lock_file(s, "locks/next", false, &next, e);

	if (r <= 0)
		return r;
	r = lock_file(s, "locks/settle", true, &mine, e);
	fd_close(&next);
	if (r >= 0)
		r = store_sync(s, e);
	if (r >= 0 && is_log_long(s)) /* of what is no snapshot */
		db_checkpoint(s->db);
	if (r >= 0)
		r = depset_settle(s, e);
	if (r >= 0)
		r = tidy(s, e);
	if (r >= 0)
		r = merge(s, e);
	reserve_keep(s);
	return r < 0 ? r : store_collect(s, &bytes, e);
}
