/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives out of a workspace and into one. They are read and written by the reader, in a
 * sandbox; here bytes are passed on that nobody has looked at.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/pieces.h"
#include "archive/stats.h"
#include "base/fd.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/history.h"
#include "store/reserve.h"
#include "store/settle.h"
#include "store/workspace.h"
#include "tree/answer.h"
#include "tree/pack.h"

#define HOME "/home/user"
#define WORK "/work"

/* Who reads us may be gone; that is an error like others, and no reason to die. */
struct quiet {
	sigset_t before;
	bool was_pending;
};

static sigset_t only_pipe(void)
{
	sigset_t set;

	(void)sigemptyset(&set); /* these two cannot fail */
	(void)sigaddset(&set, SIGPIPE);
	return set;
}

static struct quiet quiet_begin(void)
{
	struct quiet q = {0};
	sigset_t set = only_pipe(), pending;

	(void)sigpending(&pending); /* nor these */
	q.was_pending = sigismember(&pending, SIGPIPE) == 1;
	(void)pthread_sigmask(SIG_BLOCK, &set, &q.before);
	return q;
}

static void quiet_end(const struct quiet *q)
{
	static const struct timespec now;
	sigset_t set = only_pipe();
	int saved = errno;

	if (!q->was_pending)
		(void)sigtimedwait(&set, NULL, &now); /* there may be none */
	(void)pthread_sigmask(SIG_SETMASK, &q->before, NULL);
	errno = saved;
}

void archive_stats_show(const union tree_answer *answer, struct pinfold_archive_stats *to)
{
	struct archive_stats s;

	memcpy(&s, answer->values, sizeof(s));
	*to = (struct pinfold_archive_stats){
		.files = s.files,
		.directories = s.dirs,
		.symlinks = s.symlinks,
		.links = s.links,
		.fifos = s.fifos,
		.bytes = s.bytes,
		.layers = s.layers,
		.removed = s.removed,
		.replaced = s.replaced,
		.devices = s.devices,
		.setid = s.setid,
		.attributes = s.attrs,
		.owners = s.owners,
		.times = s.times,
		.ours = s.ours,
	};
}

struct out_words {
	const char *argv[12];
	unsigned n;
	char path[3][40];
};

static const struct {
	const char *name, *view, *prefix;
	uint32_t bit;
} parts[] = {
	{"root", "/v/new.root", "", LAYER_ROOT},
	{"usr", "/v/new.usr", "usr", LAYER_USR},
	{"work", "/v/new.work", "work", LAYER_WORK},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* What the layers of a snapshot have together, or the one that it added. */
static void make_words(struct out_words *w, const struct snap *snap, bool layer)
{
	uint32_t has = 0;

	for (unsigned i = 0; i < snap->stack.n; i++)
		if (!layer || snap->stack.layer[i].number == snap->layer)
			has |= snap->stack.layer[i].parts;
	w->argv[w->n++] = "export";
	if (layer)
		w->argv[w->n++] = "--layer";
	if (geteuid() != 0) {
		/* All that a user's layers hold belongs to him, which tells nothing. */
		w->argv[w->n++] = "--owner";
		w->argv[w->n++] = "1000";
	}
	for (size_t i = 0; i < PARTS; i++) {
		if (!(has & parts[i].bit))
			continue;
		(void)snprintf(w->path[i], sizeof(w->path[i]), "/v/l/%u/%s", snap->layer,
			       parts[i].name);
		w->argv[w->n++] = layer ? w->path[i] : parts[i].view;
		w->argv[w->n++] = parts[i].prefix;
	}
	w->argv[w->n] = NULL;
}

static int refuse_empty(const struct workspace *w, const struct snap *snap, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "snapshot %lld of workspace %s has no layer of its own",
		      (long long)snap->seq, w->name);
	return err_remedy(e, "name one that changed files with --at; pinfold log %s lists them",
			  w->name);
}

/* A layer that has been merged since is in nobody's stack, and may be there still. */
static int find_layer(const struct workspace *w, struct snap *snap, struct err *e)
{
	return snap->layer && stack_has(&snap->stack, snap->layer) ? 0 : refuse_empty(w, snap, e);
}

static int export(struct store *s, const struct workspace *w, const struct snap *snap, bool layer,
		  int fd, struct pinfold_archive_stats *stats, struct err *e)
{
	static const struct stack none = {.n = 0};
	struct out_words words = {.n = 0};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};
	uint64_t bytes = 0;

	make_words(&words, snap, layer);
	struct reader_ask ask = {
		.argv = words.argv,
		.peek = PEEK_LOOK,
		.bare = true,
		.before = &none,
		.now = &snap->stack,
		.dir = w->dir[0] ? w->dir : NULL,
	};
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = pieces_copy(r.out, fd, &bytes, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	if (k >= 0) {
		archive_stats_show(&answer, stats);
		stats->archive_bytes = bytes;
	}
	return reader_end(&r, k, e);
}

int pinfold_workspace_export(struct pinfold_store *store, const char *name, const char *snapshot,
			     uint32_t flags, int fd, struct pinfold_archive_stats *ret_stats,
			     struct pinfold_error *ret_error)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_free struct snap *snap = calloc(1, sizeof(*snap));
	bool layer = flags & PINFOLD_EXPORT_LAYER;
	struct err e = ERR_INIT;

	assert(store && name && fd >= 0 && ret_stats && ret_error);
	*ret_stats = (struct pinfold_archive_stats){0};
	struct quiet q = quiet_begin();
	struct op op = {.workspace = name};
	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "workspace.export", store->store,
			 workspace_asked("snapshot", snapshot), &e);
	if (r >= 0)
		r = w && snap ? workspace_find(store->store, name, w, &e) : err_sys(&e, "export");
	if (r >= 0)
		r = history_find(store->store, w, snapshot, snap, &e);
	if (r >= 0 && layer)
		r = find_layer(w, snap, &e);
	if (r >= 0)
		r = export(store->store, w, snap, layer, fd, ret_stats, &e);
	r = op_end(&op, r, NULL, &e);
	quiet_end(&q);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

struct in_words {
	const char *argv[12];
	unsigned n;
	struct workspace_room room;
};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

/* Without a path an archive says itself where it goes, and what is not of ours is the user's. */
static void make_in_words(const char *path, bool tree, struct in_words *w)
{
	w->argv[w->n++] = "import";
	if (tree)
		w->argv[w->n++] = "--tree";
	/* Below his own directories everything is the user's. */
	if (!tree && geteuid() == 0 && (!path || (!is_below(path, HOME) && !is_below(path, WORK))))
		w->argv[w->n++] = "--owners";
	w->argv[w->n++] = "--bytes";
	w->argv[w->n++] = w->room.bytes;
	w->argv[w->n++] = "--entries";
	w->argv[w->n++] = w->room.files;
	if (path)
		w->argv[w->n++] = *path ? path : "/";
	w->argv[w->n] = NULL;
}

static int feed(int fd, bool tree, int to, struct err *e)
{
	struct tree_pack_opts opts = {.strict = true};
	struct tree_pack_stats stats;

	return tree ? tree_pack(fd, ".", &opts, to, &stats, e) : reader_pump(fd, to, NULL, e);
}

static int import(struct store *s, const char *name, int fd, const char *path,
		  const struct pinfold_import_options *o, struct pinfold_archive_stats *stats,
		  struct err *e)
{
	struct in_words words = {.n = 0};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};
	struct err theirs = ERR_INIT;
	struct stat st;
	char what[STORE_PATH_MAX + 300];

	if (fstat(fd, &st) < 0)
		return err_sys(e, "import");
	bool tree = S_ISDIR(st.st_mode), found = !o->to && !tree;
	make_in_words(found ? NULL : path, tree, &words);
	(void)snprintf(what, sizeof(what), "%.250s%s%s", o->source ? o->source : "-",
		       found ? "" : " ",
		       found   ? ""
		       : *path ? path
			       : "/");
	struct workspace_how how = {
		.kind = "import", .command = what, .socket = true, .room = &words.room};
	how.user = strcmp(words.argv[1], "--owners") == 0 ? "root" : NULL;
	int k = reader_enter(s, name, words.argv, &how, &r, e);
	if (k >= 0)
		k = feed(fd, tree, r.in, e);
	fd_close(&r.in);
	/* What the other side says is why it stopped reading. */
	if (r.run && tree_answer_read(r.out, &answer, &theirs) < 0 &&
	    (k >= 0 || theirs.kind != ERR_INTERNAL)) {
		*e = theirs;
		k = e->num ? -e->num : -EINVAL;
	}
	if (k >= 0) {
		archive_stats_show(&answer, stats);
		pinfold_run_wait(r.run);
		stats->snapshot = r.run->snapshot;
	}
	k = reader_end(&r, k, e);
	return k < 0 ? k : store_sync(s, e);
}

/* One that is not there is made, and is not there again when nothing came of it. */
static int import_into(struct pinfold_store *store, const char *name, int fd, const char *path,
		       const struct pinfold_import_options *o, struct pinfold_archive_stats *stats,
		       struct err *e)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	struct err none = ERR_INIT;
	int r = w ? workspace_find(store->store, name, w, e) : err_sys(e, "import");
	bool fresh = r == -ENOENT;

	if (fresh) {
		*e = none;
		r = workspace_new(store->store, name, NULL, e);
		if (r < 0)
			return r;
	}
	if (r >= 0)
		r = import(store->store, name, fd, path, o, stats, e);
	if (r < 0 && fresh)
		(void)workspace_remove(store->store, name, &none); /* the first error counts */
	return r;
}

int pinfold_workspace_import(struct pinfold_store *store, const char *name, int fd,
			     const struct pinfold_import_options *options,
			     struct pinfold_archive_stats *ret_stats,
			     struct pinfold_error *ret_error)
{
	struct pinfold_import_options o = {.size = sizeof(o)};
	char path[STORE_PATH_MAX];
	struct err e = ERR_INIT;

	assert(store && name && fd >= 0 && ret_stats && ret_error);
	*ret_stats = (struct pinfold_archive_stats){0};
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	struct quiet q = quiet_begin();
	struct op op = {.workspace = name};
	int r = op_begin(&op, "workspace.import", store->store, workspace_asked("source", o.source),
			 &e);
	if (r >= 0)
		r = workspace_path(o.to ? o.to : "", path, sizeof(path), &e);
	if (r >= 0)
		r = import_into(store, name, fd, path, &o, ret_stats, &e);
	r = op_end(&op, r, r >= 0 ? workspace_stands((int64_t)ret_stats->snapshot) : NULL, &e);
	quiet_end(&q);
	if (r < 0) {
		workspace_remedy(&e, "name another place with --to, or remove what is in the way");
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}
