/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in a directory of a sandbox that lives, as guest/files_watch.c sees them. */
#include <assert.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/live_files.h"

struct pinfold_watch {
	struct pinfold_files *files;
	size_t base_len;
	char base[FILES_PATH_SIZE];
};

int pinfold_watch_open(const char *id, const char *path, int recursive,
		       struct pinfold_watch **ret_watch, struct pinfold_error *ret_error)
{
	const struct files_question q = {
		.op = FILES_WATCH,
		.flags = recursive ? FILES_BELOW : 0,
		.path = path,
	};
	struct pinfold_watch *w = calloc(1, sizeof(*w));
	struct err e = ERR_INIT;

	assert(id && path && ret_watch && ret_error);
	int r = w ? files_absolute(path, w->base, &e) : err_sys(&e, "watch");
	if (r >= 0) {
		w->base_len = strcmp(w->base, "/") == 0 ? 0 : strlen(w->base);
		if (pinfold_files_open(id, &w->files, ret_error) < 0) {
			pinfold_watch_close(w);
			return -1;
		}
		r = files_ask(w->files, &q, &e);
	}
	while (r >= 0 && (r = files_next(w->files, NULL, &e)) == 1 && !w->files->got.answer.value)
		; /* it is still looking around */
	if (r == 0)
		r = err_set(&e, ERR_INTERNAL, "%.200s: the sandbox does not watch", path);
	if (r < 0) {
		pinfold_watch_close(w);
		return files_result(r, &e, ret_error);
	}
	w->files->about = NULL;
	*ret_watch = w;
	return 0;
}

int pinfold_watch_fd(const struct pinfold_watch *watch)
{
	return watch->files->sock;
}

static const char *const kinds[FILES_EVENT_END] = {
	[FILES_EVENT_CREATE] = "create", [FILES_EVENT_WRITE] = "write",
	[FILES_EVENT_REMOVE] = "remove", [FILES_EVENT_RENAME] = "rename",
	[FILES_EVENT_CHMOD] = "chmod",	 [FILES_EVENT_OVERFLOW] = "overflow",
	[FILES_EVENT_SYNC] = "sync",
};

/* Below the directory; false: it does not fit. */
static bool put_path(const struct pinfold_watch *w, char to[FILES_PATH_SIZE], const char *rest,
		     size_t len)
{
	if (w->base_len + 1 + len >= FILES_PATH_SIZE)
		return false;
	memcpy(to, w->base, w->base_len + 1);
	if (len == 0)
		return true;
	to[w->base_len] = '/';
	memcpy(to + w->base_len + 1, rest, len);
	to[w->base_len + 1 + len] = '\0';
	return true;
}

static void take(const struct pinfold_watch *w, struct pinfold_watch_event *ret)
{
	const char *data = files_data(w->files);
	size_t len = w->files->len, n = strnlen(data, len);
	uint32_t event = w->files->got.answer.event;

	ret->path[0] = ret->from[0] = '\0';
	ret->kind = kinds[event];
	if (event == FILES_EVENT_OVERFLOW)
		return;
	if (n < len && memchr(data + n + 1, '\0', len - n - 1))
		n = FILES_PATH_SIZE; /* it is not what we agreed on */
	if (!put_path(w, ret->path, data, n) ||
	    (n + 1 < len && !put_path(w, ret->from, data + n + 1, len - n - 1))) {
		ret->kind = kinds[FILES_EVENT_OVERFLOW];
		ret->path[0] = ret->from[0] = '\0';
	}
}

int pinfold_watch_next(struct pinfold_watch *watch, int timeout_ms,
		       struct pinfold_watch_event *ret_event)
{
	struct pollfd pfd = {.events = POLLIN};
	struct err e = ERR_INIT;

	assert(watch && ret_event);
	for (;;) {
		pfd.fd = watch->files->sock;
		if (pfd.fd < 0)
			return -1;
		int r = poll(&pfd, 1, timeout_ms);
		if (r <= 0)
			return 0; /* a signal, too, lets the caller decide */
		if (files_next(watch->files, NULL, &e) != 1) {
			files_drop(watch->files);
			return -1;
		}
		if (watch->files->got.answer.event == FILES_EVENT_NONE)
			continue; /* a sign of life */
		take(watch, ret_event);
		return 1;
	}
}

int pinfold_watch_sync(struct pinfold_watch *watch)
{
	struct pinfold_files *f = watch->files;
	struct {
		struct files_ask ask;
		char no_paths[2];
	} q = {.ask = {.magic = FILES_MAGIC, .op = FILES_SYNC, .seq = f->seq}};

	return f->sock >= 0 && send(f->sock, &q, sizeof(q.ask) + 2, MSG_NOSIGNAL | MSG_DONTWAIT) > 0
		       ? 0
		       : -1;
}

void pinfold_watch_close(struct pinfold_watch *watch)
{
	if (!watch)
		return;
	pinfold_files_close(watch->files);
	free(watch);
}
