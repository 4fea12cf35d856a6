/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has anything changed since we looked last? By names, sizes, times and inodes, as git does it;
 * nothing is read. A file that was written twice within one tick of the clock could be missed, and
 * is found by its change time the next time that it is written.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hash.h"
#include "deps/names.h"
#include "engine/deps_kind.h"
#include "engine/deps_run.h"

#define ENTRIES_MAX 200000u
#define DEPTH_MAX 64u

#define PYTHON (1u << DEPS_PYTHON)
#define NODE (1u << DEPS_NODE)
#define R (1u << DEPS_R)
static const struct {
	const char *text;
	unsigned langs; /* a program of one of them */
} endings[] = {
	{".py", PYTHON},    {".pyw", PYTHON},  {".ipynb", PYTHON}, {".pyi", 0},	   {".pyx", 0},
	{".so", 0},	    {".js", NODE},     {".mjs", NODE},	   {".cjs", NODE}, {".ts", NODE},
	{".tsx", NODE},	    {".jsx", NODE},    {".mts", NODE},	   {".cts", NODE}, {".R", R},
	{".r", R},	    {".Rmd", R},       {".rmd", R},	   {".qmd", R},	   {".txt", 0},
	{".in", 0},	    {".toml", 0},      {".lock", 0},	   {".json", 0},   {"Pipfile", 0},
	{"DESCRIPTION", 0}, {"pyvenv.cfg", 0},
};
static const char *const skipped[] = {"node_modules", "__pycache__", "site-packages",
				      "dist-packages", "venv"};

struct walk {
	struct hash *to;
	uint8_t sum[HASH_BYTES]; /* of all entries, in whatever order they came */
	unsigned n, langs;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_meant(struct walk *w, const char *name)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!ends_with(name, endings[i].text))
			continue;
		w->langs |= endings[i].langs;
		return true;
	}
	return false;
}

static bool is_skipped(const char *name)
{
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (strcmp(name, skipped[i]) == 0)
			return true;
	return name[0] == '.';
}

/* An entry is known by its directory's inode and its name. */
static void add(struct walk *w, const char *name, uint64_t parent, const struct stat *st)
{
	struct {
		uint64_t parent, ino, dev, size, mode;
		struct timespec modified, changed;
	} key;
	uint8_t digest[HASH_BYTES];
	struct hash h;

	memset(&key, 0, sizeof(key));
	key.parent = parent;
	key.ino = st->st_ino;
	key.dev = st->st_dev;
	key.mode = st->st_mode;
	if (S_ISREG(st->st_mode)) { /* a directory changes with every file that nobody asks about */
		key.size = (uint64_t)st->st_size;
		key.modified = st->st_mtim;
		key.changed = st->st_ctim;
	}
	hash_init(&h);
	hash_add(&h, &key, sizeof(key));
	hash_add(&h, name, strlen(name));
	hash_done(&h, digest);
	unsigned carry = 0;
	for (size_t i = 0; i < HASH_BYTES; i++) {
		carry += (unsigned)w->sum[i] + digest[i];
		w->sum[i] = (uint8_t)carry;
		carry >>= 8;
	}
	w->n++;
}

static void walk_dir(struct walk *w, int at, const char *name, unsigned depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct stat here, st;

	if (!dir || fstat(fd, &here) < 0) {
		if (!dir)
			fd_close(&fd);
		else
			(void)closedir(dir); /* only read */
		return;
	}
	while (w->n < ENTRIES_MAX && (d = readdir(dir)) != NULL) {
		bool maybe_dir = d->d_type == DT_DIR || d->d_type == DT_UNKNOWN;

		if (is_skipped(d->d_name) || (!maybe_dir && !is_meant(w, d->d_name)) ||
		    fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		add(w, d->d_name, here.st_ino, &st);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			walk_dir(w, fd, d->d_name, depth + 1);
	}
	(void)closedir(dir); /* only read */
}

int deps_print_programs(const char *dir, struct hash *h, unsigned *ret_langs, struct err *e)
{
	struct walk w = {.to = h};
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_sys(e, "--dir %s", dir);
	walk_dir(&w, AT_FDCWD, dir, 0);
	hash_add(h, w.sum, sizeof(w.sum));
	*ret_langs = w.langs;
	return 0;
}

int deps_print_dir(const char *dir, struct hash *h, struct err *e)
{
	unsigned langs;

	return deps_print_programs(dir, h, &langs, e);
}

static void add_file(struct hash *h, const char *path)
{
	struct stat st;
	int64_t key[4] = {0};

	if (stat(path, &st) == 0) {
		key[0] = (int64_t)st.st_ino;
		key[1] = st.st_mtim.tv_sec;
		key[2] = st.st_mtim.tv_nsec;
		key[3] = st.st_size;
	}
	hash_add(h, key, sizeof(key));
}

void deps_print_file(const char *dir, const char *file, struct hash *h)
{
	auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int64_t key[6] = {0};

	if (fd >= 0 && fstatat(fd, file, &st, 0) == 0) {
		int64_t now[] = {(int64_t)st.st_ino, st.st_mtim.tv_sec,	 st.st_mtim.tv_nsec,
				 st.st_ctim.tv_sec,  st.st_ctim.tv_nsec, st.st_size};

		memcpy(key, now, sizeof(key));
	}
	hash_add(h, key, sizeof(key));
}

void deps_print_host(enum deps_lang lang, struct hash *h)
{
	static const char *const python[] = {"/usr/bin/python3", "/usr/lib/python3/dist-packages",
					     "/usr/local/lib/%s/dist-packages",
					     "/usr/local/lib/%s/site-packages", NULL};
	static const char *const node[] = {"/usr/bin/node", "/usr/share/nodejs",
					   "/usr/lib/node_modules", NULL};
	static const char *const r[] = {"/usr/bin/Rscript", "/usr/lib/R/library",
					"/usr/lib/R/site-library", "/usr/local/lib/R/site-library",
					NULL};
	static const char *const apt[] = {"/var/lib/dpkg/status", "/etc/apt/sources.list",
					  "/etc/apt/sources.list.d", NULL};
	static const char *const *const all[] = {
		[DEPS_PYTHON] = python, [DEPS_NODE] = node, [DEPS_R] = r, [DEPS_APT] = apt};
	char path[128], real[64] = "";
	const char *scan = deps_kind(lang)->scan;

	/* What another Pinfold answered is not what this one would: its tables and scanners
	 * count. */
	deps_names_add(h);
	hash_add(h, scan ? scan : "", scan ? strlen(scan) : 0);
	/* python3 is a link to the version that has directories of its own. */
	if (readlink("/usr/bin/python3", real, sizeof(real) - 1) < 0)
		real[0] = '\0';
	for (const char *const *p = all[lang]; *p; p++) {
		const char *version = strstr(*p, "%s");

		if (version)
			(void)snprintf(path, sizeof(path), "%.*s%s%s", (int)(version - *p), *p,
				       real, version + 2);
		add_file(h, version ? path : *p);
	}
}
