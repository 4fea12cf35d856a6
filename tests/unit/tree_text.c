/* SPDX-License-Identifier: Apache-2.0 */
/* Differences as text: the real git and the real patch make the new text of the old one. */
#include <time.h>

#include "tree/patch.h"
#include "tree/text.h"
#include "tree_help.h"

#define ROUNDS 300
#define TEXT_MAX (1 << 16)

static char top[64];
static unsigned seed = 12345;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

/* Few different lines, so that much is equal in the wrong place. */
static size_t some_text(char *buf, unsigned lines)
{
	size_t len = 0;

	for (unsigned i = 0; i < lines; i++) {
		static const char *const words[] = {"",		"a",	     "b",
						    "if (x) {", "}",	     "\\ No newline",
						    "--- a",	"+++ b",     "@@ -1 +1 @@",
						    "\xff\xfe", "tab\there", "cr\r"};

		if (pick(3))
			len += (size_t)snprintf(buf + len, 64, "%s\n", words[pick(12)]);
		else
			len += (size_t)snprintf(buf + len, 64, "line %u\n", pick(1000));
	}
	if (len && pick(4) == 0)
		len--;
	return len;
}

/* Some lines of it taken away, put in or changed. */
static size_t edited(const char *from, size_t len, char *to)
{
	unsigned rate = 2 + pick(40);
	size_t out = 0;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(from + at, '\n', len - at);
		size_t n = end ? (size_t)(end - from) - at + 1 : len - at;

		if (pick(rate) == 0)
			out += (size_t)snprintf(to + out, 64, "new %u\n", pick(5));
		if (pick(rate) != 0) {
			memcpy(to + out, from + at, n);
			out += n;
		}
		at += n;
	}
	if (out && pick(5) == 0)
		out--;
	return out;
}

static void put_bytes(int dir, const char *name, const char *data, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)!write(fd, data, len);
	close(fd);
}

static int run(const char *const argv[])
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (chdir(top) == 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0)
			execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* 0: applied to `old` it is `new`. */
static int applied(int dir, const char *name, const char *const argv[], const char *old,
		   size_t old_len, const char *new, size_t new_len)
{
	static char buf[2 * TEXT_MAX];

	if (old_len)
		put_bytes(dir, name, old, old_len);
	else
		(void)unlinkat(dir, name, 0);
	if (run(argv) != 0)
		return -1;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf));
	if (fd >= 0)
		close(fd);
	return (size_t)n == new_len && memcmp(buf, new, new_len) == 0 ? 0 : -1;
}

static size_t patch_of(const char *name, const char *old, size_t old_len, const char *new,
		       size_t new_len, char *buf)
{
	struct tree_change c = {.kind = !old_len   ? TREE_ADDED
					: !new_len ? TREE_DELETED
						   : TREE_MODIFIED,
				.flags = TREE_DIFF_CONTENT | TREE_DIFF_TEXT,
				.type_old = old_len ? TREE_TYPE_FILE : TREE_TYPE_NONE,
				.type_new = new_len ? TREE_TYPE_FILE : TREE_TYPE_NONE,
				.mode_old = 0644,
				.mode_new = 0644,
				.path = name,
				.path_len = strlen(name)};
	struct err e = ERR_INIT;
	char *text = NULL, *head = NULL;

	if (tree_text_diff(old, old_len, new, new_len, &text, &c.text_len, &e) < 0 ||
	    tree_patch_head(&c, &head, &e) < 0)
		return 0;
	size_t n = strlen(head);
	memcpy(buf, head, n);
	memcpy(buf + n, text, c.text_len);
	n += c.text_len;
	free(head);
	free(text);
	return n;
}

static void real_tools(void)
{
	static const char *const git[] = {"git", "apply", "--whitespace=nowarn", "p", NULL};
	static const char *const patch[] = {"patch", "--binary", "-p1", "-s",
					    "-f",    "-i",	 "p",	NULL};
	static const char *const names[] = {"f", "with blank", "new\nline", "\xff", "q\"uote\\"};
	static char old[2 * TEXT_MAX], new[2 * TEXT_MAX], text[8 * TEXT_MAX];
	int dir = fresh(top), bad_git = 0, bad_patch = 0, tried = 0;

	for (int i = 0; i < ROUNDS; i++) {
		const char *name = names[pick(5)];
		size_t old_len = some_text(old, pick(200)), new_len = edited(old, old_len, new);

		if (old_len == new_len && memcmp(old, new, old_len) == 0)
			continue;
		tried++;
		put_bytes(dir, "p", text, patch_of(name, old, old_len, new, new_len, text));
		bad_git += applied(dir, name, git, old, old_len, new, new_len) < 0;
		bad_patch += applied(dir, name, patch, old, old_len, new, new_len) < 0;
	}
	diag("%d differences", tried);
	is_int(bad_git, 0, "git applies every one");
	is_int(bad_patch, 0, "patch applies every one");
	close(dir);
	remove_tree(top);
}

static char *diff_of(const char *old, const char *new)
{
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t len;

	if (tree_text_diff(old, strlen(old), new, strlen(new), &text, &len, &e) < 0)
		diag("%s", e.text);
	return text;
}

static void exact(void)
{
	static const struct {
		const char *old, *new, *want, *name;
	} cases[] = {
		{"a\n", "a\n", "", "equal texts"},
		{"", "", "", "nothing and nothing"},
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n", "all new"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n", "all gone"},
		{"a\nb\nc\n", "a\nX\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n", "one line"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a newline"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "X\n2\n3\n4\n5\n6\n7\n8\nY\n",
		 "@@ -1,4 +1,4 @@\n-1\n+X\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+Y\n",
		 "two hunks where seven lines are between"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n", "X\n2\n3\n4\n5\n6\n7\nY\n",
		 "@@ -1,8 +1,8 @@\n-1\n+X\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+Y\n", "one where six are"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = diff_of(cases[i].old, cases[i].new);

		is_str(text, cases[i].want, cases[i].name);
		free(text);
	}
	ok(tree_text_is_binary("a\0b", 3) && !tree_text_is_binary("ab", 2), "a NUL is binary");
	char *late = calloc(1, 9000);
	memset(late, 'x', 8000);
	ok(!tree_text_is_binary(late, 9000), "but not behind byte 8000");
	free(late);
	ok(tree_text_is_binary("", TREE_TEXT_FILE_MAX + 1), "nor is more than 8 MiB text");
}

/* The shortest there is: as many lines as an exhaustive comparison finds. */
static void shortest(void)
{
	int bad = 0;

	for (int round = 0; round < 500; round++) {
		char a[32] = "", b[32] = "";
		int n = (int)pick(8), m = (int)pick(8), lcs[9][9] = {{0}}, edits = 0;

		for (int i = 0; i < n; i++)
			snprintf(a + 2 * i, 3, "%c\n", 'a' + (int)pick(3));
		for (int i = 0; i < m; i++)
			snprintf(b + 2 * i, 3, "%c\n", 'a' + (int)pick(3));
		for (int i = 1; i <= n; i++)
			for (int k = 1; k <= m; k++)
				lcs[i][k] = a[2 * i - 2] == b[2 * k - 2]    ? lcs[i - 1][k - 1] + 1
					    : lcs[i - 1][k] > lcs[i][k - 1] ? lcs[i - 1][k]
									    : lcs[i][k - 1];
		char *text = diff_of(a, b);
		for (char *p = text; p && *p; p = strchr(p, '\n') + 1)
			edits += *p == '-' || *p == '+';
		bad += edits != n + m - 2 * lcs[n][m];
		free(text);
	}
	is_int(bad, 0, "500 short texts differ by as little as can be");
}

/* Texts made to take for ever, or all memory. */
static void bounded(void)
{
	size_t size = TREE_TEXT_FILE_MAX;
	char *old = malloc(size), *new = malloc(size), *text = NULL;
	struct timespec a, b;
	struct err e = ERR_INIT;
	size_t len = 0;

	for (size_t i = 0; i < size; i++) {
		old[i] = i % 12 == 11 ? '\n' : (char)('a' + pick(26));
		new[i] = i % 12 == 11 ? '\n' : (char)('a' + pick(26));
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	is_int(tree_text_diff(old, size, new, size, &text, &len, &e), 0, "nothing in common");
	clock_gettime(CLOCK_MONOTONIC, &b);
	ok(len > 2 * size && b.tv_sec - a.tv_sec < 20, "is one hunk, soon");
	free(text);
	for (size_t i = 0; i < size; i++) {
		old[i] = i % 12 == 11 ? '\n' : 'a';
		new[i] = i % 12 == 11 ? '\n' : i % 3600 == 0 ? 'b' : 'a';
	}
	is_int(tree_text_diff(old, size, new, size, &text, &len, &e), 0, "much in common");
	free(text);
	memset(old, '\n', size);
	is_int(tree_text_diff(old, size, new, size, &text, &len, &e), -E2BIG, "too many lines");
	free(old);
	free(new);
}

int main(void)
{
	TAP_RUN(exact);
	TAP_RUN(shortest);
	TAP_RUN(bounded);
	snprintf(top, sizeof(top), "/");
	if (run((const char *const[]){"git", "--version", NULL}) == 0 &&
	    run((const char *const[]){"patch", "--version", NULL}) == 0)
		TAP_RUN(real_tools);
	else
		skip("git and patch", "patch is not installed");
	return tap_done();
}
