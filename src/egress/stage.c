/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/stage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEPT 32u

/*
 * Buffers that nobody uses. They come and go with every request, between what stays for as long as
 * a connection does: out of the heap they would leave holes in it that nothing fits into.
 */
static struct {
	void *at[KEPT];
	unsigned n;
} idle;

static void *take(void)
{
	if (idle.n)
		return idle.at[--idle.n];
	void *p = mmap(NULL, STAGE_BUF_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	return p == MAP_FAILED ? NULL : p;
}

static void give(void *p)
{
	if (p && idle.n < KEPT)
		idle.at[idle.n++] = p;
	else if (p)
		(void)munmap(p, STAGE_BUF_MAX); /* cannot fail for what was mapped */
}

size_t stage_room(struct stage_buf *b, char **ret)
{
	if (!b->data) {
		b->data = take();
		b->start = b->len = 0;
	}
	if (!b->data)
		return 0;
	if (b->start && b->start + b->len == STAGE_BUF_MAX) {
		memmove(b->data, b->data + b->start, b->len);
		b->start = 0;
	}
	*ret = b->data + b->start + b->len;
	return STAGE_BUF_MAX - b->start - b->len;
}

void stage_added(struct stage_buf *b, size_t n)
{
	assert(b->start + b->len + n <= STAGE_BUF_MAX);
	b->len += n;
}

int stage_put(struct stage_buf *b, const void *data, size_t n)
{
	char *at;
	size_t room = stage_room(b, &at);

	if (room < n && b->data && STAGE_BUF_MAX - b->len >= n) {
		memmove(b->data, b->data + b->start, b->len);
		b->start = 0;
		room = stage_room(b, &at);
	}
	if (room < n)
		return -ENOSPC;
	memcpy(at, data, n);
	b->len += n;
	return 0;
}

int stage_put_end(struct stage_buf *b, const char *trailers, size_t n)
{
	if (STAGE_BUF_MAX - b->len < n + strlen("0\r\n\r\n"))
		return -ENOSPC;
	if (stage_put(b, "0\r\n", 3) < 0 || (n && stage_put(b, trailers, n) < 0))
		return -ENOSPC;
	return stage_put(b, "\r\n", 2);
}

void stage_took(struct stage_buf *b, size_t n)
{
	assert(n <= b->len);
	b->start += n;
	b->len -= n;
	if (b->len == 0)
		stage_buf_done(b);
}

void stage_buf_done(struct stage_buf *b)
{
	give(b->data);
	*b = (struct stage_buf){0};
}
