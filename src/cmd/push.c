/* SPDX-License-Identifier: Apache-2.0 */
/* push and pull: a directory of the host and a workspace, made alike. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const push_paragraphs[] = {
	"Brings a workspace's /home/user, or --to PATH, up to date with DIR. Only what it lacks travels: "
	"changed files, and of large files the changed parts. It is one command in the workspace's "
	"history, there whole or not at all, and on disk when this returns. Files that DIR no longer has "
	"are removed; files that commands in the workspace made stay, unless --mirror.",
	"What .gitignore and .pinfoldignore name is left out; .git is not, unless --no-git.",
	NULL,
};

const struct verb_doc push_doc = {
	.usage = {"[options] NAME DIR"},
	.paragraphs = push_paragraphs,
	.examples =
		{
			{"This project, then its tests:",
			 "pinfold push demo . && pinfold exec demo -- python3 -m pytest"},
		},
};

static const char *const pull_paragraphs[] = {
	"Brings DIR up to date with a workspace's /home/user, or --to PATH, in the same way. A file that "
	"changed in DIR since the last pull is not overwritten: that is a conflict, unless --force.",
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
		printf("%llu files, %llu changed, %llu removed, %s sent\n",
		       (unsigned long long)s->files, (unsigned long long)s->files_changed,
		       (unsigned long long)s->files_removed,
		       show_size(s->wire_bytes, wire, sizeof(wire)));
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

static int synchronise(const struct verb *v, int argc, char **argv, bool push)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_sync_stats stats;
	struct pinfold_error error;
	uint64_t drawn = 0;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
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
	int r = push ? pinfold_workspace_push(n.store, n.name, n.word[0], &o, &stats, &error)
		     : pinfold_workspace_pull(n.store, n.name, n.word[0], &o, &stats, &error);
	if (drawn)
		(void)fprintf(stderr, "\r\033[K");
	if (r < 0)
		return say_library_failure(&error, n.r.json);
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
