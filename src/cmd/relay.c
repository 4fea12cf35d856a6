/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"

static int to = FD_NONE;

int relay_to(uint64_t fd, struct err *e)
{
	int flags = fd < INT_MAX ? fcntl((int)fd, F_GETFL) : -1;

	if (fd <= STDERR_FILENO || flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
		(void)err_set(e, ERR_INVALID, "--result-fd: not a descriptor that can be written");
		return err_remedy(e, "open one above 2");
	}
	/* No helper of ours inherits it: who reads it waits for its end. */
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_sys(e, "--result-fd");
	to = (int)fd;
	return 0;
}

bool relay_on(void)
{
	return to >= 0;
}

void relay_started(const struct pinfold_run *run)
{
	char line[96];
	int n = snprintf(line, sizeof(line), "started {\"sandbox\":\"%s\"}\n",
			 pinfold_run_sandbox(run));

	if (relay_on())
		(void)fd_write_all(to, line, (size_t)n); /* who is gone has ended us */
}

static void relay_text(const char *word, const void *text, size_t len)
{
	struct pollfd p = {.fd = to, .events = POLLOUT};
	struct json j;

	/* The loop of a run must not wait; a pipe that is writable takes a page. */
	if (!relay_on() || len > 512 || poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT))
		return;
	(void)fd_write_all(to, word, strlen(word));
	json_init(&j, to);
	json_open(&j, NULL, '{');
	json_bytes(&j, "text", text, len);
	json_close(&j, '}');
	(void)json_end(&j); /* as above */
	(void)fd_write_all(to, "\n", 1);
}

void relay_denial(const struct pinfold_run *run)
{
	struct pollfd p = {.fd = to, .events = POLLOUT};
	struct pinfold_denial d;
	struct json j;

	if (!relay_on() || poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT) || /* as above */
	    pinfold_run_denial(run, &d) < 0)
		return;
	(void)fd_write_all(to, "denial ", 7);
	json_init(&j, to);
	json_open(&j, NULL, '{');
	json_str(&j, "kind", d.kind);
	json_str(&j, "what", d.what);
	json_u64(&j, "count", d.count);
	json_str(&j, "hint", d.hint);
	json_close(&j, '}');
	(void)json_end(&j); /* as above */
	(void)fd_write_all(to, "\n", 1);
}

void relay_alert(const void *text, size_t len)
{
	relay_text("alert ", text, len);
}

void relay_question(const void *text, size_t len)
{
	relay_text("approval ", text, len < 512 ? len : 512);
}

int relay_result(const struct pinfold_run *run)
{
	int bad = fd_write_all(to, "result ", 7);

	if (!bad && pinfold_run_write_json(run, to) < 0)
		bad = -errno;
	return bad ? bad : fd_write_all(to, "\n", 1);
}

void relay_failed(const struct pinfold_error *error)
{
	if (fd_write_all(to, "failed ", 7) == 0 && pinfold_error_write_json(error, to) == 0)
		(void)fd_write_all(to, "\n", 1); /* the exit status tells already */
}
