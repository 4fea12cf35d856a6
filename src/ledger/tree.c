/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/tree.h"

#include <assert.h>
#include <string.h>

void tree_leaf(const void *data, size_t len, struct tree_hash *ret)
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, "\0", 1);
	hash_add(&h, data, len);
	hash_done(&h, ret->byte);
}

void tree_node(const struct tree_hash *left, const struct tree_hash *right, struct tree_hash *ret)
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, "\1", 1);
	hash_add(&h, left->byte, HASH_BYTES);
	hash_add(&h, right->byte, HASH_BYTES);
	hash_done(&h, ret->byte);
}

bool tree_same(const struct tree_hash *a, const struct tree_hash *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void tree_add(struct tree_edge *t, const struct tree_hash *leaf, struct tree_hash *done,
	      unsigned *n)
{
	struct tree_hash node = *leaf;
	unsigned level = 0;

	assert(t->size >> TREE_LEVELS == 0);
	done[0] = node;
	for (; t->size >> level & 1; level++) {
		tree_node(&t->hash[level], &node, &node);
		done[level + 1] = node;
	}
	t->hash[level] = node;
	t->size++;
	*n = level + 1;
}

void tree_root(const struct tree_edge *t, struct tree_hash *ret)
{
	bool any = false;

	hash_bytes("", 0, ret->byte);
	for (unsigned k = 0; k < TREE_LEVELS; k++) {
		if (!(t->size >> k & 1))
			continue;
		if (any)
			tree_node(&t->hash[k], ret, ret);
		else
			*ret = t->hash[k];
		any = true;
	}
}

uint64_t tree_kept(uint64_t size)
{
	uint64_t n = 0;

	for (; size; size >>= 1)
		n += size;
	return n;
}

/* A subtree is kept `level` behind its last leaf. */
uint64_t tree_place(unsigned level, uint64_t n)
{
	uint64_t last = ((n + 1) << level) - 1;

	return tree_kept(last) + level;
}

int tree_load(uint64_t size, tree_read_fn *read, void *arg, struct tree_edge *ret, struct err *e)
{
	assert(size >> TREE_LEVELS == 0);
	ret->size = size;
	for (unsigned k = 0; k < TREE_LEVELS; k++) {
		if (!(size >> k & 1))
			continue;
		int r = read(arg, tree_place(k, (size >> k) - 1), &ret->hash[k], e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The largest power of two below n; n > 1. */
static unsigned split(uint64_t n)
{
	unsigned level = 0;

	while ((UINT64_C(2) << level) < n)
		level++;
	return level;
}

/* The hash of leaves from..to, which begins where a subtree of its size would. */
static int range(uint64_t from, uint64_t to, tree_read_fn *read, void *arg, struct tree_hash *ret,
		 struct err *e)
{
	uint64_t n = to - from;
	unsigned level = n > 1 ? split(n) : 0;
	struct tree_hash right;

	if (n == 1)
		return read(arg, tree_place(0, from), ret, e);
	if (n == UINT64_C(2) << level)
		return read(arg, tree_place(level + 1, from >> (level + 1)), ret, e);
	int r = read(arg, tree_place(level, from >> level), ret, e);
	if (r >= 0)
		r = range(from + (UINT64_C(1) << level), to, read, arg, &right, e);
	if (r >= 0)
		tree_node(ret, &right, ret);
	return r;
}

/* From the root down to the leaf, and so in the wrong order. */
static void reverse(struct tree_hash *proof, unsigned n)
{
	for (unsigned i = 0; i < n / 2; i++) {
		struct tree_hash other = proof[i];

		proof[i] = proof[n - 1 - i];
		proof[n - 1 - i] = other;
	}
}

int tree_inclusion(uint64_t at, uint64_t size, tree_read_fn *read, void *arg,
		   struct tree_hash *proof, unsigned *n, struct err *e)
{
	uint64_t from = 0, to = size;

	assert(at < size && size >> TREE_LEVELS == 0);
	for (*n = 0; to - from > 1; (*n)++) {
		uint64_t middle = from + (UINT64_C(1) << split(to - from));
		bool left = at < middle;
		int r = left ? range(middle, to, read, arg, &proof[*n], e)
			     : range(from, middle, read, arg, &proof[*n], e);

		if (r < 0)
			return r;
		*(left ? &to : &from) = middle;
	}
	reverse(proof, *n);
	return 0;
}

int tree_consistency(uint64_t old, uint64_t size, tree_read_fn *read, void *arg,
		     struct tree_hash *proof, unsigned *n, struct err *e)
{
	uint64_t from = 0, to = size;
	bool whole = true; /* the old tree is what we look at, and who checks has its root */
	int r = 0;

	assert(old > 0 && old <= size && size >> TREE_LEVELS == 0);
	*n = 0;
	while (r >= 0 && old != to) {
		uint64_t middle = from + (UINT64_C(1) << split(to - from));

		if (old <= middle) {
			r = range(middle, to, read, arg, &proof[(*n)++], e);
			to = middle;
		} else {
			r = range(from, middle, read, arg, &proof[(*n)++], e);
			from = middle;
			whole = false;
		}
	}
	if (r >= 0 && !whole)
		r = range(from, to, read, arg, &proof[(*n)++], e);
	reverse(proof, *n);
	return r < 0 ? r : 0;
}

bool tree_check_inclusion(uint64_t at, uint64_t size, const struct tree_hash *leaf,
			  const struct tree_hash *proof, unsigned n, const struct tree_hash *root)
{
	struct tree_hash got = *leaf;
	uint64_t last = size - 1;

	if (at >= size)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (last == 0)
			return false;
		if ((at & 1) || at == last) {
			tree_node(&proof[i], &got, &got);
			for (; !(at & 1) && at; at >>= 1)
				last >>= 1;
		} else {
			tree_node(&got, &proof[i], &got);
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0 && tree_same(&got, root);
}

bool tree_check_consistency(const struct tree_head *old, const struct tree_head *now,
			    const struct tree_hash *proof, unsigned n)
{
	uint64_t at = old->size - 1, last = now->size - 1;
	unsigned i = 0;

	if (old->size == 0 || old->size > now->size)
		return old->size == 0 && n == 0;
	if (old->size == now->size)
		return n == 0 && tree_same(&old->root, &now->root);
	for (; at & 1; at >>= 1)
		last >>= 1;
	/* A whole subtree proves itself. */
	if (at && n == 0)
		return false;
	struct tree_hash was = at ? proof[i++] : old->root, is = was;
	for (; i < n; i++) {
		if (last == 0)
			return false;
		if ((at & 1) || at == last) {
			tree_node(&proof[i], &was, &was);
			tree_node(&proof[i], &is, &is);
			for (; !(at & 1) && at; at >>= 1)
				last >>= 1;
		} else {
			tree_node(&is, &proof[i], &is);
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0 && tree_same(&was, &old->root) && tree_same(&is, &now->root);
}
