/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/private.h"

#include <fcntl.h>
#include <limits.h>
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

/* A socket's path is short: a place whose path is not is not used. */
static bool try_place(struct private_daemon *d, const char *place)
{
	static const char name[] = "pinfold-own.XXXXXX";

	if (!place || *place != '/' || strlen(place) + sizeof(name) >= sizeof(d->dir))
		return false;
	(void)snprintf(d->dir, sizeof(d->dir), "%s/%s", place, name);
	if (mkdtemp(d->dir))
		return true;
	d->dir[0] = '\0';
	return false;
}

static int make_directory(struct private_daemon *d, struct err *e)
{
	if (try_place(d, getenv("TMPDIR")) ||
	    try_place(d, geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR")) ||
	    try_place(d, "/tmp"))
		return 0;
	return err_sys(e, "make a directory in /tmp");
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

/* Where we are: the child. It serves until it is told to end or its parent is gone. Of the parent
 * it keeps nothing: what it is watching and ignoring is not the daemon's, nor that of its
 * sandboxes. */
static void serve(const struct private_daemon *d, const struct pinfold_serve_options *options,
		  pid_t parent, int log)
{
	struct pinfold_serve_options o = {.size = sizeof(o)};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	struct pinfold_error error;
	char path[SOCKET_MAX];

	if (options)
		o = *options;
	socket_path(d, "", path);
	o.socket = path;
	int null = open("/dev/null", O_RDWR);
	bool bad = null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
		   dup2(log, STDERR_FILENO) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 ||
		   getppid() != parent || close_range(3, UINT_MAX, 0) < 0 ||
		   sigaction(SIGPIPE, &standard, NULL) < 0;

	if (!bad && pinfold_serve(&o, &error) < 0)
		(void)dprintf(STDERR_FILENO, "%s\n", error.message); /* the parent reads it */
	remove_directory(d);
	_exit(0);
}

int private_begin(struct private_daemon *d, const struct pinfold_serve_options *options,
		  struct err *e)
{
	pid_t parent = getpid();
	char path[SOCKET_MAX];
	int log[2];

	if (make_directory(d, e) < 0)
		return -1;
	if (pipe2(log, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	d->log = log[0];
	d->said_len = 0;
	d->pid = fork();
	if (d->pid == 0)
		serve(d, options, parent, log[1]);
	close(log[1]);
	if (d->pid < 0)
		return err_sys(e, "start a daemon");
	socket_path(d, "", path);
	return setenv("PINFOLD_SOCKET", path, 1) < 0 ? err_sys(e, "environment") : 0;
}

/* It says where it serves, or why it does not, and before that perhaps something else. */
int private_look(struct private_daemon *d, struct err *e)
{
	size_t room = sizeof(d->said) - 1 - d->said_len;
	ssize_t n = room ? read(d->log, d->said + d->said_len, room) : 0;

	d->said_len += n > 0 ? (size_t)n : 0;
	d->said[d->said_len] = '\0';
	if (strstr(d->said, "serving on"))
		return 1;
	if (n > 0)
		return 0;
	d->said[strcspn(d->said, "\n")] = '\0';
	return err_set(e, ERR_INTERNAL, "the daemon does not start: %s",
		       *d->said ? d->said : "it is silent");
}

int private_start(struct private_daemon *d, struct err *e)
{
	struct pollfd p = {.events = POLLIN};
	int r = private_begin(d, NULL, e);

	p.fd = d->log;
	while (r == 0) {
		if (poll(&p, 1, START_MS) != 1)
			return err_set(e, ERR_INTERNAL, "the daemon does not start: it is silent");
		r = private_look(d, e);
	}
	return r < 0 ? r : 0;
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
