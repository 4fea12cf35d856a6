/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/notary.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/fd.h"

#define PROGRAM_FD_MIN 10 /* out of the way of what the notary gets */

extern const char notary_image[], notary_image_end[];

static int program(struct err *e)
{
	size_t len = (size_t)(notary_image_end - notary_image);
	auto_close int made = memfd_create("pinfold-notary", MFD_CLOEXEC);
	auto_close int fd = made < 0 ? FD_NONE : fcntl(made, F_DUPFD_CLOEXEC, PROGRAM_FD_MIN);

	if (fd < 0 || fd_write_all(fd, notary_image, len) < 0)
		return err_sys(e, "the notary's program");
	return take_fd(&fd);
}

/* A threaded program may ask, so it is spawned: no fork of ours runs on. */
static int spawn(int image, int socket, int dir, pid_t *ret, struct err *e)
{
	char *const argv[] = {"pinfold-notary", NULL}, *const envp[] = {NULL};
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	sigset_t none;
	char path[32];

	(void)sigemptyset(&none);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
	(void)posix_spawn_file_actions_init(&act);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawn_file_actions_adddup2(&act, socket, 0);
	if (dir >= 0)
		(void)posix_spawn_file_actions_adddup2(&act, dir, NOTARY_DIR_FD);
	(void)posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_RDWR, 0);
	(void)posix_spawn_file_actions_adddup2(&act, 1, 2);
	errno = posix_spawn(ret, path, &act, &attr, argv, envp);
	(void)posix_spawn_file_actions_destroy(&act);
	(void)posix_spawnattr_destroy(&attr);
	return errno ? err_sys(e, "start the notary") : 0;
}

int notary_start(struct notary *n, int dir, struct err *e)
{
	int pair[2];
	auto_close int image = program(e);

	assert(n->pid == 0);
	if (image < 0)
		return -EIO;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socket");
	int r = spawn(image, pair[1], dir, &n->pid, e);
	(void)close(pair[1]);
	if (r < 0) {
		n->pid = 0;
		(void)close(pair[0]);
		return r;
	}
	n->fd = pair[0];
	return 0;
}

void notary_end(struct notary *n)
{
	fd_close(&n->fd);
	if (n->pid > 0)
		while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
			;
	n->pid = 0;
}

/* What is longer than a packet goes in several. */
static ssize_t send_all(int fd, struct notary_ask *what, const char *data, size_t len)
{
	struct iovec part[2] = {{what, sizeof(*what)}};
	struct msghdr msg = {.msg_iov = part, .msg_iovlen = 2};
	ssize_t got = 0;

	do {
		size_t n = len < NOTARY_PACKET ? len : NOTARY_PACKET;

		part[1] = (struct iovec){(void *)(uintptr_t)data, n};
		do
			got = sendmsg(fd, &msg, MSG_NOSIGNAL);
		while (got < 0 && errno == EINTR);
		part[0].iov_len = 0; /* the head is in the first */
		data += n;
		len -= n;
	} while (got >= 0 && len);
	return got;
}

static int ask(struct notary *n, struct notary_ask *what, const void *data, size_t len,
	       struct notary_answer *ret, struct err *e)
{
	ssize_t got;

	assert(n->pid > 0);
	if (len > NOTARY_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u bytes to be signed", NOTARY_BYTES_MAX);
	what->len = (uint32_t)len;
	if (send_all(n->fd, what, data ? data : "", len) < 0)
		return err_sys(e, "ask the notary");
	do
		got = recv(n->fd, ret, sizeof(*ret), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(*ret))
		return err_set(e, ERR_INTERNAL, "the notary has died");
	if (ret->result < 0) {
		errno = -ret->result;
		return err_sys(e, "the ledger's key");
	}
	return ret->result;
}

int notary_make(struct notary *n, struct public_key *ret, struct err *e)
{
	struct notary_ask what = {.op = NOTARY_MAKE};
	struct notary_answer answer;
	int r = ask(n, &what, NULL, 0, &answer, e);

	if (r >= 0)
		*ret = answer.key;
	return r;
}

int notary_take(struct notary *n, struct err *e)
{
	struct notary_ask what = {.op = NOTARY_TAKE};
	struct notary_answer answer;

	return ask(n, &what, NULL, 0, &answer, e);
}

int notary_sign(struct notary *n, const void *data, size_t len, struct signature *ret,
		struct public_key *ret_key, struct err *e)
{
	struct notary_ask what = {.op = NOTARY_SIGN};
	struct notary_answer answer;
	int r = ask(n, &what, data, len, &answer, e);

	if (r < 0)
		return r;
	*ret = answer.sig;
	*ret_key = answer.key;
	return 0;
}

int notary_check(struct notary *n, const struct public_key *key, const void *data, size_t len,
		 const struct signature *sig, struct err *e)
{
	struct notary_ask what = {.op = NOTARY_CHECK, .key = *key, .sig = *sig};
	struct notary_answer answer;

	return ask(n, &what, data, len, &answer, e);
}

int notary_check_p256(struct notary *n, const uint8_t key[64], const void *data, size_t len,
		      const uint8_t sig[64], struct err *e)
{
	struct notary_ask what = {.op = NOTARY_CHECK_P256};
	auto_free uint8_t *both = malloc(64 + len);
	struct notary_answer answer;

	if (!both)
		return err_sys(e, "ask the notary");
	static_assert(sizeof(what.sig.byte) == 64, "r and s");
	memcpy(what.sig.byte, sig, sizeof(what.sig.byte));
	memcpy(both, key, 64);
	memcpy(both + 64, data, len);
	return ask(n, &what, both, 64 + len, &answer, e);
}
