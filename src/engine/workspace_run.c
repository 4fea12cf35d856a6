/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in a workspace: the same as any, on layers of the store. Its upper is opened before the
 * sandbox is made and becomes part of the workspace when nothing of the sandbox is left, before the
 * result is told.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "engine/said.h"
#include "engine/workspace_int.h"
#include "store/origin.h"
#include "store/project.h"
#include "store/total.h"

/* What a person recognises in the log. */
static void describe(const struct pinfold_run_options *o, char *to, size_t size)
{
	int n = 0;

	to[0] = '\0';
	if (o->lang)
		n = snprintf(to, size, "%s%s", o->lang, o->code_name ? " " : o->code ? " -c " : "");
	if (o->lang && o->code_name && n < (int)size)
		n += snprintf(to + n, size - (size_t)n, "%s", o->code_name);
	if (o->lang && o->code && !o->code_name && n < (int)size)
		n += snprintf(to + n, size - (size_t)n, "%.*s", (int)(o->code_len & 0xffff),
			      o->code);
	for (unsigned i = 0; o->argv && o->argv[i] && n < (int)size; i++)
		n += snprintf(to + n, size - (size_t)n, "%s%s", n ? " " : "", o->argv[i]);
}

static int check(const struct pinfold_run_options *o, struct err *e)
{
	const char *what = o->dir					    ? "--dir"
			   : o->isolation && strcmp(o->isolation, "strict") ? "--isolation"
			   : names_image(o)				    ? "--image"
									    : NULL;

	if (what) {
		(void)err_set(e, ERR_UNSUPPORTED, "%s: not in a workspace", what);
		if (strcmp(what, "--isolation") == 0)
			return err_remedy(e, "leave it out");
		return err_remedy(e, "say it when the workspace is made: pinfold new NAME %s ...",
				  what);
	}
	if (o->flags & PINFOLD_DAEMON) {
		(void)err_set(e, ERR_UNSUPPORTED, "--daemon: not in a workspace");
		return err_remedy(e, "leave it out: it runs in this process");
	}
	if (geteuid() != 0 && o->user && strcmp(o->user, "root") == 0) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--user root: not in a workspace of an ordinary "
			      "user, whose layers have one owner");
		return err_remedy(e, "run pinfold as root, or use a fresh sandbox");
	}
	return 0;
}

/* The options of a run, as the workspace completes them. */
static int complete(struct pinfold_run_options *o, struct store *s, struct workspace *w,
		    struct said *said, struct err *e)
{
	const struct secrets_said asked = {o->hide, o->show}, hide = {.hide = o->hide};
	int r = said_check(&asked, e);

	if (r >= 0)
		r = said_read(w->said, &asked, said, e);
	if (r < 0)
		return r;

	o->hide = said->lists.hide;
	o->show = said->lists.show;
	if (!o->disk_bytes || o->disk_bytes > w->disk_bytes)
		o->disk_bytes = w->disk_bytes;
	if (w->dir[0])
		o->dir = w->dir;
	if (!w->dir[0] || !hide.hide || !hide.hide[0])
		return r;
	/* What one command was not to see it may have written over: diff and apply have to know. */
	r = said_add(w->said, &hide, e);
	return r < 0 ? r : workspace_say(s, w, e);
}

static int refuse_full(const struct upper *u, const struct space *used, const struct space *most,
		       struct err *e)
{
	if (used->bytes >= most->bytes)
		(void)err_set(e, ERR_LIMIT, "workspace %s is full: it has %lluM of %lluM",
			      u->w.name, (unsigned long long)(used->bytes >> 20),
			      (unsigned long long)(most->bytes >> 20));
	else
		(void)err_set(e, ERR_LIMIT, "workspace %s is full: it has %llu of %llu files",
			      u->w.name, (unsigned long long)used->files,
			      (unsigned long long)most->files);
	(void)err_detail(e, "disk");
	return err_remedy(e,
			  "take something back with pinfold undo, or allow it more: pinfold "
			  "limit %s %s",
			  used->bytes >= most->bytes ? "--disk SIZE" : "--inodes COUNT", u->w.name);
}

static bool fits(const struct space *used, const struct space *most)
{
	return used->bytes < most->bytes && used->files < most->files;
}

/* Less than an eighth of it is left: what can be had back is needed. */
static bool is_tight(const struct space *used, const struct space *most)
{
	return !fits(used, most) || most->bytes - used->bytes < most->bytes / 8 ||
	       most->files - used->files < most->files / 8;
}

/* What all workspaces may still take, together. */
static int find_total(struct upper *u, uint64_t *ret, struct err *e)
{
	int r = total_room(u->store, ret, e);

	if (r >= 0 && *ret == 0) {
		r = store_collect_undone(u->store, u->w.id, e);
		if (r >= 0)
			r = total_room(u->store, ret, e);
	}
	return r >= 0 && *ret == 0 ? total_refuse(u->store, e) : r;
}

/* What was undone is kept for an hour, unless its room is needed. */
static int find_room(struct pinfold_run *run, struct upper *u, struct err *e)
{
	const struct space most = {run->req.spec.limits.disk_bytes, u->w.inodes};
	struct space used = u->used;
	uint64_t total = 0;
	int r = 0;

	if (is_tight(&used, &most)) {
		r = store_collect_undone(u->store, u->w.id, e);
		if (r >= 0)
			r = upper_used(u, &used, e);
	}
	if (r >= 0 && !fits(&used, &most))
		r = refuse_full(u, &used, &most, e);
	if (r >= 0)
		r = find_total(u, &total, e);
	if (r < 0)
		return r;
	run->room = (struct space){most.bytes - used.bytes, most.files - used.files};
	run->room_of_all = total < run->room.bytes;
	if (run->room_of_all)
		run->room.bytes = total;
	if (project_limit(u, &run->room))
		run->req.held.disk = HELD_QUOTA;
	run->free = run_disk_free(run);
	return 0;
}

/* Who feeds a tool of ours looks after nothing else meanwhile, so it has to stop by itself. */
static void tell_room(const struct space *room, struct workspace_room *to)
{
	(void)snprintf(to->bytes, sizeof(to->bytes), "%llu", (unsigned long long)room->bytes);
	(void)snprintf(to->files, sizeof(to->files), "%llu", (unsigned long long)room->files);
}

static int start(struct pinfold_run *run, struct pinfold_run_options *o, struct upper *u,
		 const struct workspace_how *how, struct run_deps *deps, struct err *e)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));
	auto_free struct said *said = malloc(sizeof(*said));
	struct request_on on = {.image = NULL};
	int r = image && said ? upper_layers(u, &on.layers, e) : err_sys(e, "run");

	if (r >= 0)
		r = complete(o, u->store, &u->w, said, e);
	(void)snprintf(run->workspace, sizeof(run->workspace), "%s", u->w.name);
	if (r >= 0)
		r = store_image_of(u->store, &u->w.stack, image, e);
	if (r > 0)
		on.image = image;
	if (r >= 0)
		r = request_init(&run->req, o, &on, false, e);
	if (r >= 0 && !how->tool)
		r = request_ceiling(&run->req, e);
	if (r >= 0 && on.image && deps->n) {
		(void)err_set(e, ERR_UNSUPPORTED, "--deps: not in a workspace on an image");
		r = err_remedy(e, "install what is needed inside, or bring it in");
	}
	if (r >= 0)
		deps_attach(&run->req, deps);
	memcpy(run->req.spec.id, u->sandbox, sizeof(run->req.spec.id));
	run->req.spec.tool = how->tool;
	if (how->tool)
		run->req.spec.git.path = NULL;
	run->req.spec.tool_len = how->tool_len;
	run->req.spec.state.path = how->state;
	run->req.spec.state.fd = how->state_fd;
	run->socket = how->socket;
	if (how->before && how->before->n <= LAYERS_MAX) {
		run->req.spec.before.n = how->before->n;
		memcpy(run->req.spec.before.lower, how->before->layer,
		       how->before->n * sizeof(struct sandbox_layer));
	}
	if (r >= 0)
		r = find_room(run, u, e);
	if (r >= 0 && how->room) {
		tell_room(&run->room, how->room);
		run->req.spec.argv = o->argv; /* our own: they stay, and have just been written */
	}
	if (r >= 0)
		r = run_begin(run, e);
	o->hide = o->show = NULL; /* they go with `said` */
	return r;
}

/* The ordinary user can change nothing there. */
static bool changes_usr(const struct pinfold_run_options *o)
{
	return o->user && strcmp(o->user, "root") == 0;
}

/* Nobody got to merging it while there was time. What is opened on it meanwhile has to wait. */
static int shorten(struct store *s, const char *name, enum workspace_use use, bool usr,
		   struct upper **upper, struct err *e)
{
	upper_drop(*upper);
	*upper = NULL;
	int r = workspace_merge(s, name, MERGE_MUST, e);
	return r < 0 ? r : upper_open(s, name, use, usr, upper, e);
}

int workspace_start(struct store *s, const char *name, struct pinfold_run_options *o,
		    const struct workspace_how *how, struct pinfold_run **ret_run, struct err *e)
{
	auto_deps deps = {.store = NULL};
	struct pinfold_run *run = run_new();
	int r = run ? check(o, e) : err_sys(e, "run");

	if (run)
		record_who(run, o);
	if (r >= 0)
		r = run_take_id(run, o, e);
	/* Before we hold it: looking at its programs is a command, too. */
	if (r >= 0)
		r = deps_prepare(o, s, name, &deps, e);
	if (r >= 0)
		r = upper_open(s, name, how->use, changes_usr(o), &run->upper, e);
	if (r >= 0 && run->upper->w.stack.n >= LAYERS_MAX)
		r = shorten(s, name, how->use, changes_usr(o), &run->upper, e);
	if (r >= 0) {
		run->upper_kind = how->kind;
		run->drops = how->drops;
		if (how->command)
			(void)snprintf(run->command, sizeof(run->command), "%s", how->command);
		else
			describe(o, run->command, sizeof(run->command));
		r = start(run, o, run->upper, how, &deps, e);
	}
	if (r < 0 && run && run->upper)
		(void)layers_lost(s, run->upper->w.stack.layer, run->upper->w.stack.n, e);
	if (r < 0 && run && !how->tool) {
		(void)snprintf(run->workspace, sizeof(run->workspace), "%s", name);
		record_run_refused(run, o, e);
	}
	if (r < 0)
		pinfold_run_free(run);
	else
		*ret_run = run;
	return r;
}

int pinfold_workspace_exec(struct pinfold_store *store, const char *name,
			   const struct pinfold_run_options *options, uint32_t flags,
			   struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct workspace_how how = {
		.use = flags & PINFOLD_WORKSPACE_SHARE ? USE_SHARED : USE_FIRST,
		.kind = flags & PINFOLD_WORKSPACE_SHELL ? "shell" : "exec",
	};
	struct pinfold_run_options o;
	struct err e = ERR_INIT;

	assert(store && name && options && ret_run && ret_error);
	options_take(&o, options);
	if (workspace_start(store->store, name, &o, &how, ret_run, &e) >= 0)
		return 0;
	error_public(&e, ret_error);
	return -1;
}

/* What the directory had where the command wrote: a later apply may have to merge. Without it that
 * is a conflict, so nothing that goes wrong here matters to the run. */
static void keep_origins(const struct pinfold_run *run, const struct upper *u)
{
	static const char work[] = "/work/";
	auto_free const char **paths = calloc(run->n_files + 1, sizeof(*paths));
	auto_free struct said *said = malloc(sizeof(*said));
	struct err none = ERR_INIT;
	size_t n = 0, seen = 0;

	if (!paths || !said || said_read(u->w.said, NULL, said, &none) < 0 || !u->w.dir[0] ||
	    run->req.spec.tool)
		return;
	auto_close int dir = open(u->w.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || !workspace_is_dir(&u->w, dir))
		return;
	for (unsigned i = 0; i < run->n_files; i++) {
		const char *path = run->files[i].path;

		if (strncmp(path, work, strlen(work)) != 0)
			continue;
		path += strlen(work);
		seen++;
		if (!secrets_what(dir, path, &said->lists)) /* no copy of one is made */
			paths[n++] = path;
	}
	if (seen)
		(void)origin_keep(u->store, dir, u->number, paths, n, run->files_omitted == 0,
				  &none);
}

void workspace_end(struct pinfold_run *run)
{
	struct upper *u = run->upper;
	struct err e = ERR_INIT;
	struct snap snap = {
		.exit_status = run->exit_status,
		.wall_us = run->ended_us > run->started_us ? run->ended_us - run->started_us : 0,
		.files = run->n_files + run->files_omitted,
		.bytes = run->disk_bytes,
	};

	if (!u)
		return;
	run->upper = NULL;
	/* Whatever hangs in the kernel may still write: what it has is not the workspace. A tool of
	 * ours has done all that it should, or nothing. */
	if (run->gave_up || run->drops || (run->failed && run->exit_status == 125) ||
	    (run->req.spec.tool && run->exit_status != 0)) {
		upper_drop(u);
		return;
	}
	(void)snprintf(snap.kind, sizeof(snap.kind), "%s", run->upper_kind);
	(void)snprintf(snap.run, sizeof(snap.run), "%s", run->id);
	(void)snprintf(snap.command, sizeof(snap.command), "%s", run->command);
	(void)snprintf(snap.status, sizeof(snap.status), "%s", run->status);
	keep_origins(run, u);
	if (upper_freeze(u, &snap, &e) >= 0) {
		run->snapshot = (uint64_t)snap.seq;
		return;
	}
	(void)err_wrap(&e, "the command ran, but what it changed could not be kept");
	run_fail(run, &e, 125);
}
