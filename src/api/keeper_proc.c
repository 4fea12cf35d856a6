/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's process. Where we are: one thread; the user who started the daemon, with all his
 * rights; the host's namespaces. Open: one socket to the API's process, a signalfd, our own
 * program, and for each child that lives its reply socket. Everything on the socket is hostile
 * (keeper_check.c).
 *
 * A child: started -> told to end (a byte, its reply socket closed, or we end) -> killed when its
 * grace is over -> reaped, and its reply sent.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "api/keeper_int.h"
#include "base/fd.h"
#include "base/hold.h"
#include "base/passfd.h"

#define PATH_STANDARD "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define HOME_MAX 400u
#define ARGS_MAX (KEEPER_WORDS_MAX + 6)
/* Where the child has them; keeper_check.c lets nobody else name a descriptor. */
#define CHILD_RESULT 3
#define CHILD_PROGRAM 4
#define CHILD_QUESTIONS 5

/* Of who started the daemon: where things are, by what his policies are held, where packages are,
 * and what becomes of the record. */
static const char *const passed[] = {"XDG_RUNTIME_DIR",	    "HOME",
				     "XDG_CONFIG_HOME",	    "CREDENTIALS_DIRECTORY",
				     "PINFOLD_CONFIG",	    "PINFOLD_CEILING",
				     "PINFOLD_RESOLVER",    "SSL_CERT_FILE",
				     "PINFOLD_DEPS",	    "PINFOLD_DEPS_AGE",
				     "PINFOLD_DEPS_TIME",   "PIP_INDEX_URL",
				     "PIP_CONFIG_FILE",	    "PIP_TRUSTED_HOST",
				     "PIP_EXTRA_INDEX_URL", "npm_config_registry",
				     "NPM_CONFIG_REGISTRY", "CRAN",
				     "PINFOLD_LEDGER",	    "PINFOLD_LEDGER_SYNC",
				     "PINFOLD_EVIDENCE",    "PINFOLD_DEPS_ARCHIVES"};
#define PASSED (sizeof(passed) / sizeof(passed[0]))

enum { FD_REPLY, FD_IN, FD_OUT, FD_ERR, FD_MORE };

struct child {
	pid_t pid;
	int reply;
	bool told, follows;
	char tenant[TENANT_SIZE];
	uint64_t grace_ms, kill_at_ms; /* 0: not */
};

struct keeper_proc {
	int socket, exe, signals;
	int questions; /* the API's box of them, FD_NONE: it has none */
	pid_t pid;
	bool closing;
	const char *home;
	char own_tenant[TENANT_SIZE];
	struct child child[KEEPER_CHILDREN_MAX];
	unsigned n;
	char message[KEEPER_BYTES_MAX];
	struct keeper_request request;
	const char *argv[ARGS_MAX + 1];
	char environment[1 + PASSED][HOME_MAX + TENANT_SIZE + 64];
	char whose[TENANT_SIZE + 16]; /* --tenant=, --of-tenant= */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void answer(int sock, enum keeper_outcome outcome, int status, const char *text)
{
	struct keeper_reply r = {.magic = KEEPER_MAGIC, .outcome = outcome, .status = status};

	(void)snprintf(r.text, sizeof(r.text), "%.150s", text);
	(void)passfd_send(sock, &r, sizeof(r), NULL, 0); /* who does not read has left */
}

/* A descriptor keeps the rights of who opened it, but what root writes into it may count for
 * more. */
static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static bool is_text(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_WRITE) && (seals & F_SEAL_GROW);
}

static int check_descriptors(const struct keeper_head *h, const int *fds, struct err *e)
{
	unsigned at = FD_MORE;
	bool good = (is_pipe(fds[FD_IN]) || is_null(fds[FD_IN])) && is_pipe(fds[FD_OUT]) &&
		    is_pipe(fds[FD_ERR]);

	if (h->flags & KEEPER_RESULT)
		good = good && is_pipe(fds[at++]);
	if (h->flags & KEEPER_LAYERS)
		good = good && is_socket(fds[at++]);
	if (h->flags & KEEPER_PROGRAM)
		good = good && is_text(fds[at]);
	return good ? 0 : err_set(e, ERR_INVALID, "descriptors of another kind");
}

/* The environment of a child, exactly. */
static void make_environment(struct keeper_proc *k, const char *ret[4 + PASSED])
{
	const char *tenant = k->request.head.tenant;
	bool own = !HOLD_KEEPER_TENANT || k->request.whole || strcmp(tenant, k->own_tenant) == 0;
	unsigned n = 0;

	(void)snprintf(k->environment[0], sizeof(k->environment[0]), "PINFOLD_HOME=%s%s%s", k->home,
		       own ? "" : "/tenants/", own ? "" : tenant);
	ret[n++] = k->environment[0];
	ret[n++] = PATH_STANDARD;
	/* The daemon brings tenants' chains to copies, with its own. */
	if (!own)
		ret[n++] = "PINFOLD_LEDGER_SINK=none";
	for (unsigned i = 0; i < PASSED; i++) {
		const char *value = getenv(passed[i]);

		if (!value || strlen(value) >= HOME_MAX)
			continue;
		(void)snprintf(k->environment[1 + i], sizeof(k->environment[0]), "%s=%s", passed[i],
			       value);
		ret[n++] = k->environment[1 + i];
	}
	ret[n] = NULL;
}

/* Ours come first: what is wrong with the others is then told to the result, too. */
static void make_arguments(struct keeper_proc *k)
{
	const struct keeper_request *q = &k->request;
	unsigned n = 0;

	k->argv[n++] = "pinfold";
	k->argv[n++] = q->words[0];
	if (q->head.flags & KEEPER_RESULT)
		k->argv[n++] = "--result-fd=3";
	if (q->head.flags & KEEPER_LAYERS)
		k->argv[n++] = "--hold-fd=3";
	if (q->head.flags & KEEPER_PROGRAM)
		k->argv[n++] = "--code-fd=4";
	if (q->asks && k->questions >= 0) {
		/* Whoever may answer the tenant's other questions may answer these. */
		(void)snprintf(k->whose, sizeof(k->whose), "--of-tenant=%s", q->head.tenant);
		k->argv[n++] = k->whose;
		k->argv[n++] = "--approvals-fd=5";
	}
	if (q->whole) {
		(void)snprintf(k->whose, sizeof(k->whose), "--tenant=%s", q->head.tenant);
		k->argv[n++] = k->whose;
	}
	for (unsigned i = 1; i < q->n_words; i++)
		k->argv[n++] = q->words[i];
	k->argv[n] = NULL;
}

/* Everything that is passed gets out of the way first: it may have each other's numbers. */
static bool place_descriptors(const struct keeper_head *h, const int *fds)
{
	bool third = h->flags & (KEEPER_RESULT | KEEPER_LAYERS);
	const int place[] = {-1, 0, 1, 2, third ? CHILD_RESULT : CHILD_PROGRAM, CHILD_PROGRAM};
	int high[KEEPER_FDS_MAX];
	unsigned n = keeper_fds(h->flags);

	for (unsigned i = FD_IN; i < n; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
		if (high[i] < 0)
			return false;
	}
	for (unsigned i = FD_IN; i < n; i++)
		if (dup2(high[i], place[i]) < 0)
			return false;
	return true;
}

/* The child, until it is another program. */
static void become(struct keeper_proc *k, const int *fds, const char *const *environment)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	(void)sigemptyset(&none);
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &standard, NULL); /* some cannot be changed */
	(void)setpgid(0, 0); /* what a terminal sends is the daemon's affair */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != k->pid ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(125);
	/* Not one of the numbers that are given out. */
	int exe = fcntl(k->exe, F_DUPFD_CLOEXEC, 16);
	if (exe < 0 || !place_descriptors(&k->request.head, fds) ||
	    (k->request.asks && k->questions >= 0 && dup2(k->questions, CHILD_QUESTIONS) < 0))
		_exit(125);
	(void)syscall(SYS_execveat, exe, "", k->argv, environment, AT_EMPTY_PATH);
	_exit(125);
}

static void start(struct keeper_proc *k, int *fds)
{
	const char *environment[4 + PASSED];
	struct child *c = &k->child[k->n];

	make_environment(k, environment);
	make_arguments(k);
	pid_t pid = fork();
	if (pid == 0)
		become(k, fds, environment);
	if (pid < 0) {
		answer(fds[FD_REPLY], KEEPER_FAILED, 0, strerror(errno));
		return;
	}
	(void)setpgid(pid, pid); /* he does the same; who is first does not matter */
	*c = (struct child){.pid = pid,
			    .reply = take_fd(&fds[FD_REPLY]),
			    .follows = k->request.follows,
			    .grace_ms = k->request.head.grace_ms + KEEPER_GRACE_MORE};
	memcpy(c->tenant, k->request.head.tenant, sizeof(c->tenant));
	k->n++;
}

/* Who follows stays: workspaces must have room beside them, and tenants beside each other. */
static bool has_room(const struct keeper_proc *k, const char **ret_why)
{
	unsigned all = 0, his = 0;

	for (unsigned i = 0; i < k->n; i++) {
		all += k->child[i].follows;
		his += k->child[i].follows &&
		       strcmp(k->child[i].tenant, k->request.head.tenant) == 0;
	}
	*ret_why = his >= KEEPER_FOLLOWERS_EACH ? "this tenant listens to as many streams as it may"
						: "as many streams are listened to as may be";
	return !k->request.follows || (all < KEEPER_FOLLOWERS_MAX && his < KEEPER_FOLLOWERS_EACH);
}

static void take_request(struct keeper_proc *k)
{
	int fds[KEEPER_FDS_MAX];
	struct err e = ERR_INIT;
	const char *why = "";
	size_t len = 0;
	int n = passfd_receive_max(k->socket, k->message, sizeof(k->message), &len, fds,
				   KEEPER_FDS_MAX, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EPROTO)
		return;
	if (n < 0) {
		k->closing = true;
		return;
	}
	if (n > 0 && k->n == KEEPER_CHILDREN_MAX)
		answer(fds[FD_REPLY], KEEPER_BUSY, 0, "");
	else if (keeper_check(k->message, len, (unsigned)n, &k->request, &e) < 0 ||
		 check_descriptors(&k->request.head, fds, &e) < 0)
		answer(n > 0 ? fds[FD_REPLY] : -1, KEEPER_REFUSED, 0, e.text);
	else if (!has_room(k, &why))
		answer(fds[FD_REPLY], KEEPER_BUSY, 0, why);
	else
		start(k, fds);
	while (n > 0)
		fd_close(&fds[--n]);
}

static void tell_end(struct child *c)
{
	if (c->told)
		return;
	c->told = true;
	c->kill_at_ms = now_ms() + c->grace_ms;
	(void)kill(c->pid, SIGTERM); /* not reaped yet: it is ours */
}

/* What was not read when a socket is closed resets the other end, and the answer is lost. */
static void empty(int sock)
{
	char byte;

	/* More than one is none of ours; who sends without end gets no answer. */
	for (int i = 0; i < 16 && recv(sock, &byte, 1, MSG_DONTWAIT) > 0; i++)
		;
}

static void reap(struct keeper_proc *k)
{
	for (unsigned i = 0; i < k->n;) {
		struct child *c = &k->child[i];
		int status = 0;

		if (waitpid(c->pid, &status, WNOHANG) != c->pid) {
			i++;
			continue;
		}
		empty(c->reply);
		answer(c->reply, KEEPER_ENDED,
		       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "");
		fd_close(&c->reply);
		*c = k->child[--k->n];
	}
}

static void take_signals(struct keeper_proc *k)
{
	struct signalfd_siginfo info;

	while (read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		k->closing |= info.ssi_signo == SIGTERM;
	reap(k);
}

/* Whose grace is over goes, with helpers that it started. Returns how long to wait for the next. */
static int kill_late(const struct keeper_proc *k)
{
	uint64_t now = now_ms(), next = UINT64_MAX;

	for (unsigned i = 0; i < k->n; i++) {
		const struct child *c = &k->child[i];

		if (c->kill_at_ms && c->kill_at_ms <= now)
			(void)kill(-c->pid, SIGKILL); /* SIGCHLD follows */
		else if (c->kill_at_ms && c->kill_at_ms < next)
			next = c->kill_at_ms;
	}
	return next == UINT64_MAX ? -1 : (int)(next - now);
}

static void turn(struct keeper_proc *k)
{
	struct pollfd p[KEEPER_CHILDREN_MAX + 2] = {{.fd = k->closing ? -1 : k->socket,
						     .events = POLLIN},
						    {.fd = k->signals, .events = POLLIN}};
	unsigned n = k->n;

	for (unsigned i = 0; i < n; i++) {
		if (k->closing)
			tell_end(&k->child[i]);
		p[i + 2] = (struct pollfd){.fd = k->child[i].told ? -1 : k->child[i].reply,
					   .events = POLLIN};
	}
	if (poll(p, n + 2, kill_late(k)) <= 0)
		return;
	for (unsigned i = 0; i < n; i++)
		if (p[i + 2].revents)
			tell_end(&k->child[i]);
	if (p[1].revents)
		take_signals(k);
	if (p[0].revents)
		take_request(k);
}

static int prepare(struct keeper_proc *k)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t wanted;

	(void)sigaction(SIGCHLD, &standard, NULL); /* ignored, it would reap before us */
	(void)prctl(PR_SET_NAME, "pinfold-keeper", 0, 0, 0);
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigaddset(&wanted, SIGINT); /* of a terminal: the daemon ends, and then we do */
	(void)sigaddset(&wanted, SIGHUP);
	if (k->socket > 3)
		(void)syscall(SYS_close_range, 3, (unsigned)k->socket - 1, 0);
	(void)syscall(SYS_close_range, (unsigned)k->socket + 1, ~0u, 0);
	if (strlen(k->home) > HOME_MAX || k->home[0] != '/' || chdir("/") < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 ||
	    sigprocmask(SIG_SETMASK, &wanted, NULL) < 0)
		return -1;
	/* The file may be replaced while we run. */
	k->exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	k->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	char box[HOME_MAX + 32];
	(void)snprintf(box, sizeof(box), "%s/api/approvals", k->home);
	auto_close int questions = open(box, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* Not one of the numbers that are given out, either. */
	k->questions = questions < 0 ? FD_NONE : fcntl(questions, F_DUPFD_CLOEXEC, 16);
	return k->exe < 0 || k->signals < 0 || fcntl(k->socket, F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

int keeper_main(int socket, const char *home)
{
	struct keeper_proc *k = calloc(1, sizeof(*k));

	if (!k)
		return 1;
	k->socket = socket;
	k->home = home;
	k->pid = getpid();
	(void)snprintf(k->own_tenant, sizeof(k->own_tenant), "uid-%u", (unsigned)geteuid());
	int status = prepare(k) < 0;
	while (!status && (!k->closing || k->n))
		turn(k);
	free(k);
	return status;
}
