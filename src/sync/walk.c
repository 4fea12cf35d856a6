/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of a tree on descriptors: each directory is opened from its parent, by a name that the
 * parent just gave, and never through a link. Names are sorted directory by directory, which makes
 * the manifest's order and lets the old index be read beside it, step by step.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/digest.h"
#include "sync/ignore.h"
#include "sync/scan_int.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define NAMES_MAX ((size_t)1 << 30) /* bytes of names in one directory */

struct walk {
	const struct scan_opts *opts;
	const struct index *old;
	size_t old_at;
	struct found_list *list;
	struct scan_counts *counts;
	struct ignore_level levels[IGNORE_DEPTH_MAX];
	size_t n_levels;
	size_t path_len;
	char path[MANIFEST_PATH_MAX + 1];
};

/* One directory's names: for each the type, the name and a NUL. */
struct names {
	struct buf text;
	const char **sorted; /* each at its type; the name is behind it */
	size_t n;
	bool has_git;
	bool has_pinfold;
};

static int walk_dir(struct walk *w, int fd, unsigned depth, struct err *e);

void found_done(struct found_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->all[i].chunks);
	free(list->all);
	arena_done(&list->arena);
	*list = (struct found_list){0};
}

static void names_done(struct names *names)
{
	buf_done(&names->text);
	free(names->sorted);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

static void take_names(struct names *names, const char *block, size_t len)
{
	for (size_t at = 0; at < len;) {
		const struct dirent64 *d = (const void *)(block + at);

		at += d->d_reclen;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		names->has_git |= strcmp(d->d_name, ".gitignore") == 0;
		names->has_pinfold |= strcmp(d->d_name, ".pinfoldignore") == 0;
		buf_u8(&names->text, d->d_type);
		buf_add(&names->text, d->d_name, strlen(d->d_name) + 1);
		names->n++;
	}
}

static int read_names(int fd, struct names *ret, struct err *e)
{
	char block[32768] __attribute__((aligned(16)));
	ssize_t n;

	buf_init(&ret->text, NAMES_MAX);
	while ((n = getdents64(fd, block, sizeof(block))) > 0)
		take_names(ret, block, (size_t)n);
	if (n < 0)
		return err_sys(e, "list");
	errno = ENOMEM;
	ret->sorted = calloc(ret->n + 1, sizeof(ret->sorted[0]));
	if (ret->text.error || !ret->sorted)
		return err_sys(e, "list");
	const char *at = (const char *)ret->text.data;
	for (size_t i = 0; i < ret->n; i++) {
		ret->sorted[i] = at;
		at += strlen(at + 1) + 2;
	}
	qsort(ret->sorted, ret->n, sizeof(ret->sorted[0]), by_name);
	return 0;
}

/* A rules file that is no regular file has no say, as with git. */
static int read_rules(int dir, const char *name, struct ignore_rules **ret, struct err *e)
{
	auto_buf struct buf text = {0};
	int r = load_file(dir, name, IGNORE_FILE_MAX, &text);

	if (r == -ENOENT || r == -ELOOP)
		return 0;
	if (r < 0) {
		errno = -r;
		return err_sys(e, "%s", name);
	}
	return text.len ? ignore_parse((const char *)text.data, text.len, ret, e) : 0;
}

static int enter_rules(struct walk *w, int fd, const struct names *names, struct err *e)
{
	struct ignore_level *level = &w->levels[w->n_levels];
	int r = 0;

	assert(w->n_levels < IGNORE_DEPTH_MAX);
	*level = (struct ignore_level){.path_len = w->path_len};
	w->n_levels++;
	if (names->has_git && !w->opts->take_all)
		r = read_rules(fd, ".gitignore", &level->git, e);
	if (r == 0 && names->has_pinfold && !w->opts->take_all)
		r = read_rules(fd, ".pinfoldignore", &level->pinfold, e);
	return r;
}

static void leave_rules(struct walk *w)
{
	struct ignore_level *level = &w->levels[--w->n_levels];

	ignore_free(level->git);
	ignore_free(level->pinfold);
}

static int append(struct walk *w, enum manifest_kind kind, struct found **ret, struct err *e)
{
	struct found_list *list = w->list;

	if (list->n == w->opts->limits.entries_max)
		return err_set(e, ERR_LIMIT, "more than %u files and directories",
			       w->opts->limits.entries_max);
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 256;
		struct found *grown = reallocarray(list->all, cap, sizeof(*grown));

		if (!grown)
			return err_sys(e, "walk");
		list->all = grown;
		list->cap = cap;
	}
	const char *path = arena_text(&list->arena, w->path, w->path_len);
	errno = ENOMEM;
	if (!path)
		return err_sys(e, "walk");
	*ret = &list->all[list->n++];
	**ret = (struct found){.path = path, .kind = (uint8_t)kind};
	return 0;
}

static void look_up(struct walk *w, struct found *f, const struct stat *st)
{
	const struct manifest *tree = &w->old->tree;
	int order = 1;

	while (w->old_at < tree->n) {
		order = manifest_path_cmp(tree->entries[w->old_at].path, f->path);
		if (order >= 0)
			break;
		w->old_at++;
	}
	if (w->old_at < tree->n && order == 0 &&
	    index_holds(w->old, w->old_at, st, w->opts->any_dev))
		f->known = &tree->entries[w->old_at];
}

static int take_link(struct walk *w, int dir, const char *name, struct err *e)
{
	char target[MANIFEST_PATH_MAX + 2];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0 && (errno == ENOENT || errno == EINVAL))
		return 0; /* it was one a moment ago */
	if (n < 0)
		return err_sys(e, "%.200s", w->path);
	struct found *f = NULL;
	int r = append(w, MANIFEST_LINK, &f, e);
	if (r < 0)
		return r;
	f->target = arena_text(&w->list->arena, target, (size_t)n);
	f->stat.mode = S_IFLNK | 0777;
	errno = ENOMEM;
	return f->target ? 0 : err_sys(e, "walk");
}

static int take_dir(struct walk *w, int dir, const char *name, unsigned depth, struct err *e)
{
	auto_close int fd = openat(dir, name, DIR_FLAGS);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%.200s", w->path);
	if (depth == MANIFEST_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "%.200s: more than %d directories deep", w->path,
			       MANIFEST_DEPTH_MAX);
	struct found *f = NULL;
	int r = append(w, MANIFEST_DIR, &f, e);
	if (r < 0)
		return r;
	f->stat = index_stat_of(&st);
	return walk_dir(w, fd, depth + 1, e);
}

static int take(struct walk *w, int dir, const char *name, unsigned char type, unsigned depth,
		struct err *e)
{
	struct stat st = {0};

	if (type == DT_LNK)
		return take_link(w, dir, name, e);
	if (type == DT_DIR)
		return take_dir(w, dir, name, depth, e);
	if (type == DT_REG && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%.200s", w->path);
	if (!S_ISREG(st.st_mode)) {
		w->counts->special++;
		return 0;
	}
	struct found *f = NULL;
	int r = append(w, MANIFEST_FILE, &f, e);
	if (r < 0)
		return r;
	f->stat = index_stat_of(&st);
	look_up(w, f, &st);
	return 0;
}

/* Some file systems do not say of what type a name is. */
static unsigned char real_type(int dir, const char *name, unsigned char type)
{
	struct stat st;

	if (type != DT_UNKNOWN || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return type;
	return IFTODT(st.st_mode);
}

static int visit(struct walk *w, int dir, const char *typed, unsigned depth, struct err *e)
{
	const char *name = typed + 1;
	size_t old_len = w->path_len, len = strlen(name);
	unsigned char type = real_type(dir, name, (unsigned char)*typed);
	int r = 0;

	if (w->opts->skip_git && strcmp(name, ".git") == 0)
		return 0;
	if (old_len + len + 1 > MANIFEST_PATH_MAX)
		return err_set(e, ERR_LIMIT, "%.200s: a path of more than %d bytes", w->path,
			       MANIFEST_PATH_MAX);
	if (old_len)
		w->path[w->path_len++] = '/';
	memcpy(w->path + w->path_len, name, len + 1);
	w->path_len += len;
	if (ignore_judge(w->levels, w->n_levels, w->path, type == DT_DIR))
		w->counts->ignored++;
	else
		r = take(w, dir, name, type, depth, e);
	w->path_len = old_len;
	w->path[old_len] = 0;
	return r;
}

static int walk_dir(struct walk *w, int fd, unsigned depth, struct err *e)
{
	__attribute__((cleanup(names_done))) struct names names = {0};
	int r = read_names(fd, &names, e);

	if (r < 0)
		return err_wrap(e, "%.200s", w->path);
	r = enter_rules(w, fd, &names, e);
	for (size_t i = 0; r >= 0 && i < names.n; i++)
		r = visit(w, fd, names.sorted[i], depth, e);
	leave_rules(w);
	return r;
}

int walk_tree(int root, const struct scan_opts *opts, const struct index *old,
	      struct found_list *ret, struct scan_counts *counts, struct err *e)
{
	/* A descriptor of our own: the caller's keeps its place in the directory. */
	auto_close int fd = openat(root, ".", DIR_FLAGS);
	struct walk w = {.opts = opts, .old = old, .list = ret, .counts = counts};

	ret->arena.max = opts->limits.memory_max;
	if (fd < 0)
		return err_sys(e, "open the tree");
	return walk_dir(&w, fd, 0, e);
}
