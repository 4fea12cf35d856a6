/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs one thing after the other, as it is told on standard input, a line each:
 *
 *	run TEXT	a run that prints TEXT; its answer is the output
 *	exec ID TEXT	the same in the sandbox ID
 *	fork TEXT	two runs by a child and two by us, at the same time; the child prints TEXT, we print it twice
 *	twice TEXT	a run that would take a minute, and what was asked for by the last `run` once more, on the
 *			connection of that: prints what came of the minute
 *	junk		a byte on the connection of the last run
 *	file		a file of ours there, as a request comes with
 *
 * Linked with --wrap=sendmsg, so that we know the connection and what is said on it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pinfold/pinfold.h>

#define FDS 4

static struct {
	int link, fds[FDS];
	char bytes[512];
	size_t len;
} asked = {.link = -1};

ssize_t __real_sendmsg(int sock, const struct msghdr *hdr, int flags);
ssize_t __wrap_sendmsg(int sock, const struct msghdr *hdr, int flags);

/* A request has four descriptors or more; nothing else that we send has. */
ssize_t __wrap_sendmsg(int sock, const struct msghdr *hdr, int flags)
{
	const struct cmsghdr *c = hdr->msg_controllen ? CMSG_FIRSTHDR(hdr) : NULL;
	int fds[FDS];

	if (!c || c->cmsg_len != CMSG_LEN(sizeof(fds)))
		return __real_sendmsg(sock, hdr, flags);
	memcpy(fds, CMSG_DATA(c), sizeof(fds));
	for (int i = 0; i < FDS; i++) {
		if (asked.link >= 0)
			close(asked.fds[i]);
		asked.fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
	}
	asked.link = sock;
	asked.len = hdr->msg_iov[0].iov_len;
	memcpy(asked.bytes, hdr->msg_iov[0].iov_base, asked.len);
	return __real_sendmsg(sock, hdr, flags);
}

static void ask_once_more(const int fds[FDS], int n)
{
	struct iovec iov = {asked.bytes, asked.len};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE((size_t)n * sizeof(int))};

	control.head.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fds, (size_t)n * sizeof(int));
	if (__real_sendmsg(asked.link, &hdr, MSG_NOSIGNAL) < 0)
		perror("ask");
}

static struct pinfold_run *begin(const char *id, const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct pinfold_run_options options = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error error;

	options.argv = argv;
	options.flags = PINFOLD_NO_STDIN | PINFOLD_PROMPT | (id ? 0 : PINFOLD_DAEMON);
	options.limits = "best-effort";
	int r = id ? pinfold_sandbox_exec(id, &options, &run, &error)
		   : pinfold_run_start(&options, &run, &error);
	if (r < 0)
		printf("%s: %s\n", error.code, error.message);
	return r < 0 ? NULL : run;
}

static void end(struct pinfold_run *run)
{
	struct pinfold_event ev;

	while (run && pinfold_run_next(run, -1, &ev) > 0)
		if (ev.kind == PINFOLD_EVENT_STDOUT)
			fwrite(ev.data, 1, ev.len, stdout);
	if (run && pinfold_run_exit_status(run) != 0)
		printf("status %d\n", pinfold_run_exit_status(run));
	pinfold_run_free(run);
	fflush(stdout);
}

static void print(const char *id, const char *text)
{
	char script[300];

	(void)snprintf(script, sizeof(script), "echo %s", text);
	end(begin(id, script));
}

static void fork_and_print(const char *text)
{
	pid_t pid = fork();

	for (int i = 0; i < 2; i++)
		print(NULL, text);
	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
}

static void twice(void)
{
	struct pinfold_run *run = begin(NULL, "exec sleep 60.1313");
	int fds[FDS];

	for (int i = 0; i < FDS; i++)
		fds[i] = fcntl(asked.fds[i], F_DUPFD_CLOEXEC, 3);
	ask_once_more(fds, FDS);
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
	end(run);
}

static void obey(char *line)
{
	char *word = strtok(line, " \n"), *id = NULL;
	int file = -1;

	if (word && strcmp(word, "exec") == 0)
		id = strtok(NULL, " ");
	char *text = strtok(NULL, "\n");
	if (!word)
		return;
	if (strcmp(word, "run") == 0 || strcmp(word, "exec") == 0)
		print(id, text);
	else if (strcmp(word, "fork") == 0)
		fork_and_print(text);
	else if (strcmp(word, "twice") == 0)
		twice();
	else if (strcmp(word, "junk") == 0)
		(void)!send(asked.link, "x", 1, MSG_NOSIGNAL);
	else if (strcmp(word, "file") == 0 && (file = open("/etc/passwd", O_RDONLY)) >= 0)
		ask_once_more((int[FDS]){file, file, file, file}, FDS);
	if (file >= 0)
		close(file);
}

int main(void)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		puts(".");
		fflush(stdout);
	}
	return 0;
}
