/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports inside, forwarded to URLs here. A port is closed until somebody who may run commands in the
 * sandbox opens it. The sandbox's own file server connects, with a command's rights, so there is
 * nothing to be reached this way but the loopback of that one sandbox.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/boxes.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/proxy.h"
#include "api/server.h"
#include "base/fd.h"
#include "http/target.h"
#include "http/write.h"
#include "pinfold/pinfold.h"

static uint16_t *find_port(struct box *b, unsigned port)
{
	for (unsigned i = 0; i < BOX_PORTS_MAX; i++)
		if (b->ports[i] == port)
			return &b->ports[i];
	return NULL;
}

int box_port_open(struct box *b, unsigned port, struct err *e)
{
	(void)pthread_mutex_lock(&b->lock);
	uint16_t *at = find_port(b, port);
	if (!at)
		at = find_port(b, 0);
	if (at)
		*at = (uint16_t)port;
	(void)pthread_mutex_unlock(&b->lock);
	if (at)
		return 0;
	(void)err_set(e, ERR_LIMIT, "port: %u of this sandbox are open already", BOX_PORTS_MAX);
	return err_remedy(e, "close one first");
}

bool box_port_close(struct box *b, unsigned port)
{
	(void)pthread_mutex_lock(&b->lock);
	uint16_t *at = find_port(b, port);
	if (at)
		*at = 0;
	(void)pthread_mutex_unlock(&b->lock);
	return at;
}

bool box_port_is_open(struct box *b, unsigned port)
{
	(void)pthread_mutex_lock(&b->lock);
	bool is_open = find_port(b, port);
	(void)pthread_mutex_unlock(&b->lock);
	return is_open;
}

/* Below the list, as the row of port.forward has it. */
struct value *port_describe(const struct box *b, unsigned port)
{
	struct value *o = value_object();
	char url[128];
	size_t n = 0;

	for (size_t i = 0; i < op_count(); i++)
		if (op_at(i)->handler == op_port_list) {
			const char *path = op_at(i)->path, *hole = strchr(path, '{');
			const char *behind = strchr(path, '}') + 1;

			n = (size_t)snprintf(url, sizeof(url), "%.*s%s%s/%u/", (int)(hole - path),
					     path, b->id, behind, port);
		}
	value_set(o, "port", value_of_u64(port));
	value_set(o, "url", value_of_bytes(url, n));
	return o;
}

int op_port_list(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct value *items;

	if (!b)
		return -ENOENT;
	items = value_array();
	(void)pthread_mutex_lock(&b->lock);
	for (unsigned i = 0; i < BOX_PORTS_MAX; i++)
		if (b->ports[i])
			value_add(items, port_describe(b, b->ports[i]));
	(void)pthread_mutex_unlock(&b->lock);
	c->reply.value = value_object();
	value_set(c->reply.value, "items", items);
	value_set(c->reply.value, "next", value_of_null());
	box_put(c->api, b);
	return 0;
}

int op_port_open(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	unsigned port = (unsigned)arg_int(c, "port", 0);

	if (!b)
		return -ENOENT;
	int r = box_port_open(b, port, e);
	if (r >= 0)
		c->reply.value = port_describe(b, port);
	box_put(c->api, b);
	return r;
}

static int not_open(unsigned port, struct err *e)
{
	(void)err_set(e, ERR_DENIED, "port %u of this sandbox is not open", port);
	(void)err_detail(e, "port");
	return err_remedy(e, "POST {\"port\": %u} to the sandbox's ports first", port);
}

int op_port_close(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	unsigned port = (unsigned)arg_int(c, "port", 0);

	if (!b)
		return -ENOENT;
	int r = 0;
	if (!box_port_close(b, port)) {
		r = err_set(e, ERR_MISSING, "port %u of this sandbox is not open", port);
		(void)err_detail(e, "port");
	}
	box_put(c->api, b);
	return r;
}

static int connect_inside(struct box *b, unsigned port, int *ret_fd, struct err *e)
{
	struct pinfold_error failure;
	struct pinfold_files *files = box_files(b, e);

	if (!files)
		return -EIO;
	int r = pinfold_port_connect(files, port, ret_fd, &failure);
	box_files_put(b, r < 0 && (!strncmp(failure.code, "timeout", 7) ||
				   !strncmp(failure.code, "conflict.gone", 13)));
	return r < 0 ? api_error(e, &failure) : 0;
}

/* He has a connection and no answer yet. */
static void say_error(struct taken *t, const struct err *e, const char *request_id)
{
	auto_value *v = error_value(e);
	size_t len = 0;
	auto_free char *text = value_text(v, &len);
	char buf[1024];
	struct http_out o;

	http_out_init(&o, buf, sizeof(buf));
	http_out_status(&o, (unsigned)error_status(e));
	http_out_field(&o, "Content-Type", "application/json");
	http_out_field(&o, "Request-Id", request_id);
	http_out_field_u64(&o, "Content-Length", len);
	http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	if (!text || n < 0)
		return;
	/* It is short: the socket takes it whole, or he is gone. */
	if (send(t->fd, buf, (size_t)n, MSG_NOSIGNAL | MSG_MORE) == n &&
	    t->head.method != HTTP_HEAD)
		(void)!send(t->fd, text, len, MSG_NOSIGNAL);
	(void)shutdown(t->fd, SHUT_WR);
}

static int forward(struct call *c, struct taken *t, int inside, unsigned port, struct err *e)
{
	char prefix[256], rest[HTTP_LINE_MAX + 1];
	struct http_target where;

	http_target_split(&t->head, &where);
	size_t at = rest_prefix(c->op, where.path, where.path_len);
	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)at, where.path);
	(void)snprintf(rest, sizeof(rest), "%.*s%s%.*s", (int)(where.path_len - at),
		       where.path + at, where.query ? "?" : "", (int)where.query_len,
		       where.query ? where.query : "");
	const struct proxy_target to = {.prefix = prefix,
					.rest = rest,
					.port = port,
					.websocket = c->websocket,
					.request_id = c->request_id};
	int r = proxy_run(t, inside, &to, call_cancelled_fd(c), e);
	if (r < 0)
		say_error(t, e, c->request_id);
	return r;
}

int op_port_forward(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	unsigned port = (unsigned)arg_int(c, "port", 0);
	auto_close int inside = FD_NONE;
	auto_free struct taken *t = calloc(1, sizeof(*t));
	int r = b && t ? 0 : -ENOENT;

	if (r >= 0 && !box_port_is_open(b, port))
		r = not_open(port, e);
	if (r >= 0)
		r = connect_inside(b, port, &inside, e);
	if (r >= 0)
		r = call_take(c, t, e);
	if (r >= 0) {
		r = forward(c, t, inside, port, e);
		taken_done(t);
	}
	box_put(c->api, b);
	return r;
}
