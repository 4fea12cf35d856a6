/* SPDX-License-Identifier: Apache-2.0 */
/* Two changes of one text: git merge-file makes the same of them, conflict or text. */
#include "tree/text.h"
#include "tree/three.h"
#include "tree_help.h"

#define ROUNDS 250
#define TEXT_MAX (1 << 14)

static char top[64];
static unsigned seed = 4711;

static unsigned pick(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static struct tree_three merged(const char *base, const char *ours, const char *theirs)
{
	struct tree_three t = {
		.base = {base, strlen(base)},
		.ours = {ours, strlen(ours)},
		.theirs = {theirs, strlen(theirs)},
	};
	struct err e = ERR_INIT;

	if (tree_three_merge(&t, &e) < 0)
		t.conflicts = 999;
	return t;
}

/* `want` NULL: a conflict. */
static void gives(const char *base, const char *ours, const char *theirs, const char *want,
		  const char *name)
{
	struct tree_three t = merged(base, ours, theirs);

	if (want)
		ok(t.out && t.out_len == strlen(want) && memcmp(t.out, want, t.out_len) == 0, name);
	else
		ok(!t.out && t.conflicts > 0 && t.conflicts < 999, name);
	tree_three_done(&t);
}

static void exact(void)
{
	gives("", "", "", "", "nothing");
	gives("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", "apart");
	gives("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", NULL, "touching");
	gives("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", NULL, "two lines at one place");
	gives("a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n", "the same line at one place");
	gives("a\nb\nc\nd\n", "a\nc\nd\n", "a\nc\nD\n", "a\nc\nD\n", "the same, and one more");
	gives("a\nb\nc\n", "a\nB\nc\n", "a\nB\nC\n", NULL, "the same, and one more that touches");
	gives("a\nb\nc\n", "", "a\nb\nc\n", "", "all of it gone");
	gives("a\nb\nc\n", "", "a\nb\nc\nd\n", NULL, "gone, and one more");
	gives("", "x\n", "", "x\n", "something of nothing");
	gives("", "x\n", "y\n", NULL, "two things of nothing");
	gives("a\nb\nc", "A\nb\nc", "a\nb\nc\nd", "A\nb\nc\nd", "no newline at the end");
	gives("a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n", "one comes");
	gives("a\r\nb\nc\n", "a\r\nb\nC\n", "A\r\nb\nc\n", "A\r\nb\nC\n", "other ends of lines");
	struct tree_three t = merged("1\n2\n3\n4\n5\n6\n7\n", "1\nx\n3\n4\n5\nz\n7\n",
				     "0\n1\ny\ny\n3\n4\n5\nq\n7\n");
	is_int(t.conflicts, 2, "two conflicts");
	is_int((long long)t.line, 3, "the first begins at this line of theirs");
	is_int((long long)t.line_end, 5, "and ends in front of that one");
}

static size_t number_lines(char *buf, unsigned lines, unsigned *next)
{
	size_t len = 0;

	for (unsigned i = 0; i < lines; i++)
		len += (size_t)snprintf(buf + len, 16, "%u\n", (*next)++);
	return len;
}

/* Lines taken away, put in or changed. With `next` every new line is one of a kind, so that there
 * is one way only to compare them. */
static void edit(const char *from, char *to, unsigned *next)
{
	unsigned rate = 4 + pick(30);
	size_t out = 0;

	for (const char *at = from; *at;) {
		size_t n = strcspn(at, "\n");

		n += at[n] == '\n';
		if (pick(rate) == 0)
			out += (size_t)snprintf(to + out, 16, "%u\n", next ? (*next)++ : pick(4));
		if (pick(rate) != 0) {
			memcpy(to + out, at, n);
			out += n;
		}
		at += n;
	}
	if (out && pick(5) == 0)
		out--;
	to[out] = '\0';
}

static bool is(const struct tree_three *t, const char *want)
{
	return t->out && t->out_len == strlen(want) && memcmp(t->out, want, t->out_len) == 0;
}

/* What holds for any texts, also where lines are many times the same. */
static void laws(void)
{
	static char base[TEXT_MAX], x[2 * TEXT_MAX], y[2 * TEXT_MAX];
	unsigned wrong = 0, clean = 0;

	for (unsigned i = 0; i < 2000; i++) {
		size_t len = 0;

		for (unsigned k = pick(40); k > 0; k--)
			len += (size_t)snprintf(base + len, 16, "%u\n", pick(6));
		base[len] = '\0';
		edit(base, x, NULL);
		edit(base, y, NULL);
		struct tree_three one = merged(base, x, base), two = merged(base, base, y),
				  three = merged(base, x, x), four = merged(base, x, y),
				  five = merged(base, y, x);
		wrong += !is(&one, x) || !is(&two, y) || !is(&three, x);
		wrong += four.conflicts != five.conflicts;
		wrong += four.out && (!five.out || four.out_len != five.out_len ||
				      memcmp(four.out, five.out, four.out_len) != 0);
		clean += four.out != NULL;
		tree_three_done(&one);
		tree_three_done(&two);
		tree_three_done(&three);
		tree_three_done(&four);
		tree_three_done(&five);
	}
	is_int(wrong, 0, "nothing on one side: the other; alike: the same; from both sides alike");
	ok(clean > 100 && clean < 1900, "some of them merge, some do not");
}

static void put_text(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* How many conflicts; what was merged is in the file. */
static int git_merge(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir(top) == 0)
			execlp("git", "git", "merge-file", "-q", "ours", "base", "theirs", NULL);
		_exit(255);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static bool is_in(int dir, const char *name, const struct tree_three *t)
{
	static char buf[4 * TEXT_MAX];
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	close(fd);
	return n >= 0 && t->out && (size_t)n == t->out_len && memcmp(buf, t->out, t->out_len) == 0;
}

static void like_git(void)
{
	static char base[TEXT_MAX], ours[2 * TEXT_MAX], theirs[2 * TEXT_MAX];
	unsigned wrong = 0, clean = 0;
	int dir = fresh(top);

	for (unsigned i = 0; i < ROUNDS && wrong == 0; i++) {
		unsigned next = 0;

		(void)number_lines(base, pick(60), &next);
		edit(base, ours, &next);
		next -= pick(2) ? 0 : pick(3); /* sometimes the same line twice */
		edit(base, theirs, &next);
		put_text(dir, "base", base);
		put_text(dir, "ours", ours);
		put_text(dir, "theirs", theirs);
		struct tree_three t = merged(base, ours, theirs);
		int git = git_merge();
		wrong += git == 0 ? !is_in(dir, "ours", &t) : git > 127 || t.conflicts == 0;
		if (wrong)
			diag("round %u: git %d, ours %u", i, git, t.conflicts);
		clean += git == 0;
		tree_three_done(&t);
	}
	is_int(wrong, 0, "as git merges them");
	ok(clean > ROUNDS / 10 && clean < ROUNDS * 9 / 10, "some of them merge, some do not");
	close(dir);
	if (!wrong)
		(void)remove_tree_at(AT_FDCWD, top);
}

static void bounded(void)
{
	size_t size = TREE_TEXT_FILE_MAX;
	char *a = malloc(size), *b = malloc(size), *c = malloc(size);
	struct tree_three t = {.base = {a, size}, .ours = {b, size}, .theirs = {c, size}};
	struct err e = ERR_INIT;

	for (size_t i = 0; i < size; i++) {
		a[i] = i % 12 == 11 ? '\n' : (char)('a' + pick(26));
		b[i] = i < 1200 ? a[i] : i % 12 == 11 ? '\n' : (char)('a' + pick(26));
		c[i] = i < 12 && i != 11 ? '!' : a[i];
	}
	is_int(tree_three_merge(&t, &e), 0, "much of it changed, and one line");
	ok(t.out_len == size && memcmp(t.out, c, 1200) == 0, "both are taken");
	tree_three_done(&t);
	memset(b, '\n', size);
	is_int(tree_three_merge(&t, &e), -E2BIG, "too many lines");
	tree_three_done(&t);
	free(a);
	free(b);
	free(c);
}

/* Asked over a pipe of files, as the host side asks the reader. */
static struct tree_three asked(const char *base, const char *ours, const char *theirs, int cut)
{
	struct tree_three t = {
		.base = {base, strlen(base)},
		.ours = {ours, strlen(ours)},
		.theirs = {theirs, strlen(theirs)},
	};
	struct err e = ERR_INIT;
	int in = temp_file(), out = temp_file();

	ok(tree_three_ask(in, &t, &e) >= 0 && lseek(in, 0, SEEK_SET) == 0, "a question");
	(void)tree_three_serve(in, out, &e);
	if (cut)
		(void)!ftruncate(out, lseek(out, 0, SEEK_END) - cut);
	lseek(out, 0, SEEK_SET);
	if (tree_three_answered(out, &t, &e) < 0)
		t.conflicts = 999;
	close(in);
	close(out);
	return t;
}

static void by_somebody_else(void)
{
	struct tree_three t =
		asked("1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", 0);

	ok(!t.conflicts && t.out_len == 15 && memcmp(t.out, "one\n2\n3\n4\nfive\n", 15) == 0,
	   "merged");
	tree_three_done(&t);
	t = asked("1\n2\n", "a\n2\n", "b\n2\n", 0);
	ok(t.conflicts == 1 && t.line == 1 && !t.out, "a conflict, and where");
	t = asked("1\n", "1\n", "1\n", 1);
	ok(t.conflicts == 999 && !t.out, "an answer that is cut off is none");
	t = asked("", "", "", 0);
	ok(!t.conflicts && t.out_len == 0, "nothing");
	tree_three_done(&t);
}

int main(void)
{
	TAP_RUN(by_somebody_else);
	TAP_RUN(exact);
	TAP_RUN(laws);
	TAP_RUN(bounded);
	TAP_RUN(like_git);
	return tap_done();
}
