/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "reader/reader.h"
#include "tree/detail.h"
#include "tree/diff.h"
#include "tree/walk.h"

#define HASH_BYTES_MAX (UINT64_C(1) << 30)

struct asked {
	struct tree_change_enc enc;
	struct tree_change_counts counts;
	struct tree_detail detail;
	uint64_t max;
	bool split;
};

static int put(struct asked *a, struct tree_change *c, const struct tree_diff_at *at, struct err *e)
{
	a->counts.added += c->kind == TREE_ADDED;
	a->counts.modified += c->kind == TREE_MODIFIED;
	a->counts.deleted += c->kind == TREE_DELETED;
	if (a->enc.sent >= a->max) {
		a->counts.omitted++;
		return 0;
	}
	int r = tree_detail_fill(&a->detail, c, at, e);
	return r < 0 ? r : tree_change_enc_put(&a->enc, c, e);
}

/* As git and apply see it: what was there goes, and something else comes. */
static int tell(void *ctx, struct tree_change *c, const struct tree_diff_at *at, struct err *e)
{
	struct asked *a = ctx;
	struct tree_change went = *c, came = *c;
	struct tree_diff_at before = *at, after = *at;

	if (!a->split || c->kind != TREE_MODIFIED || c->type_old == c->type_new)
		return put(a, c, at, e);
	went.kind = TREE_DELETED;
	went.type_new = TREE_TYPE_NONE;
	went.mode_new = 0;
	went.size_new = 0;
	before.new_st = (struct stat){0};
	came.kind = TREE_ADDED;
	came.type_old = TREE_TYPE_NONE;
	came.mode_old = 0;
	came.size_old = 0;
	after.old_st = (struct stat){0};
	went.flags = came.flags = TREE_DIFF_CONTENT;
	int r = put(a, &went, &before, e);
	return r < 0 ? r : put(a, &came, &after, e);
}

static int options(struct asked *a, char ***args, struct err *e)
{
	int r = 1;

	while (r > 0) {
		r = 1;
		if (reader_option(args, "--text", NULL))
			a->detail.text = true;
		else if (reader_option(args, "--split", NULL))
			a->split = true;
		else if (reader_option(args, "--hash", NULL))
			a->detail.hash = true;
		else if ((r = reader_number(args, "--max", &a->max, e)) == 0 &&
			 (r = reader_number(args, "--text-bytes", &a->detail.text_left, e)) == 0)
			r = reader_number(args, "--hash-bytes", &a->detail.hash_max, e);
	}
	return r;
}

/* OLD NEW PREFIX [LAYER...], up to "--" or the end. */
static int group(struct asked *a, char ***args, struct err *e)
{
	int fds[TREE_LAYERS_MAX], old = FD_NONE, new = FD_NONE, r;
	struct tree_diff_in in = {.layers = fds};
	uint64_t omitted = 0;
	char **p = *args;

	if (!p[0] || !p[1] || !p[2])
		return err_set(e, ERR_INVALID, "diff: OLD NEW PREFIX [LAYER...]");
	r = reader_open(p[0], true, &old, e);
	if (r >= 0)
		r = reader_open(p[1], true, &new, e);
	in.prefix = p[2];
	for (p += 3; r >= 0 && *p && strcmp(*p, "--") != 0; p++) {
		if (in.n_layers == TREE_LAYERS_MAX)
			r = err_set(e, ERR_LIMIT, "more than %d layers", TREE_LAYERS_MAX);
		else
			r = reader_open(*p, false, &fds[in.n_layers], e);
		in.n_layers += r >= 0;
	}
	in.old_fd = old;
	in.new_fd = new;
	if (r >= 0)
		r = tree_diff(&in, tell, a, &omitted, e);
	a->counts.omitted += omitted;
	while (in.n_layers > 0)
		fd_close(&fds[--in.n_layers]);
	fd_close(&old);
	fd_close(&new);
	*args = p;
	return r;
}

int reader_diff(char **args, bool *told, struct err *e)
{
	struct asked a = {
		.max = TREE_CHANGES_MAX,
		.detail = {.hash_max = HASH_BYTES_MAX, .text_left = UINT64_MAX},
	};
	struct err second;
	int r = tree_change_enc_init(&a.enc, STDOUT_FILENO, e);

	if (r < 0)
		return r;
	r = options(&a, &args, e);
	while (r >= 0) {
		r = group(&a, &args, e);
		if (r < 0 || !*args)
			break;
		args++;
	}
	if (r >= 0)
		r = tree_change_enc_end(&a.enc, &a.counts, e);
	else
		(void)tree_change_enc_error(&a.enc, e, &second); /* the first one counts */
	*told = true;
	tree_change_enc_done(&a.enc);
	tree_detail_done(&a.detail);
	return r;
}
