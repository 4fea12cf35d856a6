/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that came from anybody: which are taken, and that the others are closed. */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/discard.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "tap.h"

static bool waits(int fd)
{
	bool r = fd_may_wait(fd);

	close(fd);
	return r;
}

static void kinds(void)
{
	int p[2];

	ok(pipe(p) == 0 && !waits(p[0]) && !waits(p[1]), "a pipe");
	ok(!waits(socket(AF_UNIX, SOCK_STREAM, 0)), "a socket");
	ok(!waits(memfd_create("x", 0)), "memory");
	ok(!waits(open("/dev/null", O_RDONLY)), "a device");
	ok(!waits(open("/", O_RDONLY | O_DIRECTORY)), "a directory");
	ok(!waits(open("/proc/self/exe", O_PATH)), "a file that is only named");
	ok(waits(open("/proc/self/exe", O_RDONLY)), "a file");
}

static void discarded(void)
{
	int fd = open("/proc/self/exe", O_RDONLY), was = fd;

	fd_discard(&fd);
	ok(fd == FD_NONE, "it is no longer ours");
	for (int i = 0; i < 2000 && fcntl(was, F_GETFD) >= 0; i++)
		(void)poll(NULL, 0, 5);
	ok(fcntl(was, F_GETFD) < 0, "and is closed, maybe a moment later");
	fd_discard(&fd);
	ok(fd == FD_NONE, "an empty one stays empty");
}

static void received(void)
{
	int s[2], fds[3] = {0, 0, 0}, sent[3];
	char byte = 0;

	ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) == 0, "a pair of sockets");
	for (int i = 0; i < 3; i++)
		sent[i] = open("/dev/null", O_RDONLY);
	ok(passfd_send(s[0], "a", 1, sent, 3) == 0 &&
		   passfd_receive(s[1], &byte, 1, fds, 3, PASSFD_ANYBODYS) == 3,
	   "devices are taken from anybody");
	for (int i = 0; i < 3; i++)
		fd_close(&fds[i]);
	ok(passfd_send(s[0], "a", 1, sent, 3) == 0 &&
		   passfd_receive(s[1], &byte, 1, fds, 1, 0) == -EPROTO && fds[0] == FD_NONE,
	   "more than there is room for: none");
	ok(passfd_send(s[0], "a", 1, sent, 1) == 0 &&
		   passfd_receive(s[1], &byte, 1, NULL, 0, 0) == -EPROTO,
	   "where none is expected: none");
	close(sent[1]);
	sent[1] = open("/proc/self/exe", O_RDONLY);
	ok(passfd_send(s[0], "a", 1, sent, 2) == 0 &&
		   passfd_receive(s[1], &byte, 1, fds, 3, PASSFD_ANYBODYS) == -EBADMSG &&
		   fds[0] == FD_NONE && fds[1] == FD_NONE,
	   "one file among them: none");
	ok(passfd_send(s[0], "a", 1, sent, 2) == 0 &&
		   passfd_receive(s[1], &byte, 1, fds, 3, 0) == 2,
	   "but from whom we know");
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	for (int i = 0; i < 3; i++)
		close(sent[i]);
	close(s[0]);
	close(s[1]);
}

static void shunned(void)
{
	struct shunned s = {.n = 0};

	ok(!shunned_has(&s, 0), "nobody at first");
	for (unsigned i = 0; i < SHUNNED_MAX + 1; i++)
		shunned_add(&s, 100 + i);
	ok(!shunned_has(&s, 100) && shunned_has(&s, 101) && shunned_has(&s, 100 + SHUNNED_MAX),
	   "the last of them");
}

int main(void)
{
	TAP_RUN(kinds);
	TAP_RUN(discarded);
	TAP_RUN(received);
	TAP_RUN(shunned);
	return tap_done();
}
