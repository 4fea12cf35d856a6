/* SPDX-License-Identifier: Apache-2.0 */
#include "store/depset.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/upper.h"

#define COLUMNS                                                                                    \
	"SELECT id, key, lang, stack, made, used, files, bytes, lock,"                             \
	" NOT EXISTS(SELECT 1 FROM meta WHERE meta.key = 'depset:' || depset.id) FROM depset "
#define FRESH_MS (INT64_C(24) * 3600 * 1000) /* how exact `used` is: not every run writes */

void depset_done(struct depset *d)
{
	free_ptr(&d->lock);
}

/* A set that was just installed need not be on disk before it is used: it can be made again. Until
 * it is known to be there, a row of meta (depset:ID) says in which boot of the machine it was made;
 * one of another boot may be half of what it was, and is forgotten. 0: this cannot be known. */
static int64_t boot_now(void)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[64];
	size_t n = 0;
	uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a: to tell two apart, not to hide anything */

	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &n) < 0 || n < 32)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (int64_t)(sum >> 1) | 1;
}

/* 1: it may have been lost with another boot. */
static int is_doubtful(struct store *s, int64_t id, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT value FROM meta WHERE key = 'depset:' || ?1", "i",
			 id);

	if (r >= 0)
		r = db_next(rows, e);
	return r <= 0 ? r : db_int(rows, 0) != boot_now();
}

static int forget_doubt(struct store *s, int64_t id, struct err *e)
{
	return db_run(s->db, e, "DELETE FROM meta WHERE key = 'depset:' || ?1", "i", id);
}

int depset_settle(struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int64_t last = 0;
	int r = db_query(s->db, &rows, e,
			 "SELECT max(CAST(substr(key, 8) AS INTEGER)) FROM meta"
			 " WHERE key > 'depset:' AND key < 'depset;' AND value = ?1",
			 "i", boot_now());

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		last = db_int(rows, 0);
	db_done(&rows);
	if (r < 0 || last == 0)
		return r < 0 ? r : 0;
	if (syncfs(s->layers_fd) < 0)
		return err_sys(e, "write the layers to disk");
	return db_run(s->db, e,
		      "DELETE FROM meta WHERE key > 'depset:' AND key < 'depset;' AND value = ?1"
		      " AND CAST(substr(key, 8) AS INTEGER) <= ?2",
		      "ii", boot_now(), last);
}

int depset_disown(struct store *s, int64_t id, struct err *e)
{
	return db_run(
		s->db, e,
		"UPDATE depset SET key = 'disowned ' || id, lang = '-', used = 0 WHERE id = ?1",
		"i", id);
}

static int fill(struct db_rows *rows, struct depset *to, struct err *e)
{
	struct stack stack;

	depset_done(to);
	*to = (struct depset){
		.id = db_int(rows, 0),
		.made_ms = db_int(rows, 4),
		.used_ms = db_int(rows, 5),
		.files = (uint64_t)db_int(rows, 6),
		.bytes = (uint64_t)db_int(rows, 7),
		.lock = strdup(db_text(rows, 8)),
		.on_disk = db_int(rows, 9),
	};
	(void)snprintf(to->key, sizeof(to->key), "%s", db_text(rows, 1));
	(void)snprintf(to->lang, sizeof(to->lang), "%s", db_text(rows, 2));
	if (!to->lock)
		return err_sys(e, "store");
	int r = stack_parse(db_text(rows, 3), &stack, e);
	if (r >= 0 && (stack.n != 1 || stack.layer[0].parts != LAYER_USR))
		r = err_set(e, ERR_INTERNAL, "store.db: the packages %.12s are damaged", to->key);
	if (r >= 0)
		to->number = stack.layer[0].number;
	return r;
}

static int find(struct store *s, const char *key, struct depset *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, COLUMNS "WHERE key = ?1", "t", key);

	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	r = fill(rows, ret, e);
	return r < 0 ? r : 1;
}

int depset_hold(struct store *s, const char *key, struct depset *ret, int *ret_lock, struct err *e)
{
	auto_close int lock = FD_NONE;
	int r = find(s, key, ret, e);

	if (r <= 0)
		return r;
	r = apart_lock(s, DEPSET_LOCK, ret->id, USE_SHARED, &lock, e);
	/* It may have gone before we held it. */
	if (r >= 0)
		r = find(s, key, ret, e);
	if (r <= 0)
		return r;
	r = is_doubtful(s, ret->id, e);
	if (r > 0) {
		r = db_run(s->db, e, "DELETE FROM depset WHERE id = ?1", "i", ret->id);
		return r < 0 ? r : forget_doubt(s, ret->id, e);
	}
	if (r >= 0 && store_now_ms() - ret->used_ms > FRESH_MS)
		r = db_run(s->db, e, "UPDATE depset SET used = ?2 WHERE id = ?1", "ii", ret->id,
			   store_now_ms());
	if (r < 0)
		return r;
	*ret_lock = take_fd(&lock);
	return 1;
}

int depset_each(struct store *s, int (*each)(const struct depset *set, void *arg), void *arg,
		struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_depset set = {.lock = NULL};
	int r = db_query(s->db, &rows, e, COLUMNS "ORDER BY used DESC, id DESC", "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = fill(rows, &set, e);
		if (r >= 0)
			r = each(&set, arg);
	}
	return r;
}

int depset_begin(struct store *s, struct making *ret, struct err *e)
{
	return making_begin(s, DEPSET_LOCK, LAYER_USR, ret, e);
}

static int write_down(struct making *m, const struct depset *set, int64_t boot, struct err *e)
{
	struct stack stack = {.n = 1, .layer[0] = {m->number, LAYER_USR}};
	struct db *db = m->store->db;
	char text[STACK_TEXT_SIZE];
	int r = making_freeze(m, LAYER_USR, set->files, set->bytes, e);

	stack_print(&stack, text);
	if (r >= 0)
		r = db_run(db, e,
			   "INSERT INTO depset(key, lang, stack, made, used, files, bytes, lock)"
			   " VALUES(?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
			   "tttiiit", set->key, set->lang, text, store_now_ms(),
			   (int64_t)set->files, (int64_t)set->bytes, set->lock);
	if (r >= 0 && boot)
		r = db_run(db, e, "REPLACE INTO meta(key, value) VALUES('depset:' || ?1, ?2)", "ii",
			   db_last_id(db), boot);
	return r;
}

int depset_commit(struct making *m, const struct depset *set, struct err *e)
{
	auto_depset twin = {.lock = NULL};

	int64_t boot = boot_now();
	int r = boot ? 0 : making_sync(m, e), found = 0;
	if (r >= 0)
		r = db_begin(m->store->db, !boot, e);
	if (r >= 0)
		r = found = find(m->store, set->key, &twin, e);
	if (r == 0)
		r = write_down(m, set, boot, e);
	if (r >= 0)
		r = db_commit(m->store->db, e);
	db_rollback(m->store->db);
	if (r >= 0 && !found)
		making_keep(m);
	m->store->changed |= r >= 0 && boot;
	return r;
}

/* The first behind `last` that was not used since. 1, or 0. */
static int next_unused(struct store *s, int64_t before, int64_t last, int64_t *ret_id,
		       struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT id FROM depset WHERE used <= ?1 AND id > ?2 ORDER BY id LIMIT 1",
			 "ii", before, last);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret_id = db_int(rows, 0);
	return r;
}

int depset_forget(struct store *s, int64_t unused_ms, unsigned *ret_n, struct err *e)
{
	int64_t before = store_now_ms() - unused_ms, id = 0;
	int r = 0;

	*ret_n = 0;
	while ((r = next_unused(s, before, id, &id, e)) > 0) {
		auto_close int lock = FD_NONE;
		struct err busy = ERR_INIT;
		char path[40];

		if (apart_lock(s, DEPSET_LOCK, id, USE_ALONE, &lock, &busy) < 0)
			continue;
		r = db_run(s->db, e, "DELETE FROM depset WHERE id = ?1", "i", id);
		if (r >= 0)
			r = forget_doubt(s, id, e);
		if (r < 0)
			return r;
		(void)snprintf(path, sizeof(path), "locks/%lld", (long long)(DEPSET_LOCK - id));
		(void)unlinkat(s->home_fd, path, 0); /* its number is never given again */
		++*ret_n;
	}
	return r;
}

int depset_recall(struct store *s, const char *ask, char **ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT answer FROM depask WHERE ask = ?1", "t", ask);

	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	*ret = strdup(db_text(rows, 0));
	return *ret ? 1 : err_sys(e, "store");
}

int depset_remember(struct store *s, const char *ask, const char *answer, struct err *e)
{
	int64_t now = store_now_ms();
	int r = db_run(s->db, e, "DELETE FROM depask WHERE made < ?1", "i", now - DEPSET_UNUSED_MS);

	return r < 0 ? r
		     : db_run(s->db, e,
			      "INSERT OR REPLACE INTO depask(ask, answer, made) VALUES(?1, ?2, ?3)",
			      "tti", ask, answer, now);
}
