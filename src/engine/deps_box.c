/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_box.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/parse.h"

#define TIME_MS (15u * 60 * 1000) /* PINFOLD_DEPS_TIME says otherwise */
#define MEMORY_BYTES (2ull << 30)
#define DISK_BYTES (8ull << 30)
#define PIDS 256u
#define DOC_BYTES_MAX (8u << 20)
#define PUMP_BYTES (256u << 10)
#define HEAD_BYTES 9

static uint64_t time_ms(void)
{
	const char *text = getenv("PINFOLD_DEPS_TIME");
	struct err none = ERR_INIT;
	uint64_t ms = TIME_MS;

	if (text && parse_duration(text, &ms, &none) < 0)
		ms = TIME_MS;
	return ms;
}

/* One who has no other ids than his own is the sandbox's root by that one. */
static void put_on(struct sandbox_spec *spec, const struct box_ask *ask)
{
	spec->host = ask->host;
	spec->as_root = spec->as_root || ask->host;
	if (!ask->ground)
		return;
	spec->layers = store_layers(ask->store);
	spec->deps.n = 1;
	spec->deps.number[0] = ask->ground;
}

/* Packages can have python run something of theirs before any program (*.pth, sitecustomize); nor may an
 * interpreter that waits have done so. */
static void make_bare(struct request *r)
{
	static char isolated[] = "-I", no_site[] = "-S";

	assert(r->spec.argv == (const char *const *)r->argv);
	r->argv[3] = r->argv[1];
	r->argv[1] = isolated;
	r->argv[2] = no_site;
	r->argv[4] = NULL;
	r->spec.driver = DRIVER_NONE;
}

int box_start(const struct box_ask *ask, struct box *ret, struct err *e)
{
	static const char *const none[] = {NULL};
	struct pinfold_run_options o = {
		.size = sizeof(o),
		.argv = none,
		.lang = ask->lang,
		.code = ask->driver,
		.code_len = strlen(ask->driver),
		.code_name = "driver",
		.policy = ask->policy,
		.policy_name = "deps",
		.user = ask->user,
		.limits = "best-effort",
		.time_ms = time_ms(),
		.memory_bytes = MEMORY_BYTES,
		.disk_bytes = ask->is_small ? MEMORY_BYTES / 2 : DISK_BYTES,
		.pids = PIDS,
		.flags = PINFOLD_LOCAL,
	};

	ret->run = run_new();
	int r = ret->run ? request_init(&ret->run->req, &o, NULL, false, e) : err_sys(e, "deps");
	if (r >= 0) {
		record_who(ret->run, &o);
		put_on(&ret->run->req.spec, ask);
		if (ask->is_bare && HOLD_PACKAGE_BARE)
			make_bare(&ret->run->req);
		r = run_begin(ret->run, e);
	}
	return r;
}

/* One that has died says why when it is waited for. */
static int put(struct box *b, const void *data, size_t len, struct err *e)
{
	int fd = pinfold_run_stdin_fd(b->run);
	int r = fd < 0 ? -EPIPE : fd_write_all(fd, data, len);

	if (r == -EPIPE)
		return 0;
	if (r >= 0)
		return 0;
	errno = -r;
	return err_sys(e, "deps");
}

static int put_head(struct box *b, char kind, uint64_t len, struct err *e)
{
	unsigned char head[HEAD_BYTES] = {(unsigned char)kind};

	for (int i = 0; i < 8; i++)
		head[1 + i] = (unsigned char)(len >> (8 * i));
	return put(b, head, sizeof(head), e);
}

int box_say(struct box *b, const struct value *doc, struct err *e)
{
	size_t len = 0;
	auto_free char *text = value_text(doc, &len);
	int r = text ? put_head(b, 'J', len, e) : err_sys(e, "deps");

	return r < 0 ? r : put(b, text, len, e);
}

static int give(struct box *b, const char *sha256, int fd, uint64_t bytes, struct hash *h,
		struct err *e)
{
	auto_free char *buf = malloc(PUMP_BYTES);
	int r = buf ? put_head(b, 'F', HASH_TEXT_SIZE - 1 + bytes, e) : err_sys(e, "deps");

	if (r >= 0)
		r = put(b, sha256, HASH_TEXT_SIZE - 1, e);
	while (r >= 0 && bytes > 0) {
		size_t n = 0;

		r = fd_read_max(fd, buf, bytes < PUMP_BYTES ? bytes : PUMP_BYTES, &n);
		if (r < 0 || n == 0)
			return err_set(e, ERR_CONFLICT, "a file of the cache became shorter");
		hash_add(h, buf, n);
		bytes -= n;
		r = put(b, buf, n, e);
	}
	return r;
}

int box_give(struct box *b, const char *sha256, int fd, uint64_t bytes, struct err *e)
{
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];
	struct hash h;

	hash_init(&h);
	int r = give(b, sha256, fd, bytes, &h, e);
	hash_done(&h, digest);
	hash_text(digest, text);
	if (HOLD_PACKAGE_HASH && r >= 0 && strcmp(text, sha256) != 0)
		r = err_set(e, ERR_CONFLICT, "a file of the cache is not what it was: %.16s...",
			    sha256);
	return r;
}

int box_give_for(struct box *b, const char *sha256, int fd, uint64_t bytes, struct err *e)
{
	struct hash h;

	hash_init(&h);
	return give(b, sha256, fd, bytes, &h, e);
}

void box_said(struct box *b)
{
	if (b->run)
		pinfold_run_stdin_close(b->run);
}

static void hear_complaint(struct box *b, const struct pinfold_event *ev)
{
	size_t n = ev->len < sizeof(b->complaint) - 1 ? ev->len : sizeof(b->complaint) - 1;

	memcpy(b->complaint, (const char *)ev->data + ev->len - n, n);
	b->complaint[n] = '\0';
}

/* By the run's own loop: somebody has to answer for what is refused inside, or it waits. */
static void hear(struct box *b)
{
	struct pinfold_event ev;

	if (b->ended)
		return;
	b->ended = pinfold_run_next(b->run, -1, &ev) <= 0 || ev.kind == PINFOLD_EVENT_RESULT;
	if (b->ended)
		return;
	if (ev.kind == PINFOLD_EVENT_STDERR)
		hear_complaint(b, &ev);
	if (ev.kind == PINFOLD_EVENT_STDOUT) {
		b->data = ev.data;
		b->left = ev.len;
	}
}

int box_read(struct box *b, void *data, size_t len, struct err *e)
{
	char *to = data;

	while (len > 0) {
		while (b->left == 0 && !b->ended)
			hear(b);
		if (b->left == 0)
			return err_set(e, ERR_INTERNAL, "the driver ended before it was done");
		size_t n = len < b->left ? len : b->left;
		memcpy(to, b->data, n);
		b->data += n;
		b->left -= n;
		to += n;
		len -= n;
	}
	return 0;
}

int box_read_doc(struct box *b, const struct box_frame *f, struct value **ret, struct err *e)
{
	auto_free char *text = NULL;

	if (f->len > DOC_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "the driver says more than %u bytes", DOC_BYTES_MAX);
	text = malloc(f->len + 1);
	if (!text)
		return err_sys(e, "deps");
	int r = box_read(b, text, f->len, e);
	if (r >= 0)
		r = value_parse(text, f->len, ret, e);
	return r < 0 ? err_wrap(e, "deps") : 0;
}

static enum err_kind kind_of(const char *code)
{
	static const struct {
		const char *code;
		enum err_kind kind;
	} rows[] = {{"missing", ERR_MISSING},	      {"invalid", ERR_INVALID},
		    {"denied", ERR_DENIED},	      {"limit", ERR_LIMIT},
		    {"unsupported", ERR_UNSUPPORTED}, {"conflict", ERR_CONFLICT},
		    {"timeout", ERR_TIMEOUT}};

	for (size_t i = 0; code && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].kind;
	return ERR_INTERNAL;
}

/* Text of a package's is shown, cut to size, and means nothing to us. */
static int take_error(struct box *b, const struct box_frame *f, struct err *e)
{
	auto_value *doc = NULL;

	if (box_read_doc(b, f, &doc, e) < 0)
		return -EINVAL;
	const char *message = value_str(value_get(doc, "message"));
	const char *remedy = value_str(value_get(doc, "remedy"));
	const char *detail = value_str(value_get(doc, "detail"));
	int r = err_set(e, kind_of(value_str(value_get(doc, "code"))), "%.600s",
			message ? message : "the packages could not be had");
	if (detail && strlen(detail) < sizeof(e->detail))
		(void)err_detail(e, detail);
	if (remedy)
		(void)err_remedy(e, "%.500s", remedy);
	return r;
}

int box_next(struct box *b, struct box_frame *ret, struct err *e)
{
	unsigned char head[HEAD_BYTES];
	int r = box_read(b, head, sizeof(head), e);

	if (r < 0)
		return r;
	*ret = (struct box_frame){.kind = (char)head[0]};
	for (int i = 0; i < 8; i++)
		ret->len |= (uint64_t)head[1 + i] << (8 * i);
	if (ret->kind == 'E')
		return take_error(b, ret, e);
	if (!memchr("JFTD", ret->kind, 4))
		return err_set(e, ERR_INTERNAL, "the driver says what nobody understands");
	return 0;
}

/* Why a driver ended in the middle is more telling than that it did. */
static int explain(const struct box *b, const struct err *before, struct err *e)
{
	const struct pinfold_run *run = b->run;

	if (before->kind != ERR_INTERNAL) {
		*e = *before;
		return -EINVAL;
	}
	if (run->failed)
		return err_set(e, ERR_INTERNAL, "%s", run->error.message);
	if (run->limit_kind) {
		(void)err_set(e, ERR_LIMIT, "installing came to its limit of %s", run->limit_kind);
		return err_remedy(e, "ask for fewer or smaller packages");
	}
	return err_set(e, ERR_INTERNAL, "%s (%s%s%s)", before->text, run->status,
		       b->complaint[0] ? ": " : "", b->complaint);
}

int box_end(struct box *b, int r, struct err *e)
{
	struct err before = *e;

	if (!b->run)
		return r;
	box_said(b);
	/* One that said what was wrong is not waited for. */
	if (b->run->epoll >= 0 && (r >= 0 || before.kind == ERR_INTERNAL)) {
		while (!b->ended) {
			b->left = 0;
			hear(b);
		}
		if (r >= 0 && b->run->exit_status != 0)
			r = err_set(&before, ERR_INTERNAL, "the driver failed");
		if (r < 0)
			r = explain(b, &before, e);
	}
	pinfold_run_free(b->run);
	b->run = NULL;
	return r;
}
