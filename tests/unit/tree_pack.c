/* SPDX-License-Identifier: Apache-2.0 */
/* A tree as a stream and a tree again: all that a file can be, and trees that do not hold still. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

#include "tree_help.h"

static char src[64], dst[64];

static void put_attr(int dir, const char *name, const char *attr, const char *value)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fsetxattr(fd, attr, value, strlen(value), 0) < 0)
		diag("no %s here: %m", attr);
	close(fd);
}

static void put_time(int dir, const char *name, time_t sec, long nsec)
{
	struct timespec times[2] = {{sec, nsec}, {sec, nsec}};

	(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static void put_sparse(int dir, const char *name, off_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)!pwrite(fd, "begin", 5, 0);
	(void)!pwrite(fd, "middle", 6, size / 2);
	(void)!ftruncate(fd, size);
	close(fd);
}

static void put_rich(int dir)
{
	put_file(dir, "plain", "hello\n");
	put_file(dir, "new\nline", "x");
	put_file(dir, "\xff\xfe bad utf-8", "x");
	put_file(dir, "-rf", "x");
	put_file(dir, "back\\slash", "");
	(void)mkdirat(dir, "d", 0755);
	(void)mkdirat(dir, "d/e", 0711);
	(void)mkdirat(dir, "d-f", 01777);
	(void)!fchmodat(dir, "d-f", 01777, 0);
	put_file(dir, "d/e/deep", "deep");
	(void)!linkat(dir, "plain", dir, "d/e/hard", 0);
	(void)!linkat(dir, "plain", dir, "z-hard", 0);
	(void)!symlinkat("/etc/passwd", dir, "out");
	(void)!symlinkat("nowhere\n", dir, "d/dangling");
	(void)mknodat(dir, "fifo", S_IFIFO | 0640, 0);
	put_sparse(dir, "sparse", (off_t)1 << 30);
	put_attr(dir, "plain", "user.color", "blue");
	put_attr(dir, "plain", "user.another", "");
	put_attr(dir, "d/e", "user.dir", "yes");
	put_attr(dir, "d", "user.overlay.origin", "note");
	(void)!fchmodat(dir, "plain", 04755, 0);
	(void)!fchmodat(dir, "d/e/deep", geteuid() ? 0400 : 0, 0);
	put_time(dir, "plain", 1000000000, 123456789);
	put_time(dir, "out", 1000000001, 1);
	put_time(dir, "d/e", 1000000002, 2);
	put_time(dir, "d", 1000000003, 3);
}

static void put_socket(const char *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", dir);
	(void)bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	close(fd);
}

static void comes_back(void)
{
	struct tree_unpack_opts opts = {.root_meta = true, .owners = geteuid() == 0};
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int from = fresh(src), to = fresh(dst), one = -1, two = -1;
	struct stat st, other;

	put_rich(from);
	is_int(packed(from, "", &one, &e), 0, "packed");
	ok(fstat(one, &st) == 0 && st.st_size < 1 << 20, "holes are not sent");
	is_int(tree_unpack(one, to, &opts, &stats, &e), 0, "unpacked");
	is_int(packed(to, ".", &two, &e), 0, "packed again");
	ok(same_bytes(one, two), "byte for byte the same stream");
	ok(fstatat(to, "sparse", &st, 0) == 0 && st.st_size == 1 << 30 && st.st_blocks < 1000,
	   "holes are holes");
	ok(fstatat(to, "plain", &st, 0) == 0 && (st.st_mode & 07777) == 0755, "no set-uid bit");
	ok(fstatat(to, "d/e/hard", &other, 0) == 0 && other.st_ino == st.st_ino && st.st_nlink == 3,
	   "three names, one file");
	ok(stats.links == 2 && stats.dirs == 4 && stats.symlinks == 2 && stats.fifos == 1 &&
		   stats.attrs_lost == 0,
	   "counted");
	lseek(one, 0, SEEK_SET);
	is_int(tree_unpack(one, to, &opts, &stats, &e), 0, "over itself");
	close(two);
	is_int(packed(to, ".", &two, &e), 0, "and again");
	ok(same_bytes(one, two), "nothing has changed");
	close(one);
	close(two);
	close(from);
	close(to);
	remove_tree(src);
	remove_tree(dst);
}

static void special(void)
{
	struct tree_pack_opts opts = {0};
	struct tree_pack_stats stats = {0};
	struct err e = ERR_INIT;
	int from = fresh(src), out = temp_file();
	struct timespec a, b;

	put_socket(src);
	(void)mknodat(from, "fifo", S_IFIFO | 0600, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	is_int(tree_pack(from, "", &opts, out, &stats, &e), 0, "a FIFO and a socket");
	clock_gettime(CLOCK_MONOTONIC, &b);
	ok(b.tv_sec - a.tv_sec < 10, "waits for nobody");
	is_int((long long)stats.skipped, 1, "the socket is skipped");
	ok(tree_pack(from, "none", &opts, out, &stats, &e) == -ENOENT, "what is not there");
	ok(tree_pack(from, "../etc", &opts, out, &stats, &e) < 0, "what is outside");
	(void)!symlinkat("/etc", from, "link");
	ok(tree_pack(from, "link/passwd", &opts, out, &stats, &e) < 0, "what is behind a link");
	close(out);
	out = temp_file();
	is_int(tree_pack(from, "link", &opts, out, &stats, &e), 0, "the link itself");
	is_int((long long)stats.entries, 1, "alone");
	close(out);
	close(from);
	remove_tree(src);
}

/* One file, sent alone, gets its name from the receiver. */
static void one_file(void)
{
	struct tree_unpack_opts opts = {.root_name = "there"};
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int from = fresh(src), to = fresh(dst), out = -1;
	char buf[64];

	(void)mkdirat(from, "d", 0755);
	put_file(from, "d/f", "content");
	is_int(packed(from, "d/f", &out, &e), 0, "one file");
	is_int(tree_unpack(out, to, &opts, &stats, &e), 0, "under another name");
	is_str(get_file(to, "there", buf, sizeof(buf)), "content", "it is that");
	lseek(out, 0, SEEK_SET);
	opts.root_name = NULL;
	is_int(tree_unpack(out, to, &opts, &stats, &e), -EEXIST, "a file is no directory");
	close(out);
	is_int(packed(from, "d", &out, &e), 0, "a directory");
	opts.root_name = "copy";
	is_int(tree_unpack(out, to, &opts, &stats, &e), 0, "under another name");
	is_str(get_file(to, "copy/f", buf, sizeof(buf)), "content", "with what is in it");
	lseek(out, 0, SEEK_SET);
	opts.root_name = "../copy";
	ok(tree_unpack(out, to, &opts, &stats, &e) < 0, "a name is no path");
	close(out);
	close(from);
	close(to);
	remove_tree(src);
	remove_tree(dst);
}

/* A raw layer, put over a copy of what it lies over, is what overlayfs would show. */
static void layer(void)
{
	struct tree_pack_opts opts = {.layer = true};
	struct tree_unpack_opts over = {.replace = true};
	struct tree_pack_stats stats;
	struct tree_unpack_stats made;
	struct err e = ERR_INIT;
	int from = fresh(src), to = fresh(dst), out = temp_file();
	struct stat st;

	put_file(to, "file", "old");
	(void)mkdirat(to, "dir", 0755);
	put_file(to, "dir/hidden", "old");
	(void)mkdirat(to, "other", 0755);
	put_file(to, "other/kept", "old");
	(void)mknodat(from, "file", S_IFCHR, makedev(0, 0));
	(void)mkdirat(from, "dir", 0755);
	put_attr(from, "dir", "user.overlay.opaque", "y");
	put_file(from, "dir/new", "new");
	(void)mkdirat(from, "other", 0755);
	put_attr(from, "other", "user.overlay.opaque", "x");
	put_file(from, "other/white", "");
	put_attr(from, "other/white", "user.overlay.whiteout", "");
	put_file(to, "other/white", "old");
	is_int(tree_pack(from, "", &opts, out, &stats, &e), 0, "a layer");
	lseek(out, 0, SEEK_SET);
	is_int(tree_unpack(out, to, &over, &made, &e), 0, "over what it lies over");
	ok(fstatat(to, "file", &st, 0) < 0 && fstatat(to, "other/white", &st, 0) < 0,
	   "whiteouts of both kinds are gone");
	ok(fstatat(to, "dir/hidden", &st, 0) < 0 && fstatat(to, "dir/new", &st, 0) == 0,
	   "an opaque directory hides");
	ok(fstatat(to, "other/kept", &st, 0) == 0, "another does not");
	close(out);
	close(from);
	close(to);
	remove_tree(src);
	remove_tree(dst);
}

static void put_deep(int top, const char *name, int levels)
{
	int fd = openat(top, ".", DIR_OPEN);

	for (int i = 0; i < levels; i++) {
		(void)mkdirat(fd, name, 0755);
		int next = openat(fd, name, DIR_OPEN);

		close(fd);
		fd = next;
	}
	put_file(fd, "bottom", "here");
	close(fd);
}

static void deep(void)
{
	struct tree_unpack_opts opts = {0};
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int from = fresh(src), to = fresh(dst), one = -1, two = -1;
	struct rlimit few = {24, 24};

	put_deep(from, "d", 1900);
	(void)setrlimit(RLIMIT_NOFILE, &few);
	is_int(packed(from, "", &one, &e), 0, "1900 levels with 24 descriptors");
	is_int(tree_unpack(one, to, &opts, &stats, &e), 0, "and back");
	is_int((long long)stats.dirs, 1900, "all of them");
	is_int(packed(from, "", &two, &e), 0, "packed again");
	ok(same_bytes(one, two), "the same");
	close(two);
	put_deep(from, "a-name-that-is-somewhat-longer-than-the-others", 3000);
	is_int(packed(from, "", &two, &e), -E2BIG, "a path that is too long for the format");
	has_str(e.text, "more than 4096 bytes", "and it says so");
	lseek(two, 0, SEEK_SET);
	is_int(tree_unpack(two, to, &opts, &stats, &e), -E2BIG, "to the other side, too");
	close(one);
	close(two);
	close(from);
	close(to);
	remove_tree(src);
	remove_tree(dst);
}

static void many(void)
{
	struct tree_unpack_opts opts = {.limits = {.entries = 1000}};
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int from = fresh(src), to = fresh(dst), out = -1;
	char name[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "file-%d", i * 7919 % 20000);
		put_file(from, name, "");
	}
	is_int(packed(from, "", &out, &e), 0, "20000 files in one directory");
	ok(tree_unpack(out, to, &opts, &stats, &e) == -E2BIG, "a limit on their number holds");
	opts.limits.entries = 0;
	lseek(out, 0, SEEK_SET);
	is_int(tree_unpack(out, to, &opts, &stats, &e), 0, "without it, all");
	is_int((long long)stats.files, 20000, "are made");
	close(out);
	close(from);
	close(to);
	remove_tree(src);
	remove_tree(dst);
}

static pid_t start(void (*act)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			act();
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void grow_and_shrink(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/f", src);
	(void)!truncate(path, 3000000);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 30; i++)
		(void)!pwrite(fd, "some data", 9, i * 100000);
	close(fd);
	(void)!truncate(path, 10);
}

/* Whatever is cut off under us, the stream stays one. */
static void shrinks(void)
{
	struct tree_pack_opts strict = {.strict = true}, opts = {0};
	struct tree_pack_stats stats;
	struct err e = ERR_INIT;
	int from = fresh(src), bad = 0, noticed = 0, torn = 0;

	put_file(from, "f", "x");
	pid_t pid = start(grow_and_shrink);
	/* At least so often; then until both were met, which who shares the processor decides. */
	for (int i = 0; i < 400 || ((!torn || !noticed) && i < 100000); i++) {
		static const struct tree_limits none;
		struct tree_entry en;
		struct tree_dec dec;
		int out = temp_file(), r;

		bad += tree_pack(from, "", &opts, out, &stats, &e) < 0;
		torn += stats.changed > 0;
		lseek(out, 0, SEEK_SET);
		bad += tree_dec_init(&dec, out, &none, &e) < 0;
		while ((r = tree_dec_next(&dec, &en, &e)) > 0)
			;
		bad += r < 0;
		tree_dec_done(&dec);
		r = tree_pack(from, "", &strict, out, &stats, &e);
		noticed += r == -EBUSY;
		close(out);
	}
	stop(pid);
	is_int(bad, 0, "streams of a file that grows and shrinks are good ones");
	ok(torn > 0, "some of them say that it changed");
	ok(noticed > 0, "strict, they are refused");
	close(from);
	remove_tree(src);
}

/* d is a directory, then a link to where the secret is, then a directory again. */
static void swap(void)
{
	char d[80], link[80];

	snprintf(d, sizeof(d), "%s/d", src);
	snprintf(link, sizeof(link), "%s/link", src);
	(void)renameat2(AT_FDCWD, d, AT_FDCWD, link, RENAME_EXCHANGE);
}

static bool has_secret(int fd)
{
	char buf[1 << 16];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	return n > 0 && memmem(buf, (size_t)n, "the secret", 10);
}

/* What a reader by path sees: the red case. */
static bool naive(void)
{
	char path[80], buf[64] = "";
	struct stat st;

	snprintf(path, sizeof(path), "%s/d", src);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	snprintf(path, sizeof(path), "%s/d/file", src);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	return strstr(buf, "the secret");
}

static void never_follows(void)
{
	struct err e = ERR_INIT;
	int from = fresh(src), outside = fresh(dst), leaked = 0, seen = 0, whole = 0;

	put_file(outside, "file", "the secret");
	(void)mkdirat(from, "d", 0755);
	put_file(from, "d/file", "mine");
	(void)!symlinkat(dst, from, "link");
	pid_t pid = start(swap);
	for (time_t until = time(NULL) + 4; time(NULL) < until;) {
		int out = -1;

		whole += packed(from, "", &out, &e) == 0;
		leaked += has_secret(out);
		close(out);
	}
	for (time_t until = time(NULL) + 20; time(NULL) < until && seen < 10;)
		seen += naive();
	stop(pid);
	diag("%d streams, the naive reader was led out %d times", whole, seen);
	ok(whole > 0, "a tree that changes all the time is packed");
	ok(seen > 0, "a reader by path is led out of it");
	is_int(leaked, 0, "ours is not");
	close(from);
	close(outside);
	remove_tree(src);
	remove_tree(dst);
}

int main(void)
{
	TAP_RUN(comes_back);
	TAP_RUN(special);
	TAP_RUN(one_file);
	TAP_RUN(layer);
	TAP_RUN(deep);
	TAP_RUN(many);
	TAP_RUN(shrinks);
	TAP_RUN(never_follows);
	return tap_done();
}
