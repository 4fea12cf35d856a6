/* SPDX-License-Identifier: Apache-2.0 */
#include "store/history.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "store/db.h"
#include "store/settle.h"

#define COLUMNS                                                                                    \
	"SELECT id, before, seq, kind, stack, layer, run, command, status, exit, made, wall_us,"   \
	" files, bytes, label, dropped FROM snap "

static int fill(struct db_rows *rows, struct snap *s, struct err *e)
{
	*s = (struct snap){
		.id = db_int(rows, 0),
		.before = db_int(rows, 1),
		.seq = db_int(rows, 2),
		.layer = (uint32_t)db_int(rows, 5),
		.exit_status = (int)db_int(rows, 9),
		.made_ms = db_int(rows, 10),
		.wall_us = (uint64_t)db_int(rows, 11),
		.files = (uint64_t)db_int(rows, 12),
		.bytes = (uint64_t)db_int(rows, 13),
		.dropped_ms = db_int(rows, 15),
	};
	(void)snprintf(s->kind, sizeof(s->kind), "%s", db_text(rows, 3));
	(void)snprintf(s->run, sizeof(s->run), "%s", db_text(rows, 6));
	(void)snprintf(s->command, sizeof(s->command), "%s", db_text(rows, 7));
	(void)snprintf(s->status, sizeof(s->status), "%s", db_text(rows, 8));
	(void)snprintf(s->label, sizeof(s->label), "%s", db_text(rows, 14));
	return stack_parse(db_text(rows, 4), &s->stack, e);
}

static const char *or_null(const char *s)
{
	return s[0] ? s : NULL;
}

static int insert(struct store *s, const struct workspace *w, struct snap *snap, struct err *e)
{
	char text[STACK_TEXT_SIZE];

	stack_print(&snap->stack, text);
	snap->before = w->head;
	snap->seq = w->seq + 1;
	snap->made_ms = snap->made_ms ? snap->made_ms : store_now_ms();
	int r = db_run(s->db, e,
		       "INSERT INTO snap(workspace, seq, before, kind, stack, layer, run, command,"
		       " status, exit, made, wall_us, files, bytes, label)"
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
		       "iiittitttiiiiit", w->id, snap->seq, snap->before, snap->kind, text,
		       (int64_t)snap->layer, or_null(snap->run), or_null(snap->command),
		       or_null(snap->status), (int64_t)snap->exit_status, snap->made_ms,
		       (int64_t)snap->wall_us, (int64_t)snap->files, (int64_t)snap->bytes,
		       or_null(snap->label));
	snap->id = db_last_id(s->db);
	return r;
}

int history_beside(struct store *s, struct workspace *w, struct snap *snap, struct err *e)
{
	int r = insert(s, w, snap, e);

	if (r >= 0)
		r = db_run(s->db, e, "UPDATE workspace SET seq = ?2 WHERE id = ?1", "ii", w->id,
			   snap->seq);
	w->seq = snap->seq;
	return r;
}

int history_append(struct store *s, struct workspace *w, struct snap *snap, struct err *e)
{
	int r = insert(s, w, snap, e);

	if (r >= 0)
		r = db_run(s->db, e, "UPDATE workspace SET seq = ?2, head = ?3 WHERE id = ?1",
			   "iii", w->id, snap->seq, snap->id);
	if (r < 0)
		return r;
	w->seq = snap->seq;
	w->head = snap->id;
	w->stack = snap->stack;
	return 0;
}

int history_get(struct store *s, int64_t id, struct snap *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, COLUMNS "WHERE id = ?1", "i", id);

	if (r >= 0)
		r = db_next(rows, e);
	if (r == 0)
		return err_set(e, ERR_INTERNAL, "store.db: a snapshot is not there");
	return r < 0 ? r : fill(rows, ret, e);
}

int history_find(struct store *s, const struct workspace *w, const char *name, struct snap *ret,
		 struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	uint64_t seq = 0;
	int r = 0;

	if (!name || strcmp(name, "head") == 0)
		return history_get(s, w->head, ret, e);
	if (isdigit((unsigned char)name[0]) && strspn(name, "0123456789") == strlen(name)) {
		(void)sscanf(name, "%18lu", &seq);
		r = db_query(s->db, &rows, e, COLUMNS "WHERE workspace = ?1 AND seq = ?2", "ii",
			     w->id, (int64_t)seq);
	} else {
		r = store_check_label(name, e);
		if (r >= 0)
			r = db_query(s->db, &rows, e, COLUMNS "WHERE workspace = ?1 AND label = ?2",
				     "it", w->id, name);
	}
	if (r >= 0)
		r = db_next(rows, e);
	if (r != 0)
		return r < 0 ? r : fill(rows, ret, e);
	(void)err_set(e, ERR_MISSING, "workspace %s has no snapshot %.80s", w->name, name);
	return err_remedy(e, "pinfold log %s lists them", w->name);
}

int history_each(struct store *s, const struct workspace *w, bool all,
		 int (*each)(const struct snap *snap, void *arg), void *arg, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_free struct snap *snap = malloc(sizeof(*snap));
	int r = snap ? 0 : err_sys(e, "store");

	if (r >= 0)
		r = db_query(s->db, &rows, e,
			     COLUMNS
			     "WHERE workspace = ?1 AND (dropped = 0 OR label IS NOT NULL OR ?2)"
			     " ORDER BY seq DESC",
			     "ii", w->id, (int64_t)all);
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = fill(rows, snap, e);
		if (r >= 0)
			r = each(snap, arg);
	}
	return r;
}

/* What all that change the history have in common: the workspace, alone, in a transaction. */
struct change {
	struct store *s;
	struct workspace w;
	int lock;
};

static int change_begin(struct change *c, struct store *s, const char *name, bool durable,
			struct err *e)
{
	c->s = s;
	c->lock = FD_NONE;
	int r = workspace_find(s, name, &c->w, e);
	if (r >= 0)
		r = workspace_lock(s, &c->w, USE_ALONE, &c->lock, e);
	if (r >= 0)
		r = db_begin(s->db, durable, e);
	/* It may have moved before we held it. */
	return r < 0 ? r : workspace_find(s, name, &c->w, e);
}

static int change_end(struct change *c, int r, struct err *e)
{
	if (r >= 0)
		r = db_commit(c->s->db, e);
	db_rollback(c->s->db);
	fd_close(&c->lock);
	return r;
}

int history_refuse_label(struct store *s, const struct workspace *w, const char *label,
			 struct err *e)
{
	struct snap found;
	struct err none = ERR_INIT;

	if (history_find(s, w, label, &found, &none) < 0)
		return 0;
	(void)err_set(e, ERR_CONFLICT, "workspace %s has a snapshot %s already", w->name, label);
	return err_remedy(e, "choose another label");
}

int history_snap(struct store *s, const char *name, const char *label, struct snap *ret,
		 struct err *e)
{
	struct change c;
	int64_t last = 0;
	int r = label ? store_check_label(label, e) : 0;

	if (r >= 0)
		r = store_sync_layers(s, &last, e);
	if (r < 0)
		return r;
	r = change_begin(&c, s, name, true, e);
	if (r >= 0 && c.w.head > last) /* a command ended meanwhile */
		r = store_sync_layers(s, &last, e);
	if (r >= 0 && label)
		r = history_refuse_label(s, &c.w, label, e);
	if (r >= 0) {
		*ret = (struct snap){.kind = "snap", .stack = c.w.stack};
		if (label)
			(void)snprintf(ret->label, sizeof(ret->label), "%s", label);
		r = history_append(s, &c.w, ret, e);
	}
	return change_end(&c, r, e);
}

static bool is_command(const struct snap *snap)
{
	return strcmp(snap->kind, "snap") != 0;
}

static int set_dropped(struct change *c, int64_t above, struct err *e)
{
	/* A labelled one does not go for that. */
	return db_run(
		c->s->db, e,
		"UPDATE snap SET dropped = ?3 WHERE workspace = ?1 AND seq > ?2 AND dropped = 0",
		"iii", c->w.id, above, store_now_ms());
}

/* Go back along the chain until `count` commands are undone. */
static int find_undone(struct change *c, uint64_t count, struct snap *ret, struct err *e)
{
	uint64_t left = count;
	int r = history_get(c->s, c->w.head, ret, e);

	while (r >= 0 && left > 0) {
		if (!ret->before) {
			(void)err_set(e, ERR_INVALID, "workspace %s has only %llu to undo",
				      c->w.name, (unsigned long long)(count - left));
			return err_remedy(e, "pinfold log %s shows what it has", c->w.name);
		}
		left -= is_command(ret);
		r = history_get(c->s, ret->before, ret, e);
	}
	return r;
}

int history_undo(struct store *s, const char *name, uint64_t count, struct snap *ret, struct err *e)
{
	struct change c;
	int r = change_begin(&c, s, name, false, e);

	if (r >= 0)
		r = find_undone(&c, count, ret, e);
	if (r >= 0)
		r = db_run(s->db, e, "UPDATE workspace SET head = ?2 WHERE id = ?1", "ii", c.w.id,
			   ret->id);
	if (r >= 0)
		r = set_dropped(&c, ret->seq, e);
	return change_end(&c, r, e);
}

int history_rollback(struct store *s, const char *name, const char *to, struct snap *ret,
		     struct err *e)
{
	struct change c;
	struct snap target;
	int r = change_begin(&c, s, name, false, e);

	if (r >= 0)
		r = history_find(s, &c.w, to, &target, e);
	if (r >= 0) {
		*ret = (struct snap){.kind = "rollback", .stack = target.stack};
		(void)snprintf(ret->command, sizeof(ret->command), "%lld", (long long)target.seq);
		r = history_append(s, &c.w, ret, e);
	}
	return change_end(&c, r, e);
}

int history_fork(struct store *s, const char *name, const char *at, const char *twin,
		 struct snap *ret, struct err *e)
{
	auto_free struct workspace *w = malloc(2 * sizeof(*w));
	struct snap from;
	char origin[128];

	if (!w)
		return err_sys(e, "store");
	int r = store_check_name(twin, e);
	if (r >= 0)
		r = db_begin(s->db, false, e);
	if (r >= 0)
		r = workspace_find(s, name, &w[0], e);
	if (r >= 0)
		r = history_find(s, &w[0], at, &from, e);
	if (r >= 0) {
		w[1] = w[0];
		w[1].stack = from.stack;
		(void)snprintf(w[1].name, sizeof(w[1].name), "%s", twin);
		(void)snprintf(origin, sizeof(origin), "%s %lld", name, (long long)from.seq);
		r = workspace_insert(s, &w[1], origin, e);
	}
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r < 0 ? r : history_get(s, w[1].head, ret, e);
}

/* The newest that is old enough and has `last` commands behind it: the history will begin there. */
static int find_base(struct change *c, int64_t before_ms, uint64_t last, int64_t *ret_id,
		     int64_t *ret_seq, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(
		c->s->db, &rows, e,
		"SELECT id, seq FROM snap WHERE workspace = ?1 AND dropped = 0 AND made < ?2"
		" AND seq < coalesce((SELECT min(seq) FROM (SELECT seq FROM snap"
		" WHERE workspace = ?1 AND dropped = 0 AND kind <> 'snap'"
		" ORDER BY seq DESC LIMIT ?3)), 9223372036854775807)"
		" ORDER BY seq DESC LIMIT 1",
		"iii", c->w.id, before_ms, (int64_t)last);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0) {
		*ret_id = db_int(rows, 0);
		*ret_seq = db_int(rows, 1);
	}
	return r;
}

static int cut(struct change *c, int64_t base, int64_t seq, uint64_t *ret_count, struct err *e)
{
	int r = db_run(c->s->db, e,
		       "DELETE FROM snap WHERE workspace = ?1 AND seq < ?2 AND label IS NULL"
		       " AND id <> ?3",
		       "iii", c->w.id, seq, c->w.head);

	*ret_count = r < 0 ? 0 : (uint64_t)db_changes(c->s->db);
	if (r < 0 || !*ret_count)
		return r;
	r = db_run(c->s->db, e, "UPDATE snap SET kind = 'base' WHERE id = ?1", "i", base);
	if (r >= 0)
		r = db_run(
			c->s->db, e,
			"UPDATE snap SET before = 0 WHERE workspace = ?1 AND (seq <= ?2 OR before"
			" NOT IN (SELECT id FROM snap WHERE workspace = ?1))",
			"ii", c->w.id, seq);
	return r;
}

int history_forget(struct store *s, const char *name, int64_t before_ms, uint64_t last,
		   uint64_t *ret_count, struct err *e)
{
	struct change c;
	int64_t base = 0, seq = 0;
	int r = change_begin(&c, s, name, false, e);

	*ret_count = 0;
	if (r >= 0)
		r = find_base(&c, before_ms, last < 1u << 30 ? last : 1u << 30, &base, &seq, e);
	if (r > 0)
		r = cut(&c, base, seq, ret_count, e);
	return change_end(&c, r, e);
}
