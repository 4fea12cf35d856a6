/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request and its answer. Who was given one (rest.c, mcp/) answers once: with a whole
 * reply or with events until exchange_end(). All in the loop's thread. The connection may be gone
 * at any time: `gone` is called, and the exchange must not be used any more.
 */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include "api/call.h"
#include "http/head.h"

struct exchange;
struct server;

const struct http_head *exchange_head(const struct exchange *x);
const struct who *exchange_who(const struct exchange *x);
struct api *exchange_api(const struct exchange *x);
const char *exchange_request_id(const struct exchange *x);
/* The body, whole (JSON routes have it before they are called), with NUL behind. */
const char *exchange_body(const struct exchange *x, size_t *ret_len);
/* A field's value as a string, cut at size - 1; false: there is none. name in lower case. */
bool exchange_field(const struct exchange *x, const char *name, char *to, size_t size);

/* Before the reply: one more field. */
void exchange_header(struct exchange *x, const char *name, const char *value);
/* All of it; `text` is taken (malloced, or NULL for none). The exchange is over. */
void exchange_reply(struct exchange *x, int status, const char *type, char *text, size_t len);
/* {"error": {...}}, and the status that fits. */
struct value *error_value(const struct err *e);
int error_status(const struct err *e);
/* Both. */
void exchange_error(struct exchange *x, const struct err *e);

/* text/event-stream from here on. */
void exchange_events(struct exchange *x);
/* event, id: NULL for none. */
void exchange_event(struct exchange *x, const char *event, const char *id, const char *data,
		    size_t len);
void exchange_comment(struct exchange *x, const char *text);
void exchange_end(struct exchange *x);
size_t exchange_pending(const struct exchange *x); /* bytes that the client has not taken yet */

void exchange_on_gone(struct exchange *x, void (*gone)(struct exchange *x, void *arg), void *arg);
/* Called when bytes went out and there is room again. */
void exchange_on_room(struct exchange *x, void (*room)(struct exchange *x, void *arg), void *arg);

/* Requests for `path` (all methods) go to `begin`, when whole and when the caller is known;
 * `scope`: what he needs. */
void server_mount(struct server *s, const char *path, unsigned scope,
		  void (*begin)(struct exchange *x, void *arg), void *arg);

#endif
