/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/h2_up.h"

#include <assert.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/h2.h"
#include "egress/h2_trailer.h"
#include "http/body.h"
#include "http/write.h"

#define FRAME_ROOM (16384u + 64) /* the longest frame that we send, whole */
#define AROUND 32u		 /* a chunk */
#define WINDOW (8 << 20)	 /* what is not read stays in the server's socket, see receive() */

struct h2_up {
	nghttp2_session *session;
	const struct h2_up_io *io; /* while it runs; borrowed */

	int32_t id; /* of the stream; 0: none */
	enum http_method method;
	struct http_body up;
	bool is_sent, waits; /* the request, whole; for more of it */
	char *kept;	     /* its trailers; owned */
	bool is_closed;	     /* the stream */

	char *room; /* of a head while it comes; owned; NULL: none does */
	struct http_out head;
	unsigned status;
	bool has_length;
	struct stage_buf heads, body; /* of the answer, until they are taken */
	struct h2_trailers trailers;
	bool has_answer, is_chunked; /* the last head has come; its body is in chunks */
	bool has_end, is_told;	     /* all of it has come; all was given */

	unsigned n_continuations, n_idle, n_answered;
	bool is_broken, has_moved;
};

/* Requests: text of our own, which was judged. */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
			 uint32_t *flags, nghttp2_data_source *src, void *arg)
{
	struct h2_up *h = arg;
	struct stage_buf *from = h->io->asked;
	struct http_error e;
	const char *data = NULL;
	size_t used = 0, len = 0, all = 0;
	int r = 0;

	(void)src;
	while (from->len && all < size && r == 0) {
		size_t n = from->len < size - all ? from->len : size - all;

		r = http_body_feed(&h->up, from->data + from->start, n, &used, &data, &len, &e);
		if (r < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		if (len)
			memcpy(buf + all, data, len);
		all += len;
		if (used)
			stage_took(from, used);
		h->has_moved = true;
	}
	if (r > 0) {
		int sent = h2_trailers_send(session, id, &h->up, NGHTTP2_NV_FLAG_NO_INDEX);

		if (sent < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		*flags |= NGHTTP2_DATA_FLAG_EOF | (sent ? NGHTTP2_DATA_FLAG_NO_END_STREAM : 0u);
		h->is_sent = true;
		return (ssize_t)all;
	}
	h->waits = all == 0;
	return all ? (ssize_t)all : NGHTTP2_ERR_DEFERRED;
}

static void put_pair(nghttp2_nv *nv, const char *name, size_t name_len, const char *value,
		     size_t len)
{
	*nv = (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, name_len, len,
			   NGHTTP2_NV_FLAG_NO_INDEX};
}

/* In lower case, and without what belongs to a connection. `names` has room for all of them. */
static size_t fields_of(const struct http_head *head, char *names, nghttp2_nv *nv)
{
	const struct http_field *host = http_head_field(head, "host");
	size_t n = 0;

	put_pair(&nv[n++], ":method", 7, head->method_text, head->method_len);
	put_pair(&nv[n++], ":scheme", 7, "https", 5);
	put_pair(&nv[n++], ":authority", 10, host ? host->value : "", host ? host->value_len : 0);
	put_pair(&nv[n++], ":path", 5, head->target, head->target_len);
	put_pair(&nv[n++], "te", 2, "trailers", 8); /* gRPC asks for it, and it is true */
	for (unsigned i = 0; i < head->n_fields; i++) {
		const struct http_field *f = &head->fields[i];

		if (f == host || http_field_is_hop(head, f))
			continue;
		for (uint32_t k = 0; k < f->name_len; k++)
			names[k] = (char)(f->name[k] >= 'A' && f->name[k] <= 'Z' ? f->name[k] + 32
										 : f->name[k]);
		put_pair(&nv[n++], names, f->name_len, f->value, f->value_len);
		names += f->name_len;
	}
	return n;
}

static int submit(struct h2_up *h, const struct http_head *head)
{
	static char names[HTTP_HEAD_MAX];
	static nghttp2_nv nv[HTTP_FIELDS_MAX + 5];
	nghttp2_data_provider body = {.read_callback = read_body};
	struct http_error e;
	const char *data;
	size_t used, len;

	if (http_body_of_request(&h->up, head, UINT64_MAX, &e) < 0)
		return -1;
	if (h->up.kind == HTTP_BODY_CHUNKED && !h->kept)
		h->kept = malloc(HTTP_TRAILERS_ROOM);
	h->up.kept = h->kept;
	h->is_sent = http_body_feed(&h->up, "", 0, &used, &data, &len, &e) > 0;
	h->id = nghttp2_submit_request(h->session, NULL, nv, fields_of(head, names, nv),
				       h->is_sent ? NULL : &body, NULL);
	h->method = head->method;
	return h->id < 0 ? -1 : 0;
}

static void take_request(struct h2_up *h)
{
	struct stage_buf *from = h->io->asked;
	struct http_head head;
	struct http_error e;

	if (h->waits && from->len) {
		h->waits = false;
		h->has_moved = true;
		(void)nghttp2_session_resume_data(h->session, h->id); /* it was told to wait */
	}
	if (h->id || from->len == 0)
		return;
	http_head_init(&head);
	int used = http_head_parse(&head, from->data + from->start, from->len, HTTP_REQUEST, &e);
	if (used == 0)
		return;
	if (used < 0 || submit(h, &head) < 0) {
		h->is_broken = true;
		return;
	}
	stage_took(from, (size_t)used);
	h->has_moved = true;
}

/* Answers, from what nghttp2 has checked. Whatever is returned but 0 ends the stream. */

static bool is(const char *name, const uint8_t *given, size_t len)
{
	return strlen(name) == len && memcmp(name, given, len) == 0;
}

/* That there are none is nghttp2's to see; that it has is not what framing may rest on. */
static bool is_framing(const uint8_t *name, size_t len)
{
	return is("transfer-encoding", name, len) || is("connection", name, len) ||
	       is("upgrade", name, len) || is("keep-alive", name, len) ||
	       is("proxy-connection", name, len);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct h2_up *h = arg;

	(void)session;
	h->n_continuations = 0;
	if (h->has_answer || f->hd.stream_id != h->id || f->hd.type != NGHTTP2_HEADERS)
		return 0; /* trailers are added; what is pushed nobody asked for */
	free(h->room);
	h->room = malloc(HTTP_HEAD_MAX);
	if (!h->room)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	http_out_init(&h->head, h->room, HTTP_HEAD_MAX);
	h->status = 0;
	h->has_length = false;
	return 0;
}

/* 0: none that there is; nghttp2 takes some of those. */
static unsigned status_of(const uint8_t *value, size_t len)
{
	unsigned n = 0;

	for (size_t i = 0; i < len && i < 4; i++)
		n = value[i] >= '0' && value[i] <= '9' ? 10 * n + (unsigned)(value[i] - '0')
						       : 10000;
	return len == 3 && n >= 100 && n <= 599 ? n : 0;
}

static int add_trailer(struct h2_up *h, const uint8_t *name, size_t name_len, const uint8_t *value,
		       size_t len)
{
	return !is_framing(name, name_len) && h2_trailers_add(&h->trailers, (const char *)name,
							      name_len, (const char *)value, len)
		       ? 0
		       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	struct h2_up *h = arg;
	char text[128] = "";

	(void)session;
	(void)flags;
	if (f->hd.stream_id != h->id || f->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (h->has_answer)
		return add_trailer(h, name, name_len, value, len);
	if (!h->room)
		return 0;
	if (is(":status", name, name_len)) {
		h->status = status_of(value, len);
		if (h->status)
			http_out_status(&h->head, h->status);
		return h->status ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (name_len == 0 || name[0] == ':' || name_len >= sizeof(text) ||
	    is_framing(name, name_len))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	memcpy(text, name, name_len);
	h->has_length |= is("content-length", name, name_len);
	http_out_field_n(&h->head, text, (const char *)value, len);
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

/* The head is whole: with one framing for its body, as HTTP/1.1 has it. */
static int end_head(struct h2_up *h, bool ends)
{
	bool bare = h->method == HTTP_HEAD || h->status == 204 || h->status == 304;

	h->has_answer = h->status >= 200;
	if (h->has_answer && !bare && !h->has_length) {
		h->is_chunked = !ends;
		http_out_field(&h->head, ends ? "Content-Length" : "Transfer-Encoding",
			       ends ? "0" : "chunked");
	}
	int n = h->status < 100 || h->status == 101 ? -EINVAL : http_out_end(&h->head);
	int r = n < 0 ? n : stage_put(&h->heads, h->room, (size_t)n);
	free(h->room);
	h->room = NULL;
	h->is_broken |= r < 0;
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t len, void *arg)
{
	struct h2_up *h = arg;

	(void)session;
	(void)flags;
	if (id != h->id || !h->has_answer || stage_put(&h->body, data, len) < 0)
		h->is_broken = true;
	return 0;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *arg)
{
	struct h2_up *h = arg;

	(void)session;
	if (hd->type == NGHTTP2_CONTINUATION && ++h->n_continuations > H2_CONTINUATIONS_MAX)
		h->is_broken = true;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct h2_up *h = arg;
	bool ours = f->hd.stream_id && f->hd.stream_id == h->id;
	bool ends = f->hd.flags & NGHTTP2_FLAG_END_STREAM;

	(void)session;
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		if (ours && f->hd.type == NGHTTP2_HEADERS && h->room)
			(void)end_head(h, ends);
		h->n_idle += f->hd.type == NGHTTP2_DATA && f->hd.length == 0 && !ends;
		h->has_end |= ours && ends && h->has_answer;
		break;
	case NGHTTP2_WINDOW_UPDATE: break; /* one for every piece of a long request */
	default: h->n_idle++; break;
	}
	h->is_broken |= h->n_idle > H2_IDLE_MAX + 10 * h->n_answered;
	return 0;
}

/* An answer that was whole may come with a word that the rest of its question is not wanted. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2_up *h = arg;

	(void)session;
	(void)code;
	if (id != h->id)
		return 0;
	h->is_closed = true;
	h->is_broken |= !h->has_end || !h->is_sent;
	return 0;
}

static bool put_part(struct h2_up *h)
{
	struct stage_buf *to = h->io->answered;
	size_t room = STAGE_BUF_MAX - to->len, n = h->body.len;
	char line[HTTP_CHUNK_HEAD_MAX];

	if (n == 0 || room <= AROUND)
		return false;
	n = n < room - AROUND ? n : room - AROUND;
	const char *data = h->body.data + h->body.start;
	if (h->is_chunked ? stage_put(to, line, http_chunk_head(line, n)) < 0 ||
				    stage_put(to, data, n) < 0 || stage_put(to, "\r\n", 2) < 0
			  : stage_put(to, data, n) < 0) {
		h->is_broken = true; /* no memory: there was room */
		return false;
	}
	stage_took(&h->body, n);
	return true;
}

static void give_answer(struct h2_up *h)
{
	struct stage_buf *to = h->io->answered;

	if (h->heads.len) {
		if (stage_put(to, h->heads.data + h->heads.start, h->heads.len) < 0)
			return; /* there will be room */
		stage_took(&h->heads, h->heads.len);
		h->has_moved = true;
	}
	while (put_part(h))
		h->has_moved = true;
	if (!h->has_end || h->is_told || h->body.len)
		return;
	if (h->is_chunked && !h2_trailers_put(&h->trailers, to))
		return;
	h->is_told = h->has_moved = true;
}

/* Both are whole: the next one. */
static void turn(struct h2_up *h)
{
	if (!h->is_told || !h->is_sent || !h->is_closed)
		return;
	h->id = 0;
	h2_trailers_done(&h->trailers);
	h->is_closed = h->has_answer = h->is_chunked = h->has_end = h->is_told = h->is_sent =
		h->waits = false;
	h->n_answered++;
}

/* Never more than there is room for if all of it were a body. */
static int receive(struct h2_up *h)
{
	struct stage_buf *in = h->io->in;
	size_t room = STAGE_BUF_MAX - h->body.len;
	size_t n = in->len < room ? in->len : room;

	if (n == 0 || STAGE_BUF_MAX - h->io->out->len < FRAME_ROOM)
		return 0;
	ssize_t r = nghttp2_session_mem_recv(h->session, (const uint8_t *)in->data + in->start, n);
	if (r < 0)
		return -1;
	stage_took(in, (size_t)r);
	h->has_moved |= r > 0;
	return 0;
}

static int transmit(struct h2_up *h)
{
	while (STAGE_BUF_MAX - h->io->out->len >= FRAME_ROOM) {
		const uint8_t *data;
		ssize_t n = nghttp2_session_mem_send(h->session, &data);

		if (n <= 0)
			return n < 0 ? -1 : 0;
		if (stage_put(h->io->out, data, (size_t)n) < 0)
			return -1;
		h->has_moved = true;
	}
	return 0;
}

bool h2_up_run(struct h2_up *h, const struct h2_up_io *io)
{
	h->io = io;
	do {
		h->has_moved = false;
		take_request(h);
		if (!h->is_broken && (receive(h) < 0 || transmit(h) < 0))
			h->is_broken = true;
		give_answer(h);
		turn(h);
	} while (h->has_moved && !h->is_broken);
	h->io = NULL;
	bool over = h->is_broken || (!nghttp2_session_want_read(h->session) &&
				     !nghttp2_session_want_write(h->session));
	return !over || !h2_up_is_dry(h);
}

bool h2_up_is_dry(const struct h2_up *h)
{
	return h->heads.len == 0 && h->body.len == 0 && (!h->has_end || h->is_told);
}

size_t h2_up_held(const struct h2_up *h)
{
	return h->heads.len + 2 * h->body.len + (size_t)h->is_broken + 3 * (size_t)h->id +
	       (size_t)h->is_told;
}

bool h2_up_is_idle(const struct h2_up *h)
{
	return h->id == 0 && !h->is_broken && nghttp2_session_want_read(h->session) &&
	       !nghttp2_session_want_write(h->session) &&
	       nghttp2_session_check_request_allowed(h->session);
}

static int make_session(struct h2_up *h)
{
	static const nghttp2_settings_entry mine[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX},
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
		nghttp2_option_set_no_closed_streams(option, 1);
		r = nghttp2_session_client_new2(&h->session, on, h, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(on);
	if (r == 0)
		r = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, mine,
					    sizeof(mine) / sizeof(mine[0]));
	return r ? r
		 : nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
}

struct h2_up *h2_up_new(void)
{
	struct h2_up *h = calloc(1, sizeof(*h));

	if (h && make_session(h) != 0) {
		h2_up_free(h);
		return NULL;
	}
	return h;
}

void h2_up_free(void *arg)
{
	struct h2_up *h = arg;

	if (!h)
		return;
	free(h->room);
	free(h->kept);
	h2_trailers_done(&h->trailers);
	stage_buf_done(&h->heads);
	stage_buf_done(&h->body);
	nghttp2_session_del(h->session);
	free(h);
}
