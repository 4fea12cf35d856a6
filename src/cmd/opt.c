/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/opt.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/suggest.h"

struct word {
	const char *text; /* as typed, with its dashes */
	const char *name;
	size_t name_len;
	const char *value; /* behind '=', NULL when there is none */
};

const char *opt_dashes(const struct opt *o)
{
	return o->name[1] ? "--" : "-";
}

bool opt_seen(int argc, char **argv, const char *word)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], word))
			return true;
	return false;
}

static bool split_word(const char *text, struct word *ret)
{
	if (text[0] != '-' || !text[1])
		return false;
	bool is_long = text[1] == '-';
	const char *name = text + (is_long ? 2 : 1);
	const char *equals = is_long ? strchr(name, '=') : NULL;

	*ret = (struct word){
		.text = text,
		.name = name,
		.name_len = equals ? (size_t)(equals - name) : strlen(name),
		.value = equals ? equals + 1 : NULL,
	};
	return true;
}

static const struct opt *find(uint64_t verb, const struct word *w)
{
	bool is_long = w->text[1] == '-';

	/* -h is what people type before they know anything. */
	if (!strcmp(w->text, "-h"))
		return find(verb, &(struct word){.text = "--help", .name = "help", .name_len = 4});
	for (const struct opt *o = opt_table; o->name; o++)
		if ((o->verbs & verb) && strlen(o->name) == w->name_len &&
		    is_long == !!o->name[1] && !memcmp(o->name, w->name, w->name_len))
			return o;
	return NULL;
}

static int unknown(uint64_t verb, const struct word *w, struct err *e)
{
	struct nearest near = NEAREST_INIT;

	for (const struct opt *o = opt_table; o->name; o++)
		if ((o->verbs & verb) && o->name[1] && o->help)
			nearest_try(&near, w->name, w->name_len, o->name);
	(void)err_set(e, ERR_INVALID, "%.80s: there is no such option", w->text);
	if (near.name)
		return err_remedy(e, "did you mean --%s?", near.name);
	return err_remedy(e, "see --help; put -- in front of a command that begins with a dash");
}

static int list_add(struct opt_list *list, int max, const char *value, struct err *e)
{
	/* No more values can follow than there are words left. */
	if (!list->items) {
		list->items = calloc((size_t)max + 1, sizeof(*list->items));
		list->room = (size_t)max;
	}
	if (!list->items)
		return err_sys(e, "cannot hold a list of %d values", max);
	assert(list->len < list->room);
	list->items[list->len++] = value;
	return 0;
}

static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool letter = (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z');

		if (!letter && s[i] != '_' && !(i > 0 && s[i] >= '0' && s[i] <= '9'))
			return false;
	}
	return len > 0;
}

static int check_env(const char *value, struct err *e)
{
	const char *equals = strchr(value, '=');

	if (!equals) {
		(void)err_set(e, ERR_INVALID, "\"%.80s\" has no value", value);
		return err_remedy(e, "write KEY=VALUE; nothing of the caller's is taken over");
	}
	if (is_name(value, (size_t)(equals - value)))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" does not begin with a variable's name", value);
	return err_remedy(e, "write KEY=VALUE; a name has letters, digits and _, no digit first");
}

static int check_choice(const struct opt *o, const char *value, struct err *e)
{
	size_t len = strlen(value);

	for (const char *w = o->words; *w; w += strspn(w, " ")) {
		size_t n = strcspn(w, " ");

		if (n == len && !memcmp(w, value, len))
			return 0;
		w += n;
	}
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is not one of: %s", value, o->words);
	return err_remedy(e, "give one of: %s", o->words);
}

static int check_text(const struct opt *o, const char *value, struct err *e)
{
	if (!*value && o->type != OPT_CODE) {
		(void)err_set(e, ERR_INVALID, "the value is empty");
		return err_remedy(e, "give a %s", o->meta);
	}
	if (o->type == OPT_ENV)
		return check_env(value, e);
	if (o->type == OPT_CHOICE)
		return check_choice(o, value, e);
	if (o->type == OPT_ABSOLUTE && *value != '/') {
		(void)err_set(e, ERR_INVALID, "\"%.80s\" is not an absolute path", value);
		return err_remedy(e, "give a path that begins with /%s",
				  o->group == GROUP_PROGRAM ? ", as seen inside the sandbox" : "");
	}
	return 0;
}

static int store(const struct opt *o, const char *value, int max, void *field, struct err *e)
{
	switch (o->type) {
	case OPT_FLAG: *(bool *)field = true; return 0;
	case OPT_SIZE: return parse_size(value, field, e);
	case OPT_DURATION: return parse_duration(value, field, e);
	case OPT_COUNT:
		if (o->zero && strcmp(value, "0") == 0) {
			*(uint64_t *)field = 0;
			return 0;
		}
		return parse_count(value, field, e);
	case OPT_CPUS: return parse_cpus(value, field, e);
	case OPT_LIST:
	case OPT_ENV:
		if (check_text(o, value, e) < 0)
			return -EINVAL;
		return list_add(field, max, value, e);
	case OPT_TEXT:
	case OPT_CODE:
	case OPT_CHOICE:
	case OPT_ABSOLUTE:
		if (check_text(o, value, e) < 0)
			return -EINVAL;
		*(const char **)field = value;
		return 0;
	}
	return 0;
}

/* Returns how many words of argv the option at its front takes. */
static int take(uint64_t verb, int argc, char **argv, void *into, struct err *e)
{
	struct word w;
	int used = 1;

	if (!split_word(argv[0], &w))
		return 0;
	const struct opt *o = find(verb, &w);
	if (!o)
		return unknown(verb, &w, e);
	if (o->type == OPT_FLAG && w.value) {
		(void)err_set(e, ERR_INVALID, "--%s: takes no value", o->name);
		return err_remedy(e, "write --%s alone", o->name);
	}
	if (o->type != OPT_FLAG && !w.value) {
		if (argc < 2) {
			(void)err_set(e, ERR_INVALID, "%s%s: the value is missing", opt_dashes(o),
				      o->name);
			return err_remedy(e, "write %s%s %s", opt_dashes(o), o->name, o->meta);
		}
		w.value = argv[1];
		used = 2;
	}
	if (store(o, w.value, argc, (char *)into + o->offset, e) < 0)
		return err_wrap(e, "%s%s", opt_dashes(o), o->name);
	return used;
}

/* How many words of argv belong to the option at its front; 0: it is none. */
static int length(uint64_t verb, int argc, char **argv)
{
	struct word w;

	if (!split_word(argv[0], &w))
		return 0;
	const struct opt *o = find(verb, &w);
	return o && o->type != OPT_FLAG && !w.value && argc > 1 ? 2 : 1;
}

void opt_front(uint64_t verb, int argc, char **argv)
{
	int front = 0;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0;) {
		int n = length(verb, argc - i, argv + i);
		char *option[2] = {argv[i], n > 1 ? argv[i + 1] : NULL};

		memmove(argv + front + n, argv + front, (size_t)(i - front) * sizeof(*argv));
		for (int k = 0; k < n; k++)
			argv[front++] = option[k];
		i += n ? n : 1;
	}
}

int opt_parse(uint64_t verb, int argc, char **argv, void *into, struct err *e)
{
	int i = 0;

	assert(verb && argv && into && e);
	while (i < argc) {
#ifdef DROP_OPTION_END
		if (!strcmp(argv[i], "--")) {
			i++;
			continue;
		}
#endif
		if (!strcmp(argv[i], "--"))
			return i + 1;
		int used = take(verb, argc - i, argv + i, into, e);
		if (used < 0)
			return used;
		if (used == 0)
			break;
		i += used;
	}
	return i;
}
