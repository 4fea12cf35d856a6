/* SPDX-License-Identifier: Apache-2.0 */
#include "store/workspace.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/history.h"
#include "store/total.h"
#include "store/used.h"

#define COLUMNS                                                                                    \
	"SELECT w.id, w.name, w.created, w.head, w.seq, w.disk, w.inodes, w.dir, w.dir_dev,"       \
	" w.dir_ino, s.stack, w.said, w.dir_born FROM workspace w JOIN snap s ON s.id = w.head "

static int look_at_dir(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, ret);
}

static uint64_t dev_of(const struct statx *x)
{
	return makedev(x->stx_dev_major, x->stx_dev_minor);
}

static int64_t born_of(const struct statx *x)
{
	return x->stx_mask & STATX_BTIME ? x->stx_btime.tv_sec * 1000000000 + x->stx_btime.tv_nsec
					 : 0;
}

int workspace_note_dir(struct workspace *w, int fd, struct err *e)
{
	struct statx x;

	if (look_at_dir(fd, &x) < 0)
		return err_sys(e, "--dir");
	w->dir_dev = dev_of(&x);
	w->dir_ino = x.stx_ino;
	w->dir_born_ns = born_of(&x);
	return 0;
}

bool workspace_is_dir(const struct workspace *w, int fd)
{
	struct statx x;

	if (look_at_dir(fd, &x) < 0 || x.stx_ino != w->dir_ino || dev_of(&x) != w->dir_dev)
		return false;
	int64_t born = born_of(&x);
	return !born || !w->dir_born_ns || born == w->dir_born_ns;
}

static int fill(struct db_rows *rows, struct workspace *w, struct err *e)
{
	w->id = db_int(rows, 0);
	(void)snprintf(w->name, sizeof(w->name), "%s", db_text(rows, 1));
	w->created_ms = db_int(rows, 2);
	w->head = db_int(rows, 3);
	w->seq = db_int(rows, 4);
	w->disk_bytes = (uint64_t)db_int(rows, 5);
	w->inodes = (uint64_t)db_int(rows, 6);
	(void)snprintf(w->dir, sizeof(w->dir), "%s", db_text(rows, 7));
	w->dir_dev = (uint64_t)db_int(rows, 8);
	w->dir_ino = (uint64_t)db_int(rows, 9);
	(void)snprintf(w->said, sizeof(w->said), "%s", db_text(rows, 11));
	w->dir_born_ns = db_int(rows, 12);
	return stack_parse(db_text(rows, 10), &w->stack, e);
}

static int refuse_twin(struct store *s, const char *name, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT 1 FROM workspace WHERE name = ?1", "t", name);

	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	(void)err_set(e, ERR_CONFLICT, "there is a workspace %s already", name);
	return err_remedy(e, "choose another name, or remove it with: pinfold rm %s", name);
}

/* The rows of a workspace and of the point where it begins, which refer to each other. */
static int insert(struct store *s, struct workspace *w, const char *from, struct err *e)
{
	char text[STACK_TEXT_SIZE];

	stack_print(&w->stack, text);
	int r = db_run(s->db, e,
		       "INSERT INTO workspace(name, created, head, seq, disk, inodes, dir, dir_dev,"
		       " dir_ino, said, dir_born)"
		       " VALUES(?1, ?2, 0, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
		       "tiiitiiti", w->name, w->created_ms, (int64_t)w->disk_bytes,
		       (int64_t)w->inodes, w->dir[0] ? w->dir : NULL, (int64_t)w->dir_dev,
		       (int64_t)w->dir_ino, w->said, w->dir_born_ns);
	w->id = db_last_id(s->db);
	if (r >= 0)
		r = db_run(
			s->db, e,
			"INSERT INTO snap(workspace, seq, before, kind, stack, layer, command, made,"
			" wall_us, files, bytes) VALUES(?1, 1, 0, ?2, ?3, 0, ?4, ?5, 0, 0, 0)",
			"ittti", w->id, from ? "fork" : "new", text, from, w->created_ms);
	w->head = db_last_id(s->db);
	w->seq = 1;
	if (r >= 0)
		r = db_run(s->db, e, "UPDATE workspace SET head = ?2 WHERE id = ?1", "ii", w->id,
			   w->head);
	return r;
}

int workspace_insert(struct store *s, struct workspace *w, const char *from, struct err *e)
{
	int r = store_check_name(w->name, e);

	w->created_ms = store_now_ms();
	if (r >= 0)
		r = refuse_twin(s, w->name, e);
	if (r >= 0)
		r = total_take_workspace(s, e);
	return r < 0 ? r : insert(s, w, from, e);
}

int workspace_make(struct store *s, struct workspace *w, struct err *e)
{
	int r = db_begin(s->db, false, e);

	if (r >= 0)
		r = workspace_insert(s, w, NULL, e);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	return r;
}

int workspace_limit(struct store *s, const struct workspace *w, struct err *e)
{
	return db_run(s->db, e, "UPDATE workspace SET disk = ?2, inodes = ?3 WHERE id = ?1", "iii",
		      w->id, (int64_t)w->disk_bytes, (int64_t)w->inodes);
}

int workspace_say(struct store *s, const struct workspace *w, struct err *e)
{
	return db_run(s->db, e, "UPDATE workspace SET said = ?2 WHERE id = ?1", "it", w->id,
		      w->said);
}

static int missing(struct store *s, const char *name, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct err ignored = ERR_INIT;

	(void)err_set(e, ERR_MISSING, "there is no workspace %s", name);
	int r = db_query(s->db, &rows, &ignored, "SELECT count(*) FROM workspace", "");
	if (r >= 0)
		r = db_next(rows, &ignored);
	if (r > 0 && db_int(rows, 0) > 0)
		return err_remedy(e, "pinfold ls lists them; make it with: pinfold new %s", name);
	return err_remedy(e, "make it with: pinfold new %s", name);
}

int workspace_find(struct store *s, const char *name, struct workspace *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = store_check_name(name, e);

	if (r >= 0)
		r = db_query(s->db, &rows, e, COLUMNS "WHERE w.name = ?1", "t", name);
	if (r >= 0)
		r = db_next(rows, e);
	if (r < 0)
		return r;
	return r == 0 ? missing(s, name, e) : fill(rows, ret, e);
}

int workspace_of_run(struct store *s, const char *run, char ret[STORE_NAME_MAX + 1], struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e,
			 "SELECT w.name FROM snap s JOIN workspace w ON w.id = s.workspace "
			 "WHERE s.run = ?1 AND s.dropped = 0 ORDER BY s.id LIMIT 1",
			 "t", run);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		(void)snprintf(ret, STORE_NAME_MAX + 1, "%s", db_text(rows, 0));
	return r;
}

int workspace_each(struct store *s, int (*each)(const struct workspace *w, void *arg), void *arg,
		   struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_free struct workspace *w = malloc(sizeof(*w));
	int r = w ? 0 : err_sys(e, "store");

	if (r >= 0)
		r = db_query(s->db, &rows, e, COLUMNS "ORDER BY w.name", "");
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = fill(rows, w, e);
		if (r >= 0)
			r = each(w, arg);
	}
	return r;
}

struct noting {
	bool (*wanted)(const struct workspace *w, const void *arg);
	const void *arg;
	struct workspace_names *names;
	struct err *e;
};

static int note_name(const struct workspace *w, void *arg)
{
	struct noting *to = arg;
	struct workspace_names *names = to->names;

	if (!to->wanted(w, to->arg))
		return 0;
	if (names->n == names->room) {
		size_t room = names->room ? names->room * 2 : 8;
		void *more = reallocarray(names->name, room, sizeof(names->name[0]));

		if (!more)
			return err_sys(to->e, "store");
		names->name = more;
		names->room = room;
	}
	memcpy(names->name[names->n++], w->name, sizeof(w->name));
	return 0;
}

int workspace_names(struct store *s, bool (*wanted)(const struct workspace *w, const void *arg),
		    const void *arg, struct workspace_names *ret, struct err *e)
{
	struct noting to = {wanted, arg, ret, e};

	return workspace_each(s, note_name, &to, e);
}

static int open_lock(struct store *s, int64_t id, int flags)
{
	char name[40];

	(void)snprintf(name, sizeof(name), "locks/%lld", (long long)id);
	return openat(s->home_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

/* Locks of the open file, which can be asked about without taking them. */
bool workspace_is_used(struct store *s, int64_t id)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = open_lock(s, id, 0);

	if (fd < 0)
		return errno != ENOENT;
	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

int workspace_lock(struct store *s, const struct workspace *w, enum workspace_use use, int *ret_fd,
		   struct err *e)
{
	struct flock lock = {.l_type = use == USE_SHARED ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = open_lock(s, w->id, O_CREAT);

	if (fd < 0)
		return err_sys(e, "%s/locks", s->home);
	if (fcntl(fd, use == USE_WAIT ? F_OFD_SETLKW : F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return err_sys(e, "%s/locks", s->home);
		(void)err_set(e, ERR_BUSY, "workspace %s: a command is running in it", w->name);
		return err_remedy(e, use == USE_FIRST ? "wait for it, or run beside it with --share"
						      : "wait for it");
	}
	lock.l_type = F_RDLCK;
	if (use == USE_FIRST && fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return err_sys(e, "%s/locks", s->home);
	*ret_fd = take_fd(&fd);
	return 0;
}

int workspace_remove(struct store *s, const char *name, struct err *e)
{
	auto_free struct workspace *w = malloc(sizeof(*w));
	auto_close int lock = FD_NONE;
	int r = w ? workspace_find(s, name, w, e) : err_sys(e, "store");

	if (r >= 0)
		r = workspace_lock(s, w, USE_ALONE, &lock, e);
	if (r >= 0)
		r = db_begin(s->db, false, e);
	if (r >= 0)
		r = db_run(s->db, e, "DELETE FROM snap WHERE workspace = ?1", "i", w->id);
	if (r >= 0)
		r = db_run(s->db, e, "DELETE FROM sync WHERE workspace = ?1", "i", w->id);
	if (r >= 0)
		r = db_run(s->db, e, "DELETE FROM workspace WHERE id = ?1", "i", w->id);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	if (r >= 0) {
		char path[40];

		(void)snprintf(path, sizeof(path), "locks/%lld", (long long)w->id);
		(void)unlinkat(s->home_fd, path, 0); /* its number is never given again */
	}
	return r;
}

int workspace_exists(struct store *s, int64_t id, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT 1 FROM workspace WHERE id = ?1", "i", id);

	return r < 0 ? r : db_next(rows, e);
}

/* Its number, of a workspace's lock; 0 of any other file there. */
static int64_t lock_id(const char *name)
{
	long long id = 0;
	int n = 0;

	if (!isdigit((unsigned char)name[0]) || sscanf(name, "%18lld%n", &id, &n) != 1 || name[n])
		return 0;
	return id;
}

int workspace_collect_locks(struct store *s, struct err *e)
{
	const struct dirent *d = NULL;
	int fd = openat(s->home_fd, "locks", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!all) {
		fd_close(&fd);
		return 0; /* there is none */
	}
	while (r >= 0 && (d = readdir(all))) {
		int64_t id = lock_id(d->d_name);

		/* A workspace is there before its lock is. Who still has this one open, or makes it
		 * again, finds that there is no such workspace. */
		r = id > 0 ? workspace_exists(s, id, e) : 1;
		if (r == 0)
			(void)unlinkat(dirfd(all), d->d_name, 0); /* or the next time */
	}
	(void)closedir(all); /* only read */
	return r < 0 ? r : 0;
}

int workspace_sizes(struct store *s, const struct workspace *w, uint64_t *ret_own,
		    uint64_t *ret_shared, struct err *e)
{
	auto_used struct used ours = {0}, others = {0};
	auto_rows struct db_rows *rows = NULL;
	int r = used_init(&ours, s, e);

	*ret_own = *ret_shared = 0;
	if (r >= 0)
		r = used_init(&others, s, e);
	if (r >= 0)
		r = used_mark(&ours, s, "SELECT stack FROM snap WHERE workspace = ?1", w->id, e);
	if (r >= 0)
		r = used_mark(&others, s,
			      "SELECT stack FROM snap WHERE workspace <> ?1 UNION SELECT stack FROM"
			      " image",
			      w->id, e);
	if (r >= 0)
		r = db_query(s->db, &rows, e, "SELECT id, bytes FROM layer WHERE state = 1", "");
	while (r >= 0 && (r = db_next(rows, e)) > 0)
		if (used_has(&ours, db_int(rows, 0)))
			*(used_has(&others, db_int(rows, 0)) ? ret_shared : ret_own) +=
				(uint64_t)db_int(rows, 1);
	return r;
}
