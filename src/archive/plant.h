/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of an archive, in any order, become a tree below one directory. */
#ifndef ARCHIVE_PLANT_H
#define ARCHIVE_PLANT_H

#include "archive/stats.h"
#include "archive/tar.h"
#include "tree/path.h"

struct plant_limits {
	uint64_t bytes;	  /* of files, without holes */
	uint64_t entries; /* of the archive, those that are left out, too */
};

struct plant {
	int root;    /* borrowed */
	bool owners; /* those of the archive; else all belongs to the caller */
	bool layers; /* something may take the place of a whole directory */
	struct plant_limits limits;
	struct archive_stats stats;
	uint64_t entries;
	/* The directory that the last entry was in. */
	int dir;
	char dir_path[TREE_PATH_MAX + 1];
	struct plant_later *later; /* directories, that get their mode and time at the end */
	size_t n_later, later_room, later_bytes;
};

/* `root` is borrowed until plant_done(). */
void plant_init(struct plant *p, int root, const struct plant_limits *limits);
void plant_done(struct plant *p);

/* One entry; `path` is its name, cleaned (name.h). What is in the way is replaced, but a
 * directory by nothing else unless p->layers. A link on the way is an error. */
int plant_entry(struct plant *p, struct tar_in *t, const struct tar_entry *en, const char *path,
		struct err *e);
/* What a whiteout says: this is gone, or all that is in this directory. */
int plant_gone(struct plant *p, const char *path, struct err *e);
int plant_empty(struct plant *p, const char *path, struct err *e);
/* Modes and times of directories: after the last entry. */
int plant_finish(struct plant *p, struct err *e);

#endif
