/* SPDX-License-Identifier: Apache-2.0 */
/* Whose is an event? Over HTTP events say which tenant's they are; the chain of a tenant's workspaces
 * is his; and in the data directory's own the others are of the user who did it, or of the owner
 * of the sandbox that the daemon tells of: the tenant uid-N of HTTP's Unix socket. */
#include <stdio.h>
#include <string.h>

#include "base/hold.h"
#include "engine/record.h"

#define OWN_CHAIN "ledger"
#define HTTP_CHAIN "api/ledger"

static bool is_his_chain(const char *chain, const char *tenant)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "tenants/%.63s/ledger", tenant);
	return strcmp(chain, name) == 0;
}

bool record_may_have(const char *chain, const char *tenant)
{
	return !tenant || strcmp(chain, OWN_CHAIN) == 0 || strcmp(chain, HTTP_CHAIN) == 0 ||
	       is_his_chain(chain, tenant);
}

bool record_is_of(const struct value *event, const char *chain, const char *tenant)
{
	const char *whose = value_str(value_get(event, "tenant"));
	char name[32];

	if (!HOLD_EVENT_TENANT)
		return true;
	if (!tenant || whose)
		return !tenant || strcmp(whose, tenant) == 0;
	if (is_his_chain(chain, tenant))
		return true;
	const struct value *uid = value_get(value_get(event, "data"), "owner");
	if (!uid)
		uid = value_get(value_get(event, "who"), "uid");
	if (!uid || strcmp(chain, OWN_CHAIN) != 0)
		return false;
	(void)snprintf(name, sizeof(name), "uid-%lld", (long long)value_int(uid));
	return strcmp(name, tenant) == 0;
}
