/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a box, for tools and resources. For handlers' threads. */
#ifndef MCP_FILE_H
#define MCP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "api/boxes.h"

/* A regular file, to read. The errors are ours: what is like it, where to look. */
int file_open(struct box *b, const char *path, int *ret_fd, uint64_t *ret_size, struct err *e);
/* All of it, malloced, with a NUL behind. limit_exceeded when it is longer than `max`. */
int file_load(struct box *b, const char *path, size_t max, char **ret, size_t *ret_len,
	      struct err *e);
/* flags, mode: as of pinfold_file_write(). */
int file_save(struct box *b, const char *path, const void *data, size_t len, uint32_t flags,
	      uint32_t mode, struct err *e);
/* Adds what is like it to an error of not_found.file; returns its value. */
int file_missing(struct box *b, const char *path, struct err *e);

#endif
