/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters that stay. */
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/boxes.h"
#include "api/execute.h"
#include "api/handlers.h"
#include "api/runs.h"
#include "base/fd.h"
#include "base/id.h"
#include "pinfold/pinfold.h"

static struct value *describe(const struct box *b, const struct session *s, bool busy)
{
	struct value *o = value_object();

	value_set(o, "id", value_of_str(s->id));
	value_set(o, "name", value_of_str(s->name));
	value_set(o, "lang", value_of_str(s->lang));
	value_set(o, "sandbox", value_of_str(b->id));
	value_set(o, "busy", value_of_bool(busy));
	return o;
}

/* It is a part of paths from then on, as one segment. */
static int check_name(const char *name, struct err *e)
{
	bool good = strcmp(name, ".") != 0 && strcmp(name, "..") != 0;

	for (const char *p = name; *p; p++)
		good = good && *p != '/' && !iscntrl((unsigned char)*p);
	if (good)
		return 0;
	(void)err_set(e, ERR_INVALID, "name: no path can have this name of a session in it");
	return err_remedy(e, "use letters, digits, - and _");
}

int op_session_create(struct call *c, struct err *e)
{
	const char *name = arg_str(c, "name"), *lang = arg_str(c, "lang");
	struct err none = ERR_INIT;
	struct session *s = NULL;

	if (name && check_name(name, e) < 0)
		return -EINVAL;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	if (b && name && !lang) /* one that is there stays what it is */
		s = box_session(b, name, NULL, arg_true(c, "reset"), &none);
	if (b && !s && none.kind == ERR_BUSY)
		*e = none;
	else if (b && !s)
		s = box_session(b, name ? name : "", lang ? lang : "python", arg_true(c, "reset"),
				e);
	if (s) {
		/* While it is ours: then somebody else may remove it. */
		c->reply.value = describe(b, s, false);
		box_session_put(b, s);
	}
	box_put(c->api, b);
	return s ? 0 : -EIO;
}

int op_session_list(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	struct value *items = value_array();

	if (!b) {
		value_free(items);
		return -ENOENT;
	}
	(void)pthread_mutex_lock(&b->lock);
	for (struct session *s = b->sessions; s; s = s->next)
		value_add(items, describe(b, s, s->busy));
	(void)pthread_mutex_unlock(&b->lock);
	c->reply.value = value_object();
	value_set(c->reply.value, "items", items);
	value_set(c->reply.value, "next", value_of_null());
	box_put(c->api, b);
	return 0;
}

int op_session_execute(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	const struct value *code = arg(c, "code");
	struct session *s = b ? box_session(b, arg_str(c, "session"), NULL, false, e) : NULL;
	int r = -EIO;

	if (s) {
		struct execution x = {.code = value_str(code),
				      .code_len = value_len(code),
				      .give_back = true,
				      .input = arg_true(c, "input"),
				      .time_ms = (uint64_t)arg_int(c, "time", 0)};

		r = execute(c, b, s, &x, e);
		c->reply.value = x.result;
		if (!x.given)
			box_session_put(b, s);
	}
	box_put(c->api, b);
	return r;
}

int op_session_interrupt(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = b ? box_session_interrupt(b, arg_str(c, "session"), e) : -ENOENT;

	box_put(c->api, b);
	return r;
}

int op_session_delete(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = b ? box_session_close(b, arg_str(c, "session"), e) : -ENOENT;

	box_put(c->api, b);
	return r;
}

int op_session_input(struct call *c, struct err *e)
{
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = b ? box_session_answer(b, arg_str(c, "session"), arg_str(c, "text"), e) : -ENOENT;

	box_put(c->api, b);
	return r;
}
