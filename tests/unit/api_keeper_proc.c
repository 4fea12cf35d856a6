/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's process, with this program in the place of pinfold: it starts what it runs itself.
 * The children say what they were given, and end as they are told.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "api/keeper_int.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "tap.h"

#define HOME "/nowhere/data"

static int sock = FD_NONE;
static pid_t keeper;

/* --- pinfold, as far as we need it ------------------------------------------------------------ */

static void say_descriptors(void)
{
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
}

extern char **environ;

static int be_pinfold(int argc, char **argv)
{
	sigset_t mask;
	int death = 0;

	if (strcmp(argv[1], "rm") == 0) { /* does not listen */
		(void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
		printf("deaf\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (strcmp(argv[1], "info") == 0) { /* waits to be told */
		printf("waits\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **v = environ; *v; v++)
		printf("env %s\n", *v);
	say_descriptors();
	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	(void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
	printf("group %d mask %d death %d\n", getpgrp() == getpid(),
	       sigismember(&mask, SIGTERM) || sigismember(&mask, SIGCHLD), death == SIGTERM);
	fflush(stdout);
	return 7;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct asked {
	int reply, out;
};

static void start_keeper(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	fflush(stdout);
	keeper = fork();
	if (keeper == 0) {
		(void)clearenv();
		(void)setenv("XDG_RUNTIME_DIR", "/run/user/x", 1);
		(void)setenv("SSL_CERT_FILE", "/x.pem", 1);
		(void)setenv("SECRET", "x", 1);
		_exit(keeper_main(pair[1], HOME));
	}
	close(pair[1]);
	sock = pair[0];
}

/* Returns its exit status, when its socket was closed. */
static int end_keeper(void)
{
	int status = 0;

	fd_close(&sock);
	(void)waitpid(keeper, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ask_with(const char *const *words, const char *tenant, uint32_t flags, uint32_t grace,
		     int *fds, unsigned n_fds)
{
	static char message[KEEPER_BYTES_MAX];
	struct keeper_head h = {.magic = KEEPER_MAGIC,
				.version = KEEPER_VERSION,
				.flags = flags,
				.grace_ms = grace};
	size_t at = sizeof(h);

	for (; words[h.n_words]; h.n_words++) {
		memcpy(message + at, words[h.n_words], strlen(words[h.n_words]) + 1);
		at += strlen(words[h.n_words]) + 1;
	}
	h.len = (uint32_t)(at - sizeof(h));
	(void)snprintf(h.tenant, sizeof(h.tenant), "%s", tenant);
	memcpy(message, &h, sizeof(h));
	if (passfd_send(sock, message, at, fds, n_fds) < 0)
		diag("cannot send");
}

static struct asked ask(const char *const *words, const char *tenant)
{
	int pair[2], out[2], err[2], in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		exit(1);
	int fds[4] = {pair[1], in, out[1], err[1]};
	ask_with(words, tenant, 0, 0, fds, 4);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	close(err[0]);
	return (struct asked){pair[0], out[0]};
}

static struct keeper_reply reply_of(struct asked *a)
{
	struct keeper_reply r = {0};
	struct pollfd p = {.fd = a->reply, .events = POLLIN};

	if (poll(&p, 1, 20000) > 0)
		(void)passfd_receive(a->reply, &r, sizeof(r), NULL, 0, MSG_DONTWAIT);
	close(a->reply);
	close(a->out);
	return r;
}

static const char *read_all(int fd, char *to, size_t size)
{
	size_t n = 0;

	(void)fd_read_max(fd, to, size - 1, &n);
	to[n] = '\0';
	return to;
}

static const char *first_line(int fd, char *to, size_t size)
{
	ssize_t n = read(fd, to, size - 1);

	to[n > 0 ? n : 0] = '\0';
	return to;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void starts(void)
{
	const char *const words[] = {"log", "--json", "demo", NULL};
	char text[4096], own[32];

	start_keeper();
	(void)snprintf(own, sizeof(own), "uid-%u", geteuid());
	struct asked a = ask(words, "alpha");
	is_str(read_all(a.out, text, sizeof(text)),
	       "arg pinfold\narg log\narg --json\narg demo\n"
	       "env PINFOLD_HOME=" HOME "/tenants/alpha\n"
	       "env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
	       "env PINFOLD_LEDGER_SINK=none\n"
	       "env XDG_RUNTIME_DIR=/run/user/x\nenv SSL_CERT_FILE=/x.pem\n"
	       "fd 0\nfd 1\nfd 2\ngroup 1 mask 0 death 1\n",
	       "arguments, environment, descriptors and signals, exactly");
	struct keeper_reply r = reply_of(&a);
	is_int(r.outcome, KEEPER_ENDED, "its end is told");
	is_int(r.status, 7, "with its status");
	a = ask(words, own);
	has_str(read_all(a.out, text, sizeof(text)), "env PINFOLD_HOME=" HOME "\n",
		"who runs the daemon has its data directory");
	(void)reply_of(&a);
	is_int(end_keeper(), 0, "the keeper ends with its socket");
}

static void starts_programs(void)
{
	const char *const words[] = {"exec", "--lang=bash", "demo", "--", "x", NULL};
	int pair[2], out[2], err[2], result[2],
		text_fd = memfd_create("t", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	char text[4096];

	start_keeper();
	(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	ok(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 &&
		   pipe2(result, O_CLOEXEC) == 0,
	   "pipes");
	(void)fcntl(text_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW);
	int fds[6] = {pair[1], open("/dev/null", O_RDONLY | O_CLOEXEC), out[1], err[1], result[1],
		      text_fd};
	ask_with(words, "alpha", KEEPER_RESULT | KEEPER_PROGRAM, 0, fds, 6);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	read_all(out[0], text, sizeof(text));
	has_str(text,
		"arg exec\narg --result-fd=3\narg --code-fd=4\narg --lang=bash\narg demo\narg --\narg x\n",
		"the keeper's own options come first");
	has_str(text, "fd 2\nfd 3\nfd 4\ngroup", "and their descriptors are there");
	close(err[0]);
	close(result[0]);
	struct asked a = {pair[0], out[0]};
	is_int(reply_of(&a).status, 7, "it ended");
	(void)end_keeper();
}

static void refuses_descriptors(void)
{
	const char *const words[] = {"log", "--json", "demo", NULL};
	char path[] = "/tmp/keeper-unit.XXXXXX";
	int file = mkstemp(path), pair[2], p[2];

	(void)unlink(path);
	start_keeper();
	ok(pipe2(p, O_CLOEXEC) == 0, "a pipe");
	for (int bad = 1; bad < 4; bad++) {
		(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
		int fds[4] = {pair[1], p[0], p[1], p[1]};

		fds[bad] = file;
		ask_with(words, "alpha", 0, 0, fds, 4);
		close(pair[1]);
		struct asked a = {pair[0], dup(p[0])};
		struct keeper_reply r = reply_of(&a);
		is_int(r.outcome, KEEPER_REFUSED, "a file where a pipe should be");
	}
	const char *const program[] = {"exec", "--lang=bash", "demo", "--", NULL};
	(void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	int fds[6] = {pair[1], p[0], p[1], p[1], p[1], file};
	ask_with(program, "alpha", KEEPER_RESULT | KEEPER_PROGRAM, 0, fds, 6);
	close(pair[1]);
	struct asked a = {pair[0], dup(p[0])};
	is_int(reply_of(&a).outcome, KEEPER_REFUSED, "a program that can still change");
	close(p[0]);
	close(p[1]);
	close(file);
	is_int(end_keeper(), 0, "and goes on");
}

static void refuses_requests(void)
{
	const char *const serve[] = {"serve", NULL}, *const dir[] = {"new", "--dir=/etc", "x",
								     NULL};

	start_keeper();
	struct asked a = ask(serve, "alpha");
	struct keeper_reply r = reply_of(&a);
	is_int(r.outcome, KEEPER_REFUSED, "a verb that is not served");
	has_str(r.text, "serve", "and says which");
	a = ask(dir, "alpha");
	is_int(reply_of(&a).outcome, KEEPER_REFUSED, "an option that names the host");
	a = ask(dir + 2, "../alpha");
	is_int(reply_of(&a).outcome, KEEPER_REFUSED, "a tenant that leads elsewhere");
	(void)passfd_send(sock, "x", 1, NULL, 0);
	const char *const words[] = {"log", "--json", "demo", NULL};
	a = ask(words, "alpha");
	is_int(reply_of(&a).outcome, KEEPER_ENDED, "it serves on");
	(void)end_keeper();
}

static void ends_children(void)
{
	const char *const waits[] = {"info", "--json", "demo", NULL};
	char text[64];

	start_keeper();
	struct asked a = ask(waits, "alpha");
	is_str(first_line(a.out, text, sizeof(text)), "waits\n", "it waits");
	(void)passfd_send(a.reply, "", 1, NULL, 0);
	struct keeper_reply r = reply_of(&a);
	is_int(r.status, 128 + SIGTERM, "a byte ends it");
	a = ask(waits, "alpha");
	first_line(a.out, text, sizeof(text));
	close(a.reply);
	is_int(read(a.out, text, sizeof(text)), 0, "who leaves ends it");
	close(a.out);
	a = ask(waits, "alpha");
	first_line(a.out, text, sizeof(text));
	is_int(end_keeper(), 0, "the keeper's end");
	r = reply_of(&a);
	is_int(r.status, 128 + SIGTERM, "is theirs, and told");
}

static void kills_children(void)
{
	const char *const deaf[] = {"rm", "--json", "demo", NULL};
	char text[64];

	start_keeper();
	struct asked a = ask(deaf, "alpha");
	is_str(first_line(a.out, text, sizeof(text)), "deaf\n", "it does not listen");
	(void)passfd_send(a.reply, "", 1, NULL, 0);
	struct keeper_reply r = reply_of(&a);
	is_int(r.status, 128 + SIGKILL, "it is killed when its grace is over");
	(void)end_keeper();
}

static void has_an_end(void)
{
	const char *const waits[] = {"info", "--json", "demo", NULL};
	struct asked a[KEEPER_CHILDREN_MAX];
	char text[64];
	unsigned up = 0;

	start_keeper();
	for (unsigned i = 0; i < KEEPER_CHILDREN_MAX; i++)
		a[i] = ask(waits, "alpha");
	for (unsigned i = 0; i < KEEPER_CHILDREN_MAX; i++)
		up += strcmp(first_line(a[i].out, text, sizeof(text)), "waits\n") == 0;
	is_int(up, KEEPER_CHILDREN_MAX, "as many as there may be");
	struct asked more = ask(waits, "alpha");
	is_int(reply_of(&more).outcome, KEEPER_BUSY, "one more is refused");
	close(a[0].reply);
	is_int(read(a[0].out, text, sizeof(text)), 0, "one ends");
	close(a[0].out);
	/* Its end may be seen after the next request. */
	for (int i = 0; i < 100; i++) {
		more = ask(waits, "alpha");
		struct pollfd p[2] = {{.fd = more.reply, .events = POLLIN},
				      {.fd = more.out, .events = POLLIN}};

		(void)poll(p, 2, 20000);
		if (!(p[0].revents & POLLIN))
			break;
		(void)reply_of(&more);
	}
	is_str(first_line(more.out, text, sizeof(text)), "waits\n", "then there is room");
	is_int(end_keeper(), 0, "all end with the keeper");
	(void)reply_of(&more);
	for (unsigned i = 1; i < KEEPER_CHILDREN_MAX; i++)
		up -= reply_of(&a[i]).outcome == KEEPER_ENDED;
	is_int(up, 1, "and are told");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[0], "pinfold") == 0)
		return be_pinfold(argc, argv);
	TAP_RUN(starts);
	TAP_RUN(starts_programs);
	TAP_RUN(refuses_descriptors);
	TAP_RUN(refuses_requests);
	TAP_RUN(ends_children);
	TAP_RUN(kills_children);
	TAP_RUN(has_an_end);
	return tap_done();
}
