/* SPDX-License-Identifier: Apache-2.0 */
#include "api/listfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define FILE_MAX (1u << 20)
#define NAME_SIZE 64

static int read_all(const struct listfile_kind *kind, int fd, void **ret, size_t *ret_n,
		    struct err *e)
{
	auto_free char *text = malloc(FILE_MAX + 1);
	auto_free char *list = calloc(kind->most + 1, kind->size);
	size_t len = 0, n = 0;
	char *save = NULL;

	if (!text || !list || fd_read_max(fd, text, FILE_MAX, &len) < 0)
		return err_sys(e, "read %s", kind->what);
	text[len] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (n == kind->most || !kind->read(line, list + n * kind->size)) {
			(void)err_set(e, ERR_INTERNAL, "the file of %s is damaged, line %zu",
				      kind->name, n + 1);
			return kind->remedy ? err_remedy(e, "%s", kind->remedy) : -EIO;
		}
		n++;
	}
	*ret_n = n;
	*ret = take_ptr(&list);
	return 0;
}

static int open_to_read(const struct listfile_kind *kind, int dir)
{
	return openat(dir, kind->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

void listfile_clear(struct listfile *f)
{
	free(f->list);
	f->list = NULL;
	f->n = 0;
	f->inode = 0;
}

int listfile_refresh(struct listfile *f, struct err *e)
{
	auto_close int fd = open_to_read(f->kind, f->dir);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == f->inode &&
	    st.st_mtim.tv_sec == f->changed.tv_sec && st.st_mtim.tv_nsec == f->changed.tv_nsec)
		return 0;
	listfile_clear(f);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open %s", f->kind->what);
	int r = read_all(f->kind, fd, &f->list, &f->n, e);
	if (r == 0) {
		f->inode = st.st_ino;
		f->changed = st.st_mtim;
	}
	return r;
}

int listfile_load(const struct listfile_kind *kind, int dir, void **ret, size_t *ret_n,
		  struct err *e)
{
	auto_close int fd = open_to_read(kind, dir);

	*ret_n = 0;
	if (fd >= 0)
		return read_all(kind, fd, ret, ret_n, e);
	if (errno != ENOENT)
		return err_sys(e, "open %s", kind->what);
	*ret = calloc(1, kind->size);
	return *ret ? 0 : err_sys(e, "%s", kind->what);
}

int listfile_lock(const struct listfile_kind *kind, int dir, int *ret, struct err *e)
{
	char name[NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s.lock", kind->name);
	*ret = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 || flock(*ret, LOCK_EX) < 0 ? err_sys(e, "lock %s", kind->what) : 0;
}

/* Who serves may read it and no more: it keeps the group of the directory. */
int listfile_save(const struct listfile_kind *kind, int dir, const void *list, size_t n,
		  struct err *e)
{
	char name[NAME_SIZE];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s.new", kind->name);
	auto_close int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 || fstat(dir, &st) < 0)
		return err_sys(e, "write %s", kind->what);
	if (geteuid() == 0 && fchown(fd, 0, st.st_gid) < 0)
		return err_sys(e, "give %s to group %u", kind->what, st.st_gid);
	for (size_t i = 0; i < n; i++)
		if (kind->write(fd, (const char *)list + i * kind->size) < 0)
			return err_sys(e, "write %s", kind->what);
	if (fchmod(fd, 0640) < 0 || fsync(fd) < 0 || renameat(dir, name, dir, kind->name) < 0 ||
	    fsync(dir) < 0)
		return err_sys(e, "write %s", kind->what);
	return 0;
}

int listfile_save_without(const struct listfile_kind *kind, int dir, void *list, size_t n, size_t i,
			  struct err *e)
{
	char *at = (char *)list + i * kind->size;

	memmove(at, at + kind->size, (n - i - 1) * kind->size);
	return listfile_save(kind, dir, list, n - 1, e);
}
