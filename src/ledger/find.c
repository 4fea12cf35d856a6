/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/runs.h"

#define INSTANT 24  /* 2026-01-01T00:00:00.000Z */
#define NEAR 65536u /* from here on reading is quicker than halving */

const char *find_time(const char *line, size_t len)
{
	static const char key[] = "\"time\":\"";
	const size_t n = sizeof(key) - 1;

	/* The last: what comes behind it is who, and workspaces. It is near the end. */
	for (size_t i = len < n + INSTANT + 1 ? 0 : len - n - INSTANT; i-- > 0;)
		if (line[i] == '"' && memcmp(line + i, key, n) == 0)
			return line + i + n;
	return NULL;
}

const char *find_latest(const char *line, size_t len)
{
	const char *latest = event_latest(line, len);

	return latest ? latest : find_time(line, len);
}

/* -1: the first line at or behind `offset` is earlier than that instant; 1: it is not, or there is
 * none. */
static int look(int fd, uint64_t offset, const char *instant, char *buf)
{
	ssize_t n = pread(fd, buf, 2 * EVENT_BYTES_MAX, (off_t)offset);
	char *line = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
	char *stop = line ? memchr(line + 1, '\n', (size_t)(buf + n - line - 1)) : NULL;
	const char *at = stop ? find_latest(line + 1, (size_t)(stop - line - 1)) : NULL;

	return at && memcmp(at, instant, INSTANT) < 0 ? -1 : 1;
}

static int halve(int fd, const char *instant, uint64_t *ret, struct err *e)
{
	auto_free char *buf = malloc(2 * EVENT_BYTES_MAX);
	uint64_t low = 0;
	struct stat st;

	if (!buf || fstat(fd, &st) < 0)
		return err_sys(e, "the ledger");
	for (uint64_t high = (uint64_t)st.st_size; high - low > NEAR;) {
		uint64_t middle = low + (high - low) / 2;

		*(look(fd, middle, instant, buf) < 0 ? &low : &high) = middle;
	}
	if (low > 0) {
		/* To the beginning of a line. */
		ssize_t n = pread(fd, buf, 2 * EVENT_BYTES_MAX, (off_t)low);
		const char *stop = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;

		low += stop ? (uint64_t)(stop + 1 - buf) : 0;
	}
	*ret = low;
	return 0;
}

/* Is the first event of a file earlier? */
static bool begins_before(const struct scan *s, size_t i, const char *instant)
{
	struct err none = ERR_INIT;
	auto_close int fd = scan_file_open(s, i, &none);
	auto_free char *buf = malloc(2 * EVENT_BYTES_MAX);
	ssize_t n = fd < 0 || !buf ? 0 : pread(fd, buf, EVENT_BYTES_MAX, 0);
	const char *stop = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
	const char *at = stop ? find_latest(buf, (size_t)(stop - buf)) : NULL;

	return at && memcmp(at, instant, INSTANT) < 0;
}

int find_seek(struct scan *s, const char *instant, struct err *e)
{
	size_t file = scan_files(s) - 1;
	uint64_t offset = 0;

	while (file > 0 && !begins_before(s, file, instant))
		file--;
	auto_close int fd = scan_file_open(s, file, e);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	int r = halve(fd, instant, &offset, e);
	if (r >= 0)
		(void)scan_seek(s, scan_file_first(s, file), offset); /* an empty one stays */
	return r;
}

static int take(struct find_event *to, const struct scan_line *line, struct value **v,
		struct err *e)
{
	struct event_head head;

	if (!event_head(line->text, line->len, &head))
		return err_set(e, ERR_INTERNAL, "the ledger is damaged: %s", line->file);
	value_free(to->value);
	free(to->line);
	to->value = take_ptr(v);
	to->line = strndup(line->text, line->len);
	to->len = line->len;
	to->at = head.at;
	tree_leaf(line->text, line->len, &to->leaf);
	return to->line ? 0 : err_sys(e, "the ledger");
}

/* Others are said of a run: by who asked over HTTP, in alarms, in parts. */
static bool is_run(const char *kind)
{
	static const char *const kinds[] = {"run", "workspace.exec", "sandbox.exec",
					    "session.open"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

/* What a list has behind its first rows. */
static void take_part(struct find_run *f, const struct value *event)
{
	const struct value *data = value_get(event, "data");

	if (!f->more)
		f->more = value_object();
	for (const char *key = value_next_key(data, NULL); key; key = value_next_key(data, key)) {
		const struct value *rows = value_get(data, key);

		if (!value_get(f->more, key))
			value_set(f->more, key, value_array());
		for (size_t i = 0; i < value_len(rows) && value_kind(rows) == VALUE_ARRAY; i++)
			value_add(value_get(f->more, key), value_copy(value_at(rows, i)));
	}
}

/* 1: its end was found. */
static int search(struct runs *way, struct scan *s, const char *run, struct find_run *f,
		  struct err *e)
{
	char mark[64];
	struct scan_line line;
	size_t len = (size_t)snprintf(mark, sizeof(mark), "\"run\":\"%s\"", run);
	int r;

	while ((r = runs_next(way, s, &line, e)) > 0) {
		auto_value *v = NULL;

		if (!memmem(line.text, line.len, mark, len))
			continue;
		r = value_parse(line.text, line.len, &v, e);
		if (r < 0)
			return r;
		const char *own = value_str(value_get(v, "run"));
		const char *phase = value_str(value_get(v, "phase"));
		const char *kind = value_str(value_get(v, "kind"));
		if (!own || strcmp(own, run) != 0 || !phase || !kind)
			continue;
		if (strcmp(kind, "run.more") == 0)
			take_part(f, v);
		if (!is_run(kind))
			continue;
		if (strcmp(phase, "started") == 0)
			continue;
		bool begin = strcmp(phase, "begin") == 0;
		r = take(begin ? &f->begin : &f->end, &line, &v, e);
		if (r < 0 || !begin)
			return r < 0 ? r : 1;
	}
	return r;
}

int find_run(int dir, const char *run, struct find_run *ret, struct err *e)
{
	auto_scan *s = NULL;
	struct runs way;

	*ret = (struct find_run){.begin = {.value = NULL}};
	if (!id_is("run", run)) {
		(void)err_set(e, ERR_INVALID, "\"%.40s\" is no id of a run", run);
		return err_remedy(e, "pinfold audit lists them: run and 26 characters");
	}
	int r = scan_open(dir, &s, e);
	if (r < 0)
		return r;
	r = runs_open(dir, run, &way, e);
	if (r >= 0)
		r = search(&way, s, run, ret, e);
	runs_close(&way);
	if (r < 0)
		find_done(ret);
	return r < 0 ? r : ret->begin.value || ret->end.value;
}

void find_done(struct find_run *f)
{
	value_free(f->begin.value);
	value_free(f->end.value);
	free(f->begin.line);
	free(f->end.line);
	value_free(f->more);
	*f = (struct find_run){.begin = {.value = NULL}};
}
