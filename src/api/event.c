/* SPDX-License-Identifier: Apache-2.0 */
#include "api/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/id.h"
#include "pinfold/ledger.h"
#include "pinfold/pinfold.h"

#define VALUE_MAX 256u /* bytes of an argument */

/* Is the word in a list with blanks between? */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* Of what is too long or too private, the hash. */
static void set_hash(struct value *to, const char *name, const struct value *v)
{
	char key[32], text[HASH_TEXT_SIZE];
	uint8_t digest[HASH_BYTES];

	hash_bytes(value_str(v), value_len(v), digest);
	hash_text(digest, text);
	(void)snprintf(key, sizeof(key), "%s_sha256", name);
	value_set(to, key, value_of_str(text));
}

static struct value *arguments(const struct call *c)
{
	struct value *to = value_object();

	for (unsigned i = 0; i < c->op->n_args; i++) {
		const struct op_arg *a = &c->op->args[i];
		const struct value *v = value_get(c->args, a->name);

		if (value_str(v) && lists("code stdin", a->name)) {
			set_hash(to, a->name, v);
			continue;
		}
		if (!v || !(a->flags & IN_PATH || lists(c->op->event, a->name)))
			continue;
		value_set(to, a->name,
			  value_kind(v) == VALUE_STRING && value_len(v) > VALUE_MAX
				  ? value_of_bytes(value_str(v), VALUE_MAX)
				  : value_copy(v));
	}
	return to;
}

static const char *sandbox_of(const struct call *c)
{
	const char *id = arg_str(c, "id");

	return id && id_is("sbx", id) ? id : NULL;
}

static const char *workspace_of(const struct call *c)
{
	if (strncmp(c->op->name, "workspace.", 10) != 0)
		return NULL;
	const char *name = arg_str(c, "workspace");
	return name ? name : arg_str(c, "name");
}

static int add(const struct call *c, const char *phase, struct value *data, struct err *e)
{
	auto_free char *text = value_text(data, NULL);
	const char *id = arg_str(c, "id");
	struct pinfold_error failure;
	char kind[64];
	struct pinfold_ledger_event ev = {
		.size = sizeof(ev),
		.kind = kind,
		.phase = phase,
		.run = c->run[0]		? c->run
		       : id && id_is("run", id) ? id
						: NULL,
		.sandbox = sandbox_of(c),
		.workspace = workspace_of(c),
		.tenant = c->who.tenant,
		.token = c->who.token,
		.client = c->who.client,
		.data = text,
	};

	value_free(data);
	(void)snprintf(kind, sizeof(kind), "api.%s", c->op->name);
	if (text && pinfold_ledger_add(&ev, &failure) == 0)
		return 0;
	return text ? api_error(e, &failure) : err_sys(e, "ledger");
}

static bool changes(const struct op *op)
{
	return op->method ? strcmp(op->method, "GET") != 0 : !(op->flags & TOOL_READS);
}

int event_begin(struct call *c, struct err *e)
{
	if (c->op->flags & (OP_QUIET | OP_RUNS) || !changes(c->op))
		return 0;
	struct value *data = value_object();
	value_set(data, "arguments", arguments(c));
	value_set(data, "request", value_of_str(c->request_id));
	return add(c, "begin", data, e);
}

void event_end(const struct call *c)
{
	struct value *data, *error;
	struct err none = ERR_INIT;

	/* A third event would say what the run's two have said, and be a third of the price. */
	if (c->op->flags & OP_QUIET || (c->is_told && c->result >= 0))
		return;
	data = value_object();
	value_set(data, "arguments", arguments(c));
	value_set(data, "request", value_of_str(c->request_id));
	value_set(data, "status",
		  value_of_str(c->refused      ? "refused"
			       : c->result < 0 ? "failed"
					       : "ok"));
	if (c->result < 0) {
		error = value_object();
		value_set(error, "code", value_of_str(err_code(c->error.kind)));
		value_set(data, "error", error);
	}
	(void)add(c, c->refused ? "refused" : "end", data, &none); /* that it began is there */
}
