/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of HTTP are, from their fork to what they do. */
#include <fcntl.h>
#include <grp.h>
#include <pinfold/approval.h>
#include <pinfold/ledger.h>
#include <pinfold/pinfold.h>
#include <pinfold/policy.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "api/confined.h"
#include "api/keeper.h"
#include "base/fd.h"
#include "base/group.h"
#include "cmd/http_int.h"
#include "mcp/mcp.h"

static int give_up_rights(void)
{
	gid_t group = group_find(HTTP_GROUP);
	gid_t also = group != (gid_t)-1 ? group : PINFOLD_API_ID;

	if (geteuid() == 0 && (setgroups(1, &also) < 0 ||
			       setresgid(PINFOLD_API_ID, PINFOLD_API_ID, PINFOLD_API_ID) < 0 ||
			       setresuid(PINFOLD_API_ID, PINFOLD_API_ID, PINFOLD_API_ID) < 0))
		return -errno;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* For agents that speak HTTP. It ends with the process, so nobody frees it. */
static void mount_mcp(struct api *api, struct server *server, void *arg)
{
	const struct side *s = arg;
	/* A user's daemon may have no control groups; what can be held of the limits is held. */
	struct mcp_options o = {.fixtures = s->config.open,
				.policy = s->mcp_policy,
				.limits = s->root ? NULL : "best-effort"};
	struct err e = ERR_INIT;
	struct mcp *mcp = NULL;

	tools_register();
	if (mcp_new(api, &o, &mcp, &e) < 0)
		(void)fprintf(stderr, "pinfold: MCP: %s\n", e.text);
	else
		mcp_mount(mcp, server);
}

/* Signatures take a program of their own, which who serves may not start. So another process with
 * the same id settles his chain: it hears of each event, and ends when nobody is left to write
 * one. */
static void be_settler(int end)
{
	struct pollfd p[2] = {{.fd = pinfold_ledger_fd(), .events = POLLIN}, {.fd = end}};
	struct pinfold_error error;
	uint64_t n;

	(void)prctl(PR_SET_NAME, "pinfold-settle", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	for (;;) {
		(void)poll(p, 2, -1); /* whatever it says, we look */
		if (read(p[0].fd, &n, sizeof(n)) > 0)
			(void)pinfold_ledger_settle(&error); /* else with the next event */
		else if (p[1].revents)
			_exit(0);
	}
}

static int start_settling(struct side *s, struct err *e)
{
	struct pinfold_ledger_event began = {
		.size = sizeof(began), .kind = "api.start", .phase = "end"};
	struct pinfold_error failure;
	int life[2];

	if (pinfold_ledger_use(s->config.ledger, &failure) < 0 || pinfold_ledger_fd() < 0 ||
	    (!s->config.runner && pinfold_ledger_add(&began, &failure) < 0))
		return err_set(e, ERR_INTERNAL, "%s", failure.message);
	if (pipe2(life, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < s->config.n_listen; i++)
			(void)close(s->config.listen[i].fd);
		(void)close(s->config.keeper);
		(void)close(s->config.orders);
		(void)close(life[1]);
		be_settler(life[0]);
	}
	(void)close(life[0]);
	s->config.settled = true;
	return pid < 0 ? err_sys(e, "fork") : 0; /* life[1] is open as long as we live */
}

/* Later no process can be started. */
static void keep_gate(void)
{
	struct pinfold_error failure;

	if (pinfold_gate_keep(&failure) < 0)
		(void)fprintf(stderr, "pinfold: HTTP: no run can have a network policy: %s\n",
			      failure.message);
}

/* Of the watcher's that are others' affair. */
static void forget_others(struct side *s)
{
	fd_close(&s->leash);
	tls_forget(&s->tls);
	fd_close(&s->api.orders);
	fd_close(&s->next.orders);
	fd_close(&s->runs.orders);
	for (unsigned i = 0; i < ELDERS_MAX; i++)
		fd_close(&s->elder[i].orders);
}

static void close_sockets(struct side *s)
{
	for (unsigned i = 0; i < s->config.n_listen; i++)
		(void)close(s->config.listen[i].fd);
	s->config.n_listen = 0;
}

static void be_api(struct side *s)
{
	struct err e = ERR_INIT;
	char door[32];

	(void)prctl(PR_SET_NAME, s->config.runner ? "pinfold-runs" : "pinfold-api", 0, 0, 0);
	(void)snprintf(door, sizeof(door), "/proc/self/fd/%d", s->door);
	(void)setenv("PINFOLD_SOCKET", door, 1); /* no thread is there yet */
	s->config.mount = mount_mcp;
	s->config.mount_arg = s;
	char artifacts[sizeof(s->home) + 16] = "";
	if (!s->root) {
		(void)snprintf(artifacts, sizeof(artifacts), "%s/artifacts", s->home);
		(void)mkdir(artifacts,
			    0700); /* it is there, or output that is too long is not kept */
	}
	struct pinfold_error ignored; /* then a policy with one is refused */
	(void)pinfold_presets_keep(&ignored);
	int r = give_up_rights();
	if (r >= 0)
		keep_gate();
	if (r < 0)
		(void)err_sys(&e, "give up rights");
	else if (start_settling(s, &e) < 0)
		(void)err_wrap(&e, "the ledger");
	else if (api_confine(&s->config, artifacts, &e) >= 0 && api_serve(&s->config, &e) >= 0)
		_exit(0);
	(void)fprintf(stderr, "pinfold: HTTP: %s%s%s\n", e.text, e.remedy[0] ? "; " : "", e.remedy);
	_exit(1);
}

static void be_keeper(const struct side *s, int socket)
{
	(void)prctl(PR_SET_NAME, "pinfold-keeper", 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	_exit(keeper_main(socket, s->home)); /* it closes all but its socket */
}

static pid_t start_keeper(const struct side *s, int *ret_end)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		be_keeper(s, pair[1]);
	}
	(void)close(pair[1]);
	*ret_end = pair[0];
	return pid;
}

void proc_start(struct side *s, struct proc *p, bool runner)
{
	auto_close int keeper = FD_NONE;
	int pair[2];

	*p = (struct proc)PROC_NONE;
	/* Workspaces are the api's. */
	if (!runner && (p->keeper = start_keeper(s, &keeper)) < 0)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	p->pid = fork();
	if (p->pid == 0) {
		(void)close(pair[0]);
		forget_others(s);
		if (runner)
			close_sockets(s);
		s->config.runner = runner;
		s->config.keeper = keeper;
		s->config.orders = pair[1];
		be_api(s);
	}
	(void)close(pair[1]);
	p->orders = pair[0];
}
