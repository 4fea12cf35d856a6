/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What files held when they were last read, so that unchanged ones are not read again: a manifest,
 * and beside each entry what the kernel said of the file. As in git's index, a file that changed
 * when or after the index was made may have changed once more without a sign: it is racy, and read
 * again. The index is a cache: one that is damaged, of another version or not there is empty.
 */
#ifndef SYNC_INDEX_H
#define SYNC_INDEX_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "base/err.h"
#include "sync/manifest.h"

struct index_stat {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	int64_t mtime_s;
	int64_t ctime_s;
	uint32_t mtime_ns;
	uint32_t ctime_ns;
	uint32_t mode;
};

struct index {
	struct manifest tree;
	struct index_stat *stats; /* one for each entry of the tree; those of files count */
	struct timespec time;	  /* nothing in it was looked at before */
};

void index_init(struct index *x, const struct manifest_limits *limits);
void index_done(struct index *x);
#define auto_index __attribute__((cleanup(index_done)))

struct index_stat index_stat_of(const struct stat *st);
/* Has nothing happened to the file between the two? */
bool index_stat_same(const struct index_stat *a, const struct index_stat *b, bool any_dev);
/* Does entry `i` still tell what is in the file? `any_dev`: the device may have another number, as
 * that of an overlay has with every mount. */
bool index_holds(const struct index *x, size_t i, const struct stat *st, bool any_dev);
/* The time to put into an index, before the first file is looked at. */
struct timespec index_now(void);

/* 1: loaded; 0: none that is good, and *ret is empty. */
int index_load(int dir, const char *name, const struct manifest_limits *limits, struct index *ret);
int index_save(int dir, const char *name, const struct index *x, bool durable, struct err *e);

/* A whole file, at most `max` bytes. 0 or -errno. */
int load_file(int dir, const char *name, size_t max, struct buf *ret);
/* A file as a whole or not at all: written beside it and renamed. */
int save_file(int dir, const char *name, const struct buf *data, bool durable, struct err *e);

#endif
