/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader as it is embedded: alone in a root that holds nothing but its directories, with the
 * filter of a sandbox, 64 descriptors and 512 MiB. What it says is decoded as the host side does.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "kernel/seccomp.h"
#include "sandbox/reader_image.h"
#include "tree/answer.h"
#include "tree/change.h"
#include "tree_help.h"

static char top[64];

static bool confine(void)
{
	const struct seccomp_filter *strict = seccomp_strict();
	struct sock_fprog prog = {(unsigned short)strict->len,
				  (struct sock_filter *)(uintptr_t)strict->code};
	struct rlimit few = {64, 64}, memory = {512u << 20, 512u << 20};

	if (!own_namespace(0))
		return false;
	return chroot(top) == 0 && chdir("/") == 0 && setrlimit(RLIMIT_NOFILE, &few) == 0 &&
	       setrlimit(RLIMIT_AS, &memory) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0;
}

static int program(void)
{
	int fd = (int)syscall(SYS_memfd_create, "reader", 1u /* close on exec */);

	(void)fd_write_all(fd, reader_image, (size_t)(reader_image_end - reader_image));
	return fd;
}

/* Ask it; *ret_out is what it said, to be read from its beginning. Its exit status. */
static int ask(const char *const *words, int in, int *ret_out)
{
	static char *no_environment[] = {NULL};
	const char *argv[64] = {"reader"};
	int fd = program(), out = temp_file(), status = -1, n = 1;

	while (*words)
		argv[n++] = *words++;
	pid_t pid = fork();
	if (pid == 0) {
		if (in >= 0)
			dup2(in, 0);
		dup2(out, 1);
		if (confine())
			syscall(SYS_execveat, fd, "", argv, no_environment, AT_EMPTY_PATH);
		_exit(125);
	}
	waitpid(pid, &status, 0);
	close(fd);
	lseek(out, 0, SEEK_SET);
	*ret_out = out;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define ASK(in, out, ...) ask((const char *const[]){__VA_ARGS__, NULL}, in, out)

static int answered(int out, union tree_answer *ret, struct err *e)
{
	int r = tree_answer_read(out, ret, e);

	close(out);
	return r;
}

/* All changes, a letter and a path each. */
static const char *changes(int out, struct tree_change_counts *counts)
{
	static const struct tree_change_limits none;
	static char text[4096];
	struct tree_change_dec dec;
	struct tree_change c;
	struct err e = ERR_INIT;
	size_t n = 0;
	int r = tree_change_dec_init(&dec, out, &none, &e);

	text[0] = '\0';
	if (r >= 0) {
		while ((r = tree_change_dec_next(&dec, &c, &e)) > 0)
			n += n + 256 > sizeof(text) || c.path_len > 100
				     ? 0
				     : (size_t)snprintf(text + n, sizeof(text) - n, "%c %s%s%s\n",
							"?AMD"[c.kind], c.path,
							c.flags & TREE_DIFF_HASH_NEW ? " #" : "",
							c.flags & TREE_DIFF_TEXT ? " text" : "");
		*counts = dec.counts;
		tree_change_dec_done(&dec);
	}
	if (r < 0)
		snprintf(text + n, sizeof(text) - n, "error: %s", e.text);
	close(out);
	return text;
}

static int start(void)
{
	static const char *const names[] = {"old", "new", "l0", "l1", "out"};
	int d = fresh(top);

	(void)fchmod(d, 0755);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)mkdirat(d, names[i], 0755);
	return d;
}

static void finish(int d)
{
	close(d);
	remove_tree(top);
}

static void differs(void)
{
	struct tree_change_counts counts = {0};
	int d = start(), out = -1;

	put_file(d, "old/f", "one\n");
	put_file(d, "new/f", "two\n");
	put_file(d, "new/other", "x\n");
	put_file(d, "l0/f", "two\n");
	(void)mknodat(d, "new/fifo", S_IFIFO | 0600, 0);
	is_int(ASK(-1, &out, "diff", "--text", "--hash", "/old", "/new", "work", "/l0"), 0, "diff");
	is_str(changes(out, &counts), "M work/f # text\n", "where a layer points");
	is_int(ASK(-1, &out, "diff", "/old", "/new", "work", "--", "-", "/l0", "usr"), 0, "twice");
	is_str(changes(out, &counts), "M work/f\nA work/fifo\nA work/other\nA usr/f\n",
	       "two groups");
	is_int(ASK(-1, &out, "diff", "--max", "1", "/old", "/new", ""), 0, "one at most");
	is_str(changes(out, &counts), "M f\n", "it is one");
	ok(counts.omitted == 2 && counts.added == 2, "the others are counted");
	is_int(ASK(-1, &out, "diff", "/old", "/none", ""), 1, "what is not there");
	has_str(changes(out, &counts), "error: open /none: No such file", "is said");
	is_int(ASK(-1, &out, "diff", "/old"), 1, "too little");
	has_str(changes(out, &counts), "error: diff: OLD NEW PREFIX", "is said, too");
	finish(d);
}

static void packs(void)
{
	union tree_answer a = {0};
	struct tree_unpack_opts opts = {0};
	struct tree_unpack_stats stats;
	struct err e = ERR_INIT;
	int d = start(), out = -1, said = -1;
	char buf[32];

	put_file(d, "old/f", "content");
	(void)mkdirat(d, "old/-d", 0755);
	put_file(d, "old/-d/g", "x");
	(void)!symlinkat("/", d, "old/root");
	is_int(ASK(-1, &out, "pack", "/old", "."), 0, "pack");
	is_int(ASK(out, &said, "unpack", "/out", ""), 0, "unpack");
	close(out);
	is_int(answered(said, &a, &e), 0, "it says so");
	ok(a.unpack.files == 2 && a.unpack.dirs == 1 && a.unpack.symlinks == 1, "and how many");
	is_str(get_file(d, "out/f", buf, sizeof(buf)), "content", "it is there");
	is_int(ASK(-1, &out, "pack", "/old", "-d/g"), 0, "one file");
	is_int(ASK(out, &said, "unpack", "--name", "G", "/out", "-d"), 0, "under another name");
	close(out);
	is_int(answered(said, &a, &e), 0, "it says so");
	is_str(get_file(d, "out/-d/G", buf, sizeof(buf)), "x", "it is there");
	is_int(ASK(-1, &out, "pack", "/old", "root/old/f"), 1, "through a link");
	is_int(tree_unpack(out, d, &opts, &stats, &e), -ENOTDIR, "is refused");
	close(out);
	is_int(ASK(-1, &out, "pack", "/none", ""), 1, "a directory that is not there");
	is_int(tree_unpack(out, d, &opts, &stats, &e), -ENOENT, "is said in the stream");
	int junk = temp_file();
	(void)!write(junk, "junk", 4);
	lseek(junk, 0, SEEK_SET);
	is_int(ASK(junk, &said, "unpack", "/out", ""), 1, "junk");
	ok(answered(said, &a, &e) < 0 && strstr(e.text, "cut"), "is refused");
	close(junk);
	close(out);
	finish(d);
}

/* Records of a fetch: the path, its kind, and bytes. */
static const char *fetched(int out)
{
	static const struct tree_limits none;
	static char text[1024];
	struct tree_dec dec;
	struct tree_entry en;
	struct err e = ERR_INIT;
	const void *data;
	uint64_t at;
	size_t n = 0, len;
	int r = tree_dec_init(&dec, out, &none, &e);

	text[0] = '\0';
	while (r >= 0 && (r = tree_dec_next(&dec, &en, &e)) > 0) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s:%d%s%s", en.path, en.kind,
				      en.target_len ? ">" : "", en.target_len ? en.target : "");
		while (en.kind == TREE_FILE && tree_dec_data(&dec, &at, &data, &len, &e) > 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "=%.*s", (int)len,
					      (const char *)data);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
	}
	if (r < 0)
		snprintf(text + n, sizeof(text) - n, "error: %.100s", e.text);
	tree_dec_done(&dec);
	close(out);
	return text;
}

static int fetch(const char *paths, size_t len, int *ret_out)
{
	int in = temp_file();

	(void)!write(in, paths, len);
	lseek(in, 0, SEEK_SET);
	int status = ASK(in, ret_out, "fetch", "/new");
	close(in);
	return status;
}

#define FETCH(paths, out) fetch(paths, sizeof(paths) - 1, out)

static void fetches(void)
{
	int d = start(), out = FD_NONE;

	(void)mkdirat(d, "new/d", 0755);
	put_file(d, "new/a", "1");
	put_file(d, "new/d/b", "2");
	put_file(d, "new/d/c", "3");
	(void)!linkat(d, "new/a", d, "new/hard", 0);
	(void)!symlinkat("../old", d, "new/out");
	put_file(d, "old/x", "secret");
	is_int(FETCH("a\0d/c\0hard\0nosuch\0out\0", &out), 0, "fetch");
	is_str(fetched(out), "a:2=1 d/c:2=3 hard:2=1 out:3>../old ",
	       "what was asked for, links as links, what is not there left out");
	is_int(FETCH("d\0", &out), 0, "fetch a directory");
	is_str(fetched(out), "d:1 ", "without what is in it");
	is_int(FETCH("", &out), 0, "fetch nothing");
	is_str(fetched(out), "", "is nothing");
	is_int(FETCH("out/x\0", &out), 1, "through a link");
	has_str(fetched(out), "error", "is an error");
	is_int(FETCH("../old/x\0", &out), 1, "up");
	has_str(fetched(out), "error", "is an error, too");
	is_int(FETCH("/old/x\0", &out), 1, "from the root");
	has_str(fetched(out), "error", "and so is that");
	is_int(FETCH("a\0d", &out), 1, "a cut list");
	has_str(fetched(out), "error", "is none");
	is_int(FETCH("d/c\0a\0", &out), 0, "in another order");
	has_str(fetched(out), "error", "who decodes does not take it");
	finish(d);
}

static void splits(void)
{
	struct tree_change_counts counts;
	int d = start(), out = FD_NONE;

	put_file(d, "old/f", "file\n");
	(void)!symlinkat("x", d, "new/f");
	(void)mkdirat(d, "old/t", 0755);
	put_file(d, "old/t/in", "in\n");
	put_file(d, "new/t", "flat\n");
	is_int(ASK(-1, &out, "diff", "--split", "--hash", "--text", "/old", "/new", ""), 0, "diff");
	is_str(changes(out, &counts), "D f text\nA f # text\nD t\nA t # text\nD t/in text\n",
	       "what becomes another type goes, and comes");
	is_int(counts.modified, 0, "and is no modification");
	is_int(ASK(-1, &out, "diff", "/old", "/new", ""), 0, "diff without --split");
	is_str(changes(out, &counts), "M f\nM t\nD t/in\n", "has one change of it");
	finish(d);
}

static void merges(void)
{
	union tree_answer a = {0};
	struct err e = ERR_INIT;
	int d = start(), out = -1;
	uint8_t hash[HASH_BYTES];
	struct stat st;

	put_file(d, "l0/f", "low");
	put_file(d, "l0/g", "low");
	(void)mknodat(d, "l1/f", S_IFCHR, makedev(0, 0));
	is_int(ASK(-1, &out, "merge", "/out", "--bottom", "/l0", "/l1"), 0, "merge");
	is_int(answered(out, &a, &e), 0, "it says so");
	ok(a.merge.linked == 1 && a.merge.whiteouts == 0, "and what");
	ok(fstatat(d, "out/f", &st, 0) < 0 && fstatat(d, "out/g", &st, 0) == 0, "it is so");
	is_int(ASK(-1, &out, "digest", "/out"), 0, "digest");
	is_int(answered(out, &a, &e), 0, "it says so");
	memcpy(hash, a.digest.hash, HASH_BYTES);
	ok(a.digest.entries == 2 && a.digest.size == 3, "of what");
	(void)unlinkat(d, "l0/f", 0);
	is_int(ASK(-1, &out, "digest", "/l0"), 0, "digest of a layer with the same in it");
	ok(answered(out, &a, &e) == 0 && memcmp(hash, a.digest.hash, HASH_BYTES) == 0,
	   "is the same");
	is_int(ASK(-1, &out, "merge", "/out", "/l0"), 1, "into what is not empty");
	is_int(answered(out, &a, &e), -EEXIST, "is refused");
	is_int(ASK(-1, &out, "frobnicate"), 1, "a verb that is none");
	is_int(answered(out, &a, &e), -EINVAL, "is refused");
	finish(d);
}

static void put_deep(int d, const char *name, int levels)
{
	int fd = openat(d, name, DIR_OPEN);

	for (int i = 0; i < levels; i++) {
		(void)mkdirat(fd, "deep", 0755);
		int next = openat(fd, "deep", DIR_OPEN);

		close(fd);
		fd = next;
	}
	put_file(fd, "bottom", "x");
	close(fd);
}

/* As many layers and as deep as may be, with what there is. */
static void much(void)
{
	const char *words[32] = {"merge", "/out"};
	char names[TREE_LAYERS_MAX][8];
	union tree_answer a = {0};
	struct tree_change_counts counts = {0};
	struct err e = ERR_INIT;
	int d = start(), out = -1;

	for (int i = 0; i < TREE_LAYERS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "/l%d", i);
		words[2 + i] = names[i];
		(void)mkdirat(d, names[i] + 1, 0755);
		put_deep(d, names[i] + 1, 300);
	}
	put_deep(d, "l0", 4000);
	is_int(ask(words, -1, &out), 0, "24 layers, 4000 levels");
	is_int(answered(out, &a, &e), 0, "are merged");
	is_int((long long)a.merge.dirs, 4000, "all of them");
	is_int(ASK(-1, &out, "digest", "/out"), 0, "and hashed");
	is_int(answered(out, &a, &e), 0, "as well");
	words[0] = "diff";
	words[1] = "/old";
	memmove(words + 4, words + 2, TREE_LAYERS_MAX * sizeof(*words));
	words[2] = "/out";
	words[3] = "";
	is_int(ask(words, -1, &out), 0, "compared with nothing");
	ok(!strstr(changes(out, &counts), "error"), "too");
	ok(counts.added > 800 && counts.omitted > 0, "what has no name is counted");
	finish(d);
}

/* Can it be confined here? */
static bool possible(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!own_namespace(0));
	waitpid(pid, &status, 0);
	return status == 0;
}

int main(void)
{
	if (possible()) {
		TAP_RUN(differs);
		TAP_RUN(packs);
		TAP_RUN(fetches);
		TAP_RUN(splits);
		TAP_RUN(merges);
		TAP_RUN(much);
	} else {
		skip("the reader, alone", "no namespace to mount in");
	}
	return tap_done();
}
