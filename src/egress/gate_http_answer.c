/* SPDX-License-Identifier: Apache-2.0 */
/* What the server says: responses before the response, the response, its body, and what if there is none. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "egress/gate_http.h"
#include "http/body.h"
#include "http/trailer.h"
#include "http/write.h"

#define INFORMAL_MAX 16 /* responses before the response */

/* A server that waited for us had ended. It has heard nothing, or said nothing: ask another. */
static enum stage_next ask_again(struct http_stage *s, struct stage_io *io)
{
	stage_buf_done(&io->to_server);
	int r = stage_put(&io->to_server, s->again, s->again_len);

	http_stage_forget_again(s);
	s->conn->errand.may_repeat = false;
	return r < 0 ? STAGE_ABORT : STAGE_OTHER;
}

/* What is packed, or a part, cannot be looked into; nobody asked for it. */
static bool hides(const struct http_head *h)
{
	static const char *const how[] = {"content-encoding", "grpc-encoding",
					  "connect-content-encoding"};

	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		const struct http_field *f = http_head_field(h, how[i]);

		for (; f; f = http_head_next(h, f))
			if (f->value_len != strlen("identity") ||
			    strncasecmp(f->value, "identity", f->value_len) != 0)
				return true;
	}
	return h->status == 206;
}

/* 1: there is one. 0: not yet. -1: the server makes no sense. */
static int take_response(struct http_stage *s, struct stage_io *io)
{
	struct stage_buf *in = &io->from_server;
	struct http_error e;

	for (;;) {
		if (in->len == 0 || STAGE_BUF_MAX - io->to_client.len < HEAD_ROOM)
			return 0;
		if (!http_stage_has_head(s))
			return -1;
		int used =
			http_head_parse(s->head, in->data + in->start, in->len, HTTP_RESPONSE, &e);
		if (used <= 0)
			return used < 0 ? -1 : 0;
		http_stage_forget_again(s);
		bool informal = s->head->status < 200;
		if (s->redact && hides(s->head))
			return -1;
		if (s->head->status == 101) {
			s->tunnel.is_open = tunnel_is_agreed(&s->tunnel, s->head, s->redact);
			informal = false;
			if (s->conn->box->recording.is_on)
				tape_unseen(s->conn);
		}
		if (s->head->status == 101 ? !s->tunnel.is_open
					   : informal && ++s->n_informal > INFORMAL_MAX)
			return -1;
		if (!informal &&
		    (http_body_of_response(&s->down, s->head, s->method, UINT64_MAX, &e) < 0 ||
		     http_stage_write_response(s, io) < 0))
			return -1;
		if (!informal && s->wants_trailers && http_stage_sends_chunks(s))
			s->down.kept = s->down_kept = malloc(HTTP_TRAILERS_ROOM);
		stage_took(in, (size_t)used);
		http_stage_drop_head(s);
		if (!informal)
			return 1;
	}
}

static enum stage_next broken(struct http_stage *s, struct stage_io *io)
{
	if (s->has_response)
		return STAGE_ABORT; /* the client sees that it is not whole */
	noted_end(&s->noted, s->conn, 502);
	return http_stage_refuse(io, 502, "the server's answer is no good HTTP");
}

enum stage_next http_stage_take_answer(struct http_stage *s, struct stage_io *io)
{
	struct http_error e;

	if (!s->has_response) {
		int r = take_response(s, io);

		if (r == 0 && io->server_ended && s->again && io->from_server.len == 0)
			return ask_again(s, io);
		if (r < 0 || (r == 0 && io->server_ended && io->to_client.len == 0))
			return broken(s, io);
		s->has_response = r > 0;
	}
	if (!s->has_response || s->down_done || s->tunnel.is_open)
		return STAGE_ON;
	int r = http_stage_pump(s, &s->down, &io->from_server, &io->to_client,
				http_stage_sends_chunks(s));
	if (r == 0 && io->server_ended && io->from_server.len == 0) {
		if (http_body_eof(&s->down, &e) < 0 || io->server_cut)
			return STAGE_ABORT;
		if (STAGE_BUF_MAX - io->to_client.len < REDACT_FORM_MAX + CHUNK_ROOM)
			return STAGE_ON; /* no room yet */
		if (s->redact && http_stage_put_redacted(s, &io->to_client, "", 0,
							 http_stage_sends_chunks(s), true) < 0)
			return STAGE_ABORT;
		if (http_stage_sends_chunks(s) &&
		    stage_put(&io->to_client, HTTP_CHUNK_END, sizeof(HTTP_CHUNK_END) - 1) < 0)
			return STAGE_ON; /* no room yet */
		r = 1;
	}
	if (r < 0)
		return STAGE_ABORT;
	s->down_done = r > 0;
	return STAGE_ON;
}
