/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a directory of its own, and what tests of it do again and again. */
#ifndef TESTS_STORE_HELP_H
#define TESTS_STORE_HELP_H

#include <fcntl.h>
#include <sys/stat.h>

#include "kernel/remove.h"
#include "store/db.h"
#include "store/history.h"
#include "store/store.h"
#include "store/upper.h"
#include "tap.h"

#define unused __attribute__((unused))

static char store_dir[64];
static struct err error = ERR_INIT;

static struct store *store_again(void)
{
	struct store *s = NULL;

	if (store_open(store_dir, &s, &error) < 0)
		diag("%s", error.text);
	return s;
}

static struct store *store_fresh(void)
{
	(void)snprintf(store_dir, sizeof(store_dir), "/tmp/pinfold-store-XXXXXX");
	return mkdtemp(store_dir) ? store_again() : NULL;
}

static unused void store_away(struct store *s)
{
	store_close(s);
	(void)remove_tree(store_dir);
}

static unused int make(struct store *s, const char *name)
{
	struct workspace w = {.disk_bytes = 1 << 30, .inodes = 1000};

	(void)snprintf(w.name, sizeof(w.name), "%s", name);
	return workspace_make(s, &w, &error);
}

/* A command that leaves this file, or nothing. Returns the number of its snapshot. */
static unused int64_t command(struct store *s, const char *name, const char *file)
{
	struct snap snap = {
		.kind = "exec", .status = "exited", .files = file ? 1 : 0, .bytes = 100};
	struct upper *u = NULL;
	char path[64];

	if (upper_open(s, name, USE_ALONE, true, &u, &error) < 0)
		return -1;
	if (file) {
		(void)snprintf(path, sizeof(path), "root/%s", file);
		close(openat(u->dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	return upper_freeze(u, &snap, &error) < 0 ? -1 : snap.seq;
}

/* The first number that a query gives, -1 when there is none. */
static unused int64_t ask(struct store *s, const char *sql)
{
	auto_rows struct db_rows *rows = NULL;

	if (db_query(s->db, &rows, &error, sql, "") < 0 || db_next(rows, &error) <= 0)
		return -1;
	return db_int(rows, 0);
}

static unused bool layer_there(const struct store *s, int64_t number)
{
	struct stat st;
	char name[24];

	(void)snprintf(name, sizeof(name), "%lld", (long long)number);
	return fstatat(s->layers_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static unused uint32_t top_of(struct store *s, const char *name)
{
	struct workspace w;

	return workspace_find(s, name, &w, &error) < 0 || !w.stack.n ? 0 : w.stack.layer[0].number;
}

#endif
