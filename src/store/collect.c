/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nobody needs any more: layers that a dead process left open, snapshots that were taken back
 * an hour ago, and layers that no snapshot has. A layer is marked dead in the transaction that
 * finds out, so nobody can take it up again; then its files are removed, then its row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "store/db.h"
#include "store/depset.h"
#include "store/donor.h"
#include "store/origin.h"
#include "store/project.h"
#include "store/reserve.h"
#include "store/settle.h"
#include "store/upper.h"
#include "store/used.h"

#define REGRET_MS (60 * 60 * 1000) /* how long what was undone can be gone back to */

static int bury(struct store *s, const struct used *u, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT id FROM layer WHERE state = 1", "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		int64_t id = db_int(rows, 0);

		if (!used_has(u, id) && id < u->n)
			r = db_run(s->db, e, "UPDATE layer SET state = 2 WHERE id = ?1", "i", id);
	}
	return r;
}

static int find_dead(struct store *s, struct err *e)
{
	auto_used struct used u = {0};
	int r = db_begin(s->db, false, e);

	if (r >= 0)
		r = used_init(&u, s, e);
	if (r >= 0)
		r = db_run(s->db, e,
			   "DELETE FROM snap WHERE dropped > 0 AND dropped < ?1 AND label IS NULL"
			   " AND id NOT IN (SELECT head FROM workspace)",
			   "i", store_now_ms() - REGRET_MS);
	if (r >= 0)
		r = used_mark(&u, s,
			      "SELECT DISTINCT stack FROM snap WHERE ?1 = 0 UNION SELECT stack FROM"
			      " layer WHERE state = 0 UNION SELECT stack FROM image"
			      " UNION SELECT stack FROM depset",
			      0, e);
	if (r >= 0)
		r = bury(s, &u, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

/* The first layer behind `last` in that state. 1, or 0: there is none. */
static int next_layer(struct store *s, int state, int64_t last, int64_t *ret_id, int64_t *ret_more,
		      struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 state == LAYER_OPEN ? "SELECT id, workspace FROM layer WHERE state = ?1"
					       " AND id > ?2 ORDER BY id LIMIT 1"
					     : "SELECT id, bytes FROM layer WHERE state = ?1"
					       " AND id > ?2 ORDER BY id LIMIT 1",
			 "ii", (int64_t)state, last);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0) {
		*ret_id = db_int(rows, 0);
		*ret_more = db_int(rows, 1);
	}
	return r;
}

static int find_abandoned(struct store *s, struct err *e)
{
	int64_t id = 0, workspace = 0;
	int r = 0;

	while ((r = next_layer(s, LAYER_OPEN, id, &id, &workspace, e)) > 0)
		/* Who has an upper holds its workspace. */
		if (!workspace_is_used(s, workspace)) {
			r = db_run(s->db, e,
				   "UPDATE layer SET state = 2 WHERE id = ?1 AND state = 0", "i",
				   id);
			if (r < 0)
				break;
		}
	return r;
}

/* Files are removed for good within seconds, while the rows that no longer name them wait for a page
 * to be written: behind a power cut a workspace would stand on what is not there. So the rows first. */
static int write_out(struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	/* Those that were open or empty have no parts, and nobody ever stood on them. */
	int r = db_query(s->db, &rows, e,
			 "SELECT 1 FROM layer WHERE state = 2 AND parts <> 0 LIMIT 1", "");

	if (r >= 0)
		r = db_next(rows, e);
	db_done(&rows);
	if (r <= 0)
		return r;
	r = store_write_out(s, e);
	if (r < 0 && reserve_give(s)) { /* a full disk is why something is removed */
		*e = (struct err)ERR_INIT;
		r = store_write_out(s, e);
	}
	return r;
}

static int remove_dead(struct store *s, uint64_t *ret_bytes, struct err *e)
{
	int64_t id = 0, bytes = 0;
	char name[24];
	int r = 0;

	while ((r = next_layer(s, LAYER_DEAD, id, &id, &bytes, e)) > 0) {
		(void)snprintf(name, sizeof(name), "%lld", (long long)id);
		if (remove_tree_at(s->layers_fd, name) < 0)
			continue; /* the next collection tries again */
		*ret_bytes += (uint64_t)bytes;
		/* What was merged is still on disk, and counts for the layer that has it now. */
		r = db_run(s->db, e,
			   "UPDATE layer SET bytes = bytes + ?2 WHERE state = 1 AND id ="
			   " (SELECT merged FROM layer WHERE id = ?1)",
			   "ii", id, bytes);
		if (r >= 0)
			r = db_run(s->db, e, "DELETE FROM layer WHERE id = ?1", "i", id);
		if (r < 0)
			break;
	}
	return r;
}

int store_collect(struct store *s, uint64_t *ret_bytes, struct err *e)
{
	*ret_bytes = 0;
	unsigned forgotten = 0;
	int r = find_abandoned(s, e);
	if (r >= 0)
		r = depset_forget(s, DEPSET_UNUSED_MS, &forgotten, e);
	if (r >= 0)
		r = find_dead(s, e);
	if (r >= 0)
		r = write_out(s, e);
	if (r >= 0)
		r = remove_dead(s, ret_bytes, e);
	if (r >= 0)
		r = donor_collect(s, e);
	if (r >= 0)
		r = workspace_collect_locks(s, e);
	if (r >= 0)
		r = project_collect(s, e);
	return r < 0 ? r : origin_collect(s, e);
}

int store_collect_undone(struct store *s, int64_t workspace, struct err *e)
{
	uint64_t bytes = 0;
	int r = db_run(s->db, e,
		       "DELETE FROM snap WHERE workspace = ?1 AND dropped > 0 AND label IS NULL"
		       " AND id NOT IN (SELECT head FROM workspace)",
		       "i", workspace);

	return r < 0 ? r : store_collect(s, &bytes, e);
}
