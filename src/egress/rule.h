/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule before it is part of a policy. Whoever makes rules (options, files, presets, the other end
 * of a socket) fills a draft and calls policy_add(), which is the one place that checks them.
 *
 * Without ports, a rule that allows or asks is for 80 (http) and 443 (tls; https where methods,
 * paths or a secret make it look inside), or for the usual port of the protocol that it names; one
 * that denies is for every port. Without a protocol 80 is http, 443 as above, and any other port
 * tcp.
 */
#ifndef EGRESS_RULE_H
#define EGRESS_RULE_H

#include "egress/policy.h"

#define RULE_PORTS_MAX 16u
#define RULE_METHODS_MAX 16u
#define RULE_PATHS_MAX 64u
#define RULE_NAME_MAX 100u

struct rule_port {
	uint16_t port;
	uint8_t protocol; /* enum egress_protocol; EGRESS_ANY: by the port */
	uint8_t zero;
};

/* All pointers are borrowed. */
struct rule_draft {
	enum egress_action action;
	const char *host;   /* a name, an address, or *.name for what is below it */
	const char *name;   /* NULL: none */
	const char *source; /* NULL: none */
	uint32_t line;
	enum egress_protocol protocol; /* for ports that name none; EGRESS_ANY: by the port */
	struct rule_port ports[RULE_PORTS_MAX];
	unsigned n_ports;
	const char *methods[RULE_METHODS_MAX];
	unsigned n_methods;
	const char *paths[RULE_PATHS_MAX];
	unsigned n_paths;
	struct egress_limits limits;
	struct egress_inject inject[EGRESS_INJECTS_MAX];
	unsigned n_inject;
};

/* The error says what is wrong with the rule; the caller says where it stands. */
int policy_add(struct policy *p, const struct rule_draft *d, struct err *e);

/* Parts of it, for who wants to say where just that stands. */
int rule_check_method(const char *method, struct err *e);
int rule_check_host(const char *host, enum egress_action action, struct err *e);
int rule_check_inject(const struct egress_inject *in, struct err *e);

#endif
