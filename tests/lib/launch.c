/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts one program the way an unlucky user would: with odd descriptors open and secrets in its
 * environment, as root or as somebody else. Then it waits and writes a report of what it saw.
 *
 *	launch [-u UID] [-d DIR] [-t SECONDS] [-g GRACE_MS] [-r REPORT] [-p PIDFILE]
 *	       [-b DIR -o PLACE] [-c SECRET_FILE -w PUBLIC_FILE -s SECRET]
 *	       [-e KEY=VALUE]... -- PROGRAM [ARG...]
 *
 * With -b and -o the program alone sees DIR in the place of PLACE (needs root).
 *
 * It is a subreaper: whatever the program leaves behind becomes our child, however it was forked,
 * so "nothing is left" is exact and does not depend on names or on what else runs on the host.
 * Report lines: `exit N`, `signal N`, `hung`, `left PID STATE NAME`. Exits like the program.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FD = 3, LAST_FD = 22, ENV_MAX = 64 };

struct options {
	uid_t uid;
	bool set_uid;
	const char *dir;
	double seconds;
	long grace_ms;
	const char *report;
	const char *pidfile;
	const char *bind;
	const char *bind_over;
	const char *secret_file;
	const char *public_file;
	const char *secret;
	char *env[ENV_MAX + 1];
	int envs;
	char **argv;
};

static FILE *report;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double number(const char *text)
{
	char *end = NULL;
	double value = strtod(text, &end);

	if (end == text || *end || value < 0)
		errx(125, "launch: not a number: %s", text);
	return value;
}

static void parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt(argc, argv, "+u:d:t:g:r:p:b:o:c:w:s:e:")) != -1) {
		switch (c) {
		case 'u':
			o->uid = (uid_t)number(optarg);
			o->set_uid = true;
			break;
		case 'd': o->dir = optarg; break;
		case 't': o->seconds = number(optarg); break;
		case 'g': o->grace_ms = (long)number(optarg); break;
		case 'r': o->report = optarg; break;
		case 'p': o->pidfile = optarg; break;
		case 'b': o->bind = optarg; break;
		case 'o': o->bind_over = optarg; break;
		case 'c': o->secret_file = optarg; break;
		case 'w': o->public_file = optarg; break;
		case 's': o->secret = optarg; break;
		case 'e':
			if (o->envs == ENV_MAX)
				errx(125, "launch: more than %d variables", ENV_MAX);
			o->env[o->envs++] = optarg;
			break;
		default: exit(125);
		}
	}
	if (optind == argc)
		errx(125, "launch: no program");
	o->argv = argv + optind;
}

/* Moves fd to the wanted number, without close-on-exec: these are meant to be inherited. */
static void place(int fd, int want)
{
	if (fd < 0) {
		fd = open("/dev/null", O_RDONLY);
		if (fd < 0)
			err(125, "launch: /dev/null");
	}
	if (dup2(fd, want) < 0)
		err(125, "launch: dup2 to %d", want);
}

/* Descriptors 3 to 22. Each kind has leaked from some sandbox; those that hold data hold a canary.
 * What this caller cannot open becomes /dev/null, so that all twenty are always there. */
static void plant_descriptors(const struct options *o)
{
	int fds[LAST_FD - FIRST_FD + 1];
	int pair[2], pipes[2], n = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || pipe(pipes) < 0)
		err(125, "launch: socketpair");
	if (o->secret && (write(pair[0], o->secret, strlen(o->secret)) < 0 ||
			  write(pipes[1], o->secret, strlen(o->secret)) < 0))
		err(125, "launch: write canary");
	fds[n++] = open("/", O_RDONLY | O_DIRECTORY);
	fds[n++] = o->secret_file ? open(o->secret_file, O_RDONLY) : -1;
	fds[n++] = o->public_file ? open(o->public_file, O_RDWR) : -1;
	fds[n++] = pipes[0];
	fds[n++] = pipes[1];
	fds[n++] = pair[0];
	fds[n++] = pair[1];
	fds[n++] = open("/", O_PATH);
	fds[n++] = memfd_create("canary", 0);
	fds[n++] = eventfd(1, 0);
	fds[n++] = epoll_create1(0);
	fds[n++] = inotify_init();
	fds[n++] = open("/proc/self/ns/net", O_RDONLY);
	fds[n++] = open("/proc/self/ns/mnt", O_RDONLY);
	fds[n++] = open("/proc", O_RDONLY | O_DIRECTORY);
	fds[n++] = (int)syscall(SYS_pidfd_open, getppid(), 0);
	fds[n++] = socket(AF_INET, SOCK_STREAM, 0);
	fds[n++] = open("/etc", O_RDONLY | O_DIRECTORY);
	fds[n++] = open("/dev/zero", O_RDWR);
	fds[n++] = open("/root", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < n; i++) {
		/* Out of the way first: the numbers wanted are still in use by each other. */
		if (fds[i] >= 0)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
	}
	for (int i = 0; i < n; i++)
		place(fds[i], FIRST_FD + i);
	close_range(LAST_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static void become(uid_t uid)
{
	struct passwd *pw = getpwuid(uid);

	if (!pw)
		errx(125, "launch: no user with id %u", (unsigned)uid);
	if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 || setuid(uid) < 0)
		err(125, "launch: become %s", pw->pw_name);
}

/* In DIR/real-proc, where there is one, is the true /proc: what stands in for it may lead there. */
static void replace(const char *dir, const char *place)
{
	char real[PATH_MAX];

	snprintf(real, sizeof(real), "%s/real-proc", dir);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    (access(real, F_OK) == 0 && mount("proc", real, "proc", 0, NULL) < 0) ||
	    mount(dir, place, NULL, MS_BIND | MS_REC, NULL) < 0)
		err(125, "launch: %s over %s", dir, place);
}

static void start(struct options *o, const sigset_t *unblock)
{
	if (o->secret || o->secret_file)
		plant_descriptors(o);
	if (o->bind && o->bind_over)
		replace(o->bind, o->bind_over);
	if (o->set_uid)
		become(o->uid);
	if (o->dir && chdir(o->dir) < 0)
		err(125, "launch: chdir %s", o->dir);
	sigprocmask(SIG_UNBLOCK, unblock, NULL);
	execve(o->argv[0], o->argv, o->env);
	err(errno == ENOENT ? 127 : 126, "launch: %s", o->argv[0]);
}

/* The children of one process, as the kernel lists them. Returns how many were stored. */
static int children_of(pid_t pid, pid_t *pids, int max)
{
	char path[64];
	FILE *f = NULL;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (n < max && fscanf(f, "%d", &pids[n]) == 1)
		n++;
	fclose(f);
	return n;
}

static void describe(pid_t pid)
{
	char path[64], line[256] = "gone";
	FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = 0;
	fprintf(report, "left %d %.80s\n", pid, line);
}

/* Who settles the store waits for the disk, which others may keep busy. */
static bool settles(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = 0;
	if (f)
		fclose(f);
	return strcmp(name, "pinfold-settle\n") == 0;
}

/* Reaps until nobody is left or the time is over; then names and kills who is: whoever would stay stays longer
 * than that, while who is on his way out gets no processor on a busy machine. Who settles goes on
 * as long as other calls have something to settle, which is not this one's to wait for. */
static void sweep(long grace_ms)
{
	double until = now() + (double)grace_ms / 1e3;
	const struct timespec step = {0, 5 * 1000 * 1000};
	bool named = false;
	pid_t pids[256];

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0)
			continue;
		if (now() >= until) {
			int n = children_of(getpid(), pids, 256), left = 0;

			for (int i = 0; i < n; i++) {
				if (settles(pids[i]))
					continue;
				left++;
				if (!named)
					describe(pids[i]);
				kill(pids[i], SIGKILL);
			}
			named = named || left > 0;
			if (n > 0 && left == 0 && now() >= until + 60)
				return;
		}
		clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
	}
}

/* Waits for the program itself; orphans that reach us meanwhile stay for sweep(). */
static int await(pid_t pid, double seconds, const sigset_t *signals)
{
	double until = now() + seconds;
	bool hung = false;

	for (;;) {
		struct timespec step = {0, 100 * 1000 * 1000};
		siginfo_t info = {0};
		int status = 0;

		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (!hung && now() >= until) {
			fprintf(report, "hung\n");
			kill(pid, SIGKILL);
			hung = true;
		}
		if (sigtimedwait(signals, &info, &step) == SIGTERM)
			kill(pid, getppid() == 1 ? SIGKILL : SIGTERM);
	}
}

static int finish(int status)
{
	if (WIFSIGNALED(status)) {
		fprintf(report, "signal %d\n", WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	fprintf(report, "exit %d\n", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct options o = {.seconds = 60, .grace_ms = 20000, .report = "/dev/null"};
	sigset_t signals;
	int status;
	pid_t pid;

	close_range(3, ~0U, 0);
	parse(argc, argv, &o);
	report = fopen(o.report, "ae");
	if (!report)
		err(125, "launch: %s", o.report);
	setvbuf(report, NULL, _IOLBF, 0);
	/* A terminal's Ctrl-C reaches the program by itself; only an addressed SIGTERM is
	 * passed. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A test that is killed takes its sandboxes with it. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	pid = fork();
	if (pid < 0)
		err(125, "launch: fork");
	if (pid == 0)
		start(&o, &signals);
	if (o.pidfile) {
		FILE *f = fopen(o.pidfile, "we");

		if (!f || fprintf(f, "%d\n", pid) < 0 || fclose(f))
			err(125, "launch: %s", o.pidfile);
	}
	status = finish(await(pid, o.seconds, &signals));
	sweep(o.grace_ms);
	return status;
}
