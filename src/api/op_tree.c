/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of a sandbox as a tar archive, out and in. tar runs inside, by the sandbox's own
 * user: what an archive holds can do no more than a command there. Bytes pass through us as they
 * come, and nothing of them is kept. Out: when all is well the connection is ours, in chunks; one
 * that ends without its last chunk was broken off.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/changed.h"
#include "api/handlers.h"
#include "api/taken.h"
#include "base/fd.h"
#include "http/write.h"
#include "pinfold/pinfold.h"

#define TREE_MS (60u * 60 * 1000)
#define WAIT_MS 60000 /* for a client that neither reads nor writes */
#define PART_BYTES ((size_t)64 << 10)

struct tree {
	struct call *call;
	struct pinfold_run *run;
	char said[200]; /* by tar, on its standard error */
	struct taken taken;
	bool sending;
	uint64_t bytes;
};

static const char *path_of(const struct call *c)
{
	const char *path = arg_str(c, "path");

	return path ? path : "/home/user";
}

static int start(struct tree *t, const struct box *b, bool unpack, struct err *e)
{
	const char *path = path_of(t->call);
	const char *const out[] = {"tar", "-C", path, "-cf", "-", ".", NULL};
	const char *const in[] = {"sh", "-c", "mkdir -p -- \"$1\" && exec tar -C \"$1\" -xpf -",
				  "sh", path, NULL};
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_error failure;

	o.argv = unpack ? in : out;
	o.time_ms = TREE_MS;
	o.flags = t->call->api->run_flags | (unpack ? 0 : PINFOLD_NO_STDIN);
	o.cancel_fd = call_cancelled_fd(t->call);
	return pinfold_sandbox_exec(b->id, &o, &t->run, &failure) < 0 ? api_error(e, &failure) : 0;
}

/* tar has ended badly, and what it said is all we know. */
static int failed(const struct tree *t, bool unpack, struct err *e)
{
	char *end = strchr(t->said, '\n');
	int n = end ? (int)(end - t->said) : (int)strlen(t->said);

	if (pinfold_run_exit_status(t->run) == 127)
		return err_set(e, ERR_UNSUPPORTED, "path: there is no tar in this sandbox");
	if (!unpack && strstr(t->said, "No such file")) {
		(void)err_set(e, ERR_MISSING, "path: %.200s is not there", path_of(t->call));
		return err_detail(e, "file");
	}
	(void)err_set(e, unpack && strstr(t->said, "No space") ? ERR_LIMIT : ERR_INVALID,
		      "the archive could not be %s: %.*s", unpack ? "unpacked" : "made", n,
		      t->said);
	(void)err_remedy(e, unpack ? "send a tar archive; what was unpacked before stays" : "");
	return -EINVAL;
}

static void hear(struct tree *t, const struct pinfold_event *ev)
{
	size_t n = strlen(t->said), room = sizeof(t->said) - 1 - n;

	memcpy(t->said + n, ev->data, ev->len < room ? ev->len : room);
}

static int cancelled(struct err *e)
{
	return err_set(e, ERR_INTERNAL, "nobody waits for it any more");
}

static int send_all(const struct tree *t, const char *data, size_t len, struct err *e)
{
	struct pollfd p[2] = {{.fd = t->taken.fd, .events = POLLOUT},
			      {.fd = call_cancelled_fd(t->call), .events = POLLIN}};

	while (len) {
		ssize_t n = send(t->taken.fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return cancelled(e);
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		} else if (poll(p, 2, WAIT_MS) == 0 || p[1].revents) {
			return cancelled(e);
		}
	}
	return 0;
}

static int begin(struct tree *t, struct err *e)
{
	char head[1024], date[HTTP_DATE_SIZE];
	struct http_out o;

	if (call_take(t->call, &t->taken, e) < 0)
		return -ECONNABORTED;
	t->sending = true;
	http_date(time(NULL), date);
	http_out_init(&o, head, sizeof(head));
	http_out_status(&o, 200);
	http_out_field(&o, "Date", date);
	http_out_field(&o, "Request-Id", t->call->request_id);
	http_out_field(&o, "Content-Type", "application/x-tar");
	http_out_field(&o, "Content-Disposition", "attachment");
	http_out_field(&o, "X-Content-Type-Options", "nosniff");
	if (t->taken.head.minor > 0)
		http_out_field(&o, "Transfer-Encoding", "chunked");
	http_out_field(&o, "Connection", "close");
	int n = http_out_end(&o);
	return n > 0 ? send_all(t, head, (size_t)n, e) : err_set(e, ERR_INTERNAL, "answer");
}

static bool is_chunked(const struct tree *t)
{
	return t->taken.head.minor > 0;
}

static int send_part(struct tree *t, const struct pinfold_event *ev, struct err *e)
{
	char size[24];
	int n = snprintf(size, sizeof(size), "%zx\r\n", ev->len);
	int r = t->sending ? 0 : begin(t, e);

	if (!ev->len || t->taken.head.method == HTTP_HEAD)
		return r;
	if (r >= 0 && is_chunked(t))
		r = send_all(t, size, (size_t)n, e);
	if (r >= 0)
		r = send_all(t, ev->data, ev->len, e);
	return r >= 0 && is_chunked(t) ? send_all(t, "\r\n", 2, e) : r;
}

static int send_tree(struct tree *t, struct err *e)
{
	struct pinfold_event ev = {0};
	int r = 0;

	while (r >= 0 && ev.kind != PINFOLD_EVENT_RESULT) {
		struct pollfd p[2] = {{.fd = pinfold_run_fd(t->run), .events = POLLIN},
				      {.fd = call_cancelled_fd(t->call), .events = POLLIN}};

		if (pinfold_run_next(t->run, 0, &ev) <= 0) {
			(void)poll(p, 2, -1); /* it has a time limit, which wakes us */
			r = p[1].revents ? cancelled(e) : 0;
		} else if (ev.kind == PINFOLD_EVENT_STDOUT) {
			r = send_part(t, &ev, e);
		} else if (ev.kind == PINFOLD_EVENT_STDERR) {
			hear(t, &ev);
		}
	}
	if (r >= 0 && pinfold_run_exit_status(t->run) != 0)
		return failed(t, false, e);
	if (r >= 0 && is_chunked(t) && t->taken.head.method != HTTP_HEAD)
		r = send_all(t, "0\r\n\r\n", 5, e);
	return r;
}

int op_tree_read(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct tree *t = b ? calloc(1, sizeof(*t)) : NULL;
	int r = b ? 0 : -ENOENT;

	if (b && !t)
		r = err_sys(e, "archive");
	if (t)
		t->call = c;
	if (r >= 0)
		r = start(t, b, false, e);
	if (r >= 0)
		r = send_tree(t, e);
	if (t && t->run)
		pinfold_run_free(t->run);
	if (t && t->sending)
		taken_done(&t->taken);
	free(t);
	box_put(c->api, b);
	return r;
}

/* What is read of the body and not yet written. */
struct part {
	char *bytes;
	size_t at, len;
	bool over;
};

static int take_body(struct tree *t, struct part *part, short ready, struct err *e)
{
	if (part->at < part->len || part->over || !ready)
		return 0;
	ssize_t n = read(t->call->body, part->bytes, PART_BYTES);
	if (n < 0 || (n == 0 && call_cancelled(t->call)))
		return cancelled(e);
	part->over = n == 0;
	part->at = 0;
	part->len = (size_t)n;
	t->bytes += (uint64_t)n;
	return 0;
}

static void give(struct tree *t, struct part *part)
{
	int fd = pinfold_run_stdin_fd(t->run);

	while (fd >= 0 && part->at < part->len) {
		ssize_t n = write(fd, part->bytes + part->at, part->len - part->at);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		part->at += (size_t)n;
	}
	/* An archive says where it ends: tar need not read what is behind. */
	if (fd < 0 || part->at < part->len)
		part->at = part->len;
	else if (part->over)
		pinfold_run_stdin_close(t->run);
}

static int receive_tree(struct tree *t, struct part *part, struct err *e)
{
	struct pinfold_event ev = {0};
	int r = 0;

	while (r >= 0 && (ev.kind != PINFOLD_EVENT_RESULT || !part->over)) {
		bool ended = ev.kind == PINFOLD_EVENT_RESULT;

		if (ended && pinfold_run_exit_status(t->run) != 0)
			break;
		give(t, part);
		if (!ended && pinfold_run_next(t->run, 0, &ev) > 0) {
			if (ev.kind == PINFOLD_EVENT_STDERR)
				hear(t, &ev);
			continue;
		}
		bool full = part->at < part->len;
		struct pollfd p[4] = {
			{.fd = full || part->over ? -1 : t->call->body, .events = POLLIN},
			{.fd = ended ? -1 : pinfold_run_fd(t->run), .events = POLLIN},
			{.fd = full ? pinfold_run_stdin_fd(t->run) : -1, .events = POLLOUT},
			{.fd = call_cancelled_fd(t->call), .events = POLLIN}};
		int n = poll(p, 4, part->over ? -1 : WAIT_MS);
		if (n == 0)
			r = err_set(e, ERR_TIMEOUT, "nothing of the body came for a minute");
		else
			r = p[3].revents ? cancelled(e) : take_body(t, part, p[0].revents, e);
	}
	return r >= 0 && pinfold_run_exit_status(t->run) != 0 ? failed(t, true, e) : r;
}

int op_tree_write(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct tree t = {.call = c};
	struct part part = {0};
	int r = b ? 0 : -ENOENT;

	if (r >= 0 && c->body_coding != HTTP_IDENTITY)
		r = err_set(e, ERR_INVALID, "Content-Encoding: an archive comes as it is");
	if (r >= 0 && !(part.bytes = malloc(PART_BYTES)))
		r = err_sys(e, "archive");
	if (r >= 0)
		r = start(&t, b, true, e);
	if (r >= 0)
		r = receive_tree(&t, &part, e);
	if (b)
		changed_now(b);
	if (t.run)
		pinfold_run_free(t.run);
	free(part.bytes);
	fd_close(&c->body);
	if (r >= 0) {
		c->reply.value = value_object();
		value_set(c->reply.value, "path", value_of_str(path_of(c)));
		value_set(c->reply.value, "bytes", value_of_u64(t.bytes));
	}
	box_put(c->api, b);
	return r;
}
