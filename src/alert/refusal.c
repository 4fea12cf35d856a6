/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "alert/alert.h"
#include "egress/address.h"
#include "wire/gate.h"

/* Where clouds tell a machine its secrets: by address, by one of its names, or by any that leads
 * there. */
static bool is_metadata(const struct alert_refusal *r)
{
	static const char *const names[] = {"metadata.google.internal", "metadata.goog",
					    "metadata.azure.internal", "instance-data",
					    "instance-data.ec2.internal"};
	const char *there = strstr(r->what, address_class_name(ADDRESS_METADATA));
	struct address a;

	if (address_parse(r->host, strlen(r->host), &a))
		return address_class(&a) == ADDRESS_METADATA;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(r->host, names[i]) == 0)
			return true;
	return there && there > r->what && there[-1] == '('; /* as the gate says it */
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

unsigned alert_refused(struct alert_rate *rate, const struct alert_refusal *r, uint64_t count,
		       uint64_t now_ms)
{
	unsigned raised = 0;
	bool many = false;

	if (!r->network && alert_is_escape(r->what))
		raised |= 1u << ALERT_ESCAPE;
	if (r->network && is_metadata(r))
		raised |= 1u << ALERT_METADATA;
	if (r->network && begins(r->what, GATE_STRAY))
		raised |= 1u << ALERT_SECRET;
	if (count > ALERT_RATE_COUNT)
		count = ALERT_RATE_COUNT;
	for (uint64_t i = 0; i < count && !begins(r->what, "name lookup"); i++)
		many |= alert_rate_add(rate, r->what, now_ms);
	if (!many)
		return raised;
	*rate = (struct alert_rate){0}; /* these have been told: as many again are another alert */
	return raised | 1u << ALERT_DENIALS;
}
