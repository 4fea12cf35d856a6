/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the store for the public. What a layer holds is hashed by the reader, in a
 * sandbox. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "store/check.h"
#include "store/reserve.h"
#include "store/stack.h"
#include "tree/answer.h"
#include "warden/place.h"

static const struct {
	const char *name;
	uint32_t bit;
} parts[] = {{"root", LAYER_ROOT}, {"usr", LAYER_USR}, {"work", LAYER_WORK}};

/* 1; 0: it could not be read to its end; negative: there is no reader. */
static int digest_part(struct store *s, uint32_t layer, const char *part, char text[HASH_TEXT_SIZE],
		       struct err *e)
{
	static const struct stack none = {.n = 0};
	char path[40];
	const char *argv[] = {"digest", path, NULL};
	struct reader_ask ask = {.argv = argv, .peek = PEEK_LOOK, .before = &none, .now = &none};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};

	(void)snprintf(path, sizeof(path), "/v/l/%u/%s", layer, part);
	int k = reader_look(s, &ask, &r, e);
	if (k < 0)
		return reader_end(&r, k, e);
	k = reader_end(&r, tree_answer_read(r.out, &answer, e), e);
	if (k >= 0)
		hash_text(answer.digest.hash, text);
	return k >= 0;
}

int layer_digest(struct store *s, uint32_t layer, uint32_t bits, char ret[CHECK_DIGEST_SIZE],
		 struct err *e)
{
	char text[HASH_TEXT_SIZE];
	size_t n = 0;
	int r = 1;

	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && r > 0; i++) {
		if (!(bits & parts[i].bit))
			continue;
		r = digest_part(s, layer, parts[i].name, text, e);
		if (r > 0)
			n += (size_t)snprintf(ret + n, CHECK_DIGEST_SIZE - n, "%s%s:%s",
					      n ? " " : "", parts[i].name, text);
	}
	return r;
}

struct listener {
	pinfold_fsck_fn *each;
	void *arg;
};

static void tell(void *context, const struct check_problem *p)
{
	static const char *const kinds[CHECK_KINDS] = {
		[CHECK_DATABASE] = "database", [CHECK_ORPHAN] = "orphan",
		[CHECK_MISSING] = "missing",   [CHECK_UNREADABLE] = "unreadable",
		[CHECK_CHANGED] = "changed",   [CHECK_ROW] = "row",
		[CHECK_SNAPSHOT] = "snapshot", [CHECK_HEAD] = "head",
	};
	const struct listener *l = context;
	struct pinfold_fsck_problem out = {
		.kind = kinds[p->kind],
		.layer = (uint64_t)p->layer,
		.message = p->text,
		.used_by = p->used_by,
		.repaired = p->repaired,
	};

	l->each(&out, l->arg);
}

/* A database that cannot even be opened is a finding, and the only one. */
static int damaged(const struct listener *l, struct check_stats *stats, const struct err *e)
{
	struct check_problem p = {.kind = CHECK_DATABASE};

	(void)snprintf(p.text, sizeof(p.text), "%.300s", e->text);
	stats->problems = 1;
	tell((void *)(uintptr_t)l, &p);
	return 0;
}

/* One that may change something is on record. */
static int check_noted(struct check *c, struct check_stats *stats, struct err *e)
{
	struct value *asked = value_object(), *found = value_object();
	struct op op = {.workspace = NULL};

	value_set(asked, "accept", value_of_bool(c->accept));
	(void)reserve_give(c->store); /* else there is room */
	int r = op_begin(&op, "store.repair", c->store, asked, e);
	if (r >= 0)
		r = store_check(c, stats, e);
	value_set(found, "problems", value_of_u64(stats->problems));
	value_set(found, "repaired", value_of_u64(stats->repaired));
	return op_end(&op, r, found, e);
}

static int fsck(const char *home, uint32_t flags, struct listener *l, struct check_stats *stats,
		struct err *e)
{
	struct check c = {
		.repair = flags & PINFOLD_FSCK_REPAIR,
		.accept = flags & PINFOLD_FSCK_ACCEPT,
		.digest = layer_digest,
		.tell = tell,
		.context = l,
	};
	char path[512];
	int r = home ? 0 : place_data(path, sizeof(path), e);

	if (r >= 0)
		r = place_make(home ? home : path, e);
	if (r >= 0)
		r = store_open_alone(home ? home : path, &c.store, e);
	if (r >= 0)
		r = flags ? check_noted(&c, stats, e) : store_check(&c, stats, e);
	store_close(c.store);
	return r < 0 && strcmp(e->detail, "damaged") == 0 ? damaged(l, stats, e) : r;
}

int pinfold_store_fsck(const char *home, uint32_t flags, pinfold_fsck_fn *each, void *arg,
		       struct pinfold_fsck_stats *ret_stats, struct pinfold_error *ret_error)
{
	struct listener l = {each, arg};
	struct check_stats stats = {0};
	struct err e = ERR_INIT;

	assert(each && ret_stats && ret_error);
	int r = fsck(home, flags, &l, &stats, &e);
	*ret_stats = (struct pinfold_fsck_stats){
		.workspaces = stats.workspaces,
		.snapshots = stats.snapshots,
		.layers = stats.layers,
		.recorded = stats.recorded,
		.problems = stats.problems,
		.repaired = stats.repaired,
	};
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
