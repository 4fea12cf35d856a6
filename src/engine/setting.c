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
#include "ledger/sink.h"

#define SYNC "ledger.sync"
#define SYNC_VARIABLE "PINFOLD_LEDGER_SYNC"
#define SINK "ledger.sink"
#define SINK_VARIABLE "PINFOLD_LEDGER_SINK"

enum { UNKNOWN, GROUP, ALWAYS };

struct settings {
	int sync;
	struct setting_sinks sinks;
};

static int bad(struct err *e, const char *remedy)
{
	(void)err_detail(e, "ledger");
	return err_remedy(e, "%s", remedy);
}

static int take_sync(const char *text, size_t len, const char *where, struct err *e)
{
	if (len == 5 && memcmp(text, "group", len) == 0)
		return GROUP;
	if (len == 6 && memcmp(text, "always", len) == 0)
		return ALWAYS;
	(void)err_set(e, ERR_INVALID, "%.300s: \"%.*s\" is no way to write the ledger", where,
		      len < 40 ? (int)len : 40, text);
	return bad(e, SYNC " is always or group");
}

static int take_sink(struct setting_sinks *to, const char *text, size_t len, const char *where,
		     struct err *e)
{
	if (to->n == SETTING_SINKS_MAX) {
		(void)err_set(e, ERR_LIMIT, "%.300s: more than %u places", where,
			      SETTING_SINKS_MAX);
		return bad(e, "one line for each " SINK);
	}
	char *target = to->target[to->n];
	(void)snprintf(target, SINK_TARGET_SIZE, "%.*s", (int)len, text);
	int r = len < SINK_TARGET_SIZE ? sink_check(target, e)
				       : err_set(e, ERR_INVALID, "it is too long");
	if (r < 0) {
		(void)err_wrap(e, "%.300s: " SINK, where);
		return err_detail(e, "ledger");
	}
	to->n++;
	return 0;
}

static size_t blanks(const char *text)
{
	return strspn(text, " \t\r");
}

/* Behind "KEY:"; NULL: it is another. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) != 0 || line[n + blanks(line + n)] != ':')
		return NULL;
	line += n + blanks(line + n) + 1;
	return line + blanks(line);
}

/* KEY: VALUE, or nothing. */
static int take_line(struct settings *to, const char *line, const char *where, struct err *e)
{
	const char *text;

	line += blanks(line);
	if (!*line || *line == '#')
		return 0;
	if ((text = value_of(line, SYNC))) {
		int r = take_sync(text, strcspn(text, " \t\r#"), where, e);
		to->sync = r < 0 ? to->sync : r;
		return r;
	}
	if ((text = value_of(line, SINK)))
		return take_sink(&to->sinks, text, strcspn(text, " \t\r#"), where, e);
	(void)err_set(e, ERR_INVALID, "%.300s: this is no setting: %.40s", where, line);
	return bad(e, "there are two: \"" SYNC ": always\" and \"" SINK ": /a/directory\"");
}

static int take_text(struct settings *to, char *text, const char *path, struct err *e)
{
	unsigned number = 0;
	char *rest = text, *line;
	int r = 0;

	while (r >= 0 && (line = strsep(&rest, "\n"))) {
		char where[PATH_MAX + 32];

		(void)snprintf(where, sizeof(where), "%s, line %u", path, ++number);
		r = take_line(to, line, where, e);
	}
	return r;
}

static int from_file(struct settings *to, struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + sizeof("/" SETTING_FILE)];
	struct err none = ERR_INIT, unread = ERR_INIT;
	auto_free char *text = NULL;
	size_t len = 0;

	if (source_config_dir(dir, &none) < 0)
		return 0; /* who has no place for it has none */
	(void)snprintf(path, sizeof(path), "%s/" SETTING_FILE, dir);
	int r = source_read(AT_FDCWD, path, SOURCE_SELF, &text, &len, &unread);
	if (r == -ENOENT && !unread.text[0])
		return 0;
	if (r < 0)
		*e = unread;
	return r < 0 ? r : take_text(to, text, path, e);
}

int setting_ledger_sync(struct err *e)
{
	/* Once: processes that are confined later could not read it any more. */
	static atomic_int known = UNKNOWN;
	const char *text = getenv(SYNC_VARIABLE);
	int r = atomic_load(&known);

	if (r != UNKNOWN)
		return r == ALWAYS;
	auto_free struct settings *all = calloc(1, sizeof(*all));
	if (!all)
		return err_sys(e, SETTING_FILE);
	all->sync = GROUP;
	r = text && *text ? take_sync(text, strlen(text), SYNC_VARIABLE, e) : from_file(all, e);
	if (r < 0)
		return r;
	r = text && *text ? r : all->sync;
	atomic_store(&known, r);
	return r == ALWAYS;
}

int setting_ledger_sinks(struct setting_sinks *ret, struct err *e)
{
	const char *text = getenv(SINK_VARIABLE);
	auto_free struct settings *all = calloc(1, sizeof(*all));
	int r = all ? 0 : err_sys(e, SETTING_FILE);

	if (r >= 0 && text && *text)
		r = strcmp(text, "none") == 0
			    ? 0
			    : take_sink(&all->sinks, text, strlen(text), SINK_VARIABLE, e);
	else if (r >= 0)
		r = from_file(all, e);
	if (r >= 0)
		*ret = all->sinks;
	return r < 0 ? r : 0;
}
