/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/private.h"

#include <fcntl.h>
#include <pinfold/pinfold.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define START_MS 20000
#define SOCKET_MAX 104

/* A socket's path is short: where TMPDIR is not, it is not used. */
static int make_directory(struct private_daemon *d, struct err *e)
{
	static const char name[] = "pinfold-bench.XXXXXX";
	const char *place = getenv("TMPDIR");

	if (!place || *place != '/' || strlen(place) + sizeof(name) >= sizeof(d->dir))
		place = "/tmp";
	(void)snprintf(d->dir, sizeof(d->dir), "%s/%s", place, name);
	if (mkdtemp(d->dir))
		return 0;
	d->dir[0] = '\0';
	return err_sys(e, "make a directory in %.60s", place);
}

static void socket_path(const struct private_daemon *d, const char *end, char ret[SOCKET_MAX])
{
	(void)snprintf(ret, SOCKET_MAX, "%s/s%s", d->dir, end);
}

/* Whoever comes second finds nothing. */
static void remove_directory(const struct private_daemon *d)
{
	char path[SOCKET_MAX];

	socket_path(d, "", path);
	(void)unlink(path);
	socket_path(d, ".lock", path);
	(void)unlink(path);
	(void)rmdir(d->dir);
}

/* Where we are: the child. It serves until it is told to end or its parent is gone. */
static void serve(const struct private_daemon *d, pid_t parent, int log)
{
	struct pinfold_serve_options o = {.size = sizeof(o)};
	struct pinfold_error error;
	char path[SOCKET_MAX];

	socket_path(d, "", path);
	o.socket = path;
	int null = open("/dev/null", O_RDWR);
	bool bad = null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
		   dup2(log, STDERR_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 ||
		   getppid() != parent;

	if (!bad && pinfold_serve(&o, &error) < 0)
		(void)dprintf(STDERR_FILENO, "%s\n", error.message); /* the parent reads it */
	remove_directory(d);
	_exit(0);
}

/* It says where it serves, or why it does not, and before that perhaps something else. */
static int await_ready(struct private_daemon *d, struct err *e)
{
	struct pollfd p = {.fd = d->log, .events = POLLIN};
	char text[512] = "";
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(text) - 1 && !strstr(text, "serving on")) {
		n = poll(&p, 1, START_MS) == 1 ? read(d->log, text + len, sizeof(text) - 1 - len)
					       : 0;
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	if (strstr(text, "serving on"))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return err_set(e, ERR_INTERNAL, "the daemon does not start: %s",
		       *text ? text : "it is silent");
}

int private_start(struct private_daemon *d, struct err *e)
{
	pid_t parent = getpid();
	char path[SOCKET_MAX];
	int log[2];

	if (make_directory(d, e) < 0)
		return -1;
	if (pipe2(log, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	d->log = log[0];
	d->pid = fork();
	if (d->pid == 0)
		serve(d, parent, log[1]);
	close(log[1]);
	if (d->pid < 0)
		return err_sys(e, "start a daemon");
	socket_path(d, "", path);
	if (setenv("PINFOLD_SOCKET", path, 1) < 0)
		return err_sys(e, "environment");
	return await_ready(d, e);
}

void private_stop(struct private_daemon *d)
{
	if (d->pid > 0) {
		(void)kill(d->pid, SIGTERM); /* our child, not yet waited for */
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
		d->pid = 0;
	}
	fd_close(&d->log);
	if (d->dir[0])
		remove_directory(d);
	d->dir[0] = '\0';
}
