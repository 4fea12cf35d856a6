/* SPDX-License-Identifier: Apache-2.0 */
/* A stream into a directory that has something in the way, or somebody at work in it. */
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

#include "tree_help.h"

static char top[64], outside[64];

/* A stream with these records, by the encoder. */
static int stream_of(const struct tree_entry *all, size_t n)
{
	struct err e = ERR_INIT;
	struct tree_enc enc;
	int fd = temp_file(), r = tree_enc_init(&enc, fd, &e);

	for (size_t i = 0; i < n && r >= 0; i++) {
		struct tree_entry en = all[i];

		en.path_len = strlen(en.path);
		en.target_len = en.target ? strlen(en.target) : 0;
		r = tree_enc_entry(&enc, &en, &e);
		if (r >= 0 && en.kind == TREE_FILE && en.size > 0)
			r = tree_enc_data(&enc, 0, "0123456789", en.size, &e);
		if (r >= 0 && en.kind == TREE_FILE)
			r = tree_enc_data_end(&enc, &e);
	}
	if (r >= 0)
		r = tree_enc_end(&enc, &e);
	tree_enc_done(&enc);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int unpack(int dir, const struct tree_entry *all, size_t n,
		  const struct tree_unpack_opts *opts, struct err *e)
{
	struct tree_unpack_stats stats;
	int fd = stream_of(all, n), r = tree_unpack(fd, dir, opts, &stats, e);

	close(fd);
	return r;
}

#define D(p)                                                                                       \
	{                                                                                          \
		.kind = TREE_DIR, .mode = 0755, .path = p                                          \
	}
#define F(p)                                                                                       \
	{                                                                                          \
		.kind = TREE_FILE, .mode = 0644, .size = 5, .path = p                              \
	}
#define GONE(p)                                                                                    \
	{                                                                                          \
		.kind = TREE_GONE, .path = p                                                       \
	}
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void in_the_way(void)
{
	static const struct tree_entry file[] = {F("x")}, dir[] = {D("x"), F("x/y")};
	static const struct tree_unpack_opts careful, replace = {.replace = true};
	struct err e = ERR_INIT;
	int d = fresh(top), o = fresh(outside);
	char buf[64];
	struct stat st;

	put_file(o, "kept", "kept");
	(void)mkdirat(d, "x", 0755);
	put_file(d, "x/old", "old");
	is_int(unpack(d, file, 1, &careful, &e), -EEXIST, "a directory is in the way of a file");
	has_str(e.text, "x is a directory there", "it says which");
	is_int(unpack(d, file, 1, &replace, &e), 0, "it may be replaced");
	is_str(get_file(d, "x", buf, sizeof(buf)), "01234", "and is");
	is_int(unpack(d, dir, 2, &careful, &e), -EEXIST, "a file is in the way of a directory");
	is_int(unpack(d, dir, 2, &replace, &e), 0, "it may be replaced, too");
	is_str(get_file(d, "x/y", buf, sizeof(buf)), "01234", "and is");
	(void)unlinkat(d, "x/y", 0);
	(void)unlinkat(d, "x", AT_REMOVEDIR);
	(void)!symlinkat(outside, d, "x");
	is_int(unpack(d, dir, 2, &careful, &e), -EEXIST, "a link is no directory");
	is_int(unpack(d, file, 1, &careful, &e), 0, "a file replaces a link");
	(void)unlinkat(d, "x", 0);
	(void)!symlinkat(outside, d, "x");
	is_int(unpack(d, dir, 2, &replace, &e), 0, "a directory may, too");
	ok(fstatat(d, "x", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode), "it is one");
	ok(fstatat(o, "y", &st, 0) < 0, "nothing went through the link");
	is_str(get_file(o, "kept", buf, sizeof(buf)), "kept", "nothing was removed through it");
	close(d);
	close(o);
	remove_tree(top);
	remove_tree(outside);
}

static void through_links(void)
{
	static const struct tree_entry in[] = {F("in/x")}, gone[] = {GONE("in/kept")};
	static const struct tree_unpack_opts parents = {.parents = true, .replace = true}, careful;
	struct err e = ERR_INIT;
	int d = fresh(top), o = fresh(outside);
	struct stat st;

	put_file(o, "kept", "kept");
	(void)!symlinkat(outside, d, "in");
	ok(unpack(d, in, 1, &parents, &e) < 0, "a parent that is a link is refused");
	ok(fstatat(o, "x", &st, 0) < 0, "nothing was made outside");
	ok(unpack(d, gone, 1, &parents, &e) < 0, "for removal, too");
	ok(fstatat(o, "kept", &st, 0) == 0, "nothing was removed outside");
	(void)unlinkat(d, "in", 0);
	ok(unpack(d, in, 1, &careful, &e) == -ENOENT, "a parent that is missing");
	is_int(unpack(d, in, 1, &parents, &e), 0, "is made when asked for");
	static const struct tree_entry none[] = {GONE("no/such")};
	is_int(unpack(d, none, 1, &parents, &e), 0, "but not for what is to be gone");
	ok(fstatat(d, "no", &st, 0) < 0, "it is not there");
	close(d);
	close(o);
	remove_tree(top);
	remove_tree(outside);
}

static void gone(void)
{
	static const struct tree_entry all[] = {GONE("dir"), GONE("file"), GONE("no/such/thing"),
						GONE("none")};
	static const struct tree_entry opaque[] = {
		{.kind = TREE_DIR, .mode = 0755, .opaque = true, .path = "d"}, F("d/new")};
	static const struct tree_unpack_opts opts;
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int d = fresh(top), fd = stream_of(all, COUNT(all));
	struct stat st;

	(void)mkdirat(d, "dir", 0755);
	(void)mkdirat(d, "dir/sub", 0755);
	put_file(d, "dir/sub/f", "x");
	(void)!symlinkat("/", d, "dir/sub/root");
	put_file(d, "file", "x");
	is_int(tree_unpack(fd, d, &opts, &stats, &e), 0, "four that are to be gone");
	is_int((long long)stats.gone, 2, "two were there");
	ok(fstatat(d, "dir", &st, 0) < 0 && fstatat(d, "file", &st, 0) < 0, "they are no more");
	close(fd);
	(void)mkdirat(d, "d", 0755);
	put_file(d, "d/old", "x");
	is_int(unpack(d, opaque, 2, &opts, &e), 0, "a directory that hides what was there");
	ok(fstatat(d, "d/old", &st, 0) < 0 && fstatat(d, "d/new", &st, 0) == 0, "does so");
	close(d);
	remove_tree(top);
}

static void modes(void)
{
	static const struct tree_entry all[] = {
		{.kind = TREE_DIR, .mode = 0500, .path = "d", .mtime = {1000, 1}},
		{.kind = TREE_FILE, .mode = 0, .path = "d/f", .mtime = {2000, 2}},
	};
	static const struct tree_unpack_opts opts;
	struct err e = ERR_INIT;
	int d = fresh(top);
	struct stat st;

	umask(077);
	for (int i = 0; i < 2; i++) {
		is_int(unpack(d, all, 2, &opts, &e), 0, "a directory without the right to write");
		ok(fstatat(d, "d", &st, 0) == 0 && (st.st_mode & 07777) == 0500 &&
			   st.st_mtim.tv_sec == 1000 && st.st_mtim.tv_nsec == 1,
		   "has its mode and time");
	}
	(void)!fchmodat(d, "d", 0700, 0);
	ok(fstatat(d, "d/f", &st, 0) == 0 && (st.st_mode & 07777) == 0 && st.st_mtim.tv_sec == 2000,
	   "so has the file in it");
	close(d);
	remove_tree(top);
}

/* A disk of 256 KiB, where the kernel lets us have one. */
static void full(void)
{
	static const struct tree_unpack_opts opts;
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int d = fresh(top), from = fresh(outside), fd = -1;

	if (!own_namespace(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", top, "tmpfs", 0, "size=256k") < 0) {
		skip("a full disk", "no namespace to mount in");
	} else {
		int big = openat(from, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		char block[65536];

		memset(block, 'x', sizeof(block));
		for (int i = 0; i < 16; i++)
			(void)!write(big, block, sizeof(block));
		close(big);
		close(d);
		d = open(top, DIR_OPEN);
		is_int(packed(from, "", &fd, &e), 0, "a megabyte");
		is_int(tree_unpack(fd, d, &opts, &stats, &e), -ENOSPC, "does not fit");
		ok(e.kind == ERR_LIMIT && !strcmp(e.detail, "disk"), "that is a limit: disk");
		has_str(e.text, "write big: No space left", "and says so");
		struct stat st;
		ok(fstatat(d, "big", &st, 0) < 0, "half a file has no name");
		close(fd);
		close(d);
		d = FD_NONE;
		(void)umount(top);
	}
	if (d >= 0)
		close(d);
	close(from);
	remove_tree(top);
	remove_tree(outside);
}

/* a is a directory and a link to outside in turns; a link that was replaced is made anew. */
static void swap(void)
{
	int d = open(top, DIR_OPEN);
	char name[32], to[8];

	for (unsigned i = 0;; i++) {
		(void)mkdirat(d, "a", 0755);
		if (readlinkat(d, "a", to, sizeof(to)) < 0 &&
		    readlinkat(d, "link", to, sizeof(to)) < 0) {
			snprintf(name, sizeof(name), "was-%u", i);
			(void)renameat(d, "link", d, name);
			(void)!symlinkat(outside, d, "link");
		}
		for (int k = 0; k < 16; k++)
			(void)renameat2(d, "a", d, "link", RENAME_EXCHANGE);
	}
}

/* A writer as one would write it in a hurry: look, then write by path. */
static void naive(void)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a/b", top);
	if (lstat(path, &st) < 0)
		(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/a/b/x", top);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

static int landed(int o)
{
	struct stat st;
	int n = 0;

	n += fstatat(o, "b/x", &st, AT_SYMLINK_NOFOLLOW) == 0;
	n += fstatat(o, "y", &st, AT_SYMLINK_NOFOLLOW) == 0;
	n += fstatat(o, "kept", &st, AT_SYMLINK_NOFOLLOW) < 0;
	n += fstatat(o, "b/kept", &st, AT_SYMLINK_NOFOLLOW) < 0;
	return n;
}

static void race(void)
{
	static const struct tree_entry all[] = {D("a"),	    D("a/b"),	    GONE("a/b/kept"),
						F("a/b/x"), GONE("a/kept"), F("a/y")};
	struct tree_unpack_opts opts = {.parents = true};
	struct err e = ERR_INIT;
	int d = fresh(top), o = fresh(outside), outs = 0, reds = 0, tries = 0, whole = 0;

	(void)mkdirat(d, "a", 0755);
	(void)mkdirat(o, "b", 0755);
	put_file(o, "kept", "");
	put_file(o, "b/kept", "");
	(void)!symlinkat(outside, d, "link");
	pid_t pid = fork();
	if (pid == 0)
		swap();
	for (time_t until = time(NULL) + 3; time(NULL) < until; tries++) {
		opts.replace = tries % 8 == 0;
		whole += unpack(d, all, COUNT(all), &opts, &e) == 0;
		outs += landed(o);
	}
	for (time_t until = time(NULL) + 20; time(NULL) < until && reds < 10;) {
		naive();
		reds += landed(o) > 0;
		(void)unlinkat(o, "b/x", 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	diag("%d of %d went well, the naive writer landed outside %d times", whole, tries, reds);
	ok(whole > 0, "into a tree that changes all the time");
	ok(reds > 0, "a writer by path lands outside");
	is_int(outs, 0, "ours does not");
	close(d);
	close(o);
	remove_tree(top);
	remove_tree(outside);
}

int main(void)
{
	TAP_RUN(in_the_way);
	TAP_RUN(through_links);
	TAP_RUN(gone);
	TAP_RUN(modes);
	TAP_RUN(full);
	TAP_RUN(race);
	return tap_done();
}
