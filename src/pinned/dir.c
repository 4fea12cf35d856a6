/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a directory come in their order. That of a file system goes by a secret of its own (ext4)
 * or by what was there before, so an archive of the same files would not be the same. A directory is
 * read whole with the first name that somebody wants of it; one of /proc, whose order is known, and
 * one that is very large, are left as they are.
 */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define OPEN_MAX_DIRS 64u /* at a time; more are in the file system's order */
#define TEXT_MAX (16u << 20)
#define PROC_MAGIC 0x9fa0

struct names {
	char *text; /* the entries, one behind the other; there is room for a whole one more */
	size_t len, room;
	struct dirent64 **at;
	size_t n, next;
	int error;     /* that came behind the last */
	bool is_plain; /* read as it comes, after all */
};

/* A slot belongs to who has put its directory there. */
static struct {
	_Atomic(DIR *) dir;
	struct names names;
} slots[OPEN_MAX_DIRS];

static struct dirent64 *read_behind(DIR *dir)
{
	static struct dirent64 *(*behind)(DIR *);

	if (!behind)
		behind = pinned_behind("readdir64", NULL);
	return behind(dir);
}

static struct names *find(const DIR *dir)
{
	for (size_t i = 0; i < OPEN_MAX_DIRS; i++)
		if (atomic_load(&slots[i].dir) == dir)
			return &slots[i].names;
	return NULL;
}

static struct names *take_slot(DIR *dir)
{
	for (size_t i = 0; i < OPEN_MAX_DIRS; i++) {
		DIR *none = NULL;

		if (!atomic_compare_exchange_strong(&slots[i].dir, &none, dir))
			continue;
		slots[i].names = (struct names){0};
		return &slots[i].names;
	}
	return NULL;
}

static void clear(struct names *names)
{
	free(names->text);
	free(names->at);
	*names = (struct names){0};
}

static void forget(const DIR *dir)
{
	for (size_t i = 0; i < OPEN_MAX_DIRS; i++) {
		if (atomic_load(&slots[i].dir) != dir)
			continue;
		clear(&slots[i].names);
		atomic_store(&slots[i].dir, NULL);
	}
}

/* Who copies one may copy all that one can have. */
static bool add(struct names *names, const struct dirent64 *entry)
{
	if (names->len + 2 * sizeof(*entry) > names->room) {
		size_t room = names->room ? 2 * names->room : 8192;
		char *more = room > TEXT_MAX ? NULL : realloc(names->text, room);

		if (!more)
			return false;
		names->text = more;
		names->room = room;
	}
	memcpy(names->text + names->len, entry, entry->d_reclen);
	names->len += entry->d_reclen;
	names->n++;
	return true;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int in_order(const void *a, const void *b)
{
	const char *x = (*(struct dirent64 *const *)a)->d_name;
	const char *y = (*(struct dirent64 *const *)b)->d_name;
	int dots = is_dots(y) - is_dots(x);

	return dots ? dots : strcmp(x, y);
}

static bool has_order(DIR *dir)
{
	struct statfs fs;

	return sys2(SYS_fstatfs, dirfd(dir), &fs) < 0 || fs.f_type == PROC_MAGIC;
}

static bool sort(struct names *names)
{
	char *p = names->text;

	names->at = calloc(names->n + 1, sizeof(struct dirent64 *));
	if (!names->at)
		return false;
	for (size_t i = 0; i < names->n; i++) {
		names->at[i] = (struct dirent64 *)(void *)p;
		p += names->at[i]->d_reclen;
	}
	qsort(names->at, names->n, sizeof(struct dirent64 *), in_order);
	for (size_t i = 0; i < names->n; i++)
		names->at[i]->d_off = (off64_t)i + 1;
	return true;
}

static bool read_all(DIR *dir, struct names *names)
{
	struct dirent64 *entry;

	errno = 0;
	while ((entry = read_behind(dir)))
		if (!add(names, entry))
			return false;
	names->error = errno;
	return sort(names);
}

static void rewind_behind(DIR *dir)
{
	static void (*behind)(DIR *);

	if (!behind)
		behind = pinned_behind("rewinddir", NULL);
	behind(dir);
}

/* NULL: it is read as it comes. */
static struct names *names_of(DIR *dir)
{
	int saved = errno;
	struct names *names = find(dir);

	if (!names && pinned_thread() && !has_order(dir)) {
		names = take_slot(dir);
		if (names && !read_all(dir, names)) {
			clear(names);
			names->is_plain = true;
			rewind_behind(dir);
		}
	}
	errno = saved;
	return names && names->is_plain ? NULL : names;
}

PINNED_API struct dirent64 *readdir64(DIR *dir)
{
	struct names *names = names_of(dir);

	if (!names)
		return read_behind(dir);
	if (names->next < names->n)
		return names->at[names->next++];
	if (names->error)
		errno = names->error;
	return NULL;
}

PINNED_API void rewinddir(DIR *dir)
{
	forget(dir);
	rewind_behind(dir);
}

PINNED_API long telldir(DIR *dir)
{
	struct names *names = names_of(dir);
	long (*behind)(DIR *) = names ? NULL : pinned_behind("telldir", NULL);

	return names ? (long)names->next : behind(dir);
}

PINNED_API void seekdir(DIR *dir, long to)
{
	struct names *names = names_of(dir);
	void (*behind)(DIR *, long) = names ? NULL : pinned_behind("seekdir", NULL);

	if (!names)
		behind(dir, to);
	else
		names->next = to < 0 || (size_t)to > names->n ? names->n : (size_t)to;
}

PINNED_API int closedir(DIR *dir)
{
	static int (*behind)(DIR *);

	if (!behind)
		behind = pinned_behind("closedir", NULL);
	forget(dir);
	return behind(dir);
}

PINNED_ALSO(readdir, readdir64);
