/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/doc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void doc_done(struct doc *d)
{
	free(d->nodes);
	free(d->strings);
	*d = (struct doc){0};
}

static int keep(struct doc *d, const char *text, uint32_t *ret, struct err *e)
{
	size_t len = strlen(text) + 1;

	if (d->strings_room - d->strings_len < len) {
		size_t room = (d->strings_room + len) * 2;
		char *strings = realloc(d->strings, room);

		if (!strings)
			return err_set(e, ERR_INTERNAL, "no memory for a policy");
		d->strings = strings;
		d->strings_room = room;
	}
	memcpy(d->strings + d->strings_len, text, len);
	*ret = (uint32_t)d->strings_len;
	d->strings_len += len;
	return 0;
}

static int grow(struct doc *d, struct err *e)
{
	if (d->n == DOC_NODES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u parts", DOC_NODES_MAX);
	if (d->n < d->room)
		return 0;
	uint32_t room = d->room ? d->room * 2 : 64;
	struct doc_node *nodes = reallocarray(d->nodes, room, sizeof(*nodes));
	if (!nodes)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	d->nodes = nodes;
	d->room = room;
	return 0;
}

static int check_key(const struct doc *d, const struct doc_node *map, const char *key,
		     struct err *e)
{
	if (map->count == DOC_KEYS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u keys", DOC_KEYS_MAX);
	for (const struct doc_node *n = doc_node(d, map->first); n; n = doc_node(d, n->next))
		if (strcmp(doc_key(d, n), key) == 0)
			return err_set(e, ERR_INVALID, "\"%.40s\" is there twice", key);
	return 0;
}

int doc_add(struct doc *d, enum doc_kind kind, const struct doc_place *at, const char *text,
	    uint32_t *ret, struct err *e)
{
	struct doc_node node = {
		.kind = kind,
		.line = at->line,
		.column = at->column,
		.key_line = at->key_line,
		.key_column = at->key_column,
	};

	assert(at->parent || d->n == 0);
	if (at->key && check_key(d, &d->nodes[at->parent - 1], at->key, e) < 0)
		return -EINVAL;
	if (grow(d, e) < 0 || keep(d, at->key ? at->key : "", &node.key, e) < 0 ||
	    keep(d, text ? text : "", &node.text, e) < 0)
		return -EINVAL;
	d->nodes[d->n++] = node;
	if (at->parent) {
		struct doc_node *parent = &d->nodes[at->parent - 1];

		if (parent->last)
			d->nodes[parent->last - 1].next = d->n;
		else
			parent->first = d->n;
		parent->last = d->n;
		parent->count++;
	}
	*ret = d->n - 1;
	return 0;
}

static enum doc_kind kind_of(const struct value *v)
{
	switch (value_kind(v)) {
	case VALUE_BOOL: return DOC_BOOL;
	case VALUE_INT: return DOC_INT;
	case VALUE_REAL: return DOC_REAL;
	case VALUE_STRING: return DOC_STRING;
	case VALUE_ARRAY: return DOC_LIST;
	case VALUE_OBJECT: return DOC_MAP;
	case VALUE_NONE:
	case VALUE_NULL: break;
	}
	return DOC_NULL;
}

static int add_value(struct doc *d, const struct value *v, const struct doc_place *at,
		     unsigned depth, struct err *e)
{
	enum doc_kind kind = kind_of(v);
	const char *text = kind == DOC_STRING ? value_str(v) : NULL;
	uint32_t number = 0;

	if (depth == DOC_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "more than %u levels", DOC_DEPTH_MAX);
	if (text && strlen(text) != value_len(v))
		return err_set(e, ERR_INVALID, "a string with NUL in it");
	if (doc_add(d, kind, at, text, &number, e) < 0)
		return -EINVAL;
	if (kind == DOC_INT)
		d->nodes[number].number = value_int(v);
	if (kind == DOC_BOOL)
		d->nodes[number].number = value_true(v);
	for (size_t i = 0; kind == DOC_LIST && i < value_len(v); i++) {
		struct doc_place below = {.parent = number + 1};

		if (add_value(d, value_at(v, i), &below, depth + 1, e) < 0)
			return -EINVAL;
	}
	const char *key = kind == DOC_MAP ? value_next_key(v, NULL) : NULL;
	for (; key; key = value_next_key(v, key)) {
		struct doc_place below = {.parent = number + 1, .key = key};

		if (add_value(d, value_get(v, key), &below, depth + 1, e) < 0)
			return -EINVAL;
	}
	return 0;
}

int doc_of_value(const struct value *v, struct doc *ret, struct err *e)
{
	struct doc_place root = {0};

	*ret = (struct doc){0};
	int r = add_value(ret, v, &root, 0, e);
	if (r < 0)
		doc_done(ret);
	return r;
}

const char *doc_kind_name(enum doc_kind kind)
{
	static const char *const names[] = {
		[DOC_NULL] = "nothing",	   [DOC_BOOL] = "true or false", [DOC_INT] = "a number",
		[DOC_REAL] = "a fraction", [DOC_STRING] = "a text",	 [DOC_LIST] = "a list",
		[DOC_MAP] = "a mapping",
	};

	assert(kind <= DOC_MAP);
	return names[kind];
}
