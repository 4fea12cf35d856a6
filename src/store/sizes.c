/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sizes.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/measure.h"
#include "store/stack.h"
#include "store/used.h"

/* Mark the layers of one owner after the other: those that were marked before are shared. */
static int mark_owners(struct store *s, struct used *any, struct used *twice, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_used struct used own = {0};
	struct stack stack;
	int64_t owner = -1;
	int r = db_query(
		s->db, &rows, e,
		"SELECT workspace, stack FROM snap UNION ALL SELECT -1 - id, stack FROM image"
		" UNION ALL SELECT -1000000000 - id, stack FROM depset ORDER BY 1",
		"");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		if (db_int(rows, 0) != owner || !own.bits) {
			used_done(&own);
			r = used_init(&own, s, e);
			owner = db_int(rows, 0);
		}
		if (r >= 0)
			r = stack_parse(db_text(rows, 1), &stack, e);
		for (unsigned i = 0; r >= 0 && i < stack.n; i++) {
			int64_t number = stack.layer[i].number;

			if (used_has(any, number) && !used_has(&own, number))
				used_add(twice, number);
			used_add(any, number);
			used_add(&own, number);
		}
	}
	return r;
}

int store_sizes(struct store *s, struct store_sizes *ret, struct err *e)
{
	auto_used struct used any = {0}, twice = {0};
	auto_rows struct db_rows *rows = NULL;
	int r = used_init(&any, s, e);

	*ret = (struct store_sizes){0};
	if (r >= 0)
		r = used_init(&twice, s, e);
	if (r >= 0)
		r = mark_owners(s, &any, &twice, e);
	if (r >= 0)
		r = db_query(s->db, &rows, e, "SELECT id, bytes FROM layer WHERE state = 1", "");
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		uint64_t bytes = (uint64_t)db_int(rows, 1);

		ret->layers++;
		ret->bytes += bytes;
		ret->shared_bytes += used_has(&twice, db_int(rows, 0)) ? bytes : 0;
	}
	return r;
}

static int measure_one(struct store *s, int64_t layer, struct err *e)
{
	struct measure m;
	char name[24];

	(void)snprintf(name, sizeof(name), "%lld", (long long)layer);
	auto_close int dir =
		openat(s->layers_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return 0; /* gone meanwhile */
	measure_layer(dir, UINT64_MAX, UINT64_MAX, &m);
	return m.beyond
		       ? 0
		       : db_run(s->db, e, "UPDATE layer SET bytes = ?2 WHERE id = ?1 AND state = 1",
				"ii", layer, (int64_t)m.bytes);
}

int store_measure(struct store *s, struct err *e)
{
	int64_t last = 0;
	int r = 1;

	/* One after the other, so that nobody waits for us. */
	while (r > 0) {
		auto_rows struct db_rows *rows = NULL;

		r = db_query(s->db, &rows, e,
			     "SELECT id FROM layer WHERE state = 1 AND id > ?1 ORDER BY id LIMIT 1",
			     "i", last);
		if (r >= 0)
			r = db_next(rows, e);
		if (r <= 0)
			return r;
		last = db_int(rows, 0);
		db_done(&rows);
		r = measure_one(s, last, e) < 0 ? -EIO : 1;
	}
	return r;
}
