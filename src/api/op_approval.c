/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a person, answered by who has a token for that; each tenant sees its own, the
 * operator those of all. */
#include <pinfold/approval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "base/fd.h"
#include "base/hold.h"

static int no_box(struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "nothing asks for approval here");
}

static struct value *words(const char *text)
{
	return *text ? value_of_str(text) : value_of_null();
}

static struct value *describe(const struct pinfold_approval_info *a)
{
	struct value *v = value_object();

	value_set(v, "id", value_of_str(a->id));
	value_set(v, "kind", value_of_str(a->kind));
	value_set(v, "what", value_of_str(a->what));
	value_set(v, "sandbox", words(a->sandbox));
	value_set(v, "tenant", words(a->tenant));
	value_set(v, "who", words(a->who));
	value_set(v, "why", words(a->why));
	value_set(v, "asked", value_of_instant(a->asked_ms));
	value_set(v, "until", value_of_instant(a->until_ms));
	return v;
}

/* By a token for that. On the Unix socket everybody has all scopes: there it is who runs the
 * daemon. */
static bool is_operator(const struct who *who)
{
	char self[32];

	(void)snprintf(self, sizeof(self), "uid-%u", (unsigned)geteuid());
	return who->token[0] ? who->scopes & SCOPE_ADMIN
			     : !strcmp(who->tenant, self) || !strcmp(who->tenant, "uid-0");
}

static bool may_see(const struct call *c, const struct pinfold_approval_info *a)
{
	return !HOLD_API_TENANT || strcmp(a->tenant, c->who.tenant) == 0 || is_operator(&c->who);
}

int op_approval_list(struct call *c, struct err *e)
{
	auto_free struct pinfold_approval_info *list = NULL;
	struct value *items = value_array();
	struct pinfold_error failure;
	size_t n = 0;

	c->reply.value = value_object();
	value_set(c->reply.value, "items", items);
	value_set(c->reply.value, "next", value_of_null());
	if (c->api->approvals < 0)
		return 0;
	if (pinfold_approval_list(c->api->approvals, &list, &n, &failure) < 0)
		return api_error(e, &failure);
	for (size_t i = 0; i < n; i++)
		if (may_see(c, &list[i]))
			value_add(items, describe(&list[i]));
	return 0;
}

/* Another tenant's is not there. */
static int find(struct call *c, struct pinfold_approval_info *ret, struct err *e)
{
	struct pinfold_error failure;

	if (c->api->approvals < 0)
		return no_box(e);
	if (pinfold_approval_get(c->api->approvals, arg_str(c, "id"), ret, &failure) < 0)
		return api_error(e, &failure);
	if (may_see(c, ret))
		return 0;
	(void)err_set(e, ERR_MISSING, "there is no open question %.40s", arg_str(c, "id"));
	return err_detail(e, "approval");
}

int op_approval_get(struct call *c, struct err *e)
{
	auto_free struct pinfold_approval_info *info = malloc(sizeof(*info));

	if (!info)
		return err_sys(e, "approval");
	if (find(c, info, e) < 0)
		return -ENOENT;
	c->reply.value = describe(info);
	return 0;
}

static int answer_of(struct call *c, enum pinfold_answer *ret, struct err *e)
{
	const char *word = arg_str(c, "decision");
	int64_t seconds = arg_int(c, "seconds", 0);

	*ret = strcmp(word, "once") == 0      ? PINFOLD_ANSWER_ONCE
	       : strcmp(word, "sandbox") == 0 ? PINFOLD_ANSWER_SANDBOX
	       : strcmp(word, "time") == 0    ? PINFOLD_ANSWER_FOR
					      : PINFOLD_ANSWER_NO;
	if ((*ret == PINFOLD_ANSWER_FOR) == (seconds > 0))
		return 0;
	(void)err_set(e, ERR_INVALID, "seconds: goes with the decision time, and time with it");
	return err_remedy(e, "send {\"decision\": \"time\", \"seconds\": 600}");
}

int op_approval_answer(struct call *c, struct err *e)
{
	auto_free struct pinfold_approval_info *info = malloc(sizeof(*info));
	enum pinfold_answer how;
	struct pinfold_error failure;

	if (!info)
		return err_sys(e, "approval");
	if (answer_of(c, &how, e) < 0 || find(c, info, e) < 0)
		return -EINVAL;
	if (pinfold_approval_answer(c->api->approvals, info->id, how,
				    (uint64_t)arg_int(c, "seconds", 0), &failure) < 0)
		return api_error(e, &failure);
	c->reply.value = describe(info);
	return 0;
}
