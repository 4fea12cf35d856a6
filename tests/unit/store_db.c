/* SPDX-License-Identifier: Apache-2.0 */
/* The database: made, opened again, refused when it is not ours to read, and one writer at a
 * time. */
#include "store/db.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel/remove.h"
#include "tap.h"

static struct err e = ERR_INIT;
static char dir[64], path[80];

static struct db *again(void)
{
	struct db *db = NULL;

	e = (struct err)ERR_INIT;
	if (db_open(path, &db, &e) < 0)
		return NULL;
	return db;
}

static struct db *fresh(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/pinfold-db-XXXXXX");
	ok(mkdtemp(dir), "a directory");
	(void)snprintf(path, sizeof(path), "%s/store.db", dir);
	return again();
}

static void away(struct db *db)
{
	db_close(db);
	(void)remove_tree(dir);
}

static int64_t count(struct db *db)
{
	auto_rows struct db_rows *rows = NULL;

	if (db_query(db, &rows, &e, "SELECT count(*) FROM meta", "") < 0 || db_next(rows, &e) <= 0)
		return -1;
	return db_int(rows, 0);
}

static int put(struct db *db, const char *key, const char *value)
{
	return db_run(db, &e, "INSERT INTO meta(key, value) VALUES(?1, ?2)", "tt", key, value);
}

static void rows(void)
{
	static const char odd[] = "'; DROP TABLE meta; -- \" \xff\n";
	struct db *db = fresh();
	struct db_rows *r = NULL;

	ok(db, "it is made");
	is_int(put(db, odd, odd), 0, "a text is data");
	is_int(put(db, "none", NULL), 0, "NULL is NULL");
	is_int(db_changes(db), 1, "one row changed");
	is_int(db_query(db, &r, &e, "SELECT value FROM meta ORDER BY value IS NULL, key", ""), 0,
	       "asked");
	is_int(db_next(r, &e), 1, "a row");
	is_str(db_text(r, 0), odd, "with the same bytes");
	is_int(db_next(r, &e), 1, "another");
	ok(db_is_null(r, 0) && *db_text(r, 0) == '\0', "which is NULL");
	is_int(db_next(r, &e), 0, "no more");
	db_done(&r);
	db_done(&r);
	ok(db_query(db, &r, &e, "SELECT nothing FROM nowhere", "") < 0 && !r,
	   "what cannot be asked");
	ok(put(db, "none", "twice") < 0 && e.text[0], "what cannot be put");
	db_close(db);
	db = again();
	is_int(count(db), 2, "it is there when opened again");
	away(db);
}

static void transactions(void)
{
	struct db *db = fresh();

	db_rollback(db);
	is_int(db_begin(db, false, &e), 0, "begun");
	(void)put(db, "a", "1");
	db_rollback(db);
	is_int(count(db), 0, "rolled back");
	is_int(db_begin(db, true, &e), 0, "begun, durable");
	(void)put(db, "b", "1");
	is_int(db_commit(db, &e), 0, "committed");
	db_rollback(db);
	is_int(count(db), 1, "it stays");
	ok(db_commit(db, &e) < 0, "what has not begun cannot be committed");
	is_int(db_begin(db, false, &e), 0, "begun once more");
	(void)put(db, "c", "1");
	db_close(db);
	db = again();
	is_int(count(db), 1, "closed without a commit: it never was");
	away(db);
}

/* Many processes, each with its own connection, of which some die in the middle. */
static void writers(void)
{
	enum { WRITERS = 6, ROWS = 20 };
	struct db *db = fresh();
	int status = 0, good = 0;

	db_close(db);
	for (int i = 0; i < WRITERS; i++) {
		if (fork())
			continue;
		struct db *own = again();
		char key[32];

		for (int k = 0; own && k < ROWS; k++) {
			(void)snprintf(key, sizeof(key), "%d.%d", i, k);
			if (db_begin(own, false, &e) < 0 || put(own, key, "1") < 0 ||
			    (k == ROWS / 2 && i % 3 == 0) || db_commit(own, &e) < 0)
				_exit(k == ROWS / 2 ? 0 : 1); /* as if killed, with all it holds */
		}
		db_close(own);
		_exit(own ? 0 : 1);
	}
	for (int i = 0; i < WRITERS; i++)
		good += wait(&status) > 0 && status == 0;
	is_int(good, WRITERS, "all of them had their turn");
	db = again();
	is_int(count(db), 4 * ROWS + 2 * (ROWS / 2), "and what they committed is there, no more");
	away(db);
}

/* All of them are the first. */
static void makers(void)
{
	enum { MAKERS = 8, ROUNDS = 10 };
	int status = 0, good = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int gate[2];
		char c = 0;

		(void)snprintf(dir, sizeof(dir), "/tmp/pinfold-db-XXXXXX");
		if (!mkdtemp(dir) || pipe2(gate, O_CLOEXEC) < 0)
			break;
		(void)snprintf(path, sizeof(path), "%s/store.db", dir);
		for (int i = 0; i < MAKERS; i++) {
			if (fork())
				continue;
			close(gate[1]);
			(void)!read(gate[0], &c, 1); /* until all are there */
			struct db *db = again();
			bool good_one = db && count(db) == 0;
			if (!good_one)
				diag("%s", e.text);
			db_close(db);
			_exit(!good_one);
		}
		close(gate[0]);
		close(gate[1]);
		for (int i = 0; i < MAKERS; i++)
			good += wait(&status) > 0 && status == 0;
		away(NULL);
	}
	is_int(good, MAKERS * ROUNDS, "who makes it at the same time has it");
}

static void set_version(long long version)
{
	struct db *db = again();
	char sql[64];

	(void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %lld", version);
	is_int(db_run(db, &e, sql, ""), 0, "another version");
	db_close(db);
}

/* What came after version 1, taken away. */
static const char *const newer[] = {
	"DROP TABLE image",
	"DROP TABLE origin",
	"DROP TABLE origin_at",
	"DROP TABLE depset",
	"DROP TABLE depask",
	"ALTER TABLE applied DROP COLUMN origin",
	"ALTER TABLE applied DROP COLUMN known",
	"ALTER TABLE apply_item DROP COLUMN old_origin",
	"ALTER TABLE apply_item DROP COLUMN old_known",
	"ALTER TABLE apply_item DROP COLUMN new_origin",
	"ALTER TABLE apply_item DROP COLUMN new_known",
	"ALTER TABLE workspace DROP COLUMN said",
	"ALTER TABLE workspace DROP COLUMN dir_born",
};

static void versions(void)
{
	db_close(fresh());
	set_version(7);
	ok(!again() && e.kind == ERR_UNSUPPORTED, "a newer one is refused");
	has_str(e.text, "newer", "and it is said");
	ok(e.remedy[0], "with a remedy");
	ok(!again() && e.kind == ERR_UNSUPPORTED, "again, and not made older");
	away(NULL);
	struct db *db = fresh();
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		is_int(db_run(db, &e, newer[i], ""), 0, "one of version 1");
	db_close(db);
	set_version(1);
	db = again();
	ok(db && db_run(db, &e, "DELETE FROM image", "") == 0, "is made newer");
	ok(db && db_run(db, &e, "DELETE FROM origin WHERE id IN (SELECT origin FROM applied)",
			"") == 0,
	   "and newer");
	ok(db && db_run(db, &e, "DELETE FROM depset WHERE key IN (SELECT ask FROM depask)", "") ==
			   0,
	   "and newer than that");
	ok(db && db_run(db, &e, "DELETE FROM workspace WHERE said = ''", "") == 0,
	   "as new as it gets");
	db_close(db);
	away(NULL);
	db_close(fresh());
	set_version(-3);
	ok(!again() && e.text[0], "one that nobody wrote is refused, with words");
	away(NULL);
}

static void fill(int fd, size_t n, unsigned char what)
{
	char block[512];

	memset(block, what, sizeof(block));
	for (size_t i = 0; i < n / sizeof(block); i++)
		if (write(fd, block, sizeof(block)) < 0)
			diag("write");
}

/* Whatever the file holds: an error with words, never a crash, and the file stays. */
static void damaged(void)
{
	static const size_t at[] = {0, 16, 18, 28, 52, 100, 4096, 8192, 12288};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct db *db = fresh();

		(void)put(db, "a", "1");
		db_checkpoint(db);
		db_close(db);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		(void)lseek(fd, (off_t)at[i], SEEK_SET);
		fill(fd, 4096, 0xa5);
		close(fd);
		db = again();
		int64_t n = db ? count(db) : -1;
		ok(n >= 0 || e.text[0], "damage is told, or was elsewhere");
		away(db);
	}
	db_close(fresh());
	is_int(truncate(path, 100), 0, "cut short");
	char wal[96];
	(void)snprintf(wal, sizeof(wal), "%s-wal", path);
	(void)unlink(wal);
	ok(!again() && e.kind == ERR_INTERNAL, "a file that was cut");
	has_str(e.text, "damaged", "is damaged");
	ok(e.remedy[0], "with a remedy");
	away(NULL);
}

static void places(void)
{
	char other[96];

	db_close(fresh());
	(void)snprintf(other, sizeof(other), "%s/link", dir);
	is_int(symlink(path, other), 0, "a link to it");
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	ok(!again() && e.kind == ERR_DENIED, "is not followed");
	(void)snprintf(path, sizeof(path), "%s/none/store.db", dir);
	ok(!again() && e.kind == ERR_DENIED && e.remedy[0], "a directory that is not there");
	(void)snprintf(path, sizeof(path), "/proc/store.db");
	ok(!again() && e.kind == ERR_DENIED, "one where nothing can be made");
	(void)snprintf(path, sizeof(path), "%s", dir);
	ok(!again() && e.text[0], "a directory in its place");
	away(NULL);
}

int main(void)
{
	TAP_RUN(rows);
	TAP_RUN(transactions);
	TAP_RUN(writers);
	TAP_RUN(makers);
	TAP_RUN(versions);
	TAP_RUN(damaged);
	TAP_RUN(places);
	return tap_done();
}
