/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define WORDS_MAX 128u /* bytes of interpreter and platform */
#define ASKED_BYTES_MAX 512u
#define LINK_SIZE 64u
#define FORMAT 1

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";

const char *lock_part_name(enum deps_lang lang)
{
	static const char *const names[] = {
		[DEPS_PYTHON] = "python", [DEPS_NODE] = "node", [DEPS_R] = "r", [DEPS_APT] = "apt"};

	return names[lang];
}

size_t lock_count(const struct value *part)
{
	return value_len(value_get(part, "packages"));
}

struct lock_package lock_at(const struct value *part, size_t i)
{
	const struct value *p = value_at(value_get(part, "packages"), i);

	return (struct lock_package){
		.name = value_str(value_get(p, "name")),
		.version = value_str(value_get(p, "version")),
		.file = value_str(value_get(p, "file")),
		.sha256 = value_str(value_get(p, "sha256")),
		.path = value_str(value_get(p, "path")),
	};
}

/* Characters that mean nothing to a shell, a path, or a command line; none in front that would. */
static bool is_plain(const char *s, size_t len, size_t size, const char *more)
{
	if (!s || len == 0 || len >= size || strlen(s) != len || strchr(".-+", s[0]))
		return false;
	for (; *s; s++)
		if (!strchr(plain, *s) && !strchr(more, *s))
			return false;
	return true;
}

static bool is_plain_value(const struct value *v, size_t size, const char *more)
{
	return is_plain(value_str(v), value_len(v), size, more);
}

static bool is_hash(const char *s)
{
	return s && strlen(s) == HASH_TEXT_SIZE - 1 &&
	       strspn(s, "0123456789abcdef") == HASH_TEXT_SIZE - 1;
}

/* a, or a/node_modules/@b/c: names, with that between them, and nothing else. */
static bool is_place(const struct value *v)
{
	static const char between[] = "/node_modules/";
	const char *at = value_str(v);
	char name[DEPS_NAME_SIZE];

	if (!at || value_len(v) >= LOCK_PATH_SIZE || strlen(at) != value_len(v))
		return false;
	for (;;) {
		const char *end = strstr(at, between);
		size_t n = end ? (size_t)(end - at) : strlen(at);

		(void)snprintf(name, sizeof(name), "%.*s", (int)(n < 214 ? n : 214), at);
		if (strlen(name) != n || !deps_is_name(DEPS_NODE, name))
			return false;
		if (!end)
			return true;
		at = end + strlen(between);
	}
}

static int check_package(enum deps_lang lang, const struct value *p, struct err *e)
{
	const char *name = value_str(value_get(p, "name"));

	if (!is_plain_value(value_get(p, "name"), DEPS_NAME_SIZE, lang == DEPS_NODE ? "@/" : ""))
		return err_set(e, ERR_INVALID, "the lock names a package that is none");
	if (!is_plain_value(value_get(p, "version"), LOCK_VERSION_SIZE, "!~:"))
		return err_set(e, ERR_INVALID, "%s: the lock has no version of it", name);
	if (!is_plain_value(value_get(p, "file"), LOCK_FILE_SIZE, "!~"))
		return err_set(e, ERR_INVALID, "%s: the lock has no file of it", name);
	if (!is_hash(value_str(value_get(p, "sha256"))))
		return err_set(e, ERR_INVALID, "%s: the lock has no hash of it", name);
	if (lang == DEPS_NODE && !is_place(value_get(p, "path")))
		return err_set(e, ERR_INVALID, "%s: the lock does not say where it belongs", name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;
	int r = strcmp(value_str(value_get(x, "name")), value_str(value_get(y, "name")));
	const char *at_x = value_str(value_get(x, "path")), *at_y = value_str(value_get(y, "path"));

	/* npm has several of one name, in different places. */
	if (r == 0 && at_x && at_y)
		r = strcmp(at_x, at_y);
	return r ? r : strcmp(value_str(value_get(x, "sha256")), value_str(value_get(y, "sha256")));
}

static int sort(struct value *part, struct err *e)
{
	const struct value *old = value_get(part, "packages");
	size_t n = value_len(old);
	auto_free struct value **all = calloc(n + 1, sizeof(*all));
	struct value *list = value_array();

	if (!all || !list) {
		value_free(list);
		return err_sys(e, "lock");
	}
	for (size_t i = 0; i < n; i++)
		all[i] = value_share(value_at(old, i));
	qsort(all, n, sizeof(struct value *), by_name);
	for (size_t i = 0; i < n; i++)
		value_add(list, all[i]);
	value_set(part, "packages", list);
	return 0;
}

int lock_check_part(enum deps_lang lang, struct value *part, struct err *e)
{
	const struct value *list = value_get(part, "packages"), *asked = value_get(part, "asked");

	if (value_kind(part) != VALUE_OBJECT || value_kind(list) != VALUE_ARRAY ||
	    !is_plain_value(value_get(part, "interpreter"), WORDS_MAX, " /") ||
	    !is_plain_value(value_get(part, "platform"), WORDS_MAX, " /"))
		return err_set(e, ERR_INVALID,
			       "the lock does not say for what interpreter and platform it is");
	if (value_len(list) > LOCK_PACKAGES_MAX || value_len(asked) > LOCK_PACKAGES_MAX)
		return err_set(e, ERR_LIMIT, "the lock has more than %u packages",
			       LOCK_PACKAGES_MAX);
	for (size_t i = 0; i < value_len(list); i++)
		if (check_package(lang, value_at(list, i), e) < 0)
			return -EINVAL;
	for (size_t i = 0; i < value_len(asked); i++)
		if (!value_str(value_at(asked, i)) ||
		    value_len(value_at(asked, i)) > ASKED_BYTES_MAX)
			return err_set(e, ERR_INVALID, "the lock does not say who asked for it");
	return sort(part, e);
}

static bool is_link(const struct value *v)
{
	static const char *const tops[] = {"etc/", "var/lib/", "opt/"};
	static const char *const ours[] = {"passwd",	  "group",	    "shadow",
					   "gshadow",	  "hosts",	    "hostname",
					   "resolv.conf", "nsswitch.conf",  "ssl",
					   "localtime",	  "pinfold-ca.pem", "pinfold-certs.pem"};
	const char *text = value_str(v);

	if (!text || strlen(text) != value_len(v))
		return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strncmp(text, "etc/", 4) == 0 && strcmp(text + 4, ours[i]) == 0)
			return false;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		size_t n = strlen(tops[i]);

		if (strncmp(text, tops[i], n) == 0)
			return is_plain(text + n, strlen(text + n), LINK_SIZE, "");
	}
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int lock_check_links(const struct value *links, struct err *e)
{
	const char *all[LOCK_LINKS_MAX];
	size_t n = value_len(links);

	if (value_kind(links) != VALUE_ARRAY || n > LOCK_LINKS_MAX)
		return err_set(e, ERR_LIMIT, "the packages have more than %u names outside /usr",
			       LOCK_LINKS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!is_link(value_at(links, i)))
			return err_set(
				e, ERR_DENIED,
				"the packages have a name outside /usr that is not for them");
		all[i] = value_str(value_at(links, i));
	}
	qsort(all, n, sizeof(all[0]), by_text);
	for (size_t i = 1; i < n; i++)
		if (strcmp(all[i - 1], all[i]) == 0)
			return err_set(e, ERR_INVALID, "the packages have a name twice: %s",
				       all[i]);
	return 0;
}

/* Below /usr, and nothing that leads out of it. */
static bool is_module(const struct value *v)
{
	const char *path = value_str(v);

	return path && *path && *path != '/' && strlen(path) == value_len(v) &&
	       value_len(v) < LOCK_PATH_SIZE && !strstr(path, "..");
}

int lock_check_modules(const struct value *part, const struct value *modules, struct err *e)
{
	size_t n = value_len(modules);

	if (value_kind(modules) != VALUE_ARRAY || n != lock_count(part))
		return err_set(e, ERR_INVALID, "the driver does not know what it installed");
	for (size_t i = 0; i < n; i++) {
		const struct value *files = value_at(modules, i);

		if (value_kind(files) != VALUE_ARRAY || value_len(files) > LOCK_MODULES_MAX)
			return err_set(e, ERR_LIMIT, "a package has more than %u modules",
				       LOCK_MODULES_MAX);
		for (size_t k = 0; k < value_len(files); k++)
			if (!is_module(value_at(files, k)))
				return err_set(e, ERR_INVALID, "a package has a strange module");
	}
	return 0;
}

int lock_check_contents(const struct value *part, const struct value *contents, struct err *e)
{
	size_t n = value_len(contents);
	bool good = value_kind(contents) == VALUE_ARRAY && n == lock_count(part);

	for (size_t i = 0; good && i < n; i++)
		good = value_kind(value_at(contents, i)) == VALUE_NULL ||
		       is_hash(value_str(value_at(contents, i)));
	return good ? 0 : err_set(e, ERR_INVALID, "the driver does not know what it installed");
}

int lock_parse(const char *text, size_t len, struct value **ret, struct err *e)
{
	auto_value *lock = NULL;
	int r = 0;

	if (len > LOCK_BYTES_MAX)
		return err_set(e, ERR_LIMIT, LOCK_NAME " is larger than %u bytes", LOCK_BYTES_MAX);
	if (value_parse(text, len, &lock, e) < 0) {
		(void)err_wrap(e, LOCK_NAME);
		return err_remedy(e, "remove it, or make it anew with pinfold deps add");
	}
	if (value_int(value_get(lock, "version")) != FORMAT) {
		(void)err_set(e, ERR_UNSUPPORTED, LOCK_NAME ": not a lock of version %d", FORMAT);
		return err_remedy(e, "make it anew with pinfold deps update");
	}
	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS && r >= 0; lang++) {
		struct value *part = value_get(lock, lock_part_name(lang));

		if (part)
			r = lock_check_part(lang, part, e);
	}
	if (r < 0) {
		(void)err_wrap(e, LOCK_NAME);
		return err_remedy(e, "remove it, or make it anew with pinfold deps add");
	}
	*ret = take_ptr(&lock);
	return 0;
}

static void put_part(FILE *f, const char *name, const struct value *part)
{
	const struct value *list = value_get(part, "packages");
	const char *comma = "";

	(void)fprintf(f, ",\n \"%s\": {", name);
	for (const char *k = value_next_key(part, NULL); k; k = value_next_key(part, k)) {
		auto_free char *text = value_text(value_get(part, k), NULL);

		if (strcmp(k, "packages") == 0)
			continue;
		(void)fprintf(f, "%s\n  \"%s\": %s", comma, k, text ? text : "null");
		comma = ",";
	}
	(void)fprintf(f, "%s\n  \"packages\": [", comma);
	for (size_t i = 0; i < value_len(list); i++) {
		auto_free char *text = value_text(value_at(list, i), NULL);

		(void)fprintf(f, "%s\n   %s", i ? "," : "", text ? text : "null");
	}
	(void)fprintf(f, "]}");
}

char *lock_text(const struct value *lock)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	(void)fprintf(f, "{\"version\": %d", FORMAT);
	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));

		if (part)
			put_part(f, lock_part_name(lang), part);
	}
	(void)fprintf(f, "}\n");
	if (fclose(f) != 0)
		free_ptr(&text);
	return text;
}

static void add(struct hash *h, const char *word)
{
	hash_add(h, word, strlen(word) + 1);
}

void lock_key(enum deps_lang lang, const struct value *part, char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	add(&h, "pinfold packages 1");
	add(&h, lock_part_name(lang));
	add(&h, value_str(value_get(part, "interpreter")));
	add(&h, value_str(value_get(part, "platform")));
	for (size_t i = 0; i < lock_count(part); i++) {
		struct lock_package p = lock_at(part, i);

		assert(p.name && p.version && p.sha256);
		add(&h, p.name);
		add(&h, p.version);
		add(&h, p.sha256);
		if (p.path)
			add(&h, p.path);
	}
	hash_done(&h, digest);
	hash_text(digest, ret);
}
