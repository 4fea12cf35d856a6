/* SPDX-License-Identifier: Apache-2.0 */
/* Two outcomes side by side, also of files that are no outcomes; and a directory as one number. */
#include "engine/replay_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/replay.h"
#include "tap.h"

static char seen[4096];

static void note(const struct pinfold_replay_difference *d, void *arg)
{
	size_t n = strlen(seen);

	(void)arg;
	(void)snprintf(seen + n, sizeof(seen) - n, "%s %s %llu [%.*s] [%.*s];", d->what,
		       d->path ? d->path : "-", (unsigned long long)d->line, (int)d->before_len,
		       d->before, (int)d->after_len, d->after);
}

static struct value *parse(const char *text)
{
	struct err e = ERR_INIT;
	struct value *v = NULL;

	(void)value_parse(text, strlen(text), &v, &e);
	return v;
}

static struct pinfold_replay_result compare(const char *before, const char *after)
{
	struct pinfold_replay_result result = {.identical = 1};
	struct replay_report report = {.each = note, .result = &result};
	auto_value *a = parse(before), *b = parse(after);

	seen[0] = '\0';
	replay_compare(a, b, &report);
	return result;
}

#define OUTPUT(sha, head) "{\"bytes\":4,\"sha256\":\"" sha "\",\"head\":\"" head "\"}"
#define NONE OUTPUT("e", "")
/* Base64: /f is L2Y=, /g is L2c= */
#define FILE_(path, sha)                                                                           \
	"{\"path\":\"" path "\",\"change\":1,\"mode\":33188,\"size\":1,\"sha256\":\"" sha "\"}"
#define OUTCOME(exit, out, files)                                                                  \
	"{\"status\":\"exited\",\"exit_status\":" exit ",\"stdout\":" out ",\"stderr\":" NONE      \
	",\"files\":[" files "],\"files_omitted\":0}"

static void outcomes(void)
{
	const char *one = OUTCOME("0", OUTPUT("a", "YQpiCg=="), FILE_("L2Y=", "1"));

	is_int(compare(one, one).identical, 1, "the same");
	is_str(seen, "", "nothing is told of it");
	is_int(compare(one, OUTCOME("3", OUTPUT("a", "YQpiCg=="), FILE_("L2Y=", "1"))).identical, 0,
	       "another exit status");
	is_str(seen, "exit_status - 0 [0] [3];", "is told");
	/* a\nb\n and a\nc\n */
	(void)compare(one, OUTCOME("0", OUTPUT("b", "YQpjCg=="), FILE_("L2Y=", "1")));
	is_str(seen, "stdout - 2 [b] [c];", "the line that differs");
	(void)compare(one, OUTCOME("0", OUTPUT("b", "YQ=="), FILE_("L2Y=", "1")));
	is_str(seen, "stdout - 1 [a] [a];", "less of it");
	(void)compare(one, OUTCOME("0", OUTPUT("b", "YQpiCg=="), FILE_("L2Y=", "1")));
	is_str(seen, "stdout - 0 [] [];", "behind what is kept");
	(void)compare(one, OUTCOME("0", OUTPUT("a", "YQpiCg=="), FILE_("L2c=", "1")));
	ok(strstr(seen, "file /f 0 [added") && strstr(seen, "file /g 0 [not changed]"),
	   "one file for another");
	is_int((long)compare(one, OUTCOME("0", OUTPUT("a", "YQpiCg=="), "")).differences, 1,
	       "a file less");
}

static void damaged(void)
{
	static const char *const bad[] = {"{}", "[]", "{\"files\":[1,{}],\"stdout\":7}",
					  "{\"stdout\":{\"sha256\":\"x\",\"head\":\"!!\"}}",
					  "{\"files\":[{\"path\":\"!\",\"change\":99}]}"};
	const char *good = OUTCOME("0", OUTPUT("a", "YQpiCg=="), FILE_("L2Y=", "1"));
	bool differ = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		differ = differ && !compare(bad[i], good).identical &&
			 !compare(good, bad[i]).identical;
	ok(differ, "what is damaged is not the same");
}

static void put(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)fd_write_all(fd, text, strlen(text)); /* the digest tells */
}

static void directories(void)
{
	static const char *const hidden[] = {"secret", NULL};
	char path[] = "/tmp/digest-XXXXXX", first[HASH_TEXT_SIZE], then[HASH_TEXT_SIZE];
	struct err e = ERR_INIT;

	ok(mkdtemp(path), "a directory");
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(dir_digest(dir, NULL, first, &e), 0, "of nothing");
	put(dir, "a", "1");
	is_int(dir_digest(dir, hidden, then, &e), 0, "of a file");
	ok(strcmp(first, then) != 0, "is another");
	put(dir, "secret", "x");
	ok(dir_digest(dir, hidden, first, &e) == 0 && strcmp(first, then) == 0,
	   "what is hidden does not count");
	put(dir, "a", "2");
	ok(dir_digest(dir, hidden, first, &e) == 0 && strcmp(first, then) != 0, "content counts");
	put(dir, "a", "1");
	(void)!fchmodat(dir, "a", 0755, 0); /* the digest tells */
	ok(dir_digest(dir, hidden, first, &e) == 0 && strcmp(first, then) != 0, "a mode counts");
	(void)unlinkat(dir, "a", 0);
	(void)!symlinkat("1", dir, "a");
	ok(dir_digest(dir, hidden, first, &e) == 0 && strcmp(first, then) != 0,
	   "a link is no file");
	(void)unlinkat(dir, "a", 0);
	(void)mkfifoat(dir, "a", 0644);
	is_int(dir_digest(dir, hidden, first, &e), 0, "a pipe is not waited for");
	(void)unlinkat(dir, "a", 0);
	(void)unlinkat(dir, "secret", 0);
	(void)rmdir(path);
}

int main(void)
{
	TAP_RUN(outcomes);
	TAP_RUN(damaged);
	TAP_RUN(directories);
	return tap_done();
}
