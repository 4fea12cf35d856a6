/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies and what stands behind them, as they come and as they fit: looked at, and framed anew. */
#include <stdlib.h>
#include <string.h>

#include "egress/gate_http.h"
#include "egress/hold.h"
#include "http/body.h"
#include "http/trailer.h"
#include "http/write.h"

static int put_chunk(struct stage_buf *out, const char *data, size_t len)
{
	char head[HTTP_CHUNK_HEAD_MAX];
	size_t n = http_chunk_head(head, len);

	return stage_put(out, head, n) < 0 || stage_put(out, data, len) < 0 ||
			       stage_put(out, "\r\n", 2) < 0
		       ? -ENOSPC
		       : 0;
}

static int put_part(struct stage_buf *out, const char *data, size_t len, bool chunks)
{
	if (len == 0)
		return 0;
	return chunks ? put_chunk(out, data, len) : stage_put(out, data, len);
}

int http_stage_put_redacted(struct http_stage *s, struct stage_buf *out, const char *data,
			    size_t len, bool chunks, bool last)
{
	static char room[STAGE_BUF_MAX + 2 * REDACT_FORM_MAX];
	size_t n = redact_feed(s->redact, data, len, room);

	if (last)
		n += redact_end(s->redact, room + n);
	taped_data(&s->taped, s->conn, room, n);
	return put_part(out, room, n, chunks);
}

/* What may not pass, or may not be at all, behind a request. */
static bool is_bad_end(struct http_stage *s, const struct http_body *b)
{
	struct conn *c = s->conn;

	if (HOLD_GATE_TRAILER && mark_in(b->kept, b->kept_len)) {
		secrets_alarm(c, "trailer");
		return true;
	}
	if (s->head_max && b->kept_len > s->head_max) {
		box_deny(c->box, &c->host, c->port, NULL, s->rule,
			 "the trailers of a request are longer than the rule allows");
		return true;
	}
	return false;
}

/* The last chunk, and of what stands behind it what may go on. */
static int put_end(struct http_stage *s, const struct http_body *b, struct stage_buf *out)
{
	static char text[HTTP_TRAILERS_ROOM + CHUNK_ROOM];
	enum http_side side = b == &s->up ? HTTP_REQUEST : HTTP_RESPONSE;
	const char *lines = b->kept;
	size_t left = b->kept ? b->kept_len : 0;
	struct http_field f;
	struct http_out o;

	if (left && side == HTTP_REQUEST && is_bad_end(s, b))
		return -1;
	http_out_init(&o, text, sizeof(text));
	while (http_trailer_next(&lines, &left, &f))
		if (!HOLD_GATE_TRAILER || http_trailer_may(&f, side))
			http_out_copy(&o, &f);
	if (o.error)
		return -1;
	if (side == HTTP_RESPONSE && s->redact)
		(void)redact_whole(s->redact, text, o.len);
	if (side == HTTP_RESPONSE)
		taped_trailers(&s->taped, s->conn, text, o.len);
	return stage_put_end(out, text, o.len);
}

void http_stage_drop_trailers(struct http_stage *s)
{
	free(s->up_kept);
	free(s->down_kept);
	s->up_kept = s->down_kept = s->up.kept = s->down.kept = NULL;
}

int http_stage_pump(struct http_stage *s, struct http_body *b, struct stage_buf *in,
		    struct stage_buf *out, bool chunks)
{
	bool up = b == &s->up;

	for (;;) {
		size_t around = CHUNK_ROOM + (!up && s->redact ? REDACT_FORM_MAX : 0) + b->kept_len;
		struct http_error e;
		const char *data;
		size_t used = 0, len = 0;
		size_t room = STAGE_BUF_MAX - out->len, n = in->len;

		if (room <= around)
			return 0;
		if (n > room - around)
			n = room - around;
		int r = http_body_feed(b, n ? in->data + in->start : "", n, &used, &data, &len, &e);
		if (r < 0)
			return -1;
		if (up && secret_scan(&s->scan, data, len)) {
			secrets_alarm(s->conn, "body");
			return -1;
		}
		if (up && s->taped.is_on)
			hash_add(&s->taped.body, data, len);
		else if (!up && !s->redact)
			taped_data(&s->taped, s->conn, data, len);
		if ((!up && s->redact ? http_stage_put_redacted(s, out, data, len, chunks, r > 0)
				      : put_part(out, data, len, chunks)) < 0)
			return -1;
		if (used)
			stage_took(in, used);
		if (r > 0 && chunks && put_end(s, b, out) < 0)
			return -1;
		if (r > 0)
			return 1;
		if (in->len == 0)
			return 0;
	}
}

bool http_stage_sends_chunks(const struct http_stage *s)
{
	return !s->is_old &&
	       (s->down.kind == HTTP_BODY_CHUNKED || s->down.kind == HTTP_BODY_TO_END);
}
