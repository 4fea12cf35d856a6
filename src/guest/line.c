/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line for bash that is nothing but a program and its words, executed at once. bash executes such
 * a line in its own place, after a start of its own that takes as long as two small programs. The
 * program sees the same: PWD, SHLVL and _ are as bash sets them. Whatever else there is to do is
 * left to bash: what is not plain, a word of its own, an environment that is not only ours, a file
 * that it reads first, a program that is not there or cannot be executed.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "guest/guest.h"
#include "wire/environ.h"

#define LINE_MAX 2048u
#define LINE_WORDS 128u
#define LINE_ENVIRONMENT 32u
#define LINE_PATH 4096u

/* Its child shares our memory until it executes. */
static struct {
	char words[LINE_MAX];
	char *argv[LINE_WORDS + 1];
	char *envp[LINE_ENVIRONMENT + 4];
	char pwd[LINE_PATH], file[2 + LINE_PATH]; /* "PWD=…", "_=…" */
} line;

/* What bash answers itself: its builtins and keywords (compgen -bk). */
static const char *const own_words[] = {
	".",	  "alias",   "bg",	 "bind",     "break",	  "builtin",  "caller",	 "case",
	"cd",	  "command", "compgen",	 "complete", "compopt",	  "continue", "coproc",	 "declare",
	"dirs",	  "disown",  "do",	 "done",     "echo",	  "elif",     "else",	 "enable",
	"esac",	  "eval",    "exec",	 "exit",     "export",	  "false",    "fc",	 "fg",
	"fi",	  "for",     "function", "getopts",  "hash",	  "help",     "history", "if",
	"in",	  "jobs",    "kill",	 "let",	     "local",	  "logout",   "mapfile", "popd",
	"printf", "pushd",   "pwd",	 "read",     "readarray", "readonly", "return",	 "select",
	"set",	  "shift",   "shopt",	 "source",   "suspend",	  "test",     "then",	 "time",
	"times",  "trap",    "true",	 "type",     "typeset",	  "ulimit",   "umask",	 "unalias",
	"unset",  "until",   "wait",	 "while",
};

static const char *const our_environment[] = {ENVIRON_COMMON, ENVIRON_USER, ENVIRON_PROXY,
					      ENVIRON_TLS};

/* What bash reads first, as a login shell. */
static const char *const login_files[] = {"/etc/profile", "/home/user/.bash_profile",
					  "/home/user/.bash_login", "/home/user/.profile"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int is_one_of(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(s, list[i]))
			return 1;
	return 0;
}

static int is_there(const char *path)
{
	return sys4(SYS_faccessat, AT_FDCWD, path, 0, 0) != -ENOENT;
}

/* No byte that means anything to a shell; the first word neither assigns nor names a job. */
static int is_plain(char c, int in_first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return 1;
	return c == '_' || c == '-' || c == '.' || c == '/' || c == '+' || c == ',' ||
	       (!in_first && (c == '=' || c == ':' || c == '@' || c == '%'));
}

/* Returns how many words it has, 0: bash has to read it. */
static size_t split(const char *text)
{
	size_t n = 0, i = 0;

	for (; text[i] && i + 1 < sizeof(line.words); i++) {
		int blank = text[i] == ' ' || text[i] == '\t';

		if (!blank && !is_plain(text[i], n <= 1 && (n == 0 || line.words[i - 1])))
			return 0;
		line.words[i] = blank ? '\0' : text[i];
		if (blank || (i > 0 && line.words[i - 1]))
			continue;
		if (n == LINE_WORDS)
			return 0;
		line.argv[n++] = line.words + i;
	}
	line.words[i] = '\0';
	line.argv[n] = NULL;
	return text[i] ? 0 : n;
}

/* to = before + path [+ "/" + name]. 0: it is too long. */
static int compose(char *to, size_t size, const char *before, const char *dir, size_t dir_len,
		   const char *name)
{
	size_t n = 0;

	if (str_len(before) + dir_len + str_len(name) + 2 > size)
		return 0;
	for (; *before; before++)
		to[n++] = *before;
	for (size_t i = 0; i < dir_len; i++)
		to[n++] = dir[i];
	if (dir_len)
		to[n++] = '/';
	for (; *name; name++)
		to[n++] = *name;
	to[n] = '\0';
	return 1;
}

/* Leaves "_=" and what it is in line.file: the name itself if it has a slash, else the first of
 * this name in PATH. */
static int find(const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c == '/')
			return compose(line.file, sizeof(line.file), "_=", "", 0, name);
	for (const char *p = ENVIRON_PATH; *p;) {
		size_t n = 0;

		while (p[n] && p[n] != ':')
			n++;
		if (!compose(line.file, sizeof(line.file), "_=", p, n, name))
			return 0;
		if (is_there(line.file + 2))
			return 1;
		p += p[n] ? n + 1 : n;
	}
	return 0;
}

static int take_environment(char *const *envp)
{
	size_t n = 0;

	for (; envp[n]; n++) {
		if (n == LINE_ENVIRONMENT ||
		    !is_one_of(envp[n], our_environment, COUNT(our_environment)))
			return 0;
		line.envp[n] = envp[n];
	}
	if (!compose(line.pwd, sizeof(line.pwd), "PWD=", "", 0, "") ||
	    sys2(SYS_getcwd, line.pwd + 4, sizeof(line.pwd) - 4) < 0 || line.pwd[4] != '/')
		return 0;
	line.envp[n++] = line.pwd;
	line.envp[n++] = (char *)(uintptr_t) "SHLVL=0";
	line.envp[n++] = line.file;
	line.envp[n] = NULL;
	return 1;
}

/* bash itself must be the host's, which nothing inside can change. */
static int is_bash(const char *name)
{
	return str_eq(name, "bash") && find(name) &&
	       (str_eq(line.file + 2, "/usr/bin/bash") || str_eq(line.file + 2, "/bin/bash"));
}

void guest_line(char *const *argv, char *const *envp)
{
	if (!argv[0] || !argv[1] || !argv[2] || argv[3])
		return;
	if (str_eq(argv[1], "-lc")) {
		for (size_t i = 0; i < COUNT(login_files); i++)
			if (is_there(login_files[i]))
				return;
	} else if (!str_eq(argv[1], "-c")) {
		return;
	}
	if (split(argv[2]) == 0 || is_one_of(line.argv[0], own_words, COUNT(own_words)) ||
	    !is_bash(argv[0]) || !find(line.argv[0]) || !take_environment(envp))
		return;
	(void)sys3(SYS_execve, line.file + 2, line.argv, line.envp);
}
