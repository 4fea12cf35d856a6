/* SPDX-License-Identifier: Apache-2.0 */
/* Two outcomes, side by side: what differs, and where first. Pure. */
#include "engine/replay_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "wire/msg.h"

#define LINE_MAX_SHOWN 200u

static void report(struct replay_report *to, const struct pinfold_replay_difference *d)
{
	to->result->identical = 0;
	to->result->differences++;
	if (!to->first[0])
		(void)snprintf(to->first, sizeof(to->first), "%s%s%s", d->what, d->path ? " " : "",
			       d->path ? d->path : "");
	if (to->each)
		to->each(d, to->arg);
}

static void compare_words(const char *what, const char *before, const char *after,
			  struct replay_report *to)
{
	struct pinfold_replay_difference d = {
		.what = what,
		.before = before,
		.after = after,
		.before_len = strlen(before),
		.after_len = strlen(after),
	};

	if (strcmp(before, after) != 0)
		report(to, &d);
}

static const char *text_at(const struct value *v, const char *key)
{
	const char *text = value_str(value_get(v, key));

	return text ? text : "";
}

struct bytes {
	char *data;
	size_t len;
};

static struct bytes decode(const struct value *v)
{
	struct bytes b = {NULL, 0};
	void *data = NULL;

	if (value_str(v) && value_from_base64(value_str(v), value_len(v), &data, &b.len) == 0)
		b.data = data;
	else
		b.len = 0;
	return b;
}

/* The line around `at`, without its end, and not too much of it. */
static size_t line_end(const struct bytes *b, size_t at)
{
	const char *end = at < b->len ? memchr(b->data + at, '\n', b->len - at) : NULL;
	size_t n = end ? (size_t)(end - b->data) : b->len;

	return n - at > LINE_MAX_SHOWN ? at + LINE_MAX_SHOWN : n;
}

static void find_place(const struct bytes *a, const struct bytes *b,
		       struct pinfold_replay_difference *d)
{
	size_t at = 0, begin = 0, most = a->len < b->len ? a->len : b->len;

	d->line = 1;
	for (; at < most && a->data[at] == b->data[at]; at++)
		if (a->data[at] == '\n') {
			begin = at + 1;
			d->line++;
		}
	/* A long line is shown from a little before where it differs. */
	if (at - begin > LINE_MAX_SHOWN / 2)
		begin = at - LINE_MAX_SHOWN / 2;
	d->offset = at;
	d->before = a->data ? a->data + begin : "";
	d->after = b->data ? b->data + begin : "";
	d->before_len = line_end(a, begin) - begin;
	d->after_len = line_end(b, begin) - begin;
}

static void describe_stream(const struct value *v, char *to, size_t size)
{
	(void)snprintf(to, size, "%lld bytes, sha256 %s",
		       (long long)value_int(value_get(v, "bytes")), text_at(v, "sha256"));
}

static void compare_hashes(const char *what, const struct value *before, const struct value *after,
			   struct replay_report *to)
{
	char a[128], b[128];

	describe_stream(before, a, sizeof(a));
	describe_stream(after, b, sizeof(b));
	compare_words(what, a, b, to);
}

static void compare_stream(const char *what, const struct value *before, const struct value *after,
			   struct replay_report *to)
{
	struct pinfold_replay_difference d = {.what = what, .before = "", .after = ""};
	struct bytes a, b;

	if (strcmp(text_at(before, "sha256"), text_at(after, "sha256")) == 0)
		return;
	if (!value_get(before, "head")) { /* the ledger has no output */
		compare_hashes(what, before, after, to);
		return;
	}
	a = decode(value_get(before, "head"));
	b = decode(value_get(after, "head"));
	if (a.len != b.len || memcmp(a.data ? a.data : "", b.data ? b.data : "", a.len) != 0)
		find_place(&a, &b, &d);
	else
		d.offset = a.len; /* behind what is kept of it */
	report(to, &d);
	free(a.data);
	free(b.data);
}

/* NULL: it is not there. */
static void describe(const struct value *f, char *to, size_t size)
{
	static const char *const changes[] = {
		[MSG_ADDED] = "added", [MSG_MODIFIED] = "modified", [MSG_DELETED] = "deleted"};
	int64_t change = f ? value_int(value_get(f, "change")) : 0;
	const char *sha256 = text_at(f, "sha256");
	char mode[24] = "";

	if (f && value_get(f, "mode"))
		(void)snprintf(mode, sizeof(mode), "mode %o, ",
			       (unsigned)value_int(value_get(f, "mode")));
	if (!f || change < MSG_ADDED || change > MSG_DELETED)
		(void)snprintf(to, size, "not changed");
	else
		(void)snprintf(to, size, "%s, %s%lld bytes%s%s", changes[change], mode,
			       (long long)value_int(value_get(f, "size")),
			       sha256[0] ? ", sha256 " : "", sha256);
}

static void report_file(const struct value *before, const struct value *after,
			struct replay_report *to)
{
	struct bytes path = decode(value_get(before ? before : after, "path"));
	auto_free char *name = path.data ? strndup(path.data, path.len) : NULL;
	char a[200], b[200];

	describe(before, a, sizeof(a));
	describe(after, b, sizeof(b));
	struct pinfold_replay_difference d = {
		.what = "file",
		.path = name ? name : "?",
		.before = a,
		.after = b,
		.before_len = strlen(a),
		.after_len = strlen(b),
	};
	report(to, &d);
	free(path.data);
}

static bool is_dir(const struct value *f)
{
	return (value_int(value_get(f, "mode")) & 0170000) == 0040000;
}

/* The size of a directory is its file system's affair. */
static bool same_file(const struct value *a, const struct value *b)
{
	return value_int(value_get(a, "change")) == value_int(value_get(b, "change")) &&
	       (!value_get(a, "mode") ||
		value_int(value_get(a, "mode")) == value_int(value_get(b, "mode"))) &&
	       (is_dir(b) || value_int(value_get(a, "size")) == value_int(value_get(b, "size"))) &&
	       strcmp(text_at(a, "sha256"), text_at(b, "sha256")) == 0;
}

static int by_path(const struct value *a, const struct value *b)
{
	struct bytes x = decode(value_get(a, "path")), y = decode(value_get(b, "path"));
	size_t n = x.len < y.len ? x.len : y.len;
	int order = n ? memcmp(x.data, y.data, n) : 0;

	if (order == 0)
		order = x.len < y.len ? -1 : x.len > y.len;
	free(x.data);
	free(y.data);
	return order;
}

/* Both are in the order of paths. */
static void compare_files(const struct value *before, const struct value *after,
			  struct replay_report *to)
{
	size_t i = 0, k = 0, n = value_len(before), m = value_len(after);

	while (i < n || k < m) {
		const struct value *a = value_at(before, i), *b = value_at(after, k);
		int order = i >= n ? 1 : k >= m ? -1 : by_path(a, b);

		if (order != 0)
			report_file(order < 0 ? a : NULL, order > 0 ? b : NULL, to);
		else if (!same_file(a, b))
			report_file(a, b, to);
		i += order <= 0;
		k += order >= 0;
	}
}

static void compare_numbers(const char *what, const struct value *before, const struct value *after,
			    struct replay_report *to)
{
	char a[24], b[24];

	(void)snprintf(a, sizeof(a), "%lld", (long long)value_int(value_get(before, what)));
	(void)snprintf(b, sizeof(b), "%lld", (long long)value_int(value_get(after, what)));
	compare_words(what, a, b, to);
}

void replay_compare(const struct value *before, const struct value *after, struct replay_report *to)
{
	struct pinfold_replay_result *r = to->result;

	compare_words("status", text_at(before, "status"), text_at(after, "status"), to);
	compare_numbers("exit_status", before, after, to);
	compare_stream("stdout", value_get(before, "stdout"), value_get(after, "stdout"), to);
	compare_stream("stderr", value_get(before, "stderr"), value_get(after, "stderr"), to);
	if (value_get(before, "files")) {
		compare_files(value_get(before, "files"), value_get(after, "files"), to);
		compare_numbers("files_omitted", before, after, to);
	}
	r->exit_status = (int)value_int(value_get(after, "exit_status"));
	r->stdout_bytes = (uint64_t)value_int(value_get(value_get(after, "stdout"), "bytes"));
	r->stderr_bytes = (uint64_t)value_int(value_get(value_get(after, "stderr"), "bytes"));
	r->files = value_len(value_get(after, "files"));
}
