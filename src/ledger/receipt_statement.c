/* SPDX-License-Identifier: Apache-2.0 */
/* What a receipt says: the two events of a run, in the words of in-toto. */
#include <string.h>

#include "ledger/receipt.h"

static void add_subject(struct value *list, const char *name, const struct value *sha256)
{
	const char *text = value_str(sha256);

	if (!text)
		return;
	struct value *one = value_object(), *digest = value_object();
	value_set(digest, "sha256", value_of_str(text));
	value_set(one, "name", value_of_str(name));
	value_set(one, "digest", digest);
	value_add(list, one);
}

/* A list of an event, with the rows that are in events of their own. To be freed. */
static struct value *whole(const struct find_run *f, const struct value *event, const char *name)
{
	const struct value *first = value_get(value_get(event, "data"), name);
	const struct value *more = value_get(f->more, name);
	struct value *list = value_array();

	for (size_t i = 0; i < value_len(first); i++)
		value_add(list, value_copy(value_at(first, i)));
	for (size_t i = 0; i < value_len(more); i++)
		value_add(list, value_copy(value_at(more, i)));
	return list;
}

static struct value *subjects(const struct find_run *f, const struct receipt_ask *ask)
{
	const struct value *data = value_get(f->end.value, "data");
	auto_value *files = whole(f, f->end.value, "files");
	struct value *list = value_array();

	add_subject(list, "stdout", value_get(value_get(data, "stdout"), "sha256"));
	add_subject(list, "stderr", value_get(value_get(data, "stderr"), "sha256"));
	for (size_t i = 0; i < value_len(files); i++) {
		const struct value *one = value_at(files, i);
		const char *path = value_str(value_get(one, "path"));

		if (path)
			add_subject(list, path, value_get(one, "sha256"));
	}
	if (ask->snapshot) {
		auto_value *digest = value_of_str(ask->snapshot);

		add_subject(list, "snapshot", digest);
	}
	return list;
}

static struct value *copy_or_null(const struct value *v)
{
	return v ? value_copy(v) : value_of_null();
}

static void copy_all(struct value *to, const struct value *from)
{
	for (const char *key = value_next_key(from, NULL); key; key = value_next_key(from, key))
		value_set(to, key, value_copy(value_get(from, key)));
}

/* The end has a letter for each package: 1, it was used, 0, it was not, and others where nobody
 * knows. */
static struct value *packages(const struct find_run *f, const struct value *first)
{
	const char *letters = value_str(value_get(value_get(f->end.value, "data"), "imported"));
	struct value *list = whole(f, first, "packages");

	if (!letters || strlen(letters) != value_len(list))
		return list;
	for (size_t i = 0; letters[i]; i++)
		if (letters[i] == '0' || letters[i] == '1')
			value_set(value_at(list, i), "imported", value_of_bool(letters[i] == '1'));
	return list;
}

/* Whole, where the events have them in parts. */
static void set_lists(struct value *p, const struct find_run *f)
{
	static const struct {
		const char *name, *omitted;
	} of_end[] = {
		{"files", NULL},
		{"network", "network_omitted"},
		{"denials", "denials_omitted"},
	};

	/* One that was refused has no beginning, and says all in its end. */
	const struct value *first = f->begin.value ? f->begin.value : f->end.value;

	for (size_t i = 0; i < sizeof(of_end) / sizeof(*of_end); i++) {
		const char *name = of_end[i].name, *omitted = of_end[i].omitted;
		const struct value *more = value_get(f->more, name);

		if (!more)
			continue;
		value_set(p, name, whole(f, f->end.value, name));
		int64_t left =
			value_int(value_get(p, omitted ? omitted : "")) - (int64_t)value_len(more);
		if (omitted && left > 0)
			value_set(p, omitted, value_of_int(left));
		else if (omitted)
			value_del(p, omitted);
	}
	value_set(p, "dependencies", packages(f, first));
	value_set(p, "command", whole(f, first, "command"));
	value_set(p, "environment", whole(f, first, "environment"));
	value_del(p, "packages");
	value_del(p, "imported");
	value_del(p, "packages_omitted");
	value_del(p, "command_omitted");
	value_del(p, "environment_omitted");
}

/* What is not there is said not to be. */
static void set_missing(struct value *p)
{
	static const char *const maybe[] = {"policy",	    "code_sha256",     "image",
					    "image_digest", "host_layer",      "stdin",
					    "snapshot",	    "snapshot_before", "snapshot_sha256"};

	for (size_t i = 0; i < sizeof(maybe) / sizeof(*maybe); i++)
		if (!value_get(p, maybe[i]))
			value_set(p, maybe[i], value_of_null());
	if (!value_get(p, "network"))
		value_set(p, "network", value_array());
}

struct value *receipt_statement(const struct find_run *f, const struct receipt_ask *ask,
				struct value *ledger)
{
	static const char *const top[] = {"run", "sandbox", "workspace", "who", "tenant"};
	const struct value *begin = f->begin.value, *end = f->end.value;
	struct value *s = value_object(), *p = value_object();

	for (size_t i = 0; i < sizeof(top) / sizeof(*top); i++)
		value_set(p, top[i], copy_or_null(value_get(end, top[i])));
	copy_all(p, value_get(begin, "data"));
	copy_all(p, value_get(end, "data"));
	value_set(p, "started", copy_or_null(value_get(begin, "time")));
	value_set(p, "ended", copy_or_null(value_get(end, "time")));
	set_lists(p, f);
	if (ask->snapshot)
		value_set(p, "snapshot_sha256", value_of_str(ask->snapshot));
	if (ask->why_no_snapshot)
		value_set(p, "snapshot_why", value_of_str(ask->why_no_snapshot));
	set_missing(p);
	value_set(p, "ledger", ledger);
	value_set(s, "_type", value_of_str("https://in-toto.io/Statement/v1"));
	value_set(s, "subject", subjects(f, ask));
	value_set(s, "predicateType", value_of_str(RECEIPT_PREDICATE));
	value_set(s, "predicate", p);
	return s;
}
