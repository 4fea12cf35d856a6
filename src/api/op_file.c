/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a sandbox that lives. Paths are resolved inside; what comes here are descriptors. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/boxes.h"
#include "api/changed.h"
#include "api/coding.h"
#include "api/handlers.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "http/range.h"
#include "pinfold/pinfold.h"

#define COPY_SIZE (256u << 10)
#define BODY_WAIT_MS 60000

/* A sandbox and its channel, for one operation. */
struct place {
	struct call *call;
	struct box *box;
	struct pinfold_files *files;
	struct pinfold_error failure;
};

static int enter(struct place *p, struct call *c, struct err *e)
{
	*p = (struct place){.call = c, .box = box_find(c->api, &c->who, arg_str(c, "id"), e)};
	if (!p->box)
		return -ENOENT;
	p->files = box_files(p->box, e);
	if (p->files)
		return 0;
	box_put(c->api, p->box);
	return -EIO;
}

/* r: what the library said. */
static int leave(struct place *p, int r, struct err *e)
{
	bool broken = r < 0 && (strcmp(p->failure.code, "timeout") == 0 ||
				strcmp(p->failure.code, "conflict.gone") == 0);

	if (r < 0)
		r = api_error(e, &p->failure);
	box_files_put(p->box, broken);
	box_put(p->call->api, p->box);
	return r;
}

static struct value *describe(const char *path, const struct pinfold_file_info *info)
{
	struct value *o = value_object();
	const char *slash = strrchr(path, '/');
	char mode[8];

	(void)snprintf(mode, sizeof(mode), "%04o", info->mode & 07777);
	value_set(o, "path", value_of_str(path));
	if (!utf8_valid(path, strlen(path))) /* several names may look the same then */
		value_set(o, "path_base64", value_of_base64(path, strlen(path)));
	value_set(o, "name", value_of_str(slash ? slash + 1 : path));
	value_set(o, "type", value_of_str(info->type));
	value_set(o, "size", value_of_u64(info->size));
	value_set(o, "mode", value_of_str(mode));
	value_set(o, "uid", value_of_u64(info->uid));
	value_set(o, "gid", value_of_u64(info->gid));
	value_set(o, "modified",
		  value_of_instant(info->mtime_ns > 0 ? (uint64_t)info->mtime_ns / 1000000 : 0));
	value_set(o, "target", info->target[0] ? value_of_str(info->target) : value_of_null());
	return o;
}

static const char *type_of(const char *path)
{
	static const struct {
		const char *end, *type;
	} known[] = {{".png", "image/png"},
		     {".jpg", "image/jpeg"},
		     {".jpeg", "image/jpeg"},
		     {".gif", "image/gif"},
		     {".pdf", "application/pdf"},
		     {".json", "application/json"},
		     {".txt", "text/plain; charset=utf-8"},
		     {".csv", "text/csv; charset=utf-8"}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strlen(known[i].end), len = strlen(path);

		if (len > n && strcmp(path + len - n, known[i].end) == 0)
			return known[i].type;
	}
	return "application/octet-stream";
}

static void put_etag(struct call *c, const struct pinfold_file_info *info)
{
	(void)snprintf(c->reply.etag, sizeof(c->reply.etag), "\"%llx-%llx\"",
		       (unsigned long long)info->mtime_ns, (unsigned long long)info->size);
}

/* If-Match, If-None-Match: who changes a file says which one he has seen, or that there is none. */
static int check_condition(struct call *c, struct pinfold_files *files, struct err *e)
{
	auto_free struct pinfold_file_info *info = malloc(sizeof(*info));
	const char *path = arg_str(c, "path");
	struct pinfold_error failure;

	if (!info || (!c->if_match[0] && !c->if_none_match[0]))
		return info ? 0 : err_sys(e, "condition");
	c->reply.etag[0] = '\0';
	if (pinfold_file_stat(files, path, 0, info, &failure) >= 0)
		put_etag(c, info);
	else if (strncmp(failure.code, "not_found", 9) != 0)
		return api_error(e, &failure);
	const char *now = c->reply.etag;
	bool wanted = !c->if_match[0] || http_etag_listed(c->if_match, strlen(c->if_match), now);
	bool unwanted = c->if_none_match[0] &&
			http_etag_listed(c->if_none_match, strlen(c->if_none_match), now);
	if (wanted && !unwanted)
		return 0;
	c->reply.etag[0] = '\0';
	(void)err_set(e, ERR_CONFLICT, "path: %.300s is not as %s wants it", path,
		      unwanted ? "If-None-Match" : "If-Match");
	(void)err_detail(e, "precondition");
	return err_remedy(e, "read it again, and send the ETag that it has now");
}

int op_file_read(struct call *c, struct err *e)
{
	struct pinfold_file_info *info = malloc(sizeof(*info));
	struct place p;

	if (!info || enter(&p, c, e) < 0) {
		free(info);
		return -EIO;
	}
	int r = pinfold_file_open(p.files, arg_str(c, "path"), &c->reply.fd, info, &p.failure);
	if (r >= 0) {
		c->reply.length = info->size;
		c->reply.type = type_of(arg_str(c, "path"));
		put_etag(c, info);
	}
	free(info);
	return leave(&p, r, e);
}

/* Where the body goes. */
struct target {
	int fd;
	struct coder *coder; /* it comes compressed; NULL: as it is */
	uint64_t bytes;
};

static int put_bytes(struct target *t, const char *data, size_t len)
{
	if (len && fd_write_all(t->fd, data, len) < 0)
		return errno ? -errno : -EIO;
	t->bytes += len;
	return 0;
}

/* What came compressed is written as it was before; the disk of the sandbox is all it can fill. */
static int put(struct target *t, const char *data, size_t len, bool last)
{
	struct coder_io io = {.in = data, .in_len = len, .last = last};
	auto_free char *out = t->coder ? malloc(COPY_SIZE) : NULL;
	int r = 0;

	if (!t->coder)
		return put_bytes(t, data, len);
	do {
		io.out = out;
		io.room = COPY_SIZE;
		r = out ? coder_step(t->coder, &io) : -ENOMEM;
		if (r >= 0 && put_bytes(t, out, COPY_SIZE - io.room) < 0)
			return errno ? -errno : -EIO;
	} while (r == 0 && (io.in_len || !io.room));
	return r < 0 ? r : 0;
}

/* The body as it comes. 0, or -errno: of the sandbox's file (ENOSPC), or the client went away. */
static int copy_body(const struct call *c, struct target *to)
{
	auto_free char *buf = malloc(COPY_SIZE);
	struct pollfd p[2] = {{.fd = c->body, .events = POLLIN},
			      {.fd = call_cancelled_fd(c), .events = POLLIN}};

	if (!buf)
		return -ENOMEM;
	for (;;) {
		if (poll(p, 2, BODY_WAIT_MS) <= 0)
			return -ETIMEDOUT;
		if (p[1].revents)
			return -ECANCELED;
		ssize_t n = read(c->body, buf, COPY_SIZE);
		/* A client that is lost ends the pipe, too, but not before it says so. */
		if (n <= 0 && (n < 0 || call_cancelled(c)))
			return n < 0 ? -errno : -ECANCELED;
		int r = put(to, buf, (size_t)n, n == 0);
		if (r < 0 || n == 0)
			return r;
	}
}

static uint32_t write_flags(const struct call *c)
{
	const char *mode = arg_str(c, "mode");

	return PINFOLD_WRITE_PARENTS |
	       (mode && !strcmp(mode, "append") ? PINFOLD_WRITE_APPEND : 0) |
	       (mode && !strcmp(mode, "create") ? PINFOLD_WRITE_NEW : 0);
}

static int take_permissions(const char *text, uint32_t *ret, struct err *e)
{
	size_t n = text ? strlen(text) : 0;

	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret = *ret << 3 | (uint32_t)((text[i] - '0') & 7);
	if (!text || (n >= 3 && n <= 4 && strspn(text, "01234567") == n && *ret <= 0777))
		return 0;
	(void)err_set(e, ERR_INVALID, "permissions: \"%.8s\" are none", text);
	return err_remedy(e, "use octal digits, such as 644 or 0755; no more than 0777");
}

static int write_body(struct call *c, struct pinfold_files *files, struct pinfold_error *failure,
		      uint64_t *ret_bytes, struct err *e)
{
	struct pinfold_file_writer *w = NULL;
	uint32_t mode = 0;

	if (take_permissions(arg_str(c, "permissions"), &mode, e) < 0 ||
	    check_condition(c, files, e) < 0)
		return -EINVAL;
	if (pinfold_file_write(files, arg_str(c, "path"), write_flags(c), mode, &w, failure) < 0)
		return api_error(e, failure);
	struct target to = {.fd = pinfold_file_writer_fd(w)};
	if (c->body_coding != HTTP_IDENTITY)
		to.coder = coder_new(c->body_coding, true);
	int r = c->body_coding != HTTP_IDENTITY && !to.coder ? -ENOMEM : copy_body(c, &to);
	coder_free(to.coder);
	*ret_bytes = to.bytes;
	if (r == 0 && check_condition(c, files, e) < 0) { /* it took a while */
		pinfold_file_abort(w);
		return -EEXIST;
	}
	if (r == 0)
		return pinfold_file_commit(w, failure) < 0 ? api_error(e, failure) : 0;
	pinfold_file_abort(w);
	if (r == -ENOSPC || r == -EDQUOT) {
		(void)err_set(e, ERR_LIMIT, "the sandbox's disk is full");
		(void)err_detail(e, "disk");
		return err_remedy(e, "remove files, or make a sandbox with more `disk`");
	}
	if (r == -EINVAL && c->body_coding != HTTP_IDENTITY)
		return err_set(e, ERR_INVALID, "the body is not what its Content-Encoding says");
	return err_set(e, r == -ETIMEDOUT ? ERR_TIMEOUT : ERR_INTERNAL,
		       "the file was not written: %s", strerror(-r));
}

/* A channel of its own: an upload may take long, and others want to read meanwhile. */
int op_file_write(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct pinfold_files *files = NULL;
	struct pinfold_error failure;
	uint64_t bytes = 0;
	int r = b ? 0 : -ENOENT;

	if (b && pinfold_files_open(b->id, &files, &failure) < 0)
		r = api_error(e, &failure);
	if (r >= 0)
		r = write_body(c, files, &failure, &bytes, e);
	pinfold_files_close(files);
	fd_close(&c->body);
	c->reply.etag[0] = '\0'; /* that was the old one's */
	if (b)
		changed_now(b);
	if (r >= 0) {
		c->reply.value = value_object();
		value_set(c->reply.value, "path", value_of_str(arg_str(c, "path")));
		value_set(c->reply.value, "bytes", value_of_u64(bytes));
	}
	box_put(c->api, b);
	return r;
}

int op_file_delete(struct call *c, struct err *e)
{
	struct place p;

	if (enter(&p, c, e) < 0)
		return -EIO;
	if (check_condition(c, p.files, e) < 0) {
		(void)leave(&p, 0, e);
		return -EEXIST;
	}
	c->reply.etag[0] = '\0';
	return leave(&p,
		     pinfold_file_remove(p.files, arg_str(c, "path"), arg_true(c, "recursive"),
					 &p.failure),
		     e);
}

int op_file_stat(struct call *c, struct err *e)
{
	auto_free struct pinfold_file_info *info = malloc(sizeof(*info));
	struct place p;

	if (!info || enter(&p, c, e) < 0)
		return -EIO;
	int r = pinfold_file_stat(p.files, arg_str(c, "path"), PINFOLD_FILE_NOFOLLOW, info,
				  &p.failure);
	if (r >= 0)
		c->reply.value = describe(arg_str(c, "path"), info);
	return leave(&p, r, e);
}

struct listing {
	struct value *items;
	size_t limit;
	const char *after;
	bool more;
	char last[4096];
};

/* A path begins with a slash; one that is no text has its bytes behind this. */
#define BYTES_MARK "base64:"

static struct value *next_page(const struct listing *l)
{
	auto_value *bytes = value_of_base64(l->last, strlen(l->last));
	char text[sizeof(BYTES_MARK) + sizeof(l->last) * 4 / 3 + 4];

	if (!l->more)
		return value_of_null();
	if (utf8_valid(l->last, strlen(l->last)))
		return value_of_str(l->last);
	(void)snprintf(text, sizeof(text), BYTES_MARK "%s",
		       value_str(bytes) ? value_str(bytes) : "");
	return value_of_str(text);
}

/* What a page before gave as its `next`. *ret_bytes is the caller's to free. */
static int take_after(struct call *c, struct listing *l, void **ret_bytes, struct err *e)
{
	const char *text = arg_str(c, "after");
	size_t n = sizeof(BYTES_MARK) - 1, len = 0;
	char *path;

	l->after = text;
	if (!text || strncmp(text, BYTES_MARK, n) != 0)
		return 0;
	if (value_from_base64(text + n, strlen(text) - n, ret_bytes, &len) < 0 ||
	    len >= sizeof(l->last) || !(path = malloc(len + 1)))
		return err_set(e, ERR_INVALID, "after: not what a page had as its next");
	memcpy(path, *ret_bytes, len);
	path[len] = '\0';
	free(*ret_bytes);
	l->after = *ret_bytes = path;
	return 0;
}

/* A directory before what is in it, and that before its other neighbours. */
static int by_tree(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	int x = *a == '/' ? 1 : (unsigned char)*a + (*a != 0),
	    y = *b == '/' ? 1 : (unsigned char)*b + (*b != 0);

	return x - y;
}

static int add_item(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct listing *l = arg;

	/* The order is always the same; what the page before ended with may be gone by now. */
	if (l->after && by_tree(path, l->after) <= 0)
		return 0;
	if (value_len(l->items) == l->limit) {
		l->more = true;
		return 1;
	}
	value_add(l->items, describe(path, info));
	(void)snprintf(l->last, sizeof(l->last), "%s", path);
	return 0;
}

int op_file_list(struct call *c, struct err *e)
{
	struct listing l = {.items = value_array(), .limit = (size_t)arg_int(c, "limit", 1000)};
	const char *path = arg_str(c, "path");
	auto_free void *after = NULL;
	struct place p;

	if (take_after(c, &l, &after, e) < 0 || enter(&p, c, e) < 0) {
		value_free(l.items);
		return -EIO;
	}
	int r = pinfold_file_list(p.files, path ? path : "/home/user",
				  (unsigned)arg_int(c, "depth", 1), 0, add_item, &l, &p.failure);
	c->reply.value = value_object();
	value_set(c->reply.value, "next", next_page(&l));
	value_set(c->reply.value, "items", l.items);
	return leave(&p, r, e);
}

/* The library names the first of the two, whichever is not there. */
static void blame_target(struct place *p, const char *from, const char *to)
{
	struct pinfold_file_info info;
	struct pinfold_error none;

	if (strcmp(p->failure.code, "not_found.file") != 0 ||
	    pinfold_file_stat(p->files, from, 0, &info, &none) < 0)
		return;
	(void)snprintf(p->failure.message, sizeof(p->failure.message),
		       "to: the directory of %.300s is not there", to);
	(void)snprintf(p->failure.remedy, sizeof(p->failure.remedy), "make it first, with mkdir");
}

int op_file_move(struct call *c, struct err *e)
{
	const char *from = arg_str(c, "from"), *to = arg_str(c, "to");
	struct place p;

	if (enter(&p, c, e) < 0)
		return -EIO;
	int r = pinfold_file_move(p.files, from, to, &p.failure);
	changed_now(p.box);
	if (r < 0)
		blame_target(&p, from, to);
	return leave(&p, r, e);
}

int op_file_mkdir(struct call *c, struct err *e)
{
	struct place p;

	if (enter(&p, c, e) < 0)
		return -EIO;
	return leave(&p, pinfold_file_mkdir(p.files, arg_str(c, "path"), 0, 1, &p.failure), e);
}

/* What a file is called for a moment before it replaces another (guest/files_write.c). */
static bool is_between(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, ".pinfold-", 9) == 0 && strlen(name) == 22;
}

/* Of a file that is written by us its watcher hears the one thing that happened: it was written. */
static void tell_change(struct feed *feed, const struct pinfold_watch_event *ev)
{
	const bool replaced = ev->from[0] && is_between(ev->from);
	auto_value *o = value_object();
	size_t len = 0;

	if (is_between(ev->path))
		return;
	value_set(o, "path", value_of_str(ev->path));
	if (ev->from[0] && !replaced)
		value_set(o, "from", value_of_str(ev->from));
	auto_free char *text = value_text(o, &len);
	if (text)
		feed_add(feed, replaced ? "write" : ev->kind, text, len);
}

static void watch_until_cancelled(struct call *c, struct pinfold_watch *w, struct feed *feed)
{
	auto_free struct pinfold_watch_event *ev = malloc(sizeof(*ev));
	struct pollfd p[2] = {{.fd = pinfold_watch_fd(w), .events = POLLIN},
			      {.fd = call_cancelled_fd(c), .events = POLLIN}};
	int r = 0;

	while (ev && r >= 0 && !call_cancelled(c)) {
		while ((r = pinfold_watch_next(w, 0, ev)) > 0)
			tell_change(feed, ev);
		if (r >= 0)
			(void)poll(p, 2, -1);
	}
}

int op_file_watch(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	const char *path = arg_str(c, "path");
	struct feed *feed = feed_new(c->api->loop);
	struct pinfold_watch *w = NULL;
	struct pinfold_error failure;
	int r = b && feed ? 0 : -ENOENT;

	if (r >= 0 && pinfold_watch_open(b->id, path ? path : "/home/user",
					 arg_true(c, "recursive"), &w, &failure) < 0)
		r = api_error(e, &failure);
	if (r >= 0) {
		call_stream(c, feed);
		feed_add(feed, "watching", "{}", 2);
		watch_until_cancelled(c, w, feed);
		feed_close(feed);
	}
	pinfold_watch_close(w);
	feed_unref(feed);
	box_put(c->api, b);
	return r;
}
