/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an archive is an export of ours, by its first bytes before compression (pax.h). Anybody
 * can write those: they say where it is likely meant to go, and allow nothing.
 */
#ifndef ARCHIVE_MARK_H
#define ARCHIVE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mark {
	bool found;
	uint8_t *head; /* what was read to know it, which who imports has to begin with */
	size_t len;
};

/* What is no archive has no mark: who reads it whole says why. */
int mark_find(int fd, struct mark *ret, struct err *e);
void mark_done(struct mark *mark);

#endif
