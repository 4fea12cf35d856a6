/* SPDX-License-Identifier: Apache-2.0 */
#include "api/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "base/fd.h"

/* Ids come from callers: only what ids are made of is shown. */
static const char *shown(const char *id)
{
	return id && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' ? id : "";
}

static const char *about(const struct call *c)
{
	const char *id = arg_str(c, "id");

	return shown(id ? id : arg_str(c, "name"));
}

static void log_json(const struct call *c, uint64_t ms, const char *code)
{
	auto_value *o = value_object();
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	value_set(o, "time",
		  value_of_instant((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000));
	value_set(o, "operation", value_of_str(c->op->name));
	value_set(o, "tenant", value_of_str(c->who.tenant));
	value_set(o, "token", c->who.token[0] ? value_of_str(c->who.token) : value_of_null());
	value_set(o, "from", c->who.from[0] ? value_of_str(c->who.from) : value_of_null());
	value_set(o, "request", value_of_str(c->request_id));
	value_set(o, "about", value_of_str(about(c)));
	value_set(o, "run", c->run[0] ? value_of_str(c->run) : value_of_null());
	value_set(o, "code", value_of_str(code));
	value_set(o, "ms", value_of_u64(ms));
	auto_free char *text = value_text(o, NULL);
	if (text)
		(void)fprintf(stderr, "%s\n", text);
}

void log_call(const struct call *c, uint64_t ms)
{
	const char *code = c->result < 0 ? err_code(c->error.kind) : "ok";

	if (!c->api->log || c->op->flags & OP_QUIET)
		return;
	if (strcmp(c->api->log, "json") == 0)
		log_json(c, ms, code);
	else
		(void)fprintf(stderr, "pinfold: %s %s %s%s%s%s%s %s %llu ms %s%s%s\n",
			      c->who.tenant, c->op->name, about(c), *about(c) ? " " : "", c->run,
			      c->run[0] ? " " : "", c->request_id, code, (unsigned long long)ms,
			      c->who.token, c->who.token[0] ? " " : "", c->who.from);
}
