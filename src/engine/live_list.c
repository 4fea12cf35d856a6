/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a directory of a sandbox that lives, and below. One directory is asked for at a time,
 * held whole and sorted; those on the way down stay held, and all together have a bound.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/live_files.h"

#define HELD_MAX (64u << 20)

struct entry {
	struct files_info info;
	char *name;
	char *target; /* NULL: none */
};

struct listing {
	struct pinfold_files *files;
	int64_t after_ns;
	pinfold_file_fn *each;
	void *arg;
	bool stop;
	size_t held; /* bytes */
	char path[FILES_PATH_SIZE];
	struct pinfold_file_info info;
};

/* Of one directory. */
struct entries {
	struct entry *all;
	size_t n, room;
	size_t bytes;
};

static void entries_done(struct listing *l, struct entries *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->all[i].name);
		free(d->all[i].target);
	}
	free(d->all);
	l->held -= d->bytes;
}

static int add(struct listing *l, struct entries *d, const struct files_entry *entry,
	       const char *name, const char *target)
{
	size_t bytes = sizeof(struct entry) + entry->name_len + entry->target_len + 2;

	if (l->held + bytes > HELD_MAX)
		return -E2BIG;
	if (d->n == d->room) {
		size_t room = d->room ? d->room * 2 : 64;
		struct entry *more = reallocarray(d->all, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->all = more;
		d->room = room;
	}
	struct entry *to = &d->all[d->n];
	*to = (struct entry){.info = entry->info, .name = strndup(name, entry->name_len)};
	if (to->name && S_ISLNK(entry->info.mode))
		to->target = strndup(target, entry->target_len);
	if (!to->name || (S_ISLNK(entry->info.mode) && !to->target)) {
		free(to->name);
		return -ENOMEM;
	}
	d->n++;
	d->bytes += bytes;
	l->held += bytes;
	return 0;
}

static int take(struct listing *l, struct entries *d, struct err *e)
{
	struct files_entry entry;
	const char *name, *target;
	uint32_t pos = 0;
	int r = 0;

	while (r >= 0 && pos < l->files->len) {
		r = files_entry_next(files_data(l->files), l->files->len, &pos, &entry, &name,
				     &target);
		if (r >= 0)
			r = add(l, d, &entry, name, target);
	}
	if (r >= 0)
		return 0;
	files_drop(l->files); /* the rest of its answer is not wanted */
	if (r == -EINVAL)
		return err_set(e, ERR_INTERNAL,
			       "%.200s: the sandbox gave an answer that makes no sense", l->path);
	(void)err_set(e, ERR_LIMIT, "%.200s: there is too much in it to be listed", l->path);
	return err_remedy(e, "list a directory below it, or less deep");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int ask(struct listing *l, bool top, struct entries *d, struct err *e)
{
	const struct files_question q = {
		.op = FILES_LIST,
		.flags = top ? 0 : FILES_NOFOLLOW,
		.path = l->path,
	};
	int more = files_ask(l->files, &q, e);

	if (more < 0)
		return more;
	do {
		more = files_next(l->files, NULL, e);
		int r = more < 0 ? more : take(l, d, e);
		if (r < 0)
			return r;
	} while (more);
	if (d->n > 1)
		qsort(d->all, d->n, sizeof(d->all[0]), by_name);
	return 0;
}

static void tell(struct listing *l, const struct entry *entry)
{
	if (l->after_ns && entry->info.ctime_ns <= l->after_ns)
		return;
	files_take_info(&entry->info, &l->info);
	if (entry->target)
		memcpy(l->info.target, entry->target, strlen(entry->target) + 1);
	l->stop = l->each(l->path, &l->info, l->arg) != 0;
}

/* It went or became something else, or its owner closed it: not what we were asked about. */
static bool is_passed_over(const struct err *e)
{
	return e->kind == ERR_MISSING || e->kind == ERR_DENIED ||
	       (e->kind == ERR_CONFLICT && strcmp(e->detail, "not_directory") == 0);
}

static int walk(struct listing *l, unsigned depth, unsigned left, struct err *e)
{
	struct entries d = {0};
	size_t len = strlen(l->path), at = len > 1 ? len : 0;
	int r = ask(l, depth == 0, &d, e);

	if (r < 0 && depth > 0 && is_passed_over(e))
		r = 0;
	for (size_t i = 0; i < d.n && r >= 0 && !l->stop; i++) {
		size_t n = strlen(d.all[i].name);

		if (at + 1 + n >= sizeof(l->path))
			continue;
		l->path[at] = '/';
		memcpy(l->path + at + 1, d.all[i].name, n + 1);
		tell(l, &d.all[i]);
		if (!l->stop && S_ISDIR(d.all[i].info.mode) && left != 1)
			r = walk(l, depth + 1, left ? left - 1 : 0, e);
	}
	if (r >= 0)
		l->path[len] = '\0';
	entries_done(l, &d);
	return r;
}

int pinfold_file_list(struct pinfold_files *files, const char *path, unsigned depth,
		      int64_t changed_after_ns, pinfold_file_fn *each, void *arg,
		      struct pinfold_error *ret_error)
{
	auto_free struct listing *l = calloc(1, sizeof(*l));
	struct err e = ERR_INIT;

	assert(files && path && each && ret_error);
	if (!l)
		return files_result(err_sys(&e, "list"), &e, ret_error);
	l->files = files;
	l->after_ns = changed_after_ns;
	l->each = each;
	l->arg = arg;
	int r = files_absolute(path, l->path, &e);
	if (r >= 0)
		r = walk(l, 0, depth, &e);
	files->about = NULL;
	return files_result(r, &e, ret_error);
}
