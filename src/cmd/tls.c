/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tls.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/passfd.h"

#define ANSWER_MS 10000
#define PEM_MAX (1u << 20)
#define FIRST_FREE 32 /* above all that the program is given */

/* A key that somebody else may read is no secret; one of root's may have a group, as Debian's
 * do. */
static int check_key(const char *path, const struct stat *st, struct err *e)
{
	mode_t foreign = st->st_uid == 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG;

	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		(void)err_set(e, ERR_DENIED, "--tls-key: %s belongs to somebody else", path);
		return err_remedy(e, "give a file of your own, or of root's");
	}
	if (st->st_mode & foreign) {
		(void)err_set(e, ERR_DENIED, "--tls-key: others may read or change %s (mode %04o)",
			      path, st->st_mode & 07777);
		return err_remedy(e, "chmod 600 %s", path);
	}
	return 0;
}

/* As it is now: the file may be written again in its place. */
static int copied(int fd)
{
	auto_close int copy = memfd_create("pinfold-pem", MFD_CLOEXEC);
	ssize_t n = 1;

	for (size_t all = 0; copy >= 0 && n > 0 && all < PEM_MAX; all += (size_t)n)
		n = sendfile(copy, fd, NULL, PEM_MAX - all);
	return n < 0 ? -errno : take_fd(&copy);
}

static int open_file(const char *option, const char *path, struct err *e)
{
	/* Not blocking: a pipe would let us wait for ever. */
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%s: open %s", option, path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: %s is no regular file", option, path);
	if (strcmp(option, "--tls-key") == 0 && check_key(path, &st, e) < 0)
		return -EACCES;
	int copy = copied(fd);
	return copy < 0 ? err_sys(e, "%s: read %s", option, path) : copy;
}

static int open_files(const struct tls_side *t, int *ret_cert, int *ret_key, struct err *e)
{
	auto_close int cert = open_file("--tls-cert", t->cert_path, e);
	if (cert < 0)
		return cert;
	int key = open_file("--tls-key", t->key_path, e);
	if (key < 0)
		return key;
	*ret_cert = take_fd(&cert);
	*ret_key = key;
	return 0;
}

int tls_open(struct tls_side *t, struct err *e)
{
	int r = open_files(t, &t->cert, &t->key, e);

	if (r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, t->door) < 0)
		r = err_sys(e, "socketpair");
	return r;
}

/* Give it the files and hear what it says. */
static int hand_over(const struct tls_side *t, int cert, int key, struct err *e)
{
	struct tls_files message = {0};
	struct tls_answer a;
	struct pollfd p = {.fd = t->control, .events = POLLIN};
	int fds[2] = {cert, key};
	int r = passfd_send(t->control, &message, sizeof(message), fds, 2);

	if (r == 0 && poll(&p, 1, ANSWER_MS) <= 0)
		r = -ETIMEDOUT;
	if (r == 0)
		r = passfd_receive(t->control, &a, sizeof(a), NULL, 0, MSG_DONTWAIT);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "pinfold-tls does not answer");
	}
	if (a.result == 0)
		return 0;
	*e = a.e;
	e->kind = (unsigned)e->kind < ERR_KINDS ? e->kind : ERR_INTERNAL;
	e->text[sizeof(e->text) - 1] = e->remedy[sizeof(e->remedy) - 1] = '\0';
	e->detail[sizeof(e->detail) - 1] = '\0';
	return err_wrap(e, "TLS with %s and %s", t->cert_path, t->key_path);
}

/* Where we are: the child, a copy of the watcher with one thread. */
static void execute(const struct tls_side *t, int control)
{
	char count[8];
	sigset_t clear;
	char *argv[] = {(char[]){"pinfold-tls"}, count, NULL}, *none[] = {NULL};
	int fd[TLS_LISTEN_MAX + 3]; /* control, door, listeners, and the program itself */
	unsigned n = 0;

	fd[n++] = control;
	fd[n++] = t->door[1];
	for (unsigned i = 0; i < t->n_listen; i++)
		fd[n++] = t->listen[i];
	fd[n] = memfd_create("pinfold-tls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd[n] < 0 || fd_write_all(fd[n], tls_image, (size_t)(tls_image_end - tls_image)) < 0 ||
	    fcntl(fd[n], F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		_exit(1);
	/* First out of the way, then into place: none may lie where another belongs. */
	for (unsigned i = 0; i <= n; i++)
		if ((fd[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, FIRST_FREE)) < 0)
			_exit(1);
	for (unsigned i = 0; i < n; i++)
		if (dup2(fd[i], TLS_CONTROL + (int)i) < 0)
			_exit(1);
	(void)snprintf(count, sizeof(count), "%u", t->n_listen);
	(void)close_range(TLS_CONTROL + n, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)sigemptyset(&clear);
	(void)sigprocmask(SIG_SETMASK, &clear, NULL); /* of the watcher's, SIGTERM is held */
	(void)syscall(SYS_execveat, fd[n], "", argv, none, AT_EMPTY_PATH);
	_exit(1);
}

int tls_start(struct tls_side *t, struct err *e)
{
	int pair[2];

	fd_close(&t->control);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socketpair");
	t->pid = fork();
	if (t->pid == 0)
		execute(t, pair[1]);
	(void)close(pair[1]);
	t->control = pair[0];
	if (t->pid < 0)
		return err_sys(e, "fork");
	return hand_over(t, t->cert, t->key, e);
}

int tls_renew(struct tls_side *t, struct err *e)
{
	auto_close int cert = FD_NONE;
	auto_close int key = FD_NONE;
	int r = open_files(t, &cert, &key, e);

	if (r >= 0)
		r = hand_over(t, cert, key, e);
	if (r < 0)
		return r;
	fd_close(&t->cert);
	fd_close(&t->key);
	t->cert = take_fd(&cert);
	t->key = take_fd(&key);
	return 0;
}

void tls_forget(struct tls_side *t)
{
	fd_close(&t->cert);
	fd_close(&t->key);
	fd_close(&t->control);
	fd_close(&t->door[1]);
	for (unsigned i = 0; i < t->n_listen; i++)
		fd_close(&t->listen[i]);
	t->n_listen = 0;
}
