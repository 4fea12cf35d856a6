/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's database: SQLite with a write-ahead log. db.c is the only file that sees sqlite3.h.
 *
 * Arguments of a statement follow a format: i is an int64_t, t a text (NULL is NULL), in the order
 * of ?1, ?2 and so on.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct db_rows;

/* Opens or makes it, and brings it to this version. ERR_UNSUPPORTED: it is of a newer one. */
int db_open(const char *path, struct db **ret, struct err *e);
void db_close(struct db *db);

/* One writer at a time; waits a moment for another. durable: it is on disk when db_commit()
 * returns, else a power cut may take it back, whole. */
int db_begin(struct db *db, bool durable, struct err *e);
int db_commit(struct db *db, struct err *e);
/* Nothing where none has begun. */
void db_rollback(struct db *db);

int db_run(struct db *db, struct err *e, const char *sql, const char *format, ...);
int64_t db_last_id(const struct db *db);
/* How many rows the last statement changed. */
int64_t db_changes(const struct db *db);

int db_query(struct db *db, struct db_rows **ret, struct err *e, const char *sql,
	     const char *format, ...);
/* 1: there is a row; 0: no more; < 0. */
int db_next(struct db_rows *rows, struct err *e);
int64_t db_int(struct db_rows *rows, int column);
/* Valid until the next row; "" for NULL. */
const char *db_text(struct db_rows *rows, int column);
bool db_is_null(struct db_rows *rows, int column);
void db_done(struct db_rows **rows);
#define auto_rows __attribute__((cleanup(db_done)))

/* Write the log into the database itself, when it has grown. */
void db_checkpoint(struct db *db);

#endif
