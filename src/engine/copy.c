/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in and out of a workspace. Inside, the reader walks; on the host we do, as the caller, with
 * the same code. What crosses is a tree stream, which says what it is and is checked whole.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/history.h"
#include "store/reserve.h"
#include "tree/answer.h"
#include "tree/pack.h"
#include "tree/unpack.h"

#define HOME "/home/user"
#define IN_THE_WAY "name another place, or remove what is in the way"

int workspace_path(const char *path, char *to, size_t size, struct err *e)
{
	size_t n = 0;
	const char *prefix = path[0] == '/' ? "" : HOME;

	n = (size_t)snprintf(to, size, "%s", prefix);
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0) {
			(void)err_set(e, ERR_INVALID,
				      "\"%.200s\": .. is not allowed in a path of a workspace",
				      path);
			return err_remedy(e, "write the path without it");
		}
		if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (n + len + 2 > size)
				return err_set(e, ERR_INVALID, "the path is too long");
			to[n++] = '/';
			memcpy(to + n, path, len);
			n += len;
		}
		path += len + (path[len] == '/');
	}
	to[n] = '\0';
	return 0;
}

int workspace_keeps(const char *path, struct err *e)
{
	static const char *const lost[] = {"/tmp", "/run", "/dev", "/proc", "/sys"};

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		size_t n = strlen(lost[i]);

		if (strncmp(path, lost[i], n) != 0 || (path[n] && path[n] != '/'))
			continue;
		(void)err_set(e, ERR_INVALID, "%s: nothing in it outlives a command", lost[i]);
		return err_remedy(e, "name a place that is kept, such as " HOME);
	}
	return 0;
}

void workspace_remedy(struct err *e, const char *conflict)
{
	if (e->kind == ERR_LIMIT)
		(void)err_remedy(e,
				 "make room with pinfold undo, or allow more with pinfold limit");
	if (e->kind == ERR_MISSING)
		(void)err_remedy(e, "name a file or a directory that exists");
	if (e->kind == ERR_DENIED)
		(void)err_remedy(e, "leave it out, or name a place where you may read and write");
	if (e->kind == ERR_BUSY)
		(void)err_remedy(e, "try again in a moment");
	if (e->kind == ERR_CONFLICT)
		(void)err_remedy(e, "%s", conflict);
}

/* The directory of a host path, open, and its last name. */
struct place {
	int dir;
	char name[256];
};

static int open_place(const char *path, struct place *ret, struct err *e)
{
	auto_free char *copy = strdup(path);
	size_t n = copy ? strlen(copy) : 0;

	if (!copy)
		return err_sys(e, "%s", path);
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	const char *dir = !slash ? "." : slash == copy ? "/" : copy;
	if (strlen(name) >= sizeof(ret->name) || !*name)
		return err_set(e, ERR_INVALID, "\"%.200s\" has no name at its end", path);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (slash && slash != copy)
		*slash = '\0';
	ret->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->dir < 0 ? err_sys(e, "%s", dir) : 0;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Into a directory that is there, or as a name in one; like cp. */
static int open_target(const char *to, const char *name, struct place *ret, struct err *e)
{
	ret->dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->dir < 0)
		return errno == ENOENT || errno == ENOTDIR ? open_place(to, ret, e)
							   : err_sys(e, "%s", to);
	if (!*name || strlen(name) >= sizeof(ret->name))
		return err_set(e, ERR_INVALID, "\"%.200s\" has no name at its end", name);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	return 0;
}

const char *workspace_view(const struct stack *stack, const char *path, const char **ret_rest)
{
	static const struct {
		const char *prefix, *view, *host;
		uint32_t bit;
	} parts[] = {
		{"/usr", "/v/new.usr", "/usr", LAYER_USR},
		{"/work", "/v/new.work", "/work", LAYER_WORK},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i].prefix);
		bool has = false;

		if (strncmp(path, parts[i].prefix, n) != 0 || (path[n] && path[n] != '/'))
			continue;
		for (unsigned k = 0; k < stack->n; k++)
			has = has || (stack->layer[k].parts & parts[i].bit);
		*ret_rest = path[n] ? path + n + 1 : "";
		return has ? parts[i].view : parts[i].host;
	}
	*ret_rest = path[0] ? path + 1 : "";
	for (unsigned k = 0; k < stack->n; k++)
		if (stack->layer[k].parts & LAYER_ROOT)
			return "/v/new.root";
	return "/";
}

static int copy_out(struct store *s, const struct workspace *w, const struct snap *snap,
		    const char *from, const char *to, struct err *e)
{
	static const struct stack none = {.n = 0};
	char path[STORE_PATH_MAX];
	struct reader r = READER_INIT;
	struct place at = {.dir = FD_NONE};
	int k = workspace_path(from, path, sizeof(path), e);

	if (k >= 0)
		k = workspace_keeps(path, e);
	if (k >= 0)
		k = open_target(to, last_name(path), &at, e);
	if (k < 0)
		return k;
	const char *rest = "";
	const char *view = workspace_view(&snap->stack, path, &rest);
	const char *argv[] = {"pack", view, *rest ? rest : ".", NULL};
	struct reader_ask ask = {
		.argv = argv,
		.peek = PEEK_LOOK,
		.before = &none,
		.now = &snap->stack,
		.dir = w->dir[0] ? w->dir : NULL,
		.said = w->said,
	};
	k = reader_look(s, &ask, &r, e);
	struct tree_unpack_opts opts = {.root_name = at.name};
	struct tree_unpack_stats stats;
	if (k >= 0)
		k = tree_unpack(r.out, at.dir, &opts, &stats, e);
	fd_close(&at.dir);
	return reader_end(&r, k, e);
}

int pinfold_workspace_copy_out(struct pinfold_store *store, const char *name, const char *snapshot,
			       const char *from, const char *to, struct pinfold_error *ret_error)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	struct snap snap;
	struct err e = ERR_INIT;

	assert(store && name && from && to && ret_error);
	struct op op = {.workspace = name};
	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "workspace.copy_out", store->store, workspace_asked("path", from),
			 &e);
	if (r >= 0)
		r = w ? workspace_find(store->store, name, w, &e) : err_sys(&e, "cp");
	if (r >= 0)
		r = history_find(store->store, w, snapshot, &snap, &e);
	if (r >= 0)
		r = copy_out(store->store, w, &snap, from, to, &e);
	r = op_end(&op, r, NULL, &e);
	if (r < 0) {
		workspace_remedy(&e, IN_THE_WAY);
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}

static int copy_in(struct store *s, const char *name, const char *from, const char *to,
		   struct err *e)
{
	char path[STORE_PATH_MAX], what[STORE_PATH_MAX + 300];
	struct reader r = READER_INIT;
	struct place at = {.dir = FD_NONE};
	struct tree_pack_opts opts = {.strict = true};
	struct tree_pack_stats stats;
	union tree_answer answer;
	struct err theirs = ERR_INIT;
	int k = workspace_path(to, path, sizeof(path), e);

	if (k >= 0)
		k = workspace_keeps(path, e);
	if (k >= 0)
		k = open_place(from, &at, e);
	if (k < 0)
		return k;
	struct workspace_room room = {"", ""};
	const char *argv[] = {"unpack",	   "--into",   "--name", at.name,  "--bytes", room.bytes,
			      "--entries", room.files, "/",	 path + 1, NULL};
	(void)snprintf(what, sizeof(what), "%s %s", at.name, path);
	struct workspace_how how = {.kind = "cp", .command = what, .room = &room};
	sigset_t before;
	k = reader_enter(s, name, argv, &how, &r, e);
	reader_hush(&before);
	if (k >= 0)
		k = tree_pack(at.dir, at.name, &opts, r.in, &stats, e);
	reader_unhush(&before);
	fd_close(&at.dir);
	fd_close(&r.in);
	/* What the other side says is why it stopped reading. */
	if (r.run && tree_answer_read(r.out, &answer, k < 0 ? &theirs : e) < 0 && k >= 0)
		k = -EIO;
	else if (k < 0 && theirs.text[0])
		*e = theirs;
	return reader_end(&r, k, e);
}

int pinfold_workspace_copy_in(struct pinfold_store *store, const char *name, const char *from,
			      const char *to, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(store && name && from && to && ret_error);
	struct op op = {.workspace = name};
	int r = op_begin(&op, "workspace.copy_in", store->store, workspace_asked("path", to), &e);
	if (r >= 0)
		r = copy_in(store->store, name, from, to, &e);
	r = op_end(&op, r, NULL, &e);
	if (r < 0) {
		workspace_remedy(&e, IN_THE_WAY);
		error_public(&e, ret_error);
	}
	return r < 0 ? -1 : 0;
}
