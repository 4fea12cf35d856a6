/* SPDX-License-Identifier: Apache-2.0 */
#include "api/op.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/words.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/suggest.h"

#define FLAGS(sign)                                                                                \
	(OP_STREAM sign OP_RAW_BODY sign OP_RAW_REPLY sign OP_CREATED sign OP_OPEN sign OP_PROBE   \
		 sign OP_EVENTS sign OP_DETACHED sign OP_TAKES sign OP_BELOW sign OP_QUIET sign    \
			 OP_STARTS sign OP_OUTLIVES sign OP_HOLDS sign OP_RUNS sign TOOL_READS     \
				 sign TOOL_DESTROYS sign TOOL_CORE sign TOOL_OPEN_WORLD)
static_assert(FLAGS(|) == FLAGS(+), "no two flags of operations are the same bit");

static const char *const scopes[] = {"run", "files", "workspaces", "approve", "admin"};
#define SCOPES (sizeof(scopes) / sizeof(*scopes))

const char *scope_name(unsigned one)
{
	for (unsigned i = 0; i < SCOPES; i++)
		if (one == 1u << i)
			return scopes[i];
	return "none";
}

unsigned scope_parse(const char *text, struct err *e)
{
	unsigned bits = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		unsigned i = 0;

		while (i < SCOPES && (strlen(scopes[i]) != n || strncmp(scopes[i], p, n) != 0))
			i++;
		if (i == SCOPES && !(n == 3 && !strncmp(p, "all", 3))) {
			(void)err_set(e, ERR_INVALID, "--scope: there is no scope \"%.*s\"", (int)n,
				      p);
			(void)err_remedy(e,
					 "use run, files, workspaces, approve, admin or all, with "
					 "commas between");
			return 0;
		}
		bits |= i == SCOPES ? SCOPE_ALL : 1u << i;
		p += n + (p[n] == ',');
	}
	if (!bits)
		(void)err_set(e, ERR_INVALID, "--scope: empty");
	return bits;
}

const struct op *op_of_tool(const char *tool)
{
	for (size_t i = 0; i < op_count(); i++)
		if (op_at(i)->tool && strcmp(op_at(i)->tool, tool) == 0)
			return op_at(i);
	return NULL;
}

void op_route(const char *name, const char *id, char *ret, size_t size)
{
	size_t i = 0;

	while (i < op_count() && strcmp(op_at(i)->name, name) != 0)
		i++;
	assert(i < op_count() && strchr(op_at(i)->path, '{'));
	const char *path = op_at(i)->path, *open = strchr(path, '{'), *close = strchr(open, '}');
	(void)snprintf(ret, size, "%.*s%s%s", (int)(open - path), path, id, close + 1);
}

static const struct op_arg *find_arg(const struct op *op, const char *name)
{
	for (unsigned i = 0; i < op->n_args; i++)
		if (strcmp(op->args[i].name, name) == 0)
			return &op->args[i];
	return NULL;
}

static int wrong(struct err *e, const struct op_arg *a, const char *wanted, const struct value *v)
{
	return err_set(e, ERR_INVALID, "%s: %s is wanted, not %s", a->name, wanted,
		       value_kind_name(value_kind(v)));
}

static int check_range(const struct op_arg *a, int64_t n, struct err *e)
{
	/* A limit of 0 is a mistake; to wait for 0 is not. */
	const bool is_limit =
		(a->type == ARG_SIZE || a->type == ARG_DURATION) && a->flags & IN_BODY;
	int64_t min = is_limit && (a->min < 1 || a->type == ARG_DURATION) ? 1 : a->min,
		max = a->max ? a->max : INT64_MAX;

	if (n >= min && n <= max)
		return 0;
	(void)err_set(e, ERR_INVALID, "%s=%lld is %s %lld", a->name, (long long)n,
		      n < min ? "below the minimum" : "above the maximum",
		      (long long)(n < min ? min : max));
	return err_remedy(e, "use a value from %lld to %lld", (long long)min, (long long)max);
}

/* A text of the query that stands for a number. */
static int text_to_int(const struct op_arg *a, const char *text, int64_t *ret, struct err *e)
{
	char rest = 0;
	long long n = 0;

	if (strlen(text) > 19 || sscanf(text, "%lld%c", &n, &rest) != 1 ||
	    strspn(text, "-0123456789") != strlen(text))
		return err_set(e, ERR_INVALID, "%s: \"%.40s\" is no whole number", a->name, text);
	*ret = n;
	return 0;
}

static bool is_whole(const struct value *v)
{
	return value_kind(v) == VALUE_INT ||
	       (value_kind(v) == VALUE_REAL && value_real(v) == (double)value_int(v)); /* 1e3 */
}

static int check_int(const struct op_arg *a, const struct value *v, int64_t *ret, struct err *e)
{
	if (value_kind(v) == VALUE_STRING && a->flags & (IN_QUERY | IN_PATH)) {
		if (text_to_int(a, value_str(v), ret, e) < 0)
			return -EINVAL;
	} else if (is_whole(v)) {
		*ret = value_int(v);
	} else {
		return wrong(e, a, "an integer", v);
	}
	return check_range(a, *ret, e);
}

/* On the command line a bare number is seconds. */
static int check_bare(const struct op_arg *a, int64_t n, struct err *e)
{
	if (a->type != ARG_DURATION || n <= 0 || n >= a->min)
		return check_range(a, n, e);
	(void)err_set(e, ERR_INVALID, "%s=%lld: a number is milliseconds, and that is %lld ms",
		      a->name, (long long)n, (long long)n);
	return err_remedy(e, "write \"%llds\" for seconds, or \"%lldms\"", (long long)n,
			  (long long)n);
}

/* With a unit as a text, or as a number of the unit that documents use. */
static int check_amount(const struct op_arg *a, const struct value *v, int64_t *ret, struct err *e)
{
	uint64_t n = 0;
	int r = 0;

	if (a->type != ARG_CPUS && is_whole(v)) {
		*ret = value_int(v);
		return check_bare(a, *ret, e);
	}
	/* A query has texts alone: what is a number in it is one as in a document. */
	if (a->flags & IN_QUERY && value_kind(v) == VALUE_STRING && *value_str(v) &&
	    strspn(value_str(v), "0123456789") == strlen(value_str(v)))
		return check_int(a, v, ret, e);
	if (a->type == ARG_CPUS && value_real(v) > 0 && value_real(v) < 1e6)
		n = (uint64_t)(value_real(v) * 1000 + 0.5);
	else if (a->type == ARG_CPUS && (value_kind(v) == VALUE_INT || value_kind(v) == VALUE_REAL))
		return err_set(e, ERR_INVALID, "%s: more than 0 is wanted, such as 0.5 or 2",
			       a->name);
	else if (value_kind(v) != VALUE_STRING)
		return wrong(
			e, a,
			a->type == ARG_SIZE ? "a whole number of bytes or a text such as \"512M\""
			: a->type == ARG_DURATION ? "a whole number of ms or a text such as \"10s\""
						  : "a number of processors",
			v);
	else
		r = a->type == ARG_SIZE	      ? parse_size(value_str(v), &n, e)
		    : a->type == ARG_DURATION ? parse_duration(value_str(v), &n, e)
					      : parse_cpus(value_str(v), &n, e);
	if (r < 0) {
		words_of_fields(e->remedy);
		return err_wrap(e, "%s", a->name);
	}
	*ret = (int64_t)n;
	return check_range(a, *ret, e);
}

static bool is_choice(const char *choices, const char *text)
{
	size_t len = strlen(text);

	for (const char *p = choices; *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && strncmp(p, text, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

static int check_string(const struct op_arg *a, const struct value *v, struct err *e)
{
	size_t max = a->max ? (size_t)a->max : 1u << 20;

	if (value_kind(v) != VALUE_STRING)
		return wrong(e, a, "a string", v);
	if (value_len(v) > max)
		return err_set(e, ERR_INVALID, "%s: longer than %zu bytes", a->name, max);
	if (value_len(v) < (size_t)a->min)
		return err_set(e, ERR_INVALID, "%s: empty", a->name);
	/* Program text and input may have one; whatever becomes an argument or a path may not. */
	if (strlen(value_str(v)) != value_len(v) && (a->type != ARG_STRING || a->max <= 65536))
		return err_set(e, ERR_INVALID, "%s: has a NUL in it", a->name);
	if (a->type == ARG_CHOICE && !is_choice(a->choices, value_str(v))) {
		(void)err_set(e, ERR_INVALID, "%s: \"%.40s\" is none of its values", a->name,
			      value_str(v));
		return err_remedy(e, "use one of: %s", a->choices);
	}
	return 0;
}

static int check_words(const struct op_arg *a, const struct value *v, struct err *e)
{
	if (value_kind(v) != VALUE_ARRAY)
		return wrong(e, a, "an array of strings", v);
	if (value_len(v) > 4096 || (a->flags & NEEDED && !value_len(v)))
		return err_set(e, ERR_INVALID, "%s: %s", a->name,
			       value_len(v) ? "more than 4096 words" : "empty");
	for (size_t i = 0; i < value_len(v); i++) {
		const struct value *one = value_at(v, i);

		if (value_kind(one) != VALUE_STRING)
			return err_set(e, ERR_INVALID, "%s[%zu]: a string is wanted, not %s",
				       a->name, i, value_kind_name(value_kind(one)));
		if (strlen(value_str(one)) != value_len(one))
			return err_set(e, ERR_INVALID, "%s[%zu]: has a NUL in it", a->name, i);
	}
	return 0;
}

static int check_command(const struct op_arg *a, const struct value *v, struct err *e)
{
	if (value_kind(v) == VALUE_STRING)
		return check_string(a, v, e);
	if (value_kind(v) != VALUE_ARRAY)
		return wrong(e, a, "a string or an array of strings", v);
	if (!value_len(v))
		return err_set(e, ERR_INVALID, "%s: an empty array; its first word is the program",
			       a->name);
	return check_words(a, v, e);
}

static int check_ints(const struct op_arg *a, const struct value *v, struct err *e)
{
	if (value_kind(v) != VALUE_ARRAY)
		return wrong(e, a, "an array of integers", v);
	for (size_t i = 0; i < value_len(v); i++) {
		const struct value *one = value_at(v, i);

		if (value_kind(one) != VALUE_INT)
			return err_set(e, ERR_INVALID, "%s[%zu]: an integer is wanted, not %s",
				       a->name, i, value_kind_name(value_kind(one)));
		if (check_range(a, value_int(one), e) < 0)
			return -EINVAL;
	}
	return 0;
}

static int check_map(const struct op_arg *a, const struct value *v, struct err *e)
{
	if (value_kind(v) != VALUE_OBJECT)
		return wrong(e, a, "an object of strings", v);
	if (value_len(v) > 1024)
		return err_set(e, ERR_INVALID, "%s: more than 1024 entries", a->name);
	for (const char *key = NULL; (key = value_next_key(v, key));) {
		const struct value *one = value_get(v, key);

		if (value_kind(one) != VALUE_STRING)
			return err_set(e, ERR_INVALID, "%s.%.64s: a string is wanted, not %s",
				       a->name, key, value_kind_name(value_kind(one)));
		if (!*key || strchr(key, '=') || strlen(value_str(one)) != value_len(one))
			return err_set(e, ERR_INVALID,
				       "%s.%.64s: not a name, or a NUL in its value", a->name, key);
	}
	return 0;
}

static int check_bool(const struct op_arg *a, const struct value *v, bool *ret, struct err *e)
{
	const char *text = a->flags & IN_QUERY ? value_str(v) : NULL;

	if (value_kind(v) == VALUE_BOOL)
		*ret = value_true(v);
	else if (text && (!strcmp(text, "1") || !strcmp(text, "true") || !*text))
		*ret = true;
	else if (text && (!strcmp(text, "0") || !strcmp(text, "false")))
		*ret = false;
	else
		return wrong(e, a, "true or false", v);
	return 0;
}

static int check_pty(const struct op_arg *a, const struct value *v, struct err *e)
{
	if (value_kind(v) == VALUE_BOOL)
		return 0;
	if (value_kind(v) != VALUE_OBJECT)
		return wrong(e, a, "true or an object with rows and cols", v);
	for (const char *key = NULL; (key = value_next_key(v, key));) {
		const struct value *n = value_get(v, key);

		if (strcmp(key, "rows") != 0 && strcmp(key, "cols") != 0)
			return err_set(e, ERR_INVALID, "%s.%.64s: only rows and cols are known",
				       a->name, key);
		if (value_kind(n) != VALUE_INT || value_int(n) < 1 || value_int(n) > 10000)
			return err_set(e, ERR_INVALID,
				       "%s.%s: an integer from 1 to 10000 is wanted", a->name, key);
	}
	return 0;
}

static int check_document(const struct op_arg *a, const struct value *v, struct value **ret_new,
			  struct err *e)
{
	auto_free char *text = value_kind(v) == VALUE_OBJECT ? value_text(v, NULL) : NULL;

	if (value_kind(v) == VALUE_STRING)
		return check_string(a, v, e);
	if (value_kind(v) != VALUE_OBJECT)
		return wrong(e, a, "an object or a text", v);
	*ret_new = text ? value_of_str(text) : NULL;
	return *ret_new ? check_string(a, *ret_new, e) : err_sys(e, "%s", a->name);
}

/* *ret_new: what takes its place, or NULL. */
static int check_one(const struct op_arg *a, const struct value *v, struct value **ret_new,
		     struct err *e)
{
	char digits[24];
	int64_t n = 0;
	bool b = false;
	int r = 0;

	switch (a->type) {
	case ARG_STRING:
		if (a->flags & OR_INT && value_kind(v) == VALUE_INT) {
			(void)snprintf(digits, sizeof(digits), "%lld", (long long)value_int(v));
			*ret_new = value_of_str(digits);
			return 0;
		}
		return check_string(a, v, e);
	case ARG_CHOICE: return check_string(a, v, e);
	case ARG_DOCUMENT: return check_document(a, v, ret_new, e);
	case ARG_STRINGS: return check_words(a, v, e);
	case ARG_INTS: return check_ints(a, v, e);
	case ARG_MAP: return check_map(a, v, e);
	case ARG_PTY: return check_pty(a, v, e);
	case ARG_COMMAND: return check_command(a, v, e);
	case ARG_BOOL:
		r = check_bool(a, v, &b, e);
		*ret_new = value_of_bool(b);
		return r;
	case ARG_INT:
		r = check_int(a, v, &n, e);
		*ret_new = value_of_int(n);
		return r;
	case ARG_SIZE:
	case ARG_DURATION:
	case ARG_CPUS:
		r = check_amount(a, v, &n, e);
		*ret_new = value_of_int(n);
		return r;
	}
	return 0;
}

/* What others call the same. */
static const char *synonym(const struct op *op, const char *word)
{
	static const char *const same[] = {
		" cwd workdir working_dir working_directory directory dir ",
		" command cmd script shell ",
		" timeout_ms timeout time time_ms timeout_s ",
		" code source program text ",
		" language lang ",
		" lang language ",
		" path file filename file_path ",
		" content contents data body ",
		" old_text old_str old_string search ",
		" new_text new_str new_string replace ",
		" sandbox sandbox_id id name ",
		" workdir cwd working_dir working_directory ",
		" time timeout timeout_ms "};
	char sought[80];

	(void)snprintf(sought, sizeof(sought), " %.64s ", word);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		char name[32];

		if (!strstr(same[i], sought) || sscanf(same[i], " %31s", name) != 1)
			continue;
		for (unsigned k = 0; k < op->n_args; k++)
			if (strcmp(op->args[k].name, name) == 0)
				return op->args[k].name;
	}
	return NULL;
}

static int refuse_unknown(const struct op *op, const char *key, struct err *e)
{
	char all[480] = "";
	struct nearest near = NEAREST_INIT;
	size_t n = 0;

	for (unsigned i = 0; i < op->n_args; i++) {
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
				      op->args[i].name);
		n = n < sizeof(all) ? n : sizeof(all) - 1;
		nearest_try(&near, key, strlen(key), op->args[i].name);
	}
	(void)err_set(e, ERR_INVALID, "\"%.64s\" is not accepted by %s", key,
		      op->tool ? op->tool : op->name);
	(void)err_detail(e, "unknown");
	const char *meant = synonym(op, key);
	near.name = meant ? meant : near.name;
	if (near.name)
		return err_remedy(e, "Accepted: %s. Did you mean \"%s\"?", all, near.name);
	return err_remedy(e, "Accepted: %s.", *all ? all : "no argument");
}

int op_check(const struct op *op, struct value *args, struct err *e)
{
	for (const char *key = NULL; (key = value_next_key(args, key));) {
		const struct op_arg *a = find_arg(op, key);
		struct value *changed = NULL;

		if (!a)
			return refuse_unknown(op, key, e);
		if (value_kind(value_get(args, key)) == VALUE_NULL && !(a->flags & NEEDED))
			continue; /* as if it were not there */
		if (check_one(a, value_get(args, key), &changed, e) < 0) {
			value_free(changed);
			return -EINVAL;
		}
		if (changed)
			value_set(args, key, changed);
	}
	for (unsigned i = 0; i < op->n_args; i++) {
		const struct op_arg *a = &op->args[i];

		if (!(a->flags & NEEDED) || value_get(args, a->name))
			continue;
		(void)err_set(e, ERR_INVALID, "%s is missing", a->name);
		return err_remedy(e, "give %s: %s", a->name, a->help);
	}
	return 0;
}
