/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a policy is kept: rules of one size, whose texts are offsets into one string of strings.
 * Rules are found by a hash of their host; one for `*.example.org` is found under example.org, as
 * another kind. Rules with the same host are a chain.
 */
#ifndef EGRESS_POLICY_INT_H
#define EGRESS_POLICY_INT_H

#include "egress/path.h"
#include "egress/rule.h"

#define POLICY_STRINGS_MAX (12u << 20)
#define POLICY_WARNINGS_MAX 16u

enum host_kind { HOST_EXACT, HOST_BELOW };

struct rule_inject {
	uint32_t where;
	uint32_t secret, key, prefix;
};

struct rule {
	uint32_t host; /* offset, as all of these; 0 is "" */
	uint32_t name, text, source, line;
	uint32_t methods; /* "GET,HEAD"; 0: all but TRACE and CONNECT */
	uint32_t paths;	  /* n_paths strings, one behind the other */
	uint32_t next;	  /* of the same host: index + 1 */
	struct egress_limits limits;
	struct rule_inject inject[EGRESS_INJECTS_MAX];
	struct rule_port ports[RULE_PORTS_MAX]; /* n_ports 0: every port, of a rule that denies */
	uint8_t action, kind, n_ports, n_inject;
	uint8_t n_paths, is_address, host_len;
	uint8_t protocol; /* where n_ports is 0; EGRESS_ANY: whatever it is */
};

/* A rule of `commands`: egress/command.h. */
struct command_rule {
	uint32_t pattern, text, reason, source, line;
	uint8_t action, kind, zero[2];
};

struct policy {
	struct rule *rules;
	uint32_t n_rules, room;
	struct command_rule *commands; /* COMMANDS_MAX, or NULL */
	uint32_t n_commands;
	bool has_network; /* allow, ask or deny are there */
	char *strings;
	uint32_t strings_len, strings_room;
	uint32_t *table; /* index + 1 of the first rule; a power of two */
	uint32_t table_size;
	uint32_t last_source;
	uint16_t ports[POLICY_PORTS_MAX]; /* of rules that do not deny, ascending */
	unsigned n_ports;
	char *warnings[POLICY_WARNINGS_MAX];
	unsigned n_warnings;
	struct policy *ceiling; /* owned */
};

static inline const char *policy_str(const struct policy *p, uint32_t at)
{
	return p->strings + at;
}

/* The first rule of a host, NULL for none; then policy_next(). */
const struct rule *policy_find(const struct policy *p, enum host_kind kind, const char *host,
			       size_t len);
static inline const struct rule *policy_next(const struct policy *p, const struct rule *r)
{
	return r->next ? &p->rules[r->next - 1] : NULL;
}

/* A copy among the policy's strings. */
int policy_keep(struct policy *p, const char *text, uint32_t *ret, struct err *e);

/* Looks at more than host and port, so requests have to be seen. */
static inline bool rule_is_conditional(const struct rule *r)
{
	return r->methods || r->n_paths;
}

/* Why a rule of that host was not the one. The later, the nearer. */
enum miss { MISS_HOST, MISS_PORT, MISS_PROTOCOL, MISS_METHOD, MISS_PATH, MISS_MATCH };

/* What one policy, without its ceiling, says. */
struct opinion {
	enum egress_action action;
	const struct rule *rule;   /* that decides, or that was nearest; NULL */
	const struct rule *inject; /* or NULL */
	enum miss miss;
	const char *why; /* of a path without a safe reading, or NULL */
	bool names_address;
	struct egress_limits limits;
};

/* `protocol` is what is spoken there. Fills why and hint. */
void hint_make(const struct policy *p, const struct opinion *o, const struct egress_request *q,
	       enum egress_protocol protocol, struct egress_verdict *ret);

/* Of hosts that many people share, such as *.github.io; NULL: nothing odd. */
const char *rule_oddity(const struct rule_draft *d, const struct name *host, enum host_kind kind);

#endif
