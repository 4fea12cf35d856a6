/* SPDX-License-Identifier: Apache-2.0 */
/* From a directory to a manifest: what is taken, what is read, and what the index is believed. */
#include "sync/digest.h"
#include "sync/index.h"
#include "sync/scan.h"
#include "sync_trees.h"

static const struct scan_opts plain = {.limits = MANIFEST_LIMITS};

/* Scan with what `old` knows; it becomes the new one. */
static int scan_again(int dir, struct index *old, struct scan_counts *counts)
{
	struct index now;
	struct err e = ERR_INIT;
	int r = scan_tree(dir, &plain, old, &now, counts, &e);

	if (r < 0) {
		diag("%s", e.text);
		return r;
	}
	index_done(old);
	*old = now;
	return 0;
}

static void tree_of(const struct index *x, char *ret, size_t size)
{
	size_t at = 0;

	*ret = 0;
	for (size_t i = 0; i < x->tree.n && at < size; i++)
		at += (size_t)snprintf(ret + at, size - at, "%s ", x->tree.entries[i].path);
}

static void taken(void)
{
	struct scan_counts counts;
	struct index x = {0};
	struct trees t;
	char list[512];

	trees_open(&t);
	(void)mkdirat(t.from, "a", 0755);
	(void)mkdirat(t.from, "a/b", 02755);
	put(t.from, "a/b/x.c", "x");
	put(t.from, "a/b/x.o", "o");
	put(t.from, "a-b", "sorts behind what is in a");
	put(t.from, ".gitignore", "*.o\n");
	put(t.from, "a/b/.gitignore", "!x.o\n/gone\n");
	(void)mkdirat(t.from, "a/b/gone", 0755);
	put(t.from, "a/b/gone/y", "y");
	put_link(t.from, "l", "a");
	put(t.from, "setid", "x");
	put_mode(t.from, "setid", 06755);
	(void)mkfifoat(t.from, "fifo", 0666);
	is_int(scan_again(t.from, &x, &counts), 0, "a scan");
	tree_of(&x, list, sizeof(list));
	is_str(list, ".gitignore a a/b a/b/.gitignore a/b/x.c a/b/x.o a-b l setid ",
	       "in order, without what rules name, links not followed");
	is_int((int)counts.special, 1, "a FIFO is passed over");
	is_int((int)counts.ignored, 1, "a directory that is left out counts once");
	is_int(manifest_find(&x.tree, "setid")->mode, 0755, "set-id bits are left out");
	is_int(manifest_find(&x.tree, "a/b")->mode, 0755, "of directories, too");
	index_done(&x);
	trees_close(&t);
}

static void read_once(void)
{
	struct scan_counts counts;
	struct index x = {0};
	struct trees t;

	trees_open(&t);
	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		put_noise(t.from, name, i == 7 ? 20 << 20 : 100, (uint64_t)i);
	}
	settle();
	is_int(scan_again(t.from, &x, &counts), 0, "a first scan");
	is_int((int)counts.read, 20, "reads everything");
	ok(manifest_find(&x.tree, "f7")->n_chunks > 20, "a large file has chunks");
	is_int(scan_again(t.from, &x, &counts), 0, "a second one");
	is_int((int)counts.read, 0, "nothing");
	put_noise(t.from, "f3", 100, 99);
	is_int(scan_again(t.from, &x, &counts), 0, "one after a change");
	is_int((int)counts.read, 1, "that");
	index_done(&x);
	trees_close(&t);
}

/* A file changes, without another size, in the tick of the clock in which it was scanned. */
static void racy(void)
{
	unsigned missed = 0, hard = 0;
	struct trees t;

	trees_open(&t);
	for (int i = 0; i < 200; i++) {
		struct scan_counts counts;
		struct index x = {0};
		struct stat before, after;
		uint8_t first[HASH_BYTES];

		put(t.from, "f", "one");
		(void)scan_again(t.from, &x, &counts);
		memcpy(first, manifest_find(&x.tree, "f")->hash, HASH_BYTES);
		(void)fstatat(t.from, "f", &before, 0);
		int fd = openat(t.from, "f", O_WRONLY | O_CLOEXEC);
		(void)!pwrite(fd, "two", 3, 0);
		(void)futimens(fd, (struct timespec[2]){before.st_atim, before.st_mtim});
		close(fd);
		(void)fstatat(t.from, "f", &after, 0);
		hard += before.st_ctim.tv_nsec == after.st_ctim.tv_nsec;
		(void)scan_again(t.from, &x, &counts);
		missed += memcmp(first, manifest_find(&x.tree, "f")->hash, HASH_BYTES) == 0;
		index_done(&x);
	}
	diag("%u of 200 changes left no trace in the times", hard);
	is_int((int)missed, 0, "none is missed");
	trees_close(&t);
}

/* The same by hand, for kernels whose times are fine enough to tell. */
static void racy_by_hand(void)
{
	struct scan_counts counts;
	struct index x = {0};
	struct trees t;
	struct stat st;

	trees_open(&t);
	put(t.from, "f", "one");
	settle();
	(void)scan_again(t.from, &x, &counts);
	(void)fstatat(t.from, "f", &st, 0);
	ok(index_holds(&x, 0, &st, false), "a file that is older than the index is known");
	x.time = st.st_ctim;
	ok(!index_holds(&x, 0, &st, false), "one of the same moment is not");
	x.time.tv_sec--;
	ok(!index_holds(&x, 0, &st, false), "nor one that is younger");
	x.time = st.st_ctim;
	x.time.tv_nsec++;
	ok(index_holds(&x, 0, &st, false), "one of the moment before is");
	st.st_ctim.tv_nsec = x.stats[0].ctime_ns = 0;
	x.time.tv_nsec = 999999999;
	ok(!index_holds(&x, 0, &st, false), "without fractions, all of the second is");
	x.time.tv_sec++;
	ok(index_holds(&x, 0, &st, false), "and the next is not");
	st.st_dev++;
	ok(!index_holds(&x, 0, &st, false) && index_holds(&x, 0, &st, true),
	   "the device counts, unless told otherwise");
	index_done(&x);
	trees_close(&t);
}

static void kept(void)
{
	struct scan_counts counts;
	struct manifest_limits limits = MANIFEST_LIMITS;
	struct index x = {0}, back;
	struct err e = ERR_INIT;
	struct trees t;
	struct buf file = {0};
	unsigned believed = 0;

	trees_open(&t);
	put(t.from, "one", "1");
	put_noise(t.from, "large", 3 << 20, 1);
	put_link(t.from, "link", "one");
	settle();
	is_int(scan_again(t.from, &x, &counts), 0, "a scan");
	is_int(index_save(t.a, "index", &x, false, &e), 0, "is kept");
	is_int(index_load(t.a, "index", &limits, &back), 1, "and found");
	ok(back.tree.n == 3 && back.time.tv_nsec == x.time.tv_nsec, "as it was");
	is_int(scan_again(t.from, &back, &counts), 0, "a scan with it");
	is_int((int)counts.read, 0, "reads nothing");
	index_done(&back);
	is_int(index_load(t.a, "not there", &limits, &back), 0, "none is empty");
	index_done(&back);
	(void)load_file(t.a, "index", 1 << 20, &file);
	for (size_t i = 0; i < 2 * file.len; i++) {
		struct buf copy;

		buf_init(&copy, 1 << 20);
		buf_add(&copy, file.data, i < file.len ? file.len : i - file.len);
		if (i < file.len)
			copy.data[i] ^= (uint8_t)(1 + trees_random(255));
		(void)save_file(t.a, "bad", &copy, false, &e);
		believed += (unsigned)index_load(t.a, "bad", &limits, &back);
		index_done(&back);
		buf_done(&copy);
	}
	is_int((int)believed, 0, "a damaged or cut one is not believed");
	buf_done(&file);
	index_done(&x);
	trees_close(&t);
}

static void unreadable(void)
{
	struct scan_counts counts;
	struct index x = {0}, now;
	struct err e = ERR_INIT;
	struct trees t;

	if (geteuid() == 0 && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		return;
	trees_open(&t);
	put(t.from, "secret", "x");
	put_mode(t.from, "secret", 0);
	int r = scan_tree(t.from, &plain, &x, &now, &counts, &e);
	ok(r < 0 && e.kind == ERR_DENIED && strstr(e.text, "secret"),
	   "a file that cannot be read is named, not left out");
	ok(strstr(e.remedy, ".pinfoldignore") != NULL, "with what to do");
	trees_close(&t);
}

static void too_much(void)
{
	struct scan_opts few = {
		.limits = {.entries_max = 3, .bytes_max = 1000, .memory_max = 1 << 20}};
	struct scan_counts counts;
	struct index x = {0}, now;
	struct err e = ERR_INIT;
	struct trees t;

	trees_open(&t);
	put_noise(t.from, "a", 600, 1);
	put_noise(t.from, "b", 600, 2);
	ok(scan_tree(t.from, &few, &x, &now, &counts, &e) < 0 && e.kind == ERR_LIMIT,
	   "more bytes than allowed");
	put(t.from, "b", "");
	put(t.from, "c", "");
	put(t.from, "d", "");
	ok(scan_tree(t.from, &few, &x, &now, &counts, &e) < 0 && e.kind == ERR_LIMIT,
	   "more files than allowed");
	int dir = dup(t.from);
	for (int i = 0; i < 140; i++) {
		int next = subdir(dir, "deep");

		close(dir);
		dir = next;
	}
	close(dir);
	ok(scan_tree(t.from, &plain, &x, &now, &counts, &e) < 0 && e.kind == ERR_LIMIT,
	   "deeper than allowed");
	trees_close(&t);
}

int main(void)
{
	TAP_RUN(taken);
	TAP_RUN(read_once);
	TAP_RUN(racy);
	TAP_RUN(racy_by_hand);
	TAP_RUN(kept);
	TAP_RUN(unreadable);
	TAP_RUN(too_much);
	return tap_done();
}
