/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define INSTANT 24     /* 2026-01-01T00:00:00.000Z */
#define NEAR 65536u    /* from here on reading is quicker than halving */
#define SLACK_MS 5000u /* an id is made before its event is written; clocks differ */

const char *find_time(const char *line, size_t len)
{
	static const char key[] = "\"time\":\"";
	const char *found = NULL, *end = line + len;

	/* The last: what comes behind it is who, and workspaces. */
	for (const char *p = line; (p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1)); p++)
		found = p + sizeof(key) - 1;
	return found && end - found > INSTANT ? found : NULL;
}

/* -1: the first line at or behind `offset` is earlier than that instant; 1: it is not, or there is none. */
static int look(int fd, uint64_t offset, const char *instant, char *buf)
{
	ssize_t n = pread(fd, buf, 2 * EVENT_BYTES_MAX, (off_t)offset);
	char *line = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
	char *stop = line ? memchr(line + 1, '\n', (size_t)(buf + n - line - 1)) : NULL;
	const char *at = stop ? find_time(line + 1, (size_t)(stop - line - 1)) : NULL;

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
	const char *at = stop ? find_time(buf, (size_t)(stop - buf)) : NULL;

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

/* The instant in which an id was made, a little before. */
static void instant_of(const char *run, char ret[INSTANT + 8])
{
	static const char alphabet[] = "234567abcdefghijklmnopqrstuvwxyz";
	uint64_t ms = 0;
	struct tm tm = {0};

	for (unsigned i = 3; i < 13; i++)
		ms = ms << 5 | (uint64_t)(strchr(alphabet, run[i]) - alphabet);
	ms -= ms > SLACK_MS ? SLACK_MS : ms;
	time_t s = (time_t)(ms / 1000);
	(void)gmtime_r(&s, &tm);
	size_t n = strftime(ret, INSTANT + 8, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret + n, INSTANT + 8 - n, ".%03uZ", (unsigned)(ms % 1000));
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

/* From where the scan stands; 1: its end was found. */
static int search(struct scan *s, const char *run, struct find_run *f, struct err *e)
{
	char mark[64];
	struct scan_line line;
	size_t len = (size_t)snprintf(mark, sizeof(mark), "\"run\":\"%s\"", run);
	int r;

	while ((r = scan_next(s, &line, e)) > 0) {
		auto_value *v = NULL;

		if (!memmem(line.text, line.len, mark, len))
			continue;
		r = value_parse(line.text, line.len, &v, e);
		if (r < 0)
			return r;
		const char *own = value_str(value_get(v, "run"));
		const char *phase = value_str(value_get(v, "phase"));
		const char *kind = value_str(value_get(v, "kind"));
		/* What is said of it later, by an operation over HTTP, is not it. */
		if (!own || strcmp(own, run) != 0 || !phase || !kind ||
		    strncmp(kind, "api.", 4) == 0)
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
	char instant[INSTANT + 8];
	auto_scan *s = NULL;

	*ret = (struct find_run){.begin = {.value = NULL}};
	if (!id_is("run", run)) {
		(void)err_set(e, ERR_INVALID, "\"%.40s\" is no id of a run", run);
		return err_remedy(e, "pinfold audit lists them: run and 26 characters");
	}
	instant_of(run, instant);
	int r = scan_open(dir, &s, e);
	if (r >= 0)
		r = find_seek(s, instant, e);
	if (r >= 0)
		r = search(s, run, ret, e);
	if (r == 0 && !ret->begin.value && scan_seek(s, scan_file_first(s, 0), 0))
		r = search(s, run, ret, e);
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
	*f = (struct find_run){.begin = {.value = NULL}};
}
