/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/change.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Shows what a workspace that was made with --dir changed of its directory, against what that is "
	"now: the names, then a patch that git apply takes there. The directory is not written.",
	"NAME is also the id of a run whose changes a workspace has: of pinfold run --name, or of pinfold exec.",
	"In front of a name, ! marks what the host may run without being told to: git hooks, build files, "
	"start-up files of shells, settings of editors and agents, and whatever became executable. C marks "
	"what pinfold apply would refuse, because it changed in the directory, too, and the two cannot be merged, or is a link out of it; "
	"~ what both changed and apply merges. "
	"Parts of the patch that git apply does not take, binary files and what is below .git, stand behind #.",
	NULL,
};

const struct verb_doc review_doc = {
	.usage = {"[options] NAME"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"What would be written?", "pinfold review demo"},
			{"Names only:", "pinfold review --names demo"},
			{"What could run by itself?",
			 "pinfold review --json demo | jq '.items[] | select(.runs_on_host)'"},
		},
};

struct shown {
	struct json j;
	bool json, names, terminal, colour;
	FILE *patches;
	uint64_t added, modified, deleted, runs, conflicts, merges, skipped, apart;
};

static void put_json(struct json *j, const struct pinfold_review *item)
{
	const struct pinfold_change *c = &item->change;

	json_open(j, NULL, '{');
	change_json(j, c);
	json_str(j, "runs_on_host", item->runs_on_host);
	json_str(j, "conflict", item->conflict);
	json_str(j, "skipped", item->skipped);
	json_str(j, "merges", item->merges);
	if (c->patch)
		json_bytes(j, "patch", c->patch, c->patch_len);
	else
		json_none(j, "patch");
	json_close(j, '}');
}

static void put_name(const struct shown *s, const struct pinfold_review *item)
{
	const struct pinfold_change *c = &item->change;
	const char *why = item->conflict  ? item->conflict
			  : item->skipped ? item->skipped
			  : item->merges  ? item->merges
					  : item->runs_on_host;
	bool marked = item->conflict || item->merges || item->runs_on_host;

	fputs(marked && s->colour ? "\033[1;33m" : "", stdout);
	printf("%c%c %c ",
	       item->conflict ? 'C'
	       : item->merges ? '~'
			      : ' ',
	       item->runs_on_host ? '!' : ' ', change_letter(c));
	change_name(c->path, c->path_len);
	if (c->type_new && strcmp(c->type_new, "file") != 0)
		printf("  (%s)", c->type_new);
	if (why)
		printf("  — %s", why);
	fputs(marked && s->colour ? "\033[m\n" : "\n", stdout);
}

/* git apply refuses a whole patch for one part that is not text, or for its own directory. Such
 * parts are comments, which it skips. */
static bool git_takes(const struct pinfold_change *c)
{
	bool whole = c->patch || strcmp(c->sha256_old, c->sha256_new) == 0 ||
		     c->size_old + c->size_new == 0;

	for (const char *at = c->path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncasecmp(at, ".git", 4) == 0 && (!at[4] || at[4] == '/'))
			return false;
	}
	return whole;
}

static void put_patch(const struct shown *s, const struct pinfold_change *c)
{
	bool comment = !git_takes(c);

	change_text(s->patches, c->patch_head, strlen(c->patch_head), s->terminal, comment);
	if (c->patch && s->colour)
		change_colour(s->patches, c->patch, c->patch_len, comment);
	else if (c->patch)
		change_text(s->patches, c->patch, c->patch_len, s->terminal, comment);
}

static void count(struct shown *s, const struct pinfold_review *item)
{
	char letter = change_letter(&item->change);

	s->added += letter == 'A';
	s->modified += letter == 'M';
	s->deleted += letter == 'D';
	s->runs += item->runs_on_host != NULL;
	s->conflicts += item->conflict != NULL;
	s->merges += item->merges != NULL;
	s->skipped += item->skipped != NULL;
	s->apart += item->change.patch_head[0] && !git_takes(&item->change);
}

static int show_item(const struct pinfold_review *item, void *arg)
{
	struct shown *s = arg;
	const struct pinfold_change *c = &item->change;

	count(s, item);
	if (s->json) {
		put_json(&s->j, item);
		return 0;
	}
	put_name(s, item);
	if (!s->names)
		put_patch(s, c);
	return ferror(stdout) || ferror(s->patches);
}

static void put_counts(const struct shown *s)
{
	if (s->added + s->modified + s->deleted == 0) {
		printf("nothing changed\n");
		return;
	}
	printf("%llu added, %llu modified, %llu deleted", (unsigned long long)s->added,
	       (unsigned long long)s->modified, (unsigned long long)s->deleted);
	if (s->runs)
		printf("; the host may run %llu by itself (!)", (unsigned long long)s->runs);
	if (s->conflicts)
		printf("; %llu in conflict (C)", (unsigned long long)s->conflicts);
	if (s->merges)
		printf("; %llu to be merged (~)", (unsigned long long)s->merges);
	if (s->skipped)
		printf("; %llu left out", (unsigned long long)s->skipped);
	if (s->apart && !s->names)
		printf("; %llu not for git apply (#)", (unsigned long long)s->apart);
	(void)putchar('\n');
}

static int print(struct named *n, struct shown *s)
{
	struct pinfold_error error;
	uint64_t omitted = 0;
	int status = 0;

	if (s->json)
		show_list_begin(&s->j);
	int r = pinfold_workspace_review(n->store, n->name, s->names ? 0 : PINFOLD_DIFF_TEXT,
					 show_item, s, &omitted, &error);
	if (r < 0 && s->json && s->added + s->modified + s->deleted == 0)
		return say_library_failure(&error, true); /* nothing has left the buffer yet */
	if (s->json) {
		status = show_list_end(&s->j) < 0 ? EXIT_PINFOLD : 0;
	} else if (r >= 0) {
		put_counts(s);
		change_patches(s->patches);
		status = help_flush();
	}
	if (omitted)
		say("%llu more changes are not shown", (unsigned long long)omitted);
	return r < 0 ? say_library_failure(&error, false) : status;
}

int cmd_review(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 0, &status))
		return status;
	struct shown s = {.json = n.r.json, .names = n.r.names, .terminal = isatty(STDOUT_FILENO)};
	s.colour = s.terminal && !getenv("NO_COLOR");
	s.patches = tmpfile();
	if (!s.patches) {
		say("internal: cannot make a temporary file: %s", strerror(errno));
		return EXIT_PINFOLD;
	}
	status = print(&n, &s);
	(void)fclose(s.patches);
	return status;
}
