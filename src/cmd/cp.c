/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/cp_live.h"
#include "cmd/noted.h"
#include "cmd/say.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Copies a file or a directory with all below it into a workspace or out of one; one of "
	"SRC and DST is NAME:PATH. A PATH that does not begin with / is below /home/user. DST is "
	"a directory that exists, or the new name. Links are copied as links and never followed. "
	"Into a workspace it is a command of its own: pinfold undo takes it back. Copying out "
	"works while commands run, and sees the workspace as it was before them.",
	"With - as DST one file is written to standard output, with - as SRC standard input becomes one file.",
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
			{"To standard output:", "pinfold cp demo:result.json - | jq .score"},
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

/* What comes from standard input, or goes to standard output, is a file in between: it is copied
 * whole or not at all. */
struct between {
	char dir[256], file[280];
};

static int pass(int from, int to)
{
	char data[65536];
	ssize_t n;

	while ((n = read(from, data, sizeof(data))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || fd_write_all(to, data, (size_t)n) < 0)
			return -1;
	}
	return 0;
}

static int between_begin(struct between *b, bool in, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(b->dir, sizeof(b->dir), "%.200s/pinfold-cp.XXXXXX",
		       tmp && tmp[0] == '/' ? tmp : "/tmp");
	if (!mkdtemp(b->dir)) {
		b->dir[0] = '\0';
		return err_sys(e, "make a directory in %s", tmp && tmp[0] == '/' ? tmp : "/tmp");
	}
	(void)snprintf(b->file, sizeof(b->file), "%s/file", b->dir);
	if (!in)
		return 0;
	auto_close int fd = open(b->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || pass(STDIN_FILENO, fd) < 0 || fchmod(fd, 0644) < 0)
		return err_sys(e, "-: standard input");
	return 0;
}

static int between_print(const struct between *b, struct err *e)
{
	struct stat st;
	auto_close int fd = open(b->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)err_set(e, ERR_INVALID, "-: only one file can be written to standard output");
		return err_remedy(e, "pinfold export NAME writes a tar file there");
	}
	return pass(fd, STDOUT_FILENO) < 0 ? err_sys(e, "-: standard output") : 0;
}

static int open_up(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)at;
	if (kind == FTW_D || kind == FTW_DNR)
		(void)chmod(path, 0700); /* else it stays */
	return 0;
}

static int take_away(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	(void)remove(path); /* else it stays */
	return 0;
}

/* Returns the status that it was given. What is there is one file, or a tree that was not to be
 * printed: below a directory that only the caller can change, and through no link. */
static int between_end(const struct between *b, int status)
{
	if (!b->dir[0])
		return status;
	(void)nftw(b->dir, open_up, 32, FTW_PHYS | FTW_MOUNT);
	(void)nftw(b->dir, take_away, 32, FTW_PHYS | FTW_MOUNT | FTW_DEPTH);
	return status;
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
				   : "SRC and DST: neither is in a workspace");
		(void)err_remedy(&e, "write one of them as NAME:PATH");
		return say_failure(&e, n.r.json);
	}
	struct between b = {.dir = ""};
	if (strcmp(from ? n.word[0] : n.name, "-") == 0) {
		if (between_begin(&b, !from, &e) < 0)
			return between_end(&b, say_failure(&e, n.r.json));
		*(from ? &n.word[0] : &n.name) = b.file;
	}
	if (!copy_live(from ? from_name : to_name, &n, from, to, &status)) {
		int r = from ? pinfold_workspace_copy_out(n.store, from_name, n.r.at, from,
							  n.word[0], &error)
			     : pinfold_workspace_copy_in(n.store, to_name, n.name, to, &error);

		store_leave(&n.store);
		status = r < 0 ? say_library_failure(&error, n.r.json) : 0;
	}
	if (status == 0 && b.dir[0] && from && between_print(&b, &e) < 0)
		status = say_failure(&e, n.r.json);
	return between_end(&b, status);
}
