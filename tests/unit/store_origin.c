/* SPDX-License-Identifier: Apache-2.0 */
/* Files as they were before a workspace changed them: kept while they are that, and not for
 * ever. */
#include "store/origin.h"

#include <time.h>

#include "store_help.h"

static int put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n = write(fd, text, strlen(text));

	close(fd);
	return n < 0 ? -1 : 0;
}

/* The coarse clock has reached what the fine one, which times of files may be of, says now. A step
 * of the coarse one is not enough: after a pause of the machine it may still be behind. */
static void tick(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	while (store_file_now_ns() <= (int64_t)now.tv_sec * 1000000000 + now.tv_nsec)
		;
}

/* A layer that is open, over the directory. */
static struct upper *over(struct store *s)
{
	struct upper *u = NULL;

	tick();
	if (upper_open(s, "w", USE_SHARED, false, &u, &error) < 0)
		diag("%s", error.text);
	return u;
}

static int keep(struct store *s, const struct upper *u, int dir, bool whole)
{
	static const char *const paths[] = {"a", "sub/b", "link", "pipe", "zero", "none", "../a"};

	return origin_keep(s, dir, u->number, paths, sizeof(paths) / sizeof(paths[0]), whole,
			   &error);
}

static bool has(struct store *s, uint32_t layer, const char *path, const char *want)
{
	struct origin o;
	char *data = NULL;
	size_t len = 0;
	bool same = origin_find(s, layer, path, &o, &error) == 1 &&
		    origin_read(s, &o, &data, &len, &error) == 1 && len == strlen(want) &&
		    memcmp(data, want, len) == 0;

	free(data);
	return same;
}

static int some_dir(void)
{
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/dir", store_dir);
	(void)mkdir(path, 0700);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(dir, "sub", 0700);
	(void)put(dir, "a", "one\n");
	(void)put(dir, "sub/b", "two\n");
	(void)!symlinkat("a", dir, "link");
	(void)mkfifoat(dir, "pipe", 0600);
	int zero = openat(dir, "zero", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)!write(zero, "a\0b", 3);
	close(zero);
	return dir;
}

static void kept(void)
{
	struct store *s = store_fresh();
	int dir = some_dir();
	struct origin o;

	is_int(make(s, "w"), 0, "a workspace");
	struct upper *u = over(s);
	is_int(keep(s, u, dir, true), 0, "kept");
	ok(has(s, u->number, "a", "one\n"), "a file");
	ok(has(s, u->number, "sub/b", "two\n"), "one in a directory");
	ok(!has(s, u->number, "link", "one\n"), "no link is followed");
	is_int(origin_find(s, u->number, "pipe", &o, &error), 0, "a FIFO is not waited for");
	is_int(origin_find(s, u->number, "zero", &o, &error), 0, "what is not text is not kept");
	is_int(origin_find(s, u->number, "../a", &o, &error), 0, "nor what is elsewhere");
	is_int(keep(s, u, dir, true), 0, "again");
	is_int(ask(s, "SELECT count(*) FROM origin"), 2, "the same file is kept once");
	(void)put(dir, "a", "changed\n");
	ok(has(s, u->number, "a", "one\n"), "it stays what it was");
	uint32_t first = u->number;
	upper_drop(u);
	u = over(s);
	(void)put(dir, "sub/b", "too late\n");
	is_int(keep(s, u, dir, false), 0, "another layer, of which not all is told");
	is_int(origin_find(s, u->number, "a", &o, &error), 0, "then nothing is known");
	is_int(keep(s, u, dir, true), 0, "told whole");
	ok(has(s, u->number, "a", "changed\n"), "what was changed before it");
	is_int(origin_find(s, u->number, "sub/b", &o, &error), 0, "not what changed since");
	is_int(origin_find(s, first, "a", &o, &error), 1, "and the first has its own");
	upper_drop(u);
	close(dir);
	store_away(s);
}

static void damaged(void)
{
	struct store *s = store_fresh();
	int dir = some_dir();
	struct origin o = {0};
	char *data = NULL;
	size_t len = 0;

	is_int(make(s, "w"), 0, "a workspace");
	struct upper *u = over(s);
	is_int(keep(s, u, dir, true), 0, "kept");
	is_int(origin_find(s, u->number, "a", &o, &error), 1, "found");
	(void)put(s->home_fd, "origins/1", "on");
	is_int(origin_read(s, &o, &data, &len, &error), 0, "half a file is none");
	(void)unlinkat(s->home_fd, "origins/1", 0);
	is_int(origin_read(s, &o, &data, &len, &error), 0, "nor is one that is gone");
	upper_drop(u);
	close(dir);
	store_away(s);
}

static void collected(void)
{
	struct store *s = store_fresh();
	int dir = some_dir();
	struct stat st;

	is_int(make(s, "w"), 0, "a workspace");
	struct upper *u = over(s);
	is_int(keep(s, u, dir, true), 0, "kept");
	is_int(db_run(s->db, &error, "UPDATE origin SET made = 0", ""), 0, "long ago");
	is_int(origin_collect(s, &error), 0, "collect");
	is_int(ask(s, "SELECT count(*) FROM origin"), 2, "what a layer has stays");
	upper_drop(u);
	is_int(origin_collect(s, &error), 0, "collect without the layer");
	is_int(ask(s, "SELECT count(*) FROM origin"), 0, "then it goes");
	ok(fstatat(s->home_fd, "origins/1", &st, 0) < 0, "with its bytes");
	u = over(s);
	is_int(keep(s, u, dir, true), 0, "kept again");
	is_int(db_run(s->db, &error, "UPDATE origin SET size = 600000000 WHERE id = 3", ""), 0,
	       "too much of it");
	is_int(origin_collect(s, &error), 0, "collect");
	is_int(ask(s, "SELECT min(id) FROM origin"), 4, "the oldest goes first");
	upper_drop(u);
	close(dir);
	store_away(s);
}

/* The lowest layer that has a path is what it was made by first; one that does not tell all spoils
 * it. */
static void merged(void)
{
	struct store *s = store_fresh();
	int dir = some_dir();
	struct origin o;

	is_int(make(s, "w"), 0, "a workspace");
	struct upper *one = over(s);
	is_int(keep(s, one, dir, true), 0, "a layer");
	(void)put(dir, "a", "later\n");
	struct upper *two = over(s);
	is_int(keep(s, two, dir, true), 0, "another");
	is_int(db_run(s->db, &error,
		      "INSERT INTO layer(id, workspace, state, parts, files, bytes) VALUES(99, 1,"
		      " 1, 4, 0, 0)",
		      ""),
	       0, "a third");
	is_int(db_run(s->db, &error, "UPDATE layer SET merged = 99, parts = 4 WHERE id < 99", ""),
	       0, "made of both");
	is_int(origin_merge(s, 99, &error), 0, "merged");
	ok(has(s, 99, "a", "one\n"), "has what was first");
	(void)db_run(s->db, &error, "DELETE FROM origin_at WHERE layer = 99", "");
	(void)db_run(s->db, &error,
		     "DELETE FROM origin_at WHERE path = '' AND layer ="
		     " (SELECT min(layer) FROM origin_at)",
		     "");
	is_int(origin_merge(s, 99, &error), 0, "one of them not whole");
	is_int(origin_find(s, 99, "a", &o, &error), 0, "then nothing is known");
	upper_drop(two);
	upper_drop(one);
	close(dir);
	store_away(s);
}

int main(void)
{
	TAP_RUN(kept);
	TAP_RUN(damaged);
	TAP_RUN(collected);
	TAP_RUN(merged);
	return tap_done();
}
