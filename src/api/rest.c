/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REST: a request becomes a call of the operation whose row fits, its result an answer. Nothing of
 * an operation is known here but its row.
 */
#include <assert.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/conn_int.h"
#include "api/log.h"
#include "api/metrics.h"
#include "api/repeat.h"
#include "base/fd.h"
#include "base/hold.h"
#include "base/utf8.h"
#include "http/accept.h"
#include "http/range.h"
#include "http/target.h"
#include "http/websocket.h"

#define PENDING_MAX (256u << 10) /* of events that the client has not taken yet: the rest waits */
#define COMMENT_MS 15000u

/* One exchange and its call; the last of the two frees it. */
struct rest {
	struct exchange *x; /* NULL: the client is gone */
	struct call *call;  /* NULL: over */
	struct feed *feed;
	struct follower follower;
	struct task attach, answer;
	struct value *early; /* what is answered before the call is over */
	struct timer comment;
	struct loop *loop;
	bool attached, draining;
	struct repeat *repeat; /* its answer is kept; or NULL */
};

/* The rest of the path, from the last segment of the template on, is the operation's own. */
static int match_below(const struct op *op, const struct http_target *t,
		       struct http_path_args *args)
{
	const char *last = strrchr(op->path, '/');
	size_t len = rest_prefix(op, t->path, t->path_len);
	char template[128];

	(void)snprintf(template, sizeof(template), "%.*s", (int)(last - op->path), op->path);
	return len ? http_path_match(template, t->path, len, args) : 0;
}

size_t rest_prefix(const struct op *op, const char *path, size_t len)
{
	size_t slashes = 0, at = 0;

	for (const char *p = op->path; *p; p++)
		slashes += *p == '/';
	for (; at < len; at++)
		if (path[at] == '/' && --slashes == 0)
			return at;
	return 0;
}

static const struct op *find_route(const struct http_head *h, struct http_path_args *args,
				   bool *ret_path_known)
{
	struct http_target t;

	http_target_split(h, &t);
	*ret_path_known = false;
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		if (!op->path || (op->flags & OP_BELOW ? match_below(op, &t, args)
						       : http_path_match(op->path, t.path,
									 t.path_len, args)) <= 0)
			continue;
		*ret_path_known = true;
		if (op->flags & OP_BELOW && h->method != HTTP_TRACE)
			return op;
		if (strlen(op->method) == h->method_len &&
		    memcmp(op->method, h->method_text, h->method_len) == 0)
			return op;
		if (h->method == HTTP_HEAD && strcmp(op->method, "GET") == 0)
			return op;
	}
	return NULL;
}

const struct op *rest_route(const struct http_head *h, struct http_path_args *ret_args)
{
	bool known;

	return find_route(h, ret_args, &known);
}

static const struct op_arg *arg_in(const struct op *op, const char *name, unsigned where)
{
	for (unsigned i = 0; i < op->n_args; i++)
		if (op->args[i].flags & where && strcmp(op->args[i].name, name) == 0)
			return &op->args[i];
	return NULL;
}

static int take_path(const struct op *op, const struct http_path_args *path, struct value *args)
{
	unsigned k = 0;

	for (unsigned i = 0; i < op->n_args && k < path->n; i++)
		if (op->args[i].flags & IN_PATH)
			value_set(args, op->args[i].name, value_of_str(path->value[k++]));
	return 0;
}

static int take_param(struct call *c, const char *name, const char *text, struct err *e)
{
	if (strcmp(name, "stream") == 0 && c->op->flags & OP_STREAM) {
		bool no = strcmp(text, "0") == 0 || strcmp(text, "false") == 0;

		c->stream = !no;
		return no || !*text || strcmp(text, "1") == 0 || strcmp(text, "true") == 0
			       ? 0
			       : err_set(e, ERR_INVALID, "stream: true or false is wanted");
	}
	/* What a list calls it who asks for the rest may call it, too. */
	if (strcmp(name, "next") == 0 && arg_in(c->op, "after", IN_QUERY))
		name = "after";
	if (!arg_in(c->op, name, IN_QUERY)) {
		(void)err_set(e, ERR_INVALID, "the query has an unknown parameter \"%.64s\"", name);
		return err_detail(e, "unknown");
	}
	if (value_get(c->args, name))
		return err_set(e, ERR_INVALID, "%.64s is there twice", name);
	value_set(c->args, name, value_of_str(text));
	return 0;
}

static int take_query(struct call *c, const struct http_head *h, struct err *e)
{
	struct http_target t;
	struct http_query q;
	struct http_param p;
	char name[128];
	auto_free char *text = malloc(HTTP_LINE_MAX + 1);

	if (!text)
		return err_sys(e, "query");
	if (c->op->flags & OP_BELOW)
		return 0;
	http_target_split(h, &t);
	http_query_init(&q, &t);
	while (http_query_next(&q, &p)) {
		if (http_decode(p.name, p.name_len, true, name, sizeof(name)) < 0 ||
		    http_decode(p.value ? p.value : "", p.value_len, true, text,
				HTTP_LINE_MAX + 1) < 0)
			return err_set(e, ERR_INVALID, "the query is not well-formed");
		if (!utf8_valid(text, strlen(text)) || !utf8_valid(name, strlen(name)))
			/* JSON cannot say such a name: it would become that of another file. */
			return err_set(e, ERR_INVALID, "%.40s: not UTF-8",
				       arg_in(c->op, name, IN_QUERY) ? name : "the query");
		if (take_param(c, name, text, e) < 0)
			return -EINVAL;
	}
	return 0;
}

static bool is_json(const char *type)
{
	const char *behind = type + 16;

	return strncasecmp(type, "application/json", 16) == 0 &&
	       strchr(";", behind[strspn(behind, " \t")]);
}

static int take_body(struct call *c, const struct exchange *x, struct err *e)
{
	auto_value *body = NULL;
	char type[128] = "";

	if (c->op->flags & OP_RAW_BODY || !x->body_len)
		return 0;
	/* curl -d says form when it is told nothing; on the Unix socket no browser can be behind
	 * it. */
	if (exchange_field(x, "content-type", type, sizeof(type)) && !is_json(type) &&
	    !(x->conn->listener->way == API_UNIX && strstr(type, "form-urlencoded"))) {
		(void)err_set(e, ERR_INVALID, "the body is not application/json");
		(void)err_detail(e, "media_type");
		return err_remedy(e, "send \"Content-Type: application/json\"");
	}
	if (value_parse(x->body, x->body_len, &body, e) < 0)
		return -EINVAL;
	if (value_kind(body) != VALUE_OBJECT)
		return err_set(e, ERR_INVALID, "the body must be an object, not %s",
			       value_kind_name(value_kind(body)));
	for (const char *key = NULL; (key = value_next_key(body, key));) {
		const struct op_arg *a = arg_in(c->op, key, IN_PATH | IN_QUERY);

		if (a && !(a->flags & IN_BODY))
			return err_set(e, ERR_INVALID, "%s belongs into the %s, not the body", key,
				       a->flags & IN_PATH ? "path" : "query");
		value_set(c->args, key, value_share(value_get(body, key)));
	}
	return 0;
}

static int take_fields(struct call *c, const struct exchange *x, struct err *e)
{
	char text[sizeof(c->last_place)];
	unsigned long long n;

	if (c->op->flags & OP_BELOW)
		return 0;
	/* One that is too long is cut, and then matches nothing. */
	(void)exchange_field(x, "if-match", c->if_match, sizeof(c->if_match));
	(void)exchange_field(x, "if-none-match", c->if_none_match, sizeof(c->if_none_match));
	if (c->op->flags & OP_RAW_BODY && http_head_field(&x->head, "content-range")) {
		(void)err_set(e, ERR_INVALID, "Content-Range: only a whole file can be written");
		return err_remedy(e, "send all of it, or add to its end with mode=append");
	}
	if (!exchange_field(x, "last-event-id", text, sizeof(text)))
		return 0;
	if (c->op->flags & OP_PLACES) {
		memcpy(c->last_place, text, sizeof(text));
		return 0;
	}
	if (!*text || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text) ||
	    sscanf(text, "%llu", &n) != 1)
		return err_set(e, ERR_INVALID, "Last-Event-ID: not a number that we gave");
	c->last_event = n;
	return 0;
}

static_assert(sizeof(((struct call *)NULL)->websocket) >= WS_ACCEPT_SIZE, "room for it");

/* What is wrong with a WebSocket is said before anything is looked for. */
static int take_upgrade(struct call *c, struct exchange *x, struct err *e)
{
	struct http_error he;

	if (!(c->op->flags & OP_TAKES) || !x->head.upgrade)
		return 0;
	c->upgrades = http_head_lists(&x->head, "upgrade", "pinfold-sync");
	if (!http_head_lists(&x->head, "upgrade", "websocket"))
		return 0;
	if (ws_handshake(&x->head, c->websocket, &he) == 0)
		return 0;
	c->websocket[0] = '\0';
	(void)err_set(e, ERR_INVALID, "%s", he.why);
	if (he.status == 426) {
		exchange_header(x, "Sec-WebSocket-Version", "13");
		(void)err_detail(e, "version");
	}
	return -EINVAL;
}

static void rest_free(struct rest *r)
{
	if (r->x || r->call || r->draining) /* who drains looks again */
		return;
	timer_set(r->loop, &r->comment, 0);
	if (r->attached)
		feed_leave(r->feed, &r->follower);
	feed_unref(r->feed);
	free(r);
}

static void gone(struct exchange *x, void *arg)
{
	struct rest *r = arg;

	(void)x;
	r->x = NULL;
	if (r->attached) {
		feed_leave(r->feed, &r->follower);
		r->attached = false;
	}
	/* With an Idempotency-Key he may come back for the answer. */
	if (r->call && !r->call->detach && !r->repeat && !(r->call->op->flags & OP_DETACHED))
		call_cancel(r->call);
	rest_free(r);
}

static void finish(struct rest *r)
{
	struct exchange *x = r->x;

	r->x = NULL;
	exchange_on_gone(x, NULL, NULL);
	exchange_on_room(x, NULL, NULL);
	exchange_end(x);
}

/* Events as far as the client takes them. */
static void drain(struct rest *r)
{
	struct feed_event ev;
	int more = 1;

	if (r->draining)
		return;
	r->draining = true;
	while (r->x && exchange_pending(r->x) < PENDING_MAX) {
		auto_free char *data = NULL;
		char id[24], missed[64];

		more = feed_take(r->feed, &r->follower, &ev, &data);
		if (more <= 0)
			break;
		if (ev.missed) {
			int n = snprintf(missed, sizeof(missed), "{\"missed\":%llu}",
					 (unsigned long long)ev.missed);

			exchange_event(r->x, "missed", NULL, missed, (size_t)n);
		}
		(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)ev.number);
		if (r->x)
			exchange_event(r->x, ev.name, *ev.id ? ev.id : id, ev.data, ev.len);
	}
	r->draining = false;
	if (r->x && more < 0)
		finish(r);
}

static void drain_or_free(struct rest *r)
{
	drain(r);
	rest_free(r);
}

static void more_events(struct follower *f)
{
	drain_or_free((struct rest *)((char *)f - offsetof(struct rest, follower)));
}

static void more_room(struct exchange *x, void *arg)
{
	(void)x;
	drain_or_free(arg);
}

static void comment(struct timer *t)
{
	struct rest *r = (struct rest *)((char *)t - offsetof(struct rest, comment));

	if (!r->x)
		return;
	timer_set(r->loop, t, loop_now_ms() + COMMENT_MS);
	exchange_comment(r->x, "still here");
}

static void attach(struct task *t)
{
	struct rest *r = (struct rest *)((char *)t - offsetof(struct rest, attach));

	if (r->x && r->x->head.method == HTTP_HEAD) {
		exchange_begin(r->x, 200, "text/event-stream", -1);
		if (r->call)
			call_cancel(r->call); /* nobody will hear it */
		finish(r);
	} else if (r->x) {
		exchange_events(r->x);
		r->attached = r->x;
		if (r->x) {
			exchange_on_room(r->x, more_room, r);
			feed_follow(r->feed, &r->follower);
			r->comment.fire = comment;
			timer_set(r->loop, &r->comment, loop_now_ms() + COMMENT_MS);
			drain(r);
		}
	}
	rest_free(r); /* not before the call is over */
}

/* The handler's thread. */
static void follow(struct call *c, struct feed *feed)
{
	struct rest *r = c->transport;

	if (r->feed || !(c->stream || c->op->flags & OP_EVENTS))
		return;
	r->feed = feed_ref(feed);
	r->follower = (struct follower){.seen = c->last_event, .more = more_events};
	r->attach.run = attach;
	loop_post(r->loop, &r->attach);
}

/* From the handler's thread to the loop's, and back. */
struct handover {
	struct task task;
	struct rest *rest;
	struct taken *to;
	sem_t done;
	int result;
};

static void hand_over(struct task *t)
{
	struct handover *h = (struct handover *)t;
	struct exchange *x = h->rest->x;

	h->result = x ? 0 : -ECONNABORTED;
	h->rest->x = NULL;
	if (x) {
		exchange_on_gone(x, NULL, NULL);
		conn_take(x->conn, h->to);
	}
	(void)sem_post(&h->done);
}

static int take(struct call *c, struct taken *ret)
{
	struct handover h = {.task.run = hand_over, .rest = c->transport, .to = ret};
	struct rest *r = c->transport;

	(void)sem_init(&h.done, 0, 0);
	loop_post(r->loop, &h.task);
	while (sem_wait(&h.done) < 0)
		;
	(void)sem_destroy(&h.done);
	return h.result;
}

/* All of it, or the part that is wanted. Returns the status. */
static int cut_to_range(struct exchange *x, struct reply *reply, int status)
{
	const struct http_field *f = http_head_field(&x->head, "range"),
				*only = http_head_field(&x->head, "if-range");
	char text[HTTP_CONTENT_RANGE_SIZE];
	struct http_part part;

	if (only && !http_etag_is(only->value, only->value_len, reply->etag))
		f = NULL; /* the part would be of something else */
	enum http_range r = f && status == 200 && x->head.method == HTTP_GET
				    ? http_range_parse(f->value, f->value_len, reply->length, &part)
				    : HTTP_RANGE_ALL;

	if (r == HTTP_RANGE_ALL)
		return status;
	http_content_range(r == HTTP_RANGE_PART ? &part : NULL, reply->length, text);
	exchange_header(x, "Content-Range", text);
	reply->offset += r == HTTP_RANGE_PART ? part.first : 0;
	reply->length = r == HTTP_RANGE_PART ? part.last - part.first + 1 : 0;
	return r == HTTP_RANGE_PART ? 206 : 416;
}

static void answer_early(struct task *t)
{
	struct rest *r = (struct rest *)((char *)t - offsetof(struct rest, answer));
	struct exchange *x = r->x;
	size_t len = 0;
	char *text = value_text(r->early, &len);

	value_free(r->early);
	r->early = NULL;
	if (!x || !text) {
		free(text);
		return;
	}
	r->x = NULL;
	exchange_on_gone(x, NULL, NULL);
	if (r->repeat) {
		repeat_end(r->call->api->repeats, r->repeat, 202, text, len);
		r->repeat = NULL;
	}
	exchange_reply(x, 202, NULL, text, len);
}

/* The handler's thread. */
static void early(struct call *c, struct value *v)
{
	struct rest *r = c->transport;

	r->early = v;
	r->answer.run = answer_early;
	loop_post(r->loop, &r->answer);
}

static void refuse_range(struct exchange *x)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INVALID, "Range: it begins behind the end");
	(void)err_detail(&e, "range");
	(void)err_remedy(&e, "Content-Range says how many bytes there are");
	exchange_error(x, &e);
}

static void send_file(struct exchange *x, struct reply *reply, int status)
{
	if (reply->coding == HTTP_IDENTITY)
		exchange_header(x, "Accept-Ranges", "bytes");
	/* Somebody hostile wrote it: no browser is to show it as a page of ours. */
	exchange_header(x, "Content-Disposition", "attachment");
	exchange_header(x, "Content-Security-Policy", "sandbox; default-src 'none'");
	status = cut_to_range(x, reply, status);
	if (status == 416) {
		refuse_range(x);
		return;
	}
	exchange_begin(x, status, reply->type ? reply->type : "application/octet-stream",
		       (int64_t)reply->length);
	if (x->head.method != HTTP_HEAD && reply->length)
		conn_add_file(x->conn, take_fd(&reply->fd), reply->offset, reply->length);
	exchange_end(x);
}

static int status_of(const struct call *c)
{
	const struct reply *reply = &c->reply;

	if (reply->status)
		return reply->status;
	if (!reply->text && !reply->type && reply->fd < 0)
		return 204;
	return c->op->flags & OP_CREATED ? 201 : 200;
}

/* From here on the answer is text or a file, and is kept for who repeats the request. */
static void settle(struct rest *r, struct call *c)
{
	struct reply *reply = &c->reply;

	if (c->result >= 0 && reply->value) {
		reply->text = value_text(reply->value, &reply->text_len);
		if (!reply->text)
			c->result = err_set(&c->error, ERR_INTERNAL, "no memory is left");
	}
	if (!r->repeat)
		return;
	if (c->result >= 0 && reply->fd < 0 && !reply->type)
		repeat_end(c->api->repeats, r->repeat, status_of(c), reply->text ? reply->text : "",
			   reply->text_len);
	else
		repeat_forget(c->api->repeats, r->repeat);
	r->repeat = NULL;
}

/* The client says which ones it has, and this is among them. */
static bool has_it(const struct exchange *x, const struct reply *reply)
{
	const struct http_field *f = http_head_field(&x->head, "if-none-match");

	return f && reply->etag[0] && (x->head.method == HTTP_GET || x->head.method == HTTP_HEAD) &&
	       http_etag_listed(f->value, f->value_len, reply->etag);
}

static void answer(struct exchange *x, struct call *c)
{
	struct reply *reply = &c->reply;
	int status = status_of(c);

	exchange_header(x, "Vary", "Accept-Encoding");
	if (reply->coding != HTTP_IDENTITY) {
		size_t n = strlen(reply->etag);

		exchange_header(x, "Content-Encoding", http_coding_name(reply->coding));
		if (n) /* other bytes, another name */
			(void)snprintf(reply->etag + n - 1, sizeof(reply->etag) - n + 1, "-%s\"",
				       http_coding_name(reply->coding));
	}
	if (reply->etag[0])
		exchange_header(x, "ETag", reply->etag);
	if (status == 200 && has_it(x, reply)) {
		exchange_begin(x, 304, NULL, 0);
		exchange_end(x);
	} else if (reply->fd >= 0)
		send_file(x, reply, status);
	else
		exchange_reply(x, status, reply->type, take_ptr(&reply->text), reply->text_len);
}

static void done(struct call *c)
{
	struct rest *r = c->transport;
	struct exchange *x = r->x;

	r->call = NULL;
	settle(r, c);
	if (x && !r->feed) {
		r->x = NULL;
		exchange_on_gone(x, NULL, NULL);
		if (c->result < 0)
			exchange_error(x, &c->error);
		else
			answer(x, c);
	}
	uint64_t ms = loop_now_ms() - c->began_ms;
	metrics_call(c->api->metrics, c->op, c->result < 0, ms * 1000);
	log_call(c, ms);
	call_free(c);
	rest_free(r);
}

/* The methods that the path does have. */
static void name_methods(struct exchange *x, struct err *e)
{
	struct http_path_args args;
	struct http_target t;
	char all[64] = "";
	size_t n = 0;

	http_target_split(&x->head, &t);
	for (size_t i = 0; i < op_count(); i++) {
		const struct op *op = op_at(i);

		if (op->path && http_path_match(op->path, t.path, t.path_len, &args) > 0)
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s%s", n ? ", " : "",
					      op->method,
					      strcmp(op->method, "GET") == 0 ? ", HEAD" : "");
		n = n < sizeof(all) ? n : sizeof(all) - 1;
	}
	exchange_header(x, "Allow", all);
	(void)err_remedy(e, "it has: %s", all);
}

static void refuse_path(struct exchange *x, bool known)
{
	struct err e = ERR_INIT;

	if (known) {
		(void)err_set(&e, ERR_INVALID, "this path does not have that method");
		(void)err_detail(&e, "method");
		name_methods(x, &e);
	} else {
		(void)err_set(&e, ERR_MISSING, "there is nothing at this path");
		(void)err_detail(&e, "path");
		(void)err_remedy(&e, "see /openapi.json");
	}
	exchange_error(x, &e);
}

static int check_scope(const struct call *c, struct err *e)
{
	if (!HOLD_API_SCOPE || !c->op->scope || c->who.scopes & c->op->scope)
		return 0;
	(void)err_set(e, ERR_DENIED, "the token does not have the scope \"%s\"",
		      scope_name(c->op->scope));
	(void)err_detail(e, "scope");
	return err_remedy(e, "make one with `pinfold token new --scope %s`",
			  scope_name(c->op->scope));
}

/* Not where a part is asked for, nor where somebody may come for the same answer again. */
static enum http_coding coding_for(const struct call *c, const struct exchange *x)
{
	if (c->op->flags & OP_EVENTS || c->stream || x->head.method == HTTP_HEAD ||
	    http_head_field(&x->head, "range") || http_head_field(&x->head, "idempotency-key"))
		return HTTP_IDENTITY;
	return http_accept_coding(&x->head);
}

static int fill(struct call *c, const struct http_path_args *path, struct exchange *x,
		struct err *e)
{
	c->args = value_object();
	if (!c->args)
		return err_sys(e, "arguments");
	(void)snprintf(c->request_id, sizeof(c->request_id), "%s", x->request_id);
	(void)take_path(c->op, path, c->args);
	int r = check_scope(c, e);
	if (r >= 0)
		r = take_query(c, &x->head, e);
	if (r >= 0)
		r = take_body(c, x, e);
	if (r >= 0)
		r = take_fields(c, x, e);
	if (r >= 0)
		r = take_upgrade(c, x, e);
	if (r >= 0)
		r = op_check(c->op, c->args, e);
	c->detach = r >= 0 && arg_true(c, "detach");
	c->body = take_fd(&x->pipe_end);
	c->body_coding = x->coding;
	c->coding = coding_for(c, x);
	return r;
}

/* 1: it was done before, and is answered. */
static int look_for_repeat(struct rest *r, struct call *c, struct exchange *x, struct err *e)
{
	char key[REPEAT_KEY_MAX + 2];
	uint8_t digest[HASH_BYTES];
	struct repeat *one = NULL;
	struct hash h;

	if (x->head.method != HTTP_POST || c->op->flags & OP_BELOW ||
	    !exchange_field(x, "idempotency-key", key, sizeof(key)))
		return 0;
	if (c->stream || c->op->flags & (OP_RAW_BODY | OP_TAKES)) {
		(void)err_set(e, ERR_INVALID,
			      "Idempotency-Key: not with an answer that is a stream");
		return err_remedy(e,
				  c->stream ? "leave stream out; events of a run that detaches can "
					      "be followed afterwards"
					    : "leave it out");
	}
	if (!*key || strlen(key) > REPEAT_KEY_MAX)
		return err_set(e, ERR_INVALID, "Idempotency-Key: 1 to %u bytes", REPEAT_KEY_MAX);
	hash_init(&h);
	hash_add(&h, x->head.target, x->head.target_len);
	hash_add(&h, "\n", 1);
	hash_add(&h, x->body ? x->body : "", x->body_len);
	hash_done(&h, digest);
	int result = repeat_begin(c->api->repeats, c->who.tenant, key, digest, &one, e);
	if (result == 0)
		r->repeat = one;
	if (result <= 0)
		return result;
	char *copy = malloc(one->len + 1);
	if (!copy)
		return err_sys(e, "answer");
	memcpy(copy, one->text, one->len);
	exchange_header(x, "Idempotent-Replayed", "true");
	exchange_reply(x, one->status, NULL, copy, one->len);
	return 1;
}

static int start(struct exchange *x, const struct op *op, const struct http_path_args *path,
		 struct err *e)
{
	struct call *c = call_new(exchange_api(x), op, &x->who);
	struct rest *r = calloc(1, sizeof(*r));

	if (!c || !r) {
		call_free(c);
		free(r);
		return err_set(e, ERR_BUSY, "no memory or no descriptor is left");
	}
	*r = (struct rest){.x = x, .call = c, .loop = c->api->loop};
	c->transport = r;
	c->done = done;
	c->follow = follow;
	c->early = early;
	c->take = op->flags & OP_TAKES ? take : NULL;
	int result = fill(c, path, x, e);
	if (result < 0 && c->op->scope && c->args) {
		/* Who is known and refused is on record, by the way of all calls. */
		c->error = *e;
		c->refused = true;
		c->stream = c->detach = false;
		result = 0;
	} else if (result >= 0) {
		result = look_for_repeat(r, c, x, e);
	}
	if (result == 0) {
		exchange_on_gone(x, gone, r);
		result = call_start(c, e);
	}
	if (result != 0) {
		if (result < 0)
			exchange_on_gone(x, NULL, NULL);
		if (r->repeat)
			repeat_forget(c->api->repeats, r->repeat);
		call_free(c);
		free(r);
	}
	return result;
}

void rest_begin(struct exchange *x)
{
	struct http_path_args path;
	struct err e = ERR_INIT;
	bool known = false;
	const struct op *op = find_route(&x->head, &path, &known);

	if (!op)
		refuse_path(x, known);
	else if (start(x, op, &path, &e) < 0)
		exchange_error(x, &e);
}
