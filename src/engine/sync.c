/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push and pull: the host's side of a synchronisation is here, as the caller; the workspace's is
 * the reader, in a sandbox, with the files of the workspace and nothing else.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hash.h"
#include "engine/reader.h"
#include "engine/sync_int.h"
#include "store/settle.h"
#include "tree/answer.h"

int sync_open(const char *real, int *ret_fd, struct err *e)
{
	*ret_fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	if (errno != ENOTDIR)
		return err_sys(e, "%s", real);
	(void)err_set(e, ERR_INVALID, "DIR: %s is not a directory", real);
	return err_remedy(e, "name a directory; pinfold cp copies a single file");
}

int sync_key(const struct transfer *t, char key[DONOR_KEY_SIZE], char **ret_real, struct err *e)
{
	const char *dir = t->dir;
	uint8_t hash[HASH_BYTES];
	char text[HASH_TEXT_SIZE];
	struct hash h;
	char *real;

	if (t->far) { /* its own affair */
		(void)snprintf(key, DONOR_KEY_SIZE, "%s", t->far->key);
		*ret_real = strdup("elsewhere");
		return *ret_real ? 0 : err_sys(e, "push");
	}
	real = realpath(dir, NULL);

	if (!real) {
		(void)err_sys(e, "%s", dir);
		return err_remedy(e, "name a directory that exists");
	}
	hash_init(&h);
	hash_add(&h, real, strlen(real) + 1);
	hash_add(&h, t->to, strlen(t->to));
	if (t->peer)
		hash_add(&h, t->peer, strlen(t->peer) + 1);
	hash_done(&h, hash);
	hash_text(hash, text);
	(void)snprintf(key, DONOR_KEY_SIZE, "%.32s", text);
	*ret_real = real;
	return 0;
}

int sync_state(const struct store *s, const char *what, const char *key, int *ret_fd, struct err *e)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "sync/%s-%s", what, key);
	if ((mkdirat(s->home_fd, "sync", 0700) < 0 && errno != EEXIST) ||
	    (mkdirat(s->home_fd, name, 0700) < 0 && errno != EEXIST))
		return err_sys(e, "%s/%s", s->home, name);
	*ret_fd = openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, "%s/%s", s->home, name) : 0;
}

void sync_stats_public(const struct sync_stats *from, struct pinfold_sync_stats *to)
{
	*to = (struct pinfold_sync_stats){
		.files = from->files,
		.bytes = from->bytes,
		.files_changed = from->files_made + from->files_set,
		.files_removed = from->files_gone,
		.chunks_sent = from->chunks_sent,
		.wire_bytes = from->wire_out + from->wire_in,
		.skipped = from->skipped,
	};
}

/* A side that could not even begin says why on its standard output. */
static int explain(struct reader *r, int k, struct err *e)
{
	union tree_answer answer;
	struct err theirs = ERR_INIT;

	fd_close(&r->in);
	if (k < 0 && r->out >= 0 && tree_answer_read(r->out, &answer, &theirs) < 0 &&
	    theirs.text[0] && theirs.kind != ERR_INVALID)
		*e = theirs;
	return reader_end(r, k, e);
}

/* All that a push holds open. */
struct pushing {
	struct workspace w;
	char *real;
	char key[DONOR_KEY_SIZE], path[STORE_PATH_MAX + 256];
	struct donor donor;
	int state, mine, tree;
};

static int push_open(struct store *s, const struct transfer *t, struct pushing *p, struct err *e)
{
	int k = workspace_find(s, t->name, &p->w, e);

	p->state = p->mine = p->tree = FD_NONE;
	if (k >= 0)
		k = sync_key(t, p->key, &p->real, e);
	if (k < 0)
		return k;
	if (!t->far) {
		k = sync_open(p->real, &p->tree, e);
		if (k < 0)
			return k;
	}
	struct donor_place place = {p->path, sizeof(p->path), FD_NONE};
	k = donor_state(s, &p->w, p->key, t->to, &place, &p->donor, e);
	p->state = place.fd;
	return k < 0 || t->far ? k : sync_state(s, "send", p->key, &p->mine, e);
}

static void push_close(struct pushing *p)
{
	fd_close(&p->state);
	fd_close(&p->mine);
	fd_close(&p->tree);
	free(p->real);
	free(p);
}

static int push_start(struct store *s, const struct transfer *t, const struct pushing *p,
		      struct reader *r, struct err *e)
{
	bool mirror = t->o->flags & PINFOLD_SYNC_MIRROR;
	struct workspace_room room = {"", ""};
	const char *argv[] = {"receive",
			      "--links-out",
			      "--bytes",
			      room.bytes,
			      "--entries",
			      room.files,
			      mirror ? "--mirror" : t->to,
			      mirror ? t->to : NULL,
			      NULL};
	struct workspace_how how = {
		.kind = "push",
		.command = p->real,
		.socket = true,
		.state = p->path,
		.state_fd = p->state,
		.room = &room,
		.before = p->donor.found ? &p->donor.stack : NULL,
	};

	return reader_enter(s, t->name, argv, &how, r, e);
}

/* As the other side says: nothing depends on it. */
static void count_changes(struct reader *r, struct pinfold_sync_stats *to)
{
	union tree_answer answer;
	struct err ignored = ERR_INIT;

	if (tree_answer_read(r->out, &answer, &ignored) < 0)
		return;
	to->files_changed = answer.values[0];
	to->files_removed = answer.values[1];
}

static int push_files(struct store *s, const struct transfer *t, struct pushing *p, struct err *e)
{
	struct reader r = READER_INIT;
	int k = push_start(s, t, p, &r, e);

	if (k >= 0)
		k = t->far ? sync_pump(t->far, r.in, e)
			   : sync_send_dir(t, p->tree, p->mine, r.in, e);
	if (k >= 0) {
		fd_close(&r.in);
		pinfold_run_wait(r.run);
		count_changes(&r, t->stats);
		t->stats->snapshot = r.run->snapshot;
	}
	k = explain(&r, k, e);
	if (k >= 0)
		k = donor_note(s, &p->w, p->key, t->stats->snapshot, e);
	return k < 0 ? k : store_sync(s, e);
}

int sync_push(struct store *s, const struct transfer *t, struct err *e)
{
	struct pushing *p = calloc(1, sizeof(*p));
	int r = p ? push_open(s, t, p, e) : err_sys(e, "push");

	if (r >= 0)
		r = push_files(s, t, p, e);
	if (p)
		push_close(p);
	return r;
}

/* Where the directory is that a pull writes to, and what is remembered of it. */
static int pull_open(const struct store *s, const struct transfer *t, const struct workspace *w,
		     int *ret_tree, int *ret_state, struct err *e)
{
	auto_free char *real = NULL;
	char key[DONOR_KEY_SIZE], whose[32];

	(void)snprintf(whose, sizeof(whose), "pull-%lld", (long long)w->id);
	int k = sync_key(t, key, &real, e);
	if (k >= 0)
		k = sync_state(s, whose, key, ret_state, e);
	if (k < 0)
		return k;
	return sync_open(real, ret_tree, e);
}

/* What the workspace's side did not send. It was pulled all the same if that cannot be had. */
static void count_skipped(struct reader *r, struct pinfold_sync_stats *stats)
{
	union tree_answer answer;
	struct err ignored = ERR_INIT;

	fd_close(&r->in);
	if (tree_answer_read(r->out, &answer, &ignored) >= 0)
		stats->skipped = answer.values[0] + answer.values[1];
}

int sync_pull(struct store *s, const struct transfer *t, struct err *e)
{
	static const struct stack none = {.n = 0};
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_close int state = FD_NONE, tree = FD_NONE;
	struct reader r = READER_INIT;
	int k = w ? workspace_find(s, t->name, w, e) : err_sys(e, "pull");

	if (k >= 0 && !t->far)
		k = pull_open(s, t, w, &tree, &state, e);
	if (k < 0)
		return k;
	const char *rest = "";
	const char *argv[] = {"send", "--skip-links-out", workspace_view(&w->stack, t->to, &rest),
			      NULL, NULL};
	argv[3] = *rest ? rest : ".";
	struct reader_ask ask = {.argv = argv,
				 .peek = PEEK_LOOK,
				 .before = &none,
				 .now = &w->stack,
				 .dir = w->dir[0] ? w->dir : NULL,
				 .said = w->said,
				 .socket = true};
	k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = t->far ? sync_pump(t->far, r.in, e) : sync_receive_dir(t, tree, state, r.in, e);
	if (k >= 0 && !t->far)
		count_skipped(&r, t->stats);
	return explain(&r, k, e);
}

int sync_target(const char *to, char path[STORE_PATH_MAX], struct err *e)
{
	int r = workspace_path(to ? to : "", path, STORE_PATH_MAX, e);

	return r < 0 ? r : workspace_keeps(path, e);
}

int pinfold_workspace_push(struct pinfold_store *store, const char *name, const char *dir,
			   const struct pinfold_sync_options *options,
			   struct pinfold_sync_stats *ret_stats, struct pinfold_error *ret_error)
{
	static const struct pinfold_sync_options standard = {.size = sizeof(standard)};
	char to[STORE_PATH_MAX];
	struct transfer t = {.name = name,
			     .dir = dir,
			     .to = to,
			     .o = options ? options : &standard,
			     .stats = ret_stats};
	struct err e = ERR_INIT;

	assert(store && name && dir && ret_stats && ret_error);
	*ret_stats = (struct pinfold_sync_stats){0};
	struct op op = {.workspace = name};
	int r = op_begin(&op, "workspace.push", store->store, workspace_asked("path", t.o->to), &e);
	if (r >= 0)
		r = sync_target(t.o->to, to, &e);
	if (r >= 0)
		r = sync_push(store->store, &t, &e);
	r = op_end(&op, r, r >= 0 ? workspace_stands((int64_t)ret_stats->snapshot) : NULL, &e);
	if (r < 0) {
		workspace_remedy(&e, "remove what is in the way, or use --mirror");
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}

int pinfold_workspace_pull(struct pinfold_store *store, const char *name, const char *dir,
			   const struct pinfold_sync_options *options,
			   struct pinfold_sync_stats *ret_stats, struct pinfold_error *ret_error)
{
	static const struct pinfold_sync_options standard = {.size = sizeof(standard)};
	char to[STORE_PATH_MAX];
	struct transfer t = {.name = name,
			     .dir = dir,
			     .to = to,
			     .o = options ? options : &standard,
			     .stats = ret_stats};
	struct err e = ERR_INIT;

	assert(store && name && dir && ret_stats && ret_error);
	*ret_stats = (struct pinfold_sync_stats){0};
	struct op op = {.workspace = name};
	int r = op_begin(&op, "workspace.pull", store->store, workspace_asked("path", t.o->to), &e);
	if (r >= 0)
		r = sync_target(t.o->to, to, &e);
	if (r >= 0)
		r = sync_pull(store->store, &t, &e);
	r = op_end(&op, r, NULL, &e);
	if (r < 0) {
		if (e.kind == ERR_LIMIT)
			(void)err_remedy(&e, SYNC_NO_ROOM);
		workspace_remedy(&e, "keep a copy of it and use --force");
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}
