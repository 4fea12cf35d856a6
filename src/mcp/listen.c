/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscriptions/listen: a modern client that wants to hear of changes. Nothing that it could hear
 * of ever changes here but in the fixtures, so most of these are acknowledged and stay silent.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_int.h"

#define LISTENERS_MAX 64u
#define LISTENERS_EACH 16u /* of a tenant */

static const char *const kinds[] = {"toolsListChanged", "promptsListChanged",
				    "resourcesListChanged"};

static struct value *with_id(const struct request *r)
{
	struct value *meta = value_object();

	value_set(meta, "io.modelcontextprotocol/subscriptionId", value_copy(r->id));
	return meta;
}

int method_listen(struct request *r, struct value **ret_result, struct rpc_error *e)
{
	const struct value *wanted = value_get(r->params, "notifications");
	struct mcp *m = r->mcp;

	(void)ret_result;
	if (value_kind(wanted) != VALUE_OBJECT)
		return rpc_fail(e, RPC_PARAMS, 400, "notifications: an object is wanted");
	unsigned own = 0;
	for (const struct request *o = m->listeners; o; o = o->next_ear)
		own += strcmp(o->peer->who.tenant, r->peer->who.tenant) == 0;
	if (m->n_listeners >= LISTENERS_MAX || own >= LISTENERS_EACH)
		return rpc_fail(e, RPC_INTERNAL, 200, "%u subscriptions are open already",
				own >= LISTENERS_EACH ? own : m->n_listeners);
	struct value *params = value_object(), *granted = value_object();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && m->fixtures; i++)
		if (value_true(value_get(wanted, kinds[i])))
			value_set(granted, kinds[i], value_of_bool(true));
	if (m->fixtures && value_get(wanted, "resourceSubscriptions"))
		value_set(granted, "resourceSubscriptions",
			  value_copy(value_get(wanted, "resourceSubscriptions")));
	value_set(params, "notifications", granted);
	value_set(params, "_meta", with_id(r));
	r->next_ear = m->listeners;
	m->listeners = r;
	m->n_listeners++;
	request_notify(r, "notifications/subscriptions/acknowledged", params);
	return 1;
}

void listen_end(struct request *r)
{
	for (struct request **at = &r->mcp->listeners; *at; at = &(*at)->next_ear)
		if (*at == r) {
			*at = r->next_ear;
			r->mcp->n_listeners--;
			return;
		}
}

void listen_tell(struct mcp *m, const char *key, const char *notification)
{
	for (struct request *r = m->listeners; r; r = r->next_ear) {
		const struct value *wanted = value_get(r->params, "notifications");
		struct value *params;

		if (!value_true(value_get(wanted, key)))
			continue;
		params = value_object();
		value_set(params, "_meta", with_id(r));
		request_notify(r, notification, params);
	}
}
