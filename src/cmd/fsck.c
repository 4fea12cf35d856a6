/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Checks the data directory: the database, that every layer is there and has the content "
	"that was written down of it, that every snapshot has its layers and every workspace a "
	"snapshot to stand on. Nothing else may use it meanwhile. A layer of which nothing is "
	"written down yet is written down.",
	"With --repair, directories that belong to nobody are removed, and snapshots whose "
	"layers are gone are dropped; a workspace that stood on one stands on its newest whole "
	"snapshot then. What is good is not touched, nor is a layer that was changed; no command "
	"runs on it until it is as it was, or --accept takes it as it is. pinfold rollback goes "
	"before it.",
	"Exit status 0: all is well, or was repaired; 1: it is not; 125: it could not be checked.",
	NULL,
};

const struct verb_doc fsck_doc = {
	.usage = {"[--json] [--repair] [--accept]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"Is all well?", "pinfold fsck"},
			{"In a script:", "pinfold fsck --json | jq .problems"},
		},
};

struct shown {
	bool json, begun;
	struct json j;
};

/* The document begins with the first finding: an error before it is a document of its own. */
static void begin(struct shown *s)
{
	if (s->begun)
		return;
	s->begun = true;
	json_init(&s->j, STDOUT_FILENO);
	json_open(&s->j, NULL, '{');
	json_open(&s->j, "problems", '[');
}

static void show_problem(const struct pinfold_fsck_problem *p, void *arg)
{
	struct shown *s = arg;

	if (!s->json) {
		printf("%s%s%s%s%s\n", p->message, p->used_by[0] ? " (needed by " : "", p->used_by,
		       p->used_by[0] ? ")" : "", p->repaired ? ": repaired" : "");
		return;
	}
	begin(s);
	json_open(&s->j, NULL, '{');
	json_str(&s->j, "kind", p->kind);
	if (p->layer)
		json_u64(&s->j, "layer", p->layer);
	else
		json_none(&s->j, "layer");
	json_str(&s->j, "message", p->message);
	json_str(&s->j, "used_by", p->used_by);
	json_bool(&s->j, "repaired", p->repaired);
	json_close(&s->j, '}');
}

static int show_stats(struct shown *s, const struct pinfold_fsck_stats *stats)
{
	if (!s->json) {
		printf("%llu workspaces, %llu snapshots, %llu layers: ",
		       (unsigned long long)stats->workspaces, (unsigned long long)stats->snapshots,
		       (unsigned long long)stats->layers);
		if (stats->problems)
			printf("%llu problems, %llu repaired\n",
			       (unsigned long long)stats->problems,
			       (unsigned long long)stats->repaired);
		else
			printf("clean\n");
		return help_flush();
	}
	begin(s);
	json_close(&s->j, ']');
	json_bool(&s->j, "clean", stats->problems == stats->repaired);
	json_u64(&s->j, "repaired", stats->repaired);
	json_u64(&s->j, "workspaces", stats->workspaces);
	json_u64(&s->j, "snapshots", stats->snapshots);
	json_u64(&s->j, "layers", stats->layers);
	json_u64(&s->j, "recorded", stats->recorded);
	json_close(&s->j, '}');
	return show_end(&s->j) < 0 ? EXIT_PINFOLD : 0;
}

int cmd_fsck(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_fsck_stats stats;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	struct shown s = {.json = r.json};
	uint32_t flags =
		(r.repair ? PINFOLD_FSCK_REPAIR : 0) | (r.accept ? PINFOLD_FSCK_ACCEPT : 0);
	if (pinfold_store_fsck(NULL, flags, show_problem, &s, &stats, &error) < 0)
		return say_library_failure(&error, r.json && !s.begun);
	status = show_stats(&s, &stats);
	return status ? status : stats.problems > stats.repaired;
}
