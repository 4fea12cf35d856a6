/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/utf8.h"

void capture_init(struct capture *c, uint64_t limit)
{
	*c = (struct capture){
		.head_max = (size_t)(limit - limit / 2),
		.tail_max = (size_t)(limit / 2),
		.artifact = FD_NONE,
	};
}

void capture_done(struct capture *c)
{
	free(c->head);
	free(c->tail);
	c->head = c->tail = NULL;
	fd_close(&c->artifact);
}

static void note_control(struct capture *c, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len && !c->control_bytes; i++)
		if ((p[i] < 0x20 && p[i] != '\n' && p[i] != '\t') || p[i] == 0x7f)
			c->control_bytes = true;
}

static int add_head(struct capture *c, const char *data, size_t len)
{
	if (c->head_len + len > c->head_cap) {
		size_t cap = c->head_cap ? c->head_cap : 4096;

		while (cap < c->head_len + len)
			cap *= 2;
		cap = cap < c->head_max ? cap : c->head_max;
		char *bigger = realloc(c->head, cap);
		if (!bigger)
			return -ENOMEM;
		c->head = bigger;
		c->head_cap = cap;
	}
	memcpy(c->head + c->head_len, data, len);
	c->head_len += len;
	return 0;
}

static int add_tail(struct capture *c, const char *data, size_t len)
{
	if (c->tail_max == 0)
		return 0;
	if (!c->tail && !(c->tail = malloc(c->tail_max)))
		return -ENOMEM;
	if (len > c->tail_max) {
		data += len - c->tail_max;
		len = c->tail_max;
	}
	while (len > 0) {
		size_t room = c->tail_max - c->tail_at;
		size_t n = len < room ? len : room;

		memcpy(c->tail + c->tail_at, data, n);
		c->tail_at = (c->tail_at + n) % c->tail_max;
		c->tail_len = c->tail_len + n < c->tail_max ? c->tail_len + n : c->tail_max;
		data += n;
		len -= n;
	}
	return 0;
}

/* A full disk or a lost file ends the artifact, not the run. */
static void add_artifact(struct capture *c, const char *data, size_t len)
{
	uint64_t room = CAPTURE_ARTIFACT_MAX - c->artifact_len;

	if (c->artifact < 0)
		return;
	if (len > room)
		len = (size_t)room;
	if (fd_write_all(c->artifact, data, len) < 0)
		fd_close(&c->artifact);
	c->artifact_len += len;
}

int capture_add(struct capture *c, const void *data, size_t len)
{
	const char *p = data;
	size_t room = c->head_max - c->head_len;
	size_t n = len < room ? len : room;

	c->total += len;
	note_control(c, data, len);
	add_artifact(c, data, len);
	int r = n > 0 ? add_head(c, p, n) : 0;
	if (r == 0 && len > n)
		r = add_tail(c, p + n, len - n);
	return r;
}

bool capture_truncated(const struct capture *c)
{
	return c->total > c->head_len + c->tail_len;
}

/* Turn the ring so that it begins at its oldest byte. */
static void straighten(struct capture *c)
{
	if (c->tail_len < c->tail_max || c->tail_at == 0)
		return;
	char *turned = malloc(c->tail_max);
	if (!turned) {
		c->tail_len = 0; /* the head is still true */
		return;
	}
	memcpy(turned, c->tail + c->tail_at, c->tail_max - c->tail_at);
	memcpy(turned + c->tail_max - c->tail_at, c->tail, c->tail_at);
	free(c->tail);
	c->tail = turned;
	c->tail_at = 0;
}

void capture_start_artifact(struct capture *c, int fd)
{
	straighten(c);
	c->artifact = fd;
	add_artifact(c, c->head, c->head_len);
	add_artifact(c, c->tail, c->tail_len);
}

void capture_view(struct capture *c, struct capture_view *ret)
{
	straighten(c);
	*ret = (struct capture_view){c->head, c->tail, c->head_len, c->tail_len};
	if (!capture_truncated(c))
		return;
	size_t lead = utf8_cut_head(ret->tail, ret->tail_len);
	ret->head_len -= utf8_cut_tail(ret->head, ret->head_len);
	ret->tail += lead;
	ret->tail_len -= lead;
}
