/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file, version 1:
 *
 *	4	"PFI1"
 *	8	time: seconds
 *	4	      nanoseconds
 *	8	length of the manifest
 *	...	the manifest (manifest_code.c)
 *	...	for each file of it, in order, 52 bytes: dev 8, ino 8, size 8, mtime 8 + 4,
 *		ctime 8 + 4, mode 4
 *	32	SHA-256 of all before
 */
#include "sync/index.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/digest.h"

#define FILE_MAX (2 * MANIFEST_BYTES_MAX)

static const char magic[4] = {'P', 'F', 'I', '1'};

void index_init(struct index *x, const struct manifest_limits *limits)
{
	*x = (struct index){0};
	manifest_init(&x->tree, limits);
}

void index_done(struct index *x)
{
	manifest_done(&x->tree);
	free(x->stats);
	x->stats = NULL;
}

struct timespec index_now(void)
{
	struct timespec now = {0};

	/* The clock that file systems take: it never runs ahead of a file that changes now. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

struct index_stat index_stat_of(const struct stat *st)
{
	return (struct index_stat){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec,
		.ctime_s = st->st_ctim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
		.mode = st->st_mode,
	};
}

bool index_stat_same(const struct index_stat *a, const struct index_stat *b, bool any_dev)
{
	return (any_dev || a->dev == b->dev) && a->ino == b->ino && a->size == b->size &&
	       a->mode == b->mode && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
	       a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
}

bool index_holds(const struct index *x, size_t i, const struct stat *st, bool any_dev)
{
	struct index_stat now = index_stat_of(st);

	if (x->tree.entries[i].kind != MANIFEST_FILE || !S_ISREG(st->st_mode) ||
	    now.size != x->tree.entries[i].size || !index_stat_same(&now, &x->stats[i], any_dev))
		return false;
	/* Whoever writes moves ctime, and nobody can move it back: it alone tells what is racy. A
	 * file system without fractions of a second is late by up to one. */
	if (now.ctime_s == x->time.tv_sec)
		return now.ctime_ns != 0 && now.ctime_ns < (uint32_t)x->time.tv_nsec;
	return now.ctime_s < x->time.tv_sec;
}

int load_file(int dir, const char *name, size_t max, struct buf *ret)
{
	auto_close int fd = open_below(dir, name, O_RDONLY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max)
		return -EFBIG;
	buf_init(ret, max);
	uint8_t *to = st.st_size ? buf_room(ret, (size_t)st.st_size) : NULL;
	if (st.st_size && !to)
		return ret->error;
	int r = read_all_at(fd, to, (size_t)st.st_size, 0);
	if (r < 0)
		buf_done(ret);
	return r;
}

int save_file(int dir, const char *name, const struct buf *data, bool durable, struct err *e)
{
	char temp[300];

	(void)snprintf(temp, sizeof(temp), "%s.new", name); /* names of ours are short */
	(void)unlinkat(dir, temp, 0);			    /* of who was killed here */
	auto_close int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "create %s", temp);
	int r = fd_write_all(fd, data->data, data->len);
	if (r == 0 && durable && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r == 0 && durable && fsync(dir) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	(void)unlinkat(dir, temp, 0); /* what failed is told below */
	errno = -r;
	return err_sys(e, "write %s", name);
}

static void put_stat(struct buf *b, const struct index_stat *s)
{
	buf_u64(b, s->dev);
	buf_u64(b, s->ino);
	buf_u64(b, s->size);
	buf_u64(b, (uint64_t)s->mtime_s);
	buf_u32(b, s->mtime_ns);
	buf_u64(b, (uint64_t)s->ctime_s);
	buf_u32(b, s->ctime_ns);
	buf_u32(b, s->mode);
}

static void get_stat(struct cursor *c, struct index_stat *s)
{
	s->dev = cursor_u64(c);
	s->ino = cursor_u64(c);
	s->size = cursor_u64(c);
	s->mtime_s = (int64_t)cursor_u64(c);
	s->mtime_ns = cursor_u32(c);
	s->ctime_s = (int64_t)cursor_u64(c);
	s->ctime_ns = cursor_u32(c);
	s->mode = cursor_u32(c);
}

int index_save(int dir, const char *name, const struct index *x, bool durable, struct err *e)
{
	auto_buf struct buf tree = {0}, all = {0};
	uint8_t hash[HASH_BYTES];

	buf_init(&tree, MANIFEST_BYTES_MAX);
	buf_init(&all, FILE_MAX);
	int r = manifest_encode(&x->tree, &tree, e);
	if (r < 0)
		return r;
	buf_add(&all, magic, sizeof(magic));
	buf_u64(&all, (uint64_t)x->time.tv_sec);
	buf_u32(&all, (uint32_t)x->time.tv_nsec);
	buf_u64(&all, tree.len);
	buf_add(&all, tree.data, tree.len);
	for (size_t i = 0; i < x->tree.n; i++)
		if (x->tree.entries[i].kind == MANIFEST_FILE)
			put_stat(&all, &x->stats[i]);
	if (all.error) {
		errno = -all.error;
		return err_sys(e, "index");
	}
	hash_bytes(all.data, all.len, hash);
	buf_add(&all, hash, HASH_BYTES);
	return save_file(dir, name, &all, durable, e);
}

/* Its bytes are known to be those that were written; they may still be another version's. */
static int parse(const struct buf *all, const struct manifest_limits *limits, struct index *ret)
{
	struct cursor c = cursor_of(all->data, all->len - HASH_BYTES);
	const uint8_t *start = cursor_bytes(&c, sizeof(magic));
	auto_index struct index x = {0};
	struct err e = ERR_INIT;

	index_init(&x, limits);
	if (!start || memcmp(start, magic, sizeof(magic)) != 0)
		return 0;
	x.time.tv_sec = (time_t)cursor_u64(&c);
	x.time.tv_nsec = (long)cursor_u32(&c);
	uint64_t len = cursor_u64(&c);
	const uint8_t *tree = len <= cursor_left(&c) ? cursor_bytes(&c, (size_t)len) : NULL;
	if (!tree || manifest_decode(tree, (size_t)len, limits, &x.tree, &e) < 0)
		return 0;
	x.stats = calloc(x.tree.n + 1, sizeof(x.stats[0]));
	for (size_t i = 0; x.stats && i < x.tree.n; i++)
		if (x.tree.entries[i].kind == MANIFEST_FILE)
			get_stat(&c, &x.stats[i]);
	if (!x.stats || c.bad || cursor_left(&c))
		return 0;
	*ret = x;
	x = (struct index){0};
	return 1;
}

int index_load(int dir, const char *name, const struct manifest_limits *limits, struct index *ret)
{
	auto_buf struct buf all = {0};
	uint8_t hash[HASH_BYTES];

	index_init(ret, limits);
	if (load_file(dir, name, FILE_MAX, &all) < 0 || all.len < HASH_BYTES)
		return 0;
	hash_bytes(all.data, all.len - HASH_BYTES, hash);
	if (memcmp(hash, all.data + all.len - HASH_BYTES, HASH_BYTES) != 0)
		return 0;
	return parse(&all, limits, ret);
}
