/* SPDX-License-Identifier: Apache-2.0 */
#include "store/origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "base/fd.h"
#include "store/apply.h"
#include "store/db.h"

#define BINARY_LOOK 8000u
#define KEEP_BYTES_MAX (UINT64_C(64) << 20)   /* of one command */
#define TOTAL_BYTES_MAX (UINT64_C(512) << 20) /* of all */
#define TOTAL_MAX 20000
#define UNFINISHED_MS 60000 /* who is still copying after that is dead */
#define DEAD_AT_ONCE 256u

/* One path of a command that ended. */
struct keep {
	const char *path; /* borrowed */
	int64_t id;	  /* 0: not kept */
	struct stat st;
	bool fresh; /* to be copied */
	char hash[HASH_TEXT_SIZE];
};

static void name_of(int64_t id, char name[40])
{
	(void)snprintf(name, 40, "origins/%lld", (long long)id);
}

static int64_t ns_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static int make_place(const struct store *s, struct err *e)
{
	if (mkdirat(s->home_fd, "origins", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s/origins", s->home);
	return 0;
}

/* By the look of its beginning, as git does it. */
static bool is_text(int fd)
{
	char look[BINARY_LOOK];
	ssize_t n = pread(fd, look, sizeof(look), 0);

	return n == 0 || (n > 0 && !memchr(look, '\0', (size_t)n));
}

static int open_file(int dir, const char *path, int *ret_fd, struct stat *ret)
{
	struct err none = ERR_INIT;
	auto_close int parent = FD_NONE;
	const char *name = NULL;

	if (beneath_parent(dir, path, &parent, &name, &none) < 0)
		return -1;
	return file_open(parent, name, ret_fd, ret, &none);
}

/* The same state of the same file is the same content. */
static int find_same(struct store *s, const struct stat *st, int64_t *ret_id, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT id FROM origin WHERE file = ?1 AND changed = ?2 AND dev = ?3"
			 " AND hash IS NOT NULL ORDER BY id DESC LIMIT 1",
			 "iii", (int64_t)st->st_ino, ns_of(&st->st_ctim), (int64_t)st->st_dev);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret_id = db_int(rows, 0);
	return r;
}

static int insert(struct store *s, const struct stat *st, const char *hash, int64_t *ret_id,
		  struct err *e)
{
	int r = db_run(s->db, e,
		       "INSERT INTO origin(dev, file, changed, made, exec, size, hash)"
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		       "iiiiiit", hash ? (int64_t)0 : (int64_t)st->st_dev,
		       hash ? (int64_t)0 : (int64_t)st->st_ino,
		       hash ? (int64_t)0 : ns_of(&st->st_ctim), store_now_ms(),
		       (int64_t)((st->st_mode & 0100) != 0), (int64_t)st->st_size, hash);

	if (r >= 0)
		*ret_id = db_last_id(s->db);
	return r;
}

/* What will be kept has a row before it is made. */
static int note_keep(struct store *s, int dir, int64_t opened, struct keep *k, uint64_t *left,
		     struct err *e)
{
	auto_close int fd = FD_NONE;
	int r = 0;

	if (open_file(dir, k->path, &fd, &k->st) < 0 || ns_of(&k->st.st_ctim) >= opened ||
	    (uint64_t)k->st.st_size > ORIGIN_FILE_MAX || (uint64_t)k->st.st_size > *left ||
	    !is_text(fd))
		return 0;
	r = find_same(s, &k->st, &k->id, e);
	if (r != 0)
		return r;
	*left -= (uint64_t)k->st.st_size;
	k->fresh = true;
	return insert(s, &k->st, NULL, &k->id, e);
}

static int note_all(struct store *s, int dir, int64_t opened, struct keep *keeps, size_t n,
		    struct err *e)
{
	uint64_t left = KEEP_BYTES_MAX;
	int r = db_begin(s->db, false, e);

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = note_keep(s, dir, opened, &keeps[i], &left, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

/* It has to be what was noted, also when all of it was read. */
static void copy(struct store *s, int dir, struct keep *k)
{
	auto_close int from = FD_NONE;
	struct err none = ERR_INIT;
	struct stat st;
	char name[40];

	name_of(k->id, name);
	auto_close int to = openat(s->home_fd, name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0 || open_file(dir, k->path, &from, &st) < 0 ||
	    file_copy(from, to, k->hash, &none) < 0 || fstat(from, &st) < 0 ||
	    st.st_ino != k->st.st_ino || ns_of(&st.st_ctim) != ns_of(&k->st.st_ctim))
		k->id = 0; /* its row is collected */
}

static int enter(struct store *s, uint32_t number, const char *path, int64_t id, struct err *e)
{
	return db_run(s->db, e, "REPLACE INTO origin_at(layer, path, origin) VALUES(?1, ?2, ?3)",
		      "iti", (int64_t)number, path, id);
}

static int enter_all(struct store *s, uint32_t number, const struct keep *keeps, size_t n,
		     bool whole, struct err *e)
{
	int r = db_begin(s->db, false, e);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (keeps[i].id && keeps[i].fresh)
			r = db_run(s->db, e, "UPDATE origin SET hash = ?2 WHERE id = ?1", "it",
				   keeps[i].id, keeps[i].hash);
		if (r >= 0)
			r = enter(s, number, keeps[i].path, keeps[i].id, e);
	}
	if (r >= 0 && whole)
		r = enter(s, number, "", 0, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

int origin_keep(struct store *s, int dir, uint32_t number, const char *const *paths, size_t n,
		bool whole, struct err *e)
{
	auto_free struct keep *keeps = calloc(n + 1, sizeof(*keeps));
	int64_t opened = 0;
	int r = keeps ? layer_opened(s, number, &opened, e) : err_sys(e, "keep files");

	if (r >= 0)
		r = make_place(s, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		keeps[i].path = paths[i];
	r = note_all(s, dir, opened, keeps, n, e);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (keeps[i].fresh)
			copy(s, dir, &keeps[i]);
	return r < 0 ? r : enter_all(s, number, keeps, n, whole, e);
}

int origin_add(struct store *s, int stage, const char *name, const struct origin *about,
	       int64_t *ret_id, struct err *e)
{
	struct err none = ERR_INIT;
	auto_close int fd = FD_NONE;
	struct stat st;
	char to[40];
	int r = file_open(stage, name, &fd, &st, e);

	*ret_id = ORIGIN_NONE;
	if (r < 0)
		return r;
	if ((uint64_t)st.st_size > ORIGIN_FILE_MAX || !is_text(fd))
		return 0;
	r = make_place(s, e);
	st.st_mode = about->exec ? 0700 : 0600;
	if (r >= 0)
		r = insert(s, &st, about->hash, ret_id, e);
	if (r < 0)
		return r;
	name_of(*ret_id, to);
	/* Nobody changes a staged file any more. */
	if (linkat(stage, name, s->home_fd, to, 0) < 0) {
		(void)db_run(s->db, &none, "DELETE FROM origin WHERE id = ?1", "i", *ret_id);
		*ret_id = ORIGIN_NONE;
	}
	return 0;
}

int origin_merge(struct store *s, uint32_t number, struct err *e)
{
	/* The lowest layer that has a path is what it was made by first. */
	int r = db_run(
		s->db, e,
		"INSERT OR IGNORE INTO origin_at(layer, path, origin)"
		" SELECT ?1, a.path, a.origin FROM layer l JOIN origin_at a ON a.layer = l.id"
		" WHERE l.merged = ?1 AND a.path <> '' ORDER BY l.opened",
		"i", (int64_t)number);

	if (r >= 0)
		r = db_run(s->db, e,
			   "INSERT OR IGNORE INTO origin_at(layer, path, origin) SELECT ?1, '', 0"
			   " WHERE NOT EXISTS (SELECT 1 FROM layer l WHERE l.merged = ?1"
			   " AND (l.parts & ?2) AND NOT EXISTS (SELECT 1 FROM origin_at a"
			   " WHERE a.layer = l.id AND a.path = ''))",
			   "ii", (int64_t)number, (int64_t)LAYER_WORK);
	return r;
}

static int take(struct db_rows *rows, struct origin *ret, struct err *e)
{
	int r = db_next(rows, e);

	if (r > 0) {
		*ret = (struct origin){.id = db_int(rows, 0), .exec = db_int(rows, 1) != 0};
		(void)snprintf(ret->hash, sizeof(ret->hash), "%s", db_text(rows, 2));
	}
	return r;
}

int origin_find(struct store *s, uint32_t layer, const char *path, struct origin *ret,
		struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(
		s->db, &rows, e,
		"SELECT o.id, o.exec, o.hash FROM origin_at a JOIN origin o ON"
		" o.id = a.origin WHERE a.layer = ?1 AND a.path = ?2 AND o.hash IS NOT NULL"
		" AND EXISTS (SELECT 1 FROM origin_at WHERE layer = ?1 AND path = '')",
		"it", (int64_t)layer, path);

	return r < 0 ? r : take(rows, ret, e);
}

int origin_get(struct store *s, int64_t id, struct origin *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT id, exec, hash FROM origin WHERE id = ?1 AND hash IS NOT NULL",
			 "i", id);

	return r < 0 ? r : take(rows, ret, e);
}

int origin_read(struct store *s, const struct origin *o, char **ret, size_t *ret_len, struct err *e)
{
	auto_free char *data = malloc(ORIGIN_FILE_MAX + 1);
	uint8_t digest[HASH_BYTES];
	char name[40], hash[HASH_TEXT_SIZE];
	size_t n = 0;

	if (!data)
		return err_sys(e, "merge");
	name_of(o->id, name);
	auto_close int fd = openat(s->home_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_read_max(fd, data, ORIGIN_FILE_MAX + 1, &n) < 0 || n > ORIGIN_FILE_MAX)
		return 0;
	hash_bytes(data, n, digest);
	hash_text(digest, hash);
	/* A power cut may have taken a part of it. */
	if (strcmp(hash, o->hash) != 0)
		return 0;
	*ret = take_ptr(&data);
	*ret_len = n;
	return 1;
}

static int drop(struct store *s, int64_t id, struct err *e)
{
	char name[40];

	name_of(id, name);
	if (unlinkat(s->home_fd, name, 0) < 0 && errno != ENOENT)
		return 0; /* the next collection tries again */
	return db_run(s->db, e, "DELETE FROM origin WHERE id = ?1", "i", id);
}

static int find_dead(struct store *s, int64_t ids[DEAD_AT_ONCE], struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int n = 0;
	int r = db_query(
		s->db, &rows, e,
		"SELECT id FROM (SELECT id, made, hash, sum(size) OVER (ORDER BY id DESC) AS upto,"
		" row_number() OVER (ORDER BY id DESC) AS place FROM origin) o"
		" WHERE upto > ?1 OR place > ?2 OR (made < ?3 AND (hash IS NULL OR id NOT IN"
		" (SELECT origin FROM origin_at UNION SELECT origin FROM applied UNION"
		" SELECT old_origin FROM apply_item UNION SELECT new_origin FROM apply_item)))"
		" LIMIT ?4",
		"iiii", (int64_t)TOTAL_BYTES_MAX, (int64_t)TOTAL_MAX,
		store_now_ms() - UNFINISHED_MS, (int64_t)DEAD_AT_ONCE);

	while (r >= 0 && n < (int)DEAD_AT_ONCE && (r = db_next(rows, e)) > 0)
		ids[n++] = db_int(rows, 0);
	return r < 0 ? r : n;
}

int origin_collect(struct store *s, struct err *e)
{
	int64_t ids[DEAD_AT_ONCE], last = 0;
	int r = db_run(s->db, e, "DELETE FROM origin_at WHERE layer NOT IN (SELECT id FROM layer)",
		       "");

	while (r >= 0 && (r = find_dead(s, ids, e)) > 0 && ids[0] != last) {
		int n = r;

		last = ids[0];
		for (int i = 0; r >= 0 && i < n; i++)
			r = drop(s, ids[i], e);
	}
	return r < 0 ? r : 0;
}
