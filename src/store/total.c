/* SPDX-License-Identifier: Apache-2.0 */
#include "store/total.h"

#include <string.h>

#include "store/db.h"
#include "store/settle.h"
#include "store/store.h"

#define BYTES "total_bytes"
#define WORKSPACES "total_workspaces"

static int ask(struct store *s, const char *sql, uint64_t *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, sql, "");

	*ret = 0;
	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret = (uint64_t)db_int(rows, 0);
	return r < 0 ? r : 0;
}

int total_get(struct store *s, struct total *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT key, value FROM meta WHERE key IN ('" BYTES "', '" WORKSPACES "')",
			 "");

	*ret = (struct total){0};
	while (r >= 0 && (r = db_next(rows, e)) > 0)
		*(strcmp(db_text(rows, 0), BYTES) == 0 ? &ret->bytes : &ret->workspaces) =
			(uint64_t)db_int(rows, 1);
	return r < 0 ? r : 0;
}

static int put(struct store *s, const char *key, uint64_t value, struct err *e)
{
	return value ? db_run(s->db, e, "REPLACE INTO meta(key, value) VALUES(?1, ?2)", "ti", key,
			      (int64_t)value)
		     : db_run(s->db, e, "DELETE FROM meta WHERE key = ?1", "t", key);
}

int total_set(struct store *s, const struct total *t, struct err *e)
{
	int64_t last = 0;
	int r = store_sync_layers(s, &last, e);

	if (r >= 0)
		r = db_begin(s->db, true, e);
	if (r >= 0)
		r = put(s, BYTES, t->bytes, e);
	if (r >= 0)
		r = put(s, WORKSPACES, t->workspaces, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

int total_used(struct store *s, struct total *ret, struct err *e)
{
	int r = ask(s, "SELECT coalesce(sum(bytes), 0) FROM layer WHERE state = 1", &ret->bytes, e);

	return r < 0 ? r : ask(s, "SELECT count(*) FROM workspace", &ret->workspaces, e);
}

int total_room(struct store *s, uint64_t *ret, struct err *e)
{
	struct total most, used;
	int r = total_get(s, &most, e);

	*ret = UINT64_MAX;
	if (r < 0 || !most.bytes)
		return r;
	r = total_used(s, &used, e);
	if (r >= 0)
		*ret = used.bytes < most.bytes ? most.bytes - used.bytes : 0;
	return r;
}

int total_take_workspace(struct store *s, struct err *e)
{
	struct total most, used;
	int r = total_get(s, &most, e);

	if (r < 0 || !most.workspaces)
		return r;
	r = total_used(s, &used, e);
	if (r < 0 || used.workspaces < most.workspaces)
		return r;
	(void)err_set(e, ERR_LIMIT, "there are %llu workspaces, and no more than %llu may be",
		      (unsigned long long)used.workspaces, (unsigned long long)most.workspaces);
	(void)err_detail(e, "workspaces");
	return err_remedy(e, "remove one with pinfold rm, or allow more: pinfold limit --total "
			     "--workspaces COUNT");
}

int total_refuse(struct store *s, struct err *e)
{
	struct total most, used;
	int r = total_get(s, &most, e);

	if (r >= 0)
		r = total_used(s, &used, e);
	if (r < 0)
		return r;
	(void)err_set(e, ERR_LIMIT, "all workspaces together have %lluM of the %lluM that they may",
		      (unsigned long long)(used.bytes >> 20),
		      (unsigned long long)(most.bytes >> 20));
	(void)err_detail(e, "disk");
	return err_remedy(e, "give some back with pinfold rm or pinfold gc, or allow more: pinfold "
			     "limit --total --disk SIZE");
}
