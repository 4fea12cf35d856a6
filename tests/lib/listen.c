/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners that nothing inside a sandbox may reach: TCP and UDP on the host's 127.0.0.1, a
 * stream and a datagram socket with abstract names. Every contact becomes one line of the log.
 *
 *	listen ABSTRACT_NAME LOG
 *
 * Prints the port once all are open. Dies with its parent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_inet(int type, unsigned short *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons(*port)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		err(1, "listen: inet");
	*port = ntohs(a.sin_port);
	if (type == SOCK_STREAM && listen(fd, 64) < 0)
		err(1, "listen: inet");
	return fd;
}

static int open_abstract(int type, const char *name, const char *suffix)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s%s", name, suffix);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0)
		err(1, "listen: abstract %s%s", name, suffix);
	if (type == SOCK_STREAM && listen(fd, 64) < 0)
		err(1, "listen: abstract");
	return fd;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"tcp", "udp", "abstract stream", "abstract datagram"};
	unsigned short port = 0;
	struct pollfd p[4];
	FILE *log = NULL;

	if (argc != 3)
		errx(1, "usage: listen ABSTRACT_NAME LOG");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_range(3, ~0U, 0);
	log = fopen(argv[2], "ae");
	if (!log)
		err(1, "%s", argv[2]);
	setvbuf(log, NULL, _IOLBF, 0);
	p[0].fd = open_inet(SOCK_STREAM, &port);
	p[1].fd = open_inet(SOCK_DGRAM, &port);
	p[2].fd = open_abstract(SOCK_STREAM, argv[1], "");
	p[3].fd = open_abstract(SOCK_DGRAM, argv[1], "-dgram");
	printf("%u\n", (unsigned)port);
	fclose(stdout);
	for (;;) {
		for (int i = 0; i < 4; i++)
			p[i].events = POLLIN;
		if (poll(p, 4, -1) < 0)
			continue;
		for (int i = 0; i < 4; i++) {
			char byte;

			if (!p[i].revents)
				continue;
			fprintf(log, "contact on %s\n", names[i]);
			if (i % 2 == 1)
				(void)recv(p[i].fd, &byte, 1, 0); /* only to empty the queue */
			else
				close(accept4(p[i].fd, NULL, NULL, SOCK_CLOEXEC));
		}
	}
}
