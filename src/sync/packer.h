/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends chunks in packs: reads them from the tree, presses them, in as many threads as asked for,
 * and sends the packs in order. Never more than a few packs are in memory.
 */
#ifndef SYNC_PACKER_H
#define SYNC_PACKER_H

#include "base/err.h"
#include "sync/chunks.h"
#include "sync/index.h"
#include "sync/session.h"
#include "sync/stream.h"

struct packer_job {
	int tree_fd;
	const struct index *index;   /* of the tree; files must still be as it says */
	const struct chunks *chunks; /* of the index's manifest */
	const uint32_t *wanted;	     /* numbers, rising */
	size_t n;
	int level;
	unsigned threads;
	sync_progress_fn *progress;
	void *context;
};

int packer_send(const struct packer_job *job, struct stream *s, struct err *e);

#endif
