/* SPDX-License-Identifier: Apache-2.0 */
/* Two views compared: all of them, and only where layers point. tree_merge.c has real overlays. */
#include <sys/sysmacros.h>

#include "tree/detail.h"
#include "tree/diff.h"
#include "tree_help.h"

static char old_path[64], new_path[64], layer_path[64];

struct told {
	char text[8192];
	size_t len;
	struct tree_detail detail;
	struct tree_change last;
};

/* One letter each: A M D, what differs (c m o a), type before and after. */
static int tell(void *ctx, struct tree_change *c, const struct tree_diff_at *at, struct err *e)
{
	static const char kinds[] = "?AMD", types[] = "-fdlpsc";
	struct told *t = ctx;
	int r = tree_detail_fill(&t->detail, c, at, e);

	t->last = *c;
	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, "%c%s%s%s %c%c %s\n",
				   kinds[c->kind], c->flags & TREE_DIFF_CONTENT ? "c" : "",
				   c->flags & TREE_DIFF_MODE ? "m" : "",
				   c->flags & TREE_DIFF_ATTRS ? "a" : "", types[c->type_old],
				   types[c->type_new], c->path);
	return r;
}

static const char *diff(int old, int new, const int *layers, unsigned n, const char *prefix,
			struct told *t)
{
	struct tree_diff_in in = {old, new, layers, n, prefix};
	struct err e = ERR_INIT;
	uint64_t omitted;

	t->len = 0;
	t->text[0] = '\0';
	if (tree_diff(&in, tell, t, &omitted, &e) < 0)
		snprintf(t->text, sizeof(t->text), "%s", e.text);
	return t->text;
}

static void put_both(int a, int b)
{
	for (int i = 0; i < 2; i++) {
		int d = i ? b : a;

		put_file(d, "same", "same");
		put_file(d, "mode", "x");
		put_file(d, "attr", "x");
		put_file(d, "content", i ? "new" : "old");
		put_file(d, "longer", i ? "new and longer" : "old");
		(void)mkdirat(d, "dir", 0755);
		put_file(d, "dir/same", "x");
		(void)!symlinkat(i ? "there" : "here", d, "link");
		(void)mknodat(d, "fifo", S_IFIFO | 0600, 0);
	}
	(void)!fchmodat(b, "mode", 0755, 0);
	int fd = openat(b, "attr", O_RDONLY | O_CLOEXEC);
	(void)fsetxattr(fd, "user.x", "y", 1, 0);
	close(fd);
	(void)mkdirat(a, "gone", 0755);
	put_file(a, "gone/file", "x");
	(void)mkdirat(b, "new", 0755);
	(void)mkdirat(b, "new/sub", 0755);
	put_file(b, "new/sub/file", "x");
	put_file(a, "to-dir", "x");
	(void)mkdirat(b, "to-dir", 0755);
	put_file(b, "to-dir/f", "x");
	(void)mkdirat(a, "to-file", 0755);
	put_file(a, "to-file/f", "x");
	put_file(b, "to-file", "x");
}

static void complete(void)
{
	int a = fresh(old_path), b = fresh(new_path);
	struct told t = {0};

	put_both(a, b);
	is_str(diff(a, b, NULL, 0, "", &t),
	       "Ma ff attr\nMc ff content\nDc d- gone\nDc f- gone/file\nMc ll link\nMc ff longer\n"
	       "Mm ff mode\nAc -d new\nAc -d new/sub\nAc -f new/sub/file\nMcm fd to-dir\n"
	       "Ac -f to-dir/f\nMcm df to-file\nDc f- to-file/f\n",
	       "everything that can differ");
	is_str(diff(a, a, NULL, 0, "", &t), "", "nothing from itself");
	is_str(diff(-1, a, NULL, 0, "work", &t) + strlen("Ac -f work/attr\n"),
	       "Ac -f work/content\nAc -d work/dir\nAc -f work/dir/same\nAc -p work/fifo\n"
	       "Ac -d work/gone\nAc -f work/gone/file\nAc -l work/link\nAc -f work/longer\n"
	       "Ac -f work/mode\nAc -f work/same\nAc -f work/to-dir\nAc -d work/to-file\n"
	       "Ac -f work/to-file/f\n",
	       "all is new where nothing was, with a prefix");
	is_str(diff(-1, -1, NULL, 0, "", &t), "", "nothing and nothing");
	(void)fchmod(b, 0711);
	has_str(diff(a, b, NULL, 0, "work", &t), "Mm dd work\n", "the root itself");
	close(a);
	close(b);
	remove_tree(old_path);
	remove_tree(new_path);
}

/* What a layer does not name is not looked at, even where it differs. */
static void candidates(void)
{
	int a = fresh(old_path), b = fresh(new_path), l = fresh(layer_path);
	struct told t = {0};

	put_both(a, b);
	put_file(l, "same", "same");
	put_file(l, "content", "new");
	(void)mknodat(l, "gone", S_IFCHR, makedev(0, 0));
	(void)mkdirat(l, "new", 0755);
	put_file(l, "came-and-went", "x");
	(void)mkdirat(l, "dir", 0755);
	is_str(diff(a, b, &l, 1, "", &t),
	       "Mc ff content\nDc d- gone\nDc f- gone/file\nAc -d new\nAc -d new/sub\n"
	       "Ac -f new/sub/file\n",
	       "only where the layer points");
	put_file(a, "dir/hidden", "x");
	int fd = openat(l, "dir", DIR_OPEN);
	ok(fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) == 0, "a mark of overlayfs");
	close(fd);
	has_str(diff(a, b, &l, 1, "", &t), "Dc f- dir/hidden\n", "an opaque directory hides");
	close(a);
	close(b);
	close(l);
	remove_tree(old_path);
	remove_tree(new_path);
	remove_tree(layer_path);
}

static void details(void)
{
	int a = fresh(old_path), b = fresh(new_path);
	struct told t = {
		.detail = {.hash = true, .text = true, .hash_max = 100, .text_left = 1000}};
	char hash[HASH_TEXT_SIZE];

	put_file(a, "f", "one\ntwo\n");
	put_file(b, "f", "one\n2\n");
	is_str(diff(a, b, NULL, 0, "", &t), "Mc ff f\n", "one file");
	is_str(t.last.text, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n", "its text");
	hash_text(t.last.hash_old, hash);
	is_str(hash, "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8",
	       "its hash");
	t.detail.text_left = 3;
	diff(a, b, NULL, 0, "", &t);
	ok(t.last.flags & TREE_DIFF_TEXT_LEFT, "no room for the text");
	int fd = openat(b, "f", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "\0", 1);
	(void)!ftruncate(fd, (off_t)1 << 42);
	close(fd);
	diff(a, b, NULL, 0, "", &t);
	ok((t.last.flags & TREE_DIFF_BINARY) && !(t.last.flags & TREE_DIFF_HASH_NEW),
	   "4 TiB of nothing are binary, and not hashed");
	fd = openat(a, "f", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "\0", 1);
	(void)!ftruncate(fd, (off_t)1 << 42);
	(void)!pwrite(fd, "x", 1, (off_t)1 << 41);
	close(fd);
	is_str(diff(a, b, NULL, 0, "", &t), "Mc ff f\n",
	       "two of those, compared by what is in them");
	tree_detail_done(&t.detail);
	close(a);
	close(b);
	remove_tree(old_path);
	remove_tree(new_path);
}

int main(void)
{
	TAP_RUN(complete);
	TAP_RUN(candidates);
	TAP_RUN(details);
	return tap_done();
}
