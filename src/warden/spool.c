/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/spool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 4096u
#define FIRST_RUNS 16u
/* Who changes streams with every byte has fewer bytes kept. */
#define HEAD_RUNS 4096u
#define TAIL_RUNS 65536u

static size_t all; /* bytes that all spools have */
static struct spool *spools;

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void put(struct spool_ring *r, uint64_t at, const char *from, size_t len)
{
	size_t off = at & (r->cap - 1), first = smaller(r->cap - off, len);

	memcpy(r->data + off, from, first);
	memcpy(r->data, from + first, len - first);
}

static void get(const struct spool_ring *r, uint64_t at, char *to, size_t len)
{
	size_t off = at & (r->cap - 1), first = smaller(r->cap - off, len);

	memcpy(to, r->data + off, first);
	memcpy(to + first, r->data, len - first);
}

static uint64_t run_at(const struct spool_ring *r, size_t i)
{
	return r->runs[(r->first_run + i) & (r->runs_cap - 1)];
}

/* Forget what is before `place`. */
static void drop(struct spool_ring *r, uint64_t place)
{
	r->begin = place;
	while (r->n_runs > 1 && run_at(r, 1) >> 1 <= place) {
		r->first_run++;
		r->n_runs--;
	}
	if (r->begin == r->end)
		r->n_runs = 0;
}

/* Larger or smaller, with every byte at its place. */
static int resize(struct spool_ring *r, size_t cap)
{
	struct spool_ring other = *r;

	other.cap = cap;
	other.data = malloc(cap);
	if (!other.data)
		return -1;
	if (r->end - r->begin > cap)
		drop(r, r->end - cap);
	for (uint64_t at = r->begin; at < r->end;) {
		char part[4096];
		size_t n = smaller((size_t)(r->end - at), sizeof(part));

		get(r, at, part, n);
		put(&other, at, part, n);
		at += n;
	}
	all += cap;
	all -= r->cap;
	free(r->data);
	r->data = other.data;
	r->cap = cap;
	return 0;
}

/* Room for so many bytes more in all; `size` is what they make of who wants them. */
static int make_way(const struct spool *s, size_t bytes, size_t size)
{
	struct spool *largest = NULL;

	if (all + bytes <= SPOOL_ALL_MAX)
		return 0;
	for (struct spool *other = spools; other; other = other->next)
		if (other != s && (!largest || other->tail.cap > largest->tail.cap))
			largest = other;
	if (!largest || largest->tail.cap / 2 < size)
		return -1;
	return resize(&largest->tail, largest->tail.cap / 2);
}

/* Twice as many bytes; the first few everybody gets. */
static int grow(const struct spool *s, struct spool_ring *r, size_t most)
{
	size_t cap = r->cap ? r->cap * 2 : FIRST_CAP;

	if (cap > most || (r->cap && make_way(s, cap - r->cap, cap) < 0))
		return -1;
	return resize(r, cap);
}

static int grow_runs(const struct spool *s, struct spool_ring *r, size_t most)
{
	size_t cap = r->runs_cap ? r->runs_cap * 2 : FIRST_RUNS, size = cap * sizeof(*r->runs);

	if (cap > most || (r->runs_cap && make_way(s, size / 2, size) < 0))
		return -1;
	uint64_t *runs = malloc(size);
	if (!runs)
		return -1;
	for (size_t i = 0; i < r->n_runs; i++)
		runs[i] = run_at(r, i);
	all += size - r->runs_cap * sizeof(*runs);
	free(r->runs);
	r->runs = runs;
	r->runs_cap = cap;
	r->first_run = 0;
	return 0;
}

static bool goes_on(const struct spool_ring *r, unsigned stream)
{
	return r->n_runs && (run_at(r, r->n_runs - 1) & 1) == stream - 1;
}

/* There is room; also for a run, if one begins. */
static void append(struct spool_ring *r, unsigned stream, const char *data, size_t len)
{
	if (!goes_on(r, stream))
		r->runs[(r->first_run + r->n_runs++) & (r->runs_cap - 1)] =
			r->end << 1 | (stream - 1);
	put(r, r->end, data, len);
	r->end += len;
}

/* Returns how many were taken: it ends where the tail begins. */
static size_t add_head(struct spool *s, unsigned stream, const char *data, size_t len)
{
	struct spool_ring *r = &s->head;
	size_t n = smaller(len, SPOOL_HEAD - (size_t)r->end);

	if (!goes_on(r, stream) && r->n_runs == r->runs_cap && grow_runs(s, r, HEAD_RUNS) < 0)
		n = 0;
	while (n > 0 && r->end + n > r->cap && grow(s, r, SPOOL_HEAD) == 0)
		;
	n = smaller(n, r->cap - (size_t)r->end);
	if (n > 0)
		append(r, stream, data, n);
	s->head_is_full = n < len;
	if (s->head_is_full)
		s->tail.begin = s->tail.end = r->end;
	return n;
}

static void lose(struct spool_ring *r, size_t len)
{
	r->end += len;
	drop(r, r->end);
}

static void add_tail(struct spool *s, unsigned stream, const char *data, size_t len)
{
	struct spool_ring *r = &s->tail;

	while (r->end - r->begin + len > r->cap && grow(s, r, SPOOL_MAX) == 0)
		;
	if (len > r->cap) {
		size_t beyond = len - r->cap;

		lose(r, beyond);
		data += beyond;
		len -= beyond;
	}
	if (len == 0)
		return;
	if (r->end + len > r->begin + r->cap)
		drop(r, r->end + len - r->cap);
	if (!goes_on(r, stream) && r->n_runs == r->runs_cap && grow_runs(s, r, TAIL_RUNS) < 0) {
		if (!r->runs_cap) {
			lose(r, len);
			return;
		}
		drop(r, r->n_runs > 1 ? run_at(r, 1) >> 1 : r->end);
	}
	append(r, stream, data, len);
}

static void enlist(struct spool *s)
{
	s->next = spools;
	if (spools)
		spools->prev = s;
	spools = s;
}

void spool_add(struct spool *s, unsigned stream, const void *data, size_t len)
{
	const char *from = data;
	size_t n = 0;

	if (len == 0)
		return;
	if (s->total == 0)
		enlist(s);
	s->total += len;
	if (!s->head_is_full)
		n = add_head(s, stream, from, len);
	if (n < len)
		add_tail(s, stream, from + n, len - n);
}

/* The last run that begins at or before `pos`. */
static size_t find_run(const struct spool_ring *r, uint64_t pos)
{
	size_t low = 0, high = r->n_runs;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (run_at(r, middle) >> 1 <= pos)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t spool_get(const struct spool *s, uint64_t *pos, unsigned *ret_stream, char *data, size_t max)
{
	const struct spool_ring *r = *pos < s->head.end ? &s->head : &s->tail;

	if (*pos < r->begin)
		*pos = r->begin;
	if (*pos >= r->end)
		return 0;
	size_t i = find_run(r, *pos);
	uint64_t end = i + 1 < r->n_runs ? run_at(r, i + 1) >> 1 : r->end;
	size_t n = smaller((size_t)(end - *pos), max);
	*ret_stream = (run_at(r, i) & 1) + 1;
	get(r, *pos, data, n);
	return n;
}

uint64_t spool_from(const struct spool *s)
{
	return s->tail.begin > s->head.end ? s->tail.begin : 0;
}

size_t spool_all(void)
{
	return all;
}

static void ring_done(struct spool_ring *r)
{
	all -= r->cap + r->runs_cap * sizeof(*r->runs);
	free(r->data);
	free(r->runs);
}

void spool_done(struct spool *s)
{
	if (s->total) {
		if (s->prev)
			s->prev->next = s->next;
		else
			spools = s->next;
		if (s->next)
			s->next->prev = s->prev;
	}
	ring_done(&s->head);
	ring_done(&s->tail);
	*s = (struct spool){0};
}
