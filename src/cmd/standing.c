/* SPDX-License-Identifier: Apache-2.0 */
/* A policy that a server gives to what it makes later: what is wrong with it is said at once. */
#include "cmd/standing.h"

#include <pinfold/policy.h>

#include "cmd/request.h"
#include "egress/preset.h"
#include "egress/source.h"

int standing_check(const struct request *r, const char *option, struct err *e)
{
	const struct policy_sources s = {.text = r->run.policy, .text_name = r->run.policy_name};
	char note[SOURCE_NOTE_SIZE];
	auto_policy *p = NULL;

	struct pinfold_error ignored; /* then a policy with one is refused */

	if (!r->run.policy)
		return 0;
	(void)pinfold_presets_keep(&ignored);
	(void)preset_keep(e); /* the library's own is not ours */
	if (policy_gather(&s, &p, note, e) >= 0)
		return 0;
	return err_wrap(e, "%s", option);
}
