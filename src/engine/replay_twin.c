/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workspaces for replays: like the one that the run was in, as that stood before, and gone with the
 * replay. Who makes one first takes the lock of a file locks/NAME. One whose lock nobody holds was
 * left by a process that was killed: the next replay removes it, and so does gc.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "engine/replay_int.h"
#include "engine/workspace_int.h"
#include "store/history.h"
#include "store/upper.h"

#define PREFIX "replay-"

/* Names of ours have the characters of the replay's id behind the prefix. */
static bool is_twin(const char *name)
{
	char id[ID_SIZE + 8];

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return false;
	(void)snprintf(id, sizeof(id), "run%.30s", name + strlen(PREFIX));
	return id_is("run", id);
}

static void lock_path(const char *name, char ret[96])
{
	(void)snprintf(ret, 96, "locks/%.63s", name);
}

static int lock_twin(struct store *s, const char *name, int *ret_fd, struct err *e)
{
	char path[96];

	lock_path(name, path);
	auto_close int fd =
		openat(s->home_fd, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock of %s", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* 1: it is gone now. */
static int reap(struct store *s, const char *name)
{
	struct err none = ERR_INIT;
	auto_close int lock = FD_NONE;
	char path[96];

	lock_path(name, path);
	if (!is_twin(name) || lock_twin(s, name, &lock, &none) < 0)
		return 0;
	int r = workspace_remove(s, name, &none);
	if (r < 0 && none.kind != ERR_MISSING)
		return 0; /* something runs in it: the next one looks again */
	(void)unlinkat(s->home_fd, path, 0);
	return r >= 0;
}

static bool is_twin_of_ours(const struct workspace *w, const void *arg)
{
	(void)arg;
	return is_twin(w->name);
}

unsigned twins_reap(struct store *s)
{
	struct workspace_names names = {0};
	struct err none = ERR_INIT;
	struct dirent *entry;
	unsigned gone = 0;
	int fd = openat(s->home_fd, "locks", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *locks = fd < 0 ? NULL : fdopendir(fd);

	if (workspace_names(s, is_twin_of_ours, NULL, &names, &none) >= 0)
		for (size_t i = 0; i < names.n; i++)
			gone += (unsigned)reap(s, names.name[i]);
	free(names.name);
	/* Locks of those that never came to be. */
	while (locks && (entry = readdir(locks)))
		gone += (unsigned)reap(s, entry->d_name);
	if (locks)
		(void)closedir(locks);
	else
		fd_close(&fd);
	return gone;
}

int twin_make(const struct value *kept, const char *run, struct twin *t, struct err *e)
{
	const struct value *w = value_get(kept, "workspace");
	const char *name = value_str(value_get(w, "name"));
	char at[24];
	struct snap snap;

	*t = (struct twin){.lock = FD_NONE};
	if (!name)
		return 0;
	int r = workspace_store(NULL, &t->store, e);
	if (r < 0)
		return r;
	(void)twins_reap(t->store->store);
	(void)snprintf(t->name, sizeof(t->name), PREFIX "%s", run + 3);
	(void)snprintf(at, sizeof(at), "%lld", (long long)value_int(value_get(w, "snapshot")));
	r = lock_twin(t->store->store, t->name, &t->lock, e);
	if (r >= 0)
		r = history_fork(t->store->store, name, at, t->name, &snap, e);
	return r < 0 ? err_wrap(e, "snapshot %s of workspace %s", at, name) : 0;
}

void twin_done(struct twin *t)
{
	uint64_t bytes = 0;
	struct err none = ERR_INIT;
	char path[96];

	if (t->lock >= 0) {
		if (workspace_remove(t->store->store, t->name, &none) >= 0)
			(void)store_collect(t->store->store, &bytes,
					    &none); /* else the next one does */
		lock_path(t->name, path);
		(void)unlinkat(t->store->store->home_fd, path, 0);
		fd_close(&t->lock);
	}
	pinfold_store_close(t->store);
}
