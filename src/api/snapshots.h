/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of sandboxes that are gone, by a name that their tenant chose: what was in /home/user, as
 * an archive that a tar inside wrote and another tar inside will read. Here it is bytes, and nobody
 * looks into them. Kept by this process, for a day after the last use, a few of each tenant.
 */
#ifndef API_SNAPSHOTS_H
#define API_SNAPSHOTS_H

#include "api/boxes.h"

#define SNAPSHOTS_MAX 8u		   /* of a tenant */
#define SNAPSHOT_BYTES_MAX (1024ull << 20) /* of all of a tenant's */
#define SNAPSHOT_NAME_MAX 64u
#define SNAPSHOT_KEEP_MS (24u * 3600 * 1000)

int snapshots_new(struct snapshots **ret, struct err *e);
void snapshots_free(struct snapshots *s);

/* Of a sandbox that lives. One of the same name is replaced when this one is whole. */
int snapshot_take(struct call *c, struct box *b, const char *name, uint64_t *ret_bytes,
		  struct err *e);
/* Into a sandbox that was just made. not_found.snapshot says which there are. */
int snapshot_give(struct call *c, struct box *b, const char *name, struct err *e);
/* Before a sandbox is made for it. */
int snapshot_check(const struct call *c, const char *name, struct err *e);

/* The table alone. `fd` is taken, also on failure. */
int snapshots_put(struct snapshots *s, const char *tenant, const char *name, int fd, uint64_t bytes,
		  struct err *e);
/* A descriptor of one's own, for pread(); or not_found. */
int snapshots_open(struct snapshots *s, const char *tenant, const char *name, struct err *e);

#endif
