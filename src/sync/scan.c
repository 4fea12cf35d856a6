/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the walk found and nobody knew, by more than one thread where that is worth it. */
#include "sync/scan.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/chunk.h"
#include "sync/digest.h"
#include "sync/scan_int.h"

#define THREADS_MAX 8
#define THREADS_WORTH (8u << 20) /* bytes to read */
#define TRIES 3

struct reading {
	int root;
	struct found_list *list;
	atomic_size_t next;
	atomic_uint_fast64_t files, bytes;
	atomic_bool stop;
	pthread_mutex_t lock; /* of what follows */
	int result;	      /* of the first that failed */
	struct err error;
};

static bool is_to_read(const struct found *f)
{
	return f->kind == MANIFEST_FILE && !f->known;
}

/* 1: read; 0: it changed meanwhile. */
static int read_once(struct found *f, int fd, uint8_t *buffer, struct err *e)
{
	auto_digest struct digest d = {0};
	struct stat before, after;

	if (fstat(fd, &before) < 0)
		return err_sys(e, "%.200s", f->path);
	if (!S_ISREG(before.st_mode)) {
		f->gone = true;
		return 1;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 || digest_fd(fd, buffer, &d, e) < 0)
		return err_wrap(e, "%.200s", f->path);
	if (fstat(fd, &after) < 0)
		return err_sys(e, "%.200s", f->path);
	f->stat = index_stat_of(&before);
	struct index_stat now = index_stat_of(&after);
	if (!index_stat_same(&f->stat, &now, false) || d.size != now.size)
		return 0;
	memcpy(f->hash, d.hash, HASH_BYTES);
	f->chunks = take_ptr(&d.chunks);
	f->n_chunks = d.n_chunks;
	return 1;
}

static int read_found(struct reading *r, struct found *f, uint8_t *buffer, struct err *e)
{
	auto_close int fd = open_below(r->root, f->path, O_RDONLY, 0);
	int done = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO)) {
		f->gone = true;
		return 0;
	}
	if (fd < 0) {
		(void)err_sys(e, "%.200s", f->path);
		return err_remedy(e, "make it readable, or name it in .pinfoldignore");
	}
	for (int i = 0; i < TRIES && done == 0; i++)
		done = read_once(f, fd, buffer, e);
	if (done == 0) {
		(void)err_set(e, ERR_BUSY, "%.200s changes while it is read", f->path);
		return err_remedy(e, "try again, or name it in .pinfoldignore");
	}
	atomic_fetch_add(&r->files, 1);
	atomic_fetch_add(&r->bytes, f->stat.size);
	return done < 0 ? done : 0;
}

static void fail(struct reading *r, int result, const struct err *e)
{
	atomic_store(&r->stop, true);
	(void)pthread_mutex_lock(&r->lock); /* a plain mutex of ours: cannot fail */
	if (r->result == 0) {
		r->error = *e;
		r->result = result;
	}
	(void)pthread_mutex_unlock(&r->lock);
}

static void *read_files(void *arg)
{
	struct reading *r = arg;
	auto_free uint8_t *buffer = malloc(DIGEST_BUFFER);
	struct err e = ERR_INIT;

	if (!buffer) {
		fail(r, err_sys(&e, "read"), &e);
		return NULL;
	}
	while (!atomic_load(&r->stop)) {
		size_t i = atomic_fetch_add(&r->next, 1);

		if (i >= r->list->n)
			break;
		if (!is_to_read(&r->list->all[i]))
			continue;
		int result = read_found(r, &r->list->all[i], buffer, &e);
		if (result < 0)
			fail(r, result, &e);
	}
	return NULL;
}

static int read_all(struct reading *r, unsigned threads, struct err *e)
{
	pthread_t others[THREADS_MAX];
	unsigned started = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->list->n; i++)
		bytes += is_to_read(&r->list->all[i]) ? r->list->all[i].stat.size : 0;
	if (bytes < THREADS_WORTH)
		threads = 1;
	/* Without threads it goes, too: this one reads whatever the others do not. */
	while (started + 1 < threads && started < THREADS_MAX &&
	       pthread_create(&others[started], NULL, read_files, r) == 0)
		started++;
	(void)read_files(r);
	while (started > 0)
		(void)pthread_join(others[--started], NULL);
	if (r->result < 0)
		*e = r->error;
	return r->result;
}

static int add_found(struct index *x, const struct found *f, struct err *e)
{
	struct manifest_entry entry = {
		.path = f->path,
		.path_len = (uint16_t)strlen(f->path),
		.target = f->target,
		.kind = f->kind,
		.mode = (uint16_t)(f->stat.mode & (f->kind == MANIFEST_DIR ? 01777 : 0777)),
	};

	if (f->kind == MANIFEST_FILE) {
		const struct manifest_entry *known = f->known;

		entry.size = f->stat.size;
		entry.mtime_s = f->stat.mtime_s;
		entry.mtime_ns = f->stat.mtime_ns;
		entry.chunks = known ? known->chunks : f->chunks;
		entry.n_chunks = known ? known->n_chunks : f->n_chunks;
		memcpy(entry.hash, known ? known->hash : f->hash, HASH_BYTES);
	}
	int r = manifest_add(&x->tree, &entry, e);
	if (r == 0)
		x->stats[x->tree.n - 1] = f->stat;
	return r;
}

static void drop_links_out(struct index *x, struct scan_counts *counts)
{
	struct manifest *m = &x->tree;
	size_t kept = 0;

	/* Marked first and moved after: judging one needs all the others in their places. */
	for (size_t i = 0; i < m->n; i++)
		if (m->entries[i].kind == MANIFEST_LINK && manifest_leads_out(m, &m->entries[i]))
			x->stats[i].mode = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->entries[i].kind == MANIFEST_LINK && x->stats[i].mode == 0) {
			counts->links_out++;
			continue;
		}
		m->entries[kept] = m->entries[i];
		x->stats[kept++] = x->stats[i];
	}
	m->n = kept;
}

static int scan(int root, const struct scan_opts *opts, const struct index *old,
		struct found_list *list, struct index *x, struct scan_counts *counts, struct err *e)
{
	struct reading reading = {
		.root = root, .list = list, .lock = PTHREAD_MUTEX_INITIALIZER, .error = ERR_INIT};
	int r = walk_tree(root, opts, old, list, counts, e);

	if (r < 0)
		return r;
	r = read_all(&reading, opts->threads ? opts->threads : 2, e);
	counts->read += reading.files;
	counts->bytes_read += reading.bytes;
	if (r < 0)
		return r;
	x->stats = calloc(list->n + 1, sizeof(x->stats[0]));
	if (!x->stats)
		return err_sys(e, "scan");
	for (size_t i = 0; i < list->n && r == 0; i++)
		if (!list->all[i].gone)
			r = add_found(x, &list->all[i], e);
	if (r == 0 && opts->skip_links_out)
		drop_links_out(x, counts);
	return r;
}

int scan_tree(int root, const struct scan_opts *opts, const struct index *old, struct index *ret,
	      struct scan_counts *counts, struct err *e)
{
	__attribute__((cleanup(found_done))) struct found_list list = {0};
	auto_index struct index x = {0};

	index_init(&x, &opts->limits);
	x.time = index_now();
	*counts = (struct scan_counts){0};
	int r = scan(root, opts, old, &list, &x, counts, e);
	if (r < 0)
		return r;
	*ret = x;
	x = (struct index){0};
	return 0;
}
