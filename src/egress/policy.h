/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox may reach. Pure: no I/O, no clock; the same request gets the same verdict,
 * whatever the order of the rules. deny beats ask beats allow; what no rule allows is denied.
 *
 * A policy is built (policy_new, policy_add, policy_load), may get a ceiling, is packed and sent to
 * whoever enforces it, and unpacked there. A ceiling is a policy of the operator's: the verdict is
 * then the stricter of the two, so a request can narrow what the operator allows and never widen
 * it.
 *
 * Three questions, each stricter than the one before; each is asked, with the verdict's answer kept
 * in mind only by who asks:
 *
 *	EGRESS_LOOKUP	may this name be looked up? (port 0: for any port)
 *	EGRESS_CONNECT	may it be connected to on this port? The verdict says what has to be spoken
 *			there: `protocol`. A verdict for a name says nothing about the addresses that
 *			it resolves to: ask policy_may_reach() for the one that is connected to.
 *	EGRESS_REQUEST	may this request be sent? Of protocols http and https, for each request.
 *			Method and path are known; `protocol` is what is spoken.
 */
#ifndef EGRESS_POLICY_H
#define EGRESS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "egress/name.h"

#define POLICY_RULES_MAX 16384u
#define POLICY_PORTS_MAX 64u /* different ports in one policy */
#define POLICY_CEILINGS_MAX 4u
#define POLICY_PACK_MAX (16u << 20)

enum egress_action { EGRESS_DENY, EGRESS_ASK, EGRESS_ALLOW }; /* the stricter is the smaller */
enum egress_stage { EGRESS_LOOKUP, EGRESS_CONNECT, EGRESS_REQUEST };

/* What is spoken on a port. One at a time: where rules for a host and port name several, the one
 * that shows more counts (https, then tls, http, tcp). */
enum egress_protocol {
	EGRESS_ANY,   /* in a request: not known yet */
	EGRESS_TCP,   /* passed through, whatever it is */
	EGRESS_HTTP,  /* HTTP/1.1 in the clear; each request is judged */
	EGRESS_TLS,   /* passed through once its ClientHello names the host */
	EGRESS_HTTPS, /* TLS ends at the gate; each request is judged */
	EGRESS_DNS,   /* in a request: a question to a name server */
	EGRESS_PROTOCOLS
};

struct policy;

struct egress_request {
	const struct name *host;
	uint16_t port; /* 0 at EGRESS_LOOKUP */
	enum egress_protocol protocol;
	enum egress_stage stage;
	const char *method; /* EGRESS_REQUEST, as sent; borrowed, without NUL */
	size_t method_len;
	const char *path; /* EGRESS_REQUEST: as sent, still escaped, without query; borrowed */
	size_t path_len;
};

/* 0: no limit. Of all rules that allow a request the least of each counts. */
struct egress_limits {
	uint64_t bytes_up, bytes_down; /* of the rule, as long as the sandbox lives */
	uint32_t requests_per_minute;
	uint32_t connections;  /* open at once */
	uint32_t header_bytes; /* of one request's head */
};

enum egress_where { EGRESS_HEADER, EGRESS_QUERY, EGRESS_BASIC };

struct egress_inject {
	enum egress_where where;
	const char *secret; /* its name; borrowed from the policy */
	const char *key;    /* of the header or parameter; user name of basic auth */
	const char *prefix; /* in front of the value of a header: "Bearer "; else "" */
};

#define EGRESS_INJECTS_MAX 4u
#define EGRESS_HINT_SIZE 384

struct egress_verdict {
	enum egress_action action;
	enum egress_protocol protocol; /* EGRESS_CONNECT and not denied: what has to be spoken */
	bool needs_inspection;	       /* the same as protocol == EGRESS_HTTPS */
	bool may_be_private;	       /* a rule names the address itself */

	/* The rule that decides; borrowed from the policy. No rule: index -1, "" and 0. */
	int rule;	    /* its number, for accounts; the ceiling's are negative: -2 - number */
	const char *name;   /* what its author calls it, else its text */
	const char *text;   /* "allow *.example.org:443 https GET,HEAD" */
	const char *source; /* the file, or --allow */
	uint32_t line;	    /* 0: none */
	bool is_ceiling;    /* it is the operator's */
	bool is_below;	    /* it names what is below a host: *.example.org */

	bool is_brokered; /* EGRESS_REQUEST: some rule injects a secret for this host */
	struct egress_limits limits;
	struct egress_inject inject[EGRESS_INJECTS_MAX];
	unsigned n_inject;

	const char *why;	     /* a few constant words: "no rule names it", "method" */
	char hint[EGRESS_HINT_SIZE]; /* what to do about it, for a model; "" when allowed */
};

void policy_decide(const struct policy *p, const struct egress_request *q,
		   struct egress_verdict *ret);
/* May an address be connected to, wherever it came from? It is public, or a rule for this port
 * names it itself (in the ceiling, too). *ret_class, if not NULL, says what it is. */
bool policy_may_reach(const struct policy *p, const struct address *a, uint16_t port,
		      enum address_class *ret_class);
/* Does a rule, or one of a ceiling, deny the address itself on this port? Whatever its kind. */
bool policy_denies_address(const struct policy *p, const struct address *a, uint16_t port);
/* The TCP ports for which somebody has to listen, ascending. Returns how many. */
unsigned policy_ports(const struct policy *p, uint16_t ret[POLICY_PORTS_MAX]);
/* May a connection have to be inspected, so that the sandbox needs an authority to trust? */
bool policy_inspects(const struct policy *p);
/* Where TLS would be passed through it is looked into. */
void policy_look_inside(struct policy *p);
/* The names of the secrets that rules inject, each once; borrowed. Returns how many there are, also
 * when they are more than `max`. */
unsigned policy_secrets(const struct policy *p, const char **ret, unsigned max);
bool policy_is_empty(const struct policy *p); /* nothing can ever be allowed or asked for */
unsigned policy_rules(const struct policy *p);

/* The i-th rule in words, of all levels of the stack; false: there is none. Borrowed. */
struct policy_line {
	enum egress_action action;
	const char *name, *text, *source; /* name: its text, where it has none */
	uint32_t line;
	bool is_ceiling;
};
bool policy_line(const struct policy *p, unsigned i, struct policy_line *ret);
/* Does every rule for this host in one of them have its like in the other? */
bool policy_same_for(const struct policy *a, const struct policy *b, const struct name *host);
/* The number, as verdicts have it, of the rule in `to` that is like number `rule` of `from`; -1:
 * none. */
int policy_same_rule(const struct policy *to, const struct policy *from, int rule);

const char *egress_action_name(enum egress_action action);	 /* "deny", "ask", "allow" */
const char *egress_protocol_name(enum egress_protocol protocol); /* "https" */

struct policy *policy_new(void); /* NULL: no memory. It denies everything */
void policy_free(struct policy *p);
/* One `--allow HOST[:PORT]`. */
int policy_allow(struct policy *p, const char *item, struct err *e);
/* Takes the ceiling over, also when it fails (too many of them). */
int policy_set_ceiling(struct policy *p, struct policy *taken, struct err *e);
/* What is odd but not wrong, such as *.github.io: a line for people, or NULL for no more. */
const char *policy_warning(const struct policy *p, unsigned i);

/* A block for another process of the same build; malloced. */
int policy_pack(const struct policy *p, void **ret, size_t *ret_len, struct err *e);
/* Believes nothing: whatever is not as policy_pack() writes it is ERR_INVALID. */
int policy_unpack(const void *block, size_t len, struct policy **ret, struct err *e);

static inline void policy_free_ptr(struct policy **p)
{
	policy_free(*p);
	*p = NULL;
}
#define auto_policy __attribute__((cleanup(policy_free_ptr))) struct policy

#endif
