/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants may use, and have used. */
#include "api/api.h"
#include "api/handlers.h"
#include "api/quota.h"
#include "api/quota_int.h"

static int look(struct call *c, struct err *e)
{
	if (!c->api->quotas)
		return err_set(e, ERR_UNSUPPORTED, "nothing is counted here");
	quota_look(c->api->quotas); /* as it is now */
	return 0;
}

int op_usage(struct call *c, struct err *e)
{
	auto_value *list = look(c, e) < 0 ? NULL : quota_describe(c->api->quotas, c->who.tenant, e);

	if (!list)
		return -EIO;
	if (!value_len(list))
		return err_set(e, ERR_BUSY, "too many tenants at once");
	c->reply.value = value_share(value_at(list, 0));
	return 0;
}

int op_tenant_list(struct call *c, struct err *e)
{
	struct value *list = look(c, e) < 0 ? NULL : quota_describe(c->api->quotas, NULL, e);

	if (!list)
		return -EIO;
	c->reply.value = value_object();
	value_set(c->reply.value, "items", list);
	value_set(c->reply.value, "next", value_of_null());
	return 0;
}
