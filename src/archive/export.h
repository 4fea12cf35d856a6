/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_EXPORT_H
#define ARCHIVE_EXPORT_H

#include <stdbool.h>

#include "archive/pax.h"
#include "archive/stats.h"

struct export_opts {
	bool layer;    /* a raw layer: whiteouts and opaque directories as OCI writes them */
	int64_t owner; /* of everything, where the tree does not tell; negative: it does */
};

struct export;

/* The archive's beginning is written. */
int export_open(struct export **ret, const struct export_opts *opts, pax_write_fn *write,
		void *context, struct err *e);
/* All below `dirfd`, with `prefix` in front of its names; with one, also the directory itself. In
 * the order of names. Sockets and devices are left out and counted. */
int export_tree(struct export *x, int dirfd, const char *prefix, struct err *e);
/* The archive's end. */
int export_end(struct export *x, struct archive_stats *ret, struct err *e);
void export_close(struct export *x);

#endif
