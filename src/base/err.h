/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error record of the project. A function that can fail returns int (>= 0 good, -errno bad)
 * and takes `struct err *e` as its last argument, never NULL. The function that detects the error
 * fills it in, callers that know more wrap it, and both return the negative value:
 *
 *	int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	if (fd < 0)
 *		return err_sys(e, "open %s", path);
 *	if (parse(fd, e) < 0)
 *		return err_wrap(e, "policy %s", path);
 *
 * It has a fixed size and needs no heap, so a process can send it with one write.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

enum err_kind {
	ERR_INTERNAL = 0,
	ERR_INVALID,
	ERR_DENIED,
	ERR_MISSING,
	ERR_CONFLICT,
	ERR_LIMIT,
	ERR_TIMEOUT,
	ERR_UNSUPPORTED,
	ERR_BUSY,
	ERR_UNAUTHENTICATED,
	ERR_KINDS
};

struct err {
	enum err_kind kind;
	int num;	   /* errno, 0 when no system call failed */
	char detail[24];   /* the finer code behind the dot, "" for none */
	char text[640];	   /* what went wrong, for a person */
	char remedy[512];  /* what to do about it, "" for none */
	unsigned retry_ms; /* ERR_BUSY, ERR_LIMIT: worth trying again after that; 0: unknown */
};

_Static_assert(sizeof(struct err) < 4096, "an error must fit into one atomic pipe write");

#define ERR_INIT                                                                                   \
	{                                                                                          \
		ERR_INTERNAL, 0, "", "", "", 0                                                     \
	}

/* Fill from errno. Returns -errno. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fill with a kind of our own. Returns a negative errno that fits the kind. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Put "context: " in front of the text. Returns what the callee returned. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Say what would help. The first remedy that is given stays. Returns the error's value. */
int err_remedy(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Give the finer code behind the dot ("file" makes not_found.file). Returns the error's value. */
int err_detail(struct err *e, const char *detail);

/* The code that users see ("not_found"), without the detail. */
const char *err_code(enum err_kind kind);
/* The kind of such a code, with or without a detail behind the dot; ERR_INTERNAL if it is none of
 * ours. */
enum err_kind err_kind_of(const char *code);
/* A general remedy for a code, with or without its detail, for errors that have none of their own. */
const char *err_advice(const char *code);

#endif
