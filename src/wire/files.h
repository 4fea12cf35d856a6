/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a sandbox that lives: what the host side asks the guest's file server, over a
 * SOCK_SEQPACKET pair of their own. Fixed layout, native integers; one question at a time.
 *
 *	host -> server: struct files_ask, then path and second path, each with a NUL at its end
 *	server -> host: struct files_answer, then `len` bytes
 *
 * The server begins with an answer to no question, number 0: it is there, or why not. Every
 * question has answers with its number: some with `more`, then the last; one with `more` and
 * nothing else says that it goes on. LIST answers with entries: struct files_entry, name, target,
 * one behind the other. WATCH answers with value 1 once it watches, and turns the channel into a
 * stream of events, each with a path and the one it had before, relative to the directory, NUL
 * between; it ends when either side closes.
 *
 * RENAME is asked for on behalf of a program that has called rename() (sandbox/move.h).
 *
 * The server is our program but lives with hostile code, so the host side checks all that it says,
 * and looks at descriptors itself; the server checks what it is asked.
 */
#ifndef WIRE_FILES_H
#define WIRE_FILES_H

#include <stdint.h>

#define FILES_MAGIC 0x70696e66u
#define FILES_PATH_SIZE 4096u /* with its NUL, as the kernel has it */
#define FILES_NAME_SIZE 256u
#define FILES_DATA_MAX 32768u
#define FILES_WRITERS_MAX 16u
#define FILES_WATCHES_MAX 4096u

enum files_op {
	FILES_STAT = 1,
	FILES_OPEN,   /* answer: a descriptor to read */
	FILES_WRITE,  /* answer: a descriptor to write; value: the number of the writer */
	FILES_COMMIT, /* mode: the writer's number */
	FILES_ABORT,
	FILES_MKDIR,
	FILES_MOVE, /* the second path is where to */
	FILES_REMOVE,
	FILES_CHMOD,
	FILES_LIST,
	FILES_SYMLINK, /* the second path is its target, of any kind */
	FILES_WATCH,
	FILES_CONNECT, /* mode: a port of the loopback; answer: a socket, perhaps not connected yet */
	FILES_SYNC, /* to one that watches, with the number of WATCH: an event SYNC behind all before it */
	FILES_RENAME, /* a directory, by whatever name a program has for it; mode: flags of renameat2() */
	FILES_OP_END,
};

#define FILES_NOFOLLOW 0x1u /* STAT, LIST: not through a link at the path's end */
#define FILES_APPEND 0x2u   /* WRITE */
#define FILES_NEW 0x4u	    /* WRITE */
#define FILES_PARENTS 0x8u  /* WRITE, MKDIR */
#define FILES_BELOW 0x10u   /* REMOVE, WATCH: with all that is below */
#define FILES_FROM_FD 0x20u /* RENAME: the path is seen from a descriptor that came along */
#define FILES_TO_FD 0x40u   /* RENAME: the same of the second path; its descriptor is the last */
#define FILES_FLAGS 0x7fu
#define FILES_MODE_OLD ~0u /* WRITE: as it was, 0644 where there was none */

struct files_ask {
	uint32_t magic, op;
	uint32_t seq;
	uint32_t flags;
	uint32_t mode;
	uint32_t path_len, path2_len; /* without the NUL */
	uint32_t zero;
};

struct files_info {
	uint32_t mode; /* st_mode */
	uint32_t uid, gid, zero;
	uint64_t size, links, inode;
	int64_t mtime_ns, ctime_ns;
};

struct files_entry {
	struct files_info info;
	uint32_t name_len, target_len;
};

enum files_event {
	FILES_EVENT_NONE,
	FILES_EVENT_CREATE,
	FILES_EVENT_WRITE,
	FILES_EVENT_REMOVE,
	FILES_EVENT_RENAME,
	FILES_EVENT_CHMOD,
	FILES_EVENT_OVERFLOW, /* some were lost */
	FILES_EVENT_SYNC,     /* FILES_SYNC: what happened before it was asked for has been told */
	FILES_EVENT_END,
};

struct files_answer {
	uint32_t magic;
	uint32_t seq;
	int32_t error; /* errno, 0: done */
	uint32_t more; /* another answer follows */
	uint32_t event;
	uint32_t len; /* bytes behind this record */
	uint64_t value;
	struct files_info info;
};

/* 0 when a question of `size` bytes is whole: its paths are absolute, but for RENAME, end where they say, and are
 * there where its op needs them. Else -EINVAL. */
int files_ask_check(const struct files_ask *ask, uint32_t size);
const char *files_ask_path(const struct files_ask *ask);
const char *files_ask_path2(const struct files_ask *ask);
/* 0 when an answer of `size` bytes to question `seq` is whole. Else -EINVAL. */
int files_answer_check(const struct files_answer *answer, uint32_t size, uint32_t seq);
/* Take the entry at *pos of a LIST's bytes; *pos is then behind it. Its name is one that a
 * directory can hold, and not "." or "..". Neither name nor target ends with a NUL. -EINVAL: it
 * is not whole. */
int files_entry_next(const char *data, uint32_t len, uint32_t *pos, struct files_entry *ret,
		     const char **ret_name, const char **ret_target);

#endif
