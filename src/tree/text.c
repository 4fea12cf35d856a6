/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Myers' O(ND): lines become numbers, equal lines the same one; common beginning and end are taken
 * off; for d = 0, 1, 2... the furthest point on every diagonal that d edits reach is kept, and from
 * the end the way is read back. What is kept grows with the square of d, so d is bounded; so is the
 * number of steps, for texts of few long runs. Past a bound, all that is left was replaced.
 */
#include "tree/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/text_int.h"

#define CONTEXT 3
#define EDITS_MAX 2048
#define STEPS_MAX (UINT64_C(1) << 28)
#define BINARY_LOOK 8000

bool tree_text_is_binary(const void *data, size_t len)
{
	return len > TREE_TEXT_FILE_MAX ||
	       (len > 0 && memchr(data, '\0', len < BINARY_LOOK ? len : BINARY_LOOK));
}

static int split(struct text *t, const char *data, size_t len, struct err *e)
{
	size_t n = 0;

	for (size_t at = 0; at < len; n++) {
		const char *end = memchr(data + at, '\n', len - at);
		at = end ? (size_t)(end - data) + 1 : len;
	}
	if (n > TREE_TEXT_LINES_MAX)
		return err_set(e, ERR_LIMIT, "a text has more than %u lines", TREE_TEXT_LINES_MAX);
	t->lines = calloc(n + 1, sizeof(*t->lines));
	t->edited = calloc(n + 1, 1);
	if (!t->lines || !t->edited)
		return err_sys(e, "compare texts");
	for (size_t at = 0; at < len;) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t next = end ? (size_t)(end - data) + 1 : len;

		t->lines[t->n++] = (struct text_line){.at = data + at, .len = next - at};
		at = next;
	}
	return 0;
}

static uint64_t line_hash(const struct text_line *l)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < l->len; i++)
		h = (h ^ (unsigned char)l->at[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

/*
 * Give equal lines equal numbers. The hash is no secret, so texts can be made that collide; the
 * table is searched for so long and no longer, and then lines that are equal count as different,
 * which makes a difference longer but not wrong.
 */
static void number(struct text *t, const struct text_line **table, size_t mask, uint32_t *next)
{
	for (size_t i = 0; i < t->n; i++) {
		struct text_line *l = &t->lines[i];
		size_t at = line_hash(l) & mask;
		int look = 0;

		for (; table[at] && look < 256; at = (at + 1) & mask, look++)
			if (table[at]->len == l->len && memcmp(table[at]->at, l->at, l->len) == 0)
				break;
		if (look < 256 && table[at]) {
			l->id = table[at]->id;
			continue;
		}
		l->id = (*next)++;
		if (look < 256)
			table[at] = l;
	}
}

static int number_both(struct text_diff *d, struct err *e)
{
	size_t room = 16;
	uint32_t next = 1;

	while (room < 2 * (d->old.n + d->new.n))
		room *= 2;
	auto_free const struct text_line **table = calloc(room, sizeof(*table));
	if (!table)
		return err_sys(e, "compare texts");
	number(&d->old, table, room - 1, &next);
	number(&d->new, table, room - 1, &next);
	return 0;
}

/* The part of both that is left to compare. */
struct part {
	const struct text_line *a, *b;
	long n, m;
};

/* Row d of the trace: how far on diagonal k, -d <= k <= d, in steps of two. */
static int32_t *row_of(int32_t *trace, long d)
{
	return trace + d * (d + 1) / 2;
}

static long reach(int32_t *trace, long d, long k)
{
	if (d == 0)
		return 0;
	const int32_t *before = row_of(trace, d - 1);
	/* Index of diagonal k in a row d is (k + d) / 2. */
	long left = k > -d ? before[(k - 1 + d - 1) / 2] + 1 : -1;
	long down = k < d ? before[(k + 1 + d - 1) / 2] : -1;

	return left > down ? left : down;
}

/* The least number of edits, or -1 when it is too many; *ret_trace is the caller's. */
static long search(const struct part *p, int32_t **ret_trace, struct err *e)
{
	uint64_t steps = 0;
	int32_t *trace = NULL;
	long most = p->n + p->m < EDITS_MAX ? p->n + p->m : EDITS_MAX, room = -1;

	for (long d = 0; d <= most && steps < STEPS_MAX; d++) {
		if (d > room) {
			room = room < 0 ? 15 : room * 2 + 1;
			int32_t *more = reallocarray(trace, (size_t)((room + 1) * (room + 2) / 2),
						     sizeof(*trace));
			*ret_trace = more ? more : trace;
			if (!more)
				return err_sys(e, "compare texts");
			trace = more;
		}
		for (long k = -d; k <= d; k += 2) {
			long x = reach(trace, d, k), y = x - k;

			/* Off the edge: no way leads there, and none leads back from there. */
			while (x < p->n && y >= 0 && y < p->m && p->a[x].id == p->b[y].id) {
				x++;
				y++;
				steps++;
			}
			row_of(trace, d)[(k + d) / 2] = (int32_t)x;
			if (x >= p->n && y >= p->m)
				return d;
		}
		steps += (uint64_t)d;
	}
	return -1;
}

/* Read the way back from the end: one edit per step, the rest was common. */
static void read_back(const struct part *p, int32_t *trace, long edits, uint8_t *a, uint8_t *b)
{
	long x = p->n, y = p->m;

	for (long d = edits; d > 0; d--) {
		const int32_t *before = row_of(trace, d - 1);
		long k = x - y;
		long left = k > -d ? before[(k - 1 + d - 1) / 2] + 1 : -1;
		long down = k < d ? before[(k + 1 + d - 1) / 2] : -1;

		if (left > down) {
			x = left - 1;
			y = x - (k - 1);
			a[x] = 1;
		} else {
			x = down;
			y = x - (k + 1);
			b[y] = 1;
		}
	}
}

static int compare(struct text_diff *d, struct err *e)
{
	size_t n = d->old.n, m = d->new.n, head = 0;
	struct text_line *a = d->old.lines, *b = d->new.lines;
	auto_free int32_t *trace = NULL;

	while (head < n && head < m && a[head].id == b[head].id)
		head++;
	while (n > head && m > head && a[n - 1].id == b[m - 1].id) {
		n--;
		m--;
	}
	struct part p = {a + head, b + head, (long)(n - head), (long)(m - head)};
	long edits = p.n > 0 && p.m > 0 ? search(&p, &trace, e) : -1;
	if (edits < -1)
		return (int)edits;
	if (edits >= 0) {
		read_back(&p, trace, edits, d->old.edited + head, d->new.edited + head);
	} else {
		memset(d->old.edited + head, 1, n - head);
		memset(d->new.edited + head, 1, m - head);
	}
	return 0;
}

static int put(struct text_diff *d, const char *data, size_t len, struct err *e)
{
	if (d->out_len + len + 1 > d->out_room) {
		size_t room = (d->out_room + len + 256) * 2;
		char *p = realloc(d->out, room);

		if (!p)
			return err_sys(e, "compare texts");
		d->out = p;
		d->out_room = room;
	}
	memcpy(d->out + d->out_len, data, len);
	d->out_len += len;
	d->out[d->out_len] = '\0';
	return 0;
}

static int put_line(struct text_diff *d, char mark, const struct text_line *l, struct err *e)
{
	static const char no_newline[] = "\n\\ No newline at end of file\n";
	int r = put(d, &mark, 1, e);

	if (r >= 0)
		r = put(d, l->at, l->len, e);
	if (r >= 0 && l->at[l->len - 1] != '\n')
		r = put(d, no_newline, strlen(no_newline), e);
	return r;
}

/* "-1,4", as both write it: a range of one has no length, one of none begins before itself. */
static int range(char *buf, size_t size, char mark, size_t from, size_t n)
{
	if (n == 1)
		return snprintf(buf, size, "%c%zu", mark, from + 1);
	return snprintf(buf, size, "%c%zu,%zu", mark, n ? from + 1 : from, n);
}

struct hunk {
	size_t a, a_end, b, b_end;
};

static int put_hunk(struct text_diff *d, const struct hunk *h, struct err *e)
{
	char old[48], new[48], head[128];
	size_t a = h->a, b = h->b;

	(void)range(old, sizeof(old), '-', h->a, h->a_end - h->a);
	(void)range(new, sizeof(new), '+', h->b, h->b_end - h->b);
	int n = snprintf(head, sizeof(head), "@@ %s %s @@\n", old, new);
	int r = put(d, head, (size_t)n, e);
	while (r >= 0 && (a < h->a_end || b < h->b_end)) {
		if (a < h->a_end && d->old.edited[a])
			r = put_line(d, '-', &d->old.lines[a++], e);
		else if (b < h->b_end && d->new.edited[b])
			r = put_line(d, '+', &d->new.lines[b++], e);
		else {
			r = put_line(d, ' ', &d->old.lines[a++], e);
			b++;
		}
	}
	return r;
}

/* Both forward over edits; how many lines are common after them. */
static size_t over_edits(const struct text_diff *d, size_t *a, size_t *b)
{
	size_t common = 0;

	while (*a < d->old.n && d->old.edited[*a])
		(*a)++;
	while (*b < d->new.n && d->new.edited[*b])
		(*b)++;
	while (*a + common < d->old.n && *b + common < d->new.n && !d->old.edited[*a + common] &&
	       !d->new.edited[*b + common])
		common++;
	return common;
}

static int put_hunks(struct text_diff *d, struct err *e)
{
	size_t a = 0, b = 0;
	int r = 0;

	while (r >= 0 && (a < d->old.n || b < d->new.n)) {
		bool edit =
			(a < d->old.n && d->old.edited[a]) || (b < d->new.n && d->new.edited[b]);

		if (!edit) {
			a++;
			b++;
			continue;
		}
		size_t before = a < CONTEXT ? a : CONTEXT;
		struct hunk h = {a - before, a, b - before, b};
		for (;;) {
			size_t common = over_edits(d, &a, &b);
			bool last = a + common >= d->old.n && b + common >= d->new.n;

			if (last || common > 2 * CONTEXT) {
				size_t after = common < CONTEXT ? common : CONTEXT;

				h.a_end = a + after;
				h.b_end = b + after;
				a += common;
				b += common;
				break;
			}
			a += common;
			b += common;
		}
		r = put_hunk(d, &h, e);
	}
	return r;
}

int text_diff_init(struct text_diff *d, const char *old, size_t old_len, const char *new,
		   size_t new_len, struct err *e)
{
	assert(old_len <= TREE_TEXT_FILE_MAX && new_len <= TREE_TEXT_FILE_MAX);
	int r = split(&d->old, old, old_len, e);
	if (r >= 0)
		r = split(&d->new, new, new_len, e);
	if (r >= 0)
		r = number_both(d, e);
	return r < 0 ? r : compare(d, e);
}

void text_diff_done(struct text_diff *d)
{
	free_ptr(&d->old.lines);
	free_ptr(&d->old.edited);
	free_ptr(&d->new.lines);
	free_ptr(&d->new.edited);
	free_ptr(&d->out);
}

int tree_text_diff(const char *old, size_t old_len, const char *new, size_t new_len, char **ret,
		   size_t *ret_len, struct err *e)
{
	struct text_diff d = {0};
	int r = text_diff_init(&d, old, old_len, new, new_len, e);

	if (r >= 0)
		r = put(&d, "", 0, e);
	if (r >= 0)
		r = put_hunks(&d, e);
	if (r >= 0) {
		*ret = take_ptr(&d.out);
		*ret_len = d.out_len;
	}
	text_diff_done(&d);
	return r < 0 ? r : 0;
}
