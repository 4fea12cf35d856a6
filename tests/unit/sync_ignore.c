/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of what to leave out: by hand where the point is known, and against git itself for random
 * rules and names. The alphabet is small, so that rules fit often.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "sync/ignore.h"
#include "tap.h"

static enum ignore_verdict judge(const char *rules, const char *path, bool is_dir)
{
	struct ignore_rules *r = NULL;
	struct err e = ERR_INIT;

	(void)ignore_parse(rules, strlen(rules), &r, &e);
	enum ignore_verdict v = ignore_match(r, path, is_dir);
	ignore_free(r);
	return v;
}

static void by_hand(void)
{
	static const struct {
		const char *rules, *path;
		bool is_dir;
		enum ignore_verdict want;
	} cases[] = {
		{"*.o", "a/b/c.o", false, IGNORE_OUT},
		{"*.o\n!c.o", "a/b/c.o", false, IGNORE_IN},
		{"build/", "build", false, IGNORE_SILENT},
		{"build/", "a/build", true, IGNORE_OUT},
		{"/build", "a/build", true, IGNORE_SILENT},
		{"a/build", "x/a/build", true, IGNORE_SILENT},
		{"**/a/build", "x/y/a/build", true, IGNORE_OUT},
		{"a/**/b", "a/b", false, IGNORE_OUT},
		{"a/**/b", "a/x/y/b", false, IGNORE_OUT},
		{"a/**", "a/x/y", false, IGNORE_OUT},
		{"a/**", "a", true, IGNORE_SILENT},
		{"a/*/c", "a/b/b/c", false, IGNORE_SILENT},
		{"# a comment", "# a comment", false, IGNORE_SILENT},
		{"\\#a", "#a", false, IGNORE_OUT},
		{"\\!a", "!a", false, IGNORE_OUT},
		{"a   ", "a", false, IGNORE_OUT},
		{"a\\ ", "a ", false, IGNORE_OUT},
		{"a\\  ", "a ", false, IGNORE_OUT},
		{"a\r\nb", "a", false, IGNORE_OUT},
		{"a\r", "a", false, IGNORE_OUT},
		{"\xef\xbb\xbf"
		 "a",
		 "a", false, IGNORE_OUT},
		{"[a-c]x", "bx", false, IGNORE_OUT},
		{"[!a-c]x", "bx", false, IGNORE_SILENT},
		{"[[:digit:]]x", "7x", false, IGNORE_OUT},
		{"[]-]x", "]x", false, IGNORE_OUT},
		{"[a", "[a", false, IGNORE_SILENT},
		{"/", "a", true, IGNORE_SILENT},
		{"!", "a", true, IGNORE_SILENT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[128];

		snprintf(name, sizeof(name), "rule %zu, %s", i, cases[i].path);
		is_int(judge(cases[i].rules, cases[i].path, cases[i].is_dir), cases[i].want, name);
	}
}

static void levels(void)
{
	struct ignore_level l[2] = {{.path_len = 0}, {.path_len = 3}};
	struct err e = ERR_INIT;

	(void)ignore_parse("*.log\n.*", 8, &l[0].git, &e);
	(void)ignore_parse("!keep.log", 9, &l[1].git, &e);
	ok(ignore_judge(l, 1, "a.log", false), "a rule at the top");
	ok(!ignore_judge(l, 2, "sub/keep.log", false), "a deeper file goes before it");
	ok(!ignore_judge(l, 1, ".git", true), ".git is not measured by .gitignore");
	ok(!ignore_judge(l, 1, ".git/x.log", false), "nor is what it holds");
	ok(ignore_judge(l, 1, ".github", true), "what only begins like it is");
	(void)ignore_parse("keep.log\n.git\n!a.log", 20, &l[0].pinfold, &e);
	ok(ignore_judge(l, 2, "sub/keep.log", false), ".pinfoldignore goes before all of them");
	ok(!ignore_judge(l, 2, "a.log", false), "in both directions");
	ok(ignore_judge(l, 1, ".git", true), "and may name .git");
	ignore_free(l[0].git);
	ignore_free(l[0].pinfold);
	ignore_free(l[1].git);
}

static void slow_rules(void)
{
	char rules[600] = "", path[600] = "";

	for (int i = 0; i < 100; i++)
		memcpy(rules + 5 * i, "**/*a", 6);
	for (int i = 0; i < 250; i++)
		memcpy(path + 2 * i, "a/", 3);
	memcpy(path + 500, "b", 2);
	is_int(judge(rules, path, false), IGNORE_SILENT, "a rule that is made to be slow ends");
	for (int i = 0; i < 250; i++)
		memcpy(rules + 2 * i, "*a", 3);
	memset(path, 'a', 500);
	is_int(judge(rules, path, false), IGNORE_SILENT, "and one of stars");
}

/* Random rules and names, and git's opinion. */
static unsigned long long state;

static unsigned rnd(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

static void random_rule(char *to)
{
	static const char *const parts[] = {"a",   "b",	   "ab",	 "*",	 "**",	 "/",
					    "/",   "?",	   "[ab]",	 "[!a]", "a*",	 "\\a",
					    "**/", "/**",  "/*",	 "[a-b", "[]a]", "b ",
					    "\\ ", "[^b]", "a/**/b",	 "#",	 "***",	 "[a/b]",
					    "!",   "[a-]", "[[:alpha:]]"};
	unsigned n = 1 + rnd(4);

	*to = 0;
	if (rnd(4) == 0)
		to += snprintf(to, 8, "!");
	if (rnd(4) == 0)
		to += snprintf(to, 8, "/");
	while (n--)
		to += snprintf(to, 16, "%s", parts[rnd(sizeof(parts) / sizeof(parts[0]))]);
	if (rnd(3) == 0)
		to += snprintf(to, 8, "/");
	snprintf(to, 4, rnd(8) ? "\n" : " \r\n");
}

#define PATHS_MAX 400
static struct {
	char path[64];
	bool is_dir, out;
} paths[PATHS_MAX];
static size_t n_paths;

static void make_tree(const char *dir, int depth)
{
	static const char *const names[] = {"a", "b", "ab", "ba", "aab", "a b", "b ", "#"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && n_paths < PATHS_MAX; i++) {
		size_t at = n_paths;
		char path[64];

		if (rnd(3) == 0)
			continue;
		snprintf(path, sizeof(path), "%.40s%s%s", dir, *dir ? "/" : "", names[i]);
		memcpy(paths[at].path, path, sizeof(path));
		paths[at].is_dir = depth < 3 && rnd(2);
		paths[at].out = false;
		n_paths++;
		if (paths[at].is_dir) {
			(void)mkdir(paths[at].path, 0700);
			make_tree(paths[at].path, depth + 1);
		} else {
			close(open(paths[at].path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		}
	}
}

static void write_rules(const char *dir, struct ignore_rules **ret)
{
	char text[1024] = "", path[128];
	struct err e = ERR_INIT;
	unsigned n = 1 + rnd(4);

	while (n--)
		random_rule(text + strlen(text));
	snprintf(path, sizeof(path), "%.63s%s.gitignore", dir, *dir ? "/" : "");
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	(void)fd_write_all(fd, text, strlen(text));
	close(fd);
	(void)ignore_parse(text, strlen(text), ret, &e);
}

static bool one_opinion(const char *path, bool is_dir, const struct ignore_level *l, size_t n)
{
	size_t len = l[1].path_len;
	bool below = n > 1 && strncmp(path, paths[0].path, len) == 0 && path[len] == '/';

	return ignore_judge(l, below ? 2 : 1, path, is_dir);
}

/* What a walk would do: parents first; below what is out all is out. */
static bool our_opinion(const char *path, bool is_dir, const struct ignore_level *l, size_t n)
{
	char part[64];

	snprintf(part, sizeof(part), "%.63s", path);
	for (size_t i = 0; path[i]; i++)
		if (path[i] == '/') {
			part[i] = 0;
			if (one_opinion(part, true, l, n))
				return true;
			part[i] = '/';
		}
	return one_opinion(path, is_dir, l, n);
}

static void ask_git(void)
{
	int in[2], out[2];
	char name[128];
	size_t len = 0;

	(void)!pipe(in);
	(void)!pipe(out);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execlp("git", "git", "-c", "core.excludesFile=/dev/null", "check-ignore",
		       "--no-index", "-z", "--stdin", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	for (size_t i = 0; i < n_paths; i++) /* less than a pipe holds */
		(void)fd_write_all(in[1], paths[i].path, strlen(paths[i].path) + 1);
	close(in[1]);
	while (len < sizeof(name) && read(out[0], name + len, 1) == 1) {
		if (name[len++])
			continue;
		for (size_t i = 0; i < n_paths; i++)
			paths[i].out |= strcmp(paths[i].path, name) == 0;
		len = 0;
	}
	close(out[0]);
	waitpid(pid, NULL, 0);
}

static void show_rules(const char *dir)
{
	char path[128], text[1024];
	size_t n = 0;

	snprintf(path, sizeof(path), "%.63s%s.gitignore", dir, *dir ? "/" : "");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)fd_read_max(fd, text, sizeof(text) - 1, &n);
	close(fd);
	text[n] = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		diag("in \"%s\": \"%s\"", dir, line);
}

static unsigned one_round(void)
{
	struct ignore_level l[2] = {{.path_len = 0}, {.path_len = 0}};
	unsigned wrong = 0;
	size_t n = 1;

	n_paths = 0;
	make_tree("", 0);
	write_rules("", &l[0].git);
	if (paths[0].is_dir) {
		write_rules(paths[0].path, &l[1].git);
		l[1].path_len = strlen(paths[0].path);
		n = 2;
	}
	ask_git();
	for (size_t i = 0; i < n_paths; i++)
		if (our_opinion(paths[i].path, paths[i].is_dir, l, n) != paths[i].out) {
			diag("%s%s: git says %s", paths[i].path, paths[i].is_dir ? "/" : "",
			     paths[i].out ? "out" : "in");
			if (!wrong++) {
				show_rules("");
				if (n > 1)
					show_rules(paths[0].path);
			}
		}
	ignore_free(l[0].git);
	ignore_free(l[1].git);
	return wrong;
}

static int run(const char *const argv[])
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], (char **)argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void as_git(void)
{
	static const char *const init[] = {"git", "init", "-q", NULL};
	char top[] = "/tmp/pinfold-ignore-XXXXXX", dir[64];
	const char *const clean[] = {"rm", "-rf", top, NULL};
	const char *seed = getenv("SEED"), *rounds = getenv("ROUNDS");
	unsigned wrong = 0, asked = 0, out = 0;

	state = seed ? strtoull(seed, NULL, 10) : 4;
	ok(mkdtemp(top) != NULL, "a directory");
	for (long i = 0; i < (rounds ? strtol(rounds, NULL, 10) : 60); i++) {
		snprintf(dir, sizeof(dir), "%s/%ld", top, i);
		if (mkdir(dir, 0700) < 0 || chdir(dir) < 0 || run(init) != 0) {
			ok(0, "git is there");
			break;
		}
		wrong += one_round();
		asked += (unsigned)n_paths;
		for (size_t j = 0; j < n_paths; j++)
			out += paths[j].out;
	}
	diag("%u names asked, %u left out by git", asked, out);
	ok(asked > 1000 && out > asked / 20, "git had something to say");
	is_int(wrong, 0, "and we say the same");
	(void)!chdir("/");
	run(clean);
}

int main(void)
{
	TAP_RUN(by_hand);
	TAP_RUN(levels);
	TAP_RUN(slow_rules);
	TAP_RUN(as_git);
	return tap_done();
}
