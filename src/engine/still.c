/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot while a command is running: its processes are stopped by their control group, what
 * they have changed is copied, they go on. It equals one instant; the command notices nothing but
 * time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/workspace_int.h"
#include "kernel/cgroup.h"
#include "store/merge.h"
#include "tree/answer.h"

#define FREEZE_MS 3000

static int freeze(const struct merge *m, struct cgroup *cg, struct err *e)
{
	struct cgroup_limits limits = {.pids = 1, .memory_bytes = 1, .cpus_milli = 1};
	struct cgroup_host host = {0};

	cgroup_detect(&host);
	if (host.ops)
		cgroup_name(&host, m->sandbox, &limits, cg);
	if (!host.ops || cgroup_freeze(cg, true) < 0) {
		(void)err_set(e, ERR_BUSY,
			      "workspace %s: a command is running in it, and cannot be "
			      "stopped for a moment without a control group of its own",
			      m->w.name);
		return err_remedy(e, "wait for it");
	}
	int r = cgroup_await_frozen(cg, FREEZE_MS);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "stop the command that is running");
	}
	return 0;
}

static int copy_part(struct store *s, const struct merge *m, const char *part, uint32_t bit,
		     struct snap *snap, struct err *e)
{
	char from[48], to[24];
	const char *argv[] = {"merge", to, from, NULL};
	struct reader_ask ask = {.argv = argv, .peek = PEEK_COPY, .out = m->number};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};

	if (!(m->parts & bit))
		return 0;
	(void)snprintf(to, sizeof(to), "/v/out/%s", part);
	(void)snprintf(from, sizeof(from), "/v/l/%u/%s", m->open, part);
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	snap->files += answer.merge.copied + answer.merge.whiteouts;
	snap->bytes += answer.merge.bytes;
	return reader_end(&r, k, e);
}

static int copy(struct store *s, struct merge *m, struct snap *snap, struct err *e)
{
	struct cgroup cg = {0};
	uint64_t began = now_us();
	int r = freeze(m, &cg, e);

	if (r >= 0)
		r = copy_part(s, m, "root", LAYER_ROOT, snap, e);
	if (r >= 0)
		r = copy_part(s, m, "usr", LAYER_USR, snap, e);
	if (r >= 0)
		r = copy_part(s, m, "work", LAYER_WORK, snap, e);
	if (cg.ops)
		(void)cgroup_freeze(&cg, false); /* or its group is gone with it */
	snap->wall_us = now_us() - began;
	return r;
}

int workspace_snap_running(struct store *s, const char *name, const char *label, struct snap *ret,
			   struct err *e)
{
	auto_free struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "snap");
	*ret = (struct snap){.kind = "snap", .command = "while a command was running"};
	int r = merge_begin_copy(s, name, m, e);
	if (r >= 0 && label) {
		r = history_refuse_label(s, &m->w, label, e);
		(void)snprintf(ret->label, sizeof(ret->label), "%s", label);
	}
	if (r >= 0)
		r = copy(s, m, ret, e);
	if (r >= 0)
		r = merge_commit_copy(s, m, ret, e);
	merge_end(s, m);
	return r;
}
