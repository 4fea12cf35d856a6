/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push and pull: the host's side of a synchronisation is here, as the caller; the workspace's is the
 * reader, in a sandbox, with the files of the workspace and nothing else.
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
#include "engine/run_int.h"
#include "store/donor.h"
#include "store/settle.h"
#include "sync/session.h"
#include "tree/answer.h"

#define IDLE_MS (5 * 60 * 1000)

struct transfer {
	const char *name, *dir, *to;
	const struct pinfold_sync_options *o;
	struct pinfold_sync_stats *stats;
};

/* A directory and where it goes to, as a short name. */
static int make_key(const char *dir, const char *to, char key[DONOR_KEY_SIZE], char **ret_real,
		    struct err *e)
{
	uint8_t hash[HASH_BYTES];
	char text[HASH_TEXT_SIZE];
	struct hash h;
	char *real = realpath(dir, NULL);

	if (!real) {
		(void)err_sys(e, "%s", dir);
		return err_remedy(e, "name a directory that exists");
	}
	hash_init(&h);
	hash_add(&h, real, strlen(real) + 1);
	hash_add(&h, to, strlen(to));
	hash_done(&h, hash);
	hash_text(hash, text);
	(void)snprintf(key, DONOR_KEY_SIZE, "%.32s", text);
	*ret_real = real;
	return 0;
}

/* What the host's side remembers of a directory. */
static int open_state(const struct store *s, const char *what, const char *key, int *ret_fd,
		      struct err *e)
{
	char name[80];

	(void)snprintf(name, sizeof(name), "sync/%s-%s", what, key);
	if ((mkdirat(s->home_fd, "sync", 0700) < 0 && errno != EEXIST) ||
	    (mkdirat(s->home_fd, name, 0700) < 0 && errno != EEXIST))
		return err_sys(e, "%s/%s", s->home, name);
	*ret_fd = openat(s->home_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, "%s/%s", s->home, name) : 0;
}

static void tell_progress(void *context, const struct sync_progress *now)
{
	const struct transfer *t = context;

	if (t->o->progress)
		t->o->progress(t->o->context, now->files, now->bytes_done, now->bytes_total);
}

static void take_stats(const struct sync_stats *from, struct pinfold_sync_stats *to)
{
	*to = (struct pinfold_sync_stats){
		.files = from->files,
		.bytes = from->bytes,
		.files_changed = from->files_made,
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
	if (k < 0 && r->run && tree_answer_read(r->out, &answer, &theirs) < 0 && theirs.text[0] &&
	    theirs.kind != ERR_INVALID)
		*e = theirs;
	return reader_end(r, k, e);
}

static int push(struct store *s, const struct transfer *t, struct err *e)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_free char *real = NULL;
	char key[DONOR_KEY_SIZE], path[4400];
	struct donor donor;
	struct reader r = READER_INIT;
	auto_close int state = FD_NONE, mine = FD_NONE, tree = FD_NONE;
	struct sync_stats stats = {0};
	uint64_t snapshot = 0;

	int k = w ? workspace_find(s, t->name, w, e) : err_sys(e, "push");
	if (k >= 0)
		k = make_key(t->dir, t->to, key, &real, e);
	if (k >= 0)
		k = donor_state(s, w, key, path, sizeof(path), &state, &donor, e);
	if (k >= 0)
		k = open_state(s, "send", key, &mine, e);
	if (k < 0)
		return k;
	tree = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree < 0)
		return err_sys(e, "%s", real);
	const char *argv[6] = {"receive"};
	unsigned n = 1;
	if (t->o->flags & PINFOLD_SYNC_MIRROR)
		argv[n++] = "--mirror";
	argv[n++] = "--links-out";
	argv[n++] = t->to;
	struct workspace_how how = {
		.kind = "push",
		.command = real,
		.socket = true,
		.state = path,
		.state_fd = state,
		.before = donor.found ? &donor.stack : NULL,
	};
	k = reader_enter(s, t->name, argv, &how, &r, e);
	struct sync_send_opts opts = {
		.tree_fd = tree,
		.state_fd = mine,
		.skip_git = (t->o->flags & PINFOLD_SYNC_NO_GIT) != 0,
		.take_all = (t->o->flags & PINFOLD_SYNC_ALL) != 0,
		.idle_ms = IDLE_MS,
		.progress = tell_progress,
		.context = (void *)(uintptr_t)t,
	};
	if (k >= 0)
		k = sync_send(&opts, r.in, &stats, e);
	take_stats(&stats, t->stats);
	struct pinfold_run *run = r.run;
	if (k >= 0) {
		fd_close(&r.in);
		pinfold_run_wait(run);
		snapshot = run->snapshot;
	}
	k = explain(&r, k, e);
	if (k >= 0)
		k = donor_note(s, w, key, snapshot, e);
	t->stats->snapshot = snapshot;
	return k < 0 ? k : store_sync(s, e);
}
