/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds a head in many ways and wants one answer: whole, byte by byte in one place, byte by byte in
 * places that move, and cut once at every place. Buffers are as long as what is in them, so that a
 * sanitizer sees every byte that is read behind.
 */
#ifndef TESTS_HTTP_HELP_H
#define TESTS_HTTP_HELP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/head.h"
#include "tap.h"

enum { WANT_MORE = 1 }; /* in place of a status: it is not whole, and nothing is wrong yet */

struct head_answer {
	int used;
	struct http_error e;
};

__attribute__((unused)) static char *copy_of(const char *text, size_t len)
{
	char *p = malloc(len ? len : 1);

	if (!p)
		abort();
	memcpy(p, text, len);
	return p;
}

/* In steps of `step` bytes. With `moves` every step is in another place. */
__attribute__((unused)) static struct head_answer
feed_head(const char *text, size_t len, enum http_side side, size_t step, bool moves)
{
	struct head_answer a = {0};
	struct http_head h;
	char *p = copy_of(text, len);

	http_head_init(&h);
	for (size_t n = step < len ? step : len; a.used == 0; n = n + step < len ? n + step : len) {
		if (moves) {
			char *old = p;

			p = copy_of(text, n);
			free(old);
		}
		a.used = http_head_parse(&h, p, n, side, &a.e);
		if (n == len)
			break;
	}
	free(p);
	return a;
}

__attribute__((unused)) static bool same_answer(struct head_answer a, struct head_answer b)
{
	return (a.used > 0) == (b.used > 0) && (a.used < 0) == (b.used < 0) &&
	       (a.used <= 0 || a.used == b.used) &&
	       (a.used >= 0 || (a.e.status == b.e.status && a.e.why == b.e.why));
}

/* `status`: 0 for a whole head, WANT_MORE, or what it is refused with. */
__attribute__((unused)) static void head_is(const char *name, const char *text, size_t len,
					    enum http_side side, int status)
{
	struct head_answer whole = feed_head(text, len, side, len ? len : 1, false);
	int got = whole.used > 0 ? 0 : whole.used == 0 ? WANT_MORE : whole.e.status;
	size_t step = len > 2048 ? len / 61 : 1; /* moving costs a copy a step */
	bool same = same_answer(whole, feed_head(text, len, side, 1, false)) &&
		    same_answer(whole, feed_head(text, len, side, step, true));

	for (size_t cut = 1; same && cut < len; cut += step)
		same = same_answer(whole, feed_head(text, len, side, cut, false));
	if (!ok(got == status && same, name))
		diag("got %d (%s), want %d%s", got, whole.e.why ? whole.e.why : "-", status,
		     same ? "" : "; differs when it comes in pieces");
}

#endif
