/* SPDX-License-Identifier: Apache-2.0 */
/* push and pull: a directory of the host and a workspace, made alike. */
#include <stdio.h>
#include <string.h>
#include <pinfold/sync.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/value.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/sync_url.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const push_paragraphs[] = {
	"Brings a workspace's /home/user, or --to PATH, up to date with DIR. Only what it lacks "
	"is sent: changed files, and of large files the changed parts. It is one command in the "
	"workspace's history, complete or not done at all, and on disk when this returns. Files "
	"that DIR no longer has are removed; files that commands in the workspace made stay, "
	"unless --mirror.",
	"What .gitignore and .pinfoldignore name is left out; .git is not, unless --no-git.",
	"With --url the workspace is another daemon's: http://ADDRESS:PORT or unix:PATH of its "
	"HTTP socket. The same is sent. If it was interrupted, the next push continues where it "
	"stopped.",
	NULL,
};

const struct verb_doc push_doc = {
	.usage = {"[options] NAME DIR"},
	.paragraphs = push_paragraphs,
	.examples =
		{
			{"This project, then its tests:",
			 "pinfold push demo . && pinfold exec demo -- python3 -m pytest"},
			{"To a daemon on another machine, by a tunnel to it:",
			 "pinfold push --url http://127.0.0.1:8787 --token-file token demo ."},
		},
};

static const char *const pull_paragraphs[] = {
	"Brings DIR up to date with a workspace's /home/user, or --to PATH, in the same way; a DIR that "
	"is not there is made. A file that changed in DIR since the last pull is not overwritten: that is a "
	"conflict, unless --force.",
	NULL,
};

const struct verb_doc pull_doc = {
	.usage = {"[options] NAME DIR"},
	.paragraphs = pull_paragraphs,
	.examples = {{"The results:", "pinfold pull --to /home/user/out demo results"}},
};

/* One line that is drawn over itself. */
static void draw(void *context, uint64_t files, uint64_t done, uint64_t total)
{
	char now[24], all[24];
	uint64_t *last = context, ms = show_now_ms();

	if (ms - *last < 100 && done < total)
		return;
	*last = ms;
	(void)fprintf(stderr, "\r\033[K%llu files, %s of %s", (unsigned long long)files,
		      show_size(done, now, sizeof(now)), show_size(total, all, sizeof(all)));
}

static int report(const struct named *n, const struct pinfold_sync_stats *s, bool push)
{
	struct json j;
	char wire[24];

	if (!n->r.json) {
		printf("%llu file%s, %llu changed, %llu removed, %s sent",
		       (unsigned long long)s->files, s->files == 1 ? "" : "s",
		       (unsigned long long)s->files_changed, (unsigned long long)s->files_removed,
		       show_size(s->wire_bytes, wire, sizeof(wire)));
		if (s->skipped)
			printf("; %llu left out", (unsigned long long)s->skipped);
		(void)putchar('\n');
		return help_flush();
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	if (push)
		json_u64(&j, "snapshot", s->snapshot);
	json_u64(&j, "files", s->files);
	json_u64(&j, "bytes", s->bytes);
	json_u64(&j, "files_changed", s->files_changed);
	json_u64(&j, "files_removed", s->files_removed);
	json_u64(&j, "chunks_sent", s->chunks_sent);
	json_u64(&j, "wire_bytes", s->wire_bytes);
	json_u64(&j, "skipped", s->skipped);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

static int say_missing(const struct named *n)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INVALID, "DIR: is missing");
	(void)err_remedy(&e, "name a directory of the host, such as .");
	return say_failure(&e, n->r.json);
}

static void say_ready(void *context)
{
	(void)context;
	(void)fd_write_all(STDOUT_FILENO, "R", 1); /* or nobody hears us: that is seen later */
}

/* The workspace's side, for who has the directory: on standard input and output. A letter says that
 * it begins, our document comes behind it. */
static int serve_it(struct named *n, bool push)
{
	struct pinfold_sync_stats stats;
	struct pinfold_error error;
	struct pinfold_sync_serve how = {
		.size = sizeof(how),
		.push = push,
		.to = n->r.to,
		.flags = n->r.mirror ? PINFOLD_SYNC_MIRROR : 0,
		.key = n->r.key,
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.ready = say_ready,
	};

	n->r.json = true;
	if (pinfold_sync_serve(n->store, n->name, &how, &stats, &error) < 0)
		return say_library_failure(&error, true);
	int status = report(n, &stats, push);
	store_leave(&n->store);
	return status;
}

static int talk(struct named *n, const struct pinfold_sync_side *side,
		const struct pinfold_sync_options *o, struct pinfold_sync_stats *stats,
		struct err *e)
{
	struct pinfold_error error;
	auto_free char *text = NULL;
	auto_value *v = NULL;
	size_t len = 0;

	if (pinfold_sync_directory(n->store, side, o, stats, &error) < 0) {
		int status = say_library_failure(&error, n->r.json);

		return status ? -status : -EXIT_PINFOLD;
	}
	if (sync_url_end(side->socket, &text, &len, e) < 0)
		return -say_failure(e, n->r.json);
	if (!side->push || value_parse(text, len, &v, e) < 0)
		return 0;
	stats->snapshot = (uint64_t)value_int(value_get(v, "snapshot"));
	stats->files_changed = (uint64_t)value_int(value_get(v, "files_changed"));
	stats->files_removed = (uint64_t)value_int(value_get(v, "files_removed"));
	return 0;
}

/* The directory's side. 0, or minus the exit status: it was said why. */
static int go_there(struct named *n, const struct pinfold_sync_options *o, bool push,
		    struct pinfold_sync_stats *stats)
{
	char peer[512], key[PINFOLD_SYNC_KEY_SIZE];
	struct pinfold_sync_side side = {
		.size = sizeof(side), .push = push, .peer = peer, .dir = n->word[0]};
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int fd = FD_NONE;

	(void)snprintf(peer, sizeof(peer), "%s %s", n->r.url, n->name);
	if (pinfold_sync_key(&side, o->to, key, &error) < 0)
		return -say_library_failure(&error, n->r.json);
	struct sync_url u = {.url = n->r.url,
			     .token_file = n->r.token_file,
			     .name = n->name,
			     .to = o->to,
			     .key = key,
			     .push = push,
			     .mirror = push && n->r.mirror};
	if (sync_url_open(&u, &fd, &e) < 0)
		return -say_failure(&e, n->r.json);
	side.socket = fd;
	int r = talk(n, &side, o, stats, &e);
	(void)close(fd);
	return r;
}

static int synchronise(const struct verb *v, int argc, char **argv, bool push)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_sync_stats stats;
	struct pinfold_error error;
	uint64_t drawn = 0;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 1, &status))
		return status;
	if (n.r.serve_sync)
		return serve_it(&n, push);
	if (!n.word[0])
		return say_missing(&n);
	bool terminal = !n.r.json && isatty(STDERR_FILENO);
	struct pinfold_sync_options o = {
		.size = sizeof(o),
		.to = n.r.to,
		.flags = (n.r.mirror ? PINFOLD_SYNC_MIRROR : 0) | (n.r.all ? PINFOLD_SYNC_ALL : 0) |
			 (n.r.no_git ? PINFOLD_SYNC_NO_GIT : 0) |
			 (n.r.force ? PINFOLD_SYNC_FORCE : 0),
		.progress = terminal ? draw : NULL,
		.context = &drawn,
	};
	/* Where a pull goes need not be there yet, as with rsync and git clone. */
	bool is_made = !push && mkdir(n.word[0], 0777) == 0;
	int r = n.r.url ? go_there(&n, &o, push, &stats)
		: push	? pinfold_workspace_push(n.store, n.name, n.word[0], &o, &stats, &error)
			: pinfold_workspace_pull(n.store, n.name, n.word[0], &o, &stats, &error);
	if (drawn)
		(void)fprintf(stderr, "\r\033[K");
	if (r < 0 && is_made)
		(void)rmdir(n.word[0]); /* what came already stays, to go on from */
	if (r < 0)
		return n.r.url ? -r : say_library_failure(&error, n.r.json);
	status = report(&n, &stats, push);
	store_leave(&n.store);
	return status;
}

int cmd_push(const struct verb *v, int argc, char **argv)
{
	return synchronise(v, argc, argv, true);
}

int cmd_pull(const struct verb *v, int argc, char **argv)
{
	return synchronise(v, argc, argv, false);
}
