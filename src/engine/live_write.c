/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written into a sandbox that lives: guest/files_write.c has them until they have
 * a name. */
#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/live_files.h"

struct pinfold_file_writer {
	struct pinfold_files *files; /* borrowed */
	uint32_t server;	     /* the one that has it */
	uint32_t number;
	int fd;
	char path[FILES_PATH_SIZE];
};

static uint32_t wire_flags(uint32_t flags)
{
	return (flags & PINFOLD_WRITE_APPEND ? FILES_APPEND : 0) |
	       (flags & PINFOLD_WRITE_NEW ? FILES_NEW : 0) |
	       (flags & PINFOLD_WRITE_PARENTS ? FILES_PARENTS : 0);
}

/* Whatever it is that came: we write to regular files only. */
static int check_descriptor(struct pinfold_files *f, int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && f->got.answer.value < FILES_WRITERS_MAX)
		return 0;
	files_drop(f);
	return err_set(e, ERR_INTERNAL, "%.200s: the sandbox gave an answer that makes no sense",
		       f->about);
}

static int check_flags(uint32_t flags, uint32_t mode, struct err *e)
{
	if ((flags & PINFOLD_WRITE_APPEND) && (flags & PINFOLD_WRITE_NEW))
		(void)err_set(e, ERR_INVALID,
			      "append: there is nothing to append to in a new file");
	else if (mode > 07777)
		(void)err_set(e, ERR_INVALID, "mode: %o has bits beyond 7777", mode);
	else
		return 0;
	return err_remedy(e, "leave one of both out, or give permission bits such as 0644");
}

int pinfold_file_write(struct pinfold_files *files, const char *path, uint32_t flags, uint32_t mode,
		       struct pinfold_file_writer **ret_writer, struct pinfold_error *ret_error)
{
	const struct files_question q = {
		.op = FILES_WRITE,
		.flags = wire_flags(flags),
		.mode = mode ? mode : FILES_MODE_OLD,
		.path = path,
	};
	auto_free struct pinfold_file_writer *w = calloc(1, sizeof(*w));
	auto_close int fd = FD_NONE;
	struct err e = ERR_INIT;

	assert(files && path && ret_writer && ret_error);
	int r = w ? check_flags(flags, mode, &e) : err_sys(&e, "write");
	if (r >= 0)
		r = files_absolute(path, w->path, &e);
	if (r >= 0)
		r = files_do(files, &q, &fd, &e);
	if (r >= 0)
		r = check_descriptor(files, fd, &e);
	if (r < 0)
		return files_result(r, &e, ret_error);
	w->files = files;
	w->server = files->server;
	w->number = (uint32_t)files->got.answer.value;
	w->fd = take_fd(&fd);
	*ret_writer = take_ptr(&w);
	return 0;
}

int pinfold_file_writer_fd(const struct pinfold_file_writer *writer)
{
	return writer->fd;
}

/* A server that ended took what it had with it. */
static int finish(struct pinfold_file_writer *w, enum files_op op, struct err *e)
{
	const struct files_question q = {.op = op, .mode = w->number};

	fd_close(&w->fd); /* before it has a name: nobody executes what is open to write */
	if (w->server == w->files->server) {
		int r = files_ask(w->files, &q, e);

		w->files->about = w->path;
		while (r >= 0 && (r = files_next(w->files, NULL, e)) == 1)
			;
		w->files->about = NULL;
		return r;
	}
	(void)err_set(e, ERR_CONFLICT, "%.200s: the file server ended before all was written",
		      w->path);
	(void)err_detail(e, "gone");
	return err_remedy(e, "write it again");
}

int pinfold_file_commit(struct pinfold_file_writer *writer, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(writer && ret_error);
	int r = finish(writer, FILES_COMMIT, &e);
	free(writer);
	return files_result(r, &e, ret_error);
}

void pinfold_file_abort(struct pinfold_file_writer *writer)
{
	struct err ignored = ERR_INIT;

	if (!writer)
		return;
	(void)finish(writer, FILES_ABORT, &ignored); /* or it ended, and all is gone, too */
	free(writer);
}
