/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a tar file that somebody made who means harm: plain, or compressed once with
 * gzip, xz or zstd. Names and numbers are as they are in there; who uses them checks them.
 */
#ifndef ARCHIVE_TAR_H
#define ARCHIVE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/* A compressed archive may become that many times as large, and always that large. Text is seldom
 * smaller than a tenth; what reaches this is zeros. */
#define TAR_RATIO_MAX 200u
#define TAR_RATIO_FREE (UINT64_C(128) << 20)

enum tar_kind { TAR_FILE, TAR_DIR, TAR_SYMLINK, TAR_LINK, TAR_FIFO, TAR_DEVICE };

struct tar_entry {
	enum tar_kind kind;
	uint32_t mode; /* permissions, set-id bits and sticky bit */
	int64_t uid, gid;
	struct timespec mtime;
	uint64_t size;	    /* TAR_FILE: with holes */
	bool sparse;	    /* it has some */
	bool acl;	    /* it has an access control list */
	const char *path;   /* these two are good until the next entry */
	const char *target; /* of links */
};

/* Where bytes come from: *ret_data is good until the next call. How many; 0: no more; negative. */
typedef ssize_t tar_read_fn(void *context, const void **ret_data, struct err *e);

struct tar_in;

int tar_in_open(struct tar_in **ret, tar_read_fn *read, void *context, struct err *e);
/* Whatever it is, as one entry whose data are what it is before compression. */
int tar_in_open_any(struct tar_in **ret, tar_read_fn *read, void *context, struct err *e);
void tar_in_close(struct tar_in *t);
/* 1; 0: the archive's end. Data that nobody took are read and forgotten, with limits. */
int tar_in_next(struct tar_in *t, struct tar_entry *ret, struct err *e);
/* 1: data of the file at *ret_offset, which only grows; 0: no more. */
int tar_in_data(struct tar_in *t, uint64_t *ret_offset, const void **ret_data, size_t *ret_len,
		struct err *e);
/* Its next extended attribute. 1; 0: no more. */
int tar_in_attr(struct tar_in *t, const char **ret_name, const void **ret_value, size_t *ret_len);

#endif
