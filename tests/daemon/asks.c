/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller who asks the guest of his run for what only a sandbox that lives gives, on the socket by which
 * he hears how his command goes: asks COMMAND... Linked with --wrap=recvmsg, by which he gets hold of it.
 * Prints what the command prints first, and then "open WHAT" for what he was heard about.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <pinfold/pinfold.h>

#include "wire/files.h"
#include "wire/msg.h"

static int control = -1;

ssize_t __real_recvmsg(int sock, struct msghdr *hdr, int flags);
ssize_t __wrap_recvmsg(int sock, struct msghdr *hdr, int flags);

/* The first descriptor that comes is the guest's control socket. */
ssize_t __wrap_recvmsg(int sock, struct msghdr *hdr, int flags)
{
	ssize_t n = __real_recvmsg(sock, hdr, flags);
	const struct cmsghdr *c = n > 0 && hdr->msg_controllen ? CMSG_FIRSTHDR(hdr) : NULL;
	int fd;

	if (control < 0 && c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		control = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	}
	return n;
}

static void send_fds(int sock, const void *data, size_t len, const int *fds, size_t n)
{
	struct iovec iov = {(void *)data, len};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MSG_FDS_MAX * sizeof(int))];
	} room = {.head = {CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n > 0) {
		memcpy(CMSG_DATA(&room.head), fds, n * sizeof(int));
		hdr.msg_control = &room;
		hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	if (sendmsg(sock, &hdr, MSG_NOSIGNAL) < 0)
		perror("send");
}

/* Does anybody answer? Who does not want it hangs up. */
static bool answers(int sock, void *to, size_t len)
{
	struct pollfd pfd = {.fd = sock, .events = POLLIN};

	return poll(&pfd, 1, 60000) == 1 && read(sock, to, len) > 0;
}

/* A file by which the network can be looked at for as long as it is open. */
static void ask_file(int sock)
{
	static const char path[] = "/proc/net/tcp";
	struct {
		struct files_ask head;
		char path[sizeof(path) + 1];
	} ask = {.head = {.magic = FILES_MAGIC,
			  .op = FILES_OPEN,
			  .seq = 1,
			  .path_len = sizeof(path) - 1}};
	struct files_answer answer;

	memcpy(ask.path, path, sizeof(path));
	send_fds(sock, &ask, sizeof(ask.head) + sizeof(path) + 1, NULL, 0);
	if (answers(sock, &answer, sizeof(answer)))
		printf("open file: %s\n", strerror(answer.error));
}

/* With as many descriptors as it should have, the last being a socket for the answer. */
static void ask(const char *what, uint32_t kind, size_t n)
{
	struct msg_host msg = {.kind = kind};
	int pair[2], fds[MSG_FDS_MAX];
	char answer[512];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		fds[i] = i + 1 < n ? memfd_create("ask", 0) : pair[1];
	send_fds(control, &msg, sizeof(msg), fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	if (answers(pair[0], answer, sizeof(answer))) {
		printf("open %s\n", what);
		if (kind == MSG_FILES)
			ask_file(pair[0]);
	}
	close(pair[0]);
}

int main(int argc, char **argv)
{
	struct pinfold_run_options options = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error error;
	struct pinfold_event ev;

	(void)argc;
	options.argv = (const char *const *)argv + 1;
	options.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON;
	options.limits = "best-effort";
	if (pinfold_run_start(&options, &run, &error) < 0) {
		fprintf(stderr, "%s: %s (%s)\n", error.code, error.message, error.remedy);
		return 125;
	}
	while (pinfold_run_next(run, -1, &ev) > 0)
		if (ev.kind == PINFOLD_EVENT_STDOUT) {
			fwrite(ev.data, 1, ev.len, stdout);
			break;
		}
	ask("processes", MSG_PROCESSES, 2);
	ask("exec", MSG_EXEC, MSG_FDS_MAX);
	ask("files", MSG_FILES, 1);
	pinfold_run_free(run);
	return 0;
}
