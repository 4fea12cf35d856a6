/* SPDX-License-Identifier: Apache-2.0 */
/* Two policies beside each other, and one in words: for whoever changes what a sandbox has. */
#include <assert.h>
#include <string.h>

#include "egress/policy_int.h"

static bool same_text(const struct policy *a, uint32_t at, const struct policy *b, uint32_t bt)
{
	return strcmp(policy_str(a, at), policy_str(b, bt)) == 0;
}

static bool same_inject(const struct policy *a, const struct rule *x, const struct policy *b,
			const struct rule *y)
{
	if (x->n_inject != y->n_inject)
		return false;
	for (unsigned i = 0; i < x->n_inject; i++) {
		const struct rule_inject *p = &x->inject[i], *q = &y->inject[i];

		if (p->where != q->where || !same_text(a, p->secret, b, q->secret) ||
		    !same_text(a, p->key, b, q->key) || !same_text(a, p->prefix, b, q->prefix))
			return false;
	}
	return true;
}

static bool same_limits(const struct egress_limits *x, const struct egress_limits *y)
{
	return x->bytes_up == y->bytes_up && x->bytes_down == y->bytes_down &&
	       x->requests_per_minute == y->requests_per_minute &&
	       x->connections == y->connections && x->header_bytes == y->header_bytes;
}

static bool same_paths(const struct policy *a, const struct rule *x, const struct policy *b,
		       const struct rule *y)
{
	const char *p = policy_str(a, x->paths), *q = policy_str(b, y->paths);

	if (x->n_paths != y->n_paths)
		return false;
	for (unsigned i = 0; i < x->n_paths; i++) {
		if (strcmp(p, q) != 0)
			return false;
		p += strlen(p) + 1;
		q += strlen(q) + 1;
	}
	return true;
}

/* All that counts for a verdict; the text is cut where it is long. */
static bool same_rule(const struct policy *a, const struct rule *x, const struct policy *b,
		      const struct rule *y)
{
	return x->action == y->action && x->kind == y->kind && x->protocol == y->protocol &&
	       x->n_ports == y->n_ports &&
	       memcmp(x->ports, y->ports, x->n_ports * sizeof(x->ports[0])) == 0 &&
	       same_text(a, x->host, b, y->host) && same_text(a, x->methods, b, y->methods) &&
	       same_paths(a, x, b, y) && same_limits(&x->limits, &y->limits) &&
	       same_inject(a, x, b, y);
}

static const struct rule *like(const struct policy *in, const struct policy *of,
			       const struct rule *r)
{
	const struct rule *at = policy_find(in, (enum host_kind)r->kind, policy_str(of, r->host),
					    strlen(policy_str(of, r->host)));

	while (at && !same_rule(in, at, of, r))
		at = policy_next(in, at);
	return at;
}

static bool all_like(const struct policy *in, const struct policy *of, enum host_kind kind,
		     const char *host, size_t len)
{
	for (const struct rule *r = policy_find(of, kind, host, len); r; r = policy_next(of, r))
		if (!like(in, of, r))
			return false;
	return true;
}

static bool same_level(const struct policy *a, const struct policy *b, const struct name *host)
{
	const char *end = host->text + host->len;

	if (!all_like(a, b, HOST_EXACT, host->text, host->len) ||
	    !all_like(b, a, HOST_EXACT, host->text, host->len))
		return false;
	if (host->kind != NAME_DNS)
		return true;
	for (const char *at = host->text; (at = memchr(at, '.', (size_t)(end - at)));) {
		at++;
		if (!all_like(a, b, HOST_BELOW, at, (size_t)(end - at)) ||
		    !all_like(b, a, HOST_BELOW, at, (size_t)(end - at)))
			return false;
	}
	return true;
}

bool policy_same_for(const struct policy *a, const struct policy *b, const struct name *host)
{
	assert(a && b && host);
	for (; a && b; a = a->ceiling, b = b->ceiling)
		if (!same_level(a, b, host))
			return false;
	return !a && !b;
}

int policy_same_rule(const struct policy *to, const struct policy *from, int rule)
{
	unsigned level = 0;

	assert(to && from);
	if (rule == -1)
		return -1;
	if (rule < 0) {
		level = 1 + (unsigned)(-2 - rule) / POLICY_RULES_MAX;
		rule = (int)((unsigned)(-2 - rule) % POLICY_RULES_MAX);
	}
	for (unsigned i = 0; i < level && to && from; i++, to = to->ceiling)
		from = from->ceiling;
	if (!to || !from || (uint32_t)rule >= from->n_rules)
		return -1;
	const struct rule *r = like(to, from, &from->rules[rule]);
	if (!r)
		return -1;
	int index = (int)(r - to->rules);
	return level ? -2 - index - (int)((level - 1) * POLICY_RULES_MAX) : index;
}

bool policy_line(const struct policy *p, unsigned i, struct policy_line *ret)
{
	bool is_ceiling = false;

	assert(p && ret);
	for (; p && i >= p->n_rules; p = p->ceiling, is_ceiling = true)
		i -= p->n_rules;
	if (!p)
		return false;
	const struct rule *r = &p->rules[i];
	*ret = (struct policy_line){
		.action = (enum egress_action)r->action,
		.text = policy_str(p, r->text),
		.name = policy_str(p, r->name ? r->name : r->text),
		.source = policy_str(p, r->source),
		.line = r->line,
		.is_ceiling = is_ceiling,
	};
	return true;
}
