/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a workspace changed of its directory, against what that is now, and what is to be thought of
 * each change.
 *
 * A file that a workspace changed has not changed on the host since if its time of change (ctime,
 * which nobody can set) is before the first of the layers that have it was opened; or if we wrote
 * it ourselves, and it is still that very file. A tick of the clock too late counts as changed.
 * What this cannot see: a directory that was moved there with all its files. A text that changed on
 * both sides is merged by apply if what it was is kept (store/origin.h).
 */
#ifndef ENGINE_REVIEW_H
#define ENGINE_REVIEW_H

#include <sys/stat.h>

#include "apply/set.h"
#include "engine/host_dir.h"
#include "store/origin.h"
#include "tree/change.h"

#define REVIEW_CHANGES_MAX (UINT64_C(1) << 20)

struct judged {
	const struct tree_change *change; /* what has become another type is two: it went, it came */
	struct stat seen;		  /* what the directory has there; st_mode 0: nothing */
	const char *runs;		  /* why the host may run it by itself, or NULL */
	const char *conflict;		  /* why it cannot be written, or NULL */
	const char *skipped;		  /* why it is left out, or NULL */
	const char *merges;		  /* both changed it: why apply merges them, or NULL */
	struct origin origin;		  /* and what from */
	struct apply_known known;	  /* what the workspace knows of what is there */
	bool unless_named;		  /* the conflict is none for who names this very path */
	bool secret;			  /* what the directory has there is not to be shown */
};

enum apply_type review_type(enum tree_type type);

/* Negative ends it. */
typedef int judged_fn(const struct judged *j, void *arg, struct err *e);

/* In the order of a walk. Text is asked for in any case: targets of links are in it. */
int review_each(struct host_dir *d, judged_fn *each, void *arg, uint64_t *ret_omitted,
		struct err *e);

#endif
