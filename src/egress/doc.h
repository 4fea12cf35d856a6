/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document as a tree that knows where each part stands: what YAML and JSON have in common.
 * Bounded in size and depth; keys of a map are different from each other.
 */
#ifndef EGRESS_DOC_H
#define EGRESS_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/value.h"

#define DOC_NODES_MAX 400000u
#define DOC_DEPTH_MAX 8u
#define DOC_KEYS_MAX 64u /* of one map */

enum doc_kind { DOC_NULL, DOC_BOOL, DOC_INT, DOC_REAL, DOC_STRING, DOC_LIST, DOC_MAP };

struct doc_node {
	enum doc_kind kind;
	uint32_t line, column; /* from 1; 0: it has no place (JSON) */
	uint32_t key, text;    /* offsets into strings */
	uint32_t key_line, key_column;
	uint32_t first, last, next; /* of its children, of its parent's: number + 1 */
	uint32_t count;		    /* of its children */
	int64_t number;		    /* of DOC_INT and DOC_BOOL */
};

struct doc {
	struct doc_node *nodes; /* the first is the root */
	uint32_t n, room;
	char *strings;
	size_t strings_len, strings_room;
};

void doc_done(struct doc *d);
#define auto_doc __attribute__((cleanup(doc_done))) struct doc

/* Where a new node stands, and under which key of its parent (NULL: of a list, or the root). */
struct doc_place {
	uint32_t parent; /* number + 1; 0: it is the root */
	const char *key;
	uint32_t key_line, key_column;
	uint32_t line, column;
};

/* Adds a node; `text` is copied and may be NULL. *ret is its number. The errors are of limits and
 * of a key that is there already. */
int doc_add(struct doc *d, enum doc_kind kind, const struct doc_place *at, const char *text,
	    uint32_t *ret, struct err *e);
int doc_of_value(const struct value *v, struct doc *ret, struct err *e);

static inline const struct doc_node *doc_node(const struct doc *d, uint32_t number_1)
{
	return number_1 ? &d->nodes[number_1 - 1] : NULL;
}
static inline const char *doc_text(const struct doc *d, const struct doc_node *n)
{
	return d->strings + n->text;
}
static inline const char *doc_key(const struct doc *d, const struct doc_node *n)
{
	return d->strings + n->key;
}
const char *doc_kind_name(enum doc_kind kind); /* "a list" */

#endif
