/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each side is compared with the base, and what it changed is a list of hunks, by their lines in
 * the base. Hunks of both that overlap or touch are one place; hunks of one side alone are taken as
 * they are. Where a comparison gave up (text.c has bounds) a hunk is larger than it need be: that
 * makes conflicts, never a merge that is wrong.
 */
#include "tree/three.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/text_int.h"

struct hunk {
	size_t a, a_end, b, b_end; /* lines of the base, and what they became */
};

struct side {
	struct text_diff diff;
	struct hunk *hunks;
	size_t n, at; /* at: the first that has not been looked at */
	size_t first; /* of the place that we are at */
};

static int find_hunks(struct side *s, struct err *e)
{
	const struct text *old = &s->diff.old, *new = &s->diff.new;
	size_t a = 0, b = 0;

	/* Between two hunks there is a line that both have. */
	s->hunks = calloc(old->n + 2, sizeof(*s->hunks));
	if (!s->hunks)
		return err_sys(e, "merge texts");
	while (a < old->n || b < new->n) {
		struct hunk h = {.a = a, .b = b};

		while (a < old->n && old->edited[a])
			a++;
		while (b < new->n &&new->edited[b])
			b++;
		h.a_end = a;
		h.b_end = b;
		if (h.a_end > h.a || h.b_end > h.b) {
			s->hunks[s->n++] = h;
			continue;
		}
		a++;
		b++;
	}
	return 0;
}

static int side_init(struct side *s, const struct tree_three_text *base,
		     const struct tree_three_text *to, struct err *e)
{
	int r = text_diff_init(&s->diff, base->text, base->len, to->text, to->len, e);

	return r < 0 ? r : find_hunks(s, e);
}

static void side_done(struct side *s)
{
	text_diff_done(&s->diff);
	free_ptr(&s->hunks);
}

static bool has_more(const struct side *s)
{
	return s->at < s->n;
}

/* Lines of a side that stand for lines of the base: in the place that we are at, or of no hunk. */
struct range {
	const struct text *text;
	size_t from, to;
};

static struct range stands_for(const struct side *s, size_t from, size_t to)
{
	const struct hunk *first = &s->hunks[s->first], *last = &s->hunks[s->at - 1];

	assert(s->at > s->first);
	return (struct range){&s->diff.new, first->b - (first->a - from),
			      last->b_end + (to - last->a_end)};
}

static bool same(const struct range *x, const struct range *y)
{
	if (x->to - x->from != y->to - y->from)
		return false;
	for (size_t i = 0; i < x->to - x->from; i++) {
		const struct text_line *a = &x->text->lines[x->from + i];
		const struct text_line *b = &y->text->lines[y->from + i];

		if (a->len != b->len || memcmp(a->at, b->at, a->len) != 0)
			return false;
	}
	return true;
}

/* What is put out is never more than both sides together. */
static void put(struct tree_three *t, const struct range *r)
{
	for (size_t i = r->from; i < r->to; i++) {
		memcpy(t->out + t->out_len, r->text->lines[i].at, r->text->lines[i].len);
		t->out_len += r->text->lines[i].len;
	}
}

/* The next place: hunks of either side, as far as they touch. */
static void find_place(struct side *ours, struct side *theirs, size_t *ret_from, size_t *ret_to)
{
	struct side *const sides[] = {ours, theirs};
	bool first = !has_more(theirs) ||
		     (has_more(ours) && ours->hunks[ours->at].a <= theirs->hunks[theirs->at].a);
	const struct side *begins = first ? ours : theirs;
	size_t to = begins->hunks[begins->at].a;

	*ret_from = to;
	ours->first = ours->at;
	theirs->first = theirs->at;
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < 2; i++) {
			struct side *s = sides[i];

			while (has_more(s) && s->hunks[s->at].a <= to) {
				to = s->hunks[s->at].a_end > to ? s->hunks[s->at].a_end : to;
				s->at++;
				more = true;
			}
		}
	}
	*ret_to = to;
}

static void merge_place(struct tree_three *t, struct side *ours, struct side *theirs, size_t from,
			size_t to)
{
	bool by_us = ours->at > ours->first, by_them = theirs->at > theirs->first;
	struct range us = {0}, them = {0};

	if (by_us)
		us = stands_for(ours, from, to);
	if (by_them)
		them = stands_for(theirs, from, to);
	if (!by_them || !by_us || same(&us, &them)) {
		put(t, by_us ? &us : &them);
		return;
	}
	if (t->conflicts++ == 0) {
		t->line = them.from + 1;
		t->line_end = them.to + 1;
	}
}

int tree_three_merge(struct tree_three *t, struct err *e)
{
	struct side ours = {0}, theirs = {0};
	size_t at = 0, from = 0, to = 0;
	int r = side_init(&ours, &t->base, &t->ours, e);

	if (r >= 0)
		r = side_init(&theirs, &t->base, &t->theirs, e);
	t->out = r >= 0 ? malloc(t->ours.len + t->theirs.len + 1) : NULL;
	if (r >= 0 && !t->out)
		r = err_sys(e, "merge texts");
	while (r >= 0 && (has_more(&ours) || has_more(&theirs))) {
		find_place(&ours, &theirs, &from, &to);
		put(t, &(struct range){&ours.diff.old, at, from});
		merge_place(t, &ours, &theirs, from, to);
		at = to;
	}
	if (r >= 0)
		put(t, &(struct range){&ours.diff.old, at, ours.diff.old.n});
	if (r < 0 || t->conflicts > 0) {
		free_ptr(&t->out);
		t->out_len = 0;
	}
	side_done(&ours);
	side_done(&theirs);
	return r < 0 ? r : 0;
}

void tree_three_done(struct tree_three *t)
{
	free_ptr(&t->out);
	t->out_len = 0;
}
