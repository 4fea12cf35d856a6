/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/changed.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

/* The next caller gets a new channel when this one may be dead. */
static bool is_broken(const struct pinfold_error *failure)
{
	return strncmp(failure->code, "timeout", 7) == 0 ||
	       strcmp(failure->code, "conflict.gone") == 0 ||
	       strncmp(failure->code, "internal", 8) == 0;
}

struct similar {
	const char *name;
	char found[256]; /* of the same name, elsewhere or in other letters */
	char near[256];	 /* of one that may have been meant */
	unsigned visits, distance;
};

static int look(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct similar *s = arg;
	const char *name = strrchr(path, '/');

	struct nearest n = {NULL, s->distance};

	(void)info;
	if (name && strcasecmp(name + 1, s->name) == 0)
		(void)snprintf(s->found, sizeof(s->found), "%s", path);
	else if (name)
		nearest_try(&n, s->name, strlen(s->name), name + 1);
	if (n.name && strlen(path) < sizeof(s->near))
		(void)snprintf(s->near, sizeof(s->near), "%s", path);
	s->distance = n.distance;
	return s->found[0] || ++s->visits > 5000;
}

int file_missing(struct box *b, const char *path, struct err *e)
{
	const char *name = strrchr(path, '/');
	struct similar s = {.name = name ? name + 1 : path, .distance = UINT_MAX};
	struct err ignored = ERR_INIT;
	struct pinfold_error failure;
	int r = err_remedy(e, "%s", "");

	if (e->kind != ERR_MISSING)
		return r;
	struct pinfold_files *files = box_files(b, &ignored);
	if (files) {
		(void)pinfold_file_list(files, "/home/user", 5, 0, look, &s, &failure);
		box_files_put(b, false);
	}
	r = err_set(e, ERR_MISSING, "%s does not exist", path);
	(void)err_detail(e, "file");
	if (s.found[0] || s.near[0])
		return err_remedy(e, "Similar: %s. List with %s path=\"/home/user\"",
				  s.found[0] ? s.found : s.near, tool_name(tool_list_files));
	return err_remedy(e, "List with %s path=\"/home/user\"", tool_name(tool_list_files));
}

int file_open(struct box *b, const char *path, int *ret_fd, uint64_t *ret_size, struct err *e)
{
	struct pinfold_files *files = box_files(b, e);
	struct pinfold_file_info info;
	struct pinfold_error failure;

	if (!files)
		return -EIO;
	int r = pinfold_file_open(files, path, ret_fd, &info, &failure);
	box_files_put(b, r < 0 && is_broken(&failure));
	if (r < 0) {
		(void)api_error(e, &failure);
		return file_missing(b, path, e);
	}
	*ret_size = info.size;
	return 0;
}

int file_load(struct box *b, const char *path, size_t max, char **ret, size_t *ret_len,
	      struct err *e)
{
	auto_close int fd = FD_NONE;
	auto_free char *data = NULL;
	uint64_t size = 0;
	size_t len = 0;

	if (file_open(b, path, &fd, &size, e) < 0)
		return -EIO;
	/* It may grow while it is read. */
	data = size <= max ? malloc(max < size + 65536 ? max + 2 : (size_t)size + 65536 + 2) : NULL;
	size_t room = max < size + 65536 ? max + 1 : (size_t)size + 65536 + 1;
	if (!data && size <= max)
		return err_sys(e, "file");
	int r = data ? fd_read_max(fd, data, room, &len) : 0;
	if (!data || len > max || len == room)
		return err_set(e, ERR_LIMIT, "%s is larger than %zu bytes", path, max);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "read %s", path);
	}
	data[len] = '\0';
	*ret = take_ptr(&data);
	*ret_len = len;
	return 0;
}

int file_save(struct box *b, const char *path, const void *data, size_t len, uint32_t flags,
	      uint32_t mode, struct err *e)
{
	struct pinfold_files *files = box_files(b, e);
	struct pinfold_file_writer *w = NULL;
	struct pinfold_error failure;
	int wrote = 0;

	if (!files)
		return -EIO;
	int r = pinfold_file_write(files, path, flags, mode, &w, &failure);
	if (r >= 0) {
		wrote = fd_write_all(pinfold_file_writer_fd(w), data, len);
		if (wrote < 0)
			pinfold_file_abort(w);
		else
			r = pinfold_file_commit(w, &failure);
	}
	box_files_put(b, r < 0 && is_broken(&failure));
	changed_now(b);
	if (r < 0)
		return api_error(e, &failure);
	if (wrote < 0) {
		(void)err_set(e, ERR_LIMIT, "the disk of the sandbox is full");
		(void)err_detail(e, "disk");
		return err_remedy(e, "Delete files and retry");
	}
	return 0;
}
