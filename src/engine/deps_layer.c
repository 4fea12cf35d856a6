/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_layer_int.h"

#include <fcntl.h>
#include <pinfold/deps.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/stats.h"
#include "base/fd.h"
#include "base/hold.h"
#include "deps/lock.h"
#include "engine/deps_donor.h"
#include "engine/deps_kind.h"
#include "engine/reader.h"
#include "store/blob.h"
#include "tree/answer.h"

#define FILE_BYTES_MAX (4ull << 30)
#define LAYER_BYTES (16ull << 30)
#define LAYER_ENTRIES (1ull << 20)
#define PUMP_BYTES (256u << 10)
#define SMALL_BYTES (128ll << 20) /* of all archives, which may be eight times as much unpacked */
#define FETCH_REMEDY "fetch it where there is a network: pinfold deps fetch"

static atomic_bool unsettled;

int pinfold_deps_unsettled(void)
{
	return unsettled;
}

static int start_with(struct box_ask ask, enum deps_lang lang, struct box *ret, struct err *e)
{
	const struct deps_kind *kind = deps_kind(lang);
	int r = deps_kind_check(lang, e);

	ask.lang = kind->driver_lang;
	ask.driver = kind->driver;
	if (kind->as_root) {
		ask.user = geteuid() == 0 ? "root" : NULL;
		ask.host = ask.policy ? HOST_SOURCES : HOST_PACKAGES;
	}
	return r < 0 ? r : box_start(&ask, ret, e);
}

/* One that asks the index. */
int layer_start(enum deps_lang lang, const char *policy, struct box *ret, struct err *e)
{
	return start_with((struct box_ask){.policy = policy}, lang, ret, e);
}

int layer_start_on(enum deps_lang lang, const struct store *s, uint32_t layer, struct box *ret,
		   struct err *e)
{
	struct box_ask ask = {.store = s, .ground = layer, .is_bare = true, .is_small = true};

	return start_with(ask, lang, ret, e);
}

/* Making a volume takes longer than fetching or unpacking a few packages. The distribution's and R's are built. */
static bool is_small(enum deps_lang lang, const struct value *part)
{
	const struct value *list = value_get(part, "packages");
	int64_t all = 0;

	if (lang != DEPS_PYTHON && lang != DEPS_NODE)
		return false;
	for (size_t i = 0; i < value_len(list) && all <= SMALL_BYTES; i++) {
		int64_t bytes = value_int(value_get(value_at(list, i), "size"));

		all = bytes <= 0 || bytes > SMALL_BYTES ? SMALL_BYTES + 1 : all + bytes;
	}
	return all <= SMALL_BYTES;
}

/* Is it the hash of a file that this part has? */
static bool has_file(const struct value *part, const char *sha256)
{
	for (size_t i = 0; i < lock_count(part); i++)
		if (strcmp(lock_at(part, i).sha256, sha256) == 0)
			return true;
	return false;
}

/* A file out of a sandbox goes to the cache if it is one of those, and what its hash says. */
static int take_file(struct store *s, struct box *b, const struct box_frame *f,
		     const struct value *part, struct err *e)
{
	auto_free char *buf = malloc(PUMP_BYTES);
	char sha256[HASH_TEXT_SIZE] = "";
	struct blob blob;

	if (!buf)
		return err_sys(e, "deps");
	if (f->len < HASH_TEXT_SIZE - 1 || f->len > FILE_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "a file of the index is larger than 4 GiB");
	if (box_read(b, sha256, HASH_TEXT_SIZE - 1, e) < 0)
		return -EIO;
	if (!has_file(part, sha256))
		return err_set(e, ERR_CONFLICT, "the index gave a file that nobody asked for");
	int r = blob_begin(s, &blob, e);
	for (uint64_t left = f->len - (HASH_TEXT_SIZE - 1); r >= 0 && left > 0;) {
		size_t n = left < PUMP_BYTES ? (size_t)left : PUMP_BYTES;

		r = box_read(b, buf, n, e);
		if (r >= 0)
			r = blob_add(&blob, buf, n, e);
		left -= n;
	}
	if (r >= 0)
		return blob_keep(&blob, sha256, e);
	blob_end(&blob);
	return r;
}

int layer_take(struct store *s, struct box *b, const struct value *part, struct err *e)
{
	for (;;) {
		struct box_frame f;
		int r = box_next(b, &f, e);

		if (r < 0 || f.kind == 'D')
			return r;
		r = f.kind == 'F' ? take_file(s, b, &f, part, e)
				  : err_set(e, ERR_INTERNAL, "the driver says what nobody asked");
		if (r < 0)
			return r;
	}
}

struct value *layer_question(const char *mode, const struct deps_index *index)
{
	struct value *v = value_object();

	value_set(v, "mode", value_of_str(mode));
	if (index)
		value_set(v, "index", value_copy(index->doc));
	return v;
}

static int take_part(enum deps_lang lang, struct box *b, const struct value *asked,
		     struct value **ret, struct err *e)
{
	struct box_frame f;
	int r = box_next(b, &f, e);

	if (r >= 0 && f.kind != 'J')
		r = err_set(e, ERR_INTERNAL, "the driver does not say what it found");
	if (r >= 0)
		r = box_read_doc(b, &f, ret, e);
	if (r < 0)
		return r;
	value_set(*ret, "asked", value_copy(asked));
	return lock_check_part(lang, *ret, e);
}

static int refuse_offline(const struct value *missing, struct err *e)
{
	struct lock_package p = lock_at(missing, 0);

	(void)err_set(e, ERR_MISSING, "%s %s is not in the cache%s", p.name, p.version,
		      lock_count(missing) > 1 ? ", nor are others" : "");
	(void)err_detail(e, "package");
	return err_remedy(e, FETCH_REMEDY);
}

/* An index that is down is no reason to look at it, where a cache that was full would do. */
static int name_missing(const struct value *missing, int r, struct err *e)
{
	struct lock_package p = lock_at(missing, 0);

	if (e->kind != ERR_TIMEOUT)
		return r;
	e->remedy[0] = '\0';
	(void)err_remedy(e, FETCH_REMEDY);
	(void)err_wrap(e, "%s %s is not in the cache%s", p.name, p.version,
		       lock_count(missing) > 1 ? ", nor are others" : "");
	return r;
}

/* What of the part is neither in the cache nor in a layer, as a part. */
static struct value *missing_of(struct store *s, enum deps_lang lang, const struct value *part)
{
	struct value *v = value_object(), *list = value_array();
	const struct value *all = value_get(part, "packages");

	value_set(v, "packages", list);
	for (size_t i = 0; i < value_len(all); i++)
		if (!blob_is_there(s, lock_at(part, i).sha256) && !donor_has(s, lang, part, i))
			value_add(list, value_copy(value_at(all, i)));
	return v;
}

int deps_fetch(struct store *s, enum deps_lang lang, const struct value *part, bool offline,
	       struct err *e)
{
	auto_value *missing = missing_of(s, lang, part), *ask = NULL;
	auto_index index = {.doc = NULL};
	struct box b = {.run = NULL};
	sigset_t before;

	if (lock_count(missing) == 0)
		return 0;
	if (offline)
		return refuse_offline(missing, e);
	int r = deps_index_find(lang, &index, e);
	if (r < 0)
		return r;
	ask = layer_question("fetch", &index);
	value_set(ask, "packages", value_copy(value_get(missing, "packages")));
	struct box_ask how = {.policy = index.policy, .is_small = is_small(lang, missing)};
	reader_hush(&before);
	r = start_with(how, lang, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	box_said(&b);
	if (r >= 0)
		r = layer_take(s, &b, missing, e);
	r = box_end(&b, r, e);
	reader_unhush(&before);
	if (r < 0)
		return name_missing(missing, r, e);
	value_free_ptr(&missing);
	missing = missing_of(s, lang, part);
	return lock_count(missing) ? refuse_offline(missing, e) : 0;
}

/* A file of the cache; else one that is made of a layer. */
static int give_one(struct store *s, enum deps_lang lang, struct box *b, const struct value *part,
		    size_t i, struct err *e)
{
	struct lock_package p = lock_at(part, i);
	auto_close int fd = FD_NONE;
	uint64_t bytes = 0;
	int r = blob_open(s, p.sha256, &fd, &bytes, e);

	if (r > 0)
		return box_give(b, p.sha256, fd, bytes, e);
	if (r == 0)
		r = donor_restore(s, lang, part, i, &fd, &bytes, e);
	if (r > 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = err_sys(e, "deps");
	if (r > 0)
		return box_give_for(b, p.sha256, fd, bytes, e);
	if (r == 0) {
		r = err_set(e, ERR_MISSING, "%s %s is not in the cache", p.name, p.version);
		(void)err_detail(e, "package");
		(void)err_remedy(e, FETCH_REMEDY);
	}
	return r;
}

/* One that is not what it was is forgotten, to be fetched again. */
int layer_give(struct store *s, enum deps_lang lang, struct box *b, const struct value *part,
	       struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < lock_count(part) && r >= 0; i++) {
		struct lock_package p = lock_at(part, i);

		r = give_one(s, lang, b, part, i, e);
		if (r == -EEXIST || (r < 0 && e->kind == ERR_CONFLICT)) {
			blob_drop(s, p.sha256);
			(void)err_detail(e, "cache");
			(void)err_wrap(e, "%s %s", p.name, p.version);
			return err_remedy(e, "it was removed; run again to fetch it anew");
		}
	}
	return r;
}

/* The same question to the same index, as a hash. */
static void print_question(enum deps_lang lang, const struct value *ask, char ret[HASH_TEXT_SIZE])
{
	static const char kind[] = "pinfold resolve 1";
	auto_free char *text = value_text(ask, NULL);
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, kind, sizeof(kind));
	hash_add(&h, &lang, sizeof(lang));
	hash_add(&h, text ? text : "", text ? strlen(text) : 0);
	hash_done(&h, digest);
	hash_text(digest, ret);
}

static void remember(struct store *s, const char *print, const struct value *part)
{
	auto_free char *text = value_text(part, NULL);
	struct err none = ERR_INIT; /* without it the index is needed the next time */

	if (text)
		(void)depset_remember(s, print, text, &none);
}

/* Of an index that does not answer now: what it said before. `e` stays what it is where there is
 * nothing. */
static int recall(struct store *s, enum deps_lang lang, const char *print, int failed,
		  struct value **ret, struct err *e)
{
	struct err none = ERR_INIT;
	auto_free char *text = NULL;
	auto_value *part = NULL;

	if (e->kind != ERR_TIMEOUT || strcmp(e->detail, "index") != 0 ||
	    depset_recall(s, print, &text, &none) <= 0 ||
	    value_parse(text, strlen(text), &part, &none) < 0 ||
	    lock_check_part(lang, part, &none) < 0)
		return failed;
	*e = none;
	*ret = take_ptr(&part);
	return 0;
}

/* A name that the index does not have may be a word that somebody knew less well. */
static void name_nearest(enum deps_lang lang, struct err *e)
{
	static const char begin[] = "the index has no package ";
	const char *at = strstr(e->text, begin);
	char name[DEPS_NAME_SIZE];

	if (e->kind != ERR_MISSING || strcmp(e->detail, "package") != 0 || !at)
		return;
	at += strlen(begin);
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ", "), at);
	const char *near = deps_is_name(lang, name) ? deps_nearest(lang, name) : NULL;
	if (near) {
		e->remedy[0] = '\0';
		(void)err_remedy(e, "look at the name; is %s meant?", near);
	}
}

int deps_resolve(struct store *s, enum deps_lang lang, const struct deps_want *want,
		 struct value **ret, struct err *e)
{
	const struct value *old = value_get(want->part, "packages");
	auto_index index = {.doc = NULL};
	auto_value *ask = NULL, *part = NULL;
	struct box b = {.run = NULL};
	char print[HASH_TEXT_SIZE];
	sigset_t before;
	int r = deps_kind_check(lang, e);

	if (r >= 0)
		r = deps_index_find(lang, &index, e);
	if (r < 0)
		return r;
	ask = layer_question("resolve", &index);
	value_set(ask, "asked", value_copy(want->asked));
	value_set(ask, "locked", old ? value_copy(old) : value_array());
	value_set(ask, "given", want->given ? value_copy(want->given) : value_of_null());
	value_set(ask, "source", value_of_bool(want->source));
	value_set(ask, "age_hours", value_of_int(HOLD_PACKAGE_AGE ? want->age_hours : 0));
	print_question(lang, ask, print);
	reader_hush(&before);
	r = layer_start(lang, index.policy, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	box_said(&b);
	if (r >= 0)
		r = take_part(lang, &b, want->asked, &part, e);
	if (r >= 0)
		r = layer_take(s, &b, part, e);
	r = box_end(&b, r, e);
	if (r >= 0 && want->source)
		r = layer_build(s, lang, &index, want, part, e);
	reader_unhush(&before);
	if (r < 0)
		name_nearest(lang, e);
	if (r < 0)
		return want->recalls ? recall(s, lang, print, r, ret, e) : r;
	remember(s, print, part);
	*ret = take_ptr(&part);
	return r;
}

/* The archive that the driver makes goes to the reader as it comes; nobody here looks into it. */
static int pass_on(struct box *b, int to, struct value **ret_more, struct err *e)
{
	auto_free char *buf = malloc(PUMP_BYTES);

	if (!buf)
		return err_sys(e, "deps");
	for (;;) {
		struct box_frame f;
		int r = box_next(b, &f, e);

		if (r < 0 || f.kind == 'D')
			return r;
		if (f.kind == 'J' && !*ret_more) {
			r = box_read_doc(b, &f, ret_more, e);
			if (r < 0)
				return r;
			continue;
		}
		if (f.kind != 'T')
			return err_set(e, ERR_INTERNAL, "the driver says what nobody asked");
		for (uint64_t left = f.len; left > 0;) {
			size_t n = left < PUMP_BYTES ? (size_t)left : PUMP_BYTES;

			r = box_read(b, buf, n, e);
			if (r < 0)
				return r;
			left -= n;
			/* A reader that wants no more says why. */
			r = fd_write_all(to, buf, n);
			if (r == -EPIPE || r == -ECONNRESET)
				return 0;
			if (r < 0) {
				errno = -r;
				return err_sys(e, "deps");
			}
		}
	}
}

/* The reader that makes the part usr of the layer of what it is fed. */
static int start_plant(struct making *m, struct reader *ret, struct err *e)
{
	char bytes[24], entries[24];
	const char *argv[] = {"import",	   "--owners", "--bytes",    bytes,
			      "--entries", entries,    "/v/out/usr", NULL};
	struct reader_ask ask = {.argv = argv, .peek = PEEK_COPY, .out = m->number, .fed = true};

	(void)snprintf(bytes, sizeof(bytes), "%llu", LAYER_BYTES);
	(void)snprintf(entries, sizeof(entries), "%llu", LAYER_ENTRIES);
	if (geteuid() != 0) {
		argv[1] = argv[0]; /* one id is all that he has */
		ask.argv = argv + 1;
	}
	return reader_look(m->store, &ask, ret, e);
}

/* What comes out of `b` is what it is fed. */
static int plant(struct box *b, struct reader *r, struct depset *set, struct value **ret_more,
		 struct err *e)
{
	union tree_answer answer = {0};
	struct err theirs = ERR_INIT;
	struct archive_stats stats;
	int k = pass_on(b, r->in, ret_more, e);

	fd_close(&r->in);
	if (k >= 0 && tree_answer_read(r->out, &answer, &theirs) < 0) {
		*e = theirs;
		k = -EINVAL;
	}
	if (k >= 0) {
		memcpy(&stats, answer.values, sizeof(stats));
		set->files = stats.files + stats.dirs + stats.symlinks + stats.links;
		set->bytes = stats.bytes;
	}
	return k;
}

/* What is written down of a layer: the part, which names outside /usr lead into it, which files
 * tell that a package is used, and what became of it (deps_donor.h). */
static int describe(const struct value *part, const struct value *more, struct depset *set,
		    struct err *e)
{
	const struct value *links = value_get(more, "links"), *modules = value_get(more, "modules");
	const struct value *contents = value_get(more, "contents");
	auto_value *all = part ? value_copy(part) : value_object();

	if (links && lock_check_links(links, e) < 0)
		return -EINVAL;
	if (modules && lock_check_modules(all, modules, e) < 0)
		return -EINVAL;
	if (contents && lock_check_contents(all, contents, e) < 0)
		return -EINVAL;
	if (contents)
		value_set(all, "contents", value_copy(contents));
	if (links)
		value_set(all, "links", value_copy(links));
	if (modules)
		value_set(all, "modules", value_copy(modules));
	set->lock = value_text(all, NULL);
	return set->lock ? 0 : err_sys(e, "deps");
}

/* The layer of a part, or (no part) the ground for such, on which the driver is put in its turn. */
struct wanted {
	enum deps_lang lang;
	const struct value *part;
	uint32_t ground; /* 0: none */
};

static int make(struct store *s, const struct wanted *w, struct depset *set, struct err *e)
{
	auto_value *ask = layer_question(w->part ? "install" : "ground", NULL), *more = NULL;
	struct reader reader = READER_INIT;
	struct making m;
	struct box b = {.run = NULL};
	int r = depset_begin(s, &m, e);

	if (r < 0)
		return r;
	if (w->part)
		value_set(ask, "packages", value_copy(value_get(w->part, "packages")));
	struct box_ask how = {
		.store = s, .ground = w->ground, .is_small = is_small(w->lang, w->part)};
	r = start_with(how, w->lang, &b, e);
	if (r >= 0) /* while the driver's interpreter starts */
		r = start_plant(&m, &reader, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	if (r >= 0)
		r = layer_give(s, w->lang, &b, w->part, e);
	box_said(&b);
	if (r >= 0)
		r = plant(&b, &reader, set, &more, e);
	r = reader_end(&reader, r, e);
	r = box_end(&b, r, e);
	if (r >= 0)
		r = describe(w->part, more, set, e);
	if (r >= 0)
		r = depset_commit(&m, set, e);
	if (r >= 0)
		unsettled = true;
	making_end(&m);
	return r;
}

/* Found, or made: held until *ret_lock is closed. */
static int have(struct store *s, const struct wanted *w, const char *key, struct depset *ret,
		int *ret_lock, struct err *e)
{
	auto_depset made = {.lock = NULL};
	sigset_t before;
	int r = depset_hold(s, key, ret, ret_lock, e);

	if (r != 0)
		return r;
	(void)snprintf(made.key, sizeof(made.key), "%s", key);
	(void)snprintf(made.lang, sizeof(made.lang), "%s",
		       w->part ? lock_part_name(w->lang) : DEPSET_GROUND);
	reader_hush(&before);
	r = make(s, w, &made, e);
	reader_unhush(&before);
	if (r >= 0)
		r = depset_hold(s, key, ret, ret_lock, e);
	return r == 0 ? err_set(e, ERR_BUSY, "the packages were removed while they were installed")
		      : r;
}

/* A layer of the distribution's packages fits the host that it was made on, as long as that has the
 * same. */
static int add_host(char key[HASH_TEXT_SIZE], struct err *e)
{
	static const char status[] = "/var/lib/dpkg/status";
	auto_close int fd = open(status, O_RDONLY | O_CLOEXEC);
	auto_free char *buf = malloc(PUMP_BYTES);
	uint8_t digest[HASH_BYTES];
	size_t n = 0;
	struct hash h;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || !buf)
		return err_sys(e, "%s", status);
	hash_init(&h);
	hash_add(&h, key, HASH_TEXT_SIZE);
	while ((r = fd_read_max(fd, buf, PUMP_BYTES, &n)) >= 0 && n > 0)
		hash_add(&h, buf, n);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "%s", status);
	}
	hash_done(&h, digest);
	hash_text(digest, key);
	return 0;
}

int deps_key(enum deps_lang lang, const struct value *part, char ret[HASH_TEXT_SIZE], struct err *e)
{
	lock_key(lang, part, ret);
	return lang == DEPS_APT ? add_host(ret, e) : 0;
}

/* Root's sandboxes have the host's directories as their own; those of others could put nothing
 * there. */
static int have_ground(struct store *s, enum deps_lang lang, struct depset *ret, int *ret_lock,
		       struct err *e)
{
	struct wanted w = {.lang = lang};
	char key[HASH_TEXT_SIZE] = "ground of packages";

	if (geteuid() == 0 || !deps_kind(lang)->as_root)
		return 0;
	int r = add_host(key, e);
	return r < 0 ? r : have(s, &w, key, ret, ret_lock, e);
}

int deps_install(struct store *s, enum deps_lang lang, const struct value *part, struct depset *ret,
		 int *ret_lock, struct err *e)
{
	auto_depset ground = {.lock = NULL};
	auto_close int held = FD_NONE;
	char key[HASH_TEXT_SIZE];
	int r = deps_key(lang, part, key, e);

	if (r >= 0)
		r = depset_hold(s, key, ret, ret_lock, e);
	if (r != 0)
		return r;
	r = have_ground(s, lang, &ground, &held, e);
	if (r < 0)
		return r;
	struct wanted w = {.lang = lang, .part = part, .ground = ground.number};
	return have(s, &w, key, ret, ret_lock, e);
}
