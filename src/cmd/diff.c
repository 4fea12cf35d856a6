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
	"Shows what the last command in a workspace changed: the names, then text as a patch that git "
	"apply takes, other files by size and hash. With A: from that snapshot to where the workspace "
	"stands; with A and B: from one to the other. --command N shows what one command did.",
	NULL,
};

const struct verb_doc diff_doc = {
	.usage = {"[options] NAME [A [B]]", "[options] --command N NAME"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"What did it do?", "pinfold diff demo"},
			{"Since the last good state:", "pinfold diff demo before-upgrade"},
			{"As JSON, names only:", "pinfold diff --json --names demo"},
		},
};

/* Names are printed as they come, patches behind them: those are kept in a temporary file. */
struct shown {
	struct json j;
	bool json, names, terminal;
	FILE *patches;
	uint64_t count;
};

static void put_change(struct json *j, const struct pinfold_change *c)
{
	json_open(j, NULL, '{');
	change_json(j, c);
	if (c->patch)
		json_bytes(j, "patch", c->patch, c->patch_len);
	else
		json_none(j, "patch");
	json_close(j, '}');
}

static void put_name(const struct pinfold_change *c)
{
	char before[24], after[24];

	printf("%c ", change_letter(c));
	change_name(c->path, c->path_len);
	if (c->binary)
		printf("  (%s to %s bytes, sha256 %.12s)",
		       show_size(c->size_old, before, sizeof(before)),
		       show_size(c->size_new, after, sizeof(after)),
		       c->sha256_new[0] ? c->sha256_new : c->sha256_old);
	else if (c->type_new && strcmp(c->type_new, "file") != 0)
		printf("  (%s)", c->type_new);
	(void)putchar('\n');
}

static int show_change(const struct pinfold_change *c, void *arg)
{
	struct shown *s = arg;

	s->count++;
	if (s->json) {
		put_change(&s->j, c);
		return 0;
	}
	put_name(c);
	if (!s->names) {
		change_text(s->patches, c->patch_head, strlen(c->patch_head), s->terminal, false);
		if (c->patch)
			change_text(s->patches, c->patch, c->patch_len, s->terminal, false);
	}
	return ferror(stdout) || ferror(s->patches);
}

static int print(struct named *n, const char *from, const char *to)
{
	struct shown s = {
		.json = n->r.json, .names = n->r.names, .terminal = isatty(STDOUT_FILENO)};
	struct pinfold_error error;
	uint64_t omitted = 0;
	int status = 0;

	s.patches = tmpfile();
	if (!s.patches) {
		say("internal: cannot make a temporary file: %s", strerror(errno));
		return EXIT_PINFOLD;
	}
	if (s.json)
		show_list_begin(&s.j);
	int r = pinfold_workspace_diff(n->store, n->name, from, to, s.names ? 0 : PINFOLD_DIFF_TEXT,
				       show_change, &s, &omitted, &error);
	if (r < 0 && s.json && s.count == 0) {
		/* Nothing of the list has left the buffer yet. */
		(void)fclose(s.patches);
		return say_library_failure(&error, true);
	}
	if (s.json) {
		status = show_list_end(&s.j) < 0 ? EXIT_PINFOLD : 0;
	} else {
		change_patches(s.patches);
		status = help_flush();
	}
	(void)fclose(s.patches);
	if (omitted)
		say("%llu more changes are not shown", (unsigned long long)omitted);
	return r < 0 ? say_library_failure(&error, false) : status;
}

int cmd_diff(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct err e = ERR_INIT;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 2, &status))
		return status;
	if (n.r.at && n.word[0]) {
		(void)err_set(&e, ERR_INVALID, "--command: not with snapshots");
		(void)err_remedy(&e, "leave one of the two out");
		return say_failure(&e, n.r.json);
	}
	return print(&n, n.word[0], n.r.at ? n.r.at : n.word[1]);
}
