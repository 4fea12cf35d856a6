/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port of a sandbox that lives: its file server connects, inside and with a command's rights, and
 * passes the socket out. The network namespace stays the sandbox's: whoever holds the socket can
 * talk to that one server and nothing else.
 */
#include <assert.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/live_files.h"
#include "engine/run_int.h"

/* What we were given is what was asked for: a stream to some address of IP, and no socket that
 * could pass descriptors or that listens. */
static int check_socket(const struct pinfold_files *f, int fd, struct err *e)
{
	int domain = 0, type = 0, listens = 1;
	socklen_t n = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 &&
	    (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM && !listens)
		return 0;
	return err_set(e, ERR_INTERNAL, "%s: the sandbox gave an answer that makes no sense",
		       f->about);
}

int pinfold_port_connect(struct pinfold_files *files, unsigned port, int *ret_fd,
			 struct pinfold_error *ret_error)
{
	const struct files_question q = {.op = FILES_CONNECT, .mode = port};
	auto_close int fd = FD_NONE;
	struct err e = ERR_INIT;
	char about[32];
	int r = 0;

	assert(files && ret_fd && ret_error);
	(void)snprintf(about, sizeof(about), "port %u", port);
	if (port == 0 || port > 65535)
		r = err_set(&e, ERR_INVALID, "%s: from 1 to 65535", about);
	if (r >= 0)
		r = files_ask(files, &q, &e);
	files->about = about;
	if (r >= 0)
		r = files_take(files, &fd, &e);
	if (r < 0 && e.kind == ERR_DENIED) {
		(void)err_set(&e, ERR_UNSUPPORTED, "%s: this sandbox has no network of its own",
			      about);
		(void)err_detail(&e, "");
		(void)err_remedy(&e, "make one of isolation strict");
	}
	if (r >= 0)
		r = check_socket(files, fd, &e);
	/* The kernel takes connections for a server that is stopped; it would never answer. */
	if (r >= 0)
		r = files_awake(files, &e);
	files->about = NULL;
	if (r >= 0)
		*ret_fd = take_fd(&fd);
	return files_result(r, &e, ret_error);
}
