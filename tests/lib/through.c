/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before pinfold and makes every run one of a daemon's:
 *
 *	through [-b] [-d] PINFOLD VERB [ARG...]
 *
 * `run` gets --daemon, so that it cannot go on in its own process unseen; with -b --limits
 * best-effort, too, which the daemon of an ordinary user needs. What the daemon has no part in is
 * left alone: other verbs, other levels, with -b --user root, and a run that says itself which.
 *
 * With -d the run gets a daemon of its own, which lives as long: for a run that is started in a
 * world of its own.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct asked {
	bool run, limits, apart;
};

static bool is(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return strncmp(arg, name, n) == 0 && (!arg[n] || arg[n] == '=');
}

/* From the verb on. */
static struct asked look(char **argv, bool user)
{
	struct asked a = {.run = *argv && strcmp(*argv, "run") == 0};

	for (; *argv && strcmp(*argv, "--") != 0; argv++) {
		a.limits |= is(*argv, "--limits");
		a.apart |= is(*argv, "--isolation") || is(*argv, "--daemon") ||
			   is(*argv, "--no-daemon");
		a.apart |= user && is(*argv, "--user") && argv[1] && strcmp(argv[1], "root") == 0;
	}
	return a;
}

/* PINFOLD run ARG...: with what makes it the daemon's. */
static char **through(char **in, int n, struct asked a, bool user)
{
	char **out = calloc((size_t)n + 4, sizeof(*out)), **to = out;

	if (!out)
		err(125, "through");
	*to++ = *in++;
	*to++ = *in++;
	*to++ = "--daemon";
	if (user && !a.limits) {
		*to++ = "--limits";
		*to++ = "best-effort";
	}
	while (*in)
		*to++ = *in++;
	return out;
}

static bool listens(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	bool yes = connect(s, (struct sockaddr *)&to, sizeof(to)) == 0;
	close(s);
	return yes;
}

/* What the daemon says is not what the run says. Returns a pidfd. */
static int serve(char *pinfold, const char *path)
{
	char *argv[] = {pinfold, "serve", "--warm", "1", "--warm-python", "0", NULL};
	const struct timespec step = {0, 10 * 1000 * 1000};
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		execv(pinfold, argv);
		_exit(126);
	}
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	for (int i = 0; i < 1000 && !listens(path); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
	return fd;
}

static int finish(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int with_daemon(char **argv)
{
	char path[100];
	siginfo_t info;

	(void)snprintf(path, sizeof(path), "%.90s.own", getenv("PINFOLD_SOCKET"));
	setenv("PINFOLD_SOCKET", path, 1);
	int daemon = serve(argv[0], path);
	pid_t pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(126);
	}
	int status = finish(pid);
	syscall(SYS_pidfd_send_signal, daemon, SIGTERM, NULL, 0); /* H04 forbids numbers */
	waitid(P_PIDFD, (id_t)daemon, &info, WEXITED);
	return status;
}

int main(int argc, char **argv)
{
	bool user = false, own = false;
	int c;

	while ((c = getopt(argc, argv, "+bd")) != -1) {
		user |= c == 'b';
		own |= c == 'd';
	}
	argv += optind;
	if (!argv[0])
		errx(125, "through: no program");
	struct asked a = look(argv + 1, user);
	if (a.run && !a.apart) {
		argv = through(argv, argc, a, user);
		if (own)
			return with_daemon(argv);
	}
	execv(argv[0], argv);
	err(126, "through: %s", argv[0]);
}
