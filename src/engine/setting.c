/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "egress/source.h"

#define VARIABLE "PINFOLD_LEDGER_SYNC"
#define KEY "ledger.sync"

enum { UNKNOWN, GROUP, ALWAYS };

static int sync_value(const char *text, size_t len, const char *where, struct err *e)
{
	if (len == 5 && memcmp(text, "group", len) == 0)
		return GROUP;
	if (len == 6 && memcmp(text, "always", len) == 0)
		return ALWAYS;
	(void)err_set(e, ERR_INVALID, "%.300s: \"%.*s\" is no way to write the ledger", where,
		      len < 40 ? (int)len : 40, text);
	(void)err_detail(e, "ledger");
	return err_remedy(e, "%s is always or group", KEY);
}

static size_t blanks(const char *text)
{
	return strspn(text, " \t\r");
}

/* KEY: VALUE, or nothing. */
static int take_line(const char *line, const char *where, struct err *e)
{
	size_t n = strlen(KEY);

	line += blanks(line);
	if (!*line || *line == '#')
		return UNKNOWN;
	if (strncmp(line, KEY, n) != 0 || line[n + blanks(line + n)] != ':') {
		(void)err_set(e, ERR_INVALID, "%.300s: this is no setting: %.40s", where, line);
		return err_remedy(e, "there is one: \"%s: always\"", KEY);
	}
	line += n + blanks(line + n) + 1;
	line += blanks(line);
	return sync_value(line, strcspn(line, " \t\r#"), where, e);
}

static int take_text(char *text, const char *path, struct err *e)
{
	unsigned number = 0;
	int got = UNKNOWN;
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char where[PATH_MAX + 32];

		(void)snprintf(where, sizeof(where), "%s, line %u", path, ++number);
		int r = take_line(line, where, e);
		if (r < 0)
			return r;
		got = r == UNKNOWN ? got : r;
	}
	return got == UNKNOWN ? GROUP : got;
}

static int from_file(struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + sizeof("/" SETTING_FILE)];
	struct err none = ERR_INIT, unread = ERR_INIT;
	auto_free char *text = NULL;
	size_t len = 0;

	if (source_config_dir(dir, &none) < 0)
		return GROUP; /* who has no place for it has none */
	(void)snprintf(path, sizeof(path), "%s/" SETTING_FILE, dir);
	int r = source_read(AT_FDCWD, path, SOURCE_SELF, &text, &len, &unread);
	if (r == -ENOENT && !unread.text[0])
		return GROUP;
	if (r < 0)
		*e = unread;
	return r < 0 ? r : take_text(text, path, e);
}

int setting_ledger_sync(struct err *e)
{
	/* Once: processes that are confined later could not read it any more. */
	static atomic_int known = UNKNOWN;
	const char *text = getenv(VARIABLE);
	int r = atomic_load(&known);

	if (r != UNKNOWN)
		return r == ALWAYS;
	r = text && *text ? sync_value(text, strlen(text), VARIABLE, e) : from_file(e);
	if (r < 0)
		return r;
	atomic_store(&known, r);
	return r == ALWAYS;
}
