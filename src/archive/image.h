/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an archive of `docker save` or an OCI layout says about itself. Whatever it names by a
 * digest has to have it: notes are checked here, layers by who reads them.
 */
#ifndef ARCHIVE_IMAGE_H
#define ARCHIVE_IMAGE_H

#include <stddef.h>

#include "archive/about.h"
#include "base/err.h"
#include "base/hash.h"
#include "tree/path.h"

#define IMAGE_LAYERS_MAX 256u
#define IMAGE_NOTE_MAX ((size_t)4 << 20) /* bytes of a manifest */

/* Reads the file of this name in the archive. 1: *ret_text is to be freed; 0: it is not there. */
typedef int image_read_fn(void *context, const char *path, char **ret_text, size_t *ret_len,
			  struct err *e);

struct image_layer {
	char path[TREE_PATH_MAX + 1]; /* in the archive */
	char hash[HASH_TEXT_SIZE]; /* SHA-256 that its bytes have to have, "" where nobody says */
	char bare[HASH_TEXT_SIZE]; /* the same of its bytes before they were compressed */
};

struct image {
	unsigned n;
	struct image_layer *layer; /* owned; the lowest first */
	struct about about;
};

/* 1; 0: it is no image. */
int image_find(struct image *ret, image_read_fn *read, void *context, struct err *e);
void image_done(struct image *image);

#endif
