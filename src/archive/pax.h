/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tar file of ours, in pax format: ustar headers, and before them an extended one for what does
 * not fit (long or odd names, nanoseconds, large sizes, attributes, holes). Its bytes depend on
 * what is put in and on nothing else. Reads back with GNU tar, bsdtar and Python.
 */
#ifndef ARCHIVE_PAX_H
#define ARCHIVE_PAX_H

#include <stddef.h>
#include <stdint.h>

#include "archive/tar.h"
#include "base/err.h"

typedef int pax_write_fn(void *context, const void *data, size_t len, struct err *e);

/* Where the data of a file with holes are. */
struct pax_extent {
	uint64_t offset, len;
};

struct pax_out {
	pax_write_fn *write;
	void *context;
	uint64_t data_left; /* of the file that is being written */
	unsigned pad;
	uint64_t total;
	char *ext; /* the extended header that is being made */
	size_t ext_len, ext_room;
};

struct pax_file {
	const struct tar_entry *entry;
	const uint8_t *attrs; /* as in tree/attr.h */
	size_t attrs_len;
	const struct pax_extent *extents; /* entry->sparse: in order; all else is holes */
	size_t n_extents;
};

void pax_init(struct pax_out *out, pax_write_fn *write, void *context);
void pax_done(struct pax_out *out);
/* What every archive of ours begins with: a global header that says so, for import (mark.h). */
#define PAX_MARK_BYTES 1024u
int pax_begin(struct pax_out *out, struct err *e);
/* Then its data follow, only those: what is in the extents, or all of it. */
int pax_entry(struct pax_out *out, const struct pax_file *file, struct err *e);
int pax_data(struct pax_out *out, const void *data, size_t len, struct err *e);
/* The end of the archive. */
int pax_end(struct pax_out *out, struct err *e);

#endif
