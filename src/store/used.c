/* SPDX-License-Identifier: Apache-2.0 */
#include "store/used.h"

#include <stdlib.h>

#include "store/db.h"
#include "store/stack.h"
#include "store/store.h"

int used_init(struct used *u, struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT coalesce(max(id), 0) FROM layer", "");

	*u = (struct used){0};
	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	u->n = (uint32_t)db_int(rows, 0) + 1;
	u->bits = calloc(u->n / 8 + 1, 1);
	return u->bits ? 0 : err_sys(e, "store");
}

void used_done(struct used *u)
{
	free(u->bits);
	*u = (struct used){0};
}

void used_add(struct used *u, int64_t number)
{
	if (number >= 0 && number < u->n)
		u->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static void mark(struct used *u, const struct stack *stack)
{
	for (unsigned i = 0; i < stack->n; i++)
		used_add(u, stack->layer[i].number);
}

#define NUMBER_MAX (1u << 28) /* a damaged row may say anything */
#define ALL_STACKS                                                                                 \
	"SELECT stack FROM snap UNION SELECT stack FROM image UNION SELECT stack FROM depset"

/* The largest number that snapshots and images name. */
static int find_most(struct store *s, uint32_t *most, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	int r = db_query(s->db, &rows, e, ALL_STACKS, "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct err none = ERR_INIT;

		if (stack_parse(db_text(rows, 0), &stack, &none) < 0)
			continue;
		for (unsigned i = 0; i < stack.n; i++)
			if (stack.layer[i].number > *most && stack.layer[i].number < NUMBER_MAX)
				*most = stack.layer[i].number;
	}
	return r;
}

int used_init_all(struct used *u, struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	uint32_t most = 0;
	int r = find_most(s, &most, e);

	*u = (struct used){.n = most + 1, .bits = calloc(most / 8 + 1, 1)};
	if (r >= 0 && !u->bits)
		r = err_sys(e, "store");
	if (r >= 0)
		r = db_query(s->db, &rows, e, ALL_STACKS, "");
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct err none = ERR_INIT;

		if (stack_parse(db_text(rows, 0), &stack, &none) >= 0)
			mark(u, &stack);
	}
	return r;
}

int used_mark(struct used *u, struct store *s, const char *sql, int64_t workspace, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	int r = db_query(s->db, &rows, e, sql, "i", workspace);

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = stack_parse(db_text(rows, 0), &stack, e);
		mark(u, &stack);
	}
	return r;
}

bool used_has(const struct used *u, int64_t number)
{
	return number >= 0 && number < u->n && (u->bits[number / 8] & (1u << number % 8));
}
