/* SPDX-License-Identifier: Apache-2.0 */
/* How a run went, as a text for a model: a line of status, the streams, what changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/runs.h"
#include "base/fd.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/tools.h"
#include "pinfold/deps.h"
#include "pinfold/pinfold.h"

#define WHOLE_MAX (4u << 20) /* what is longer is looked at from both ends */
#define HEAD_BYTES (512u << 10)
#define TAIL_BYTES (1u << 20)
#define RESULT_CHARS 27000u /* of streams and notes, so that all of it stays below 30,000 */
#define ERROR_CHARS 2000u   /* standard error gets at least so much */
#define RUNS_PATH "/.pinfold/runs/"
#define HOME "/home/user/"
#define LINKS_MAX 20u /* blocks of a result */
#define FILES_MAX 20u
#define FILES_CHARS 1500u

struct loaded {
	char *data;
	struct stream s;
};

static uint64_t count_chars(struct spool *from, uint64_t kept)
{
	char part[65536];
	uint64_t n = 0;

	for (uint64_t at = 0; at < kept;) {
		size_t got = spool_read(from, at, part, sizeof(part));

		if (!got)
			break;
		n += text_chars(part, got);
		at += got;
	}
	return n;
}

static size_t read_all(struct spool *from, uint64_t offset, char *to, size_t want)
{
	size_t n = 0, got = 1;

	while (n < want && got) {
		got = spool_read(from, offset + n, to + n, want - n);
		n += got;
	}
	return n;
}

static void load(struct loaded *l, struct spool *from, const char *name)
{
	uint64_t total = 0, kept = spool_size(from, &total);
	bool whole = kept <= WHOLE_MAX;
	size_t head = whole ? (size_t)kept : HEAD_BYTES;

	*l = (struct loaded){.data = malloc(whole ? head + 1 : HEAD_BYTES + TAIL_BYTES)};
	l->s = (struct stream){.name = name, .head = l->data, .lost = total - kept};
	if (!l->data)
		return;
	l->s.head_len = read_all(from, 0, l->data, head);
	if (whole)
		return;
	/* Both parts end and begin with whole lines, if lines are there at all. */
	const char *end = memrchr(l->data, '\n', l->s.head_len);
	l->s.head_len = end ? (size_t)(end - l->data) + 1 : l->s.head_len;
	size_t n = read_all(from, kept - TAIL_BYTES, l->data + HEAD_BYTES, TAIL_BYTES);
	const char *tail = memchr(l->data + HEAD_BYTES, '\n', n);
	l->s.tail = tail ? tail + 1 : l->data + HEAD_BYTES;
	l->s.tail_len = n - (size_t)(l->s.tail - (l->data + HEAD_BYTES));
	l->s.chars = count_chars(from, kept);
}

static void show_stream(struct text *t, struct outcome *o, int which, size_t budget)
{
	struct loaded l;
	char path[96];
	bool cut = false;

	load(&l, &o->rec->output[which], which ? "stderr" : "stdout");
	(void)snprintf(path, sizeof(path), RUNS_PATH "%s/%s", o->run, l.s.name);
	l.s.path = path;
	l.s.reader = tool_name(tool_read_file);
	l.s.so_far = o->so_far;
	if (l.s.head_len || !o->brief)
		text_stream(t, &l.s, budget, &cut);
	o->cut |= cut;
	free(l.data);
}

/* What programs leave behind by the way is no result. */
static bool is_noise(const char *path)
{
	return !path || strstr(path, "/.cache/") || strstr(path, "/__pycache__/") ||
	       strstr(path, "/.npm/") || strstr(path, "/.config/");
}

static void show_files(struct text *t, const struct value *files)
{
	size_t n = 0, shown = 0, first = t->len;
	char size[32];

	for (size_t i = 0; i < value_len(files); i++) {
		const struct value *f = value_at(files, i);
		const char *path = value_str(value_get(f, "path"));

		if (is_noise(path) || ++n > FILES_MAX ||
		    strlen(path) + t->len - first > FILES_CHARS)
			continue;
		path = strncmp(path, HOME, strlen(HOME)) == 0 ? path + strlen(HOME) : path;
		text_fmt(t, "%s%s (%s)", shown++ ? ", " : "files changed: ", path,
			 text_size((uint64_t)value_int(value_get(f, "size")), size));
	}
	if (n > shown)
		text_fmt(t, shown ? " and %zu more" : "files changed: %zu", n - shown);
	if (n)
		text_put(t, "\n");
}

void show_links(struct call *c, const struct outcome *o)
{
	size_t n = 0;

	if (!tool_mcp(c)->options.resource_links)
		return;
	for (size_t i = 0; i < value_len(o->files) && n < LINKS_MAX; i++) {
		const struct value *f = value_at(o->files, i);
		const char *path = value_str(value_get(f, "path"));
		const char *type = value_str(value_get(f, "type"));

		if (is_noise(path) || (type && strcmp(type, "file") != 0))
			continue;
		struct value *v =
			resource_of(box_label(o->box), path,
				    strncmp(path, HOME, strlen(HOME)) ? path : path + strlen(HOME),
				    (uint64_t)value_int(value_get(f, "size")));
		value_set(v, "type", value_of_str("resource_link"));
		value_add(value_get(c->reply.value, "content"), v);
		n++;
	}
}

struct budget {
	size_t out, err, value; /* characters */
};

static size_t least(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* What the notes leave: standard error has its part, output and value share the rest, and what one
 * of them does not need the other has. */
static struct budget share(const struct outcome *o)
{
	const uint64_t notes = text_chars(o->notes.data, o->notes.len);
	const uint64_t room = notes < RESULT_CHARS ? RESULT_CHARS - notes : 0;
	uint64_t out = spool_size(&o->rec->output[0], NULL);
	struct budget b = {
		.err = least(spool_size(&o->rec->output[1], NULL),
			     o->max_chars / 4 > ERROR_CHARS ? o->max_chars / 4 : ERROR_CHARS)};

	b.err = least(b.err, room / 2);
	const size_t max = least(o->max_chars, room - b.err);
	out = least(out, max);
	b.value = least(o->value ? strlen(o->value) : 0, max - least(out, max / 2));
	b.out = max - b.value;
	return b;
}

void show_run(struct text *t, struct outcome *o)
{
	const struct budget b = share(o);
	size_t first;

	text_fmt(t, "%s  [sandbox %s, ", o->title, box_label(o->box));
	if (o->session)
		text_fmt(t, "session %s, ", o->session);
	text_fmt(t, "run %s]\n", o->run);
	first = t->len;
	show_stream(t, o, 0, b.out);
	show_stream(t, o, 1, b.err ? b.err : 1);
	if (o->value) {
		struct stream v = {
			.name = "result", .head = o->value, .head_len = strlen(o->value)};
		bool cut = false;

		text_stream(t, &v, b.value, &cut);
		o->cut |= cut;
	}
	if (t->len == first && !o->notes.len)
		text_put(t, "(no output)\n");
	show_files(t, o->files);
	if (o->notes.len)
		text_add(t, o->notes.data, o->notes.len);
}

bool is_run_path(const char *path)
{
	return strncmp(path, RUNS_PATH, strlen(RUNS_PATH)) == 0;
}

struct record *run_of_name(struct call *c, const struct box *b, const char *name, struct err *e)
{
	char id[32];

	if (names_run(tool_mcp(c)->names, b->id, name, id))
		return record_find(c->api->runs, c->who.tenant, id, e);
	(void)err_set(e, ERR_MISSING, "run %.16s is not known in sandbox %s, or not any more", name,
		      box_label(b));
	(void)err_detail(e, "run");
	(void)err_remedy(e, "Outputs are kept for a while only: run it again");
	return NULL;
}

struct record *run_of_path(struct call *c, const struct box *b, const char *path, int *ret_stream,
			   struct err *e)
{
	char name[16] = "", stream[8] = "";

	if (sscanf(path + strlen(RUNS_PATH), "%15[a-z0-9]/%7s", name, stream) != 2 ||
	    (strcmp(stream, "stdout") != 0 && strcmp(stream, "stderr") != 0)) {
		(void)err_set(e, ERR_MISSING, "%.80s is no output of a run", path);
		(void)err_remedy(e, "use " RUNS_PATH "RUN/stdout or " RUNS_PATH "RUN/stderr");
		(void)err_detail(e, "file");
		return NULL;
	}
	*ret_stream = strcmp(stream, "stderr") == 0;
	return run_of_name(c, b, name, e);
}

void note_package(struct text *notes, const char *package)
{
	if (!package)
		return;
	text_fmt(
		notes,
		"Package %.80s would have it. Next: make a sandbox with it, %s sandbox=\"with-packages\" "
		"packages=[\"%.80s\"], and run it there.\n",
		package, tool_name(tool_create), package);
}

void note_missing(struct text *notes, const char *text)
{
	char package[PINFOLD_PACKAGE_SIZE];

	if (text && pinfold_deps_missing(text, strlen(text), package))
		note_package(notes, package);
}
