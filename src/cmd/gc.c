/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/gc.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

#define LAST 10u

static const char *const paragraphs[] = {
	"Frees space: removes layers that no snapshot needs any more, and what dead processes "
	"left. That also happens by itself after commands; this verb waits until it is done.",
	"With --history, older commands are forgotten: undo then goes no further back than the "
	"snapshot that is shown as base. The last ten commands of a workspace stay, however old "
	"they are (--last), and so does everything with a label. With --undone, what was taken "
	"back is removed at once; otherwise it stays for an hour.",
	"Layers of forgotten commands become one: of a file that ten of them wrote, one copy stays.",
	"A workspace in which something runs is left as it is, and reported.",
	NULL,
};

const struct verb_doc gc_doc = {
	.usage = {"[--json] [--history DURATION] [--last COUNT] [--undone] [NAME]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"What nobody needs:", "pinfold gc"},
			{"No history beyond a week:", "pinfold gc --history 7d"},
			{"As small as it gets:", "pinfold gc --history 1ms --last 0 --undone demo"},
		},
};

static int show(const struct pinfold_gc_stats *s, bool json)
{
	uint64_t back = s->bytes_before > s->bytes_after ? s->bytes_before - s->bytes_after : 0;
	char given[24], left[24];
	struct json j;

	if (!json) {
		printf("%s given back, %s left; %llu snapshots forgotten\n",
		       show_size(back, given, sizeof(given)),
		       show_size(s->bytes_after, left, sizeof(left)),
		       (unsigned long long)s->snapshots);
		if (s->busy)
			printf("%llu workspaces were left: something runs in them\n",
			       (unsigned long long)s->busy);
		return help_flush();
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_u64(&j, "workspaces", s->workspaces);
	json_u64(&j, "busy", s->busy);
	json_u64(&j, "snapshots", s->snapshots);
	json_u64(&j, "given_back_bytes", back);
	json_u64(&j, "bytes", s->bytes_after);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

int cmd_gc(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_gc_stats stats;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	n.r.last = UINT64_MAX;
	if (!request_begin(&n.r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	if (argc > 1 && request_end(argc - 1, argv + 1, &e) < 0)
		return say_failure(&e, n.r.json);
	if (!store_ready(&n.store, n.r.json))
		return EXIT_PINFOLD;
	struct pinfold_gc_options o = {.size = sizeof(o),
				       .workspace = argc > 0 ? argv[0] : NULL,
				       .history_ms = n.r.history_ms,
				       .last = n.r.last == UINT64_MAX ? LAST : n.r.last,
				       .undone = n.r.undone};
	if (pinfold_store_gc(n.store, &o, &stats, &error) < 0)
		return say_library_failure(&error, n.r.json);
	return show(&stats, n.r.json);
}
