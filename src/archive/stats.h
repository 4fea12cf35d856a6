/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_STATS_H
#define ARCHIVE_STATS_H

#include <stdint.h>

/* What an import made, or an export wrote; then what was left out or changed. */
struct archive_stats {
	uint64_t files, dirs, symlinks, links, fifos;
	uint64_t bytes;	   /* of files, without holes */
	uint64_t layers;   /* of an image that were applied; 0: it was a plain archive */
	uint64_t removed;  /* by whiteouts */
	uint64_t replaced; /* there was something else before, from this archive or the workspace */
	uint64_t devices;  /* and sockets */
	uint64_t setid;	   /* files that lost set-id bits */
	uint64_t attrs;	   /* extended attributes and ACLs */
	uint64_t owners;   /* whose owner became the sandbox's user */
	uint64_t times;	   /* out of range */
	uint64_t ours;	   /* 1: an export of ours, that went to / for want of another place */
};

_Static_assert(sizeof(struct archive_stats) <= 16 * sizeof(uint64_t), "fits into an answer");

#endif
