/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *code;
	int num;
	const char *advice;
} kinds[ERR_KINDS] = {
	[ERR_INTERNAL] = {"internal", EIO,
			  "pinfold doctor says what this host lacks; if it is nothing, report this"},
	[ERR_INVALID] = {"invalid_argument", EINVAL,
			 "correct it: pinfold help VERB says what is taken"},
	[ERR_DENIED] = {"denied", EACCES,
			"name something that you may read and write, or ask its owner"},
	[ERR_MISSING] = {"not_found", ENOENT, "name one that exists"},
	[ERR_CONFLICT] = {"conflict", EEXIST, "look how it stands now, then try again"},
	[ERR_LIMIT] = {"limit_exceeded", E2BIG, "ask for less, or have the limit raised"},
	[ERR_TIMEOUT] = {"timeout", ETIMEDOUT, "try again, or allow more time"},
	[ERR_UNSUPPORTED] = {"unsupported", EOPNOTSUPP,
			     "leave it out; pinfold doctor says what this host can do"},
	[ERR_BUSY] = {"busy", EBUSY, "try again in a moment"},
	[ERR_UNAUTHENTICATED] = {"unauthenticated", EPERM,
				 "send a token that counts; pinfold token new makes one"},
};

const char *err_code(enum err_kind kind)
{
	assert(kind < ERR_KINDS);
	return kinds[kind].code;
}

enum err_kind err_kind_of(const char *code)
{
	size_t n = strcspn(code, ".");

	for (enum err_kind k = ERR_INTERNAL; k < ERR_KINDS; k++)
		if (strlen(err_code(k)) == n && strncmp(err_code(k), code, n) == 0)
			return k;
	return ERR_INTERNAL;
}

const char *err_advice(const char *code)
{
	size_t len = strcspn(code, ".");

	for (int i = 0; i < ERR_KINDS; i++)
		if (strlen(kinds[i].code) == len && memcmp(kinds[i].code, code, len) == 0)
			return kinds[i].advice;
	return kinds[ERR_INTERNAL].advice;
}

static int err_value(const struct err *e)
{
	return e->num ? -e->num : -kinds[e->kind].num;
}

static enum err_kind kind_of_errno(int num)
{
	switch (num) {
	case ENOENT:
	case ENOTDIR: return ERR_MISSING;
	case EISDIR:
	case ELOOP:
	case ENAMETOOLONG: return ERR_INVALID; /* so is the path that was given */
	case EACCES:
	case EPERM:
	case EROFS: return ERR_DENIED;
	case ENOSYS:
	case EOPNOTSUPP: return ERR_UNSUPPORTED;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EUSERS: return ERR_LIMIT;
	default: return ERR_INTERNAL;
	}
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int num = errno ? errno : EIO;
	va_list ap;

	*e = (struct err){.kind = kind_of_errno(num), .num = num};
	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s", strerror(num));
	return -num;
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	assert(kind < ERR_KINDS);
	*e = (struct err){.kind = kind};
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap); /* cut text is still an error */
	va_end(ap);
	return err_value(e);
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->text)];
	va_list ap;

	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s", old);
	return err_value(e);
}

int err_remedy(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e->remedy[0]) {
		va_start(ap, fmt);
		(void)vsnprintf(e->remedy, sizeof(e->remedy), fmt, ap);
		va_end(ap);
	}
	return err_value(e);
}

int err_detail(struct err *e, const char *detail)
{
	(void)snprintf(e->detail, sizeof(e->detail), "%s", detail);
	return err_value(e);
}
