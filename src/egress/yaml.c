/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of YAML that policies need: maps, lists, plain and quoted scalars. Numbers are decimal,
 * true and false are the only booleans (no yes, no on), and a quoted scalar is a text.
 */
#include "egress/yaml.h"

#include <string.h>
#include <yaml.h>

#include "egress/doc.h"
#include "egress/schema_int.h"

/* A collection that is not closed yet. */
struct level {
	uint32_t number; /* of its node */
	bool is_map;
	bool has_key; /* a key was read, its value comes next */
	char key[128];
	uint32_t key_line, key_column;
};

struct builder {
	struct doc *doc;
	struct level levels[DOC_DEPTH_MAX];
	unsigned depth;
	const char *source;
};

static uint32_t line_of(yaml_mark_t mark)
{
	return (uint32_t)mark.line + 1;
}

static uint32_t column_of(yaml_mark_t mark)
{
	return (uint32_t)mark.column + 1;
}

static int fail_at(const struct builder *b, yaml_mark_t mark, const char *why, struct err *e)
{
	return err_set(e, ERR_INVALID, "%s: line %u, column %u: %s", b->source, line_of(mark),
		       column_of(mark), why);
}

static bool is_decimal(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= 18 && text[n] == '\0' && (n == 1 || text[0] != '0');
}

static enum doc_kind kind_of_plain(const char *text, int64_t *ret)
{
	bool minus = text[0] == '-';

	*ret = 0;
	if (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
		return DOC_NULL;
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		*ret = text[0] == 't';
		return DOC_BOOL;
	}
	if (!is_decimal(text + minus))
		return DOC_STRING;
	for (const char *at = text + minus; *at; at++)
		*ret = *ret * 10 + (*at - '0');
	if (minus)
		*ret = -*ret;
	return DOC_INT;
}

/* Puts a node where we are. What the document says of it is checked by then. */
static int put(struct builder *b, enum doc_kind kind, yaml_mark_t mark, const char *text,
	       uint32_t *ret, struct err *e)
{
	struct level *in = b->depth ? &b->levels[b->depth - 1] : NULL;
	struct doc_place at = {.line = line_of(mark), .column = column_of(mark)};
	struct err why = ERR_INIT;

	if (in) {
		at.parent = in->number + 1;
		at.key = in->is_map ? in->key : NULL;
		at.key_line = in->key_line;
		at.key_column = in->key_column;
		in->has_key = false;
	}
	if (doc_add(b->doc, kind, &at, text, ret, &why) == 0)
		return 0;
	return err_set(e, why.kind, "%s: line %u, column %u: %s", b->source,
		       at.key_line ? at.key_line : at.line, at.key_line ? at.key_column : at.column,
		       why.text);
}

static int take_key(struct builder *b, struct level *in, const yaml_event_t *event, struct err *e)
{
	size_t n = event->data.scalar.length;

	if (n >= sizeof(in->key))
		return fail_at(b, event->start_mark, "a key that is too long", e);
	memcpy(in->key, event->data.scalar.value, n);
	in->key[n] = '\0';
	in->has_key = true;
	in->key_line = line_of(event->start_mark);
	in->key_column = column_of(event->start_mark);
	return 0;
}

static int on_scalar(struct builder *b, const yaml_event_t *event, struct err *e)
{
	const char *text = (const char *)event->data.scalar.value;
	struct level *in = b->depth ? &b->levels[b->depth - 1] : NULL;
	enum doc_kind kind = DOC_STRING;
	int64_t value = 0;
	uint32_t number = 0;

	if (event->data.scalar.anchor)
		return fail_at(b, event->start_mark, "an anchor; repeat the text instead", e);
	if (event->data.scalar.tag)
		return fail_at(b, event->start_mark, "a tag", e);
	if (strlen(text) != event->data.scalar.length)
		return fail_at(b, event->start_mark, "NUL", e);
	if (in && in->is_map && !in->has_key)
		return take_key(b, in, event, e);
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		kind = kind_of_plain(text, &value);
	if (put(b, kind, event->start_mark, text, &number, e) < 0)
		return -EINVAL;
	b->doc->nodes[number].number = value;
	return 0;
}

static int on_open(struct builder *b, bool is_map, const void *anchor, const void *tag,
		   const yaml_event_t *event, struct err *e)
{
	struct level *in = b->depth ? &b->levels[b->depth - 1] : NULL;
	uint32_t number = 0;

	if (anchor)
		return fail_at(b, event->start_mark, "an anchor; repeat the text instead", e);
	if (tag)
		return fail_at(b, event->start_mark, "a tag", e);
	if (in && in->is_map && !in->has_key)
		return fail_at(b, event->start_mark, "a key that is not a text", e);
	if (b->depth == DOC_DEPTH_MAX)
		return fail_at(b, event->start_mark, "nested too deep", e);
	if (put(b, is_map ? DOC_MAP : DOC_LIST, event->start_mark, NULL, &number, e) < 0)
		return -EINVAL;
	b->levels[b->depth++] = (struct level){.number = number, .is_map = is_map};
	return 0;
}

static int on_event(struct builder *b, const yaml_event_t *event, struct err *e)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT: return on_scalar(b, event, e);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, false, event->data.sequence_start.anchor,
			       event->data.sequence_start.tag, event, e);
	case YAML_MAPPING_START_EVENT:
		return on_open(b, true, event->data.mapping_start.anchor,
			       event->data.mapping_start.tag, event, e);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: b->depth--; return 0;
	case YAML_ALIAS_EVENT:
		return fail_at(b, event->start_mark, "an alias; repeat the text instead", e);
	case YAML_DOCUMENT_START_EVENT:
		return b->doc->n ? fail_at(b, event->start_mark, "a second document", e) : 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT: break;
	}
	return 0;
}

static int fail_parse(const struct builder *b, const yaml_parser_t *parser, struct err *e)
{
	/* - *.example.org: a star in front is YAML's own, for an alias. */
	bool is_alias = parser->context && strstr(parser->context, "alias");

	int r = fail_at(b, parser->problem_mark, parser->problem ? parser->problem : "not YAML", e);

	return is_alias ? err_remedy(e, "write it in quotes: \"*.example.org\"") : r;
}

static int read_all(struct builder *b, yaml_parser_t *parser, struct err *e)
{
	for (bool is_end = false; !is_end;) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return fail_parse(b, parser, e);
		is_end = event.type == YAML_STREAM_END_EVENT;
		int r = on_event(b, &event, e);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
	}
	return b->doc->n ? 0
			 : err_set(e, ERR_INVALID, "%s: line 1, column 1: it is empty", b->source);
}

int policy_load_yaml(struct policy *p, const char *text, size_t len, const char *source,
		     const struct policy_presets *presets, struct err *e)
{
	auto_doc doc = {0};
	struct builder b = {.doc = &doc, .source = source};
	yaml_parser_t parser;

	if (len > POLICY_FILE_MAX)
		return err_set(e, ERR_LIMIT, "%s: larger than %u bytes", source, POLICY_FILE_MAX);
	if (memchr(text, '\0', len))
		return err_set(e, ERR_INVALID, "%s: NUL in it", source);
	if (!yaml_parser_initialize(&parser))
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	int r = read_all(&b, &parser, e);
	yaml_parser_delete(&parser);
	if (r < 0 && e->remedy[0])
		return r;
	if (r < 0)
		return err_remedy(e, "docs/egress.md shows what a policy looks like");
	return schema_load(p, &doc, source, presets, e);
}

int policy_load_value(struct policy *p, const struct value *v, const char *source,
		      const struct policy_presets *presets, struct err *e)
{
	auto_doc doc = {0};

	if (doc_of_value(v, &doc, e) < 0)
		return err_wrap(e, "%s", source);
	return schema_load(p, &doc, source, presets, e);
}
