/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_IMPORT_H
#define ARCHIVE_IMPORT_H

#include "archive/mark.h"
#include "archive/plant.h"

struct import_opts {
	bool owners;
	bool whole;    /* it is a root file system to be an image (root.h) */
	int spool_dir; /* borrowed: where an image is kept meanwhile; negative: in `root` */
	struct plant_limits limits;
	const struct mark *mark; /* borrowed: what was read of the archive before; or NULL */
};

/* Of an image: what it says of itself. */
struct about;

/*
 * Make below `root` what the archive that `fd` gives holds: a tar file, or an image as `docker
 * save` and OCI tools write it, whose layers are put on each other. An image is kept whole in a
 * file without a name meanwhile; what it names by a digest has to have it. After an error what was
 * made so far stays, and is worth nothing. `about` may be NULL.
 */
int import_archive(int fd, int root, const struct import_opts *opts, struct archive_stats *ret,
		   struct about *ret_about, struct err *e);

#endif
