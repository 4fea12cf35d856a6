/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/scan.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/chain_int.h"
#include "ledger/open.h"
#include "ledger/tombstone.h"

#define BUFFER_BYTES (1u << 20)
#define FILES_MAX 65536u
#define NOBODY UINT64_MAX

struct scan {
	int dir, fd;
	uint64_t *first; /* of each older file, sorted */
	size_t n;	 /* older files; n itself stands for `events` */
	size_t at;	 /* which of them is open, or the next to be */
	char name[SCAN_NAME_SIZE];
	char *buf;
	size_t begin, end; /* what of it is not told yet */
	uint64_t offset;   /* of buf[begin] in the file */
	uint64_t number;
	bool counted;
};

void scan_name(uint64_t first, char ret[SCAN_NAME_SIZE])
{
	(void)snprintf(ret, SCAN_NAME_SIZE, CHAIN_FILE ".%015llu", (unsigned long long)first);
}

static bool of_name(const char *name, uint64_t *ret)
{
	size_t n = sizeof(CHAIN_FILE ".") - 1;
	uint64_t first = 0;

	if (strncmp(name, CHAIN_FILE ".", n) != 0 || strlen(name + n) != 15)
		return false;
	for (const char *p = name + n; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		first = first * 10 + (uint64_t)(*p - '0');
	}
	*ret = first;
	return true;
}

static int by_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Those from event `gone` on: what was pruned does not count, should it still be there, or
 * again. */
static int list_from(int dir, uint64_t gone, uint64_t **ret, size_t *ret_n, struct err *e)
{
	auto_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	auto_free uint64_t *all = NULL;
	struct dirent *entry;
	size_t n = 0, room = 0;
	uint64_t first = 0;

	if (!d)
		return err_sys(e, "the ledger's directory");
	(void)take_fd(&fd);
	while ((entry = readdir(d))) {
		if (!of_name(entry->d_name, &first) || n == FILES_MAX || first < gone)
			continue;
		if (n == room) {
			uint64_t *more = reallocarray(all, room ? 2 * room : 16, sizeof(*all));

			if (!more) {
				(void)closedir(d);
				return err_sys(e, "the ledger");
			}
			all = more;
			room = room ? 2 * room : 16;
		}
		all[n++] = first;
	}
	(void)closedir(d);
	if (n)
		qsort(all, n, sizeof(*all), by_first);
	*ret = take_ptr(&all);
	*ret_n = n;
	return 0;
}

static int list(int dir, uint64_t **ret, size_t *ret_n, struct err *e)
{
	return list_from(dir, tombstone_size(dir), ret, ret_n, e);
}

int scan_drop(int dir, uint64_t before, struct err *e)
{
	auto_free uint64_t *all = NULL;
	size_t n = 0;
	int dropped = 0, r = list_from(dir, 0, &all, &n, e);

	for (size_t i = 0; r >= 0 && i < n && all[i] < before; i++) {
		char name[SCAN_NAME_SIZE];

		scan_name(all[i], name);
		/* One that stays does not count any more. */
		dropped += unlinkat(dir, name, 0) == 0;
	}
	return r < 0 ? r : dropped;
}

int scan_last_segment(int dir, struct err *e)
{
	auto_free uint64_t *all = NULL;
	char name[SCAN_NAME_SIZE];
	size_t n = 0;
	int r = list(dir, &all, &n, e);

	if (r < 0)
		return r;
	if (n == 0)
		return -ENOENT;
	scan_name(all[n - 1], name);
	return ledger_open(dir, name, e);
}

int scan_first(int fd, struct scan_first *ret, struct err *e)
{
	char text[160] = "";
	struct event_head head;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	/* Its head alone: the rest of the line is made up. */
	if (n == (ssize_t)sizeof(text) - 1)
		text[n - 1] = '}';
	if (n <= 0 || !event_head(text, (size_t)n, &head))
		return err_set(e, ERR_INTERNAL, "the first event of a file is damaged");
	ret->at = head.at;
	return 0;
}

int scan_open(int dir, struct scan **ret, struct err *e)
{
	struct scan *s = calloc(1, sizeof(*s));
	int r = s ? 0 : err_sys(e, "the ledger");

	if (r >= 0) {
		s->dir = dir;
		s->fd = FD_NONE;
		s->counted = true;
		s->buf = malloc(BUFFER_BYTES);
		r = s->buf ? list(dir, &s->first, &s->n, e) : err_sys(e, "the ledger");
	}
	if (r < 0)
		scan_close(s);
	else
		*ret = s;
	return r;
}

void scan_close(struct scan *s)
{
	if (!s)
		return;
	fd_close(&s->fd);
	free(s->first);
	free(s->buf);
	free(s);
}

int scan_file_open(const struct scan *s, size_t i, struct err *e)
{
	char name[SCAN_NAME_SIZE] = CHAIN_FILE;

	assert(i <= s->n);
	if (i < s->n)
		scan_name(s->first[i], name);
	return ledger_open(s->dir, name, e);
}

size_t scan_files(const struct scan *s)
{
	return s->n + 1;
}

uint64_t scan_file_first(const struct scan *s, size_t i)
{
	struct err none = ERR_INIT;
	struct scan_first first;

	if (i < s->n)
		return s->first[i];
	auto_close int fd = scan_file_open(s, i, &none);
	return fd < 0 || scan_first(fd, &first, &none) < 0 ? NOBODY : first.at;
}

static int open_file(struct scan *s, struct err *e)
{
	int fd = scan_file_open(s, s->at, e);

	/* A chain that has not begun has no events. */
	if (fd < 0)
		return s->at == s->n && e->num == ENOENT ? 0 : fd;
	if (s->at < s->n)
		scan_name(s->first[s->at], s->name);
	else
		(void)snprintf(s->name, sizeof(s->name), CHAIN_FILE);
	s->fd = fd;
	s->begin = s->end = 0;
	s->offset = s->number = 0;
	s->counted = true;
	return 1;
}

/* More of the file behind what is there: 1, or 0 at its end. */
static int fill(struct scan *s, struct err *e)
{
	memmove(s->buf, s->buf + s->begin, s->end - s->begin);
	s->end -= s->begin;
	s->begin = 0;
	ssize_t n;
	do
		n = pread(s->fd, s->buf + s->end, BUFFER_BYTES - s->end,
			  (off_t)(s->offset + s->end));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "%s", s->name);
	s->end += (size_t)n;
	return n > 0;
}

uint64_t scan_torn(const struct scan *s)
{
	return s->end - s->begin;
}

/* The newest file was given another name while we read it: then there is one behind it. */
static int follow(struct scan *s, struct err *e)
{
	uint64_t *all = NULL;
	size_t n = 0;
	int r = list(s->dir, &all, &n, e);

	if (r < 0 || n <= s->n) {
		free(all);
		return r < 0 ? r : 0;
	}
	free(s->first);
	s->first = all;
	s->n = n;
	return 1;
}

int scan_next(struct scan *s, struct scan_line *ret, struct err *e)
{
	for (;;) {
		int r = s->fd >= 0 ? 1 : open_file(s, e);
		if (r <= 0)
			return r;
		char *line = s->buf + s->begin;
		char *stop = memchr(line, '\n', s->end - s->begin);
		if (stop) {
			*ret = (struct scan_line){line, (size_t)(stop - line), s->name, s->offset,
						  s->counted ? ++s->number : 0};
			s->begin += ret->len + 1;
			s->offset += ret->len + 1;
			return 1;
		}
		if (s->end - s->begin > EVENT_BYTES_MAX)
			return err_set(e, ERR_INVALID,
				       "%s, byte %llu: a line that is longer than any event",
				       s->name, (unsigned long long)s->offset);
		r = fill(s, e);
		/* A file that has got another name meanwhile is read to its end first. */
		bool last = s->at == s->n;
		if (r == 0 && last)
			r = follow(s, e);
		if (r < 0 || (r == 0 && last))
			return r;
		if (r > 0)
			continue;
		if (s->end > s->begin)
			return err_set(e, ERR_INVALID, "%s, byte %llu: a torn line, and more files",
				       s->name, (unsigned long long)s->offset);
		fd_close(&s->fd);
		s->at++;
	}
}

bool scan_seek(struct scan *s, uint64_t first, uint64_t offset)
{
	struct err none = ERR_INIT;

	for (size_t i = scan_files(s); i-- > 0;) {
		if (scan_file_first(s, i) != first)
			continue;
		fd_close(&s->fd);
		s->at = i;
		if (open_file(s, &none) <= 0)
			return false;
		s->offset = offset;
		s->counted = offset == 0;
		return true;
	}
	return false;
}
