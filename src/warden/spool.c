/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/spool.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 32768u /* one record always fits */

static size_t all; /* bytes that all spools have */

static void put(struct spool *s, uint64_t at, const void *from, size_t len)
{
	size_t off = at & (s->cap - 1), first = s->cap - off < len ? s->cap - off : len;

	memcpy(s->data + off, from, first);
	memcpy(s->data, (const char *)from + first, len - first);
}

static void get(const struct spool *s, uint64_t at, void *to, size_t len)
{
	size_t off = at & (s->cap - 1), first = s->cap - off < len ? s->cap - off : len;

	memcpy(to, s->data + off, first);
	memcpy((char *)to + first, s->data, len - first);
}

static void drop_first(struct spool *s)
{
	struct spool_record r;

	get(s, s->begin, &r, sizeof(r));
	s->begin += sizeof(r) + r.len;
	s->lost += r.len;
}

/* Twice as large, with every place where it was counted to be. Not when all of them together have
 * enough already: then the oldest of this one goes sooner. */
static int grow(struct spool *s)
{
	struct spool bigger = *s;

	bigger.cap = s->cap ? s->cap * 2 : FIRST_CAP;
	if (s->cap && all - s->cap + bigger.cap > SPOOL_ALL_MAX)
		return -1;
	bigger.data = malloc(bigger.cap);
	if (!bigger.data)
		return -1;
	all += bigger.cap - s->cap;
	for (uint64_t at = s->begin; at < s->end;) {
		char part[1024];
		size_t n = s->end - at < sizeof(part) ? (size_t)(s->end - at) : sizeof(part);

		get(s, at, part, n);
		put(&bigger, at, part, n);
		at += n;
	}
	free(s->data);
	*s = bigger;
	return 0;
}

static void add_one(struct spool *s, unsigned stream, uint64_t at_ms, const void *data, size_t len)
{
	struct spool_record r = {(uint32_t)len, stream, at_ms, s->total};
	size_t need = sizeof(r) + len;

	s->total += len;
	while (s->end - s->begin + need > s->cap && s->cap < SPOOL_MAX && grow(s) == 0)
		;
	if (need > s->cap) {
		s->lost += len;
		return;
	}
	while (s->end - s->begin + need > s->cap)
		drop_first(s);
	put(s, s->end, &r, sizeof(r));
	put(s, s->end + sizeof(r), data, len);
	s->end += need;
}

void spool_add(struct spool *s, unsigned stream, uint64_t at_ms, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t n = len - done < SPOOL_RECORD_MAX ? len - done : SPOOL_RECORD_MAX;

		add_one(s, stream, at_ms, (const char *)data + done, n);
		done += n;
	}
}

int spool_next(const struct spool *s, uint64_t *pos, struct spool_record *ret,
	       char data[SPOOL_RECORD_MAX])
{
	if (*pos < s->begin)
		*pos = s->begin;
	if (*pos >= s->end)
		return 0;
	get(s, *pos, ret, sizeof(*ret));
	get(s, *pos + sizeof(*ret), data, ret->len);
	*pos += sizeof(*ret) + ret->len;
	return 1;
}

void spool_done(struct spool *s)
{
	all -= s->cap;
	free(s->data);
	*s = (struct spool){0};
}
