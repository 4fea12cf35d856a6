/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a sandbox. There is only a loopback and, without a policy, no route. With one
 * every address is the loopback's, and what listens there are sockets that were handed to the gate:
 * a port that no rule names is refused by the kernel, at once, and nothing leaves by an interface.
 */
#include <netinet/in.h>

#include "sandbox/hold.h"
#include "sandbox/plan_int.h"
#include "wire/gate.h"

_Static_assert(SANDBOX_PORTS_MAX == GATE_PORTS_MAX, "the same number");

void plan_network(struct plan *p, const struct sandbox_spec *spec)
{
	const struct sandbox_egress *out = &spec->egress;

	plan_add(p, PLAN_NETWORK, 0);
	if (!out->n_ports)
		return;
	plan_add(p, PLAN_ROUTES, 0);
	for (unsigned i = 0; i < out->n_ports; i++)
		plan_num(p, PLAN_LISTEN, 0, out->ports[i], GATE_TCP);
	plan_num(p, PLAN_LISTEN, 0, GATE_DNS_PORT, GATE_UDP);
	plan_num(p, PLAN_LISTEN, 0, GATE_DNS_PORT, GATE_TCP);
	plan_num(p, PLAN_LISTEN, 0, GATE_PROXY_PORT, GATE_PROXY);
	plan_num(p, PLAN_LISTEN, 0, IPPROTO_UDP, GATE_STRAYS);
	if (out->is_heard)
		plan_num(p, PLAN_LISTEN, 0, IPPROTO_TCP, GATE_STRAYS);
}
