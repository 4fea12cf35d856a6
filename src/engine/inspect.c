/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two snapshots, as the reader finds it in their layers. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/change.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/history.h"
#include "tree/change.h"

/* Layers that one of the two has and the other has not. */
static unsigned add_between(struct reader_words *w, const struct stack *a, const struct stack *b,
			    const char *part, uint32_t bit)
{
	unsigned count = 0;

	for (unsigned i = 0; i < a->n; i++)
		if ((a->layer[i].parts & bit) && !stack_has(b, a->layer[i].number)) {
			reader_word_layer(w, a->layer[i].number, part);
			count++;
		}
	return count;
}

/* The reader's command line; false: there is nothing that could differ. */
static bool make_words(struct reader_words *w, const struct snap *old, const struct snap *new,
		       bool text)
{
	static const char *const views[3][4] = {
		{"/v/old.root", "/v/new.root", "", "root"},
		{"/v/old.usr", "/v/new.usr", "usr", "usr"},
		{"/v/old.work", "/v/new.work", "work", "work"},
	};
	static const uint32_t bits[] = {LAYER_ROOT, LAYER_USR, LAYER_WORK};

	*w = (struct reader_words){.n = 0};
	reader_word(w, "diff");
	reader_word(w, "--hash");
	if (text) {
		/* A patch knows no change of type: one file goes, another comes. */
		reader_word(w, "--split");
		reader_word(w, "--text");
	}
	unsigned begin = w->n;
	for (int i = 0; i < 3; i++) {
		unsigned n = w->n;

		if (n > begin)
			reader_word(w, "--");
		reader_word(w, views[i][0]);
		reader_word(w, views[i][1]);
		reader_word(w, views[i][2]);
		unsigned found = add_between(w, &old->stack, &new->stack, views[i][3], bits[i]);
		if (found + add_between(w, &new->stack, &old->stack, views[i][3], bits[i]) == 0)
			w->n = n;
	}
	w->argv[w->n] = NULL;
	return w->n > begin;
}

static int tell(const struct tree_change *c, pinfold_change_fn *each, void *arg, struct err *e)
{
	auto_change struct change_shown shown = {0};
	int r = change_show(c, "/", &shown, e);

	if (r < 0)
		return r;
	/* The top of the view has a mode of its own, whatever that of the directory: nobody changed
	 * it. */
	if (strcmp(shown.change.path, "/work") == 0 && c->type_old == TREE_TYPE_DIR &&
	    c->type_new == TREE_TYPE_DIR)
		return 0;
	return each(&shown.change, arg) ? -ECANCELED : 0;
}

static int decode(const struct reader *r, pinfold_change_fn *each, void *arg, uint64_t *ret_omitted,
		  struct err *e)
{
	auto_free struct tree_change_dec *dec = calloc(1, sizeof(*dec));
	static const struct tree_change_limits most = {0};
	struct tree_change change;

	if (!dec)
		return err_sys(e, "diff");
	int k = tree_change_dec_init(dec, r->out, &most, e);
	while (k >= 0 && (k = tree_change_dec_next(dec, &change, e)) > 0)
		k = tell(&change, each, arg, e);
	*ret_omitted = dec->counts.omitted;
	tree_change_dec_done(dec);
	return k;
}

static int diff(struct store *s, const struct workspace *w, const struct snap two[2],
		uint32_t flags, pinfold_change_fn *each, void *arg, uint64_t *ret_omitted,
		struct err *e)
{
	auto_free struct reader_words *words = calloc(1, sizeof(*words));
	struct reader r = READER_INIT;

	*ret_omitted = 0;
	if (!words)
		return err_sys(e, "diff");
	if (!make_words(words, &two[0], &two[1], flags & PINFOLD_DIFF_TEXT))
		return 0;
	struct reader_ask ask = {
		.argv = words->argv,
		.peek = PEEK_LOOK,
		.before = &two[0].stack,
		.now = &two[1].stack,
		.dir = w->dir[0] ? w->dir : NULL,
		.said = w->said,
	};
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = decode(&r, each, arg, ret_omitted, e);
	return reader_end(&r, k, e);
}

/* Which two: a command's own, or from one point to another. */
static int choose(struct store *s, const struct workspace *w, const char *from, const char *to,
		  struct snap two[2], struct err *e)
{
	int r = history_find(s, w, to, &two[1], e);

	if (r < 0 || from)
		return r < 0 ? r : history_find(s, w, from, &two[0], e);
	two[0] = two[1];
	return two[1].before ? history_get(s, two[1].before, &two[0], e) : 0;
}

int pinfold_workspace_diff(struct pinfold_store *store, const char *name, const char *from,
			   const char *to, uint32_t flags, pinfold_change_fn *each, void *arg,
			   uint64_t *ret_omitted, struct pinfold_error *ret_error)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_free struct snap *two = calloc(2, sizeof(*two));
	struct err e = ERR_INIT;

	assert(store && name && each && ret_error);
	int r = w && two ? workspace_find(store->store, name, w, &e) : err_sys(&e, "diff");
	if (r >= 0)
		r = choose(store->store, w, from, to, two, &e);
	if (r >= 0)
		r = diff(store->store, w, two, flags, each, arg, ret_omitted, &e);
	if (r == -ECANCELED)
		return 0;
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
