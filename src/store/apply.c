/* SPDX-License-Identifier: Apache-2.0 */
#include "store/apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/write.h"
#include "base/fd.h"
#include "kernel/remove.h"
#include "store/db.h"
#include "store/settle.h"

#define COLUMNS "SELECT id, workspace, seq, reverts, state FROM apply "

static void name_of(int64_t id, char name[40])
{
	(void)snprintf(name, 40, "applies/%lld", (long long)id);
}

static int open_stage(struct store *s, int64_t id, int *ret_fd, struct err *e)
{
	char name[40];

	name_of(id, name);
	*ret_fd = openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "%s/%s", s->home, name) : 0;
}

int apply_begin(struct store *s, const struct workspace *w, int64_t seq, int64_t reverts,
		struct apply_set *set, struct err *e)
{
	char name[40];
	int r = db_run(s->db, e,
		       "INSERT INTO apply(workspace, seq, dir, state, reverts, made)"
		       " VALUES(?1, ?2, ?3, 0, ?4, ?5)",
		       "iitii", w->id, seq, w->dir, reverts, store_now_ms());

	if (r < 0)
		return r;
	set->id = db_last_id(s->db);
	name_of(set->id, name);
	if (mkdirat(s->home_fd, "applies", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s/applies", s->home);
	if (mkdirat(s->home_fd, name, 0700) < 0)
		return err_sys(e, "make %s/%s", s->home, name);
	return open_stage(s, set->id, &set->stage, e);
}

/* As they are in the database. */
enum { KNOWN_MERGED = 1, KNOWN_FOREIGN = 2 };

static int64_t known_bits(const struct apply_known *k)
{
	return (k->merged ? KNOWN_MERGED : 0) | (k->foreign ? KNOWN_FOREIGN : 0);
}

static struct apply_known known_of(int64_t origin, int64_t bits)
{
	return (struct apply_known){origin, bits & KNOWN_MERGED, bits & KNOWN_FOREIGN};
}

static int insert_items(struct store *s, const struct apply_set *set, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < set->n; i++) {
		const struct apply_item *item = &set->items[i];

		r = db_run(
			s->db, e,
			"INSERT INTO apply_item(apply, n, path, old, new, old_x, new_x, old_hash,"
			" new_hash, old_origin, old_known, new_origin, new_known)"
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
			"iitiiiittiiii", set->id, (int64_t)i, item->path, (int64_t)item->old,
			(int64_t)item->new, (int64_t)item->old_exec, (int64_t)item->new_exec,
			item->old_hash, item->new_hash, item->old_known.origin,
			known_bits(&item->old_known), item->new_known.origin,
			known_bits(&item->new_known));
	}
	return r;
}

int apply_commit_writing(struct store *s, const struct apply_set *set, struct err *e)
{
	/* First the originals, then the row that says that they are needed. */
	if (syncfs(set->stage) < 0)
		return err_sys(e, "write to disk");
	int r = db_begin(s->db, true, e);
	if (r >= 0)
		r = insert_items(s, set, e);
	if (r >= 0)
		r = db_run(s->db, e, "UPDATE apply SET state = 1 WHERE id = ?1", "i", set->id);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

static int64_t ns_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

/* Its bytes are what they should be, and nobody wrote to it while we looked. */
static bool is_known(const struct apply_set *set, const struct apply_item *item, bool new,
		     struct stat *ret)
{
	struct stat after;
	struct err ignored = ERR_INIT;

	return beneath_look(set->dir, item->path, ret, &ignored) >= 0 && ret->st_mode &&
	       apply_is(set, item, new) &&
	       beneath_look(set->dir, item->path, &after, &ignored) >= 0 &&
	       after.st_ino == ret->st_ino && ns_of(&after.st_ctim) == ns_of(&ret->st_ctim);
}

int apply_note(struct store *s, int64_t workspace, const struct apply_set *set, bool new,
	       struct err *e)
{
	struct stat st;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < set->n; i++) {
		const struct apply_item *item = &set->items[i];
		const struct apply_known *known = new ? &item->new_known : &item->old_known;
		const char *path = item->path;

		if (!known->foreign && is_known(set, item, new, &st))
			r = db_run(
				s->db, e,
				"REPLACE INTO applied(workspace, path, ino, changed, origin, known)"
				" VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
				"itiiii", workspace, path, (int64_t)st.st_ino, ns_of(&st.st_ctim),
				known->origin, known_bits(known));
		else
			r = db_run(s->db, e,
				   "DELETE FROM applied WHERE workspace = ?1 AND path = ?2", "it",
				   workspace, path);
	}
	return r;
}

static int delete_rows(struct store *s, int64_t id, struct err *e)
{
	int r = db_run(s->db, e, "DELETE FROM apply_item WHERE apply = ?1", "i", id);

	return r < 0 ? r : db_run(s->db, e, "DELETE FROM apply WHERE id = ?1", "i", id);
}

static void remove_stage(struct store *s, int64_t id)
{
	char name[40];

	name_of(id, name);
	(void)remove_tree_at(s->home_fd, name); /* else it takes room */
}

int apply_commit_done(struct store *s, const struct workspace *w, const struct apply_set *set,
		      int64_t reverts, struct err *e)
{
	int64_t last = 0;
	int r = store_sync_layers(s, &last, e);

	if (r >= 0)
		r = db_begin(s->db, true, e);
	if (r >= 0)
		r = apply_note(s, w->id, set, true, e);
	if (r >= 0 && !reverts)
		r = db_run(s->db, e, "UPDATE apply SET state = 2 WHERE id = ?1", "i", set->id);
	if (r >= 0 && reverts)
		r = delete_rows(s, set->id, e);
	if (r >= 0 && reverts)
		r = delete_rows(s, reverts, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	if (r >= 0 && reverts) {
		remove_stage(s, set->id);
		remove_stage(s, reverts);
	}
	return r;
}

int apply_forget(struct store *s, int64_t id, struct err *e)
{
	/* Nobody may look for what was saved while it goes. */
	int r = db_run(s->db, e, "UPDATE apply SET state = 0 WHERE id = ?1", "i", id);
	if (r < 0)
		return r;
	remove_stage(s, id);
	r = db_begin(s->db, false, e);
	if (r >= 0)
		r = delete_rows(s, id, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

static int find(struct store *s, const char *sql, int64_t number, const char *text,
		struct apply_row *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = text ? db_query(s->db, &rows, e, sql, "t", text)
		     : db_query(s->db, &rows, e, sql, "i", number);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret = (struct apply_row){
			.id = db_int(rows, 0),
			.workspace = db_int(rows, 1),
			.seq = db_int(rows, 2),
			.reverts = db_int(rows, 3),
			.state = (enum apply_state)db_int(rows, 4),
		};
	return r;
}

int apply_find_unfinished(struct store *s, const char *dir, struct apply_row *ret, struct err *e)
{
	return find(s, COLUMNS "WHERE state < 2 AND dir = ?1 ORDER BY id DESC LIMIT 1", 0, dir, ret,
		    e);
}

int apply_find_last(struct store *s, int64_t workspace, struct apply_row *ret, struct err *e)
{
	return find(s, COLUMNS "WHERE state = 2 AND workspace = ?1 ORDER BY id DESC LIMIT 1",
		    workspace, NULL, ret, e);
}

int apply_prune(struct store *s, int64_t workspace, bool all, struct err *e)
{
	struct apply_row row;
	int r = 1;

	while (r > 0) {
		r = find(s,
			 all ? COLUMNS "WHERE workspace = ?1 LIMIT 1"
			     : COLUMNS "WHERE workspace = ?1 AND state = 2 ORDER BY id DESC"
				       " LIMIT 1 OFFSET 8",
			 workspace, NULL, &row, e);
		if (r > 0) {
			r = apply_forget(s, row.id, e);
			r = r < 0 ? r : 1;
		}
	}
	if (r >= 0 && all)
		r = db_run(s->db, e, "DELETE FROM applied WHERE workspace = ?1", "i", workspace);
	return r;
}
_Static_assert(APPLIES_KEPT == 8, "apply_prune() has the number in its text");

int apply_load(struct store *s, const struct apply_row *row, struct apply_set *set, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = open_stage(s, row->id, &set->stage, e);

	set->id = row->id;
	if (r >= 0)
		r = db_query(s->db, &rows, e,
			     "SELECT path, old, new, old_x, new_x, old_hash, new_hash, old_origin,"
			     " old_known, new_origin, new_known FROM apply_item"
			     " WHERE apply = ?1 ORDER BY n",
			     "i", row->id);
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct apply_item *item = apply_set_add(set, db_text(rows, 0), e);

		if (!item)
			return -ENOMEM;
		item->old = (enum apply_type)db_int(rows, 1);
		item->new = (enum apply_type)db_int(rows, 2);
		item->old_exec = db_int(rows, 3) != 0;
		item->new_exec = db_int(rows, 4) != 0;
		(void)snprintf(item->old_hash, sizeof(item->old_hash), "%s", db_text(rows, 5));
		(void)snprintf(item->new_hash, sizeof(item->new_hash), "%s", db_text(rows, 6));
		item->old_known = known_of(db_int(rows, 7), db_int(rows, 8));
		item->new_known = known_of(db_int(rows, 9), db_int(rows, 10));
	}
	return r;
}

int apply_find_applied(struct store *s, int64_t workspace, const char *path, struct applied *ret,
		       struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT ino, changed, origin, known FROM applied WHERE workspace = ?1"
			 " AND path = ?2",
			 "it", workspace, path);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret = (struct applied){(uint64_t)db_int(rows, 0), db_int(rows, 1),
					known_of(db_int(rows, 2), db_int(rows, 3))};
	return r;
}

bool apply_is_ours(const struct applied *a, const struct stat *st)
{
	return !a->known.merged && a->ino == st->st_ino && a->changed_ns == ns_of(&st->st_ctim);
}

int layer_opened(struct store *s, uint32_t number, int64_t *ret_ns, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT opened FROM layer WHERE id = ?1", "i",
			 (int64_t)number);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret_ns = db_int(rows, 0);
	return r == 0 ? err_set(e, ERR_BUSY, "the layers changed meanwhile: try again") : r;
}
