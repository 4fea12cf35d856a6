/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside: connects to sockets of the host by abstract name, by path and by address.
 *	sockets NAME PORT PATH...
 * Outside: listens on a path and writes a line to standard output for each connection.
 *	sockets listen PATH
 */
#include "B-doors.h"
#include <arpa/inet.h>
#include <err.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static socklen_t fill(struct sockaddr_un *addr, const char *name, int is_abstract)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(addr->sun_path + is_abstract, sizeof(addr->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)is_abstract +
			   strlen(name));
}

static void serve(const char *path)
{
	struct sockaddr_un addr;
	socklen_t len = fill(&addr, path, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	umask(0);
	if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 8))
		err(1, "%s", path);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		puts("contact");
		fflush(stdout);
		close(client);
	}
}

static int call(const char *name, int is_abstract, int type)
{
	struct sockaddr_un addr;
	socklen_t len = fill(&addr, name, is_abstract);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	int ret = connect(fd, (struct sockaddr *)&addr, len);
	int saved = errno;

	/* Datagrams need no connection, and sendmsg is not seen by the filter. */
	if (ret < 0 && type == SOCK_DGRAM) {
		struct iovec iov = {"x", 1};
		struct msghdr msg = {&addr, len, &iov, 1, NULL, 0, 0};

		ret = sendmsg(fd, &msg, 0) < 0 ? -1 : 0;
	}
	close(fd);
	errno = saved;
	return ret;
}

static int call_tcp(const char *port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)number(port)),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&addr, sizeof(addr));
}

/* Sockets of the host must not even be listed. */
static void look_for(const char *word)
{
	char line[512];
	FILE *f = fopen("/proc/net/unix", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, word))
			door_if("listed", 1, line);
	if (f)
		fclose(f);
	door_if("listed", 0, "");
}

/* One's own must work, of all kinds. */
static void try_own(void)
{
	struct sockaddr_un addr;
	socklen_t len;
	int fd;

	len = fill(&addr, "own", 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	works("own-abstract", bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, 8) == 0 &&
				      call("own", 1, SOCK_STREAM) == 0);
	len = fill(&addr, "/tmp/own", 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	works("own-path", bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, 8) == 0 &&
				  call("/tmp/own", 0, SOCK_STREAM) == 0);
}

int main(int argc, char **argv)
{
	char name[108];

	if (argc == 3 && !strcmp(argv[1], "listen"))
		serve(argv[2]);
	if (argc < 4)
		return 2;
	snprintf(name, sizeof(name), "%s-dgram", argv[1]);
	door("abstract-stream", call(argv[1], 1, SOCK_STREAM));
	door("abstract-dgram", call(name, 1, SOCK_DGRAM));
	door("tcp", call_tcp(argv[2]));
	look_for("canary-");
	for (int i = 3; i < argc; i++)
		if (call(argv[i], 0, SOCK_STREAM) == 0 || call(argv[i], 0, SOCK_DGRAM) == 0)
			door_if("path", 1, argv[i]);
	door_if("path", 0, "");
	try_own();
	return 0;
}
