/* SPDX-License-Identifier: Apache-2.0 */
/* Regular files of a hostile tree: opened without waiting, read with their holes. */
#ifndef TREE_FILE_H
#define TREE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Open `name`, if it still is the regular file that `st` tells of; what it is now goes into `st`.
 * -ESTALE: it has become something else. Never waits for the other end of a FIFO. */
int tree_file_open(int dirfd, const char *name, struct stat *st, int *ret_fd, struct err *e);

/* Where the next data at or after `from` lie; *ret_end is `size` at most. 1, or 0: only holes are
 * left. Where holes cannot be asked for, all is data. */
int tree_file_extent(int fd, uint64_t from, uint64_t size, uint64_t *ret_start, uint64_t *ret_end);

/* pread that goes on after a signal; fewer bytes than asked for only at the file's end. */
ssize_t tree_file_read(int fd, void *buf, size_t len, uint64_t offset);

#endif
