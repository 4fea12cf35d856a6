/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/h2.h"

#include <assert.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/h2_trailer.h"
#include "http/body.h"
#include "http/write.h"

#define FRAME_ROOM (16384u + 64) /* the longest frame that we send, whole */
#define AROUND 32u		 /* a chunk */
#define WINDOW (STAGE_BUF_MAX - 1)
#define WINDOW_ALL (1 << 20)
#define AUTHORITY_SIZE 300
#define COOKIE_MAX 8192u
#define WORDS_SIZE 600
#define DROPPED_MAX (1u << 20)

/* A head while it comes; there is one at a time. */
struct asked {
	char method[HTTP_METHOD_MAX + 1], authority[AUTHORITY_SIZE], host[AUTHORITY_SIZE];
	char path[HTTP_LINE_MAX + 1], cookie[COOKIE_MAX];
	size_t path_len, cookie_len;
	bool is_https, is_bad, takes_trailers;
	struct http_out fields;
	char room[HTTP_HEAD_MAX];
};

struct stream {
	int32_t id;
	unsigned at; /* its place */
	struct stage_io *lane;
	struct stage_buf own; /* our own answer, in the place of a lane's */

	char *head; /* of HTTP/1.1, until it is in the lane; owned */
	size_t head_len;
	enum http_method method;
	struct stage_buf body;
	struct h2_trailers trailers;
	size_t dropped; /* bytes of it that nobody wanted */
	int64_t left;	/* bytes that were announced and did not come; -1: none were */
	bool is_chunked, has_head, has_end,
		is_sent; /* end: the client's; sent: all is in the lane */

	struct http_head answer;
	struct http_body answer_body;
	char *kept;						  /* its trailers; owned */
	bool has_answer, is_whole, is_lost, is_cut, waits, keeps; /* cut: its end was sent */
};

struct h2 {
	nghttp2_session *session;
	const struct h2_ops *ops;
	void *arg;
	struct asked *asked;			/* owned; NULL: no head is coming */
	struct stream *streams[H2_STREAMS_MAX]; /* owned; a connection that is idle has none */
	unsigned n_streams, n_continuations, n_resets, n_idle, n_answered;
	bool is_abused, has_moved;
};

static struct stream *find(struct h2 *h, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h->session, id);
}

/* Our own words, as a lane would have said them. */
static void answer_self(struct stream *s, unsigned status, const char *text)
{
	char head[512], words[WORDS_SIZE];
	struct http_out o;
	int n = snprintf(words, sizeof(words), "pinfold: %s\n", text);

	http_out_init(&o, head, sizeof(head));
	http_out_status(&o, status);
	http_out_field(&o, "Content-Type", "text/plain; charset=utf-8");
	http_out_field_u64(&o, "Content-Length", (uint64_t)n);
	int len = http_out_end(&o);
	/* Without memory there is no answer, and the stream is broken off. */
	if (len < 0 || stage_put(&s->own, head, (size_t)len) < 0 ||
	    stage_put(&s->own, words, (size_t)n) < 0)
		s->is_lost = true;
}

/* Where the answer comes from; NULL: there is nobody yet. */
static struct stage_buf *source(struct stream *s)
{
	if (s->own.len || !s->lane)
		return s->own.len ? &s->own : NULL;
	return &s->lane->to_client;
}

static void took(struct h2 *h, struct stream *s, struct stage_buf *from, size_t n)
{
	if (n == 0)
		return;
	stage_took(from, n);
	h->has_moved = true;
	if (s->lane && from == &s->lane->to_client)
		h->ops->moved(h->arg, s->lane);
}

/* Requests: what nghttp2 has checked, written as HTTP/1.1, to be read and judged by others. */

static void copy_text(char *to, size_t size, const uint8_t *value, size_t len, bool *is_bad)
{
	if (len >= size || memchr(value, '\0', len))
		*is_bad = true;
	else
		memcpy(to, value, len);
}

static bool is(const char *name, const uint8_t *given, size_t len)
{
	return strlen(name) == len && memcmp(name, given, len) == 0;
}

/* Clients cut cookies into pieces, which HTTP/1.1 does not know. */
static void add_cookie(struct asked *a, const uint8_t *value, size_t len)
{
	if (a->cookie_len + len + 2 > sizeof(a->cookie)) {
		a->is_bad = true;
		return;
	}
	if (a->cookie_len) {
		memcpy(a->cookie + a->cookie_len, "; ", 2);
		a->cookie_len += 2;
	}
	memcpy(a->cookie + a->cookie_len, value, len);
	a->cookie_len += len;
}

static void add_field(struct asked *a, const uint8_t *name, size_t name_len, const uint8_t *value,
		      size_t len)
{
	char text[128] = "";

	if (is(":method", name, name_len)) {
		copy_text(a->method, sizeof(a->method), value, len, &a->is_bad);
	} else if (is(":path", name, name_len)) {
		copy_text(a->path, sizeof(a->path), value, len, &a->is_bad);
		a->path_len = len;
	} else if (is(":authority", name, name_len)) {
		copy_text(a->authority, sizeof(a->authority), value, len, &a->is_bad);
	} else if (is(":scheme", name, name_len)) {
		a->is_https = is("https", value, len);
	} else if (name_len == 0 || name[0] == ':') {
		a->is_bad = true; /* :protocol, or what is not invented yet */
	} else if (is("host", name, name_len)) {
		a->is_bad |= a->host[0];
		copy_text(a->host, sizeof(a->host), value, len, &a->is_bad);
	} else if (is("cookie", name, name_len)) {
		add_cookie(a, value, len);
	} else if (is("te", name, name_len)) {
		a->takes_trailers = true; /* nghttp2 takes no other word */
	} else {
		copy_text(text, sizeof(text), name, name_len, &a->is_bad);
		http_out_field_n(&a->fields, text, (const char *)value, len);
	}
}

static void keep_length(struct stream *s, const uint8_t *value, size_t len)
{
	s->left = 0;
	for (size_t i = 0; i < len && i < 18; i++)
		s->left = s->left * 10 + (value[i] - '0');
}

static bool has_body_always(const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
	       strcmp(method, "PATCH") == 0;
}

static int compose(struct stream *s, struct asked *a, char *buf, size_t size)
{
	struct http_out o;
	const char *host = a->authority[0] ? a->authority : a->host;

	http_out_init(&o, buf, size);
	http_out_request(&o, a->method, a->path, a->path_len);
	http_out_field(&o, "Host", host);
	if (o.error || a->fields.error || o.len + a->fields.len > size)
		return -EINVAL;
	memcpy(o.buf + o.len, a->fields.buf, a->fields.len);
	o.len += a->fields.len;
	if (a->cookie_len)
		http_out_field_n(&o, "Cookie", a->cookie, a->cookie_len);
	if (a->takes_trailers)
		http_out_field(&o, "TE", "trailers");
	s->is_chunked = !s->has_end && s->left < 0;
	if (s->is_chunked)
		http_out_field(&o, "Transfer-Encoding", "chunked");
	else if (s->left < 0 && has_body_always(a->method))
		http_out_field(&o, "Content-Length", "0");
	return http_out_end(&o);
}

static void end_head(struct h2 *h, struct stream *s)
{
	static char buf[HTTP_HEAD_MAX];
	struct asked *a = h->asked;
	int n = -EINVAL;

	s->has_head = true;
	s->method = strcmp(a->method, "HEAD") == 0 ? HTTP_HEAD : HTTP_GET;
	bool same = !a->host[0] || !a->authority[0] || strcmp(a->host, a->authority) == 0;
	if (strcmp(a->method, "CONNECT") == 0)
		answer_self(s, 405, "CONNECT is for the proxy's port");
	else if (a->is_bad || !a->is_https || !same || !(a->host[0] || a->authority[0]))
		answer_self(s, 400, "pseudo fields that do not fit, or a head that is too large");
	else if ((n = compose(s, a, buf, sizeof(buf))) < 0)
		answer_self(s, 400, "the request cannot be written as HTTP/1.1");
	else if ((s->head = malloc((size_t)n)))
		memcpy(s->head, buf, (size_t)n);
	else
		s->is_lost = true;
	s->head_len = n > 0 ? (size_t)n : 0;
	free(h->asked);
	h->asked = NULL;
}

/* What nghttp2 tells. Whatever is returned but 0 ends the stream. */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct h2 *h = arg;

	if (f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	for (unsigned i = 0; i < H2_STREAMS_MAX; i++) {
		if (h->streams[i])
			continue;
		struct stream *s = h->streams[i] = calloc(1, sizeof(*s));
		free(h->asked);
		h->asked = s ? calloc(1, sizeof(*h->asked)) : NULL;
		if (!h->asked) {
			free(s);
			h->streams[i] = NULL;
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		}
		http_out_init(&h->asked->fields, h->asked->room, sizeof(h->asked->room));
		s->id = f->hd.stream_id;
		s->at = i;
		s->left = -1;
		http_head_init(&s->answer);
		h->n_streams++;
		h->n_continuations = 0;
		return nghttp2_session_set_stream_user_data(session, s->id, s);
	}
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, f->hd.stream_id,
					NGHTTP2_REFUSED_STREAM);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	struct h2 *h = arg;
	struct stream *s = find(h, f->hd.stream_id);

	(void)session;
	(void)flags;
	if (s && s->has_head && f->headers.cat == NGHTTP2_HCAT_HEADERS)
		return h2_trailers_add(&s->trailers, (const char *)name, name_len,
				       (const char *)value, len)
			       ? 0
			       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!s || s->has_head || !h->asked || f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	add_field(h->asked, name, name_len, value, len);
	if (is("content-length", name, name_len))
		keep_length(s, value, len);
	return 0;
}

/* nghttp2 would go on without it. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
			     size_t name_len, const uint8_t *value, size_t len, uint8_t flags,
			     void *arg)
{
	(void)session;
	(void)f;
	(void)name;
	(void)name_len;
	(void)value;
	(void)len;
	(void)flags;
	(void)arg;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *arg)
{
	struct h2 *h = arg;
	struct stream *s = find(h, id);

	(void)flags;
	/* nghttp2 looks at both, too. That it has is not what this may rest on: what came behind
	 * the announced length would be read as the next request. */
	if (s && s->has_head && !s->own.len && (s->left < 0 || (int64_t)len <= s->left) &&
	    stage_put(&s->body, data, len) == 0) {
		s->left -= s->left < 0 ? 0 : (int64_t)len;
		return 0;
	}
	(void)nghttp2_session_consume(session, id, len); /* nobody will read it */
	if (s && !s->own.len)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
						NGHTTP2_PROTOCOL_ERROR);
	return 0;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *arg)
{
	struct h2 *h = arg;

	(void)session;
	if (hd->type == NGHTTP2_CONTINUATION && ++h->n_continuations > H2_CONTINUATIONS_MAX)
		h->is_abused = true;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct h2 *h = arg;
	struct stream *s = f->hd.stream_id ? find(h, f->hd.stream_id) : NULL;
	bool ends = f->hd.flags & NGHTTP2_FLAG_END_STREAM;

	(void)session;
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		if (f->hd.type == NGHTTP2_DATA && f->hd.length == 0 && !ends)
			h->n_idle++;
		if (s && ends)
			s->has_end = true;
		if (s && f->hd.type == NGHTTP2_HEADERS && !s->has_head && h->asked)
			end_head(h, s);
		break;
	case NGHTTP2_RST_STREAM: h->n_resets++; break;
	case NGHTTP2_WINDOW_UPDATE: break; /* one for every piece of a long answer */
	default: h->n_idle++; break;
	}
	if (h->n_resets > H2_RESETS_MAX + h->n_answered ||
	    h->n_idle > H2_IDLE_MAX + 10 * h->n_answered)
		h->is_abused = true;
	return 0;
}

static void drop(struct stream *s)
{
	free(s->head);
	free(s->kept);
	h2_trailers_done(&s->trailers);
	stage_buf_done(&s->body);
	stage_buf_done(&s->own);
	free(s);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2 *h = arg;
	struct stream *s = find(h, id);

	(void)session;
	if (!s)
		return 0;
	if (code == NGHTTP2_NO_ERROR && s->is_whole)
		h->n_answered++;
	if (s->lane)
		h->ops->close(h->arg, s->lane,
			      s->is_whole && s->is_sent && s->keeps && s->lane->to_client.len == 0);
	if (h->asked && !s->has_head) {
		free(h->asked);
		h->asked = NULL;
	}
	/* What it did not read any more counts towards the window of all. */
	if (s->body.len)
		(void)nghttp2_session_consume_connection(h->session, s->body.len);
	h->streams[s->at] = NULL;
	drop(s);
	h->n_streams--;
	return 0;
}

/* Towards the lane. */

static bool put_head(struct h2 *h, struct stream *s)
{
	bool never = false;

	if (!s->head)
		return s->lane;
	if (!s->lane)
		s->lane = h->ops->open(h->arg, &never);
	if (!s->lane) {
		if (never)
			answer_self(s, 503, "too many connections at once");
		return false;
	}
	if (stage_put(&s->lane->from_client, s->head, s->head_len) < 0)
		return false;
	free(s->head);
	s->head = NULL;
	h->has_moved = true;
	h->ops->moved(h->arg, s->lane);
	return true;
}

/* As much of the body as fits, in one piece. False: nothing moved. */
static bool put_body(struct h2 *h, struct stream *s)
{
	struct stage_buf *to = &s->lane->from_client;
	size_t room = STAGE_BUF_MAX - to->len, n = s->body.len;
	char line[HTTP_CHUNK_HEAD_MAX];

	if (n == 0 || room <= AROUND)
		return false;
	n = n < room - AROUND ? n : room - AROUND;
	const char *data = s->body.data + s->body.start;
	if (s->is_chunked ? stage_put(to, line, http_chunk_head(line, n)) < 0 ||
				    stage_put(to, data, n) < 0 || stage_put(to, "\r\n", 2) < 0
			  : stage_put(to, data, n) < 0) {
		s->is_lost = true; /* no memory: there was room */
		return false;
	}
	stage_took(&s->body, n);
	(void)nghttp2_session_consume(h->session, s->id, n);
	return true;
}

static void send_request(struct h2 *h, struct stream *s)
{
	if (s->is_sent || s->own.len || s->is_lost || !s->has_head || !put_head(h, s))
		return;
	bool moved = false;
	while (put_body(h, s))
		moved = true;
	if (s->has_end && s->body.len == 0 && !s->is_lost &&
	    (!s->is_chunked || h2_trailers_put(&s->trailers, &s->lane->from_client)))
		moved = s->is_sent = true;
	if (moved) {
		h->has_moved = true;
		h->ops->moved(h->arg, s->lane);
	}
}

/* Back to the client. */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
			 uint32_t *flags, nghttp2_data_source *src, void *arg)
{
	struct h2 *h = arg;
	struct stream *s = src->ptr;
	struct stage_buf *from = source(s);
	struct http_error e;
	const char *data = NULL;
	size_t used = 0, len = 0, all = 0;
	int r = 0;

	while (from && from->len && all < size && r == 0) {
		size_t n = from->len < size - all ? from->len : size - all;

		r = http_body_feed(&s->answer_body, from->data + from->start, n, &used, &data, &len,
				   &e);
		if (r < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		if (len)
			memcpy(buf + all, data, len);
		all += len;
		took(h, s, from, used);
		from = source(s);
	}
	if (r > 0) {
		int sent = h2_trailers_send(session, id, &s->answer_body, NGHTTP2_NV_FLAG_NONE);

		if (sent < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		*flags |= NGHTTP2_DATA_FLAG_EOF | (sent ? NGHTTP2_DATA_FLAG_NO_END_STREAM : 0u);
		s->is_whole = true;
		return (ssize_t)all;
	}
	if (all == 0 && s->is_lost)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	s->waits = all == 0;
	return all ? (ssize_t)all : NGHTTP2_ERR_DEFERRED;
}

/* Fields of HTTP/1.1 as HTTP/2 has them: in lower case, without what belongs to a connection. */
static size_t fields_of(const struct http_head *head, char status[4], char *names, nghttp2_nv *nv)
{
	size_t n = 0;

	(void)snprintf(status, 4, "%03u", head->status % 1000u);
	nv[n++] = (nghttp2_nv){(uint8_t *)(uintptr_t) ":status", (uint8_t *)status, 7, 3, 0};
	for (unsigned i = 0; i < head->n_fields; i++) {
		const struct http_field *f = &head->fields[i];

		if (http_field_is_hop(head, f))
			continue;
		for (uint32_t k = 0; k < f->name_len; k++)
			names[k] = (char)(f->name[k] >= 'A' && f->name[k] <= 'Z' ? f->name[k] + 32
										 : f->name[k]);
		nv[n++] = (nghttp2_nv){(uint8_t *)names, (uint8_t *)(uintptr_t)f->value,
				       f->name_len, f->value_len, 0};
		names += f->name_len;
	}
	return n;
}

static int submit(struct h2 *h, struct stream *s)
{
	static char names[HTTP_HEAD_MAX];
	static nghttp2_nv nv[HTTP_FIELDS_MAX + 1];
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = read_body};
	struct http_error e;
	char status[4];
	const char *data;
	size_t used, len;
	size_t n = fields_of(&s->answer, status, names, nv);

	if (s->answer.status < 200)
		return s->answer.status == 101
			       ? -1
			       : nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE, s->id, NULL,
							nv, n, NULL);
	if (http_body_of_response(&s->answer_body, &s->answer, s->method, UINT64_MAX, &e) < 0)
		return -1;
	if (s->answer_body.kind == HTTP_BODY_CHUNKED)
		s->answer_body.kept = s->kept = malloc(HTTP_TRAILERS_ROOM);
	s->has_answer = true;
	s->keeps = s->answer.keep_alive;
	s->is_whole = http_body_feed(&s->answer_body, "", 0, &used, &data, &len, &e) > 0;
	return nghttp2_submit_response(h->session, s->id, nv, n, s->is_whole ? NULL : &body);
}

static void cut(struct h2 *h, struct stream *s, uint32_t code)
{
	if (s->is_cut)
		return;
	s->is_cut = h->has_moved = true;
	/* Without memory it stays, and ends with the connection. */
	(void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, code);
}

static void take_answer(struct h2 *h, struct stream *s)
{
	struct http_error e;

	while (!s->has_answer && !s->is_cut) {
		struct stage_buf *from = source(s);
		int used = from && from->len ? http_head_parse(&s->answer, from->data + from->start,
							       from->len, HTTP_RESPONSE, &e)
					     : 0;

		if (used == 0 && s->is_lost && !s->own.len) {
			answer_self(s, 502, "the server's answer did not come");
			if (s->own.len)
				continue;
		}
		if (used == 0 && !s->is_lost)
			return;
		if (used <= 0 || submit(h, s) != 0) {
			cut(h, s, NGHTTP2_INTERNAL_ERROR);
			return;
		}
		took(h, s, from, (size_t)used);
		http_head_init(&s->answer);
	}
	if (s->waits && ((source(s) && source(s)->len) || s->is_lost)) {
		s->waits = false;
		h->has_moved = true;
		(void)nghttp2_session_resume_data(h->session, s->id);
	}
}

/* An answer that came before all of its question: clients like to say the rest. To nobody, and not
 * for ever. */
static void finish(struct h2 *h, struct stream *s)
{
	if (!s->is_whole || s->has_end)
		return;
	if (s->body.len) {
		s->dropped += s->body.len;
		h->has_moved = true;
		(void)nghttp2_session_consume(h->session, s->id, s->body.len);
		stage_took(&s->body, s->body.len);
	}
	if (s->dropped > DROPPED_MAX &&
	    nghttp2_session_get_stream_local_close(h->session, s->id) == 1)
		cut(h, s, NGHTTP2_NO_ERROR);
}

static int receive(struct h2 *h, struct stage_io *io)
{
	struct stage_buf *in = &io->from_client;

	/* Who does not read his answers is not listened to. */
	if (in->len == 0 || STAGE_BUF_MAX - io->to_client.len < FRAME_ROOM)
		return 0;
	ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)in->data + in->start,
					     in->len);
	if (n < 0 || h->is_abused)
		return -1;
	stage_took(in, (size_t)n);
	h->has_moved |= n > 0;
	return 0;
}

static int transmit(struct h2 *h, struct stage_io *io)
{
	while (STAGE_BUF_MAX - io->to_client.len >= FRAME_ROOM) {
		const uint8_t *data;
		ssize_t n = nghttp2_session_mem_send(h->session, &data);

		if (n < 0)
			return -1;
		if (n == 0)
			return 0;
		if (stage_put(&io->to_client, data, (size_t)n) < 0)
			return -1;
		h->has_moved = true;
	}
	return 0;
}

/* The client is told, if he listens. */
static enum stage_next give_up(struct h2 *h, struct stage_io *io)
{
	(void)nghttp2_session_terminate_session(h->session, h->is_abused ? NGHTTP2_ENHANCE_YOUR_CALM
									 : NGHTTP2_PROTOCOL_ERROR);
	return transmit(h, io) < 0 ? STAGE_ABORT : STAGE_END;
}

enum stage_next h2_run(struct h2 *h, struct stage_io *io)
{
	do {
		h->has_moved = false;
		if (receive(h, io) < 0)
			return give_up(h, io);
		for (unsigned i = 0; i < H2_STREAMS_MAX; i++) {
			struct stream *s = h->streams[i];

			if (!s || !s->has_head)
				continue;
			/* Streams close where frames are read or sent, and not here. */
			send_request(h, s);
			take_answer(h, s);
			finish(h, s);
		}
		if (transmit(h, io) < 0)
			return STAGE_ABORT;
	} while (h->has_moved);
	if (io->client_ended && io->from_client.len == 0)
		return STAGE_END;
	return nghttp2_session_want_read(h->session) || nghttp2_session_want_write(h->session)
		       ? STAGE_ON
		       : STAGE_END;
}

void h2_lost(struct h2 *h, struct stage_io *lane)
{
	for (unsigned i = 0; i < H2_STREAMS_MAX; i++)
		if (h->streams[i] && h->streams[i]->lane == lane) {
			h->streams[i]->lane = NULL;
			h->streams[i]->is_lost = true;
		}
}

unsigned h2_streams(const struct h2 *h)
{
	return h->n_streams;
}

static int make_session(struct h2 *h)
{
	static const nghttp2_settings_entry mine[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX},
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
	};
	nghttp2_session_callbacks *on = NULL;
	nghttp2_option *option = NULL;
	int r = nghttp2_session_callbacks_new(&on);

	if (r == 0)
		r = nghttp2_option_new(&option);
	if (r == 0) {
		nghttp2_session_callbacks_set_on_begin_headers_callback(on, on_begin_headers);
		nghttp2_session_callbacks_set_on_header_callback(on, on_header);
		nghttp2_session_callbacks_set_on_invalid_header_callback(on, on_invalid_header);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
		nghttp2_session_callbacks_set_on_begin_frame_callback(on, on_begin_frame);
		nghttp2_session_callbacks_set_on_frame_recv_callback(on, on_frame);
		nghttp2_session_callbacks_set_on_stream_close_callback(on, on_close);
		/* A window opens when the lane has taken the bytes, and not before. */
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		r = nghttp2_session_server_new2(&h->session, on, h, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(on);
	if (r == 0)
		r = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, mine,
					    sizeof(mine) / sizeof(mine[0]));
	return r ? r
		 : nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
							 WINDOW_ALL);
}

struct h2 *h2_new(const struct h2_ops *ops, void *arg)
{
	struct h2 *h = calloc(1, sizeof(*h));

	assert(ops && ops->open && ops->moved && ops->close);
	if (!h)
		return NULL;
	h->ops = ops;
	h->arg = arg;
	if (make_session(h) != 0) {
		h2_free(h);
		return NULL;
	}
	return h;
}

void h2_free(struct h2 *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < H2_STREAMS_MAX; i++) {
		struct stream *s = h->streams[i];

		if (!s)
			continue;
		if (s->lane)
			h->ops->close(h->arg, s->lane, false);
		drop(s);
	}
	free(h->asked);
	nghttp2_session_del(h->session);
	free(h);
}
