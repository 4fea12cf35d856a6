/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides of a synchronisation apart. The directory's side is here as the caller, with a
 * stream to a workspace that may be anywhere; the workspace's side is the reader, in its sandbox,
 * and we move bytes between it and whoever has the directory, without looking at them.
 */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/sync_int.h"
#include "engine/reader.h"

static void tell_progress(void *context, const struct sync_progress *now)
{
	const struct transfer *t = context;

	if (t->o->progress)
		t->o->progress(t->o->context, now->files, now->bytes_done, now->bytes_total);
}

int sync_send_dir(const struct transfer *t, int tree, int state, int sock, struct err *e)
{
	struct sync_stats stats = {0};
	struct sync_send_opts opts = {
		.tree_fd = tree,
		.state_fd = state,
		.skip_git = (t->o->flags & PINFOLD_SYNC_NO_GIT) != 0,
		.take_all = (t->o->flags & PINFOLD_SYNC_ALL) != 0,
		.idle_ms = SYNC_IDLE_MS,
		.progress = tell_progress,
		.context = (void *)(uintptr_t)t,
	};
	int r = sync_send(&opts, sock, &stats, e);

	sync_stats_public(&stats, t->stats);
	return r;
}

/* There is no way to ask; for this moment it is a stricter one. */
static unsigned own_umask(void)
{
	mode_t mask = umask(077);

	(void)umask(mask);
	return mask;
}

int sync_receive_dir(const struct transfer *t, int tree, int state, int sock, struct err *e)
{
	struct sync_stats stats = {0};
	struct sync_receive_opts opts = {
		.tree_fd = tree,
		.state_fd = state,
		.partial_fd = FD_NONE,
		.mode_off = own_umask(),
		.mirror = (t->o->flags & PINFOLD_SYNC_MIRROR) != 0,
		.keep_changed = !(t->o->flags & PINFOLD_SYNC_FORCE),
		.durable = true,
		.on_host = true,
		.idle_ms = SYNC_IDLE_MS,
		.progress = tell_progress,
		.context = (void *)(uintptr_t)t,
	};
	int r = sync_receive(&opts, sock, &stats, e);

	sync_stats_public(&stats, t->stats);
	return r;
}

/* Bytes of one direction. */
struct way {
	int from, to;
	char *bytes;
	size_t len, at;
	bool over;
};

#define WAY_BYTES ((size_t)256 << 10)

static int move(struct way *w, bool readable, bool writable)
{
	if (w->at < w->len && writable) {
		ssize_t n = write(w->to, w->bytes + w->at, w->len - w->at);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		w->at += n > 0 ? (size_t)n : 0;
	} else if (w->at == w->len && readable && !w->over) {
		ssize_t n = read(w->from, w->bytes, WAY_BYTES);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			n = 0; /* reset: he is gone */
		w->over = n == 0;
		w->len = n > 0 ? (size_t)n : 0;
		w->at = 0;
	}
	return 0;
}

static short wants(const struct way *w, bool reading)
{
	if (reading)
		return w->at == w->len && !w->over ? POLLIN : 0;
	return w->at < w->len ? POLLOUT : 0;
}

static int pump(struct way *in, struct way *out, struct err *e)
{
	bool told = false;

	while (!out->over || out->at < out->len) {
		struct pollfd p[4] = {
			{.fd = wants(in, true) ? in->from : -1, .events = POLLIN},
			{.fd = wants(in, false) ? in->to : -1, .events = POLLOUT},
			{.fd = wants(out, true) ? out->from : -1, .events = POLLIN},
			{.fd = wants(out, false) ? out->to : -1, .events = POLLOUT},
		};
		int n = poll(p, 4, SYNC_IDLE_MS);

		if (n == 0)
			return err_set(e, ERR_TIMEOUT, "the other side has not moved for %d s",
				       SYNC_IDLE_MS / 1000);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "wait for the other side");
		if (move(out, p[2].revents, p[3].revents) < 0) {
			(void)err_set(e, ERR_INTERNAL, "the other side is gone");
			return err_remedy(e, "start it again: what has arrived is not sent twice");
		}
		if (move(in, p[0].revents, p[1].revents) < 0)
			in->over = true, in->at = in->len; /* the reader has ended: it says why */
		if (in->over && in->at == in->len && !told)
			told = shutdown(in->to, SHUT_WR) == 0;
	}
	return 0;
}

/* A pipe whose reader is gone must not end who uses this library. */
int sync_pump(const struct pinfold_sync_serve *far, int reader, struct err *e)
{
	auto_free char *in_bytes = malloc(WAY_BYTES);
	auto_free char *out_bytes = malloc(WAY_BYTES);
	struct way in = {.from = far->in, .to = reader, .bytes = in_bytes};
	struct way out = {.from = reader, .to = far->out, .bytes = out_bytes};
	sigset_t before;

	if (!in_bytes || !out_bytes)
		return err_sys(e, "synchronisation");
	if (far->ready)
		far->ready(far->context);
	/* A write that blocked would keep us from taking what the other side must get rid of
	 * first. */
	int flags[2] = {fcntl(far->in, F_GETFL), fcntl(far->out, F_GETFL)};
	(void)fcntl(far->in, F_SETFL, flags[0] | O_NONBLOCK);
	(void)fcntl(far->out, F_SETFL, flags[1] | O_NONBLOCK);
	(void)fcntl(reader, F_SETFL, O_NONBLOCK);
	reader_hush(&before);
	int r = pump(&in, &out, e);
	reader_unhush(&before);
	(void)fcntl(far->in, F_SETFL, flags[0]);
	(void)fcntl(far->out, F_SETFL, flags[1]);
	return r;
}

static int check_far(const struct pinfold_sync_serve *how, struct err *e)
{
	const char *key = how->key ? how->key : "";

	if (strlen(key) == PINFOLD_SYNC_KEY_SIZE - 1 &&
	    strspn(key, "0123456789abcdef") == PINFOLD_SYNC_KEY_SIZE - 1)
		return 0;
	(void)err_set(e, ERR_INVALID, "key: 32 of 0-9 and a-f are wanted");
	return err_remedy(e, "use the same for the same directory, and another for each other");
}

int pinfold_sync_serve(struct pinfold_store *store, const char *name,
		       const struct pinfold_sync_serve *how, struct pinfold_sync_stats *ret_stats,
		       struct pinfold_error *ret_error)
{
	const struct pinfold_sync_options o = {.size = sizeof(o), .flags = how->flags};
	char to[STORE_PATH_MAX];
	struct transfer t = {.name = name, .to = to, .o = &o, .stats = ret_stats, .far = how};
	struct err e = ERR_INIT;

	assert(store && name && ret_stats && ret_error);
	*ret_stats = (struct pinfold_sync_stats){0};
	struct op op = {.workspace = name};
	int r = op_begin(&op, how->push ? "workspace.push" : "workspace.pull", store->store,
			 workspace_asked("path", how->to), &e);
	if (r >= 0)
		r = check_far(how, &e);
	if (r >= 0)
		r = sync_target(how->to, to, &e);
	if (r >= 0)
		r = how->push ? sync_push(store->store, &t, &e) : sync_pull(store->store, &t, &e);
	r = op_end(&op, r,
		   r >= 0 && how->push ? workspace_stands((int64_t)ret_stats->snapshot) : NULL, &e);
	if (r < 0) {
		workspace_remedy(&e, "remove what is in the way, or use --mirror");
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}

int pinfold_sync_key(const struct pinfold_sync_side *side, const char *to,
		     char ret_key[PINFOLD_SYNC_KEY_SIZE], struct pinfold_error *ret_error)
{
	char path[STORE_PATH_MAX];
	struct transfer t = {.dir = side->dir, .to = path, .peer = side->peer};
	auto_free char *real = NULL;
	struct err e = ERR_INIT;
	int r = sync_target(to, path, &e);

	if (r >= 0)
		r = sync_key(&t, ret_key, &real, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

static int go(const struct store *s, const struct transfer *t, const struct pinfold_sync_side *side,
	      struct err *e)
{
	auto_close int state = FD_NONE, tree = FD_NONE;
	auto_free char *real = NULL;
	char key[DONOR_KEY_SIZE];
	int r = sync_key(t, key, &real, e);

	if (r >= 0)
		r = sync_state(s, side->push ? "send" : "pull-far", key, &state, e);
	if (r < 0)
		return r;
	r = sync_open(real, &tree, e);
	if (r < 0)
		return r;
	return side->push ? sync_send_dir(t, tree, state, side->socket, e)
			  : sync_receive_dir(t, tree, state, side->socket, e);
}

int pinfold_sync_directory(struct pinfold_store *store, const struct pinfold_sync_side *side,
			   const struct pinfold_sync_options *options,
			   struct pinfold_sync_stats *ret_stats, struct pinfold_error *ret_error)
{
	static const struct pinfold_sync_options standard = {.size = sizeof(standard)};
	char to[STORE_PATH_MAX];
	struct transfer t = {.dir = side->dir,
			     .to = to,
			     .o = options ? options : &standard,
			     .stats = ret_stats,
			     .peer = side->peer};
	struct err e = ERR_INIT;

	assert(store && side->peer && side->dir && ret_stats && ret_error);
	*ret_stats = (struct pinfold_sync_stats){0};
	int r = sync_target(t.o->to, to, &e);
	if (r >= 0)
		r = go(store->store, &t, side, &e);
	if (r < 0) {
		if (!side->push && e.kind == ERR_LIMIT)
			(void)err_remedy(&e, SYNC_NO_ROOM);
		workspace_remedy(&e, side->push ? "remove what is in the way, or use --mirror"
						: "keep a copy of it and use --force");
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}
