/* SPDX-License-Identifier: Apache-2.0 */
#include "store/upper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/quota.h"
#include "kernel/remove.h"
#include "store/check.h"
#include "store/db.h"
#include "store/project.h"
#include "store/reserve.h"
#include "store/used.h"

static const struct {
	const char *name, *work;
	uint32_t bit;
	uid_t owner; /* inside; the top of /work is the sandbox user's */
} parts[] = {
	{"root", "w.root", LAYER_ROOT, 0},
	{"usr", "w.usr", LAYER_USR, 0},
	{"work", "w.work", LAYER_WORK, SANDBOX_UID},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

#define DEAD_MAX 16 /* layers that nobody needs, before somebody is sent to remove them */

static int make_part(const struct store *s, int dir, size_t i, struct err *e)
{
	if (mkdirat(dir, parts[i].name, 0755) < 0)
		return err_sys(e, "make a layer");
	/* Not by our umask. */
	if (fchmodat(dir, parts[i].name, 0755, 0) < 0)
		return err_sys(e, "make a layer");
	if (s->owned && parts[i].owner &&
	    fchownat(dir, parts[i].name, parts[i].owner, parts[i].owner, 0) < 0)
		return err_sys(e, "make a layer");
	return 0;
}

int layer_make_parts(const struct store *s, int dir, uint32_t which, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < PARTS; i++)
		if (which & parts[i].bit)
			r = make_part(s, dir, i, e);
	return r;
}

static int make_directories(struct upper *u, uint32_t which, struct err *e)
{
	char name[16];
	int r = 0;

	(void)snprintf(name, sizeof(name), "%u", u->number);
	if (mkdirat(u->store->layers_fd, name, 0700) < 0)
		return err_sys(e, "make a layer");
	u->dir = openat(u->store->layers_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (u->dir < 0 || flock(u->dir, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "make a layer");
	/* Before there is anything in it. Also where the kernel works: it renames from there. */
	if (u->project && quota_mark(u->dir, u->project) < 0)
		u->project = 0;
	r = layer_make_parts(u->store, u->dir, which, e);
	for (size_t i = 0; r >= 0 && i < PARTS; i++)
		if ((which & parts[i].bit) && mkdirat(u->dir, parts[i].work, 0700) < 0)
			r = err_sys(e, "make a layer");
	return r;
}

/* In one transaction: where the workspace stands, that nobody else is in it, and that there will be
 * a layer on that. */
static int write_down(struct upper *u, const char *name, enum workspace_use use, struct err *e)
{
	char text[STACK_TEXT_SIZE];
	int r = db_begin(u->store->db, false, e);

	if (r >= 0)
		r = workspace_find(u->store, name, &u->w, e);
	if (r >= 0)
		r = workspace_lock(u->store, &u->w, use, &u->lock, e);
	if (r >= 0)
		r = check_trust(u->store, u->w.name, &u->w.stack, e);
	if (r >= 0)
		r = upper_used(u, &u->used, e);
	if (r >= 0) {
		stack_print(&u->w.stack, text);
		r = db_run(u->store->db, e,
			   "INSERT INTO layer(workspace, state, parts, files, bytes, stack, opened,"
			   " sandbox) VALUES(?1, 0, 0, 0, 0, ?2, ?3, ?4)",
			   "itit", u->w.id, text, store_file_now_ns(), u->sandbox);
	}
	if (r >= 0)
		u->number = (uint32_t)db_last_id(u->store->db);
	if (r >= 0)
		r = db_commit(u->store->db, e);
	db_rollback(u->store->db);
	return r;
}

int upper_open(struct store *s, const char *name, enum workspace_use use, bool usr,
	       struct upper **ret, struct err *e)
{
	struct upper *u = calloc(1, sizeof(*u));

	if (!u)
		return err_sys(e, "store");
	*u = (struct upper){.store = s, .lock = FD_NONE, .dir = FD_NONE};
	int r = id_make("sbx", u->sandbox, e);
	if (r >= 0)
		r = write_down(u, name, use, e);
	if (r >= 0)
		r = project_find(s, u->w.id, &u->project, e);
	if (r >= 0)
		project_lift(u);
	/* The /usr of an image is in its root. */
	usr = usr && !stack_image(&u->w.stack);
	if (r >= 0)
		r = make_directories(
			u, LAYER_ROOT | (usr ? LAYER_USR : 0) | (u->w.dir[0] ? LAYER_WORK : 0), e);
	if (r < 0) {
		upper_drop(u);
		return r;
	}
	*ret = u;
	return 0;
}

struct sandbox_layers store_layers(const struct store *s)
{
	return (struct sandbox_layers){
		.fd = s->layers_fd,
		.path = s->layers_path,
		.dev = s->layers_dev,
		.ino = s->layers_ino,
	};
}

int upper_layers(const struct upper *u, struct sandbox_layers *ret, struct err *e)
{
	const struct stack *stack = &u->w.stack;

	if (stack->n > LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "workspace %s has %u layers, and %u can be mounted",
			       u->w.name, stack->n, LAYERS_MAX);
	*ret = store_layers(u->store);
	ret->upper = u->number;
	ret->n = stack->n;
	memcpy(ret->lower, stack->layer, stack->n * sizeof(ret->lower[0]));
	return 0;
}

/* A part where nothing changed is not there. The directories that overlayfs worked in are in
 * nobody's way, and go when there is time (layer_tidy). */
static uint32_t trim(const struct upper *u)
{
	uint32_t left = 0;

	for (size_t i = 0; i < PARTS; i++) {
		if (unlinkat(u->dir, parts[i].name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			left |= parts[i].bit; /* ENOTEMPTY, or whatever: it is kept */
	}
	return left;
}

uint32_t layer_parts(const struct store *s, uint32_t number)
{
	uint32_t found = 0;
	struct stat st;
	char path[64];

	for (size_t i = 0; i < PARTS; i++) {
		(void)snprintf(path, sizeof(path), "%u/%s", number, parts[i].name);
		if (fstatat(s->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			found |= parts[i].bit;
	}
	return found;
}

int layers_lost(const struct store *s, const struct sandbox_layer *layers, unsigned n,
		struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t lost = layers[i].parts & ~layer_parts(s, layers[i].number);

		if (!(lost & (LAYER_ROOT | LAYER_USR | LAYER_WORK)))
			continue;
		(void)err_set(e, ERR_INTERNAL, "layer %u is not there: the store is damaged",
			      layers[i].number);
		(void)err_detail(e, "damaged");
		return err_remedy(e, "run pinfold fsck, which says what can be kept");
	}
	return 0;
}

void layer_tidy(const struct store *s, uint32_t number)
{
	char path[64];

	for (size_t i = 0; i < PARTS; i++) {
		(void)snprintf(path, sizeof(path), "%u/%s", number, parts[i].work);
		(void)remove_tree_at(s->layers_fd, path); /* else it takes a little room */
	}
}

void layer_forget(struct store *s, uint32_t number)
{
	struct err ignored = ERR_INIT;
	char name[16];

	/* A row without a thing is found by the next collection. */
	(void)snprintf(name, sizeof(name), "%u", number);
	if (remove_tree_at(s->layers_fd, name) >= 0)
		(void)db_run(s->db, &ignored, "DELETE FROM layer WHERE id = ?1", "i",
			     (int64_t)number);
}

static void release(struct upper *u)
{
	fd_close(&u->dir);
	fd_close(&u->lock);
	free(u);
}

void upper_drop(struct upper *u)
{
	if (!u)
		return;
	db_rollback(u->store->db);
	if (u->number)
		layer_forget(u->store, u->number);
	release(u);
}

/* A layer with nothing in it. What overlayfs made beside it takes longer to remove than a short
 * command takes, and ext4 looks long for a new inode where some were just deleted: who settles does
 * it, once there are some. */
static int bury(struct upper *u, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct store *s = u->store;
	int r = db_run(s->db, e,
		       "UPDATE layer SET state = 2, stack = NULL, sandbox = NULL WHERE id = ?1",
		       "i", (int64_t)u->number);

	if (r >= 0)
		r = db_query(s->db, &rows, e, "SELECT count(*) FROM layer WHERE state = 2", "");
	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0 && db_int(rows, 0) >= DEAD_MAX)
		s->changed = true;
	return r < 0 ? r : 0;
}

/* On top of where the workspace stands now: somebody who shared it may have been faster. */
static int append(struct upper *u, uint32_t left, struct snap *snap, struct err *e)
{
	struct store *s = u->store;
	struct sandbox_layer layer = {u->number, left};
	int r = db_begin(s->db, false, e);

	if (r >= 0)
		r = workspace_find(s, u->w.name, &u->w, e);
	if (r < 0)
		return r;
	snap->stack = u->w.stack;
	snap->layer = left ? u->number : 0;
	r = stack_push(&snap->stack, layer, e);
	if (r >= 0)
		r = history_append(s, &u->w, snap, e);
	if (r >= 0 && left)
		r = db_run(s->db, e,
			   "UPDATE layer SET state = 1, parts = ?2, files = ?3, bytes = ?4,"
			   " stack = NULL WHERE id = ?1",
			   "iiii", (int64_t)u->number, (int64_t)left, (int64_t)snap->files,
			   (int64_t)snap->bytes);
	if (r >= 0 && !left)
		r = bury(u, e);
	return r < 0 ? r : db_commit(s->db, e);
}

int upper_freeze(struct upper *u, struct snap *snap, struct err *e)
{
	uint32_t left = trim(u);
	int r = append(u, left, snap, e);

	if (r < 0 && reserve_give(u->store)) { /* the command may have filled the disk itself */
		db_rollback(u->store->db);
		*e = (struct err)ERR_INIT;
		r = append(u, left, snap, e);
	}
	u->store->changed |= r >= 0 && left;
	if (r < 0)
		upper_drop(u);
	else
		release(u);
	return r;
}

/* What a fork began with. */
static int first_stack(const struct upper *u, struct stack *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(u->store->db, &rows, e,
			 "SELECT stack FROM snap WHERE workspace = ?1 AND seq = 1", "i", u->w.id);

	*ret = (struct stack){.n = 0};
	if (r >= 0)
		r = db_next(rows, e);
	return r > 0 ? stack_parse(db_text(rows, 0), ret, e) : r;
}

/* A merged layer is links to files of those that it was made of, which have the bytes while they
 * are there. A layer has a larger number than what was merged into it. */
static void add_layer(struct db_rows *rows, const struct upper *u, const struct stack *first,
		      struct used *counted, struct space *sum)
{
	int64_t id = db_int(rows, 0), merged = db_int(rows, 4);
	bool own = db_int(rows, 1) == u->w.id, began = stack_has(first, (uint32_t)id);

	if (!own && !began && !used_has(counted, merged))
		return;
	used_add(counted, id);
	sum->bytes += (uint64_t)db_int(rows, 2);
	if (own ? merged == 0 : began)
		sum->files += (uint64_t)db_int(rows, 3);
}

int upper_used(const struct upper *u, struct space *ret, struct err *e)
{
	auto_used struct used counted = {0};
	auto_rows struct db_rows *rows = NULL;
	struct stack first;
	int r = first_stack(u, &first, e);

	*ret = (struct space){0};
	if (r >= 0 && first.n > 0)
		r = used_init(&counted, u->store, e);
	if (r >= 0)
		r = db_query(u->store->db, &rows, e,
			     first.n > 0 ? "SELECT id, workspace, bytes, files, merged FROM layer"
					   " WHERE state = 1 AND ?1 > 0 ORDER BY id DESC"
					 : "SELECT id, workspace, bytes, files, merged FROM layer"
					   " WHERE state = 1 AND workspace = ?1",
			     "i", u->w.id);
	while (r >= 0 && (r = db_next(rows, e)) > 0)
		add_layer(rows, u, &first, &counted, ret);
	return r;
}
