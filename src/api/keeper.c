/* SPDX-License-Identifier: Apache-2.0 */
/* The API's side of the keeper: requests sent, answers collected. Handlers' threads. */
#include "api/keeper_int.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "api/boxes.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "pinfold/policy.h"

#define TEXT_MAX ((size_t)64 << 20) /* what a verb may print: a diff */
#define SAID_MAX 4096u		    /* the same on its standard error */
#define SEND_MS 5000		    /* the keeper only starts and reaps: it is never long busy */
#define DRAIN_MS 5000		    /* from a verb's end to the end of what it printed */

struct keeper {
	int socket; /* any thread sends on it: a message is whole or not at all */
};

int keeper_new(int socket, struct keeper **ret, struct err *e)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return err_sys(e, "keeper of workspaces");
	/* Who does not read its standard input must not end us. */
	(void)sigaction(SIGPIPE, &ignore, NULL);
	k->socket = socket;
	*ret = k;
	return 0;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	fd_close(&k->socket);
	free(k);
}

void keeper_add(struct keeper_words *w, const char *fmt, ...)
{
	size_t room = KEEPER_BYTES_MAX - w->len;
	va_list ap;

	if (!w->bytes) {
		w->bytes = malloc(KEEPER_BYTES_MAX);
		w->len = sizeof(struct keeper_head);
		w->bad = w->bytes ? 0 : -ENOMEM;
		room = KEEPER_BYTES_MAX - w->len;
	}
	if (w->bad)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(w->bytes + w->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room || w->n == KEEPER_WORDS_MAX) {
		w->bad = -E2BIG;
		return;
	}
	w->len += (size_t)n + 1;
	w->n++;
}

void keeper_child_done(struct keeper_child *k)
{
	fd_close(&k->reply);
	fd_close(&k->in);
	fd_close(&k->out);
	fd_close(&k->err);
	fd_close(&k->result);
}

/* The same check as the keeper's, so that what is wrong is said in words; it does not rely on
 * it. */
static int finish_words(const struct call *c, const struct keeper_start *s, struct err *e)
{
	struct keeper_words *w = s->words;
	struct keeper_head head = {.magic = KEEPER_MAGIC,
				   .version = KEEPER_VERSION,
				   .flags = s->flags,
				   .n_words = w->n,
				   .len = (uint32_t)(w->len - sizeof(head)),
				   .grace_ms = s->grace_ms};
	auto_free struct keeper_request *q = malloc(sizeof(*q));

	if (w->bad == -E2BIG) {
		(void)err_set(e, ERR_LIMIT, "command: longer than %u KiB, with its variables",
			      KEEPER_BYTES_MAX >> 10);
		return err_remedy(e, "give it as lang and code, or its data as stdin");
	}
	if (w->bad || !q)
		return err_sys(e, "request");
	(void)snprintf(head.tenant, sizeof(head.tenant), "%s", c->who.tenant);
	memcpy(w->bytes, &head, sizeof(head));
	return keeper_check(w->bytes, w->len, keeper_fds(s->flags), q, e);
}

/* A memfd that nobody changes any more. */
static int hold_text(const char *text, size_t len, int *ret, struct err *e)
{
	auto_close int fd = memfd_create("pinfold-program", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fd_write_all(fd, text, len) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(e, "program text");
	*ret = take_fd(&fd);
	return 0;
}

/* One of ours does not block; the other is the child's. */
static int make_pipe(int *ours, int *theirs, bool we_read, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	*ours = p[we_read ? 0 : 1];
	*theirs = p[we_read ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? err_sys(e, "pipe") : 0;
}

static int make_descriptors(const struct keeper_start *s, struct keeper_child *k,
			    int theirs[KEEPER_FDS_MAX], struct err *e)
{
	int pair[2], r = 0;
	unsigned n = 4;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socket");
	k->reply = pair[0];
	theirs[0] = pair[1];
	if (s->input)
		r = make_pipe(&k->in, &theirs[1], false, e);
	else
		theirs[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (r >= 0 && theirs[1] < 0)
		r = err_sys(e, "/dev/null");
	if (r >= 0)
		r = make_pipe(&k->out, &theirs[2], true, e);
	if (r >= 0)
		r = make_pipe(&k->err, &theirs[3], true, e);
	if (r >= 0 && s->flags & KEEPER_RESULT)
		r = make_pipe(&k->result, &theirs[n++], true, e);
	if (r >= 0 && s->flags & KEEPER_LAYERS) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return err_sys(e, "socket");
		k->result = pair[0];
		theirs[n++] = pair[1];
	}
	if (r >= 0 && s->flags & KEEPER_PROGRAM)
		r = hold_text(s->program, s->program_len, &theirs[n], e);
	return r;
}

static int gone(struct err *e)
{
	(void)err_set(e, ERR_INTERNAL, "the process that keeps workspaces is gone");
	return err_remedy(e, "start pinfold serve again");
}

static int send_request(const struct keeper *k, const struct keeper_words *w, const int *fds,
			struct err *e)
{
	struct pollfd p = {.fd = k->socket, .events = POLLOUT};
	uint64_t until = loop_now_ms() + SEND_MS;
	int r;

	while ((r = passfd_send(k->socket, w->bytes, w->len, fds, KEEPER_FDS_MAX)) == -EAGAIN) {
		if (loop_now_ms() >= until) {
			(void)err_set(e, ERR_BUSY, "too much is asked of workspaces at once");
			e->retry_ms = 1000;
			return err_remedy(e, "try again in a second");
		}
		/* Room for a byte is not room for the message: so not for ever. */
		(void)poll(&p, 1, 20);
		(void)poll(NULL, 0, 5);
	}
	return r < 0 ? gone(e) : 0;
}

int keeper_start(struct call *c, const struct keeper_start *s, struct keeper_child *ret,
		 struct err *e)
{
	int theirs[KEEPER_FDS_MAX] = {FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE};

	if (!c->api->keeper) {
		(void)err_set(e, ERR_UNSUPPORTED, "workspaces are not served here");
		return err_remedy(e, "use the API of pinfold serve");
	}
	int r = finish_words(c, s, e);
	if (r >= 0)
		r = make_descriptors(s, ret, theirs, e);
	if (r >= 0)
		r = send_request(c->api->keeper, s->words, theirs, e);
	for (unsigned i = 0; i < KEEPER_FDS_MAX; i++)
		fd_close(&theirs[i]);
	ret->left = (struct run_left){s->input, s->input_len};
	return r;
}

void keeper_tell_end(const struct keeper_child *k)
{
	if (k->reply >= 0)
		(void)passfd_send(k->reply, "", 1, NULL, 0); /* it has ended: the reply tells */
}

int keeper_take_reply(struct keeper_child *k, int *ret_status, struct err *e)
{
	struct keeper_reply r = {0};
	int n = passfd_receive(k->reply, &r, sizeof(r), NULL, 0, MSG_DONTWAIT);

	fd_close(&k->reply);
	r.text[sizeof(r.text) - 1] = '\0';
	if (n < 0 || r.magic != KEEPER_MAGIC)
		return gone(e);
	switch ((enum keeper_outcome)r.outcome) {
	case KEEPER_ENDED: *ret_status = r.status; return 0;
	case KEEPER_REFUSED: return err_set(e, ERR_INVALID, "%s", r.text);
	case KEEPER_FAILED: return err_set(e, ERR_INTERNAL, "cannot start a process: %s", r.text);
	case KEEPER_BUSY:
		if (r.text[0])
			(void)err_set(e, ERR_BUSY, "%s", r.text);
		else
			(void)err_set(e, ERR_BUSY, "%u commands run in workspaces already",
				      KEEPER_CHILDREN_MAX);
		e->retry_ms = 1000;
		return err_remedy(e,
				  r.text[0] ? "close one of them first" : "try again in a second");
	}
	return gone(e);
}

void keeper_feed(struct keeper_child *k)
{
	while (k->in >= 0 && k->left.len) {
		ssize_t n = write(k->in, k->left.data, k->left.len);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break; /* nobody reads it */
		k->left.data += n;
		k->left.len -= (size_t)n;
	}
	fd_close(&k->in);
}

int keeper_error(const char *document, size_t len, struct err *e)
{
	struct pinfold_error from = {.code = ""};
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (value_parse(document, len, &v, &ignored) < 0)
		return -EIO;
	const struct value *o = value_get(v, "error");
	const char *code = value_str(value_get(o, "code")),
		   *message = value_str(value_get(o, "message")),
		   *remedy = value_str(value_get(o, "remedy"));
	if (!code)
		return -EIO;
	(void)snprintf(from.code, sizeof(from.code), "%s", code);
	(void)snprintf(from.message, sizeof(from.message), "%s", message ? message : "");
	(void)snprintf(from.remedy, sizeof(from.remedy), "%s", remedy ? remedy : "");
	from.retry_after_ms = (uint32_t)value_int(value_get(o, "retry_after_ms"));
	return api_error(e, &from);
}

/* What it printed, as far as it is there. A verb that prints more than we hold ends. */
struct printed {
	char *text;
	size_t len, room;
	bool too_much;
};

static void collect(int *fd, struct printed *p, size_t max)
{
	for (;;) {
		char buf[16384];
		ssize_t n = read(*fd, buf, sizeof(buf));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			fd_close(fd);
			return;
		}
		if (p->len + (size_t)n + 1 > p->room) {
			size_t room = p->room ? 2 * p->room : 65536;
			char *more = room <= max ? realloc(p->text, room) : NULL;

			if (!more) {
				p->too_much = true;
				continue;
			}
			p->text = more;
			p->room = room;
		}
		memcpy(p->text + p->len, buf, (size_t)n);
		p->len += (size_t)n;
		p->text[p->len] = '\0';
	}
}

static void wait_for_it(const struct call *c, const struct keeper_child *k, bool stopped)
{
	struct pollfd p[5] = {{.fd = k->out, .events = POLLIN},
			      {.fd = k->err, .events = POLLIN},
			      {.fd = k->reply, .events = POLLIN},
			      {.fd = k->in, .events = POLLOUT},
			      {.fd = stopped ? -1 : call_cancelled_fd(c), .events = POLLIN}};

	(void)poll(p, 5, k->reply >= 0 ? -1 : 100); /* whatever it says, we look */
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Until it has ended and all that it printed was read. */
static int attend(const struct call *c, struct keeper_child *k, struct printed p[2],
		  int *ret_status, struct err *e)
{
	uint64_t until = UINT64_MAX;
	bool stopped = false;
	int r = 0;

	while (k->reply >= 0 || ((k->out >= 0 || k->err >= 0) && loop_now_ms() < until)) {
		wait_for_it(c, k, stopped);
		keeper_feed(k);
		collect(&k->out, &p[0], TEXT_MAX);
		collect(&k->err, &p[1], 16 * SAID_MAX);
		if (!stopped && (call_cancelled(c) || p[0].too_much)) {
			keeper_tell_end(k);
			stopped = true;
		}
		if (readable(k->reply)) {
			r = keeper_take_reply(k, ret_status, e);
			until = loop_now_ms() + DRAIN_MS;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int judge(const struct printed p[2], int status, struct err *e)
{
	if (p[0].too_much) {
		(void)err_set(e, ERR_LIMIT, "the answer has more than %zu MiB", TEXT_MAX >> 20);
		return err_remedy(e, "ask for names only, or for less");
	}
	if (status == 0)
		return 0;
	/* A list that broke off has no error in it. */
	if (p[0].len && keeper_error(p[0].text, p[0].len, e) < 0 && e->text[0])
		return -EIO;
	return err_set(e, ERR_INTERNAL, "a verb ended with status %d: %.400s", status,
		       p[1].text ? p[1].text : "");
}

/* The verb's document, and the one descriptor that it sent; FD_NONE: it sent none. */
static int ask_for_fd(struct call *c, const struct keeper_start *s, int *ret_fd, char **ret_json,
		      struct err *e)
{
	auto_child struct keeper_child k = KEEPER_CHILD_INIT;
	struct printed p[2] = {{0}, {0}};
	int status = 0;
	char byte;

	int r = keeper_start(c, s, &k, e);
	if (r >= 0)
		r = attend(c, &k, p, &status, e);
	if (r >= 0)
		r = judge(p, status, e);
	free(p[1].text);
	if (r < 0 || !p[0].text) {
		free(p[0].text);
		return r < 0 ? r : err_set(e, ERR_INTERNAL, "the keeper: no answer");
	}
	(void)passfd_receive(k.result, &byte, 1, ret_fd, 1, MSG_DONTWAIT);
	*ret_json = p[0].text;
	return 0;
}

int keeper_hold(struct call *c, const struct pinfold_run_options *o, int *ret_fd, char **ret_json,
		struct err *e)
{
	auto_words w = {0};

	keeper_add(&w, "deps");
	keeper_add(&w, "--json");
	if (o->deps)
		keeper_add(&w, "--deps=%s", o->deps);
	if (o->lang)
		keeper_add(&w, "--lang=%s", o->lang);
	for (unsigned i = 0; o->packages && o->packages[i]; i++)
		keeper_add(&w, "--package=%s", o->packages[i]);
	if (o->image)
		keeper_add(&w, "--image=%s", o->image);
	for (unsigned i = 0; o->apt && o->apt[i]; i++)
		keeper_add(&w, "--apt=%s", o->apt[i]);
	struct keeper_start s = {.words = &w,
				 .flags = KEEPER_LAYERS | (o->lang ? KEEPER_PROGRAM : 0),
				 .program = o->code,
				 .program_len = o->code_len};
	return ask_for_fd(c, &s, ret_fd, ret_json, e); /* none comes where nothing is needed */
}

static int take_secrets(void *arg, const struct pinfold_secret *list, unsigned n, int *ret_fd,
			struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_free char *json = NULL;
	auto_words w = {0};

	keeper_add(&w, "secret");
	keeper_add(&w, "--json");
	for (unsigned i = 0; i < n; i++)
		keeper_add(&w, "--give=%s=%s", list[i].name, list[i].placeholder);
	struct keeper_start s = {.words = &w, .flags = KEEPER_LAYERS};
	int r = ask_for_fd(arg, &s, ret_fd, &json, &e);
	if (r < 0 && e.kind == ERR_MISSING) {
		size_t len = strlen(e.remedy);

		/* Only who runs the daemon can set one. */
		(void)snprintf(e.remedy + len, sizeof(e.remedy) - len,
			       " --tenant %s, typed by whoever runs the daemon",
			       ((struct call *)arg)->who.tenant);
	}
	if (r < 0)
		api_public(&e, ret_error);
	return r;
}

void keeper_give(struct call *c, struct pinfold_secrets_from *room, struct pinfold_run_options *o)
{
	*room = (struct pinfold_secrets_from){take_secrets, c};
	o->secrets = c->api->keeper ? room : NULL;
}

int keeper_ask(struct call *c, const struct keeper_ask *ask, char **ret_text, size_t *ret_len,
	       struct err *e)
{
	auto_child struct keeper_child k = KEEPER_CHILD_INIT;
	struct printed p[2] = {{0}, {0}};
	auto_words w = {0};
	int status = 0;

	for (unsigned i = 0; ask->words[i]; i++)
		keeper_add(&w, "%s", ask->words[i]);
	struct keeper_start s = {.words = &w, .input = ask->input, .input_len = ask->input_len};
	int r = keeper_start(c, &s, &k, e);
	if (r >= 0)
		r = attend(c, &k, p, &status, e);
	if (r >= 0)
		r = judge(p, status, e);
	free(p[1].text);
	if (r < 0 || !p[0].text) {
		free(p[0].text);
		p[0] = (struct printed){.text = r < 0 ? NULL : strdup("")};
	}
	if (r < 0)
		return r;
	*ret_text = p[0].text;
	*ret_len = p[0].len;
	return p[0].text ? 0 : err_sys(e, "answer");
}
