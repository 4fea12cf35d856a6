/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of a tree, each once, numbered by where they are met first. Both sides number those of
 * a manifest in this way, so that a number is enough to ask for one.
 */
#ifndef SYNC_CHUNKS_H
#define SYNC_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sync/manifest.h"

#define CHUNKS_NONE UINT32_MAX

struct chunks_ref {
	const uint8_t *hash; /* borrowed */
	uint64_t offset;     /* in the file of `entry` */
	uint32_t len;
	uint32_t entry;
};

struct chunks {
	struct chunks_ref *refs;
	size_t n;
	size_t cap;
	uint32_t *slots; /* numbers by hash, CHUNKS_NONE where there is none */
	size_t n_slots;
	uint64_t salt;
};

void chunks_done(struct chunks *c);
#define auto_chunks __attribute__((cleanup(chunks_done)))

/* Of a zeroed one. The first place of a chunk stays. ERR_INVALID: two lengths for one hash. */
int chunks_add(struct chunks *c, const struct chunks_ref *ref, struct err *e);
/* All of an entry, whose number is `number`. */
int chunks_add_entry(struct chunks *c, const struct manifest_entry *entry, uint32_t number,
		     struct err *e);
int chunks_add_tree(struct chunks *c, const struct manifest *m, struct err *e);
/* Its number, or CHUNKS_NONE. */
uint32_t chunks_find(const struct chunks *c, const uint8_t hash[HASH_BYTES]);

/* How many an entry has, whatever its size; and hash and length of the i-th. */
uint32_t chunks_count(const struct manifest_entry *entry);
struct chunks_ref chunks_at(const struct manifest_entry *entry, uint32_t i);

#endif
