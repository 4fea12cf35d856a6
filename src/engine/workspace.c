/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces: the store's operations for the public, and a run in one. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/deps_donor.h"
#include "engine/host_dir.h"
#include "engine/said.h"
#include "engine/workspace_int.h"
#include "store/apply.h"
#include "store/history.h"
#include "store/image.h"
#include "store/project.h"
#include "store/reserve.h"
#include "store/settle.h"
#include "store/store.h"
#include "warden/place.h"

#define DISK_BYTES (10ull << 30)
#define RECORD_MOST 4u /* layers that are hashed behind one command */
#define INODES (1ull << 20)

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

int workspace_store(const char *home, struct pinfold_store **ret, struct err *e)
{
	struct pinfold_store *s = calloc(1, sizeof(*s));
	char path[512];
	int r = s ? 0 : err_sys(e, "store");

	if (r >= 0 && !home)
		r = place_data(path, sizeof(path), e);
	if (r >= 0)
		r = place_make(home ? home : path, e);
	if (r >= 0)
		r = store_open(home ? home : path, &s->store, e);
	if (r < 0)
		free(s);
	else
		*ret = s;
	return r;
}

int pinfold_store_open(const char *home, struct pinfold_store **ret_store,
		       struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_store && ret_error);
	return result(workspace_store(home, ret_store, &e), &e, ret_error);
}

void pinfold_store_close(struct pinfold_store *store)
{
	if (store)
		store_close(store->store);
	free(store);
}

int pinfold_store_unsettled(const struct pinfold_store *store)
{
	return store_unsettled(store->store);
}

int pinfold_store_settle(struct pinfold_store *store, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	int r = store_settle(store->store, workspace_merge_all, &e);

	if (r >= 0)
		r = donor_shed(store->store, &e);
	if (r >= 0)
		r = check_record_some(store->store, RECORD_MOST, layer_digest, &e);
	return result(r, &e, ret_error);
}

static int take_dir(struct workspace *w, const char *dir, struct err *e)
{
	if (!dir)
		return 0;
	auto_free char *real = realpath(dir, NULL);
	struct stat st;
	bool is_there = real && stat(real, &st) == 0, is_dir = is_there && S_ISDIR(st.st_mode);
	if (!is_dir || access(real, R_OK | X_OK) < 0) {
		if (is_there && !is_dir)
			(void)err_set(e, ERR_INVALID, "--dir %s: not a directory", dir);
		else
			(void)err_sys(e, "--dir %s", dir);
		return err_remedy(e, "name a directory that exists and that you may read");
	}
	auto_close int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "--dir %s", dir);
	int r = workspace_note_dir(w, fd, e);
	if (r < 0)
		return r;
	int n = snprintf(w->dir, sizeof(w->dir), "%s", real);
	return n < (int)sizeof(w->dir) ? 0 : err_set(e, ERR_INVALID, "--dir: the path is too long");
}

static int take_said(struct workspace *w, const struct pinfold_workspace_options *o, struct err *e)
{
	bool any = (o->hide && o->hide[0]) || (o->show && o->show[0]);

	if (any && !w->dir[0]) {
		(void)err_set(e, ERR_INVALID, "--hide, --show: need --dir");
		return err_remedy(e, "say which directory of the host is shown");
	}
	return said_add(w->said, &(struct secrets_said){o->hide, o->show}, e);
}

/* Held until the workspace stands on it. */
static int take_image(struct store *s, struct workspace *w, const char *name, int *ret_lock,
		      struct err *e)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));

	if (!name || strcmp(name, "host") == 0)
		return 0;
	if (!image)
		return err_sys(e, "--image");
	if (store_image_hold(s, name, image, ret_lock, e) < 0)
		return err_wrap(e, "--image");
	w->stack = image->stack;
	return 0;
}

int workspace_new(struct store *s, const char *name,
		  const struct pinfold_workspace_options *options, struct err *e)
{
	struct pinfold_workspace_options o = {.size = sizeof(o)};
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_close int lock = FD_NONE;

	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	struct op op = {.workspace = name};
	int r = op_begin(&op, "workspace.new", s, workspace_asked("dir", o.dir), e);
	if (r >= 0)
		r = w ? store_check_name(name, e) : err_sys(e, "store");
	if (r >= 0)
		r = limit_check_disk(o.disk_bytes, e);
	if (r >= 0)
		r = take_dir(w, o.dir, e);
	if (r >= 0)
		r = take_said(w, &o, e);
	if (r >= 0)
		r = take_image(s, w, o.image, &lock, e);
	if (r >= 0) {
		(void)snprintf(w->name, sizeof(w->name), "%s", name);
		w->disk_bytes = o.disk_bytes ? o.disk_bytes : DISK_BYTES;
		w->inodes = o.inodes ? o.inodes : INODES;
		r = workspace_make(s, w, e);
	}
	return op_end(&op, r, NULL, e);
}

int pinfold_workspace_new(struct pinfold_store *store, const char *name,
			  const struct pinfold_workspace_options *options,
			  struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(store && name && ret_error);
	return result(workspace_new(store->store, name, options, &e), &e, ret_error);
}

static int show(struct store *s, const struct workspace *w, struct pinfold_workspace_info *to,
		struct err *e)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));
	struct snap head;
	int r = image ? history_get(s, w->head, &head, e) : err_sys(e, "store");

	if (r >= 0)
		r = store_image_of(s, &w->stack, image, e);
	if (r < 0)
		return r;
	*to = (struct pinfold_workspace_info){
		.created_ms = (uint64_t)w->created_ms,
		.head = (uint64_t)head.seq,
		.layers = w->stack.n,
		.disk_limit_bytes = w->disk_bytes,
		.inode_limit = w->inodes,
		.disk_quota = project_possible(s),
		.busy = workspace_is_used(s, w->id),
	};
	(void)snprintf(to->name, sizeof(to->name), "%s", w->name);
	(void)snprintf(to->dir, sizeof(to->dir), "%s", w->dir);
	(void)snprintf(to->image, sizeof(to->image), "%s", r > 0 ? image->name : "host");
	return workspace_sizes(s, w, &to->own_bytes, &to->shared_bytes, e);
}

int pinfold_workspace_get(struct pinfold_store *store, const char *name,
			  struct pinfold_workspace_info *ret_info, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	int r = w ? workspace_find(store->store, name, w, &e) : err_sys(&e, "store");

	if (r >= 0)
		r = show(store->store, w, ret_info, &e);
	return result(r, &e, ret_error);
}

struct list {
	struct store *store;
	struct err *e;
	void *items;
	size_t n, room, size;
};

static void *list_add(struct list *l)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		void *more = reallocarray(l->items, room, l->size);

		if (!more) {
			(void)err_sys(l->e, "store");
			return NULL;
		}
		l->items = more;
		l->room = room;
	}
	return (char *)l->items + l->n++ * l->size;
}

static int list_workspace(const struct workspace *w, void *arg)
{
	struct list *l = arg;
	struct pinfold_workspace_info *to = list_add(l);

	return to ? show(l->store, w, to, l->e) : -ENOMEM;
}

int pinfold_workspace_list(struct pinfold_store *store, struct pinfold_workspace_info **ret_list,
			   size_t *ret_n, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct list l = {.store = store->store, .e = &e, .size = sizeof(**ret_list)};
	int r = workspace_each(store->store, list_workspace, &l, &e);

	if (r < 0)
		free_ptr(&l.items);
	*ret_list = l.items;
	*ret_n = r < 0 ? 0 : l.n;
	return result(r, &e, ret_error);
}

void pinfold_workspace_list_free(struct pinfold_workspace_info *list)
{
	free(list);
}

/* Nothing that was written by halves may stay so; what was written stays for good. */
static int settle_applies(struct store *s, const char *name, int64_t *ret_id, struct err *e)
{
	struct err none = ERR_INIT;
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	struct host_dir *d = NULL;
	int r = w ? workspace_find(s, name, w, e) : err_sys(e, "store");

	if (r < 0)
		return r;
	*ret_id = w->id;
	/* A directory that is gone has nothing to be taken back in. */
	if (w->dir[0] && host_dir_open(s, name, false, &d, &none) < 0 && none.kind == ERR_BUSY) {
		*e = none;
		return -EBUSY;
	}
	host_dir_close(d);
	return 0;
}

int pinfold_workspace_remove(struct pinfold_store *store, const char *name,
			     struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	uint64_t bytes = 0;
	int64_t id = 0;
	struct op op = {.workspace = name};

	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "workspace.remove", store->store, NULL, &e);

	if (r >= 0)
		r = settle_applies(store->store, name, &id, &e);
	if (r >= 0)
		r = workspace_remove(store->store, name, &e);
	if (r >= 0)
		r = apply_prune(store->store, id, true, &e);
	if (r >= 0)
		r = store_collect(store->store, &bytes, &e);
	return result(op_end(&op, r, NULL, &e), &e, ret_error);
}

static void show_snap(const struct snap *s, int64_t head, struct pinfold_snapshot *to)
{
	*to = (struct pinfold_snapshot){
		.number = (uint64_t)s->seq,
		.current = s->id == head,
		.undone = s->dropped_ms != 0,
		.made_ms = (uint64_t)s->made_ms,
		.exit_status = s->exit_status,
		.wall_us = s->wall_us,
		.files = s->files,
		.bytes = s->bytes,
	};
	(void)snprintf(to->kind, sizeof(to->kind), "%s", s->kind);
	(void)snprintf(to->label, sizeof(to->label), "%s", s->label);
	(void)snprintf(to->run, sizeof(to->run), "%s", s->run);
	(void)snprintf(to->command, sizeof(to->command), "%s", s->command);
	(void)snprintf(to->status, sizeof(to->status), "%s", s->status);
}

/* One more thing that was asked, or that came of it. */
struct value *workspace_asked(const char *key, const char *text)
{
	struct value *v = value_object();

	if (text)
		value_set(v, key, record_word(text));
	return v;
}

struct value *workspace_stands(int64_t snapshot)
{
	struct value *v = value_object();

	value_set(v, "snapshot", value_of_int(snapshot));
	return v;
}

static int moved(struct op *op, int r, const struct snap *snap, struct pinfold_snapshot *ret,
		 const struct err *e, struct pinfold_error *ret_error)
{
	(void)op_end(op, r, r >= 0 ? workspace_stands(snap->seq) : NULL, e);
	if (r >= 0)
		show_snap(snap, snap->id, ret);
	return result(r, e, ret_error);
}

int pinfold_workspace_snap(struct pinfold_store *store, const char *name, const char *label,
			   struct pinfold_snapshot *ret_snapshot, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = name};
	struct snap snap;
	int r = op_begin(&op, "workspace.snap", store->store, workspace_asked("label", label), &e);
	if (r >= 0)
		r = history_snap(store->store, name, label, &snap, &e);
	bool running = r == -EBUSY;

	if (running) {
		e = (struct err)ERR_INIT;
		r = workspace_snap_running(store->store, name, label, &snap, &e);
	}
	if (moved(&op, r, &snap, ret_snapshot, &e, ret_error) < 0)
		return -1;
	ret_snapshot->while_running = running;
	ret_snapshot->current = !running;
	ret_snapshot->stopped_us = running ? snap.wall_us : 0;
	return 0;
}

int pinfold_workspace_undo(struct pinfold_store *store, const char *name, uint64_t count,
			   struct pinfold_snapshot *ret_snapshot, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = name};
	struct snap snap;

	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "workspace.undo", store->store, NULL, &e);

	if (r >= 0)
		r = history_undo(store->store, name, count, &snap, &e);
	return moved(&op, r, &snap, ret_snapshot, &e, ret_error);
}

int pinfold_workspace_rollback(struct pinfold_store *store, const char *name, const char *snapshot,
			       struct pinfold_snapshot *ret_snapshot,
			       struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = name};
	struct snap snap;

	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "workspace.rollback", store->store, workspace_asked("to", snapshot),
			 &e);

	if (r >= 0)
		r = history_rollback(store->store, name, snapshot, &snap, &e);
	return moved(&op, r, &snap, ret_snapshot, &e, ret_error);
}

int pinfold_workspace_fork(struct pinfold_store *store, const char *name, const char *snapshot,
			   const char *new_name, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = name};
	struct snap snap;
	int r = op_begin(&op, "workspace.fork", store->store, workspace_asked("as", new_name), &e);

	if (r >= 0)
		r = history_fork(store->store, name, snapshot, new_name, &snap, &e);
	return result(op_end(&op, r, NULL, &e), &e, ret_error);
}

struct log {
	struct list list;
	int64_t head;
};

static int list_snap(const struct snap *snap, void *arg)
{
	struct log *l = arg;
	struct pinfold_snapshot *to = list_add(&l->list);

	if (!to)
		return -ENOMEM;
	show_snap(snap, l->head, to);
	return 0;
}

int pinfold_workspace_log(struct pinfold_store *store, const char *name, uint32_t flags,
			  struct pinfold_snapshot **ret_list, size_t *ret_n,
			  struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct log l = {.list = {.e = &e, .size = sizeof(**ret_list)}};
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	int r = w ? workspace_find(store->store, name, w, &e) : err_sys(&e, "store");

	if (r >= 0) {
		l.head = w->head;
		r = history_each(store->store, w, flags & PINFOLD_LOG_UNDONE, list_snap, &l, &e);
	}
	if (r < 0)
		free_ptr(&l.list.items);
	*ret_list = l.list.items;
	*ret_n = r < 0 ? 0 : l.list.n;
	return result(r, &e, ret_error);
}

void pinfold_workspace_log_free(struct pinfold_snapshot *list)
{
	free(list);
}
