/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody needs is removed, and nothing else: whatever died in the middle, whoever still
 * runs. */
#include <sys/syscall.h>

#include "base/fd.h"
#include "store/merge.h"
#include "store/settle.h"
#include "store/total.h"
#include "store_help.h"

#define NUMBERS 64u

/* What a power cut leaves: the database as of the last time that its log was waited for, and those
 * layers that were there when their file system was. */
static struct store *watched;
static bool synced[NUMBERS];
static char left[80];

static void copy_file(const char *name)
{
	static char buf[1 << 20];
	char to[128];
	size_t n = 0;

	(void)snprintf(to, sizeof(to), "%s/%s", left, name);
	int in = openat(watched->home_fd, name, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	(void)fd_read_max(in, buf, sizeof(buf), &n);
	(void)fd_write_all(out, buf, n);
	close(in);
	close(out);
}

static void keep_rows(void)
{
	if (!watched)
		return;
	copy_file("store.db");
	copy_file("store.db-wal");
}

int fdatasync(int fd)
{
	keep_rows();
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	keep_rows();
	return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
	for (unsigned i = 0; watched && i < NUMBERS; i++)
		synced[i] = layer_there(watched, i);
	return (int)syscall(SYS_syncfs, fd);
}

/* Every layer that a snapshot stands on by those rows is on disk, and was not removed. */
static bool is_whole(void)
{
	struct db *db = NULL;
	struct db_rows *rows = NULL;
	struct stack stack;
	char path[128];
	bool whole = true;

	(void)snprintf(path, sizeof(path), "%s/store.db", left);
	if (db_open(path, &db, &error) < 0 ||
	    db_query(db, &rows, &error, "SELECT stack FROM snap", "") < 0)
		whole = false;
	while (whole && db_next(rows, &error) > 0) {
		whole = stack_parse(db_text(rows, 0), &stack, &error) >= 0;
		for (unsigned i = 0; whole && i < stack.n; i++)
			whole = synced[stack.layer[i].number] &&
				layer_there(watched, stack.layer[i].number);
	}
	if (rows)
		db_done(&rows);
	db_close(db);
	return whole;
}

static void power_cut(void)
{
	struct store *s = store_fresh();
	const struct total total = {.workspaces = 7};
	struct merge m;
	uint64_t bytes = 0;
	char file[8];

	(void)snprintf(left, sizeof(left), "%s/left", store_dir);
	ok(mkdir(left, 0700) == 0, "a place for what is left");
	watched = s;
	(void)make(s, "w");
	for (unsigned i = 0; i < 10; i++) {
		(void)snprintf(file, sizeof(file), "f%u", i);
		(void)command(s, "w", file);
	}
	is_int(store_sync(s, &error), 0, "ten commands are on disk");
	ok(is_whole(), "with what they stand on");
	uint32_t top = top_of(s, "w");
	is_int(merge_begin(s, "w", MERGE_LONG, &m, &error), 1, "a long stack is merged");
	is_int(merge_commit(s, &m, &error), 0, "with nobody waiting for it");
	merge_end(s, &m);
	is_int(total_set(s, &total, &error), 0, "somebody else waits for the disk");
	ok(is_whole(), "the merged layer was there first");
	is_int(store_collect(s, &bytes, &error), 0, "collected");
	ok(!layer_there(s, top), "what was merged is gone");
	ok(is_whole(), "from the rows on disk before");
	(void)command(s, "w", "last");
	is_int(total_set(s, &total, &error), 0, "beside a command that has just ended");
	ok(is_whole(), "somebody waits for its files, too");
	(void)command(s, "w", "gone");
	is_int(store_sync(s, &error), 0, "one more");
	is_int(workspace_remove(s, "w", &error), 0, "a workspace is removed");
	is_int(store_collect(s, &bytes, &error), 0, "and its files");
	ok(is_whole(), "not before its rows");
	watched = NULL;
	store_away(s);
}

static void collect(struct store *s)
{
	uint64_t bytes = 0;

	is_int(store_collect(s, &bytes, &error), 0, "collected");
}

/* A process that opens a layer and dies. Returns its number. */
static uint32_t abandon(const char *name)
{
	int result[2], status = 0;
	uint32_t number = 0;

	if (pipe2(result, O_CLOEXEC) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct store *s = store_again();
		struct upper *u = NULL;

		if (upper_open(s, name, USE_ALONE, true, &u, &error) < 0)
			_exit(1);
		(void)mkdirat(u->dir, "root/locked", 0);
		(void)!write(result[1], &u->number, sizeof(u->number));
		_exit(0);
	}
	(void)!read(result[0], &number, sizeof(number));
	close(result[0]);
	close(result[1]);
	(void)waitpid(pid, &status, 0);
	return number;
}

static void abandoned(void)
{
	struct store *s = store_fresh();
	struct upper *u = NULL;

	(void)make(s, "w");
	(void)make(s, "v");
	(void)command(s, "w", "a");
	uint32_t kept = top_of(s, "w"), dead = abandon("w");
	ok(dead && layer_there(s, dead), "a layer of somebody dead");
	is_int(upper_open(s, "v", USE_ALONE, false, &u, &error), 0, "and of somebody who lives");
	collect(s);
	ok(!layer_there(s, dead), "the dead one's is gone");
	ok(layer_there(s, u->number), "the living one's is not");
	ok(layer_there(s, kept), "nor what is frozen");
	is_int(ask(s, "SELECT count(*) FROM layer"), 2, "so are the rows");
	upper_drop(u);
	dead = abandon("w");
	is_int(command(s, "w", "b"), 3, "a command after such a death");
	collect(s);
	ok(!layer_there(s, dead) && layer_there(s, top_of(s, "w")), "then, too");
	store_away(s);
}

/* A row is written first and removed last: either may be there alone. */
static void halves(void)
{
	struct store *s = store_fresh();

	(void)make(s, "w");
	is_int(db_run(s->db, &error,
		      "INSERT INTO layer(workspace, state, parts, files, bytes, stack) VALUES(1, 0, 0, 0, 0, '')",
		      ""),
	       0, "an open row without a directory");
	is_int(db_run(s->db, &error,
		      "INSERT INTO layer(workspace, state, parts, files, bytes) VALUES(1, 2, 0, 0, 0)",
		      ""),
	       0, "a dead one");
	is_int(db_run(s->db, &error,
		      "INSERT INTO layer(workspace, state, parts, files, bytes, stack) VALUES(99, 0, 0, 0, 0, '')",
		      ""),
	       0, "one of a workspace that is gone");
	collect(s);
	is_int(ask(s, "SELECT count(*) FROM layer"), 0, "all are gone");
	is_int(command(s, "w", "a"), 2, "and it goes on");
	ok(top_of(s, "w") > 3, "with a number that was never used");
	store_away(s);
}

static void removed(void)
{
	struct store *s = store_fresh();
	struct snap snap;

	(void)make(s, "w");
	(void)command(s, "w", "a");
	uint32_t shared = top_of(s, "w");
	is_int(history_fork(s, "w", NULL, "f", &snap, &error), 0, "a fork");
	(void)command(s, "w", "b");
	uint32_t own = top_of(s, "w");
	is_int(workspace_remove(s, "w", &error), 0, "the origin is removed");
	collect(s);
	ok(layer_there(s, shared) && !layer_there(s, own),
	   "what the fork has stays, the rest goes");
	is_int(workspace_remove(s, "f", &error), 0, "then the fork");
	collect(s);
	is_int(ask(s, "SELECT count(*) FROM layer"), 0, "nothing stays");
	ok(!layer_there(s, shared), "nor on disk");
	store_away(s);
}

static int touch_in(const struct store *s, const char *name)
{
	auto_close int fd = openat(s->home_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

/* Of who was killed in the middle of removing one, or asked for one that was just removed. */
static void locks(void)
{
	struct store *s = store_fresh();
	struct upper *u = NULL;

	(void)make(s, "w");
	(void)make(s, "v");
	is_int(upper_open(s, "w", USE_ALONE, false, &u, &error), 0, "somebody holds a workspace");
	is_int(touch_in(s, "locks/2") | touch_in(s, "locks/77") | touch_in(s, "locks/-77") |
		       touch_in(s, "locks/77x"),
	       0, "locks of one that is there, of one that is gone, and others");
	collect(s);
	ok(faccessat(s->home_fd, "locks/77", F_OK, 0) < 0, "that of one that is gone goes");
	ok(faccessat(s->home_fd, "locks/1", F_OK, 0) == 0 && workspace_is_used(s, 1),
	   "one that is held stays");
	ok(faccessat(s->home_fd, "locks/2", F_OK, 0) == 0, "so does one of who is there");
	ok(faccessat(s->home_fd, "locks/-77", F_OK, 0) == 0 &&
		   faccessat(s->home_fd, "locks/77x", F_OK, 0) == 0,
	   "and what is no workspace's");
	upper_drop(u);
	store_away(s);
}

/* Who runs holds what he runs on, whatever happens to its name. */
static void under_way(void)
{
	struct store *s = store_fresh();
	struct upper *u = NULL;
	struct snap snap;

	(void)make(s, "w");
	(void)command(s, "w", "a");
	uint32_t below = top_of(s, "w");
	is_int(history_fork(s, "w", NULL, "f", &snap, &error), 0, "a fork");
	is_int(upper_open(s, "f", USE_ALONE, false, &u, &error), 0, "in which somebody runs");
	is_int(db_run(s->db, &error, "DELETE FROM snap WHERE kind <> 'new'", ""), 0,
	       "and no snapshot has its layer");
	collect(s);
	ok(layer_there(s, below), "it stays");
	upper_drop(u);
	collect(s);
	ok(!layer_there(s, below), "until he is done");
	store_away(s);
}

static void regrets(void)
{
	struct store *s = store_fresh();
	struct snap snap;

	(void)make(s, "w");
	(void)command(s, "w", "a");
	uint32_t kept = top_of(s, "w");
	(void)command(s, "w", "b");
	uint32_t undone = top_of(s, "w");
	is_int(history_undo(s, "w", 1, &snap, &error), 0, "something is undone");
	collect(s);
	ok(layer_there(s, undone), "for an hour it stays");
	is_int(history_rollback(s, "w", "3", &snap, &error), 0, "and can be gone back to");
	(void)history_undo(s, "w", 1, &snap, &error);
	is_int(db_run(s->db, &error, "UPDATE snap SET dropped = 1 WHERE dropped > 0", ""), 0,
	       "the hour is over");
	collect(s);
	ok(!layer_there(s, undone), "then it goes");
	ok(layer_there(s, kept), "and nothing else");
	ok(history_rollback(s, "w", "3", &snap, &error) < 0 && error.kind == ERR_MISSING,
	   "for good");
	(void)command(s, "w", "c");
	uint32_t labelled = top_of(s, "w");
	(void)history_snap(s, "w", "mark", &snap, &error);
	(void)history_undo(s, "w", 1, &snap, &error);
	(void)db_run(s->db, &error, "UPDATE snap SET dropped = 1 WHERE dropped > 0", "");
	collect(s);
	ok(layer_there(s, labelled), "what has a label stays for ever");
	is_int(history_rollback(s, "w", "mark", &snap, &error), 0, "and is found by it");
	(void)history_undo(s, "w", 1, &snap, &error);
	(void)command(s, "w", "d");
	undone = top_of(s, "w");
	(void)history_undo(s, "w", 1, &snap, &error);
	is_int(store_collect_undone(s, 1, &error), 0, "when its room is needed");
	ok(!layer_there(s, undone) && layer_there(s, labelled), "it goes at once");
	store_away(s);
}

/* A layer is what hostile code made of it. */
static void hostile(void)
{
	char victim[] = "/tmp/pinfold-victim-XXXXXX", path[64];
	struct store *s = store_fresh();
	struct upper *u = NULL;
	struct snap snap = {.kind = "exec"};
	struct stat st;

	ok(mkdtemp(victim), "a directory of the host");
	(void)snprintf(path, sizeof(path), "%s/kept", victim);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	(void)make(s, "w");
	is_int(upper_open(s, "w", USE_ALONE, false, &u, &error), 0, "a command");
	(void)mkdirat(u->dir, "root/d", 0700);
	(void)mkdirat(u->dir, "root/d/e", 0700);
	ok(symlinkat(victim, u->dir, "root/link") == 0 &&
		   symlinkat("/", u->dir, "root/d/e/top") == 0 &&
		   fchmodat(u->dir, "root/d", 0, 0) == 0,
	   "that leaves links, also where nobody may look");
	int fd = openat(u->dir, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3000 && fd >= 0; i++) {
		(void)mkdirat(fd, "deep", 0700);
		int next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	is_int(upper_freeze(u, &snap, &error), 0, "and depths");
	uint32_t number = top_of(s, "w");
	is_int(workspace_remove(s, "w", &error), 0, "is removed");
	collect(s);
	ok(!layer_there(s, number), "all of it");
	ok(stat(path, &st) == 0, "and nothing behind its links");
	(void)remove_tree(victim);
	store_away(s);
}

/* Where the rows cannot be understood, nothing is removed for it. */
static void damaged(void)
{
	struct store *s = store_fresh();
	uint64_t bytes = 0;

	(void)make(s, "w");
	(void)make(s, "v");
	(void)command(s, "w", "a");
	(void)command(s, "v", "b");
	uint32_t one = top_of(s, "w"), two = top_of(s, "v");
	is_int(db_run(s->db, &error, "UPDATE snap SET stack = '1:1,junk' WHERE workspace = 1", ""),
	       0, "a damaged row");
	ok(store_collect(s, &bytes, &error) < 0, "is an error");
	ok(layer_there(s, one) && layer_there(s, two), "and everything stays");
	store_away(s);
}

static int merge_none(struct store *s, struct err *e)
{
	(void)s;
	(void)e;
	return 0;
}

/* Not only commands write to it. */
static void long_log(void)
{
	struct store *s = store_fresh();
	char text[4000];
	struct stat st;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (unsigned i = 0; i < 100; i++)
		(void)db_run(s->db, &error, "REPLACE INTO meta(key, value) VALUES('long', ?1)", "t",
			     text);
	ok(store_unsettled(s), "a log that has become long");
	is_int(store_settle(s, merge_none, &error), 0, "is settled");
	ok(!store_unsettled(s) && fstatat(s->home_fd, "store.db-wal", &st, 0) == 0 &&
		   st.st_size < 64 << 10,
	   "and short again");
	store_away(s);
}

int main(void)
{
	TAP_RUN(abandoned);
	TAP_RUN(halves);
	TAP_RUN(removed);
	TAP_RUN(locks);
	TAP_RUN(under_way);
	TAP_RUN(regrets);
	TAP_RUN(hostile);
	TAP_RUN(damaged);
	TAP_RUN(power_cut);
	TAP_RUN(long_log);
	return tap_done();
}
