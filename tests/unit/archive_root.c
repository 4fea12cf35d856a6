/* SPDX-License-Identifier: Apache-2.0 */
/* A root file system that says what it likes becomes one that sandboxes can be made on, and nothing
 * outside of it is read or written. */
#include "archive/root.h"

#include "tree_help.h"

static char top[64], other[64];

static void put(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static const char *get(int dir, const char *path)
{
	static char text[4096];
	size_t len = 0;
	auto_close int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	text[0] = '\0';
	if (fd >= 0 && fd_read_max(fd, text, sizeof(text) - 1, &len) >= 0)
		text[len] = '\0';
	return text;
}

static void are_directories(int root)
{
	static const char *const dirs[] = {"proc", "dev",	"sys", "tmp", "run",
					   "home", "home/user", "etc", "var", "var/tmp"};
	struct stat st;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		ok(fstatat(root, dirs[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode),
		   dirs[i]);
}

static void complete(int root)
{
	struct err e = ERR_INIT;

	is_int(root_complete(root, false, &e), 0, "it is completed");
	if (e.text[0])
		diag("%s", e.text);
	are_directories(root);
}

#define OURS "user:x:1000:1000:user:/home/user:/bin/sh\n"

static void empty(void)
{
	int root = fresh(top);

	complete(root);
	is_str(get(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n" OURS, "people");
	is_str(get(root, "etc/group"), "root:x:0:\nuser:x:1000:\n", "groups");
	complete(root);
	is_str(get(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n" OURS, "once");
	close(root);
	(void)remove_tree_at(AT_FDCWD, top);
}

static void lists(void)
{
	static const struct {
		const char *had;
		bool changes;
	} cases[] = {
		{"user:x:1000:1000::/:/x\n", false},
		{"root:x:0:0::/:/x\nuser::1000:50::/:/x", false},
		{"root:x:0:0::/:/x\n", true},
		{"node:x:1000:1000::/:/x\nuser:x:1000:1000::/:/x\n", true},
		{"user:x:500:500::/:/x\nuser:x:1000:1000::/:/x\n", true},
		{"user\nuser:x\nuser:x:1000x:1::/:/x\n", true},
		{"user:x: 1000:1000::/:/x\n", true},
		{"xuser:x:1000:1000::/:/x\n", true},
		{":::::\n\n\n:x:1000", true},
	};
	char want[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = ERR_INIT;
		int root = fresh(top);

		(void)mkdirat(root, "etc", 0755);
		put(root, "etc/passwd", cases[i].had);
		is_int(root_complete(root, false, &e), 0, "completed");
		(void)snprintf(want, sizeof(want), "%s%s", cases[i].changes ? OURS : "",
			       cases[i].had);
		is_str(get(root, "etc/passwd"), want, "none of theirs is lost");
		close(root);
		(void)remove_tree_at(AT_FDCWD, top);
	}
}

/* What the links lead to outside is there, and must not be seen or touched. */
static void links(void)
{
	static const char *const all[] = {"proc", "dev", "sys", "tmp", "run", "home", "var"};
	char up[128];
	int root = fresh(top), out = fresh(other);

	put(out, "passwd", "host:x:1:1::/:/x\n");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		is_int(symlinkat(other, root, all[i]), 0, "a link out");
	(void)mkdirat(root, "etc", 0755);
	(void)snprintf(up, sizeof(up), "../../../../../../..%s/passwd", other);
	is_int(symlinkat(up, root, "etc/passwd"), 0, "a link up and out");
	is_int(symlinkat("/etc/mine", root, "etc/group"), 0, "a link that stays");
	put(root, "etc/mine", "old:x:7:\n");
	complete(root);
	is_str(get(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n" OURS,
	       "nothing of the host's people");
	is_str(get(root, "etc/group"), "user:x:1000:\nold:x:7:\n",
	       "those that stay inside are kept");
	is_str(get(out, "passwd"), "host:x:1:1::/:/x\n", "outside nothing has changed");
	struct stat st;
	ok(fstatat(out, "user", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
		   fstatat(out, "tmp", &st, AT_SYMLINK_NOFOLLOW) < 0,
	   "or was made");
	close(root);
	close(out);
	(void)remove_tree_at(AT_FDCWD, top);
	(void)remove_tree_at(AT_FDCWD, other);
}

static void others(void)
{
	int root = fresh(top);

	put(root, "proc", "x");
	put(root, "etc", "x");
	(void)mkfifoat(root, "dev", 0644);
	(void)mkdirat(root, "home", 0755);
	put(root, "home/user", "x");
	complete(root);
	(void)unlinkat(root, "etc/passwd", 0);
	(void)unlinkat(root, "etc/group", 0);
	(void)mkdirat(root, "etc/passwd", 0755);
	put(root, "etc/passwd/x", "x");
	(void)mkfifoat(root, "etc/group", 0644);
	complete(root);
	is_str(get(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n" OURS, "people");
	is_str(get(root, "etc/group"), "root:x:0:\nuser:x:1000:\n", "groups");
	close(root);
	(void)remove_tree_at(AT_FDCWD, top);
}

int main(void)
{
	TAP_RUN(empty);
	TAP_RUN(lists);
	TAP_RUN(links);
	TAP_RUN(others);
	return tap_done();
}
