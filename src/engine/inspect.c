/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two snapshots, as the reader finds it in their layers. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/history.h"
#include "tree/change.h"
#include "tree/patch.h"

#define ARGS_MAX 128u
#define WORDS_SIZE (ARGS_MAX * 24u)

/* Words of a command line, with room for those that are made up. */
struct words {
	const char *argv[ARGS_MAX + 1];
	unsigned n;
	char text[WORDS_SIZE];
	size_t used;
};

static void add(struct words *w, const char *word)
{
	if (w->n < ARGS_MAX)
		w->argv[w->n++] = word;
}

static void add_layer(struct words *w, uint32_t number, const char *part)
{
	char *at = w->text + w->used;
	int n = snprintf(at, WORDS_SIZE - w->used, "/v/l/%u/%s", number, part);

	if (n < 0 || (size_t)n >= WORDS_SIZE - w->used)
		return;
	w->used += (size_t)n + 1;
	add(w, at);
}

/* Layers that one of the two has and the other has not. */
static unsigned add_between(struct words *w, const struct stack *a, const struct stack *b,
			    const char *part, uint32_t bit)
{
	unsigned count = 0;

	for (unsigned i = 0; i < a->n; i++)
		if ((a->layer[i].parts & bit) && !stack_has(b, a->layer[i].number)) {
			add_layer(w, a->layer[i].number, part);
			count++;
		}
	return count;
}

/* The reader's command line; false: there is nothing that could differ. */
static bool make_words(struct words *w, const struct snap *old, const struct snap *new, bool text)
{
	static const char *const views[3][4] = {
		{"/v/old.root", "/v/new.root", "", "root"},
		{"/v/old.usr", "/v/new.usr", "usr", "usr"},
		{"/v/old.work", "/v/new.work", "work", "work"},
	};
	static const uint32_t bits[] = {LAYER_ROOT, LAYER_USR, LAYER_WORK};

	*w = (struct words){.n = 0};
	add(w, "diff");
	add(w, "--hash");
	if (text)
		add(w, "--text");
	unsigned begin = w->n;
	for (int i = 0; i < 3; i++) {
		unsigned n = w->n;

		if (n > begin)
			add(w, "--");
		add(w, views[i][0]);
		add(w, views[i][1]);
		add(w, views[i][2]);
		unsigned found = add_between(w, &old->stack, &new->stack, views[i][3], bits[i]);
		if (found + add_between(w, &new->stack, &old->stack, views[i][3], bits[i]) == 0)
			w->n = n;
	}
	w->argv[w->n] = NULL;
	return w->n > begin;
}

static void hex(const uint8_t hash[HASH_BYTES], bool known, char to[65])
{
	to[0] = '\0';
	for (unsigned i = 0; known && i < HASH_BYTES; i++)
		(void)snprintf(to + 2 * i, 3, "%02x", hash[i]);
}

static const char *type_name(enum tree_type type)
{
	static const char *const names[TREE_TYPES] = {
		[TREE_TYPE_FILE] = "file",	 [TREE_TYPE_DIR] = "directory",
		[TREE_TYPE_SYMLINK] = "symlink", [TREE_TYPE_FIFO] = "fifo",
		[TREE_TYPE_SOCKET] = "socket",	 [TREE_TYPE_DEVICE] = "device",
	};

	return type < TREE_TYPES ? names[type] : NULL;
}

static int tell(const struct tree_change *c, pinfold_change_fn *each, void *arg, struct err *e)
{
	static const char *const kinds[] = {
		[TREE_ADDED] = "added", [TREE_MODIFIED] = "modified", [TREE_DELETED] = "deleted"};
	auto_free char *head = NULL;
	auto_free char *path = NULL;
	int r = tree_patch_head(c, &head, e);

	if (r >= 0 && asprintf(&path, "/%s", c->path) < 0)
		r = err_sys(e, "diff");
	if (r < 0)
		return r;
	struct pinfold_change out = {
		.change = kinds[c->kind],
		.type_old = type_name(c->type_old),
		.type_new = type_name(c->type_new),
		.path = path,
		.path_len = c->path_len + 1,
		.mode_old = c->mode_old,
		.mode_new = c->mode_new,
		.size_old = c->size_old,
		.size_new = c->size_new,
		.binary = (c->flags & TREE_DIFF_BINARY) != 0,
		.patch_head = head,
		.patch = c->flags & TREE_DIFF_TEXT ? c->text : NULL,
		.patch_len = c->flags & TREE_DIFF_TEXT ? c->text_len : 0,
	};
	hex(c->hash_old, c->flags & TREE_DIFF_HASH_OLD, out.sha256_old);
	hex(c->hash_new, c->flags & TREE_DIFF_HASH_NEW, out.sha256_new);
	return each(&out, arg) ? -ECANCELED : 0;
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
	auto_free struct words *words = calloc(1, sizeof(*words));
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
