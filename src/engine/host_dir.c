/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/host_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "apply/write.h"
#include "base/fd.h"
#include "base/id.h"
#include "store/apply.h"

static int open_dir(struct host_dir *d, struct err *e)
{
	if (!d->w.dir[0]) {
		(void)err_set(e, ERR_INVALID, "workspace %s shows no directory of the host",
			      d->w.name);
		return err_remedy(e, "make one that does: pinfold new NAME --dir DIR");
	}
	d->fd = open(d->w.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->fd < 0) {
		(void)err_sys(e, "the directory %s", d->w.dir);
		return err_remedy(e, "put it back where it was");
	}
	if (workspace_is_dir(&d->w, d->fd))
		return 0;
	(void)err_set(e, ERR_CONFLICT, "%s is another directory than the one that %s was made with",
		      d->w.dir, d->w.name);
	return err_remedy(e, "put that one back, or make a new workspace on this one");
}

static int lock_dir(const struct host_dir *d, struct err *e)
{
	if (flock(d->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_sys(e, "%s", d->w.dir);
	(void)err_set(e, ERR_BUSY, "somebody is writing to %s", d->w.dir);
	return err_remedy(e, "try again in a moment");
}

static int take_back(const struct host_dir *d, const struct apply_row *row, struct err *e)
{
	struct apply_set set = APPLY_SET_INIT;
	int r = 0;

	set.dir = dup(d->fd);
	if (set.dir < 0)
		return err_sys(e, "%s", d->w.dir);
	r = apply_load(d->store, row, &set, e);
	if (r >= 0)
		r = apply_back(&set, e);
	if (r >= 0)
		r = apply_note(d->store, row->workspace, &set, false, e);
	/* It goes when all is taken back; a power cut may have brought the row back without it. */
	if (set.stage < 0 && r == -ENOENT)
		r = 0;
	apply_set_done(&set);
	return r < 0 ? err_wrap(e, "take back what was written by halves") : 0;
}

/* We hold the lock, so whoever began it is dead. */
static int recover(const struct host_dir *d, struct err *e)
{
	struct apply_row row;
	int r = 0;

	while ((r = apply_find_unfinished(d->store, d->w.dir, &row, e)) > 0) {
		if (row.state == APPLY_WRITING)
			r = take_back(d, &row, e);
		if (r >= 0)
			r = apply_forget(d->store, row.id, e);
		if (r < 0)
			break;
	}
	return r;
}

static int settle(struct host_dir *d, bool write, struct err *e)
{
	struct apply_row row;
	int r = 0;

	if (!write)
		r = apply_find_unfinished(d->store, d->w.dir, &row, e);
	if (r < 0 || (r == 0 && !write))
		return r;
	r = lock_dir(d, e);
	if (r >= 0)
		r = recover(d, e);
	if (r >= 0 && !write)
		(void)flock(d->fd, LOCK_UN); /* closing would do it, too */
	return r;
}

int host_dir_meant(struct store *s, const char *name, char ret[STORE_NAME_MAX + 1], struct err *e)
{
	if (id_is("sbx", name)) {
		(void)err_set(e, ERR_INVALID, "%s is a sandbox, not a workspace", name);
		return err_remedy(e, "pinfold cp %s:/work DST copies what it has there", name);
	}
	if (!id_is("run", name)) {
		int r = store_check_name(name, e); /* before it is cut to what fits */

		(void)snprintf(ret, STORE_NAME_MAX + 1, "%s", name);
		return r;
	}
	int r = workspace_of_run(s, name, ret, e);
	if (r != 0)
		return r;
	(void)err_set(e, ERR_MISSING, "no workspace has what %s changed", name);
	return err_remedy(e,
			  "changes are dropped with a run unless it keeps them: pinfold run --name "
			  "NAME --dir DIR -- COMMAND");
}

int host_dir_open(struct store *s, const char *name, bool write, struct host_dir **ret,
		  struct err *e)
{
	struct host_dir *d = calloc(1, sizeof(*d));

	if (!d)
		return err_sys(e, "open the directory");
	*d = (struct host_dir){.store = s, .fd = FD_NONE, .lock = FD_NONE};
	int r = workspace_find(s, name, &d->w, e);
	if (r >= 0)
		r = open_dir(d, e);
	if (r >= 0 && write)
		r = workspace_lock(s, &d->w, USE_ALONE, &d->lock, e);
	if (r >= 0 && write)
		r = workspace_find(s, name, &d->w, e); /* it may have moved before we held it */
	if (r >= 0)
		r = settle(d, write, e);
	if (r >= 0)
		r = history_get(s, d->w.head, &d->head, e);
	if (r < 0) {
		host_dir_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

void host_dir_close(struct host_dir *d)
{
	if (!d)
		return;
	fd_close(&d->fd);
	fd_close(&d->lock);
	free(d);
}
