/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A root file system says what it likes: /proc may be a link, /etc/passwd a FIFO. What is in the
 * way of a directory that we need is removed. /etc/passwd and /etc/group are read through links,
 * but never out of the tree, and get our entry in front: the first that fits is the one that
 * programs find, and none of theirs is lost.
 */
#include "archive/root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/walk.h"

#define USER_ID 1000u
#define LIST_MAX ((size_t)1 << 20) /* bytes of a passwd that is worth keeping */

static int make_dir(int at, const char *name, mode_t mode, struct err *e)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		if (unlinkat(at, name, 0) < 0)
			return err_sys(e, "/%s", name);
	}
	/* Not by our umask. */
	if (mkdirat(at, name, 0700) < 0 || fchmodat(at, name, mode, 0) < 0)
		return err_sys(e, "/%s", name);
	return 0;
}

static int open_dir(int at, const char *name, int *ret_fd, struct err *e)
{
	int r = make_dir(at, name, 0755, e);

	if (r < 0)
		return r;
	*ret_fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "/%s", name) : 0;
}

/* A place for a name of ours, which hides whatever is there. */
static int make_name(int at, const char *name, struct err *e)
{
	if (mknodat(at, name, S_IFREG | 0644, 0) < 0 && errno != EEXIST)
		return err_sys(e, "/etc/%s", name);
	return 0;
}

/* Its text, "" where there is none to be had. */
static char *read_list(int root, const char *path, size_t *ret_len)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	auto_close int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	char *text = calloc(1, LIST_MAX + 1);
	struct stat st;

	*ret_len = 0;
	if (!text || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_max(fd, text, LIST_MAX, ret_len) < 0) {
		*ret_len = 0;
	}
	if (text)
		text[*ret_len] = '\0';
	return text;
}

/* Is it this in a line of fields with colons between? */
static bool field_is(const char *line, unsigned which, const char *text)
{
	for (; which > 0; which--) {
		line += strcspn(line, ":\n");
		if (*line++ != ':')
			return false;
	}
	size_t n = strcspn(line, ":\n");
	return n == strlen(text) && strncmp(line, text, n) == 0;
}

/* Do those who look for the name, and those who look for the number, find the two together? */
static bool has_user(const char *text)
{
	bool name = false, id = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		bool ours = field_is(line, 0, "user"), thousand = field_is(line, 2, "1000");

		if ((ours && !thousand && !name) || (thousand && !ours && !id))
			return false;
		name = name || ours;
		id = id || thousand;
	}
	return name && id;
}

static const char *pick_shell(int root)
{
	struct stat st;

	/* A link is good enough: it says what its maker meant to be there. */
	return fstatat(root, "bin/bash", &st, AT_SYMLINK_NOFOLLOW) == 0 ||
			       fstatat(root, "usr/bin/bash", &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? "/bin/bash"
		       : "/bin/sh";
}

static int write_list(int etc, const char *name, const char *first, const char *text, size_t len,
		      struct err *e)
{
	if (tree_remove(etc, name, e) < 0)
		return err_wrap(e, "/etc/%s", name);
	auto_close int fd =
		openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, first, strlen(first));
	if (r >= 0)
		r = fd_write_all(fd, text, len);
	if (r >= 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	if (r < 0) {
		errno = -r;
		return err_sys(e, "/etc/%s", name);
	}
	return 0;
}

static int complete_lists(int root, int etc, struct err *e)
{
	char user[128];
	size_t len = 0;
	int r = 0;

	auto_free char *people = read_list(root, "etc/passwd", &len);
	if (!people)
		return err_sys(e, "import");
	(void)snprintf(user, sizeof(user), "%suser:x:1000:1000:user:/home/user:%s\n",
		       len ? "" : "root:x:0:0:root:/root:/bin/sh\n", pick_shell(root));
	if (!has_user(people))
		r = write_list(etc, "passwd", user, people, len, e);
	auto_free char *groups = read_list(root, "etc/group", &len);
	if (!groups)
		return err_sys(e, "import");
	if (r >= 0 && !has_user(groups))
		r = write_list(etc, "group", len ? "user:x:1000:\n" : "root:x:0:\nuser:x:1000:\n",
			       groups, len, e);
	return r;
}

int root_complete(int root, bool owners, struct err *e)
{
	static const char *const dirs[] = {"proc", "dev", "sys", "run"};
	static const char *const names[] = {"hosts", "resolv.conf", "hostname"};
	auto_close int home = FD_NONE, etc = FD_NONE, var = FD_NONE;
	int r = 0;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && r >= 0; i++)
		r = make_dir(root, dirs[i], 0755, e);
	if (r >= 0)
		r = make_dir(root, "tmp", 01777, e);
	if (r >= 0)
		r = open_dir(root, "home", &home, e);
	if (r >= 0)
		r = make_dir(home, "user", 0755, e);
	if (r >= 0 && owners && fchownat(home, "user", USER_ID, USER_ID, AT_SYMLINK_NOFOLLOW) < 0)
		r = err_sys(e, "/home/user");
	if (r >= 0)
		r = open_dir(root, "var", &var, e);
	if (r >= 0)
		r = make_dir(var, "tmp", 01777, e);
	if (r >= 0)
		r = open_dir(root, "etc", &etc, e);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r >= 0; i++)
		r = make_name(etc, names[i], e);
	return r < 0 ? r : complete_lists(root, etc, e);
}
