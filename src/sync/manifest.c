/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a manifest, whoever wrote it. manifest_code.c has its bytes. */
#include "sync/manifest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sync/chunk.h"

#define TIME_MAX ((int64_t)1 << 36) /* what file systems can keep, and more */

void manifest_init(struct manifest *m, const struct manifest_limits *limits)
{
	*m = (struct manifest){.limits = *limits, .arena.max = limits->memory_max};
}

void manifest_done(struct manifest *m)
{
	free(m->entries);
	arena_done(&m->arena);
	m->entries = NULL;
	m->n = m->cap = m->files = 0;
}

static int rank(char c)
{
	return c == '/' ? 1 : c ? (unsigned char)c + 1 : 0;
}

int manifest_path_cmp(const char *a, const char *b)
{
	while (*a == *b && *a) {
		a++;
		b++;
	}
	return rank(*a) - rank(*b);
}

const struct manifest_entry *manifest_find(const struct manifest *m, const char *path)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = manifest_path_cmp(path, m->entries[middle].path);

		if (order == 0)
			return &m->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool manifest_same(const struct manifest_entry *a, const struct manifest_entry *b)
{
	if (a->kind != b->kind || a->mode != b->mode || strcmp(a->path, b->path) != 0)
		return false;
	if (a->kind == MANIFEST_LINK)
		return strcmp(a->target, b->target) == 0;
	if (a->kind == MANIFEST_DIR)
		return true;
	if (a->size != b->size || a->mtime_s != b->mtime_s || a->mtime_ns != b->mtime_ns ||
	    memcmp(a->hash, b->hash, HASH_BYTES) != 0 || a->n_chunks != b->n_chunks)
		return false;
	for (uint32_t i = 0; i < a->n_chunks; i++)
		if (a->chunks[i].len != b->chunks[i].len ||
		    memcmp(a->chunks[i].hash, b->chunks[i].hash, HASH_BYTES) != 0)
			return false;
	return true;
}

static bool is_name(const char *name, size_t len)
{
	if (len == 0 || len > MANIFEST_NAME_MAX)
		return false;
	return !(len <= 2 && memcmp(name, "..", len) == 0);
}

static int check_path(const struct manifest_entry *entry, struct err *e)
{
	const char *at = entry->path, *end = at + entry->path_len;
	unsigned depth = 0;

	if (entry->path_len == 0 || entry->path_len > MANIFEST_PATH_MAX ||
	    memchr(at, 0, entry->path_len))
		return err_set(e, ERR_INVALID, "a path that is no path");
	for (;;) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		const char *stop = slash ? slash : end;

		if (!is_name(at, (size_t)(stop - at)))
			return err_set(e, ERR_INVALID, "%.200s: not a plain path inside the tree",
				       entry->path);
		if (++depth > MANIFEST_DEPTH_MAX)
			return err_set(e, ERR_LIMIT, "%.200s: more than %d directories deep",
				       entry->path, MANIFEST_DEPTH_MAX);
		if (!slash)
			return 0;
		at = slash + 1;
	}
}

/* Is the entry below the directory `dir`? */
static bool is_below(const struct manifest_entry *dir, const struct manifest_entry *entry)
{
	return entry->path_len > dir->path_len && entry->path[dir->path_len] == '/' &&
	       memcmp(entry->path, dir->path, dir->path_len) == 0;
}

/* The entry comes after the last one, and its parent is a directory that is open. */
static int check_place(struct manifest *m, const struct manifest_entry *entry, struct err *e)
{
	const char *slash = strrchr(entry->path, '/');
	size_t parent_len = slash ? (size_t)(slash - entry->path) : 0;

	if (m->n > 0 && manifest_path_cmp(m->entries[m->n - 1].path, entry->path) >= 0)
		return err_set(e, ERR_INVALID, "%.200s: twice, or out of order", entry->path);
	while (m->depth > 0 && !is_below(&m->entries[m->open[m->depth - 1]], entry))
		m->depth--;
	size_t have = m->depth ? m->entries[m->open[m->depth - 1]].path_len : 0;
	if (have != parent_len)
		return err_set(e, ERR_INVALID, "%.200s: its parent is not a directory of the tree",
			       entry->path);
	return 0;
}

static int check_file(const struct manifest *m, const struct manifest_entry *entry, struct err *e)
{
	uint64_t sum = 0;

	if (entry->mtime_s > TIME_MAX || entry->mtime_s < -TIME_MAX ||
	    entry->mtime_ns >= 1000000000)
		return err_set(e, ERR_INVALID, "%.200s: a time that is none", entry->path);
	if (entry->size > m->limits.bytes_max || m->bytes > m->limits.bytes_max - entry->size)
		return err_set(e, ERR_LIMIT, "%.200s: the files are larger than %llu bytes",
			       entry->path, (unsigned long long)m->limits.bytes_max);
	if (entry->size <= CHUNK_WHOLE_MAX && entry->n_chunks == 0)
		return 0;
	for (uint32_t i = 0; i < entry->n_chunks; i++) {
		uint32_t len = entry->chunks[i].len;

		if (len > CHUNK_MAX || len == 0 || (len < CHUNK_MIN && i + 1 < entry->n_chunks))
			return err_set(e, ERR_INVALID, "%.200s: a chunk of %u bytes", entry->path,
				       len);
		sum += len;
	}
	if (entry->size <= CHUNK_WHOLE_MAX || sum != entry->size)
		return err_set(e, ERR_INVALID, "%.200s: its chunks do not make its size",
			       entry->path);
	return 0;
}

static int check_entry(struct manifest *m, const struct manifest_entry *entry, struct err *e)
{
	unsigned bits = entry->kind == MANIFEST_DIR ? 01777 : 0777;

	if (check_path(entry, e) < 0 || check_place(m, entry, e) < 0)
		return err_wrap(e, "manifest");
	if (entry->mode & ~bits)
		return err_set(e, ERR_INVALID, "manifest: %.200s: mode %o", entry->path,
			       entry->mode);
	switch ((enum manifest_kind)entry->kind) {
	case MANIFEST_FILE:
		if (check_file(m, entry, e) < 0)
			return err_wrap(e, "manifest");
		return 0;
	case MANIFEST_LINK:
		if (!entry->target[0] || strlen(entry->target) > MANIFEST_PATH_MAX)
			return err_set(e, ERR_INVALID, "manifest: %.200s: a link to nothing",
				       entry->path);
		return 0;
	case MANIFEST_DIR: return 0;
	case MANIFEST_GONE: break;
	}
	return err_set(e, ERR_INVALID, "manifest: %.200s: neither file, directory nor link",
		       entry->path);
}

static int no_memory(const struct manifest *m, struct err *e)
{
	errno = ENOMEM;
	if (m->limits.memory_max && m->arena.used > m->limits.memory_max / 2)
		return err_set(e, ERR_LIMIT, "manifest: takes more than %zu bytes of memory",
			       m->limits.memory_max);
	return err_sys(e, "manifest");
}

static int grow(struct manifest *m, struct err *e)
{
	size_t cap = m->cap ? m->cap * 2 : 256;

	if (m->n == m->limits.entries_max)
		return err_set(e, ERR_LIMIT, "manifest: more than %u files and directories",
			       m->limits.entries_max);
	if (m->n < m->cap)
		return 0;
	struct manifest_entry *grown = reallocarray(m->entries, cap, sizeof(*grown));
	if (!grown)
		return no_memory(m, e);
	m->entries = grown;
	m->cap = cap;
	return 0;
}

int manifest_add(struct manifest *m, const struct manifest_entry *entry, struct err *e)
{
	struct manifest_entry copy = *entry;

	assert(entry->path && (entry->kind != MANIFEST_LINK || entry->target));
	int r = check_entry(m, entry, e);
	if (r == 0)
		r = grow(m, e);
	if (r < 0)
		return r;
	copy.path = arena_text(&m->arena, entry->path, entry->path_len);
	copy.target = entry->kind == MANIFEST_LINK
			      ? arena_text(&m->arena, entry->target, strlen(entry->target))
			      : "";
	copy.chunks = NULL;
	if (entry->n_chunks) {
		size_t size = entry->n_chunks * sizeof(entry->chunks[0]);
		struct manifest_chunk *chunks = arena_alloc(&m->arena, size);

		copy.chunks = chunks;
		if (chunks)
			memcpy(chunks, entry->chunks, size);
	}
	if (!copy.path || !copy.target || (entry->n_chunks && !copy.chunks))
		return no_memory(m, e);
	if (entry->kind == MANIFEST_DIR) /* check_path() has bounded the depth */
		m->open[m->depth++] = m->n;
	if (entry->kind == MANIFEST_FILE)
		m->bytes += entry->size;
	m->files += entry->kind != MANIFEST_DIR;
	m->entries[m->n++] = copy;
	return 0;
}

/*
 * Step by step, on names alone. Going up at first is exact, because the link's own parents are
 * directories. Going up from what was gone into is exact only where that is a directory of the
 * tree, and not another link or something that nobody knows.
 */
bool manifest_leads_out(const struct manifest *m, const struct manifest_entry *link)
{
	char path[2 * (MANIFEST_PATH_MAX + 1)];
	const char *at = link->target, *slash = strrchr(link->path, '/');
	size_t len = slash ? (size_t)(slash - link->path) : 0, down = 0;

	if (*at == '/')
		return true;
	memcpy(path, link->path, len);
	path[len] = 0;
	for (; *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n == 2 && memcmp(at, "..", 2) == 0) {
			const struct manifest_entry *from = down ? manifest_find(m, path) : NULL;

			if (len == 0 || (down && (!from || from->kind != MANIFEST_DIR)))
				return true;
			slash = strrchr(path, '/');
			len = slash ? (size_t)(slash - path) : 0;
			down -= down > 0;
		} else if (n != 1 || *at != '.') {
			if (len)
				path[len++] = '/';
			memcpy(path + len, at, n);
			len += n;
			down++;
		}
		path[len] = 0;
		at += n;
	}
	return false;
}

int manifest_check_links(const struct manifest *m, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_entry *entry = &m->entries[i];

		if (entry->kind == MANIFEST_LINK && manifest_leads_out(m, entry))
			return err_set(e, ERR_DENIED,
				       "%.200s is a symbolic link that leads out of the tree: "
				       "%.200s",
				       entry->path, entry->target);
	}
	return 0;
}
