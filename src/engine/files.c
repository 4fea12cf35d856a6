/* SPDX-License-Identifier: Apache-2.0 */
/* Changed files as the guest reports them: descriptors, checked before a byte is read. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "engine/run_int.h"
#include "sandbox/hold.h"
#include "wire/msg.h"

/* The guest is not believed: what is hashed is a regular file by our own look, and of all together
 * no more is read than the sandbox could have stored. Holes and second names of a file cost their
 * maker nothing. */
static void hash_file(struct pinfold_run *run, struct run_file *f, int fd)
{
	uint64_t most = run->req.spec.limits.disk_bytes + SANDBOX_TREE_BYTES;
	uint64_t left = HOLD_FILES_BOUND ? most - run->hashed_bytes : UINT64_MAX;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	f->size = (uint64_t)st.st_size;
	if (f->size > left)
		return;
	run->hashed_bytes += f->size;
	if (hash_fd(fd, left, f->sha256) < 0)
		f->sha256[0] = '\0';
	else if (run->file_fn)
		run->file_fn(run->file_arg, f->path, fd, f->size);
}

void pinfold_run_on_file(struct pinfold_run *run, pinfold_kept_fn *fn, void *arg)
{
	run->file_fn = fn;
	run->file_arg = arg;
}

void run_add_file(struct pinfold_run *run, const struct msg_guest *msg, const char *path, int fd)
{
	size_t len = msg->len;

	if (!run->files)
		run->files = calloc(RUN_FILES_MAX, sizeof(*run->files));
	if (!run->files || run->n_files == RUN_FILES_MAX || len == 0 || msg->change < MSG_ADDED ||
	    msg->change > MSG_DELETED) {
		run->files_omitted++;
		return;
	}
	struct run_file *f = &run->files[run->n_files];
	*f = (struct run_file){.path = strndup(path, len),
			       .path_len = len,
			       .mode = msg->mode,
			       .change = msg->change,
			       .size = msg->value};
	if (!f->path) {
		run->files_omitted++;
		return;
	}
	if (msg->change != MSG_DELETED &&
	    ((run->req.flags & PINFOLD_CAPTURE) || run->replay || run->record.begun))
		hash_file(run, f, fd);
	run->n_files++;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct run_file *)a)->path, ((const struct run_file *)b)->path);
}

void run_sort_files(struct pinfold_run *run)
{
	if (run->n_files > 1)
		qsort(run->files, run->n_files, sizeof(run->files[0]), by_path);
}
