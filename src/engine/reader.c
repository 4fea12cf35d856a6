/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "engine/said.h"

#include "sandbox/reader_image.h"

#define ARGS_MAX (READER_ARGS_MAX + 2)
#define TIME_MS (30u * 60 * 1000)
#define MEMORY_BYTES (1ull << 30)
#define DISK_BYTES (16ull << 20) /* it writes nothing */
#define PUMP_BYTES (256u << 10)

void reader_word(struct reader_words *w, const char *word)
{
	if (w->n < READER_ARGS_MAX)
		w->argv[w->n++] = word;
}

static void keep_word(struct reader_words *w, const char *word)
{
	size_t n = strlen(word) + 1;
	char *at = w->text + w->used;

	if (n > sizeof(w->text) - w->used)
		return;
	memcpy(at, word, n);
	w->used += n;
	reader_word(w, at);
}

void reader_word_layer(struct reader_words *w, uint32_t number, const char *part)
{
	char word[40];

	(void)snprintf(word, sizeof(word), "/v/l/%u/%s", number, part);
	keep_word(w, word);
}

void reader_word_number(struct reader_words *w, uint32_t number)
{
	char word[16];

	(void)snprintf(word, sizeof(word), "%u", number);
	keep_word(w, word);
}

static void put_argv(const char *const *argv, const char *to[ARGS_MAX])
{
	unsigned n = 0;

	to[n++] = "/run/tool";
	for (; *argv && n + 1 < ARGS_MAX; argv++)
		to[n++] = *argv;
	to[n] = NULL;
}

/* Its pipes are read and written here, and block: nothing else happens meanwhile, and the guest
 * keeps the time. */
static int take_pipes(struct reader *r, struct err *e)
{
	r->out = take_fd(&r->run->out[0]);
	r->in = take_fd(&r->run->input);
	/* Whoever waits for the run's end later must not be woken by what is ours now. */
	if (r->out < 0 || epoll_ctl(r->run->epoll, EPOLL_CTL_DEL, r->out, NULL) < 0 ||
	    fcntl(r->out, F_SETFL, 0) < 0 || (r->in >= 0 && fcntl(r->in, F_SETFL, 0) < 0))
		return err_sys(e, "reader");
	return 0;
}

static int prepare(struct request *req, const struct reader_ask *ask, struct store *s,
		   struct err *e)
{
	struct sandbox_layers here = store_layers(s);

	req->spec.git.path = NULL;
	req->spec.peek = ask->peek;
	req->spec.bare = ask->bare;
	req->spec.as_root = true;
	req->spec.tool = reader_image;
	req->spec.tool_len = (size_t)(reader_image_end - reader_image);
	req->spec.layers = here;
	req->spec.layers.upper = ask->out;
	if (ask->secrets)
		req->spec.hidden = NULL;
	if (ask->peek != PEEK_LOOK)
		return 0;
	if (ask->before->n > LAYERS_MAX || ask->now->n > LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u layers", LAYERS_MAX);
	req->spec.before = here;
	req->spec.before.n = ask->before->n;
	memcpy(req->spec.before.lower, ask->before->layer,
	       ask->before->n * sizeof(struct sandbox_layer));
	req->spec.layers.n = ask->now->n;
	memcpy(req->spec.layers.lower, ask->now->layer, ask->now->n * sizeof(struct sandbox_layer));
	return 0;
}

int reader_look(struct store *s, const struct reader_ask *ask, struct reader *ret, struct err *e)
{
	const char *argv[ARGS_MAX];
	struct pinfold_run_options o = {
		.size = sizeof(o),
		.argv = argv,
		.workdir = "/",
		.dir = ask->dir,
		.limits = "best-effort",
		.time_ms = TIME_MS,
		.memory_bytes = MEMORY_BYTES,
		.disk_bytes = DISK_BYTES,
		.flags = PINFOLD_LOCAL | (ask->fed ? 0 : PINFOLD_NO_STDIN),
	};

	auto_free struct said *said = malloc(sizeof(*said));
	put_argv(ask->argv, argv);
	ret->run = run_new();
	int r = ret->run && said ? said_read(ask->said ? ask->said : "", NULL, said, e)
				 : err_sys(e, "reader");
	if (r >= 0) {
		o.hide = said->lists.hide;
		o.show = said->lists.show;
		r = request_init(&ret->run->req, &o, NULL, false, e);
	}
	if (r >= 0)
		r = prepare(&ret->run->req, ask, s, e);
	if (r >= 0)
		ret->run->socket = ask->socket;
	if (r >= 0)
		r = run_begin(ret->run, e);
	if (r < 0 && ask->peek == PEEK_LOOK) {
		(void)layers_lost(s, ask->before->layer, ask->before->n, e);
		(void)layers_lost(s, ask->now->layer, ask->now->n, e);
	}
	return r < 0 ? r : take_pipes(ret, e);
}

int reader_enter(struct store *s, const char *name, const char *const *argv,
		 struct workspace_how *how, struct reader *ret, struct err *e)
{
	const char *full[ARGS_MAX];
	struct pinfold_run_options o = {
		.size = sizeof(o),
		.argv = full,
		.workdir = "/",
		.limits = "best-effort",
		.time_ms = TIME_MS,
		.memory_bytes = MEMORY_BYTES,
		.flags = PINFOLD_LOCAL,
	};

	put_argv(argv, full);
	o.user = how->user;
	how->use = USE_ALONE;
	how->tool = reader_image;
	how->tool_len = (size_t)(reader_image_end - reader_image);
	int r = workspace_start(s, name, &o, how, &ret->run, e);
	return r < 0 ? r : take_pipes(ret, e);
}

int reader_pump(int from, int to, struct hash *h, struct err *e)
{
	auto_free char *buf = malloc(PUMP_BYTES);

	if (!buf)
		return err_sys(e, "import");
	for (;;) {
		ssize_t n = read(from, buf, PUMP_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read the archive");
		if (n == 0)
			return 0;
		if (h)
			hash_add(h, buf, (size_t)n);
		int r = fd_write_all(to, buf, (size_t)n);
		if (r == -EPIPE || r == -ECONNRESET)
			return 0;
		if (r < 0) {
			errno = -r;
			return err_sys(e, "pass on the archive");
		}
	}
}

static void only_pipe(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGPIPE); /* cannot fail for a signal */
}

void reader_hush(sigset_t *ret_before)
{
	sigset_t pipe;

	only_pipe(&pipe);
	(void)pthread_sigmask(SIG_BLOCK, &pipe, ret_before);
}

void reader_unhush(const sigset_t *before)
{
	static const struct timespec now = {0};
	sigset_t pipe;

	only_pipe(&pipe);
	(void)sigtimedwait(&pipe, NULL, &now); /* ours, if there is one */
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int complain(const struct pinfold_run *run, struct err *e)
{
	if (run->failed)
		return err_set(e, ERR_INTERNAL, "reader: %s", run->error.message);
	if (!run->limit_kind || strcmp(run->limit_kind, "disk") != 0)
		return err_set(e, ERR_INTERNAL, "reader: %s, exit status %d", run->status,
			       run->exit_status);
	(void)err_set(e, ERR_LIMIT, "the workspace has no room for that: %s", run->limit_hint);
	(void)err_detail(e, "disk");
	return err_remedy(e, "make room with pinfold undo, or allow more with pinfold limit");
}

int reader_end(struct reader *r, int result, struct err *e)
{
	const struct pinfold_run *run = r->run;

	fd_close(&r->in);
	fd_close(&r->out);
	if (run && result >= 0) {
		pinfold_run_wait(r->run);
		if (run->failed || run->exit_status != 0)
			result = complain(run, e);
	}
	/* Before its end: then what it changed never was. */
	pinfold_run_free(r->run);
	r->run = NULL;
	return result;
}
