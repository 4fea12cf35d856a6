/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *code;
	int num;
} kinds[ERR_KINDS] = {
	[ERR_INTERNAL] = {"internal", EIO},	[ERR_INVALID] = {"invalid_argument", EINVAL},
	[ERR_DENIED] = {"denied", EACCES},	[ERR_MISSING] = {"not_found", ENOENT},
	[ERR_CONFLICT] = {"conflict", EEXIST},	[ERR_LIMIT] = {"limit_exceeded", E2BIG},
	[ERR_TIMEOUT] = {"timeout", ETIMEDOUT}, [ERR_UNSUPPORTED] = {"unsupported", EOPNOTSUPP},
	[ERR_BUSY] = {"busy", EBUSY},		[ERR_UNAUTHENTICATED] = {"unauthenticated", EPERM},
};

const char *err_code(enum err_kind kind)
{
	assert(kind < ERR_KINDS);
	return kinds[kind].code;
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
	case EACCES:
	case EPERM: return ERR_DENIED;
	case ENOSYS:
	case EOPNOTSUPP: return ERR_UNSUPPORTED;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
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
