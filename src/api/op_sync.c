/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delta synchronisation over HTTP. The request becomes a stream (101) once the keeper's child says
 * that nothing is wrong; from then on bytes go between the client and that child, and nobody here
 * looks at them: the client is on one end, the reader in its sandbox on the other.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/keeper_int.h"
#include "api/taken.h"
#include "base/fd.h"
#include "http/write.h"

#define IDLE_MS (6 * 60 * 1000) /* a little more than the two sides give each other */
#define SAID_MAX 16384u
#define WAY_BYTES ((size_t)128 << 10)

static int start(struct call *c, struct keeper_child *k, struct err *e)
{
	const char *direction = arg_str(c, "direction"), *key = arg_str(c, "key");
	bool push = !direction || strcmp(direction, "push") == 0;
	auto_words w = {0};

	if (!key)
		return err_set(e, ERR_INVALID, "key is missing: which directory is it?");
	keeper_add(&w, push ? "push" : "pull");
	keeper_add(&w, "--serve-sync");
	keeper_add(&w, "--sync-key=%s", key);
	if (arg(c, "to"))
		keeper_add(&w, "--to=%s", arg_str(c, "to"));
	if (push && arg_true(c, "mirror"))
		keeper_add(&w, "--mirror");
	keeper_add(&w, "%s", arg_str(c, "name"));
	struct keeper_start s = {.words = &w, .input = "", .grace_ms = 1000};
	return keeper_start(c, &s, k, e);
}

static int cancelled(struct err *e)
{
	return err_set(e, ERR_TIMEOUT, "cancelled");
}

/* Its letter, or why there is none. */
static int await_ready(const struct call *c, struct keeper_child *k, struct err *e)
{
	char said[SAID_MAX];
	size_t n = 0;
	struct pollfd p[2] = {{.fd = k->out, .events = POLLIN},
			      {.fd = call_cancelled_fd(c), .events = POLLIN}};

	while (n < sizeof(said)) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return err_sys(e, "poll");
		if (p[1].revents)
			return cancelled(e);
		/* What is behind the letter is the other side's. */
		ssize_t got = read(k->out, said + n, n ? sizeof(said) - n : 1);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (said[0] == 'R')
			return 0;
	}
	if (keeper_error(said, n, e) < 0 && e->text[0])
		return -EIO;
	return err_set(e, ERR_INTERNAL, "what has the workspace did not begin");
}

struct way {
	int *from, *to;
	char *bytes;
	size_t len, at;
	bool over;
};

static bool is_empty(const struct way *w)
{
	return w->at == w->len;
}

/* false: nobody takes it any more. */
static bool move(struct way *w, bool readable, bool writable)
{
	if (!is_empty(w) && writable) {
		ssize_t n = write(*w->to, w->bytes + w->at, w->len - w->at);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		w->at += n > 0 ? (size_t)n : 0;
	} else if (is_empty(w) && readable && !w->over) {
		ssize_t n = read(*w->from, w->bytes, WAY_BYTES);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		w->over = n <= 0;
		w->len = n > 0 ? (size_t)n : 0;
		w->at = 0;
	}
	return true;
}

static int read_from(const struct way *w)
{
	return is_empty(w) && !w->over ? *w->from : -1;
}

static int write_to(const struct way *w)
{
	return is_empty(w) ? -1 : *w->to;
}

/* Until the child has said all, or one of the two is gone. */
static int pump(const struct call *c, struct keeper_child *k, struct way *in, struct way *out,
		struct err *e)
{
	while (!out->over || !is_empty(out)) {
		struct pollfd p[6] = {{.fd = read_from(in), .events = POLLIN},
				      {.fd = write_to(in), .events = POLLOUT},
				      {.fd = read_from(out), .events = POLLIN},
				      {.fd = write_to(out), .events = POLLOUT},
				      {.fd = k->err, .events = POLLIN},
				      {.fd = call_cancelled_fd(c), .events = POLLIN}};
		char ignored[1024];
		int n = poll(p, 6, IDLE_MS);

		if (n == 0)
			return err_set(e, ERR_TIMEOUT, "nothing moved for %d s", IDLE_MS / 1000);
		if (p[5].revents)
			return cancelled(e);
		if (p[4].revents && read(k->err, ignored, sizeof(ignored)) == 0)
			fd_close(&k->err);
		if (!move(out, p[2].revents, p[3].revents))
			return err_set(e, ERR_CONFLICT, "the client is gone");
		if (k->in >= 0 && !move(in, p[0].revents, p[1].revents))
			in->over = true;
		if (in->over && (is_empty(in) || *in->to < 0))
			fd_close(&k->in);
		if (k->in < 0)
			in->at = in->len;
	}
	return 0;
}

static int carry(const struct call *c, struct taken *t, struct keeper_child *k, struct err *e)
{
	auto_free char *in_bytes = malloc(WAY_BYTES);
	auto_free char *out_bytes = malloc(WAY_BYTES);
	struct way in = {.from = &t->fd, .to = &k->in, .bytes = in_bytes};
	struct way out = {.from = &k->out, .to = &t->fd, .bytes = out_bytes};
	struct http_out o;
	char head[512];

	if (!in_bytes || !out_bytes || t->in_len > WAY_BYTES)
		return err_sys(e, "synchronisation");
	http_out_init(&o, head, sizeof(head));
	http_out_status(&o, 101);
	http_out_field(&o, "Connection", "Upgrade");
	http_out_field(&o, "Upgrade", "pinfold-sync");
	http_out_field(&o, "Request-Id", c->request_id);
	int n = http_out_end(&o);
	if (n < 0)
		return err_set(e, ERR_INTERNAL, "the answer is too long");
	memcpy(out.bytes, head, (size_t)n);
	out.len = (size_t)n;
	if (t->in_len)
		memcpy(in.bytes, t->in, t->in_len);
	in.len = t->in_len;
	return pump(c, k, &in, &out, e);
}

/* Who may not know of the workspace hears of that first. */
static int refuse_plain(struct call *c, struct err *e)
{
	const char *words[] = {"info", "--json", arg_str(c, "name"), NULL};
	struct keeper_ask ask = {.words = words};
	auto_free char *text = NULL;
	size_t len = 0;
	int r = keeper_ask(c, &ask, &text, &len, e);

	if (r < 0)
		return r;
	(void)err_set(e, ERR_INVALID, "synchronisation is a stream: Upgrade is missing");
	(void)err_detail(e, "upgrade");
	return err_remedy(e, "use pinfold push --url, or send Connection: Upgrade and Upgrade: "
			     "pinfold-sync");
}

int op_workspace_sync(struct call *c, struct err *e)
{
	auto_child struct keeper_child k = KEEPER_CHILD_INIT;
	auto_free struct taken *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "synchronisation");
	if (!c->upgrades)
		return refuse_plain(c, e);
	int r = start(c, &k, e);
	if (r >= 0)
		r = await_ready(c, &k, e);
	if (r >= 0)
		r = call_take(c, t, e);
	if (r >= 0) {
		r = carry(c, t, &k, e);
		taken_done(t);
	}
	/* Its end is the keeper's affair: our end of the reply closes, and so it is told. */
	return r;
}
