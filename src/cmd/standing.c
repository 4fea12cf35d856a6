/* SPDX-License-Identifier: Apache-2.0 */
/* A policy that a server gives to what it makes later: what is wrong with it is said at once. */
#include "cmd/standing.h"

#include "cmd/request.h"
#include "egress/source.h"

int standing_check(const struct request *r, const char *option, struct err *e)
{
	const struct policy_sources s = {.text = r->run.policy, .text_name = r->run.policy_name};
	char note[SOURCE_NOTE_SIZE];
	auto_policy *p = NULL;

	if (!r->run.policy || policy_gather(&s, &p, note, e) >= 0)
		return 0;
	return err_wrap(e, "%s", option);
}
