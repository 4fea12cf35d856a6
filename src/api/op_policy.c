/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox that lives may reach, looked at and changed. */
#include <pinfold/policy.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "base/fd.h"

static int show(struct call *c, const struct box *b, struct err *e)
{
	auto_free char *text = NULL;
	struct pinfold_error failure;

	if (pinfold_policy_show(b->id, &text, &failure) < 0)
		return api_error(e, &failure);
	return value_parse(text, strlen(text), &c->reply.value, e);
}

int op_policy_get(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = b ? show(c, b, e) : -ENOENT;

	box_put(c->api, b);
	return r;
}

/* In the place of what it has: who repeats it gets the same. */
static int set(struct call *c, const struct box *b, struct err *e)
{
	const struct value *allow = arg(c, "allow");
	auto_free const char **list = calloc(value_len(allow) + 1, sizeof(*list));
	auto_free char *note = NULL;
	struct pinfold_error failure;
	unsigned closed = 0;

	if (!list)
		return err_sys(e, "allow");
	if (!allow && !arg(c, "policy")) {
		(void)err_set(e, ERR_INVALID, "allow or policy is missing");
		return err_remedy(e, "\"allow\": [] allows nothing");
	}
	for (size_t i = 0; i < value_len(allow); i++)
		list[i] = value_str(value_at(allow, i));
	const struct pinfold_policy p = {
		.size = sizeof(p), .allow = list, .text = arg_str(c, "policy")};
	if (pinfold_policy_set(b->id, &p, &closed, &note, &failure) < 0)
		return api_error(e, &failure);
	int r = show(c, b, e);
	if (r >= 0) {
		value_set(c->reply.value, "closed", value_of_u64(closed));
		value_set(c->reply.value, "note", value_of_str(note));
	}
	return r;
}

int op_policy_set(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = b ? set(c, b, e) : -ENOENT;

	box_put(c->api, b);
	return r;
}
