/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd/cp_live.h"
#include "cmd/noted.h"
#include "cmd/say.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Copies a file or a directory with all below it into a workspace or out of one; one of SRC and "
	"DST is NAME:PATH. A PATH that does not begin with / is below /home/user. DST is a directory "
	"that exists, or the new name. Links are copied as links and never followed. Into a workspace "
	"it is a command of its own: pinfold undo takes it back. Out of one works while commands run, and "
	"sees where the workspace stood before them.",
	"NAME is also the id of a sandbox that lives (pinfold ps); where a workspace has that name, too, "
	"the sandbox is meant.",
	NULL,
};

const struct verb_doc cp_doc = {
	.usage = {"[options] SRC NAME:PATH", "[options] NAME:PATH DST"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"In:", "pinfold cp data.csv demo:data.csv"},
			{"Out:", "pinfold cp demo:/home/user/plot.png ."},
			{"From a sandbox that lives:", "pinfold cp $id:out.csv ."},
			{"As it was:", "pinfold cp --at 7 demo:notes.txt old-notes.txt"},
		},
};

#define LIVE_ID_LEN 29u /* "sbx" and 26 characters; a workspace may be called so, too */

/* "NAME:PATH" with a name of a workspace; anything with a slash before the colon is a path. */
static const char *remote_path(const char *word, char name[PINFOLD_NAME_SIZE])
{
	size_t n = strcspn(word, ":/");

	if (word[n] != ':' || n == 0 || n >= PINFOLD_NAME_SIZE)
		return NULL;
	memcpy(name, word, n);
	name[n] = '\0';
	return word + n + 1;
}

/* Between the host and a sandbox that lives; on record. */
static int copy_noted(const char *id, struct pinfold_files *files, const struct named *n,
		      const char *from, const char *to, struct pinfold_error *ret_error)
{
	struct noted note = {.kind = from ? "sandbox.copy_out" : "sandbox.copy_in", .sandbox = id};
	struct err e = ERR_INIT;

	noted_word(&note, "path", from ? from : to);
	if (noted_begin(&note, &e) < 0)
		return cp_failed(&e, ret_error);
	int r = from ? cp_live_out(id, files, from, n->word[0], ret_error)
		     : cp_live_in(files, n->name, to, ret_error);
	return noted_over(&note, r, ret_error->code);
}

/* True: it is a sandbox that lives, and *ret_status is how that ended. */
static bool copy_live(const char *id, const struct named *n, const char *from, const char *to,
		      int *ret_status)
{
	struct pinfold_files *files = NULL;
	struct pinfold_error error;

	if (strlen(id) != LIVE_ID_LEN || strncmp(id, "sbx", 3) != 0)
		return false;
	int r = pinfold_files_open(id, &files, &error);
	/* Without a daemon there is no sandbox either. */
	if (r < 0 && strncmp(error.code, "conflict", 8) != 0 && strncmp(error.code, "busy", 4) != 0)
		return false;
	if (r == 0)
		r = copy_noted(id, files, n, from, to, &error);
	pinfold_files_close(files);
	*ret_status = r < 0 ? say_library_failure(&error, n->r.json) : 0;
	return true;
}

int cmd_cp(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	char from_name[PINFOLD_NAME_SIZE], to_name[PINFOLD_NAME_SIZE];
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
	const char *from = remote_path(n.name, from_name), *to = remote_path(n.word[0], to_name);
	if (!from == !to) {
		(void)err_set(&e, ERR_INVALID,
			      from ? "SRC and DST: both are in a workspace"
				   : "SRC and DST: none is in a workspace");
		(void)err_remedy(&e, "write one of them as NAME:PATH");
		return say_failure(&e, n.r.json);
	}
	if (strcmp(from ? n.word[0] : n.name, "-") == 0) {
		(void)err_set(&e, ERR_UNSUPPORTED, "-: standard input and output are not copied");
		(void)err_remedy(&e, "pinfold exec NAME -- cat PATH prints a file");
		return say_failure(&e, n.r.json);
	}
	if (copy_live(from ? from_name : to_name, &n, from, to, &status))
		return status;
	int r = from ? pinfold_workspace_copy_out(n.store, from_name, n.r.at, from, n.word[0],
						  &error)
		     : pinfold_workspace_copy_in(n.store, to_name, n.name, to, &error);
	store_leave(&n.store);
	return r < 0 ? say_library_failure(&error, n.r.json) : 0;
}
