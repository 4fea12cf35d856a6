/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document becomes rules. Three lists, allow, ask and deny; an item is HOST[:PORT] or a map whose
 * keys are the table below. A fourth, commands, is of egress/command.h. Whatever is missing, null,
 * misspelt or of another type is refused, by name and place: a rule that is not understood is never
 * left out.
 */
#include "egress/schema_int.h"

#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/suggest.h"
#include "egress/command.h"
#include "egress/path.h"
#include "egress/policy_int.h"

/* A policy being read; one item at a time. */
struct load {
	struct policy *policy;
	const struct doc *doc;
	const char *source;
	const struct policy_presets *presets;
	char path[64]; /* "allow[3]" */
};

/* An item being read. */
struct item {
	struct load *l;
	struct rule_draft draft;
	char host[NAME_SIZE + 2];
	const char *preset;
	bool asks;
};

struct key {
	const char *name;
	int (*take)(struct item *it, const struct doc_node *n, struct err *e);
};

static int fail(const struct load *l, const struct doc_node *n, const char *key, const char *why,
		struct err *e)
{
	char place[64] = "";

	if (n->line)
		(void)snprintf(place, sizeof(place), "line %u, column %u: ", n->line, n->column);
	return err_set(e, ERR_INVALID, "%s: %s%s%s%s: %s", l->source, place, l->path,
		       *l->path && *key ? "." : "", key, why);
}

static int fail_node(const struct item *it, const struct doc_node *n, const char *why,
		     struct err *e)
{
	return fail(it->l, n, doc_key(it->l->doc, n), why, e);
}

/* Says where, of an error that says what. */
static int wrap_node(const struct item *it, const struct doc_node *n, struct err *e)
{
	struct err inner = *e;

	(void)fail(it->l, n, doc_key(it->l->doc, n), inner.text, e);
	return err_remedy(e, "%s", inner.remedy);
}

static int too_many(const struct item *it, const struct doc_node *n, unsigned max, const char *what,
		    struct err *e)
{
	char why[64];

	(void)snprintf(why, sizeof(why), "more than %u %s", max, what);
	(void)fail_node(it, n, why, e);
	return err_remedy(e, "write another rule for the same host beside it");
}

static int want(const struct item *it, const struct doc_node *n, enum doc_kind kind, struct err *e)
{
	char why[100];

	if (n->kind == kind)
		return 0;
	(void)snprintf(why, sizeof(why), "is %s; it has to be %s", doc_kind_name(n->kind),
		       doc_kind_name(kind));
	int r = fail_node(it, n, why, e);
	if (kind == DOC_LIST)
		return err_remedy(e, "write it in brackets: %.40s: [ONE, TWO]",
				  doc_key(it->l->doc, n));
	if (kind == DOC_INT && n->kind == DOC_STRING)
		return err_remedy(e, "write the number without quotes");
	if (kind == DOC_STRING && n->kind != DOC_LIST && n->kind != DOC_MAP)
		return err_remedy(e, "write a text; in quotes where it looks like something else");
	return r;
}

static int take_text(struct item *it, const struct doc_node *n, const char **ret, struct err *e)
{
	if (want(it, n, DOC_STRING, e) < 0)
		return -EINVAL;
	*ret = doc_text(it->l->doc, n);
	return **ret ? 0 : fail_node(it, n, "is empty", e);
}

static int take_name(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_text(it, n, &it->draft.name, e);
}

static int take_host(struct item *it, const struct doc_node *n, struct err *e)
{
	if (take_text(it, n, &it->draft.host, e) < 0)
		return -EINVAL;
	return rule_check_host(it->draft.host, it->draft.action, e) < 0 ? wrap_node(it, n, e) : 0;
}

static int take_preset(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_text(it, n, &it->preset, e);
}

static int take_ask(struct item *it, const struct doc_node *n, struct err *e)
{
	if (want(it, n, DOC_BOOL, e) < 0)
		return -EINVAL;
	it->asks = n->number;
	return 0;
}

static int take_protocol(struct item *it, const struct doc_node *n, struct err *e)
{
	const char *text = NULL;

	if (take_text(it, n, &text, e) < 0)
		return -EINVAL;
	for (int i = EGRESS_TCP; i < EGRESS_DNS; i++) {
		if (strcmp(text, egress_protocol_name((enum egress_protocol)i)) == 0) {
			it->draft.protocol = (enum egress_protocol)i;
			return 0;
		}
	}
	(void)fail_node(it, n, "is no protocol", e);
	return err_remedy(e, "write tls, https, http or tcp");
}

static int take_one_port(struct item *it, const struct doc_node *n, struct err *e)
{
	if (want(it, n, DOC_INT, e) < 0)
		return -EINVAL;
	if (n->number < 1 || n->number > 65535)
		return fail_node(it, n, "is not from 1 to 65535", e);
	if (it->draft.n_ports == RULE_PORTS_MAX)
		return too_many(it, n, RULE_PORTS_MAX, "ports", e);
	it->draft.ports[it->draft.n_ports++].port = (uint16_t)n->number;
	return 0;
}

static int not_empty(const struct item *it, const struct doc_node *n, struct err *e)
{
	return n->count ? 0 : fail_node(it, n, "is an empty list; leave it out to mean all", e);
}

static int take_port(struct item *it, const struct doc_node *n, struct err *e)
{
	if (n->kind != DOC_LIST)
		return take_one_port(it, n, e);
	if (not_empty(it, n, e) < 0)
		return -EINVAL;
	for (n = doc_node(it->l->doc, n->first); n; n = doc_node(it->l->doc, n->next))
		if (take_one_port(it, n, e) < 0)
			return -EINVAL;
	return 0;
}

static int check_path(const char *pattern, struct err *e)
{
	return path_pattern_check(pattern, strlen(pattern), e);
}

/* A list of texts; what is wrong with one is said of its own place. */
struct texts {
	const char **list;
	unsigned *count, max;
	int (*check)(const char *text, struct err *e);
};

static int take_list(struct item *it, const struct doc_node *n, const struct texts *to,
		     struct err *e)
{
	if (want(it, n, DOC_LIST, e) < 0 || not_empty(it, n, e) < 0)
		return -EINVAL;
	for (const struct doc_node *one = doc_node(it->l->doc, n->first); one;
	     one = doc_node(it->l->doc, one->next)) {
		struct doc_node at = *n;

		at.line = one->line;
		at.column = one->column;
		if (*to->count == to->max)
			return too_many(it, n, to->max, "entries", e);
		if (take_text(it, one, &to->list[*to->count], e) < 0)
			return -EINVAL;
		if (to->check(to->list[(*to->count)++], e) < 0)
			return wrap_node(it, &at, e);
	}
	return 0;
}

static int take_methods(struct item *it, const struct doc_node *n, struct err *e)
{
	const struct texts to = {it->draft.methods, &it->draft.n_methods, RULE_METHODS_MAX,
				 rule_check_method};

	return take_list(it, n, &to, e);
}

static int take_paths(struct item *it, const struct doc_node *n, struct err *e)
{
	const struct texts to = {it->draft.paths, &it->draft.n_paths, RULE_PATHS_MAX, check_path};

	return take_list(it, n, &to, e);
}

static int take_size(struct item *it, const struct doc_node *n, uint64_t max, uint64_t *ret,
		     struct err *e)
{
	uint64_t size = 0;

	if (n->kind == DOC_INT) {
		if (n->number <= 0)
			return fail_node(it, n, "has to be more than 0", e);
		size = (uint64_t)n->number;
	} else if (want(it, n, DOC_STRING, e) < 0) {
		return -EINVAL;
	} else if (parse_size(doc_text(it->l->doc, n), &size, e) < 0) {
		return wrap_node(it, n, e);
	}
	if (size > max)
		return fail_node(it, n, "is too large", e);
	*ret = size;
	return 0;
}

static int take_up(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_size(it, n, PARSE_BYTES_MAX, &it->draft.limits.bytes_up, e);
}

static int take_down(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_size(it, n, PARSE_BYTES_MAX, &it->draft.limits.bytes_down, e);
}

static int take_headers(struct item *it, const struct doc_node *n, struct err *e)
{
	uint64_t size = 0;
	int r = take_size(it, n, UINT32_MAX, &size, e);

	it->draft.limits.header_bytes = (uint32_t)size;
	return r;
}

static int take_count(struct item *it, const struct doc_node *n, uint32_t *ret, struct err *e)
{
	if (want(it, n, DOC_INT, e) < 0)
		return -EINVAL;
	if (n->number <= 0 || n->number > INT32_MAX)
		return fail_node(it, n, "is not a number from 1 on", e);
	*ret = (uint32_t)n->number;
	return 0;
}

static int take_requests(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_count(it, n, &it->draft.limits.requests_per_minute, e);
}

static int take_connections(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_count(it, n, &it->draft.limits.connections, e);
}

static int unknown_key(const struct load *l, const struct doc_node *n, const struct key *keys,
		       struct err *e)
{
	const char *word = doc_key(l->doc, n);
	struct doc_node at = *n;
	struct nearest near = NEAREST_INIT;

	at.line = n->key_line;
	at.column = n->key_column;
	(void)fail(l, &at, word, "there is no such key", e);
	for (; keys->name; keys++)
		nearest_try(&near, word, strlen(word), keys->name);
	return near.name ? err_remedy(e, "did you mean %s?", near.name)
			 : err_remedy(e, "docs/egress.md lists the keys");
}

static int take_keys(struct item *it, const struct doc_node *map, const struct key *keys,
		     struct err *e)
{
	for (const struct doc_node *n = doc_node(it->l->doc, map->first); n;
	     n = doc_node(it->l->doc, n->next)) {
		const struct key *k = keys;

		while (k->name && strcmp(k->name, doc_key(it->l->doc, n)) != 0)
			k++;
		if (!k->name)
			return unknown_key(it->l, n, keys, e);
		if (k->take(it, n, e) < 0)
			return -EINVAL;
	}
	return 0;
}

static struct egress_inject *inject_of(struct item *it)
{
	return &it->draft.inject[it->draft.n_inject];
}

static int take_secret(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_text(it, n, &inject_of(it)->secret, e);
}

static int take_where(struct item *it, const struct doc_node *n, enum egress_where where,
		      struct err *e)
{
	if (inject_of(it)->key)
		return fail_node(it, n, "a secret goes to one place: header, query or basic", e);
	inject_of(it)->where = where;
	return take_text(it, n, &inject_of(it)->key, e);
}

static int take_header(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_where(it, n, EGRESS_HEADER, e);
}

static int take_query(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_where(it, n, EGRESS_QUERY, e);
}

static int take_basic(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_where(it, n, EGRESS_BASIC, e);
}

static int take_prefix(struct item *it, const struct doc_node *n, struct err *e)
{
	return take_text(it, n, &inject_of(it)->prefix, e);
}

static const struct key inject_keys[] = {
	{"secret", take_secret}, {"header", take_header}, {"query", take_query},
	{"basic", take_basic},	 {"prefix", take_prefix}, {NULL, NULL},
};

static int take_one_inject(struct item *it, const struct doc_node *n, struct err *e)
{
	if (want(it, n, DOC_MAP, e) < 0)
		return -EINVAL;
	if (it->draft.n_inject == EGRESS_INJECTS_MAX)
		return fail_node(it, n, "too many secrets", e);
	*inject_of(it) = (struct egress_inject){.prefix = NULL};
	if (take_keys(it, n, inject_keys, e) < 0)
		return -EINVAL;
	if (!inject_of(it)->secret || !inject_of(it)->key) {
		(void)fail_node(it, n, "needs secret, and one of header, query and basic", e);
		return err_remedy(
			e, "inject: {secret: NAME, header: Authorization, prefix: \"Bearer \"}");
	}
	if (inject_of(it)->prefix && inject_of(it)->where != EGRESS_HEADER)
		return fail_node(it, n, "has a prefix, which only a header can", e);
	if (rule_check_inject(inject_of(it), e) < 0)
		return wrap_node(it, n, e);
	it->draft.n_inject++;
	return 0;
}

static int take_inject(struct item *it, const struct doc_node *n, struct err *e)
{
	if (n->kind != DOC_LIST)
		return take_one_inject(it, n, e);
	if (not_empty(it, n, e) < 0)
		return -EINVAL;
	for (n = doc_node(it->l->doc, n->first); n; n = doc_node(it->l->doc, n->next))
		if (take_one_inject(it, n, e) < 0)
			return -EINVAL;
	return 0;
}

static const struct key item_keys[] = {
	{"host", take_host},
	{"port", take_port},
	{"protocol", take_protocol},
	{"methods", take_methods},
	{"paths", take_paths},
	{"headers", take_headers},
	{"bytes_up", take_up},
	{"bytes_down", take_down},
	{"requests_per_minute", take_requests},
	{"connections", take_connections},
	{"ask", take_ask},
	{"inject", take_inject},
	{"preset", take_preset},
	{"name", take_name},
	{NULL, NULL},
};

/* HOST[:PORT], as --allow has it. */
static int take_short(struct item *it, const struct doc_node *n, struct err *e)
{
	const char *text = doc_text(it->l->doc, n), *why = NULL;
	bool is_below = strncmp(text, "*.", 2) == 0;
	struct name name;
	uint16_t port = 0;

	it->draft.host = text;
	if (strcmp(text, "*") == 0)
		return 0;
	text += is_below ? 2 : 0;
	if (name_parse_port(text, strlen(text), &name, &port, &why) < 0) {
		(void)fail(it->l, n, "", strstr(text, "://") ? "a URL, not a host" : why, e);
		return err_remedy(e, "write HOST or HOST:PORT, or a mapping with host:");
	}
	(void)snprintf(it->host, sizeof(it->host), "%s%s", is_below ? "*." : "", name.text);
	it->draft.host = it->host;
	it->draft.ports[0].port = port;
	it->draft.n_ports = port ? 1 : 0;
	return 0;
}

static int add_preset(struct item *it, const struct doc_node *n, struct err *e)
{
	const struct policy_presets *presets = it->l->presets;

	if (n->count != 1 || it->draft.action != EGRESS_ALLOW) {
		(void)fail(it->l, n, "preset", "stands alone, in the list allow", e);
		return err_remedy(e, "write rules of your own beside it");
	}
	if (!presets)
		return fail(it->l, n, "preset", "cannot be used here", e);
	if (presets->add(it->l->policy, it->preset, it->l->source, n->line, presets->arg, e) == 0)
		return 0;
	return wrap_node(it, doc_node(it->l->doc, n->first), e);
}

static int add_item(struct load *l, const struct doc_node *n, enum egress_action action,
		    struct err *e)
{
	struct item it = {.l = l,
			  .draft = {.action = action, .source = l->source, .line = n->line}};

	if (n->kind != DOC_STRING && n->kind != DOC_MAP) {
		(void)fail(l, n, "", "is neither HOST[:PORT] nor a mapping", e);
		return err_remedy(e, "write - example.org, or - host: example.org");
	}
	if (n->kind == DOC_STRING ? take_short(&it, n, e) < 0 : take_keys(&it, n, item_keys, e) < 0)
		return -EINVAL;
	if (it.preset)
		return add_preset(&it, n, e);
	if (!it.draft.host)
		return fail(l, n, "", "has no host", e);
	if (it.asks && action == EGRESS_DENY)
		return fail(l, n, "ask", "in a rule that denies", e);
	if (it.asks)
		it.draft.action = EGRESS_ASK;
	return policy_add(l->policy, &it.draft, e) < 0 ? wrap_node(&it, n, e) : 0;
}

static int add_list(struct load *l, const struct doc_node *list, enum egress_action action,
		    struct err *e)
{
	unsigned i = 0;

	if (list->kind != DOC_LIST) {
		const char *key = doc_key(l->doc, list);

		(void)fail(l, list, key, "is not a list", e);
		return list->kind == DOC_STRING && *doc_text(l->doc, list)
			       ? err_remedy(e, "write %s: [%.80s]", key, doc_text(l->doc, list))
			       : err_remedy(e, "write %s: [HOST], or [] for an empty one", key);
	}
	for (const struct doc_node *n = doc_node(l->doc, list->first); n;
	     n = doc_node(l->doc, n->next)) {
		(void)snprintf(l->path, sizeof(l->path), "%s[%u]", egress_action_name(action), i++);
		if (add_item(l, n, action, e) < 0)
			return -EINVAL;
	}
	l->path[0] = '\0';
	return 0;
}

/* An entry of `commands` being read. */
struct entry {
	struct item it;
	struct command_draft draft;
	unsigned verdicts;
};

static int take_delete(struct entry *en, const struct doc_node *map, struct err *e)
{
	const struct doc *doc = en->it.l->doc;
	const struct doc_node *n = doc_node(doc, map->first);
	static const struct key keys[] = {{"delete", NULL}, {NULL, NULL}};

	if (!n || map->count != 1)
		return fail_node(&en->it, map, "is not one mapping with delete", e);
	if (strcmp(doc_key(doc, n), "delete") != 0)
		return unknown_key(en->it.l, n, keys, e);
	en->draft.kind = COMMAND_DELETE;
	return take_text(&en->it, n, &en->draft.pattern, e);
}

static int take_entry_key(struct entry *en, const struct doc_node *n, struct err *e)
{
	static const struct key keys[] = {
		{"ask", NULL}, {"deny", NULL}, {"reason", NULL}, {NULL, NULL}};
	const char *key = doc_key(en->it.l->doc, n);

	if (strcmp(key, "reason") == 0)
		return take_text(&en->it, n, &en->draft.reason, e);
	if (strcmp(key, "ask") != 0 && strcmp(key, "deny") != 0)
		return unknown_key(en->it.l, n, keys, e);
	en->verdicts++;
	en->draft.action = key[0] == 'a' ? EGRESS_ASK : EGRESS_DENY;
	return n->kind == DOC_MAP ? take_delete(en, n, e)
				  : take_text(&en->it, n, &en->draft.pattern, e);
}

static int add_entry(struct load *l, const struct doc_node *map, struct err *e)
{
	struct entry en = {.it = {.l = l}, .draft = {.source = l->source, .line = map->line}};

	if (map->kind != DOC_MAP) {
		(void)fail(l, map, "", "is not a mapping", e);
		return err_remedy(e, "write - ask: git push");
	}
	for (const struct doc_node *n = doc_node(l->doc, map->first); n;
	     n = doc_node(l->doc, n->next))
		if (take_entry_key(&en, n, e) < 0)
			return -EINVAL;
	if (en.verdicts != 1) {
		(void)fail(l, map, "", "needs one of ask and deny", e);
		return err_remedy(e, "write - ask: git push");
	}
	return policy_add_command(l->policy, &en.draft, e) < 0 ? wrap_node(&en.it, map, e) : 0;
}

static int add_commands(struct load *l, const struct doc_node *list, struct err *e)
{
	unsigned i = 0;

	if (list->kind != DOC_LIST) {
		(void)fail(l, list, doc_key(l->doc, list), "is not a list", e);
		return err_remedy(e, "write commands: [{ask: git push}]");
	}
	for (const struct doc_node *n = doc_node(l->doc, list->first); n;
	     n = doc_node(l->doc, n->next)) {
		(void)snprintf(l->path, sizeof(l->path), "commands[%u]", i++);
		if (add_entry(l, n, e) < 0)
			return -EINVAL;
	}
	l->path[0] = '\0';
	return 0;
}

static int add_all(struct load *l, const struct doc_node *n, struct err *e)
{
	static const struct key top[] = {
		{"allow", NULL}, {"ask", NULL}, {"deny", NULL}, {"commands", NULL}, {NULL, NULL}};
	const char *key = doc_key(l->doc, n);

	if (strcmp(key, "commands") == 0)
		return add_commands(l, n, e);
	l->policy->has_network = true;
	for (int action = EGRESS_DENY; action <= EGRESS_ALLOW; action++)
		if (strcmp(key, egress_action_name((enum egress_action)action)) == 0)
			return add_list(l, n, (enum egress_action)action, e);
	return unknown_key(l, n, top, e);
}

int schema_load(struct policy *p, const struct doc *d, const char *source,
		const struct policy_presets *presets, struct err *e)
{
	struct load l = {.policy = p, .doc = d, .source = source, .presets = presets};
	const struct doc_node *root = &d->nodes[0];

	if (root->kind != DOC_MAP || root->count == 0) {
		(void)fail(&l, root, "policy", "is not a mapping with allow, ask, deny or commands",
			   e);
		return err_remedy(e, "write allow: [] to allow nothing");
	}
	for (const struct doc_node *n = doc_node(d, root->first); n; n = doc_node(d, n->next))
		if (add_all(&l, n, e) < 0)
			/* Where nothing better is said. */
			return err_remedy(e, "docs/egress.md says what may stand there");
	return 0;
}
