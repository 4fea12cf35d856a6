/* SPDX-License-Identifier: Apache-2.0 */
/* The file server: what its files share. */
#ifndef GUEST_FILES_INT_H
#define GUEST_FILES_INT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "wire/files.h"

/* A name in a directory that is open: nobody can lead us elsewhere between two calls. */
struct spot {
	int dir;
	char name[FILES_NAME_SIZE];
};

struct dirent_head {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* files.c: answers to the question at hand. They end the server when nobody is there to hear
 * them. */
void files_say(struct files_answer *answer, const void *data, int fd);
/* Now and then, from whatever takes long: the other side waits only so long in silence. */
void files_working(void);
void files_fill(struct files_info *to, const struct stat *st);
/* Copy until the end of `from`, at its offset. 0 or -errno. */
long files_copy(int from, int to);

/* files_path.c: all return a descriptor, 0, or -errno. */
/* O_PATH; a link of /proc that leads to anything at all is refused. */
long files_look(const char *path, int nofollow);
/* The same inode once more, opened. */
long files_reopen(int fd, int flags);
/* 0: a regular file that holds what somebody wrote; -EISDIR, -ENXIO, -ENODEV: something else. */
long files_check_regular(int fd, struct stat *ret);
/* The directory of a path and its last name; with `follow` of what a link there leads to, which
 * need not exist. With `parents` directories are made on the way. */
long files_spot(const char *path, int follow, int parents, struct spot *ret);
/* The same of a path that is seen from a directory, and without following. */
long files_spot_from(int from, const char *path, struct spot *ret);
void files_spot_done(struct spot *s);
/* The directory itself, with all above it; the last gets `mode`. 0 or -errno. */
long files_make_dirs(const char *path, uint32_t mode);
/* "/proc/self/fd/N" */
void files_own_path(char to[32], int fd);

/* files_write.c */
long files_write(const struct files_ask *ask, struct files_answer *answer, int *ret_fd);
long files_commit(uint32_t writer);
long files_abort(uint32_t writer);
/* All of them, when the channel closes. */
void files_abort_all(void);
long files_move(const struct files_ask *ask);

/* files_rename.c: `fds` as many as the question says, borrowed. */
long files_rename(const struct files_ask *ask, const int fds[2]);

/* files_tree.c */
long files_list(const struct files_ask *ask);
long files_remove(const char *path, int below);
long files_remove_at(const struct spot *s, int below);

/* files_watch.c: returns only when it cannot begin. */
long files_watch(const struct files_ask *ask, int sock);

#endif
