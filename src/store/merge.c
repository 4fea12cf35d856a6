/* SPDX-License-Identifier: Apache-2.0 */
#include "store/merge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/check.h"
#include "store/db.h"
#include "store/origin.h"
#include "store/upper.h"

#define SLACK 2u /* how much larger than what lies on it a layer may be */

static int entries(struct store *s, uint32_t number, uint64_t *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT files FROM layer WHERE id = ?1", "i",
			 (int64_t)number);

	if (r >= 0)
		r = db_next(rows, e);
	*ret = r > 0 ? (uint64_t)db_int(rows, 0) + 1 : 1;
	return r;
}

/* How many from the top belong together; at least two where it has to get shorter. */
static int choose(struct store *s, struct merge *m, enum merge_how how, struct err *e)
{
	uint64_t sum = 0, next = 0;
	unsigned n = 0;
	int r = 0;

	for (; n < m->w.stack.n; n++) {
		/* What others stand on, too, stays apart from what is on it. */
		if (m->w.stack.layer[n].parts & LAYER_IMAGE)
			break;
		r = entries(s, m->w.stack.layer[n].number, &next, e);
		if (r < 0)
			return r;
		bool full = how == MERGE_MUST && m->w.stack.n - n >= LAYERS_MAX - 1;
		if (n > 1 && next > SLACK * sum && !full && how != MERGE_BASE)
			break;
		sum += next;
	}
	m->count = n;
	for (unsigned i = 0; i < n; i++)
		m->parts |= m->w.stack.layer[i].parts;
	return n >= 2;
}

/* Open, as what a command writes to is; a merger that dies leaves it to store_collect(). */
static int make_layer(struct store *s, struct merge *m, struct err *e)
{
	char text[STACK_TEXT_SIZE], name[16];

	stack_print(&m->w.stack, text);
	int r = db_run(s->db, e,
		       "INSERT INTO layer(workspace, state, parts, files, bytes, stack)"
		       " VALUES(?1, 0, 0, 0, 0, ?2)",
		       "it", (int64_t)MERGE_LOCK, text);
	if (r < 0)
		return r;
	m->number = (uint32_t)db_last_id(s->db);
	(void)snprintf(name, sizeof(name), "%u", m->number);
	if (mkdirat(s->layers_fd, name, 0700) < 0)
		return err_sys(e, "make a layer");
	auto_close int dir =
		openat(s->layers_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return dir < 0 ? err_sys(e, "make a layer") : layer_make_parts(s, dir, m->parts, e);
}

/* Its stack instead of where the workspace stands; an empty one where nothing was forgotten. */
static int take_base(struct store *s, struct merge *m, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT stack FROM snap WHERE workspace = ?1 AND kind = 'base'"
			 " AND dropped = 0 ORDER BY seq DESC LIMIT 1",
			 "i", m->w.id);

	m->is_base = true;
	m->w.stack.n = 0;
	if (r >= 0)
		r = db_next(rows, e);
	return r > 0 ? stack_parse(db_text(rows, 0), &m->w.stack, e) : r;
}

int merge_begin(struct store *s, const char *name, enum merge_how how, struct merge *ret,
		struct err *e)
{
	struct workspace one = {.id = MERGE_LOCK};
	int r = 0;

	*ret = (struct merge){.lock = FD_NONE};
	r = workspace_lock(s, &one, how != MERGE_LONG ? USE_WAIT : USE_ALONE, &ret->lock, e);
	if (r == -EBUSY && how == MERGE_LONG)
		return 0;
	if (r >= 0)
		r = workspace_find(s, name, &ret->w, e);
	if (r >= 0 && how == MERGE_BASE)
		r = take_base(s, ret, e);
	if (r >= 0 && ret->w.stack.n < (how == MERGE_LONG ? MERGE_FROM : 2))
		return 0;
	if (r >= 0)
		r = check_trust(s, name, &ret->w.stack, e);
	if (r >= 0)
		r = choose(s, ret, how, e);
	if (r > 0) {
		r = make_layer(s, ret, e);
		r = r < 0 ? r : 1;
	}
	return r;
}

/* Where in the stack those are that were merged; -1: not any more. */
static int find_run(const struct stack *now, const struct merge *m)
{
	for (unsigned at = 0; at + m->count <= now->n; at++) {
		unsigned i = 0;

		while (i < m->count && now->layer[at + i].number == m->w.stack.layer[i].number)
			i++;
		if (i == m->count)
			return (int)at;
	}
	return -1;
}

/* In the place of those it was made of. */
static int replace_run(struct store *s, int64_t snap, struct stack *stack, unsigned at,
		       const struct merge *m, struct err *e)
{
	char text[STACK_TEXT_SIZE];

	memmove(&stack->layer[at + 1], &stack->layer[at + m->count],
		(stack->n - at - m->count) * sizeof(stack->layer[0]));
	stack->n -= m->count - 1;
	stack->layer[at] = (struct sandbox_layer){m->number, m->parts};
	stack_print(stack, text);
	return db_run(s->db, e, "UPDATE snap SET stack = ?2 WHERE id = ?1", "it", snap, text);
}

/* Below all that is kept lies the same. */
static int replace_base(struct store *s, const struct merge *m, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	bool any = false;
	int r = db_query(s->db, &rows, e, "SELECT id, stack FROM snap WHERE workspace = ?1", "i",
			 m->w.id);

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = stack_parse(db_text(rows, 1), &stack, e);
		int at = r < 0 ? -1 : find_run(&stack, m);
		if (at < 0 || (unsigned)at + m->w.stack.n != stack.n)
			continue;
		any = true;
		r = replace_run(s, db_int(rows, 0), &stack, (unsigned)at, m, e);
	}
	return r < 0 ? r : any;
}

/* The layer belongs to the workspace, and has the files of those that were merged. */
static int adopt(struct store *s, const struct merge *m, struct err *e)
{
	uint64_t files = 0, sum = 0;
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < m->count; i++) {
		int64_t number = m->w.stack.layer[i].number;

		r = entries(s, (uint32_t)number, &files, e);
		sum += files - 1;
		if (r >= 0)
			r = db_run(s->db, e, "UPDATE layer SET merged = ?2 WHERE id = ?1", "ii",
				   number, (int64_t)m->number);
	}
	if (r >= 0)
		r = db_run(
			s->db, e,
			"UPDATE layer SET state = 1, parts = ?2, files = ?3, workspace = ?4,"
			" stack = NULL, opened = (SELECT min(opened) FROM layer WHERE merged = ?1)"
			" WHERE id = ?1",
			"iiii", (int64_t)m->number, (int64_t)m->parts, (int64_t)sum, m->w.id);
	return r < 0 ? r : origin_merge(s, m->number, e);
}

static int replace_head(struct store *s, const struct merge *m, struct err *e)
{
	auto_free struct workspace *now = calloc(1, sizeof(*now));
	int r = now ? workspace_find(s, m->w.name, now, e) : err_sys(e, "store");
	int at = r < 0 ? -1 : find_run(&now->stack, m);

	if (at >= 0)
		r = replace_run(s, now->head, &now->stack, (unsigned)at, m, e);
	return r < 0 ? r : at >= 0;
}

int merge_commit(struct store *s, struct merge *m, struct err *e)
{
	int any = 0;

	/* What is on disk already, a labelled snapshot perhaps, is to stand on it. */
	if (syncfs(s->layers_fd) < 0)
		return err_sys(e, "write the layers to disk");
	int r = db_begin(s->db, false, e);

	if (r >= 0)
		r = any = m->is_base ? replace_base(s, m, e) : replace_head(s, m, e);
	if (r > 0)
		r = adopt(s, m, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	if (r >= 0 && any > 0)
		m->number = 0; /* it belongs to the workspace */
	return r;
}

void merge_end(struct store *s, struct merge *m)
{
	if (m->number)
		layer_forget(s, m->number);
	m->number = 0;
	fd_close(&m->lock);
}

/* Who is running. */
static int find_open(struct store *s, struct merge *m, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT id, sandbox FROM layer WHERE workspace = ?1 AND state = 0", "i",
			 m->w.id);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0) {
		m->open = (uint32_t)db_int(rows, 0);
		(void)snprintf(m->sandbox, sizeof(m->sandbox), "%s", db_text(rows, 1));
		r = db_next(rows, e) == 0;
	}
	if (r < 0 || (r > 0 && workspace_is_used(s, m->w.id)))
		return r;
	(void)err_set(e, ERR_BUSY,
		      "workspace %s: several commands are running in it, or none any more",
		      m->w.name);
	return err_remedy(e, "try again in a moment");
}

int merge_begin_copy(struct store *s, const char *name, struct merge *ret, struct err *e)
{
	struct workspace one = {.id = MERGE_LOCK};

	*ret = (struct merge){.lock = FD_NONE, .parts = LAYER_ROOT | LAYER_USR | LAYER_WORK};
	int r = workspace_lock(s, &one, USE_WAIT, &ret->lock, e);
	if (r >= 0)
		r = workspace_find(s, name, &ret->w, e);
	if (r >= 0)
		r = find_open(s, ret, e);
	if (r >= 0)
		ret->parts = layer_parts(s, ret->open);
	return r < 0 ? r : make_layer(s, ret, e);
}

int merge_commit_copy(struct store *s, struct merge *m, struct snap *snap, struct err *e)
{
	struct sandbox_layer layer = {m->number, layer_parts(s, m->number)};
	auto_free struct workspace *now = calloc(1, sizeof(*now));

	if (!now)
		return err_sys(e, "store");
	if (syncfs(s->layers_fd) < 0)
		return err_sys(e, "write the layers to disk");
	int r = db_begin(s->db, true, e);
	if (r >= 0)
		r = workspace_find(s, m->w.name, now, e);
	snap->stack = m->w.stack; /* what the command lies on */
	snap->layer = m->number;
	if (r >= 0)
		r = stack_push(&snap->stack, layer, e);
	if (r >= 0)
		r = history_beside(s, now, snap, e);
	if (r >= 0)
		r = db_run(
			s->db, e,
			"UPDATE layer SET state = 1, parts = ?2, files = ?3, bytes = ?4, workspace = ?5,"
			" stack = NULL WHERE id = ?1",
			"iiiii", (int64_t)m->number, (int64_t)layer.parts, (int64_t)snap->files,
			(int64_t)snap->bytes, now->id);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	if (r >= 0)
		m->number = 0;
	return r;
}
