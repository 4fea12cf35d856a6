/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces: files that last, their commands and their history. The keeper has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/handlers.h"
#include "api/keeper.h"
#include "base/fd.h"

#define WORDS_MAX 8u

/* A verb and its words; the document that it prints is the reply. */
struct verb {
	const char *words[WORDS_MAX + 1];
	unsigned n;
	char option[2][192]; /* with a value */
	unsigned n_options;
};

static void add(struct verb *v, const char *word)
{
	if (word && v->n < WORDS_MAX)
		v->words[v->n++] = word;
}

static void add_option(struct verb *v, const char *name, const char *value)
{
	if (!value || v->n_options == 2)
		return;
	char *text = v->option[v->n_options++];
	(void)snprintf(text, sizeof(v->option[0]), "--%s=%s", name, value);
	add(v, text);
}

static int ask(struct call *c, struct verb *v, struct err *e)
{
	struct keeper_ask a = {.words = v->words};
	char *text = NULL;
	size_t len = 0;
	int r = keeper_ask(c, &a, &text, &len, e);

	if (r < 0)
		return r;
	while (len && text[len - 1] == '\n')
		len--;
	free(c->reply.text);
	c->reply.text = len ? text : NULL;
	c->reply.text_len = len;
	if (!len)
		free(text);
	return 0;
}

static int show(struct call *c, const char *name, struct err *e)
{
	struct verb v = {.words = {"info", "--json", name}, .n = 3};

	return ask(c, &v, e);
}

int op_workspace_create(struct call *c, struct err *e)
{
	struct verb v = {.words = {"new", "--json"}, .n = 2};
	char disk[24];

	(void)snprintf(disk, sizeof(disk), "%lld", (long long)arg_int(c, "disk", 0));
	add_option(&v, "disk", arg(c, "disk") ? disk : NULL);
	add_option(&v, "image", arg_str(c, "image"));
	add(&v, arg_str(c, "name"));
	int r = ask(c, &v, e);
	return r < 0 ? r : show(c, arg_str(c, "name"), e);
}

/* Of the whole list, which is sorted by name, the part that is wanted. */
static int cut_to_page(struct call *c, struct err *e)
{
	const char *after = arg_str(c, "after"), *last = NULL;
	const size_t limit = (size_t)arg_int(c, "limit", 1000);
	struct value *page = value_array(), *o = value_object();
	auto_value *whole = NULL;
	bool more = false;
	int r = value_parse(c->reply.text ? c->reply.text : "", c->reply.text_len, &whole, e);
	const struct value *items = value_get(whole, "items");

	for (size_t i = 0; i < value_len(items) && !more; i++) {
		const char *name = value_str(value_get(value_at(items, i), "name"));

		if (!name || (after && strcmp(name, after) <= 0))
			continue;
		more = value_len(page) == limit;
		if (!more) {
			value_add(page, value_copy(value_at(items, i)));
			last = name;
		}
	}
	value_set(o, "items", page);
	value_set(o, "next", more ? value_of_str(last) : value_of_null());
	if (r < 0) {
		value_free(o);
		return r;
	}
	free(c->reply.text);
	c->reply.text = NULL;
	c->reply.value = o;
	return 0;
}

int op_workspace_list(struct call *c, struct err *e)
{
	struct verb v = {.words = {"ls", "--json"}, .n = 2};
	int r = ask(c, &v, e);

	return r < 0 ? r : cut_to_page(c, e);
}

int op_workspace_get(struct call *c, struct err *e)
{
	return show(c, arg_str(c, "name"), e);
}

int op_workspace_delete(struct call *c, struct err *e)
{
	struct verb v = {.words = {"rm", "--json", arg_str(c, "name")}, .n = 3};

	return ask(c, &v, e);
}

int op_workspace_exec(struct call *c, struct err *e)
{
	return keeper_run(c, arg_str(c, "name"), false, e);
}

int op_workspace_snapshot(struct call *c, struct err *e)
{
	struct verb v = {.words = {"snap", "--json", arg_str(c, "name")}, .n = 3};

	add(&v, arg_str(c, "label"));
	return ask(c, &v, e);
}

int op_workspace_undo(struct call *c, struct err *e)
{
	struct verb v = {.words = {"undo", "--json", arg_str(c, "name")}, .n = 3};
	char count[24];

	(void)snprintf(count, sizeof(count), "%lld", (long long)arg_int(c, "count", 1));
	add(&v, count);
	return ask(c, &v, e);
}

int op_workspace_rollback(struct call *c, struct err *e)
{
	struct verb v = {.words = {"rollback", "--json", arg_str(c, "name"),
				   arg_str(c, "snapshot")},
			 .n = 4};

	return ask(c, &v, e);
}

int op_workspace_fork(struct call *c, struct err *e)
{
	struct verb v = {.words = {"fork", "--json"}, .n = 2};

	add_option(&v, "at", arg_str(c, "snapshot"));
	add(&v, arg_str(c, "workspace"));
	add(&v, arg_str(c, "name"));
	int r = ask(c, &v, e);
	return r < 0 ? r : show(c, arg_str(c, "name"), e);
}

/* Without a beginning it is what that one command did; without either, the last. */
int op_workspace_diff(struct call *c, struct err *e)
{
	struct verb v = {.words = {"diff", "--json"}, .n = 2};
	const char *from = arg_str(c, "from"), *to = arg_str(c, "to");

	if (arg_true(c, "names"))
		add(&v, "--names");
	add_option(&v, "command", from ? NULL : to);
	add(&v, arg_str(c, "name"));
	add(&v, from);
	add(&v, from ? to : NULL);
	return ask(c, &v, e);
}

int op_workspace_log(struct call *c, struct err *e)
{
	struct verb v = {.words = {"log", "--json"}, .n = 2};

	if (arg_true(c, "all"))
		add(&v, "--all");
	add(&v, arg_str(c, "name"));
	return ask(c, &v, e);
}
