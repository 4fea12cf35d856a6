/* SPDX-License-Identifier: Apache-2.0 */
/* One hash of a layer: whatever it says is in it, whatever it does not say is not. */
#include <sys/sysmacros.h>

#include "tree/digest.h"
#include "tree_help.h"

static char top[64], other[64];
static int dir;
static uint8_t before[HASH_BYTES];

static void attr(const char *name, const char *what, const char *value)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	(void)fsetxattr(fd, what, value, strlen(value), 0);
	close(fd);
}

static void set_time(const char *name, time_t sec)
{
	struct timespec times[2] = {{sec, 0}, {sec, 0}};

	(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
}

/* A layer with one of each, always the same. */
static void make(void)
{
	put_file(dir, "file", "content");
	(void)mkdirat(dir, "dir", 0755);
	(void)mkdirat(dir, "dir/sub", 0755);
	put_file(dir, "dir/file", "x");
	(void)!symlinkat("target", dir, "link");
	(void)mknodat(dir, "fifo", S_IFIFO | 0600, 0);
	(void)mknodat(dir, "gone", S_IFCHR, makedev(0, 0));
	put_file(dir, "name-1", "two names");
	(void)!linkat(dir, "name-1", dir, "name-2", 0);
	attr("file", "user.a", "1");
	attr("dir", "user.overlay.opaque", "y");
	int fd = openat(dir, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	(void)!ftruncate(fd, (off_t)1 << 42);
	(void)!pwrite(fd, "x", 1, 123456789);
	close(fd);
	static const char *const all[] = {"file", "dir/file", "link", "fifo", "name-1", "sparse"};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		set_time(all[i], 1000000 + (time_t)i);
}

static bool is_same(void)
{
	struct tree_digest d;
	struct err e = ERR_INIT;

	if (tree_digest(dir, &d, &e) < 0) {
		diag("%s", e.text);
		return false;
	}
	bool same = memcmp(before, d.hash, HASH_BYTES) == 0;
	memcpy(before, d.hash, HASH_BYTES);
	return same;
}

static void says(void)
{
	dir = fresh(top);
	make();
	(void)is_same();
	ok(is_same(), "the same layer has the same hash");
	put_file(dir, "file", "contenT");
	set_time("file", 1000000);
	ok(!is_same(), "a byte of a file, with its size and time kept");
	set_time("file", 5);
	ok(!is_same(), "the time of a file");
	(void)!fchmodat(dir, "dir/file", 0600, 0);
	ok(!is_same(), "a mode");
	attr("file", "user.a", "2");
	ok(!is_same(), "an attribute of a file");
	attr("dir", "user.b", "2");
	ok(!is_same(), "an attribute of a directory");
	attr("dir", "user.overlay.opaque", "n");
	ok(!is_same(), "an opaque mark");
	(void)unlinkat(dir, "gone", 0);
	ok(!is_same(), "a whiteout");
	(void)renameat(dir, "fifo", dir, "FIFO");
	ok(!is_same(), "a name");
	(void)renameat(dir, "dir/file", dir, "dir/sub/file");
	ok(!is_same(), "a place");
	(void)unlinkat(dir, "link", 0);
	(void)!symlinkat("Target", dir, "link");
	set_time("link", 1000002);
	ok(!is_same(), "a link's target");
	(void)unlinkat(dir, "name-2", 0);
	put_file(dir, "name-2", "two names");
	set_time("name-2", 1000004);
	ok(!is_same(), "two files where one had two names");
	int fd = openat(dir, "sparse", O_WRONLY | O_CLOEXEC);
	(void)!pwrite(fd, "y", 1, (off_t)1 << 41);
	close(fd);
	set_time("sparse", 1000005);
	ok(!is_same(), "a byte amid terabytes of holes");
	close(dir);
	remove_tree(top);
}

static void does_not_say(void)
{
	char zeros[8192] = {0};

	dir = fresh(top);
	make();
	(void)is_same();
	set_time("dir", 42);
	ok(is_same(), "the time of a directory");
	attr("file", "user.overlay.origin", "note");
	attr("dir", "user.overlay.impure", "y");
	ok(is_same(), "a note of overlayfs");
	int fd = openat(dir, "sparse", O_WRONLY | O_CLOEXEC);
	(void)!pwrite(fd, zeros, sizeof(zeros), 1000000);
	close(fd);
	set_time("sparse", 1000005);
	ok(is_same(), "zeros where there was a hole");
	int away = fresh(other);
	(void)!linkat(dir, "file", away, "file", 0);
	(void)!linkat(dir, "dir/file", away, "file-2", 0);
	ok(is_same(), "names in other layers");
	close(dir);
	dir = away;
	(void)unlinkat(dir, "file", 0);
	(void)unlinkat(dir, "file-2", 0);
	make();
	ok(is_same(), "which inodes it has");
	close(dir);
	remove_tree(top);
	remove_tree(other);
}

int main(void)
{
	TAP_RUN(says);
	TAP_RUN(does_not_say);
	return tap_done();
}
