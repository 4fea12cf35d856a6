/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define MOST 70u

static struct tree_hash kept[4 * MOST];
static struct tree_hash roots[MOST + 1], leaves[MOST];

static int get(void *arg, uint64_t place, struct tree_hash *ret, struct err *e)
{
	(void)arg;
	(void)e;
	*ret = kept[place];
	return 0;
}

/* RFC 6962 word by word. */
static void slow(unsigned from, unsigned to, struct tree_hash *ret)
{
	struct tree_hash left, right;
	unsigned k = 1;

	if (to - from == 1) {
		*ret = leaves[from];
		return;
	}
	while (2 * k < to - from)
		k *= 2;
	slow(from, from + k, &left);
	slow(from + k, to, &right);
	tree_node(&left, &right, ret);
}

static void build(void)
{
	struct tree_edge t = {.size = 0};
	struct tree_hash done[TREE_LEVELS + 1];
	unsigned n = 0;

	tree_root(&t, &roots[0]);
	for (unsigned i = 0; i < MOST; i++) {
		char text[8];

		(void)snprintf(text, sizeof(text), "%u", i);
		tree_leaf(text, strlen(text), &leaves[i]);
		tree_add(&t, &leaves[i], done, &n);
		memcpy(kept + tree_kept(i), done, n * sizeof(*done));
		tree_root(&t, &roots[i + 1]);
	}
}

static void test_known(void)
{
	char text[HASH_TEXT_SIZE];
	struct tree_hash leaf;

	build();
	hash_text(roots[0].byte, text);
	is_str(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	       "the empty tree");
	tree_leaf("", 0, &leaf);
	hash_text(leaf.byte, text);
	is_str(text, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	       "the leaf of nothing");
}

static void test_roots(void)
{
	bool same = true, loads = true;
	struct err e = ERR_INIT;

	build();
	for (unsigned n = 1; n <= MOST; n++) {
		struct tree_hash root;
		struct tree_edge t;

		slow(0, n, &root);
		same = same && tree_same(&root, &roots[n]);
		loads = loads && tree_load(n, get, NULL, &t, &e) == 0;
		tree_root(&t, &root);
		loads = loads && tree_same(&root, &roots[n]);
	}
	ok(same, "roots are those of the RFC");
	ok(loads, "an edge that was loaded has them, too");
	is_int((long long)tree_place(0, 0), 0, "where the first leaf is kept");
	is_int((long long)tree_place(1, 0), 2, "and what it becomes with the second");
	is_int((long long)tree_place(2, 0), 6, "and with four");
}

static void test_inclusion(void)
{
	bool good = true, bad = false;
	struct err e = ERR_INIT;

	build();
	for (unsigned size = 1; size <= MOST; size++)
		for (unsigned at = 0; at < size; at++) {
			struct tree_hash proof[TREE_PROOF_MAX];
			unsigned n = 0;

			(void)tree_inclusion(at, size, get, NULL, proof, &n, &e);
			good = good &&
			       tree_check_inclusion(at, size, &leaves[at], proof, n, &roots[size]);
			bad |= tree_check_inclusion(at, size, &leaves[(at + 1) % MOST], proof, n,
						    &roots[size]);
			bad |= at + 1 < size && tree_check_inclusion(at + 1, size, &leaves[at],
								     proof, n, &roots[size]);
			bad |= n && tree_check_inclusion(at, size, &leaves[at], proof, n - 1,
							 &roots[size]);
			bad |= tree_check_inclusion(at, size, &leaves[at], proof, n,
						    &roots[size - 1]);
			if (n) {
				proof[n / 2].byte[5] ^= 1;
				bad |= tree_check_inclusion(at, size, &leaves[at], proof, n,
							    &roots[size]);
			}
		}
	ok(good, "every leaf of every tree is proved");
	ok(!bad, "another leaf, place, root, or a shorter or changed proof is not");
	ok(!tree_check_inclusion(3, 3, &leaves[0], NULL, 0, &roots[3]), "nor one behind the end");
}

static void test_consistency(void)
{
	bool good = true, bad = false;
	struct err e = ERR_INIT;

	build();
	for (unsigned size = 1; size <= MOST; size++)
		for (unsigned old = 1; old <= size; old++) {
			struct tree_head a = {old, roots[old]}, b = {size, roots[size]};
			struct tree_hash proof[TREE_PROOF_MAX + 1];
			unsigned n = 0;

			(void)tree_consistency(old, size, get, NULL, proof, &n, &e);
			good = good && tree_check_consistency(&a, &b, proof, n);
			a.root.byte[0] ^= 1;
			bad |= tree_check_consistency(&a, &b, proof, n);
			a.root.byte[0] ^= 1;
			b.root.byte[31] ^= 1;
			bad |= tree_check_consistency(&a, &b, proof, n);
			b.root.byte[31] ^= 1;
			if (!n)
				continue;
			bad |= tree_check_consistency(&a, &b, proof, n - 1);
			proof[n - 1].byte[9] ^= 4;
			bad |= tree_check_consistency(&a, &b, proof, n);
		}
	ok(good, "every tree goes on from every earlier one");
	ok(!bad, "with other roots, or a shorter or changed proof, it does not");
}

int main(void)
{
	TAP_RUN(test_known);
	TAP_RUN(test_roots);
	TAP_RUN(test_inclusion);
	TAP_RUN(test_consistency);
	return tap_done();
}
