/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of workspaces that are there, for the public. */
#include <pinfold/limit.h>
#include <assert.h>
#include <stdlib.h>

#include "base/fd.h"
#include "engine/workspace_int.h"
#include "store/total.h"
#include "store/workspace.h"

static struct value *limits(uint64_t bytes, const char *key, uint64_t count)
{
	struct value *v = value_object();

	if (bytes)
		value_set(v, "disk_bytes", value_of_u64(bytes));
	if (count)
		value_set(v, key, value_of_u64(count));
	return v;
}

int pinfold_workspace_limit(struct pinfold_store *store, const char *name, uint64_t disk_bytes,
			    uint64_t inodes, struct pinfold_error *ret_error)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	struct err e = ERR_INIT;
	struct op op = {.workspace = name};

	assert(store && name && ret_error);
	int r = op_begin(&op, "workspace.limit", store->store, limits(disk_bytes, "inodes", inodes),
			 &e);
	if (r >= 0)
		r = limit_check_disk(disk_bytes, &e);
	if (r >= 0)
		r = w ? workspace_find(store->store, name, w, &e) : err_sys(&e, "store");
	if (r >= 0) {
		w->disk_bytes = disk_bytes ? disk_bytes : w->disk_bytes;
		w->inodes = inodes ? inodes : w->inodes;
		r = workspace_limit(store->store, w, &e);
	}
	return sandbox_result(op_end(&op, r, NULL, &e), &e, ret_error);
}

int pinfold_total_get(struct pinfold_store *store, struct pinfold_total *ret_total,
		      struct pinfold_error *ret_error)
{
	struct total most, used;
	struct err e = ERR_INIT;
	int r = total_get(store->store, &most, &e);

	if (r >= 0)
		r = total_used(store->store, &used, &e);
	if (r >= 0)
		*ret_total = (struct pinfold_total){most.bytes, most.workspaces, used.bytes,
						    used.workspaces};
	return sandbox_result(r, &e, ret_error);
}

int pinfold_total_set(struct pinfold_store *store, const struct pinfold_total *total,
		      struct pinfold_error *ret_error)
{
	const struct total most = {total->disk_bytes, total->workspaces};
	struct err e = ERR_INIT;
	struct op op = {.workspace = NULL};
	int r = op_begin(&op, "store.limit", store->store,
			 limits(most.bytes, "workspaces", most.workspaces), &e);

	if (r >= 0)
		r = total_set(store->store, &most, &e);
	return sandbox_result(op_end(&op, r, NULL, &e), &e, ret_error);
}
