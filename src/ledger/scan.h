/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the events of a chain in their order, file by file, in constant memory. Writers may go
 * on. */
#ifndef LEDGER_SCAN_H
#define LEDGER_SCAN_H

#include "ledger/event.h"

#define SCAN_NAME_SIZE 32

/* The name of an older file, by the place of its first event. */
void scan_name(uint64_t first, char ret[SCAN_NAME_SIZE]);
/* The newest of the older files, opened; -ENOENT: there is none. */
int scan_last_segment(int dir, struct err *e);

/* Remove the older files that begin before this event; how many. */
int scan_drop(int dir, uint64_t before, struct err *e);

struct scan_first {
	uint64_t at;
};
int scan_first(int fd, struct scan_first *ret, struct err *e);

struct scan;

struct scan_line {
	const char *text; /* without its line feed; valid until the next call */
	size_t len;
	const char *file;
	uint64_t offset; /* in that file */
	uint64_t number; /* of the line there, from 1 on; 0 after a seek */
};

int scan_open(int dir, struct scan **ret, struct err *e);
void scan_close(struct scan *s);
static inline void scan_close_ptr(struct scan **s)
{
	scan_close(*s);
}
#define auto_scan __attribute__((cleanup(scan_close_ptr))) struct scan

/* 1: a line; 0: no more now, and what is behind the last line feed is none (scan_torn()); negative:
 * it cannot be read, or a line is longer than any event. */
int scan_next(struct scan *s, struct scan_line *ret, struct err *e);
uint64_t scan_torn(const struct scan *s);
/* Go on at this offset of the file that begins with event `first`; false: there is no such file. */
bool scan_seek(struct scan *s, uint64_t first, uint64_t offset);
/* The files, oldest first: the places of their first events, as their names say; the last is
 * `events`, whose first is UINT64_MAX when it is empty. */
size_t scan_files(const struct scan *s);
uint64_t scan_file_first(const struct scan *s, size_t i);
int scan_file_open(const struct scan *s, size_t i, struct err *e);

#endif
