/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages that have to be executed to be had: node's with install scripts, Python's that are
 * source. That is done in sandboxes with the index's network and no secret, each for nothing else,
 * and what comes out is locked by its hash.
 *
 * pip executes sources already when it asks what they need. So what it says of versions and hashes
 * is looked up once more, in a sandbox where nothing of a package ran, before it is believed; and
 * each is built in a sandbox of its own, so that none can change what becomes of another.
 */
#include <string.h>

#include "base/fd.h"
#include "deps/lock.h"
#include "engine/deps_layer_int.h"

static bool has_scripts(const struct value *part)
{
	const struct value *list = value_get(part, "packages");

	for (size_t i = 0; i < value_len(list); i++)
		if (value_true(value_get(value_at(list, i), "scripts")))
			return true;
	return false;
}

/* The package that this is about. One that has no scripts cannot be changed by them. */
static struct value *built_of(const struct value *part, const struct value *made)
{
	const struct value *list = value_get(part, "packages");
	const char *path = value_str(value_get(made, "path"));

	for (size_t i = 0; path && i < value_len(list); i++) {
		struct value *p = value_at(list, i);
		const char *its = value_str(value_get(p, "path"));

		if (its && strcmp(its, path) == 0)
			return value_true(value_get(p, "scripts")) ? p : NULL;
	}
	return NULL;
}

/* What scripts made of a package is another file; the lock has both. */
static int take_built(enum deps_lang lang, struct box *b, struct value *part, struct err *e)
{
	static const char *const keys[] = {"file", "sha256", "size"};
	auto_value *doc = NULL;
	struct box_frame f;
	int r = box_next(b, &f, e);

	if (r >= 0 && f.kind == 'J')
		r = box_read_doc(b, &f, &doc, e);
	if (r < 0)
		return r;
	const struct value *list = value_get(doc, "built");
	for (size_t i = 0; i < value_len(list); i++) {
		const struct value *made = value_at(list, i);
		struct value *p = built_of(part, made);

		if (!p)
			return err_set(e, ERR_CONFLICT,
				       "install scripts changed a package that has none");
		value_set(p, "source", value_copy(value_get(p, "file")));
		value_set(p, "source_sha256", value_copy(value_get(p, "sha256")));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			value_set(p, keys[k], value_copy(value_get(made, keys[k])));
	}
	return lock_check_part(lang, part, e);
}

/* In a sandbox of their own, after hashes and names were taken from one where no script ran: what
 * they do there changes nothing but the packages that have them. */
static int run_scripts(struct store *s, enum deps_lang lang, const struct deps_index *index,
		       struct value *part, struct err *e)
{
	auto_value *ask = layer_question("build", index);
	struct box b = {.run = NULL};

	value_set(ask, "packages", value_copy(value_get(part, "packages")));
	int r = layer_start(lang, index->policy, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	if (r >= 0)
		r = layer_give(s, lang, &b, part, e);
	box_said(&b);
	if (r >= 0)
		r = take_built(lang, &b, part, e);
	if (r >= 0)
		r = layer_take(s, &b, part, e);
	return box_end(&b, r, e);
}

static bool is_source(const char *file)
{
	size_t n = strlen(file);

	return n < 4 || strcmp(file + n - 4, ".whl") != 0;
}

/* Are the files that pip names those that the index has? */
static int look_again(enum deps_lang lang, const struct deps_index *index,
		      const struct deps_want *want, const struct value *part, struct err *e)
{
	auto_value *ask = layer_question("check", index);
	struct box b = {.run = NULL};
	struct box_frame f;

	value_set(ask, "packages", value_copy(value_get(part, "packages")));
	value_set(ask, "age_hours", value_of_int(want->age_hours));
	int r = layer_start(lang, index->policy, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	box_said(&b);
	if (r >= 0)
		r = box_next(&b, &f, e);
	if (r >= 0 && f.kind != 'D')
		r = err_set(e, ERR_INTERNAL, "the driver says what nobody asked");
	return box_end(&b, r, e);
}

/* The wheel that was made of a source; the lock has both. */
static int take_wheel(struct box *b, struct value *package, struct err *e)
{
	static const char *const keys[] = {"file", "sha256", "size"};
	auto_value *made = NULL;
	struct box_frame f;
	int r = box_next(b, &f, e);

	if (r >= 0)
		r = f.kind == 'J'
			    ? box_read_doc(b, &f, &made, e)
			    : err_set(e, ERR_INTERNAL, "the driver does not say what it made");
	if (r < 0)
		return r;
	value_set(package, "source", value_copy(value_get(package, "file")));
	value_set(package, "source_sha256", value_copy(value_get(package, "sha256")));
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		value_set(package, keys[k], value_copy(value_get(made, keys[k])));
	return 0;
}

/* The part with this package alone, which it shares. To be freed. */
static struct value *only(const struct value *part, struct value *package)
{
	struct value *one = value_object(), *list = value_array();
	static const char *const keys[] = {"interpreter", "platform"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		value_set(one, keys[i], value_copy(value_get(part, keys[i])));
	value_add(list, value_share(package));
	value_set(one, "packages", list);
	return one;
}

static int build_one(struct store *s, enum deps_lang lang, const struct deps_index *index,
		     struct value *one, struct err *e)
{
	auto_value *ask = layer_question("build", index);
	const struct value *list = value_get(one, "packages");
	struct box b = {.run = NULL};

	value_set(ask, "packages", value_copy(list));
	int r = layer_start(lang, index->policy, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	if (r >= 0)
		r = layer_give(s, lang, &b, one, e);
	box_said(&b);
	if (r >= 0)
		r = take_wheel(&b, value_at(list, 0), e);
	if (r >= 0)
		r = lock_check_part(lang, one, e);
	if (r >= 0)
		r = layer_take(s, &b, one, e);
	return box_end(&b, r, e);
}

static int build_sources(struct store *s, enum deps_lang lang, const struct deps_index *index,
			 const struct deps_want *want, struct value *part, struct err *e)
{
	int r = look_again(lang, index, want, part, e);

	for (size_t i = 0; r >= 0 && i < lock_count(part); i++) {
		auto_value *one = only(part, value_at(value_get(part, "packages"), i));

		if (is_source(lock_at(part, i).file))
			r = build_one(s, lang, index, one, e);
	}
	return r;
}

int layer_build(struct store *s, enum deps_lang lang, const struct deps_index *index,
		const struct deps_want *want, struct value *part, struct err *e)
{
	if (lang == DEPS_PYTHON)
		return build_sources(s, lang, index, want, part, e);
	return has_scripts(part) ? run_scripts(s, lang, index, part, e) : 0;
}
