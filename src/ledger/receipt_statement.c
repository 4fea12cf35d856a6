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

static struct value *subjects(const struct value *end)
{
	const struct value *data = value_get(end, "data"), *files = value_get(data, "files");
	struct value *list = value_array();

	add_subject(list, "stdout", value_get(value_get(data, "stdout"), "sha256"));
	add_subject(list, "stderr", value_get(value_get(data, "stderr"), "sha256"));
	for (size_t i = 0; i < value_len(files); i++) {
		const struct value *f = value_at(files, i);
		const char *path = value_str(value_get(f, "path"));

		if (path)
			add_subject(list, path, value_get(f, "sha256"));
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

struct value *receipt_statement(const struct find_run *f, struct value *ledger)
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
	value_set(p, "dependencies", value_array());
	if (!value_get(p, "policy"))
		value_set(p, "policy", value_of_null());
	value_set(p, "hardware", value_of_str("none"));
	value_set(p, "ledger", ledger);
	value_set(s, "_type", value_of_str("https://in-toto.io/Statement/v1"));
	value_set(s, "subject", subjects(end));
	value_set(s, "predicateType", value_of_str(RECEIPT_PREDICATE));
	value_set(s, "predicate", p);
	return s;
}
