/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Merkle tree of RFC 6962 over a list that only grows. Pure: nodes that are kept are read by a
 * function of the caller's.
 *
 * Only whole subtrees (2^level leaves, from a multiple of that on) are kept, one behind the other
 * in the order in which they become whole: leaf n, then what it completes. tree_place() says where.
 */
#ifndef LEDGER_TREE_H
#define LEDGER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

#define TREE_LEVELS 48u		     /* 2^48 events */
#define TREE_PROOF_MAX (TREE_LEVELS) /* hashes in a proof of inclusion; of consistency one more */

struct tree_hash {
	uint8_t byte[HASH_BYTES];
};

void tree_leaf(const void *data, size_t len, struct tree_hash *ret);
void tree_node(const struct tree_hash *left, const struct tree_hash *right, struct tree_hash *ret);
bool tree_same(const struct tree_hash *a, const struct tree_hash *b);

/* The right edge of a tree: all that is needed to go on. */
struct tree_edge {
	uint64_t size;
	struct tree_hash hash[TREE_LEVELS]; /* of level k where bit k of size is set */
};

/* One leaf more. done[0..*n) are the subtrees that it completes, itself first; room for
 * TREE_LEVELS. */
void tree_add(struct tree_edge *t, const struct tree_hash *leaf, struct tree_hash *done,
	      unsigned *n);
void tree_root(const struct tree_edge *t, struct tree_hash *ret);

/* Where the nth subtree of a level is kept, and how many are kept of `size` leaves. */
uint64_t tree_place(unsigned level, uint64_t n);
uint64_t tree_kept(uint64_t size);

typedef int tree_read_fn(void *arg, uint64_t place, struct tree_hash *ret, struct err *e);
/* The edge of the first `size` leaves, from what is kept. */
int tree_load(uint64_t size, tree_read_fn *read, void *arg, struct tree_edge *ret, struct err *e);
/* Leaf `at` is in the tree of `size`; *n hashes, at most TREE_PROOF_MAX. */
int tree_inclusion(uint64_t at, uint64_t size, tree_read_fn *read, void *arg,
		   struct tree_hash *proof, unsigned *n, struct err *e);
/* The tree of `old` leaves is the beginning of that of `size`; at most TREE_PROOF_MAX + 1. */
int tree_consistency(uint64_t old, uint64_t size, tree_read_fn *read, void *arg,
		     struct tree_hash *proof, unsigned *n, struct err *e);

bool tree_check_inclusion(uint64_t at, uint64_t size, const struct tree_hash *leaf,
			  const struct tree_hash *proof, unsigned n, const struct tree_hash *root);
struct tree_head {
	uint64_t size;
	struct tree_hash root;
};
bool tree_check_consistency(const struct tree_head *old, const struct tree_head *now,
			    const struct tree_hash *proof, unsigned n);

#endif
