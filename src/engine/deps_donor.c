/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_donor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/parse.h"
#include "deps/lock.h"
#include "engine/deps_layer_int.h"
#include "store/blob.h"

#define ARCHIVES_BYTES (48ull << 20)
#define ARCHIVE_BYTES_MAX (8ull << 30)
#define PUMP_BYTES (256u << 10)
#define SHED_MAX 4096u /* at a time */

/* The hash of what package `i` became, in a set that has one; else NULL. */
static const char *content_of(const struct value *set, size_t i)
{
	return value_str(value_at(value_get(set, "contents"), i));
}

static bool is_alike(const struct value *a, const struct value *b, const char *key)
{
	const char *one = value_str(value_get(a, key)), *other = value_str(value_get(b, key));

	return one && other && strcmp(one, other) == 0;
}

struct search {
	enum deps_lang lang;
	const struct value *part;
	const char *sha256;
	const char *content; /* found; borrowed from `set` */
	struct value *set;
	char key[HASH_TEXT_SIZE];
};

static int look(const struct depset *d, void *arg)
{
	struct search *s = arg;
	struct err none = ERR_INIT;
	auto_value *set = NULL;

	if (strcmp(d->lang, lock_part_name(s->lang)) != 0 || !strstr(d->lock, s->sha256) ||
	    value_parse(d->lock, strlen(d->lock), &set, &none) < 0 ||
	    !is_alike(set, s->part, "interpreter") || !is_alike(set, s->part, "platform"))
		return 0;
	for (size_t i = 0; i < lock_count(set); i++) {
		if (strcmp(lock_at(set, i).sha256, s->sha256) != 0 || !content_of(set, i))
			continue;
		s->content = content_of(set, i);
		s->set = take_ptr(&set);
		(void)snprintf(s->key, sizeof(s->key), "%s", d->key);
		return -ECANCELED;
	}
	return 0;
}

/* 1: a set that has it, held. */
static int find(struct store *s, struct search *what, struct depset *ret, int *ret_lock,
		struct err *e)
{
	what->content = NULL;
	value_free_ptr(&what->set);
	if (what->lang != DEPS_PYTHON)
		return 0;
	int r = depset_each(s, look, what, e);
	if (r < 0 && r != -ECANCELED)
		return r;
	return what->content ? depset_hold(s, what->key, ret, ret_lock, e) : 0;
}

bool donor_has(struct store *s, enum deps_lang lang, const struct value *part, size_t i)
{
	struct search what = {.lang = lang, .part = part, .sha256 = lock_at(part, i).sha256};
	auto_depset set = {.lock = NULL};
	auto_close int held = FD_NONE;
	struct err none = ERR_INIT;
	int r = find(s, &what, &set, &held, &none);

	value_free_ptr(&what.set);
	return r > 0;
}

static int take(struct box *b, struct blob *to, struct err *e)
{
	auto_free char *buf = malloc(PUMP_BYTES);

	if (!buf)
		return err_sys(e, "deps");
	for (;;) {
		struct box_frame f;
		int r = box_next(b, &f, e);

		if (r < 0 || f.kind == 'D')
			return r;
		if (f.kind != 'T' || f.len > ARCHIVE_BYTES_MAX - to->bytes)
			return err_set(e, ERR_INTERNAL, "the driver says what nobody asked");
		for (uint64_t left = f.len; left > 0;) {
			size_t n = left < PUMP_BYTES ? (size_t)left : PUMP_BYTES;

			r = box_read(b, buf, n, e);
			if (r >= 0)
				r = blob_add(to, buf, n, e);
			if (r < 0)
				return r;
			left -= n;
		}
	}
}

static int repack(struct store *s, const struct search *what, const struct value *package,
		  uint32_t number, struct blob *to, struct err *e)
{
	auto_value *ask = layer_question("repack", NULL);
	struct value *list = value_array();
	struct box b = {.run = NULL};

	value_add(list, value_copy(package));
	value_set(ask, "packages", list);
	value_set(ask, "content",
		  HOLD_PACKAGE_HASH ? value_of_str(what->content) : value_of_null());
	int r = layer_start_on(what->lang, s, number, &b, e);
	if (r >= 0)
		r = box_say(&b, ask, e);
	box_said(&b);
	if (r >= 0)
		r = take(&b, to, e);
	return box_end(&b, r, e);
}

static int restore_from(struct store *s, const struct search *what, const struct value *package,
			const struct depset *set, struct blob *to, struct err *e)
{
	int r = blob_begin(s, to, e);

	if (r >= 0)
		r = repack(s, what, package, set->number, to, e);
	if (r >= 0)
		return 1;
	blob_end(to);
	if (e->kind != ERR_CONFLICT || strcmp(e->detail, "layer") != 0)
		return r;
	*e = (struct err)ERR_INIT;
	r = depset_disown(s, set->id, e);
	return r < 0 ? r : 0;
}

int donor_restore(struct store *s, enum deps_lang lang, const struct value *part, size_t i,
		  int *ret_fd, uint64_t *ret_bytes, struct err *e)
{
	struct search what = {.lang = lang, .part = part, .sha256 = lock_at(part, i).sha256};
	const struct value *package = value_at(value_get(part, "packages"), i);
	struct blob blob = {.fd = FD_NONE};
	int r = 0, found = 0;

	do {
		auto_depset set = {.lock = NULL};
		auto_close int held = FD_NONE;

		r = found = find(s, &what, &set, &held, e);
		if (r > 0)
			r = restore_from(s, &what, package, &set, &blob, e);
	} while (r == 0 && found > 0); /* that one is not found again */
	value_free_ptr(&what.set);
	if (r > 0) {
		*ret_bytes = blob.bytes;
		*ret_fd = take_fd(&blob.fd);
	}
	return r;
}

struct spare {
	char sha256[HASH_TEXT_SIZE];
	uint64_t bytes;
};

struct shed {
	const struct store *store;
	struct spare *all; /* SHED_MAX; owned */
	size_t n;
	uint64_t bytes;
};

static void note(struct shed *s, const char *sha256)
{
	struct spare *to = &s->all[s->n];

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->all[i].sha256, sha256) == 0)
			return;
	if (s->n == SHED_MAX || !blob_size(s->store, sha256, &to->bytes))
		return;
	(void)snprintf(to->sha256, sizeof(to->sha256), "%s", sha256);
	s->bytes += to->bytes;
	s->n++;
}

static int note_set(const struct depset *d, void *arg)
{
	struct err none = ERR_INIT;
	auto_value *set = NULL;

	if (!d->on_disk || strcmp(d->lang, lock_part_name(DEPS_PYTHON)) != 0 ||
	    value_parse(d->lock, strlen(d->lock), &set, &none) < 0)
		return 0;
	for (size_t i = 0; i < lock_count(set); i++)
		if (content_of(set, i))
			note(arg, lock_at(set, i).sha256);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = ((const struct spare *)a)->bytes, other = ((const struct spare *)b)->bytes;

	return (one < other) - (one > other);
}

static uint64_t archives_max(void)
{
	const char *text = getenv("PINFOLD_DEPS_ARCHIVES");
	struct err none = ERR_INIT;
	uint64_t bytes = ARCHIVES_BYTES;

	if (text && strcmp(text, "0") == 0)
		return 0;
	if (text && parse_size(text, &bytes, &none) < 0)
		bytes = ARCHIVES_BYTES;
	return bytes;
}

int donor_shed(struct store *s, struct err *e)
{
	struct shed shed = {.store = s, .all = calloc(SHED_MAX, sizeof(struct spare))};
	uint64_t most = archives_max();
	int r = shed.all ? depset_each(s, note_set, &shed, e) : err_sys(e, "deps");

	if (r >= 0)
		qsort(shed.all, shed.n, sizeof(shed.all[0]), by_size);
	for (size_t i = 0; r >= 0 && i < shed.n && shed.bytes > most; i++) {
		blob_drop(s, shed.all[i].sha256);
		shed.bytes -= shed.all[i].bytes;
	}
	free(shed.all);
	return r;
}
