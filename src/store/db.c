/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables, version 6:
 *
 *	workspace	a name and where it stands: `head` is a row of snap; `seq` the last number
 *			given out
 *	snap		one point in a workspace's history. `before` is the point that undo goes back
 *			to; `stack` the layers that make up its files, as "NUMBER:PARTS,..." with the
 *			topmost first. `dropped`: when it was taken back, 0 while it counts.
 *	layer		a directory below layers/. `state` LAYER_OPEN while a command writes to it,
 *			with `stack` what it lies over; LAYER_FROZEN: never changed again. `bytes` is
 *			what it added to the disk; `sandbox` who writes to an open one; `merged` the layer that has its files, too.
 *			`opened` is when the first thing could be copied up into it, by the clock that
 *			files get their times from, in ns: what a directory of the host has had since
 *			before that is what the layer lies over.
 *	apply		changes that were written to a directory of the host (apply.h has its states)
 *	apply_item	and which: what was there, what is there now. Their bytes are below applies/N.
 *	applied		files of the directory that we wrote ourselves last: this inode, changed then,
 *			is no change that a workspace does not know of
 *	sync		what a workspace got by its last push from one directory (`key`): the snapshot
 *	meta		`settled`: the last row of snap that a power cut cannot take back; `project:`
 *			and more (project.h), `changed:` and a layer (check.c), `depset:` and a set
 *			that may not be on disk yet (depset.c)
 *	image		since version 2: a root file system by name. `stack` is its one layer, which
 *			the stacks of workspaces on it end with; `env`, `command` and `workdir` are
 *			what it says of itself
 *	origin		since version 3: a file of the host as it was before a workspace changed it
 *			(`dev`, `file`, `changed`: its state by inode and ctime, 0 for what was
 *			applied); its bytes are origins/ID, and not all there while `hash` is NULL
 *	origin_at	which of them a path of a layer's /work was made from; 0: not kept. The path ""
 *			says that all paths of the layer are here
 *	depset		since version 4: packages installed once, by the hash of what they are. `stack`
 *			is its one layer, `lock` says what is in it
 *	depask		what was asked for (`ask`: a hash), and which packages that came to
 *
 * A connection is open for one command, so closing must not wait for the disk: the log is kept, and
 * written back by db_checkpoint().
 */
#include "store/db.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>

#define VERSION 6
#define WAIT_MS 10000
#define STEP_MS 5
#define CHECKPOINT_FRAMES 64

struct db {
	sqlite3 *sqlite;
	bool begun;
	bool durable; /* as SQLite was told last */
};

struct db_rows {
	sqlite3_stmt *stmt;
	struct db *db;
};

static const char schema[] =
	"CREATE TABLE workspace(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
	" created INTEGER NOT NULL, head INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" disk INTEGER NOT NULL, inodes INTEGER NOT NULL, dir TEXT, dir_dev INTEGER,"
	" dir_ino INTEGER);"
	"CREATE TABLE snap(id INTEGER PRIMARY KEY AUTOINCREMENT, workspace INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, before INTEGER NOT NULL, kind TEXT NOT NULL, stack TEXT NOT NULL,"
	" layer INTEGER NOT NULL, run TEXT, command TEXT, status TEXT, exit INTEGER,"
	" made INTEGER NOT NULL, wall_us INTEGER NOT NULL, files INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, label TEXT, dropped INTEGER NOT NULL DEFAULT 0,"
	" UNIQUE(workspace, seq));"
	"CREATE UNIQUE INDEX snap_label ON snap(workspace, label) WHERE label IS NOT NULL;"
	"CREATE TABLE layer(id INTEGER PRIMARY KEY AUTOINCREMENT, workspace INTEGER NOT NULL,"
	" state INTEGER NOT NULL, parts INTEGER NOT NULL, files INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, stack TEXT, digest TEXT, merged INTEGER NOT NULL DEFAULT 0,"
	" opened INTEGER NOT NULL DEFAULT 0, sandbox TEXT);"
	"CREATE TABLE apply(id INTEGER PRIMARY KEY AUTOINCREMENT, workspace INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, dir TEXT NOT NULL, state INTEGER NOT NULL, reverts INTEGER NOT NULL,"
	" made INTEGER NOT NULL);"
	"CREATE TABLE apply_item(apply INTEGER NOT NULL, n INTEGER NOT NULL, path TEXT NOT NULL,"
	" old INTEGER NOT NULL, new INTEGER NOT NULL, old_x INTEGER NOT NULL,"
	" new_x INTEGER NOT NULL, old_hash TEXT, new_hash TEXT, PRIMARY KEY(apply, n))"
	" WITHOUT ROWID;"
	"CREATE TABLE applied(workspace INTEGER NOT NULL, path TEXT NOT NULL, ino INTEGER NOT NULL,"
	" changed INTEGER NOT NULL, PRIMARY KEY(workspace, path)) WITHOUT ROWID;"
	"CREATE TABLE sync(workspace INTEGER NOT NULL, key TEXT NOT NULL, snap INTEGER NOT NULL,"
	" made INTEGER NOT NULL, PRIMARY KEY(workspace, key)) WITHOUT ROWID;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;";

static const char since_2[] =
	"CREATE TABLE IF NOT EXISTS image(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
	" stack TEXT NOT NULL, source TEXT, digest TEXT, env TEXT, command TEXT, workdir TEXT,"
	" made INTEGER NOT NULL, layers INTEGER NOT NULL, files INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL);"
	"PRAGMA user_version = 2;";

static const char since_3[] =
	"CREATE TABLE origin(id INTEGER PRIMARY KEY AUTOINCREMENT, dev INTEGER NOT NULL,"
	" file INTEGER NOT NULL, changed INTEGER NOT NULL, made INTEGER NOT NULL,"
	" exec INTEGER NOT NULL, size INTEGER NOT NULL, hash TEXT);"
	"CREATE INDEX origin_file ON origin(file, changed);"
	"CREATE TABLE origin_at(layer INTEGER NOT NULL, path TEXT NOT NULL, origin INTEGER NOT NULL,"
	" PRIMARY KEY(layer, path)) WITHOUT ROWID;"
	"ALTER TABLE applied ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE applied ADD COLUMN known INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE apply_item ADD COLUMN old_origin INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE apply_item ADD COLUMN old_known INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE apply_item ADD COLUMN new_origin INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE apply_item ADD COLUMN new_known INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 3;";

static const char since_4[] =
	"CREATE TABLE depset(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,"
	" lang TEXT NOT NULL, stack TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL,"
	" files INTEGER NOT NULL, bytes INTEGER NOT NULL, lock TEXT NOT NULL);"
	"CREATE TABLE depask(ask TEXT PRIMARY KEY, answer TEXT NOT NULL, made INTEGER NOT NULL)"
	" WITHOUT ROWID;"
	"PRAGMA user_version = 4;";

static const char since_5[] = "ALTER TABLE workspace ADD COLUMN said TEXT NOT NULL DEFAULT '';"
			      "PRAGMA user_version = 5;";

static const char since_6[] =
	"ALTER TABLE workspace ADD COLUMN dir_born INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 6;";

/* SQLite does not always keep which error it was. */
static bool files_are_limited(void)
{
	struct rlimit most;

	return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
}

static int fail(const struct db *db, int code, const char *what, struct err *e)
{
	int primary = code & 0xff;

	if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
		(void)err_set(e, ERR_BUSY, "the store is in use: %s", what);
		return err_remedy(e, "try again in a moment");
	}
	if (primary == SQLITE_IOERR && files_are_limited()) {
		(void)err_set(e, ERR_LIMIT,
			      "store.db would be larger than ulimit -f lets files be");
		return err_remedy(e, "raise ulimit -f, or lift it");
	}
	if (primary == SQLITE_FULL) {
		(void)err_set(e, ERR_LIMIT, "the disk with the data directory is full");
		return err_remedy(e, "make room there; pinfold rm, undo and gc give some back");
	}
	if (primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM) {
		(void)err_set(e, ERR_DENIED, "the data directory cannot be written: %s",
			      sqlite3_errmsg(db->sqlite));
		return err_remedy(e, "make it writable, or name another with PINFOLD_HOME");
	}
	if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
		(void)err_set(e, ERR_INTERNAL, "store.db is damaged: %s",
			      sqlite3_errmsg(db->sqlite));
		(void)err_detail(e, "damaged");
		return err_remedy(e, "run pinfold fsck, which says what can be kept");
	}
	return err_set(e, ERR_INTERNAL, "%s: %s", what, sqlite3_errmsg(db->sqlite));
}

static int simple(struct db *db, const char *sql, struct err *e)
{
	int r = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : fail(db, r, "store.db", e);
}

static int get_version(struct db *db, int64_t *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(db, &rows, e, "PRAGMA user_version", "");

	if (r >= 0)
		r = db_next(rows, e);
	if (r < 0)
		return r;
	*ret = r > 0 ? db_int(rows, 0) : 0;
	return 0;
}

/* The file remembers it. Where another does the same just now SQLite does not wait, as it does
 * elsewhere: each could be waiting for the other. */
static int keep_log(struct db *db, struct err *e)
{
	for (int waited = 0;; waited += STEP_MS) {
		int r = simple(db, "PRAGMA journal_mode=WAL", e);

		if (r >= 0 || e->kind != ERR_BUSY || waited >= WAIT_MS)
			return r;
		(void)sqlite3_sleep(STEP_MS);
	}
}

static int migrate(struct db *db, struct err *e)
{
	int64_t version = 0;
	int r = get_version(db, &version, e);

	if (r < 0 || version == VERSION)
		return r;
	if (version > VERSION || version < 0) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "the store was written by a newer pinfold (version %lld of it, this "
			      "one knows %d)",
			      (long long)version, VERSION);
		return err_remedy(e, "use that pinfold, or another data directory (PINFOLD_HOME)");
	}
	r = keep_log(db, e);
	if (r >= 0)
		r = db_begin(db, true, e);
	if (r >= 0)
		r = get_version(db, &version, e);
	if (r >= 0 && version == 0) /* nobody was faster */
		r = simple(db, schema, e);
	if (r >= 0 && version < 2)
		r = simple(db, since_2, e);
	if (r >= 0 && version < 3)
		r = simple(db, since_3, e);
	if (r >= 0 && version < 4)
		r = simple(db, since_4, e);
	if (r >= 0 && version < 5)
		r = simple(db, since_5, e);
	if (r >= 0 && version < 6)
		r = simple(db, since_6, e);
	if (r >= 0)
		r = db_commit(db, e);
	db_rollback(db);
	return r;
}

int db_open(const char *path, struct db **ret, struct err *e)
{
	struct db *db = calloc(1, sizeof(*db));

	if (!db)
		return err_sys(e, "store");
	int r = sqlite3_open_v2(path, &db->sqlite,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
					SQLITE_OPEN_NOFOLLOW,
				NULL);
	if (r != SQLITE_OK) {
		r = fail(db, r, "open the store", e);
	} else {
		int keep = 1;

		(void)sqlite3_busy_timeout(db->sqlite, WAIT_MS);
		/* Names of layers are ours, but a damaged file is nobody's. */
		(void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		(void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		(void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		(void)sqlite3_file_control(db->sqlite, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
		(void)sqlite3_wal_autocheckpoint(db->sqlite, 0);
		r = simple(db, "PRAGMA synchronous=NORMAL", e);
	}
	if (r >= 0)
		r = migrate(db, e);
	if (r < 0) {
		db_close(db);
		return r;
	}
	*ret = db;
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	db_rollback(db);
	(void)sqlite3_close(db->sqlite); /* every statement was finalised */
	free(db);
}

int db_begin(struct db *db, bool durable, struct err *e)
{
	int r = 0;

	if (durable != db->durable)
		r = simple(db, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
			   e);
	if (r >= 0) {
		db->durable = durable;
		r = simple(db, "BEGIN IMMEDIATE", e);
	}
	db->begun = r >= 0;
	return r;
}

int db_commit(struct db *db, struct err *e)
{
	int r = simple(db, "COMMIT", e);

	if (r >= 0)
		db->begun = false;
	return r;
}

void db_rollback(struct db *db)
{
	if (db->begun)
		(void)sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL); /* or it did itself */
	db->begun = false;
}

static int prepare(struct db *db, const char *sql, const char *format, va_list args,
		   sqlite3_stmt **ret, struct err *e)
{
	int r = sqlite3_prepare_v2(db->sqlite, sql, -1, ret, NULL);

	for (int i = 1; r == SQLITE_OK && *format; i++, format++) {
		if (*format == 'i') {
			r = sqlite3_bind_int64(*ret, i, va_arg(args, int64_t));
		} else {
			const char *text = va_arg(args, const char *);

			r = sqlite3_bind_text(*ret, i, text, -1, SQLITE_TRANSIENT);
		}
	}
	return r == SQLITE_OK ? 0 : fail(db, r, "store.db", e);
}

int db_query(struct db *db, struct db_rows **ret, struct err *e, const char *sql,
	     const char *format, ...)
{
	struct db_rows *rows = calloc(1, sizeof(*rows));
	va_list args;

	if (!rows)
		return err_sys(e, "store");
	rows->db = db;
	va_start(args, format);
	int r = prepare(db, sql, format, args, &rows->stmt, e);
	va_end(args);
	if (r < 0)
		db_done(&rows);
	else
		*ret = rows;
	return r;
}

int db_run(struct db *db, struct err *e, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt = NULL;
	va_list args;

	va_start(args, format);
	int r = prepare(db, sql, format, args, &stmt, e);
	va_end(args);
	if (r >= 0) {
		int step = sqlite3_step(stmt);

		r = step == SQLITE_DONE || step == SQLITE_ROW ? 0 : fail(db, step, "store.db", e);
	}
	(void)sqlite3_finalize(stmt); /* says again what the step said */
	return r;
}

int db_next(struct db_rows *rows, struct err *e)
{
	int step = sqlite3_step(rows->stmt);

	return step == SQLITE_ROW    ? 1
	       : step == SQLITE_DONE ? 0
				     : fail(rows->db, step, "store.db", e);
}

int64_t db_int(struct db_rows *rows, int column)
{
	return sqlite3_column_int64(rows->stmt, column);
}

const char *db_text(struct db_rows *rows, int column)
{
	const char *text = (const char *)sqlite3_column_text(rows->stmt, column);

	return text ? text : "";
}

bool db_is_null(struct db_rows *rows, int column)
{
	return sqlite3_column_type(rows->stmt, column) == SQLITE_NULL;
}

void db_done(struct db_rows **rows)
{
	if (!*rows)
		return;
	(void)sqlite3_finalize((*rows)->stmt);
	free(*rows);
	*rows = NULL;
}

int64_t db_last_id(const struct db *db)
{
	return sqlite3_last_insert_rowid(db->sqlite);
}

int64_t db_changes(const struct db *db)
{
	return sqlite3_changes64(db->sqlite);
}

void db_checkpoint(struct db *db)
{
	int frames = 0, done = 0;

	(void)sqlite3_wal_checkpoint_v2(db->sqlite, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames,
					&done);
	if (frames >= CHECKPOINT_FRAMES) /* and start the log anew; a reader may prevent it */
		(void)sqlite3_wal_checkpoint_v2(db->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
						NULL);
}
