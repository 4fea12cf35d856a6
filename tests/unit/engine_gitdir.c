/* SPDX-License-Identifier: Apache-2.0 */
/* A file .git may name anything: which directories are shown for it, and which are not. */
#include "engine/gitdir.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "kernel/remove.h"
#include "tap.h"

static char top[64];

/* A file below the top, with the directories that it needs. */
__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *fmt, ...)
{
	char path[512];
	va_list ap;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	FILE *f = fopen(path, "we");
	if (!f)
		return;
	va_start(ap, fmt);
	(void)vfprintf(f, fmt, ap);
	va_end(ap);
	(void)fclose(f);
}

static void make_dir(const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	(void)mkdir(path, 0755);
}

static void repository(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/HEAD", name);
	put(path, "ref: refs/heads/main\n");
	(void)snprintf(path, sizeof(path), "%s/objects", name);
	make_dir(path);
	(void)snprintf(path, sizeof(path), "%s/refs", name);
	make_dir(path);
}

static void begin(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/pinfold-gitdir-XXXXXX");
	ok(mkdtemp(top), "a directory");
	make_dir("tree");
	repository("main/.git");
	put("main/.git/config",
	    "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://u:p@h/r\n");
}

static struct gitdir look(const char *name)
{
	struct gitdir g;
	char real[128];

	(void)snprintf(real, sizeof(real), "%s/%s", top, name);
	int dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gitdir_find(dir, real, &(struct secrets_said){0}, &g);
	close(dir);
	return g;
}

static void shown(const char *name, const char *want, const char *what)
{
	struct gitdir g = look(name);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", top, want);
	ok(g.found && !g.note && g.fd >= 0, what);
	is_str(g.path, path, "the right one");
	gitdir_done(&g);
}

/* `note` NULL: not even worth a word. */
static void not_shown(const char *name, const char *note, const char *what)
{
	struct gitdir g = look(name);

	ok(!g.found && (note ? g.note && strstr(g.note, note) : !g.note), what);
	if (g.note && !note)
		diag("%s", g.note);
	gitdir_done(&g);
}

static void make_worktree(void)
{
	put("tree/.git", "gitdir: %s/main/.git/worktrees/tree\n", top);
	put("main/.git/worktrees/tree/commondir", "../..\n");
	put("main/.git/worktrees/tree/gitdir", "%s/tree/.git\n", top);
}

static void worktrees(void)
{
	begin();
	not_shown("tree", NULL, "no .git");
	not_shown("main", NULL, "a .git that is a directory is seen as it is");
	make_worktree();
	shown("tree", "main/.git", "a worktree: what it shares with the others");
	struct gitdir g = look("tree");
	is_str(g.inside, g.path, "at the same place inside");
	ok(g.secrets.n == 1 && strcmp(g.hidden[0], "config") == 0, "without its password");
	gitdir_done(&g);
	put("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
	shown("tree", "main/.git", "by a relative path");
	put("main/.git/worktrees/tree/gitdir", "%s/other/.git\n", top);
	not_shown("tree", "another worktree", "one that belongs to another directory");
	make_worktree();
	put("main/.git/worktrees/tree/commondir", "../../..\n");
	not_shown("tree", "where worktrees are", "one that names a directory further up");
	put("main/.git/worktrees/tree/commondir", "/etc\n");
	not_shown("tree", "where worktrees are", "or quite another");
	(void)remove_tree(top);
}

static void submodules(void)
{
	begin();
	repository("main/.git/modules/sub");
	put("main/sub/.git", "gitdir: ../.git/modules/sub\n");
	put("main/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n");
	shown("main/sub", "main/.git/modules/sub", "a submodule");
	put("main/.git/modules/sub/config", "[core]\n\tworktree = ../../../other\n");
	not_shown("main/sub", "another directory", "one that belongs elsewhere");
	put("main/.git/modules/sub/config", "[other]\n\tworktree = ../../../sub\n");
	not_shown("main/sub", "another directory", "the word in another section is not it");
	put("main/sub/.git", "gitdir: inner\n");
	not_shown("main/sub", NULL, "what is in the directory is seen with it");
	(void)remove_tree(top);
}

static void hostile(void)
{
	char path[128], target[128];

	begin();
	make_worktree();
	put("tree/.git", "gitdir: /etc\n");
	not_shown("tree", "another directory", "no git directory at all");
	put("tree/.git", "gitdir: /nowhere/at/all\n");
	not_shown("tree", "not there", "one that is not there");
	put("tree/.git", "gitdir: %s/main/.git/worktrees/tree\nmore\n", top);
	not_shown("tree", NULL, "two lines are no name");
	put("tree/.git", "gitdir: %s/main/.git/worktrees/\033[31mtree\n", top);
	not_shown("tree", NULL, "nor is what a terminal would obey");
	put("tree/.git", "something else\n");
	not_shown("tree", NULL, "another file");
	make_worktree();
	(void)snprintf(path, sizeof(path), "%s/main/.git/HEAD", top);
	(void)unlink(path);
	not_shown("tree", "no git directory of yours", "one without a HEAD");
	repository("main/.git");
	(void)snprintf(path, sizeof(path), "%s/main/.git/objects", top);
	(void)rmdir(path);
	(void)!symlink("/etc", path);
	not_shown("tree", "no git directory of yours", "objects that are a link");
	(void)unlink(path);
	repository("main/.git");
	shown("tree", "main/.git", "put right it is");
	(void)snprintf(path, sizeof(path), "%s/main", top);
	(void)snprintf(target, sizeof(target), "%s/real", top);
	(void)rename(path, target);
	(void)!symlink("real", path);
	not_shown("tree", "behind a link", "one behind a link");
	(void)snprintf(path, sizeof(path), "%s/tree/.git", top);
	(void)unlink(path);
	(void)mkfifo(path, 0600);
	not_shown("tree", NULL, "a FIFO is not waited for");
	(void)remove_tree(top);
}

/* Where it would hide something of the sandbox's. */
static void places(void)
{
	static const char *const names[] = {"/usr/x", "/etc", "/proc/1", "/work", "/tmp", "/v/a"};

	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct gitdir g;

		put("tree/.git", "gitdir: %s\n", names[i]);
		g = look("tree");
		ok(!g.found, names[i]);
		gitdir_done(&g);
	}
	(void)remove_tree(top);
}

int main(void)
{
	TAP_RUN(worktrees);
	TAP_RUN(submodules);
	TAP_RUN(hostile);
	TAP_RUN(places);
	return tap_done();
}
