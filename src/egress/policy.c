/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy says to a request. First what has to be spoken on the port is found, from all rules
 * for it, the ceiling's too; then each policy of the stack has an opinion; the strictest is the
 * verdict. Nothing here depends on the order of rules: of several that say the same, the one with
 * the most exact host is named, and of equals the first by its text.
 */
#include "egress/policy.h"

#include <assert.h>
#include <string.h>

#include "egress/policy_int.h"

/* Where a request's host is looked for: itself, then all that it is below. */
struct search {
	const struct policy *p;
	const struct name *host;
	const char *at; /* what comes next is below this; NULL: nothing more */
	const struct rule *rule;
};

static const struct rule *search_next(struct search *s)
{
	if (s->rule)
		s->rule = policy_next(s->p, s->rule);
	while (!s->rule && s->at) {
		const char *end = s->host->text + s->host->len;

		s->at = s->host->kind == NAME_DNS ? memchr(s->at, '.', (size_t)(end - s->at))
						  : NULL;
		if (s->at) {
			s->at++;
			s->rule = policy_find(s->p, HOST_BELOW, s->at, (size_t)(end - s->at));
		}
	}
	return s->rule;
}

static const struct rule *search_first(struct search *s, const struct policy *p,
				       const struct name *host)
{
	*s = (struct search){.p = p, .host = host, .at = host->text};
	s->rule = policy_find(p, HOST_EXACT, host->text, host->len);
	return s->rule ? s->rule : search_next(s);
}

/* Is the rule for this port, and for what protocol? Port 0: for any. */
static bool covers_port(const struct rule *r, uint16_t port, enum egress_protocol *ret)
{
	*ret = r->protocol;
	if (r->n_ports == 0 || port == 0)
		return true;
	for (unsigned i = 0; i < r->n_ports; i++) {
		if (r->ports[i].port == port) {
			*ret = r->ports[i].protocol;
			return true;
		}
	}
	return false;
}

/* What one policy has spoken to this host on this port: of all that its rules let through, what
 * shows most; a rule that denies some requests makes us look at them. EGRESS_ANY: no rule says. */
static enum egress_protocol spoken_by(const struct policy *p, const struct egress_request *q)
{
	enum egress_protocol most = EGRESS_ANY, protocol;
	bool must_see = false;
	struct search s;

	for (const struct rule *r = search_first(&s, p, q->host); r; r = search_next(&s)) {
		if (!covers_port(r, q->port, &protocol))
			continue;
		if (r->action == EGRESS_DENY)
			must_see |= rule_is_conditional(r) && protocol != EGRESS_HTTP;
		else if (protocol > most)
			most = protocol;
	}
	return most == EGRESS_TLS && must_see ? EGRESS_HTTPS : most;
}

/* Does what a rule says of `protocol` hold for a connection on which `is` is spoken? */
static bool covers_protocol(enum egress_protocol protocol, enum egress_protocol is)
{
	switch (protocol) {
	case EGRESS_ANY:
	case EGRESS_TCP: return true;
	case EGRESS_HTTP: return is == EGRESS_HTTP;
	case EGRESS_TLS:
	case EGRESS_HTTPS: return is == EGRESS_TLS || is == EGRESS_HTTPS;
	case EGRESS_DNS:
	case EGRESS_PROTOCOLS: break;
	}
	return false;
}

/* What the whole stack has spoken. EGRESS_ANY where the policies have nothing in common. */
static enum egress_protocol spoken(const struct policy *p, const struct egress_request *q,
				   enum egress_protocol by[POLICY_CEILINGS_MAX + 1])
{
	enum egress_protocol most = EGRESS_ANY;
	unsigned n = 0;

	for (; p; p = p->ceiling) {
		by[n] = spoken_by(p, q);
		if (by[n] > most)
			most = by[n];
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		if (!covers_protocol(by[i], most))
			return EGRESS_ANY;
	return most;
}

static bool covers_method(const struct policy *p, const struct rule *r,
			  const struct egress_request *q)
{
	const char *at = policy_str(p, r->methods);

	/* A tunnel in a tunnel, and an echo of what nobody inside may see, have to be asked for. */
	if (!*at && r->action != EGRESS_DENY)
		return !(q->method_len == 7 && memcmp(q->method, "CONNECT", 7) == 0) &&
		       !(q->method_len == 5 && memcmp(q->method, "TRACE", 5) == 0);
	if (!*at)
		return true;
	for (; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");

		if (n == q->method_len && memcmp(at, q->method, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static bool covers_path(const struct policy *p, const struct rule *r, const struct path *path)
{
	const char *pattern = policy_str(p, r->paths);

	for (unsigned i = 0; i < r->n_paths; i++) {
		size_t n = strlen(pattern);

		if (path_fits(pattern, n, path, r->action == EGRESS_ALLOW))
			return true;
		pattern += n + 1;
	}
	return r->n_paths == 0;
}

/* A request being judged: what is worked out once. */
struct judged {
	const struct egress_request *q;
	enum egress_protocol spoken;
	enum egress_protocol by[POLICY_CEILINGS_MAX + 1]; /* what each policy alone would have */
	const struct path *path; /* EGRESS_REQUEST, and it has a safe reading; else NULL */
};

static enum miss hold(const struct policy *p, const struct rule *r, const struct judged *j)
{
	enum egress_protocol protocol;

	if (!covers_port(r, j->q->port, &protocol))
		return MISS_PORT;
	if (j->q->stage == EGRESS_LOOKUP)
		return MISS_MATCH;
	/* In what is passed through unseen there may be whatever somebody denies. */
	if (!covers_protocol(protocol, j->spoken) &&
	    (r->action != EGRESS_DENY || j->spoken != EGRESS_TCP))
		return MISS_PROTOCOL;
	if (j->q->stage != EGRESS_REQUEST)
		return MISS_MATCH;
	if (!covers_method(p, r, j->q))
		return MISS_METHOD;
	/* Without a safe reading nothing fits an allow, and everything fits a deny. */
	if (r->n_paths && !j->path)
		return r->action == EGRESS_DENY ? MISS_MATCH : MISS_PATH;
	return r->n_paths && !covers_path(p, r, j->path) ? MISS_PATH : MISS_MATCH;
}

/* What a rule that holds means at this stage. Lookups and connections are let through to where a
 * request can be asked about or denied; it is judged there. */
static enum egress_action meaning(const struct rule *r, const struct judged *j)
{
	bool is_seen_later = j->q->stage == EGRESS_CONNECT &&
			     (j->spoken == EGRESS_HTTP || j->spoken == EGRESS_HTTPS);

	if (r->action == EGRESS_ASK && (j->q->stage == EGRESS_LOOKUP || is_seen_later))
		return EGRESS_ALLOW;
	return r->action;
}

/* A rule that denies some requests, or some ports, says nothing yet. */
static bool says_nothing_yet(const struct rule *r, const struct judged *j)
{
	if (r->action != EGRESS_DENY || j->q->stage == EGRESS_REQUEST)
		return false;
	if (j->q->stage == EGRESS_LOOKUP)
		return r->n_ports || rule_is_conditional(r) || r->protocol != EGRESS_ANY;
	/* Where requests are not seen, what denies some of them denies all. */
	return rule_is_conditional(r) && (j->spoken == EGRESS_HTTP || j->spoken == EGRESS_HTTPS);
}

/* < 0: `a` is named rather than `b`. */
static int compare(const struct policy *p, const struct rule *a, const struct rule *b)
{
	int order = (int)a->kind - (int)b->kind;

	if (!order)
		order = (int)b->host_len - (int)a->host_len;
	if (!order)
		order = (int)rule_is_conditional(b) - (int)rule_is_conditional(a);
	if (!order)
		order = strcmp(policy_str(p, a->text), policy_str(p, b->text));
	if (!order)
		order = strcmp(policy_str(p, a->name), policy_str(p, b->name));
	return order;
}

static const struct rule *prefer(const struct policy *p, const struct rule *a, const struct rule *b)
{
	return !a || compare(p, b, a) < 0 ? b : a;
}

#define LEAST(a, b) ((a) && (!(b) || (a) < (b)) ? (a) : (b))

static void narrow(struct egress_limits *l, const struct egress_limits *by)
{
	l->bytes_up = LEAST(by->bytes_up, l->bytes_up);
	l->bytes_down = LEAST(by->bytes_down, l->bytes_down);
	l->requests_per_minute = LEAST(by->requests_per_minute, l->requests_per_minute);
	l->connections = LEAST(by->connections, l->connections);
	l->header_bytes = LEAST(by->header_bytes, l->header_bytes);
}

static void hear(const struct policy *p, const struct rule *r, const struct judged *j,
		 struct opinion *o)
{
	enum egress_action action = meaning(r, j);
	bool is_first = o->miss != MISS_MATCH;

	o->miss = MISS_MATCH;
	if (r->action != EGRESS_DENY) {
		narrow(&o->limits, &r->limits);
		o->names_address |= r->is_address;
		if (r->n_inject)
			o->inject = prefer(p, o->inject, r);
	}
	if (is_first || action < o->action)
		o->rule = r;
	else if (action == o->action)
		o->rule = prefer(p, o->rule, r);
	if (is_first || action < o->action)
		o->action = action;
}

static struct opinion opinion_of(const struct policy *p, const struct judged *j)
{
	struct opinion o = {.action = EGRESS_DENY};
	struct search s;

	for (const struct rule *r = search_first(&s, p, j->q->host); r; r = search_next(&s)) {
		if (says_nothing_yet(r, j))
			continue;
		enum miss miss = hold(p, r, j);
		if (miss == MISS_MATCH) {
			hear(p, r, j, &o);
		} else if (r->action != EGRESS_DENY && miss >= o.miss) {
			o.rule = miss > o.miss ? r : prefer(p, o.rule, r);
			o.miss = miss;
		}
	}
	return o;
}

/* What a policy denies when it is alone, it denies in a stack, too. */
static struct opinion opinion_in_stack(const struct policy *p, const struct judged *j,
				       unsigned level)
{
	struct opinion o = opinion_of(p, j);
	struct judged alone = *j;

	alone.spoken = j->by[level];
	if (o.action == EGRESS_DENY || alone.spoken == j->spoken)
		return o;
	struct opinion other = opinion_of(p, &alone);
	return other.action == EGRESS_DENY ? other : o;
}

static void name_rule(const struct policy *p, const struct opinion *o, unsigned level,
		      struct egress_verdict *ret)
{
	ret->rule = -1;
	ret->name = ret->text = ret->source = "";
	ret->line = 0;
	ret->is_ceiling = level > 0;
	ret->is_below = false;
	if (!o->rule || o->miss != MISS_MATCH)
		return;
	int index = (int)(o->rule - p->rules);
	ret->rule = level ? -2 - index - (int)((level - 1) * POLICY_RULES_MAX) : index;
	ret->text = policy_str(p, o->rule->text);
	ret->name = o->rule->name ? policy_str(p, o->rule->name) : ret->text;
	ret->source = policy_str(p, o->rule->source);
	ret->line = o->rule->line;
	ret->is_below = o->rule->kind == HOST_BELOW;
}

/* Whatever the path: who has a key here could use it for what another rule allows. */
static bool is_brokered(const struct policy *p, const struct name *host)
{
	struct search s;

	for (const struct rule *r = search_first(&s, p, host); r; r = search_next(&s))
		if (r->action != EGRESS_DENY && r->n_inject)
			return true;
	return false;
}

static void take_inject(const struct policy *p, const struct rule *r, struct egress_verdict *ret)
{
	for (unsigned i = 0; i < r->n_inject; i++)
		ret->inject[i] = (struct egress_inject){
			.where = r->inject[i].where,
			.secret = policy_str(p, r->inject[i].secret),
			.key = policy_str(p, r->inject[i].key),
			.prefix = policy_str(p, r->inject[i].prefix),
		};
	ret->n_inject = r->n_inject;
}

static void deny(const char *why, struct egress_verdict *ret)
{
	*ret = (struct egress_verdict){.action = EGRESS_DENY, .rule = -1, .why = why};
	ret->name = ret->text = ret->source = "";
}

/* Who asks names a protocol: it has to be of the family that rules name for the port. */
static bool is_spoken_right(const struct egress_request *q, enum egress_protocol is)
{
	bool tls = is == EGRESS_TLS || is == EGRESS_HTTPS;

	if (is == EGRESS_ANY)
		return q->stage == EGRESS_LOOKUP;
	switch (q->protocol) {
	case EGRESS_ANY: return q->stage != EGRESS_REQUEST;
	case EGRESS_DNS: return q->stage == EGRESS_LOOKUP;
	case EGRESS_TCP: return q->stage != EGRESS_REQUEST && is == EGRESS_TCP;
	case EGRESS_HTTP: return is == EGRESS_HTTP || is == EGRESS_TCP;
	case EGRESS_TLS: return q->stage != EGRESS_REQUEST && (tls || is == EGRESS_TCP);
	case EGRESS_HTTPS: return tls || is == EGRESS_TCP;
	case EGRESS_PROTOCOLS: break;
	}
	return false;
}

/* One policy of the stack after the other. The strictest is what is told; of equals the first. */
static void judge(const struct policy *p, const struct judged *j, const char *path_why,
		  struct egress_verdict *ret)
{
	unsigned level = 0;

	for (const struct policy *at = p; at; at = at->ceiling, level++) {
		struct opinion o = opinion_in_stack(at, j, level);

		o.why = path_why;
		if (level == 0 || o.action < ret->action) {
			ret->action = o.action;
			name_rule(at, &o, level, ret);
			hint_make(at, &o, j->q, j->spoken, ret);
		}
		narrow(&ret->limits, &o.limits);
		ret->may_be_private = o.names_address && (level == 0 || ret->may_be_private);
		if (level == 0 && o.inject && j->q->stage != EGRESS_LOOKUP)
			take_inject(at, o.inject, ret);
	}
	if (ret->action == EGRESS_DENY) {
		ret->may_be_private = false;
		ret->n_inject = 0;
		memset(&ret->limits, 0, sizeof(ret->limits));
	}
}

void policy_decide(const struct policy *p, const struct egress_request *q,
		   struct egress_verdict *ret)
{
	struct judged j = {.q = q};
	struct path path;
	const char *path_why = NULL;

	assert(p && q && q->host && ret);
	deny("no rule names it", ret);
	if (name_is_local(q->host)) {
		struct opinion o = {.action = EGRESS_DENY, .why = "it is the sandbox itself"};

		hint_make(p, &o, q, EGRESS_ANY, ret);
		return;
	}
	j.spoken = spoken(p, q, j.by);
	if (q->stage == EGRESS_REQUEST) {
		/* What is seen is judged, also where no rule made us look. */
		if (j.spoken == EGRESS_TLS)
			j.spoken = EGRESS_HTTPS;
		if (path_read(q->path, q->path_len, &path, &path_why) == 0)
			j.path = &path;
	}
	judge(p, &j, j.path ? NULL : path_why, ret);
	if (ret->action != EGRESS_DENY && !is_spoken_right(q, j.spoken)) {
		struct opinion o = {.action = EGRESS_DENY, .miss = MISS_PROTOCOL};

		deny("protocol", ret);
		hint_make(p, &o, q, j.spoken, ret);
	}
	if (ret->action != EGRESS_DENY && q->stage != EGRESS_LOOKUP) {
		ret->protocol = j.spoken;
		ret->needs_inspection = j.spoken == EGRESS_HTTPS;
		ret->is_brokered = q->stage == EGRESS_REQUEST && is_brokered(p, q->host);
	}
}

/* Does this policy let an address that is not public be reached, and does it deny no other way to
 * the address? */
static bool names_address(const struct policy *p, const struct name *host, uint16_t port,
			  bool *ret_denied)
{
	const struct rule *r = policy_find(p, HOST_EXACT, host->text, host->len);
	enum egress_protocol ignored;
	bool is_named = false;

	for (; r; r = policy_next(p, r)) {
		if (!covers_port(r, port, &ignored))
			continue;
		if (r->action != EGRESS_DENY)
			is_named = true;
		else if (!rule_is_conditional(r))
			*ret_denied = true;
	}
	return is_named;
}

/* Who denies an address denies the ways to it by a translator, too. */
bool policy_denies_address(const struct policy *p, const struct address *a, uint16_t port)
{
	bool is_denied = false;
	struct address inner;
	struct name host;

	name_of_address(a, &host);
	for (const struct policy *at = p; at; at = at->ceiling)
		(void)names_address(at, &host, port, &is_denied); /* only what is denied */
	return is_denied || (address_inner(a, &inner) && policy_denies_address(p, &inner, port));
}

bool policy_may_reach(const struct policy *p, const struct address *a, uint16_t port,
		      enum address_class *ret_class)
{
	bool is_named = true, ignored = false;
	enum address_class class = address_class(a);
	struct name host;

	name_of_address(a, &host);
	for (const struct policy *at = p; at; at = at->ceiling)
		is_named &= names_address(at, &host, port, &ignored);
	if (ret_class)
		*ret_class = class;
	return (class == ADDRESS_PUBLIC || is_named) && !policy_denies_address(p, a, port);
}

static bool has_port(const struct policy *p, uint16_t port)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		if (p->ports[i] == port)
			return true;
	return false;
}

unsigned policy_ports(const struct policy *p, uint16_t ret[POLICY_PORTS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_ports; i++) {
		const struct policy *at = p->ceiling;

		while (at && has_port(at, p->ports[i]))
			at = at->ceiling;
		if (!at)
			ret[n++] = p->ports[i];
	}
	return n;
}

static bool rule_inspects(const struct rule *r)
{
	if (rule_is_conditional(r) || r->n_inject || r->protocol == EGRESS_HTTPS)
		return true;
	for (unsigned i = 0; i < r->n_ports; i++)
		if (r->ports[i].protocol == EGRESS_HTTPS)
			return true;
	return false;
}

bool policy_inspects(const struct policy *p)
{
	for (uint32_t i = 0; i < p->n_rules; i++)
		if (rule_inspects(&p->rules[i]))
			return true;
	return p->ceiling && policy_inspects(p->ceiling);
}

void policy_look_inside(struct policy *p)
{
	for (uint32_t i = 0; i < p->n_rules; i++) {
		struct rule *r = &p->rules[i];

		for (unsigned k = 0; k < r->n_ports; k++)
			if (r->ports[k].protocol == EGRESS_TLS)
				r->ports[k].protocol = EGRESS_HTTPS;
	}
}

static bool is_among(const char *const *list, unsigned n, const char *text)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

unsigned policy_secrets(const struct policy *p, const char **ret, unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < p->n_rules; i++)
		for (unsigned k = 0; k < p->rules[i].n_inject; k++) {
			const char *name = policy_str(p, p->rules[i].inject[k].secret);

			if (is_among(ret, n < max ? n : max, name))
				continue;
			if (n < max)
				ret[n] = name;
			n++;
		}
	return n;
}

bool policy_is_empty(const struct policy *p)
{
	uint16_t ports[POLICY_PORTS_MAX];

	return policy_ports(p, ports) == 0;
}

unsigned policy_rules(const struct policy *p)
{
	return p->n_rules;
}

int policy_set_ceiling(struct policy *p, struct policy *taken, struct err *e)
{
	unsigned n = 0;

	for (const struct policy *at = taken; at; at = at->ceiling)
		n++;
	while (p->ceiling) {
		p = p->ceiling;
		n++;
	}
	if (n > POLICY_CEILINGS_MAX) {
		policy_free(taken);
		return err_set(e, ERR_LIMIT, "more than %u ceilings", POLICY_CEILINGS_MAX);
	}
	p->ceiling = taken;
	return 0;
}

const char *egress_action_name(enum egress_action action)
{
	static const char *const names[] = {
		[EGRESS_DENY] = "deny", [EGRESS_ASK] = "ask", [EGRESS_ALLOW] = "allow"};

	assert(action <= EGRESS_ALLOW);
	return names[action];
}

const char *egress_protocol_name(enum egress_protocol protocol)
{
	static const char *const names[EGRESS_PROTOCOLS] = {
		[EGRESS_ANY] = "any", [EGRESS_TCP] = "tcp",	[EGRESS_HTTP] = "http",
		[EGRESS_TLS] = "tls", [EGRESS_HTTPS] = "https", [EGRESS_DNS] = "dns"};

	assert(protocol < EGRESS_PROTOCOLS);
	return names[protocol];
}
