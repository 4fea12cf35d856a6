/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of lines, one for each item, which an operator changes with a verb and the API reads again
 * when it changed: tokens, quotas. Written whole, beside, and renamed; who writes holds NAME.lock.
 */
#ifndef API_LISTFILE_H
#define API_LISTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct listfile_kind {
	const char *name;   /* of the file */
	const char *what;   /* for messages: "the tokens" */
	const char *remedy; /* where it is damaged; or NULL */
	size_t size, most;  /* of an item; of the list */
	bool (*read)(char *line, void *ret);
	int (*write)(int fd, const void *item); /* negative: errno says why */
};

struct listfile {
	const struct listfile_kind *kind;
	int dir; /* borrowed */
	struct timespec changed;
	uint64_t inode;
	void *list;
	size_t n;
};

/* Brings ->list up to date. What cannot be read is empty: nothing that was removed goes on. */
int listfile_refresh(struct listfile *f, struct err *e);
void listfile_clear(struct listfile *f);

/* With room for one item more. */
int listfile_load(const struct listfile_kind *kind, int dir, void **ret, size_t *ret_n,
		  struct err *e);
/* *ret is held while the list is changed. */
int listfile_lock(const struct listfile_kind *kind, int dir, int *ret, struct err *e);
int listfile_save(const struct listfile_kind *kind, int dir, const void *list, size_t n,
		  struct err *e);
/* The same without item i. */
int listfile_save_without(const struct listfile_kind *kind, int dir, void *list, size_t n, size_t i,
			  struct err *e);

#endif
