/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/chunks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void chunks_done(struct chunks *c)
{
	free(c->refs);
	free(c->slots);
	*c = (struct chunks){0};
}

/* The hashes of a manifest are what its sender says. A salt that it does not know keeps it from
 * choosing ones that all meet in one slot. */
static size_t first_slot(const struct chunks *c, const uint8_t hash[HASH_BYTES])
{
	uint64_t mixed = c->salt, word;

	for (int i = 0; i < HASH_BYTES; i += 8) {
		memcpy(&word, hash + i, sizeof(word));
		mixed = (mixed ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		mixed ^= mixed >> 32;
	}
	return (size_t)mixed & (c->n_slots - 1);
}

/* The slot of the hash, or the free one where it would be. */
static size_t find_slot(const struct chunks *c, const uint8_t hash[HASH_BYTES])
{
	size_t slot = first_slot(c, hash);

	while (c->slots[slot] != CHUNKS_NONE &&
	       memcmp(c->refs[c->slots[slot]].hash, hash, HASH_BYTES) != 0)
		slot = (slot + 1) & (c->n_slots - 1);
	return slot;
}

static int grow(struct chunks *c)
{
	size_t cap = c->cap ? c->cap * 2 : 256;
	struct chunks_ref *refs = reallocarray(c->refs, cap, sizeof(*refs));

	if (!refs)
		return -ENOMEM;
	c->refs = refs;
	uint32_t *slots = reallocarray(c->slots, cap * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, cap * 2 * sizeof(*slots));
	if (!c->slots && getrandom(&c->salt, sizeof(c->salt), 0) != sizeof(c->salt))
		c->salt = (uintptr_t)refs; /* not a secret, but no constant */
	c->slots = slots;
	c->n_slots = cap * 2;
	c->cap = cap;
	for (size_t i = 0; i < c->n; i++)
		c->slots[find_slot(c, c->refs[i].hash)] = (uint32_t)i;
	return 0;
}

int chunks_add(struct chunks *c, const struct chunks_ref *ref, struct err *e)
{
	if (c->n == c->cap && (c->n >= CHUNKS_NONE / 2 || grow(c) < 0)) {
		errno = ENOMEM;
		return err_sys(e, "chunks");
	}
	size_t slot = find_slot(c, ref->hash);
	if (c->slots[slot] != CHUNKS_NONE) {
		if (c->refs[c->slots[slot]].len != ref->len)
			return err_set(e, ERR_INVALID, "one hash for chunks of two lengths");
		return 0;
	}
	c->slots[slot] = (uint32_t)c->n;
	c->refs[c->n++] = *ref;
	return 0;
}

uint32_t chunks_count(const struct manifest_entry *entry)
{
	if (entry->kind != MANIFEST_FILE || entry->size == 0)
		return 0;
	return entry->n_chunks ? entry->n_chunks : 1;
}

struct chunks_ref chunks_at(const struct manifest_entry *entry, uint32_t i)
{
	if (entry->n_chunks == 0)
		return (struct chunks_ref){.hash = entry->hash, .len = (uint32_t)entry->size};
	return (struct chunks_ref){.hash = entry->chunks[i].hash, .len = entry->chunks[i].len};
}

int chunks_add_entry(struct chunks *c, const struct manifest_entry *entry, uint32_t number,
		     struct err *e)
{
	uint32_t n = chunks_count(entry);
	uint64_t offset = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct chunks_ref ref = chunks_at(entry, i);

		ref.entry = number;
		ref.offset = offset;
		offset += ref.len;
		int r = chunks_add(c, &ref, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int chunks_add_tree(struct chunks *c, const struct manifest *m, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		int r = chunks_add_entry(c, &m->entries[i], (uint32_t)i, e);

		if (r < 0)
			return r;
	}
	return 0;
}

uint32_t chunks_find(const struct chunks *c, const uint8_t hash[HASH_BYTES])
{
	return c->n ? c->slots[find_slot(c, hash)] : CHUNKS_NONE;
}
