/* SPDX-License-Identifier: Apache-2.0 */
/* Rules are checked, made and found here; what they say to a request is policy.c's. */
#include "egress/rule.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "egress/policy_int.h"
#include "egress/secret.h"

#define METHOD_MAX 32u
#define WORD_MAX 128u /* of a secret's name and of where it goes */
#define TABLE_FIRST 64u

struct policy *policy_new(void)
{
	struct policy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	/* Offset 0 is the empty string. */
	p->strings = calloc(1, 4096);
	p->table = calloc(TABLE_FIRST, sizeof(*p->table));
	if (!p->strings || !p->table) {
		policy_free(p);
		return NULL;
	}
	p->strings_room = 4096;
	p->strings_len = 1;
	p->table_size = TABLE_FIRST;
	return p;
}

void policy_free(struct policy *p)
{
	while (p) {
		struct policy *ceiling = p->ceiling;

		free(p->rules);
		free(p->commands);
		free(p->strings);
		free(p->table);
		for (unsigned i = 0; i < p->n_warnings; i++)
			free(p->warnings[i]);
		free(p);
		p = ceiling;
	}
}

/* FNV-1a. Rules are written by who may write rules, so nobody gains by collisions. */
static uint32_t hash_host(enum host_kind kind, const char *host, size_t len)
{
	uint32_t h = UINT32_C(2166136261) ^ (uint32_t)kind;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)host[i]) * UINT32_C(16777619);
	return h ^ h >> 15;
}

static uint32_t find_slot(const struct policy *p, enum host_kind kind, const char *host, size_t len)
{
	uint32_t slot = hash_host(kind, host, len) & (p->table_size - 1);

	for (; p->table[slot]; slot = (slot + 1) & (p->table_size - 1)) {
		const struct rule *r = &p->rules[p->table[slot] - 1];

		if (r->kind == kind && r->host_len == len &&
		    memcmp(policy_str(p, r->host), host, len) == 0)
			break;
	}
	return slot;
}

const struct rule *policy_find(const struct policy *p, enum host_kind kind, const char *host,
			       size_t len)
{
	uint32_t first = p->table[find_slot(p, kind, host, len)];

	return first ? &p->rules[first - 1] : NULL;
}

static void enter(struct policy *p, uint32_t index)
{
	struct rule *r = &p->rules[index];
	uint32_t slot = find_slot(p, r->kind, policy_str(p, r->host), r->host_len);

	r->next = p->table[slot];
	p->table[slot] = index + 1;
}

/* The table is at most half full, so a search ends soon. */
static int grow_table(struct policy *p, struct err *e)
{
	if (p->n_rules * 2 < p->table_size)
		return 0;
	uint32_t *table = calloc((size_t)p->table_size * 2, sizeof(*table));
	if (!table)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	free(p->table);
	p->table = table;
	p->table_size *= 2;
	for (uint32_t i = 0; i < p->n_rules; i++)
		enter(p, i);
	return 0;
}

static int grow_rules(struct policy *p, struct err *e)
{
	if (p->n_rules == POLICY_RULES_MAX)
		return err_set(e, ERR_LIMIT, "a policy of more than %u rules", POLICY_RULES_MAX);
	if (p->n_rules == p->room) {
		uint32_t room = p->room ? p->room * 2 : 16;
		struct rule *rules = reallocarray(p->rules, room, sizeof(*rules));

		if (!rules)
			return err_set(e, ERR_INTERNAL, "no memory for a policy");
		p->rules = rules;
		p->room = room;
	}
	return grow_table(p, e);
}

static int keep(struct policy *p, const char *text, size_t len, uint32_t *ret, struct err *e)
{
	if (len + 1 > POLICY_STRINGS_MAX - p->strings_len)
		return err_set(e, ERR_LIMIT, "a policy with more than %u bytes of text",
			       POLICY_STRINGS_MAX);
	while (p->strings_room - p->strings_len < len + 1) {
		char *strings = realloc(p->strings, (size_t)p->strings_room * 2);

		if (!strings)
			return err_set(e, ERR_INTERNAL, "no memory for a policy");
		p->strings = strings;
		p->strings_room *= 2;
	}
	*ret = p->strings_len;
	memcpy(p->strings + p->strings_len, text, len);
	p->strings[p->strings_len + len] = '\0';
	p->strings_len += (uint32_t)len + 1;
	return 0;
}

int policy_keep(struct policy *p, const char *text, uint32_t *ret, struct err *e)
{
	return keep(p, text, strlen(text), ret, e);
}

static int keep_str(struct policy *p, const char *text, uint32_t *ret, struct err *e)
{
	*ret = 0;
	return text && *text ? keep(p, text, strlen(text), ret, e) : 0;
}

static int read_host(const struct rule_draft *d, struct name *host, enum host_kind *ret,
		     struct err *e)
{
	const char *why = NULL, *text = d->host ? d->host : "";
	size_t len = strlen(text);

	*ret = HOST_EXACT;
	if (strcmp(text, "*") == 0 || strcmp(text, "*.") == 0) {
		(void)err_set(e, ERR_INVALID, "host \"%s\" would be everything", text);
		return err_remedy(e, "name the hosts; *.example.org is all below example.org");
	}
	if (len > 2 && memcmp(text, "*.", 2) == 0) {
		*ret = HOST_BELOW;
		text += 2;
		len -= 2;
	}
	if (name_parse(text, len, host, &why) < 0) {
		if (strstr(text, "://"))
			why = "a URL, not a host";
		else if (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':'))
			why = "a port has a key of its own, port";
		(void)err_set(e, ERR_INVALID, "host \"%.80s\": %s", d->host ? d->host : "", why);
		return err_remedy(e,
				  "give a name such as example.org, *.example.org or an address");
	}
	if (*ret == HOST_BELOW && host->kind != NAME_DNS) {
		(void)err_set(e, ERR_INVALID, "host \"%.80s\": nothing is below an address",
			      d->host);
		return err_remedy(e, "name the addresses one by one");
	}
	if (name_is_local(host) && d->action != EGRESS_DENY) {
		(void)err_set(e, ERR_INVALID, "host \"%.80s\" is the sandbox itself", d->host);
		return err_remedy(e, "to mean this machine, name its address: 127.0.0.1:PORT");
	}
	return 0;
}

static bool is_token(const char *text, size_t max)
{
	size_t n = strlen(text);

	return n > 0 && n <= max &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       n;
}

static bool is_printable(const char *text, size_t max)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return n <= max;
}

/* Fields by which the gate and the server understand one another; a value there would be read as
 * something else than a credential. */
static bool is_framing(const char *header)
{
	static const char *const fields[] = {
		"host",	      "content-length",	 "transfer-encoding",
		"connection", "upgrade",	 "te",
		"trailer",    "expect",		 "range",
		"keep-alive", "accept-encoding", "proxy-authorization",
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcasecmp(header, fields[i]) == 0)
			return true;
	return false;
}

int rule_check_inject(const struct egress_inject *in, struct err *e)
{
	if (!in->secret || !secret_is_name(in->secret)) {
		(void)err_set(e, ERR_INVALID, "\"%.63s\" is no name of a secret",
			      in->secret ? in->secret : "");
		return err_remedy(e, "use letters, digits and _: it is a variable's name inside");
	}
	if (in->where > EGRESS_BASIC || !in->key || !is_token(in->key, WORD_MAX)) {
		(void)err_set(e, ERR_INVALID, "no usable name of a header, parameter or user");
		return err_remedy(e, "use up to %u letters, digits, - and _", WORD_MAX);
	}
	if (in->where == EGRESS_HEADER && is_framing(in->key)) {
		(void)err_set(e, ERR_INVALID, "header %s is no place for a secret", in->key);
		return err_remedy(e, "name the one that the server reads keys from, such as "
				     "Authorization or X-Api-Key");
	}
	if (in->prefix && !is_printable(in->prefix, WORD_MAX)) {
		(void)err_set(e, ERR_INVALID, "no usable prefix");
		return err_remedy(e, "write a few printable characters, such as \"Bearer \"");
	}
	return 0;
}

static int check_inject(const struct rule_draft *d, const struct name *host, enum host_kind kind,
			struct err *e)
{
	if (d->n_inject > EGRESS_INJECTS_MAX)
		return err_set(e, ERR_LIMIT, "inject: more than %u", EGRESS_INJECTS_MAX);
	for (unsigned i = 0; i < d->n_inject; i++)
		if (rule_check_inject(&d->inject[i], e) < 0)
			return err_wrap(e, "inject");
	if (d->n_inject && (kind != HOST_EXACT || host->kind != NAME_DNS)) {
		(void)err_set(e, ERR_INVALID, "inject: a secret goes to one name");
		return err_remedy(e, "write one rule for each host, without *");
	}
	if (d->n_inject && d->action == EGRESS_DENY)
		return err_set(e, ERR_INVALID, "inject: in a rule that denies");
	return 0;
}

int rule_check_method(const char *m, struct err *e)
{
	if (is_token(m, METHOD_MAX) && strspn(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(m))
		return 0;
	(void)err_set(e, ERR_INVALID, "method \"%.40s\" is none", m);
	return err_remedy(e, "write methods in upper case: GET, HEAD, POST");
}

int rule_check_host(const char *text, enum egress_action action, struct err *e)
{
	const struct rule_draft d = {.host = text, .action = action};
	enum host_kind kind;
	struct name host;

	return read_host(&d, &host, &kind, e);
}

static int check_words(const struct rule_draft *d, struct err *e)
{
	if (d->n_methods > RULE_METHODS_MAX || d->n_paths > RULE_PATHS_MAX ||
	    d->n_ports > RULE_PORTS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u methods, %u paths or %u ports",
			       RULE_METHODS_MAX, RULE_PATHS_MAX, RULE_PORTS_MAX);
	for (unsigned i = 0; i < d->n_methods; i++)
		if (rule_check_method(d->methods[i], e) < 0)
			return -EINVAL;
	for (unsigned i = 0; i < d->n_paths; i++)
		if (path_pattern_check(d->paths[i], strlen(d->paths[i]), e) < 0)
			return -EINVAL;
	if (d->name && (!*d->name || !is_printable(d->name, RULE_NAME_MAX)))
		return err_set(e, ERR_INVALID, "name: empty, longer than %u bytes or not printable",
			       RULE_NAME_MAX);
	return 0;
}

static bool looks_inside(const struct rule_draft *d)
{
	return d->n_methods || d->n_paths || d->n_inject || d->limits.header_bytes ||
	       d->limits.requests_per_minute;
}

/* What is spoken on a port where nobody says it. */
static enum egress_protocol usual_protocol(const struct rule_draft *d, uint16_t port)
{
	if (d->action == EGRESS_DENY && !looks_inside(d))
		return EGRESS_ANY;
	if (port == 80)
		return EGRESS_HTTP;
	if (port == 443)
		return looks_inside(d) ? EGRESS_HTTPS : EGRESS_TLS;
	return EGRESS_TCP;
}

static void usual_ports(const struct rule_draft *d, struct rule *r)
{
	static const uint16_t usual[] = {80, 443};

	/* A secret never goes out in the clear. */
	for (unsigned i = d->n_inject ? 1 : 0; i < 2; i++) {
		bool is_tls = d->protocol == EGRESS_TLS || d->protocol == EGRESS_HTTPS;

		if (d->protocol == EGRESS_ANY || is_tls == (usual[i] == 443))
			r->ports[r->n_ports++].port = usual[i];
	}
}

static int make_ports(const struct rule_draft *d, struct rule *r, struct err *e)
{
	memcpy(r->ports, d->ports, d->n_ports * sizeof(d->ports[0]));
	r->n_ports = (uint8_t)d->n_ports;
	r->protocol = (uint8_t)d->protocol;
	if (d->n_ports == 0 && d->action == EGRESS_DENY)
		return 0;
	if (d->n_ports == 0 && d->protocol == EGRESS_TCP)
		return err_set(e, ERR_INVALID, "protocol tcp needs a port");
	if (d->n_ports == 0)
		usual_ports(d, r);
	/* A rule without ports would be one for all of them. */
	if (r->n_ports == 0)
		return err_set(e, ERR_INVALID, "inject: a secret goes out by https alone");
	for (unsigned i = 0; i < r->n_ports; i++) {
		struct rule_port *port = &r->ports[i];

		if (port->protocol == EGRESS_ANY)
			port->protocol = (uint8_t)(d->protocol ? d->protocol
							       : usual_protocol(d, port->port));
		if (port->port == 0)
			return err_set(e, ERR_INVALID, "port 0");
		if (port->protocol >= EGRESS_DNS || port->zero)
			return err_set(e, ERR_INVALID, "no protocol of a rule");
		bool shows = port->protocol == EGRESS_HTTPS || port->protocol == EGRESS_HTTP;
		if (looks_inside(d) && !shows) {
			(void)err_set(
				e, ERR_INVALID,
				"port %u: methods, paths, headers, requests and secrets cannot "
				"be seen in protocol %s",
				port->port, egress_protocol_name(port->protocol));
			return err_remedy(e, "write protocol: https (or http)");
		}
		if (d->n_inject && port->protocol != EGRESS_HTTPS) {
			(void)err_set(e, ERR_INVALID, "inject: a secret goes out by https alone");
			return err_remedy(e, "write protocol: https, and a port of it");
		}
	}
	return 0;
}

/* Adds to a text that is cut at the end of its room. */
static void append(char *text, size_t size, const char *more)
{
	size_t n = strlen(text), len = strnlen(more, size - n - 1);

	memcpy(text + n, more, len);
	text[n + len] = '\0';
}

static int keep_text(struct policy *p, const struct rule_draft *d, struct rule *r,
		     const struct name *host, struct err *e)
{
	char text[400] = "", piece[NAME_SIZE + 2];

	append(text, sizeof(text), egress_action_name(d->action));
	append(text, sizeof(text), r->kind == HOST_BELOW ? " *." : " ");
	(void)snprintf(piece, sizeof(piece), host->kind == NAME_IP6 ? "[%s]" : "%s", host->text);
	append(text, sizeof(text), piece);
	for (unsigned i = 0; i < r->n_ports; i++) {
		(void)snprintf(piece, sizeof(piece), "%s%u", i ? "," : ":", r->ports[i].port);
		append(text, sizeof(text), piece);
	}
	for (unsigned i = 0; i < r->n_ports; i++) {
		if (r->ports[i].protocol == EGRESS_ANY ||
		    (i && r->ports[i].protocol == r->ports[i - 1].protocol))
			continue;
		append(text, sizeof(text), i ? "," : " ");
		append(text, sizeof(text), egress_protocol_name(r->ports[i].protocol));
	}
	for (unsigned i = 0; i < d->n_methods; i++) {
		append(text, sizeof(text), i ? "," : " ");
		append(text, sizeof(text), d->methods[i]);
	}
	for (unsigned i = 0; i < d->n_paths; i++) {
		append(text, sizeof(text), " ");
		append(text, sizeof(text), d->paths[i]);
	}
	return keep_str(p, text, &r->text, e);
}

static int keep_methods(struct policy *p, const struct rule_draft *d, struct rule *r, struct err *e)
{
	char text[RULE_METHODS_MAX * (METHOD_MAX + 1) + 1] = "";

	for (unsigned i = 0; i < d->n_methods; i++) {
		append(text, sizeof(text), i ? "," : "");
		append(text, sizeof(text), d->methods[i]);
	}
	return keep_str(p, text, &r->methods, e);
}

static int keep_paths(struct policy *p, const struct rule_draft *d, struct rule *r, struct err *e)
{
	for (unsigned i = 0; i < d->n_paths; i++) {
		uint32_t at;

		if (keep(p, d->paths[i], strlen(d->paths[i]), &at, e) < 0)
			return -EINVAL;
		if (i == 0)
			r->paths = at;
	}
	r->n_paths = (uint8_t)d->n_paths;
	return 0;
}

static int keep_inject(struct policy *p, const struct rule_draft *d, struct rule *r, struct err *e)
{
	for (unsigned i = 0; i < d->n_inject; i++) {
		const struct egress_inject *in = &d->inject[i];

		r->inject[i].where = in->where;
		if (keep_str(p, in->secret, &r->inject[i].secret, e) < 0 ||
		    keep_str(p, in->key, &r->inject[i].key, e) < 0 ||
		    keep_str(p, in->prefix, &r->inject[i].prefix, e) < 0)
			return -EINVAL;
	}
	r->n_inject = (uint8_t)d->n_inject;
	return 0;
}

static int keep_source(struct policy *p, const struct rule_draft *d, struct rule *r, struct err *e)
{
	const char *source = d->source ? d->source : "";

	/* Thousands of rules come from one file. */
	if (strcmp(policy_str(p, p->last_source), source) != 0 &&
	    keep_str(p, source, &p->last_source, e) < 0)
		return -EINVAL;
	r->source = *source ? p->last_source : 0;
	r->line = d->line;
	return keep_str(p, d->name, &r->name, e);
}

static int add_port(struct policy *p, uint16_t port, struct err *e)
{
	unsigned i = 0;

	while (i < p->n_ports && p->ports[i] < port)
		i++;
	if (i < p->n_ports && p->ports[i] == port)
		return 0;
	if (p->n_ports == POLICY_PORTS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u different ports", POLICY_PORTS_MAX);
	memmove(p->ports + i + 1, p->ports + i, (p->n_ports - i) * sizeof(p->ports[0]));
	p->ports[i] = port;
	p->n_ports++;
	return 0;
}

static void warn(struct policy *p, const struct rule_draft *d, const char *oddity)
{
	char *line = NULL, number[24] = "";

	if (!oddity || p->n_warnings == POLICY_WARNINGS_MAX)
		return;
	if (d->line)
		(void)snprintf(number, sizeof(number), ", line %u", d->line);
	if (asprintf(&line, "%s%s: %s: %s", d->source ? d->source : "policy", number, d->host,
		     oddity) >= 0)
		p->warnings[p->n_warnings++] = line;
}

const char *policy_warning(const struct policy *p, unsigned i)
{
	for (; p; p = p->ceiling) {
		if (i < p->n_warnings)
			return p->warnings[i];
		i -= p->n_warnings;
	}
	return NULL;
}

int policy_add(struct policy *p, const struct rule_draft *d, struct err *e)
{
	struct rule r;
	struct name host;
	enum host_kind kind;

	assert(p && d && e);
	memset(&r, 0, sizeof(r));
	if (d->action > EGRESS_ALLOW || d->protocol >= EGRESS_DNS)
		return err_set(e, ERR_INVALID, "no such action or protocol");
	if (read_host(d, &host, &kind, e) < 0 || check_words(d, e) < 0 ||
	    check_inject(d, &host, kind, e) < 0 || make_ports(d, &r, e) < 0)
		return -EINVAL;
	r.action = (uint8_t)d->action;
	r.kind = (uint8_t)kind;
	r.is_address = host.kind != NAME_DNS;
	r.host_len = host.len;
	r.limits = d->limits;
	if (grow_rules(p, e) < 0 || keep(p, host.text, host.len, &r.host, e) < 0 ||
	    keep_text(p, d, &r, &host, e) < 0 || keep_methods(p, d, &r, e) < 0 ||
	    keep_paths(p, d, &r, e) < 0 || keep_inject(p, d, &r, e) < 0 ||
	    keep_source(p, d, &r, e) < 0)
		return -EINVAL;
	for (unsigned i = 0; r.action != EGRESS_DENY && i < r.n_ports; i++)
		if (add_port(p, r.ports[i].port, e) < 0)
			return -EINVAL;
	warn(p, d, rule_oddity(d, &host, kind));
	p->rules[p->n_rules++] = r;
	enter(p, p->n_rules - 1);
	return 0;
}

/* What people paste is a URL; the part of it that is meant is told. */
static int refuse_item(const char *item, const char *why, struct err *e)
{
	const char *at = strstr(item, "://"), *slash = strchr(item, '/');
	size_t n = at ? strcspn(at + 3, "/?#@") : slash ? (size_t)(slash - item) : 0;

	(void)err_set(e, ERR_INVALID, "--allow: \"%.80s\": %s", item,
		      at	   ? "a URL, not a host"
		      : slash && n ? "a path or a range, not a host"
				   : why);
	if (n == 0 || n >= 80 || (!at && item[0] >= '0' && item[0] <= '9'))
		return err_remedy(e, "give HOST or HOST:PORT, such as example.org:443");
	return err_remedy(e, "give --allow %.*s; paths belong into --policy", (int)n,
			  at ? at + 3 : item);
}

int policy_allow(struct policy *p, const char *item, struct err *e)
{
	struct rule_draft d = {.action = EGRESS_ALLOW, .source = "--allow"};
	const char *why = NULL;
	bool is_below = strncmp(item, "*.", 2) == 0;
	char host[NAME_SIZE + 2];
	struct name name;
	uint16_t number = 0;

	if (strcmp(item, "*") != 0 && strncmp(item, "*:", 2) != 0) {
		const char *text = item + (is_below ? 2 : 0);

		if (name_parse_port(text, strlen(text), &name, &number, &why) < 0) {
			return refuse_item(item, why, e);
		}
		(void)snprintf(host, sizeof(host), "%s%s", is_below ? "*." : "", name.text);
	} else {
		(void)snprintf(host, sizeof(host), "*");
	}
	d.host = host;
	d.ports[0].port = number;
	d.n_ports = number ? 1 : 0;
	return policy_add(p, &d, e) < 0 ? err_wrap(e, "--allow") : 0;
}
