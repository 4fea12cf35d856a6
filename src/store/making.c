/* SPDX-License-Identifier: Apache-2.0 */
#include "store/making.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/upper.h"

int apart_lock(struct store *s, int64_t kind, int64_t id, enum workspace_use use, int *ret_fd,
	       struct err *e)
{
	struct workspace one = {.id = kind - id};

	return workspace_lock(s, &one, use, ret_fd, e);
}

/* ext4 puts what is in a directory near to it. Thousands of files at once are better off where there
 * is much room: beside much that was just removed, one without a journal looks at all of that for
 * each new file. This is what chattr +T says; other file systems know nothing of it. */
static void spread(int dir)
{
	int flags = 0;

	if (ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(dir, FS_IOC_SETFLAGS, &flags); /* slower without */
	}
}

static int make_directory(const struct making *m, uint32_t part, struct err *e)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", m->number);
	if (mkdirat(m->store->layers_fd, name, 0700) < 0)
		return err_sys(e, "make a layer");
	auto_close int dir =
		openat(m->store->layers_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return err_sys(e, "make a layer");
	spread(dir);
	return layer_make_parts(m->store, dir, part, e);
}

int making_begin(struct store *s, int64_t kind, uint32_t part, struct making *ret, struct err *e)
{
	*ret = (struct making){.store = s, .lock = FD_NONE};
	/* Beside others who make one: it tells that we live. */
	int r = apart_lock(s, kind, 0, USE_SHARED, &ret->lock, e);
	if (r >= 0)
		r = db_run(s->db, e,
			   "INSERT INTO layer(workspace, state, parts, files, bytes, stack)"
			   " VALUES(?1, 0, 0, 0, 0, '')",
			   "i", kind);
	if (r >= 0) {
		ret->number = (uint32_t)db_last_id(s->db);
		r = make_directory(ret, part, e);
	}
	if (r < 0)
		making_end(ret);
	return r;
}

int making_sync(const struct making *m, struct err *e)
{
	return syncfs(m->store->layers_fd) < 0 ? err_sys(e, "write the layer to disk") : 0;
}

int making_freeze(const struct making *m, uint32_t parts, uint64_t files, uint64_t bytes,
		  struct err *e)
{
	return db_run(m->store->db, e,
		      "UPDATE layer SET state = 1, parts = ?2, files = ?3, bytes = ?4, stack = NULL"
		      " WHERE id = ?1 AND state = 0",
		      "iiii", (int64_t)m->number, (int64_t)parts, (int64_t)files, (int64_t)bytes);
}

void making_keep(struct making *m)
{
	m->number = 0;
}

void making_end(struct making *m)
{
	if (m->number)
		layer_forget(m->store, m->number);
	m->number = 0;
	fd_close(&m->lock);
}
