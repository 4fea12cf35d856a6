/* SPDX-License-Identifier: Apache-2.0 */
#include "api/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "api/coding.h"
#include "api/conn_int.h"
#include "base/fd.h"
#include "base/id.h"
#include "http/write.h"

#define JSON_TYPE "application/json"

void exchange_init(struct exchange *x, struct conn *c)
{
	struct err e = ERR_INIT;

	x->conn = c;
	http_head_init(&x->head);
	x->head_bytes = NULL;
	x->body = NULL;
	x->coding = HTTP_IDENTITY;
	x->coder = NULL;
	x->body_len = x->body_room = x->fields_len = 0;
	x->events = x->over = x->chunked = x->pipe_wanted = false;
	x->gone = NULL;
	x->room = NULL;
	x->pipe = x->pipe_end = FD_NONE;
	x->pipe_watch = (struct watch){.fd = FD_NONE};
	if (id_make("req", x->request_id, &e) < 0)
		x->request_id[0] = '\0';
}

void exchange_done(struct exchange *x)
{
	void (*gone)(struct exchange *, void *) = x->over ? NULL : x->gone;

	if (x->counted)
		x->conn->server->counts.streams--;
	x->counted = false;
	x->gone = NULL;
	x->over = true;
	/* Before the pipe ends: a handler must not take a part of the body for the whole. */
	if (gone)
		gone(x, x->gone_arg);
	watch_done(&x->pipe_watch);
	fd_close(&x->pipe);
	fd_close(&x->pipe_end);
	coder_free(x->coder);
	free(x->body);
	free(x->head_bytes);
	x->coder = NULL;
	x->body = x->head_bytes = NULL;
	x->head.n_fields = 0;
}

const struct http_head *exchange_head(const struct exchange *x)
{
	return &x->head;
}

const struct who *exchange_who(const struct exchange *x)
{
	return &x->who;
}

struct api *exchange_api(const struct exchange *x)
{
	return x->conn->server->api;
}

const char *exchange_request_id(const struct exchange *x)
{
	return x->request_id;
}

const char *exchange_body(const struct exchange *x, size_t *ret_len)
{
	*ret_len = x->body_len;
	return x->body ? x->body : "";
}

bool exchange_field(const struct exchange *x, const char *name, char *to, size_t size)
{
	const struct http_field *f = http_head_field(&x->head, name);

	if (!f)
		return false;
	(void)snprintf(to, size, "%.*s", (int)f->value_len, f->value);
	return true;
}

void exchange_header(struct exchange *x, const char *name, const char *value)
{
	struct http_out o;

	http_out_init(&o, x->fields + x->fields_len, sizeof(x->fields) - x->fields_len);
	http_out_field(&o, name, value);
	if (!o.error)
		x->fields_len += o.len;
}

void exchange_begin(struct exchange *x, int status, const char *type, int64_t length)
{
	char buf[FIELDS_SIZE + 1024], date[HTTP_DATE_SIZE];
	struct http_out o;

	if (x->conn->state == CONN_BODY)
		x->conn->keep = false; /* what comes before the next request is not known */
	http_date(time(NULL), date);
	http_out_init(&o, buf, sizeof(buf));
	http_out_status(&o, (unsigned)status);
	http_out_field(&o, "Date", date);
	http_out_field(&o, "Request-Id", x->request_id);
	if (status != 204 && status != 304 && (length != 0 || type))
		http_out_field(&o, "Content-Type", type ? type : JSON_TYPE);
	http_out_field(&o, "X-Content-Type-Options", "nosniff");
	x->chunked = length < 0 && x->head.minor > 0;
	if (length >= 0 && status != 204 && status != 304)
		http_out_field_u64(&o, "Content-Length", (uint64_t)length);
	else if (x->chunked)
		http_out_field(&o, "Transfer-Encoding", "chunked");
	if (length < 0 && !x->chunked)
		x->conn->keep = false;
	if (!x->conn->keep)
		http_out_field(&o, "Connection", "close");
	if (o.len + x->fields_len + 2 < sizeof(buf)) {
		memcpy(buf + o.len, x->fields, x->fields_len);
		o.len += x->fields_len;
	}
	int n = http_out_end(&o);
	if (n > 0)
		conn_add(x->conn, buf, (size_t)n);
	else
		conn_close(x->conn);
}

void exchange_reply(struct exchange *x, int status, const char *type, char *text, size_t len)
{
	exchange_begin(x, status, type, (int64_t)len);
	if (text && x->head.method != HTTP_HEAD && len)
		conn_add_taken(x->conn, text, len);
	else
		free(text);
	exchange_end(x);
}

int error_status(const struct err *e)
{
	static const int status[ERR_KINDS] = {
		[ERR_INTERNAL] = 500,	     [ERR_INVALID] = 400,     [ERR_DENIED] = 403,
		[ERR_MISSING] = 404,	     [ERR_CONFLICT] = 409,    [ERR_LIMIT] = 429,
		[ERR_TIMEOUT] = 504,	     [ERR_UNSUPPORTED] = 501, [ERR_BUSY] = 503,
		[ERR_UNAUTHENTICATED] = 401,
	};

	if (strcmp(e->detail, "method") == 0)
		return 405;
	if (strncmp(e->detail, "port_", 5) == 0 && e->kind == ERR_CONFLICT)
		return 502;
	if (strcmp(e->detail, "precondition") == 0)
		return 412;
	if (strcmp(e->detail, "version") == 0)
		return 426;
	if (strcmp(e->detail, "media_type") == 0)
		return 415;
	if (strcmp(e->detail, "range") == 0)
		return 416;
	return status[e->kind];
}

struct value *error_value(const struct err *e)
{
	struct value *outer = value_object(), *o = value_object();
	const char *remedy = e->remedy;
	char code[80];

	(void)snprintf(code, sizeof(code), "%s%s%s", err_code(e->kind), e->detail[0] ? "." : "",
		       e->detail);
	if (!remedy[0])
		remedy = e->kind == ERR_INVALID ? "correct it: /openapi.json says what is taken"
						: err_advice(code);
	value_set(o, "code", value_of_str(code));
	value_set(o, "message", value_of_str(e->text));
	value_set(o, "remedy", value_of_str(remedy));
	value_set(outer, "error", o);
	return outer;
}

void exchange_error(struct exchange *x, const struct err *e)
{
	auto_value *v = error_value(e);
	size_t len = 0;
	char *text = value_text(v, &len), wait[24];

	if (e->kind == ERR_UNAUTHENTICATED)
		exchange_header(x, "WWW-Authenticate", "Bearer");
	if (e->kind == ERR_BUSY || (e->kind == ERR_LIMIT && e->retry_ms)) {
		unsigned s = e->retry_ms / 1000 + (e->retry_ms % 1000 != 0);

		(void)snprintf(wait, sizeof(wait), "%u", s ? s : 1);
		exchange_header(x, "Retry-After", wait);
	}
	exchange_reply(x, error_status(e), NULL, text, text ? len : 0);
}

void exchange_events(struct exchange *x)
{
	exchange_header(x, "Cache-Control", "no-cache, no-transform");
	exchange_header(x, "X-Accel-Buffering", "no");
	exchange_begin(x, 200, "text/event-stream", -1);
	x->events = x->counted = true;
	x->conn->server->counts.streams++;
	/* There may be a thousand of them. */
	free(x->head_bytes);
	free(x->body);
	x->head_bytes = x->body = NULL;
	x->head.n_fields = 0;
	x->body_len = x->body_room = 0;
	conn_push(x->conn);
}

static void add_chunk(struct exchange *x, const char *data, size_t len)
{
	char head[HTTP_CHUNK_HEAD_MAX];
	size_t n = x->chunked ? http_chunk_head(head, len) : 0;
	char *all = malloc(n + len + 2);

	if (all) {
		memcpy(all, head, n);
		memcpy(all + n, data, len);
		memcpy(all + n + len, "\r\n", 2);
	}
	conn_add_taken(x->conn, all, n + len + (x->chunked ? 2 : 0));
	if (x->conn->out_bytes > OUT_MAX) {
		x->conn->server->counts.dropped++;
		conn_close(x->conn);
	} else {
		conn_push(x->conn);
	}
}

void exchange_event(struct exchange *x, const char *event, const char *id, const char *data,
		    size_t len)
{
	size_t lines = 1, room;

	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n' || data[i] == '\r';
	room = len + 8 * lines + 128 + (event ? strlen(event) : 0) + (id ? strlen(id) : 0);
	auto_free char *buf = malloc(room);
	int n = buf ? sse_frame(buf, room, event, id, data, len) : -ENOMEM;
	if (n > 0)
		add_chunk(x, buf, (size_t)n);
	else
		conn_close(x->conn); /* a gap must not go unnoticed */
}

void exchange_comment(struct exchange *x, const char *text)
{
	char buf[128];
	int n = snprintf(buf, sizeof(buf), ": %s\n\n", text);

	add_chunk(x, buf, (size_t)n);
}

void exchange_end(struct exchange *x)
{
	if (x->chunked && x->events)
		conn_add(x->conn, HTTP_CHUNK_END, 5);
	x->over = true;
	conn_push(x->conn);
}

size_t exchange_pending(const struct exchange *x)
{
	return x->conn->out_bytes;
}

void exchange_on_gone(struct exchange *x, void (*gone)(struct exchange *x, void *arg), void *arg)
{
	x->gone = gone;
	x->gone_arg = arg;
}

void exchange_on_room(struct exchange *x, void (*room)(struct exchange *x, void *arg), void *arg)
{
	x->room = room;
	x->room_arg = arg;
}
