/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cmd/escape.h"
#include "cmd/relay.h"
#include "cmd/verb.h"

static const char prefix[] = "pinfold: ";

void say(const char *fmt, ...)
{
	char text[1280], line[4096];
	size_t start = sizeof(prefix) - 1;
	va_list ap;

	if (relay_on())
		return; /* standard error is the command's */
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a message that is cut still helps */
	va_end(ap);
	memcpy(line, prefix, start);
#ifdef DROP_ESCAPE
	memcpy(line + start, text, strlen(text) + 1);
#else
	escape_line(text, line + start, sizeof(line) - start - 1);
#endif
	size_t len = strlen(line);
	line[len++] = '\n';
	(void)fd_write_all(STDERR_FILENO, line, len); /* nobody is left to be told */
}

void say_error(const struct pinfold_error *error)
{
	say("%s: %s", error->code, error->message);
	say("remedy: %s", error->remedy[0] ? error->remedy : err_advice(error->code));
}

static bool is_run = true;

void say_as_run(bool run)
{
	is_run = run;
}

/* A run that failed has the document of a run; of anything else there is only the error, as over
 * HTTP. */
static int write_failure(const struct pinfold_error *error)
{
	struct json j;

	if (is_run)
		return pinfold_error_write_json(error, STDOUT_FILENO);
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_open(&j, "error", '{');
	json_str(&j, "code", error->code);
	json_str(&j, "message", error->message);
	json_str(&j, "remedy", error->remedy[0] ? error->remedy : err_advice(error->code));
	json_close(&j, '}');
	json_close(&j, '}');
	return json_end(&j);
}

int say_library_failure(const struct pinfold_error *error, bool json)
{
	say_error(error);
	if (relay_on())
		relay_failed(error);
	else if (json && write_failure(error) == 0)
		(void)fd_write_all(STDOUT_FILENO, "\n", 1); /* the exit status tells already */
	return EXIT_PINFOLD;
}

static bool unwritten;

int say_unwritten(int error)
{
	struct err e = ERR_INIT;

	if (error == EPIPE)
		return 0;
	if (unwritten)
		return EXIT_PINFOLD;
	errno = error;
	(void)err_sys(&e, "cannot write to standard output");
	(void)err_remedy(&e, error == ENOSPC ? "make room there, or write it to another place"
					     : "write it to another place");
	int status = say_failure(&e, false);
	unwritten = true;
	return status;
}

int say_failure(const struct err *e, bool json)
{
	struct pinfold_error error = {.code = ""};

	if (unwritten) /* that is why, and it was said */
		return EXIT_PINFOLD;
	(void)snprintf(error.code, sizeof(error.code), "%s%s%s", err_code(e->kind),
		       e->detail[0] ? "." : "", e->detail);
	(void)snprintf(error.message, sizeof(error.message), "%s", e->text);
	(void)snprintf(error.remedy, sizeof(error.remedy), "%s", e->remedy);
	return say_library_failure(&error, json);
}
