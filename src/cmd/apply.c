/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/change.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Writes what a workspace changed of its directory to the directory: all, or what is at or below "
	"each PATH, which is relative to the directory. All or nothing: a text that changed there, too, is "
	"merged by lines where what it was is kept; all else that changed on both sides is a conflict, every "
	"conflict is named, and nothing is written. No link is followed on the way, and "
	"a link that leads out of the directory is written only where PATH names it.",
	"--revert takes the last apply back; files that changed since are conflicts. A process that is "
	"killed in the middle has written nothing, once review or apply has looked at the directory again.",
	"NAME is also the id of a run whose changes a workspace has: of pinfold run --name, or of pinfold exec.",
	NULL,
};

const struct verb_doc apply_doc = {
	.usage = {"[options] NAME [PATH...]", "--revert [options] NAME"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"Everything:", "pinfold apply demo"},
			{"Only this:", "pinfold apply demo src docs/guide.md"},
			{"What would be written?", "pinfold apply --dry-run demo"},
			{"As if nothing had happened:", "pinfold apply --revert demo"},
		},
};

struct told {
	struct json j;
	bool json;
	uint64_t count, conflicts;
};

static void put_json(struct told *t, const struct pinfold_review *item)
{
	if (t->count + t->conflicts == 1) {
		json_init(&t->j, STDOUT_FILENO);
		json_open(&t->j, NULL, '{');
		json_open(&t->j, "items", '[');
	}
	json_open(&t->j, NULL, '{');
	change_json(&t->j, &item->change);
	json_str(&t->j, "runs_on_host", item->runs_on_host);
	json_str(&t->j, "conflict", item->conflict);
	json_bool(&t->j, "merged", item->merges != NULL);
	json_close(&t->j, '}');
}

static int tell(const struct pinfold_review *item, void *arg)
{
	struct told *t = arg;

	t->count += !item->conflict;
	t->conflicts += item->conflict != NULL;
	if (t->json) {
		put_json(t, item);
		return 0;
	}
	if (item->conflict) {
		say("conflict: %s: %s", item->change.path, item->conflict);
		return 0;
	}
	printf("%c %c ", item->runs_on_host ? '!' : ' ', change_letter(&item->change));
	change_name(item->change.path, item->change.path_len);
	if (item->merges)
		fputs("  (merged)", stdout);
	(void)putchar('\n');
	return ferror(stdout);
}

static int end_json(struct told *t, bool dry_run, const struct pinfold_error *error)
{
	if (t->count + t->conflicts == 0) {
		json_init(&t->j, STDOUT_FILENO);
		json_open(&t->j, NULL, '{');
		json_open(&t->j, "items", '[');
	}
	json_close(&t->j, ']');
	json_bool(&t->j, "dry_run", dry_run);
	json_u64(&t->j, "written", dry_run ? 0 : t->count);
	if (error) {
		json_open(&t->j, "error", '{');
		json_str(&t->j, "code", error->code);
		json_str(&t->j, "message", error->message);
		json_str(&t->j, "remedy", error->remedy);
		json_close(&t->j, '}');
	} else {
		json_none(&t->j, "error");
	}
	json_close(&t->j, '}');
	return show_end(&t->j) < 0 ? EXIT_PINFOLD : 0;
}

static int end(struct told *t, const struct named *n, const struct pinfold_error *error)
{
	int status = 0;

	if (error && t->conflicts == 0)
		return say_library_failure(error, t->json);
	if (error)
		say_error(error);
	if (t->json) {
		status = end_json(t, n->r.dry_run, error);
	} else if (!error) {
		printf("%llu %s\n", (unsigned long long)t->count,
		       n->r.dry_run  ? "would be written"
		       : n->r.revert ? "taken back"
				     : "written");
		status = help_flush();
	}
	return error ? EXIT_PINFOLD : status;
}

int cmd_apply(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, INT_MAX - 1, &status))
		return status;
	if (n.r.revert && n.words[0]) {
		(void)err_set(&e, ERR_INVALID, "--revert: not with PATH");
		(void)err_remedy(&e, "an apply is taken back as a whole: leave the paths out");
		return say_failure(&e, n.r.json);
	}
	struct told t = {.json = n.r.json};
	uint32_t flags = n.r.dry_run ? PINFOLD_APPLY_DRY_RUN : 0;
	int r = n.r.revert ? pinfold_workspace_revert(n.store, n.name, flags, tell, &t, &error)
			   : pinfold_workspace_apply(n.store, n.name, (const char *const *)n.words,
						     flags, tell, &t, &error);
	return end(&t, &n, r < 0 ? &error : NULL);
}
