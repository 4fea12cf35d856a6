/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merged layers against the real overlayfs: random trees, changed at random through mounts of the
 * kind that a workspace has. What is seen through the merged layer must be what was seen before,
 * byte for byte of the tree stream. tree_diff() is held against the same stacks.
 */
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "tree/diff.h"
#include "tree/merge.h"
#include "tree_help.h"

#define ROUNDS 400
#define LAYERS 4

static char top[64];
static unsigned seed = 4711;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

/* In namespaces of our own, with a tmpfs to work in. */
static bool inside(void)
{
	char path[80];

	if (!own_namespace(CLONE_NEWNS))
		return false;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", top, "tmpfs", 0, "") < 0)
		return false;
	snprintf(path, sizeof(path), "%s/try", top);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool good = fsetxattr(fd, "user.try", "x", 1, 0) == 0;
	close(fd);
	if (!good) /* before Linux 6.6 only a disk has user attributes */
		(void)umount(top);
	return true;
}

/* A path below `top`; good for some calls more. */
static const char *at(const char *name, int i)
{
	static char path[16][128];
	static int next;
	char *p = path[next++ % 16];

	if (i < 0)
		snprintf(p, 128, "%s/%s", top, name);
	else
		snprintf(p, 128, "%s/%s%d", top, name, i);
	return p;
}

/* Mount layers[to..from] over base at `mnt`; upper -1: read-only. */
static bool mounted(const char *lower, int upper)
{
	char opts[1024];
	int n = snprintf(opts, sizeof(opts), "userxattr,lowerdir=%s", lower);

	if (upper >= 0)
		snprintf(opts + n, sizeof(opts) - (size_t)n, ",upperdir=%s,workdir=%s",
			 at("l", upper), at("w", upper));
	return mount("overlay", at("mnt", -1), "overlay", upper < 0 ? MS_RDONLY : 0, opts) == 0;
}

static char *lower_of(char *buf, size_t size, int from, int to, const char *then)
{
	size_t n = 0;

	for (int i = to; i >= from; i--)
		n += (size_t)snprintf(buf + n, size - n, "%s:", at("l", i));
	snprintf(buf + n, size - n, "%s", then);
	return buf;
}

/* Somewhere in a small tree, so that things meet. */
static const char *somewhere(void)
{
	static const char *const names[] = {"a", "b", "c", "d\n"};
	static char path[2][64];
	static int next;
	char *p = path[next++ % 2];
	size_t n = 0;

	for (unsigned depth = 1 + pick(3); depth > 0; depth--)
		n += (size_t)snprintf(p + n, 64 - n, "%s%s", n ? "/" : "", names[pick(4)]);
	return p;
}

static void scribble(int dir, const char *path, off_t at_byte)
{
	int fd = openat(dir, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	char text[32];

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%u\n", pick(10000));
	(void)!pwrite(fd, text, strlen(text), at_byte);
	close(fd);
}

static void mark_attr(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char name[16];

	snprintf(name, sizeof(name), "user.n%u", pick(3));
	if (fd >= 0 && pick(3))
		(void)fsetxattr(fd, name, "value", pick(6), 0);
	else if (fd >= 0)
		(void)fremovexattr(fd, name);
	if (fd >= 0)
		close(fd);
}

static void remove_all(int dir, const char *path)
{
	const char *name;
	int parent = -1;
	struct err e;

	if (tree_open_parent(dir, path, &parent, &name, &e) == 0) {
		(void)tree_remove(parent, name, &e);
		close(parent);
	}
}

static void change(int dir)
{
	const char *p = somewhere();
	struct timespec times[2] = {{pick(1000000), 5}, {pick(1000000), 7}};

	switch (pick(16)) {
	case 0:
	case 1:
	case 2: scribble(dir, p, 0); break;
	case 3: scribble(dir, p, 100000); break;
	case 4:
	case 5:
	case 6: (void)mkdirat(dir, p, 0755); break;
	case 7: (void)unlinkat(dir, p, 0); break;
	case 8: remove_all(dir, p); break;
	case 9: /* made anew: opaque, where a layer below has it */
		remove_all(dir, p);
		(void)mkdirat(dir, p, 0700);
		break;
	case 10: (void)renameat(dir, p, dir, somewhere()); break;
	case 11: (void)!symlinkat(somewhere(), dir, p); break;
	case 12: (void)!linkat(dir, p, dir, somewhere(), 0); break;
	case 13: (void)mknodat(dir, p, S_IFIFO | 0600, 0); break;
	case 14: (void)utimensat(dir, p, times, AT_SYMLINK_NOFOLLOW); break;
	default: mark_attr(dir, p);
	}
	struct stat st;
	if (pick(8) == 0 && fstatat(dir, p, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
		(void)!fchmodat(dir, p, pick(2) ? 0700 : 0755, 0);
}

/* The stream without what depends on names outside of the tree: merged files have some. */
static int without_names(int from)
{
	static const struct tree_limits none;
	struct err e = ERR_INIT;
	struct tree_entry en;
	struct tree_dec dec;
	struct tree_enc enc;
	const void *data;
	uint64_t offset;
	size_t len;
	int to = temp_file(), r = tree_dec_init(&dec, from, &none, &e);

	if (r < 0 || tree_enc_init(&enc, to, &e) < 0)
		diag("%s", e.text);
	while (r >= 0 && (r = tree_dec_next(&dec, &en, &e)) > 0) {
		en.linked = false;
		(void)tree_enc_entry(&enc, &en, &e);
		while (en.kind == TREE_FILE &&
		       (r = tree_dec_data(&dec, &offset, &data, &len, &e)) > 0)
			(void)tree_enc_data(&enc, offset, data, len, &e);
		if (en.kind == TREE_FILE)
			(void)tree_enc_data_end(&enc, &e);
	}
	(void)tree_enc_end(&enc, &e);
	tree_dec_done(&dec);
	tree_enc_done(&enc);
	close(from);
	return to;
}

/* The tree stream of what is mounted, or of a directory as it lies there. */
static int view_of(const char *path)
{
	struct err e = ERR_INIT;
	int dir = open(path, DIR_OPEN), fd = -1;

	if (dir < 0 || packed(dir, "", &fd, &e) < 0)
		diag("%s: %s", path, e.text);
	close(dir);
	return without_names(fd);
}

static int view_over(const char *lower)
{
	if (!mounted(lower, -1)) {
		diag("mount %s: %m", lower);
		return -1;
	}
	int fd = view_of(at("mnt", -1));
	(void)umount(at("mnt", -1));
	return fd;
}

static bool make_stack(int n)
{
	char lower[1024];
	int base = open(at("base", -1), DIR_OPEN);

	for (unsigned i = 0; i < 30; i++)
		change(base);
	close(base);
	for (int i = 0; i < n; i++) {
		(void)mkdir(at("l", i), 0755);
		(void)mkdir(at("w", i), 0755);
		if (!mounted(lower_of(lower, sizeof(lower), 0, i - 1, at("base", -1)), i))
			return false;
		int dir = open(at("mnt", -1), DIR_OPEN);
		for (unsigned k = pick(30); k > 0; k--)
			change(dir);
		close(dir);
		if (umount(at("mnt", -1)) < 0)
			return false;
	}
	return true;
}

static int merged(int from, int to, bool with_base, bool far)
{
	int fds[LAYERS + 1], n = 0;
	struct tree_merge_stats stats;
	struct err e = ERR_INIT;

	(void)mkdir(at("merged", -1), 0700);
	int out = open(at("merged", -1), DIR_OPEN);
	if (far && mount("tmpfs", at("merged", -1), "tmpfs", 0, "") == 0) {
		close(out);
		out = open(at("merged", -1), DIR_OPEN);
	}
	if (with_base)
		fds[n++] = open(at("base", -1), DIR_OPEN);
	for (int i = from; i <= to; i++)
		fds[n++] = open(at("l", i), DIR_OPEN);
	struct tree_merge_in in = {.layers = fds, .n = (unsigned)n, .bottom = with_base};
	int r = tree_merge(out, &in, &stats, &e);
	if (r < 0)
		diag("%s", e.text);
	while (n > 0)
		close(fds[--n]);
	close(out);
	return r;
}

static void drop_merged(bool far)
{
	if (far)
		(void)umount(at("merged", -1));
	remove_tree(at("merged", -1));
}

static bool same_view(int want, int got)
{
	bool same = want >= 0 && got >= 0 && same_bytes(want, got);

	if (got >= 0)
		close(got);
	return same;
}

static int note(void *ctx, struct tree_change *c, const struct tree_diff_at *where, struct err *e)
{
	FILE *f = ctx;

	(void)where;
	(void)e;
	fprintf(f, "%d %x %d %d %o %o %llu %llu %s\n", (int)c->kind, c->flags, (int)c->type_old,
		(int)c->type_new, c->mode_old, c->mode_new, (unsigned long long)c->size_old,
		(unsigned long long)c->size_new, c->path);
	return 0;
}

/* Looked for where the layers point, the difference is what it is when all is looked at. */
static bool same_diff(int split, int n)
{
	char lower[1024], *text[2] = {NULL, NULL};
	size_t len[2];
	int fds[LAYERS], old = -1, new = -1;
	struct err e = ERR_INIT;
	uint64_t omitted;
	bool good = false;

	(void)mkdir(at("old", -1), 0700);
	if (mounted(lower_of(lower, sizeof(lower), 0, split - 1, at("base", -1)), -1) &&
	    mount(at("mnt", -1), at("old", -1), NULL, MS_BIND, NULL) == 0 &&
	    umount(at("mnt", -1)) == 0 &&
	    mounted(lower_of(lower, sizeof(lower), 0, n - 1, at("base", -1)), -1)) {
		old = open(at("old", -1), DIR_OPEN);
		new = open(at("mnt", -1), DIR_OPEN);
		for (int i = split; i < n; i++)
			fds[i - split] = open(at("l", i), DIR_OPEN);
		good = true;
		for (int all = 0; all < 2; all++) {
			struct tree_diff_in in = {old, new, fds, all ? 0 : (unsigned)(n - split),
						  ""};
			FILE *f = open_memstream(&text[all], &len[all]);

			good = good && tree_diff(&in, note, f, &omitted, &e) == 0;
			fclose(f);
		}
		for (int i = split; i < n; i++)
			close(fds[i - split]);
		close(old);
		close(new);
		(void)umount(at("mnt", -1));
	}
	(void)umount(at("old", -1));
	good = good && strcmp(text[0], text[1]) == 0;
	if (!good)
		diag("%s\nwhere the layers point:\n%s\nall:\n%s", e.text, text[0] ? text[0] : "",
		     text[1] ? text[1] : "");
	free(text[0]);
	free(text[1]);
	return good;
}

struct tally {
	int made, over, split, bottom, far, diff, dropped;
};

static void one_round(struct tally *t)
{
	char lower[1024], then[256];
	int n = 1 + (int)pick(LAYERS), split = 1 + (int)pick((unsigned)n);

	(void)mkdir(at("mnt", -1), 0700);
	(void)mkdir(at("base", -1), 0755);
	if (!make_stack(n))
		return;
	t->made++;
	int want = view_over(lower_of(lower, sizeof(lower), 0, n - 1, at("base", -1)));
	snprintf(then, sizeof(then), "%s:%s", at("merged", -1), at("base", -1));
	for (int far = 0; far < 2; far++) {
		int *good = far ? &t->far : &t->over;

		*good += merged(0, n - 1, false, far) == 0 && same_view(want, view_over(then));
		drop_merged(far);
	}
	t->split += merged(0, split - 1, false, false) == 0 &&
		    same_view(want, view_over(lower_of(lower, sizeof(lower), split, n - 1, then)));
	drop_merged(false);
	t->bottom +=
		merged(0, n - 1, true, false) == 0 && same_view(want, view_of(at("merged", -1)));
	drop_merged(false);
	t->diff += split == n || same_diff(split, n);
	close(want);
}

static void like_overlayfs(void)
{
	struct tally t = {0};
	int dir = fresh(top);

	if (!inside()) {
		skip("layers made by overlayfs", "no user namespace to mount an overlay in");
		close(dir);
		remove_tree(top);
		return;
	}
	char all[64];
	memcpy(all, top, sizeof(all));
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(top, sizeof(top), "%s/%d", all, i);
		(void)mkdir(top, 0700);
		one_round(&t);
		remove_tree(top);
	}
	memcpy(top, all, sizeof(all));
	is_int(t.made, ROUNDS, "stacks of layers are made");
	is_int(t.over, ROUNDS, "over what lies below, one merged layer is what they were");
	is_int(t.far, ROUNDS, "on another mount, too, where files are copied");
	is_int(t.split, ROUNDS, "also when only the lower ones are merged");
	is_int(t.bottom, ROUNDS, "merged with what lies below, they are a plain directory");
	is_int(t.diff, ROUNDS, "differences are found where the layers point");
	(void)umount(top);
	close(dir);
	remove_tree(top);
}

static void marks(void)
{
	int a = fresh(top), fds[2], n = 0;
	struct tree_merge_stats stats;
	struct err e = ERR_INIT;
	struct stat st;
	char value[4];

	(void)mkdirat(a, "low", 0755);
	(void)mkdirat(a, "high", 0755);
	(void)mkdirat(a, "out", 0755);
	put_file(a, "low/x", "x");
	put_file(a, "low/file", "x");
	(void)mkdirat(a, "high/x", 0755); /* over a file: hides what is below that */
	(void)mkdirat(a, "high/marked", 0755);
	put_file(a, "high/marked/white", "");
	put_file(a, "high/marked/plain", "");
	int fd = openat(a, "high/marked", DIR_OPEN);
	(void)fsetxattr(fd, "user.overlay.opaque", "x", 1, 0);
	close(fd);
	fd = openat(a, "high/marked/white", O_RDONLY | O_CLOEXEC);
	(void)fsetxattr(fd, "user.overlay.whiteout", "y", 1, 0);
	close(fd);
	(void)mknodat(a, "high/file", S_IFCHR, makedev(0, 0));
	fds[0] = openat(a, "low", DIR_OPEN);
	fds[1] = openat(a, "high", DIR_OPEN);
	int out = openat(a, "out", DIR_OPEN);
	struct tree_merge_in in = {.layers = fds, .n = 2};
	is_int(tree_merge(out, &in, &stats, &e), 0, "merged");
	fd = openat(out, "x", DIR_OPEN);
	n = (int)fgetxattr(fd, "user.overlay.opaque", value, sizeof(value));
	ok(n == 1 && value[0] == 'y', "a directory over a file is opaque");
	close(fd);
	ok(fstatat(out, "file", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
		   st.st_rdev == 0,
	   "a whiteout stays");
	ok(fstatat(out, "marked/white", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode),
	   "one of the other kind becomes one of this kind");
	ok(fstatat(out, "marked/plain", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode),
	   "an empty file is none");
	ok(tree_merge(out, &in, &stats, &e) < 0, "never into what is not empty");
	in.n = in.below = 2;
	ok(tree_merge(out, &in, &stats, &e) < 0, "nor is what is only looked at");
	in.n = in.below = 0;
	ok(tree_merge(out, &in, &stats, &e) < 0, "nothing is no layer");
	close(out);
	close(fds[0]);
	close(fds[1]);
	close(a);
	remove_tree(top);
}

int main(void)
{
	TAP_RUN(marks);
	TAP_RUN(like_overlayfs);
	return tap_done();
}
