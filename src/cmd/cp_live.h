/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and trees between the host and a sandbox that lives. What is inside may change all the
 * time: nothing is written outside of the named place, nor through a link. Both return 0, or -1 and
 * *ret_error.
 */
#ifndef CMD_CP_LIVE_H
#define CMD_CP_LIVE_H

#include <pinfold/pinfold.h>

#include "base/err.h"

int cp_live_out(const char *id, struct pinfold_files *files, const char *from, const char *to,
		struct pinfold_error *ret_error);
int cp_live_in(struct pinfold_files *files, const char *from, const char *to,
	       struct pinfold_error *ret_error);

/* What both use (cp_live.c). */
const char *cp_last_name(const char *path);
/* The bytes of a file up to the size that it has now, holes as holes. 0 or -errno. */
int cp_bytes(int from, int to);
/* The library's shape of an error of ours; returns -1. */
int cp_failed(const struct err *e, struct pinfold_error *ret_error);

#endif
