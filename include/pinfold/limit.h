/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: limits of workspaces that are there, and of all of them together */
#ifndef PINFOLD_LIMIT_H
#define PINFOLD_LIMIT_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Change what a workspace may hold; 0 leaves it. It may have more already: then nothing more is
 * written. Commands that are running keep what they began with. */
PINFOLD_API int pinfold_workspace_limit(struct pinfold_store *store, const char *name,
					uint64_t disk_bytes, uint64_t inodes,
					struct pinfold_error *ret_error);

/* Of a store, so of one user or of one tenant. 0: no limit. */
struct pinfold_total {
	uint64_t disk_bytes, workspaces;
	uint64_t disk_used_bytes, workspaces_used; /* not looked at by pinfold_total_set() */
};

PINFOLD_API int pinfold_total_get(struct pinfold_store *store, struct pinfold_total *ret_total,
				  struct pinfold_error *ret_error);
PINFOLD_API int pinfold_total_set(struct pinfold_store *store, const struct pinfold_total *total,
				  struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
