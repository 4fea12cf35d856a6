/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a directory of the host holds, as one number. For each entry, in the order of names and a
 * directory before what is in it: its path, NUL, its type and mode, NUL, and the digest of a file
 * or the text of a link, NUL. Times do not count: content that is the same is the same.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/replay.h"

#define DEPTH_MAX 128u
#define ENTRIES_MAX 200000u
#define BYTES_MAX (UINT64_C(4) << 30)

struct walk {
	struct hash hash;
	const char *const *hidden;
	char path[4096]; /* below the directory */
	size_t len;
	unsigned depth;
	uint64_t entries, bytes;
};

struct names {
	char **list;
	size_t n, room;
};

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}
#define auto_names __attribute__((cleanup(names_free)))

static int too_much(struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "--dir: more than %u files, or 4 GiB", ENTRIES_MAX);
	return err_remedy(e, "show a smaller directory");
}

static int names_add(struct names *names, const char *name, struct err *e)
{
	if (names->n == names->room) {
		size_t room = names->room ? names->room * 2 : 64;
		char **bigger = realloc(names->list, room * sizeof(*bigger));

		if (!bigger)
			return err_sys(e, "--dir");
		names->list = bigger;
		names->room = room;
	}
	names->list[names->n] = strdup(name);
	return names->list[names->n] ? (int)++names->n : err_sys(e, "--dir");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(int dir, struct names *ret, struct err *e)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;
	int r = 0;

	if (!all) {
		(void)err_sys(e, "--dir");
		fd_close(&copy);
		return -EIO;
	}
	while (r >= 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		r = ret->n >= ENTRIES_MAX ? too_much(e) : names_add(ret, d->d_name, e);
	}
	(void)closedir(all); /* only read */
	if (ret->n > 1)
		qsort(ret->list, ret->n, sizeof(*ret->list), by_name);
	return r < 0 ? r : 0;
}

static bool is_hidden(const struct walk *w)
{
	for (const char *const *h = w->hidden; h && *h; h++)
		if (strcmp(*h, w->path) == 0)
			return true;
	return false;
}

static int add_file(struct walk *w, int dir, const char *name, struct err *e)
{
	char text[HASH_TEXT_SIZE];
	auto_close int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r = fd < 0 ? -errno : hash_fd(fd, BYTES_MAX - w->bytes, text);

	if (r == -EFBIG)
		return too_much(e);
	if (r == -EACCES || r == -EPERM)
		text[0] = '\0'; /* nor can the sandbox read it */
	else if (r < 0)
		return errno = -r, err_sys(e, "--dir: %s", w->path);
	hash_add(&w->hash, text, strlen(text) + 1);
	return 0;
}

static int add_link(struct walk *w, int dir, const char *name, struct err *e)
{
	char to[4096];
	ssize_t n = readlinkat(dir, name, to, sizeof(to));

	if (n < 0)
		return err_sys(e, "--dir: %s", w->path);
	hash_add(&w->hash, to, (size_t)n);
	hash_add(&w->hash, "", 1);
	return 0;
}

static int walk(struct walk *w, int dir, struct err *e);

static int add_dir(struct walk *w, int dir, const char *name, struct err *e)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	hash_add(&w->hash, "", 1);
	if (fd < 0)
		return errno == EACCES ? 0 : err_sys(e, "--dir: %s", w->path);
	return w->depth >= DEPTH_MAX ? too_much(e) : walk(w, fd, e);
}

static int add(struct walk *w, int dir, const char *name, struct err *e)
{
	struct stat st;
	char mode[16];

	if (++w->entries > ENTRIES_MAX)
		return too_much(e);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "--dir: %s", w->path);
	int n = snprintf(mode, sizeof(mode), "%o", (unsigned)st.st_mode);
	hash_add(&w->hash, w->path, w->len + 1);
	hash_add(&w->hash, mode, (size_t)n + 1);
	if (S_ISDIR(st.st_mode))
		return add_dir(w, dir, name, e);
	if (S_ISLNK(st.st_mode))
		return add_link(w, dir, name, e);
	if (!S_ISREG(st.st_mode))
		return hash_add(&w->hash, "", 1), 0;
	w->bytes += (uint64_t)st.st_size;
	return w->bytes > BYTES_MAX ? too_much(e) : add_file(w, dir, name, e);
}

static int walk(struct walk *w, int dir, struct err *e)
{
	auto_names struct names names = {.list = NULL};
	size_t len = w->len;
	int r = read_names(dir, &names, e);

	w->depth++;
	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		int n = snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "",
				 names.list[i]);

		if (len + (size_t)n >= sizeof(w->path))
			return too_much(e);
		w->len = len + (size_t)n;
		r = is_hidden(w) ? 0 : add(w, dir, names.list[i], e);
	}
	w->path[len] = '\0';
	w->len = len;
	w->depth--;
	return r;
}

int dir_digest(int dir, const char *const *hidden, char ret[HASH_TEXT_SIZE], struct err *e)
{
	auto_free struct walk *w = calloc(1, sizeof(*w));
	uint8_t digest[HASH_BYTES];

	if (!w)
		return err_sys(e, "--dir");
	hash_init(&w->hash);
	w->hidden = hidden;
	int r = walk(w, dir, e);
	if (r < 0)
		return r;
	hash_done(&w->hash, digest);
	hash_text(digest, ret);
	return 0;
}
