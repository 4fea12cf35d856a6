/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket through the gate, once both sides have agreed to it: bytes as they are, both ways,
 * within the rule's limits. Where the sandbox has secrets its frames are unmasked, in a copy, and
 * looked into, and values are taken out of what comes back; packed frames (extensions) were not
 * offered to the server then.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/gate_int.h"
#include "http/write.h"

#define PIECE 8192u

bool tunnel_is_asked(const struct http_head *h)
{
	return h->minor == 1 && h->upgrade && http_head_lists(h, "upgrade", "websocket");
}

int tunnel_ask(struct tunnel *t, const struct http_head *h, struct http_error *e)
{
	*t = (struct tunnel){0};
	if (!tunnel_is_asked(h))
		return 0;
	int r = ws_handshake(h, t->accept, e);
	t->is_wanted = r == 0;
	ws_init(&t->frames, UINT64_MAX);
	return r;
}

/* One word for two: the server has read the same request, and speaks the same from here on. */
bool tunnel_is_agreed(const struct tunnel *t, const struct http_head *h, bool is_plain)
{
	const struct http_field *f = http_head_field(h, "sec-websocket-accept");

	return t->is_wanted && tunnel_is_asked(h) && f && !http_head_next(h, f) &&
	       f->value_len == strlen(t->accept) &&
	       memcmp(f->value, t->accept, f->value_len) == 0 && !h->chunked &&
	       h->content_length <= 0 &&
	       !(is_plain && http_head_field(h, "sec-websocket-extensions"));
}

void tunnel_fields(struct http_out *o)
{
	http_out_field(o, "Connection", "Upgrade");
	http_out_field(o, "Upgrade", "websocket");
}

/* 0: nothing of a secret is in it. */
static int look(struct tunnel *t, struct conn *c, const char *data, size_t len)
{
	char copy[PIECE];
	size_t used = 0;

	memcpy(copy, data, len);
	for (size_t at = 0; at < len; at += used) {
		struct ws_event ev;
		struct http_error e;
		int r = ws_feed(&t->frames, copy + at, len - at, &used, &ev, &e);

		if (r < 0)
			return -1;
		if (r == 0)
			break;
		if (secret_scan(&t->scan, ev.data, ev.len)) {
			secrets_alarm(c, "WebSocket");
			return -1;
		}
	}
	return 0;
}

static int move_up(struct tunnel *t, struct conn *c, struct stage_buf *in, struct stage_buf *out)
{
	while (in->len && out->len < STAGE_BUF_MAX) {
		size_t room = STAGE_BUF_MAX - out->len, n = in->len < room ? in->len : room;
		const char *data = in->data + in->start;

		n = n < PIECE ? n : PIECE;
		if ((c->box->secrets && look(t, c, data, n) < 0) || stage_put(out, data, n) < 0)
			return -1;
		stage_took(in, n);
	}
	return 0;
}

static int move_down(struct redact *r, struct stage_buf *in, struct stage_buf *out)
{
	char room[PIECE + REDACT_FORM_MAX];

	while (in->len && STAGE_BUF_MAX - out->len >= sizeof(room)) {
		size_t n = in->len < PIECE ? in->len : PIECE;
		const char *data = in->data + in->start;
		size_t len = r ? redact_feed(r, data, n, room) : n;

		if (stage_put(out, r ? room : data, len) < 0)
			return -1;
		stage_took(in, n);
	}
	return 0;
}

/* What was held for being like the beginning of a secret is none: there is no more. */
static int flush(struct redact *r, struct stage_buf *out)
{
	char room[REDACT_FORM_MAX];

	return r ? stage_put(out, room, redact_end(r, room)) : 0;
}

enum stage_next tunnel_run(struct tunnel *t, struct conn *c, struct redact *r, struct stage_io *io)
{
	if (move_up(t, c, &io->from_client, &io->to_server) < 0 ||
	    move_down(r, &io->from_server, &io->to_client) < 0)
		return STAGE_ABORT;
	if (io->server_ended && io->from_server.len == 0)
		return flush(r, &io->to_client) < 0 ? STAGE_ON : STAGE_END;
	if (io->client_ended && io->from_client.len == 0 && io->to_server.len == 0)
		return STAGE_END;
	return STAGE_ON;
}
