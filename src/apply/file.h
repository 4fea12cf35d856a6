/* SPDX-License-Identifier: Apache-2.0 */
/* Files from one directory to another, which may be on different filesystems. */
#ifndef APPLY_FILE_H
#define APPLY_FILE_H

#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"

#define LINK_BYTES 4096u

/* Open a regular file without waiting and without following; what it is goes to *ret_st. -ESTALE:
 * it is something else. */
int file_open(int dir, const char *name, int *ret_fd, struct stat *ret_st, struct err *e);
/* All bytes; blocks of zeros become holes. */
int file_copy(int from, int to, char ret_hash[HASH_TEXT_SIZE], struct err *e);
/* Best effort: attributes of the user's, and access lists. */
void file_copy_attrs(int from, int to);
/* A link with the same target; its hash. */
int file_copy_link(int from_dir, const char *from, int to_dir, const char *to,
		   char ret_hash[HASH_TEXT_SIZE], struct err *e);
/* Mode and time, and the owner where we may. */
int file_set_meta(int fd, const struct stat *st, struct err *e);

#endif
