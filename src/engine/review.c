/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/review.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/beneath.h"
#include "apply/set.h"
#include "base/fd.h"
#include "engine/apply.h"
#include "engine/change.h"
#include "engine/host_runs.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "engine/said.h"
#include "store/apply.h"

/* Since when a workspace has a path, and the layer that has it first. */
struct since {
	char *path;
	int64_t opened;
	uint32_t layer;
};

struct review {
	struct host_dir *d;
	judged_fn *each;
	void *arg;
	struct since *since; /* sorted; none: all have `opened` */
	size_t n, room;
	struct since only;     /* of the only layer */
	int64_t of[STACK_MAX]; /* of each layer of the stack */
	char *went;	       /* the path that went last, and may come again as something else */
};

typedef int change_fn(struct review *rv, const struct tree_change *c, struct err *e);

static int ask(struct review *rv, struct reader_words *words, change_fn *each,
	       uint64_t *ret_omitted, struct err *e)
{
	static const struct stack none = {.n = 0};
	static const struct tree_change_limits most = {.changes = REVIEW_CHANGES_MAX};
	auto_free struct tree_change_dec *dec = calloc(1, sizeof(*dec));
	struct reader r = READER_INIT;
	struct tree_change change;
	struct reader_ask ask = {
		.argv = words->argv,
		.peek = PEEK_LOOK,
		.before = &none,
		.now = &rv->d->head.stack,
		.dir = rv->d->w.dir,
		.said = rv->d->w.said,
		.secrets =
			true, /* judge_secret() says which they are, and tell() not what is in them */
	};

	words->argv[words->n] = NULL;
	int k = dec ? reader_look(rv->d->store, &ask, &r, e) : err_sys(e, "review");
	if (k >= 0)
		k = tree_change_dec_init(dec, r.out, &most, e);
	while (k >= 0 && (k = tree_change_dec_next(dec, &change, e)) > 0)
		k = each(rv, &change, e);
	if (dec) {
		*ret_omitted = dec->counts.omitted;
		tree_change_dec_done(dec);
	}
	return reader_end(&r, k, e);
}

static void add_views(struct reader_words *w)
{
	reader_word(w, "/v/old.work");
	reader_word(w, "/v/new.work");
}

static int note_since(struct review *rv, const struct tree_change *c, struct err *e)
{
	const struct stack *stack = &rv->d->head.stack;
	const char *slash = strchr(c->path, '/');
	unsigned number = 0, i = 0;

	if (!slash)
		return 0; /* the top itself */
	(void)sscanf(c->path, "%9u", &number);
	while (i < stack->n && stack->layer[i].number != number)
		i++;
	if (i == stack->n)
		return err_set(e, ERR_INVALID, "the reader tells of another layer");
	if (rv->n == rv->room) {
		size_t room = rv->room ? rv->room * 2 : 64;
		void *more = reallocarray(rv->since, room, sizeof(*rv->since));

		if (!more)
			return err_sys(e, "review");
		rv->since = more;
		rv->room = room;
	}
	char *path = strdup(slash + 1);
	if (!path)
		return err_sys(e, "review");
	rv->since[rv->n++] = (struct since){path, rv->of[i], number};
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct since *)a)->path, ((const struct since *)b)->path);
}

/* Each path once, with the earliest. */
static void sort_since(struct review *rv)
{
	size_t n = 0;

	if (rv->n > 1)
		qsort(rv->since, rv->n, sizeof(*rv->since), by_path);
	for (size_t i = 0; i < rv->n; i++) {
		struct since *s = &rv->since[i];

		if (n > 0 && strcmp(rv->since[n - 1].path, s->path) == 0) {
			if (s->opened < rv->since[n - 1].opened) {
				rv->since[n - 1].opened = s->opened;
				rv->since[n - 1].layer = s->layer;
			}
			free(s->path);
		} else {
			rv->since[n++] = *s;
		}
	}
	rv->n = n;
}

/* One group for each layer, with that layer alone as the place to look and its number as prefix. */
static int find_since(struct review *rv, unsigned *ret_layers, struct err *e)
{
	const struct stack *stack = &rv->d->head.stack;
	auto_free struct reader_words *w = calloc(1, sizeof(*w));
	uint64_t omitted = 0;
	int r = w ? 0 : err_sys(e, "review");

	*ret_layers = 0;
	if (r >= 0)
		reader_word(w, "diff");
	for (unsigned i = 0; r >= 0 && i < stack->n; i++) {
		if (!(stack->layer[i].parts & LAYER_WORK))
			continue;
		r = layer_opened(rv->d->store, stack->layer[i].number, &rv->of[i], e);
		rv->only = (struct since){NULL, rv->of[i], stack->layer[i].number};
		if ((*ret_layers)++ > 0)
			reader_word(w, "--");
		add_views(w);
		reader_word_number(w, stack->layer[i].number);
		reader_word_layer(w, stack->layer[i].number, "work");
	}
	if (r < 0 || *ret_layers < 2)
		return r < 0 ? r : 0;
	r = ask(rv, w, note_since, &omitted, e);
	sort_since(rv);
	return r;
}

static const struct since *since(const struct review *rv, const char *path)
{
	static const struct since never = {NULL, 0, 0}; /* not known: then everything is too new */
	struct since key = {.path = (char *)(uintptr_t)path};

	if (!rv->since)
		return &rv->only;
	const struct since *found =
		rv->n ? bsearch(&key, rv->since, rv->n, sizeof(key), by_path) : NULL;
	return found ? found : &never;
}

enum apply_type review_type(enum tree_type type)
{
	switch (type) {
	case TREE_TYPE_NONE: return APPLY_NONE;
	case TREE_TYPE_FILE: return APPLY_FILE;
	case TREE_TYPE_DIR: return APPLY_DIR;
	case TREE_TYPE_SYMLINK: return APPLY_LINK;
	case TREE_TYPE_FIFO:
	case TREE_TYPE_SOCKET:
	case TREE_TYPE_DEVICE:
	case TREE_TYPES: break;
	}
	return APPLY_OTHER;
}

/* Of modes git knows one bit, and so do we: who may read a file is its owner's affair. */
static bool matters(const struct tree_change *c)
{
	bool exec = (c->mode_old & 0100) != (c->mode_new & 0100);

	if (c->kind != TREE_MODIFIED)
		return true;
	return (c->flags & TREE_DIFF_CONTENT) || (c->type_new == TREE_TYPE_FILE && exec);
}

/* What the workspace and the directory have of one path, and where each comes from. */
struct both {
	const struct since *since;
	struct applied applied; /* by us, after the workspace first had it */
	bool is_applied;
};

static int look_both(struct review *rv, const struct tree_change *c, struct both *ret,
		     struct err *e)
{
	ret->since = since(rv, c->path);
	int r = apply_find_applied(rv->d->store, rv->d->w.id, c->path, &ret->applied, e);
	/* What was applied before that is what the layer was made over. */
	ret->is_applied = r > 0 && ret->applied.changed_ns >= ret->since->opened;
	return r;
}

/* The directory's file is what it was when the workspace first had it, or as we wrote it. */
static bool is_unchanged(const struct both *b, const struct tree_change *c, const struct stat *st)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;

	if (review_type(c->type_old) != apply_type_of(st))
		return false;
	if (S_ISDIR(st->st_mode))
		return true; /* what is in it is told of, too */
	if ((uint64_t)st->st_size != c->size_old)
		return false;
	return changed < b->since->opened || (b->is_applied && apply_is_ours(&b->applied, st));
}

static bool is_hash(const struct tree_change *c, const struct origin *o)
{
	char hash[HASH_TEXT_SIZE];

	if (!(c->flags & TREE_DIFF_HASH_NEW))
		return false;
	hash_text(c->hash_new, hash);
	return strcmp(hash, o->hash) == 0 && ((c->mode_new & 0100) != 0) == o->exec;
}

/* What is there is not what the workspace began with, but that may be kept. 1: there is nothing to
 * do, it has been merged. */
static int find_origin(struct review *rv, struct judged *j, const struct both *b, struct err *e)
{
	const struct tree_change *c = j->change;
	bool by_layer = !b->is_applied || b->applied.known.origin == 0;
	int r = 0;

	j->conflict = "it changed in the directory since the workspace had it";
	if (c->kind != TREE_MODIFIED || review_type(c->type_old) != APPLY_FILE ||
	    review_type(c->type_new) != APPLY_FILE || !S_ISREG(j->seen.st_mode))
		return 0;
	r = by_layer ? origin_find(rv->d->store, b->since->layer, c->path, &j->origin, e)
		     : origin_get(rv->d->store, b->applied.known.origin, &j->origin, e);
	if (r <= 0)
		return r;
	if (!by_layer && b->applied.known.merged && is_hash(c, &j->origin))
		return 1;
	j->conflict = NULL;
	j->merges = "it changed in the directory, too: apply merges the two";
	return 0;
}

/* It is not there. If it was, when the workspace changed it, somebody removed it. */
static int find_removed(struct review *rv, struct judged *j, const struct both *b, struct err *e)
{
	struct origin was;
	int r = b->is_applied
			? 1
			: origin_find(rv->d->store, b->since->layer, j->change->path, &was, e);

	if (r > 0) {
		j->conflict = "it was removed in the directory since the workspace had it";
		j->unless_named = true;
	}
	return r < 0 ? r : 0;
}

/* 1: there is nothing to do. */
static int find_conflict(struct review *rv, struct judged *j, struct err *e)
{
	const struct tree_change *c = j->change;
	enum apply_type there = apply_type_of(&j->seen);
	struct both b = {0};
	int r = look_both(rv, c, &b, e);

	if (r < 0)
		return r;
	if (b.is_applied)
		j->known = b.applied.known;
	if (c->kind == TREE_ADDED) {
		bool again = rv->went && strcmp(rv->went, c->path) == 0;
		bool both = there == APPLY_DIR && c->type_new == TREE_TYPE_DIR;

		if (there == APPLY_NONE && c->type_new == TREE_TYPE_FILE)
			return find_removed(rv, j, &b, e);
		if (there != APPLY_NONE && !again && !both)
			j->conflict = "it is there, and the workspace did not see it";
		return 0;
	}
	return is_unchanged(&b, c, &j->seen) ? 0 : find_origin(rv, j, &b, e);
}

/* The hunks of a link are its targets. NULL: not all of it is there. */
static char *link_target(const struct tree_change *c)
{
	char *target = calloc(1, c->text_len + 2), *to = target;
	bool ours = false;

	for (const char *at = c->text, *end = c->text + c->text_len; target && at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t n = line ? (size_t)(line - at) : (size_t)(end - at);

		if (*at == '+' || *at == ' ') {
			memcpy(to, at + 1, n - 1);
			to += n - 1;
			*to++ = '\n';
		} else if (*at == '\\' && ours) {
			to--;
		}
		if (*at != '\\')
			ours = *at == '+' || *at == ' ';
		at += n + 1;
	}
	if (target && (uint64_t)(to - target) != c->size_new)
		free_ptr(&target);
	if (target)
		*to = '\0';
	return target;
}

static void judge_link(struct judged *j)
{
	const struct tree_change *c = j->change;
	auto_free char *target = c->flags & TREE_DIFF_TEXT ? link_target(c) : NULL;

	if (target && beneath_target(c->path, target))
		return;
	j->unless_named = true;
	j->conflict = "it is a link that leads out of the directory";
}

/* Of what was hidden from it a workspace can know nothing, so nothing that it did there was meant.
 * And who reads a review may be who it was hidden from. */
static void judge_secret(struct review *rv, struct judged *j)
{
	auto_free struct said *said = malloc(sizeof(*said));
	struct err none = ERR_INIT;

	j->secret = j->seen.st_mode && !S_ISDIR(j->seen.st_mode) &&
		    (!said || said_read(rv->d->w.said, NULL, said, &none) < 0 ||
		     secrets_what(rv->d->fd, j->change->path, &said->lists));
	if (!j->secret || j->conflict)
		return;
	j->unless_named = true;
	j->conflict = "it looks like a secret, which is hidden from a workspace";
}

static const char *find_runner(const struct tree_change *c)
{
	bool link = c->type_new == TREE_TYPE_SYMLINK;
	bool gains = (c->mode_new & 0111) && !(c->mode_old & 0111);
	const char *why = NULL;

	if (c->type_new == TREE_TYPE_FILE || link)
		why = host_runs(c->path, link);
	return why ? why : c->type_new == TREE_TYPE_FILE && gains ? "it can be executed" : NULL;
}

static int judge(struct review *rv, const struct tree_change *c, struct err *e)
{
	struct judged j = {.change = c};
	int r = 0;

	if (!matters(c))
		return 0;
	r = beneath_look(rv->d->fd, c->path, &j.seen, e);
	if (r < 0)
		return r;
	j.runs = find_runner(c);
	if (review_type(c->type_new) == APPLY_OTHER || review_type(c->type_old) == APPLY_OTHER)
		j.skipped = "sockets, FIFOs and devices are not written";
	else
		r = find_conflict(rv, &j, e);
	if (r > 0)
		return 0;
	if (r >= 0 && !j.conflict && c->type_new == TREE_TYPE_SYMLINK)
		judge_link(&j);
	if (r >= 0)
		judge_secret(rv, &j);
	free_ptr(&rv->went);
	if (r >= 0 && c->kind == TREE_DELETED) {
		rv->went = strdup(c->path);
		r = rv->went ? 0 : err_sys(e, "review");
	}
	return r < 0 ? r : rv->each(&j, rv->arg, e);
}

int review_each(struct host_dir *d, judged_fn *each, void *arg, uint64_t *ret_omitted,
		struct err *e)
{
	const struct stack *stack = &d->head.stack;
	struct review rv = {.d = d, .each = each, .arg = arg};
	auto_free struct reader_words *w = calloc(1, sizeof(*w));
	unsigned layers = 0;
	int r = w ? find_since(&rv, &layers, e) : err_sys(e, "review");

	*ret_omitted = 0;
	if (r >= 0 && layers > 0) {
		reader_word(w, "diff");
		reader_word(w, "--split");
		reader_word(w, "--hash");
		reader_word(w, "--text");
		add_views(w);
		reader_word(w, "");
		for (unsigned i = 0; i < stack->n; i++)
			if (stack->layer[i].parts & LAYER_WORK)
				reader_word_layer(w, stack->layer[i].number, "work");
		r = ask(&rv, w, judge, ret_omitted, e);
	}
	for (size_t i = 0; i < rv.n; i++)
		free(rv.since[i].path);
	free(rv.since);
	free(rv.went);
	return r;
}

struct heard {
	struct host_dir *d;
	pinfold_review_fn *each;
	void *arg;
	bool text;
};

static int tell(const struct judged *j, void *arg, struct err *e)
{
	const struct heard *h = arg;
	auto_change struct change_shown shown = {0};
	struct picked_more m = {.conflict = j->conflict, .origin = j->origin};
	int r = change_show(j->change, "", &shown, e);

	/* Who reads a review is to know what apply will say. */
	if (r >= 0 && j->merges && !j->conflict && !j->skipped)
		r = apply_foresee(h->d, j->change, &m, e);
	if (r < 0)
		return r;
	struct pinfold_review item = {
		.change = shown.change,
		.runs_on_host = j->runs,
		.conflict = m.conflict,
		.skipped = j->skipped,
		.merges = m.conflict ? NULL : j->merges,
	};
	if (!h->text || j->secret)
		item.change.patch = NULL;
	if (j->secret) {
		item.change.patch_head = "";
		item.change.sha256_old[0] = '\0';
	}
	item.change.patch_len = item.change.patch ? item.change.patch_len : 0;
	return h->each(&item, h->arg) ? -ECANCELED : 0;
}

int pinfold_workspace_review(struct pinfold_store *store, const char *name, uint32_t flags,
			     pinfold_review_fn *each, void *arg, uint64_t *ret_omitted,
			     struct pinfold_error *ret_error)
{
	struct heard h = {.each = each, .arg = arg, .text = flags & PINFOLD_DIFF_TEXT};
	struct host_dir *d = NULL;
	struct err e = ERR_INIT;
	char meant[STORE_NAME_MAX + 1];

	assert(store && name && each && ret_omitted && ret_error);
	int r = host_dir_meant(store->store, name, meant, &e);
	if (r >= 0)
		r = host_dir_open(store->store, meant, false, &d, &e);
	h.d = d;
	if (r >= 0)
		r = review_each(d, tell, &h, ret_omitted, &e);
	host_dir_close(d);
	if (r == -ECANCELED)
		return 0;
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
