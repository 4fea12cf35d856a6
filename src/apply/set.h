/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to change in a directory of the host. In the staging directory, item number N of a set
 * has
 *
 *	nN	what it is to become: a file, or a link with its target
 *	oN	what it was: a file with its mode, owner and time; a link; an empty directory
 */
#ifndef APPLY_SET_H
#define APPLY_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"

/* Numbers are in the database. */
enum apply_type { APPLY_NONE = 0, APPLY_FILE, APPLY_LINK, APPLY_DIR, APPLY_OTHER };

/* What a workspace knows of what the directory has, for the next time. */
struct apply_known {
	int64_t origin; /* what the workspace had then (store/origin.h); 0: as its layers have it */
	bool merged;	/* what is there has changes that the workspace has not */
	bool foreign;	/* what is there is not known to it */
};

struct apply_item {
	char *path; /* below the directory; owned */
	enum apply_type old, new;
	bool old_exec, new_exec; /* of files: may their owner execute them? */
	uint32_t mode;		 /* of something new: what the caller's umask leaves of it */
	/* Of files and of links' targets, in hexadecimal. "" before it is staged: not known. */
	char old_hash[HASH_TEXT_SIZE], new_hash[HASH_TEXT_SIZE];
	struct apply_known old_known, new_known;
	struct stat seen; /* what the directory had when this was decided; st_mode 0: nothing */
};

struct apply_set {
	int64_t id; /* names what we make beside the files */
	int dir, stage;
	struct apply_item *items; /* a directory before what is in it; owned */
	size_t n, room;
	bool exact;	/* modes, owners and times as staged; else as somebody who writes a file */
	bool keep_full; /* a directory that has something else in it stays */
};

#define APPLY_SET_INIT                                                                             \
	{                                                                                          \
		.dir = FD_NONE, .stage = FD_NONE                                                   \
	}

/* One more, empty, with a copy of `path`. NULL: out of memory. */
struct apply_item *apply_set_add(struct apply_set *set, const char *path, struct err *e);
/* Closes both directories. */
void apply_set_done(struct apply_set *set);

enum apply_type apply_type_of(const struct stat *st);

#endif
