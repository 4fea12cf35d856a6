/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where we are, in the process: the user who started the daemon, with all his rights; one thread.
 * Open: the socket, and 0 to 2. What comes on it is the warden's word.
 */
#include "engine/news.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pinfold/ledger.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alert/alert.h"
#include "base/fd.h"
#include "base/value.h"
#include "engine/record.h"
#include "wire/link.h"

struct message {
	struct warden_news news;
	uint64_t lost;
};

/* In the words of a run's own end. */
static void set_end(struct value *v, const struct warden_news *n)
{
	static const char *const stops[] = {
		[LINK_STOP_NONE] = NULL,	   [LINK_STOP_MEMORY] = "memory",
		[LINK_STOP_CPU_TIME] = "cpu_time", [LINK_STOP_TIME] = "time",
		[LINK_STOP_CALLER] = "caller",	   [LINK_STOP_ALERT] = "alert",
	};
	const char *why = n->drained				     ? "daemon"
			  : n->stop < sizeof(stops) / sizeof(*stops) ? stops[n->stop]
								     : NULL;
	int st = n->status;

	if (!n->pid)
		value_set(v, "status", value_of_str("ended"));
	else if (n->known && WIFEXITED(st))
		value_set(v, "status", value_of_str("exited"));
	else
		value_set(v, "status", value_of_str(n->known ? "signaled" : "killed"));
	if (n->known && WIFEXITED(st))
		value_set(v, "exit_status", value_of_int(WEXITSTATUS(st)));
	if (n->known && WIFSIGNALED(st))
		value_set(v, "signal", value_of_int(WTERMSIG(st)));
	if (why)
		value_set(v, "why", value_of_str(why));
	else if (!n->pid)
		value_set(v, "why",
			  value_of_str("command")); /* its own ended, or a guest that died */
}

/* Whose it is, where it was made over HTTP: only who serves that has a say in it. */
static const char *tenant_of(const struct warden_news *n)
{
	static const char key[] = "pinfold.tenant=";
	bool theirs = geteuid() != 0 || n->owner == PINFOLD_API_ID;

	return theirs && strncmp(n->label, key, sizeof(key) - 1) == 0 ? n->label + sizeof(key) - 1
								      : NULL;
}

static void set_output(struct value *v, const struct warden_news *n)
{
	static const char *const names[] = {"stdout", "stderr"};
	char hash[HASH_TEXT_SIZE];

	value_set(v, "output_bytes", value_of_u64(n->output_bytes[0] + n->output_bytes[1]));
	for (int i = 0; i < 2; i++) {
		struct value *o = value_object();

		hash_text(n->output_hash[i], hash);
		value_set(o, "bytes", value_of_u64(n->output_bytes[i]));
		value_set(o, "sha256", value_of_str(hash));
		value_set(v, names[i], o);
	}
}

static void set_over(struct value *v, const struct warden_news *n)
{
	set_end(v, n);
	value_set(v, "began", value_of_instant(n->began_ms));
	if (n->ended_ms >= n->began_ms)
		value_set(v, "wall_ms", value_of_u64(n->ended_ms - n->began_ms));
	if (!n->pid && n->alerts)
		value_set(v, "alerts", value_of_int(n->alerts));
	if (!n->pid && n->imported[0])
		value_set(v, "imported", value_of_str(n->imported));
	if (!n->pid)
		return;
	value_set(v, "pid", value_of_int(n->pid));
	value_set(v, "own", value_of_bool(n->own)); /* sandbox.create had it */
	set_output(v, n);
}

static void set_alert(struct value *v, const struct warden_news *n)
{
	value_set(v, "rule", value_of_str(alert_name((enum alert_rule)(n->alert - 1))));
	value_set(v, "what", record_redacted(n->what));
	value_set(v, "action", value_of_str(n->action));
	if (n->pid)
		value_set(v, "pid", value_of_int(n->pid));
}

static void record(const struct message *m)
{
	const struct warden_news *n = &m->news;
	auto_value *v = value_object();
	struct pinfold_error failure;

	if (n->alert)
		set_alert(v, n);
	else
		set_over(v, n);
	value_set(v, "owner", value_of_int(n->owner));
	if (m->lost)
		value_set(v, "lost", value_of_u64(m->lost));
	auto_free char *text = value_text(v, NULL);
	struct pinfold_ledger_event event = {.size = sizeof(event),
					     .kind = n->alert ? "alert"
						     : n->pid ? "sandbox.exited"
							      : "sandbox.ended",
					     .phase = n->alert ? "raised" : "end",
					     .sandbox = n->sandbox,
					     .tenant = tenant_of(n),
					     .data = text};
	/* Without room the ledger counts it itself (ledger/gap.c). */
	if (text && pinfold_ledger_add(&event, &failure) == 0)
		record_settle();
}

static void listen_until_the_end(int fd)
{
	struct message m;

	for (;;) {
		ssize_t n = recv(fd, &m, sizeof(m), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(m))
			return;
		m.news.sandbox[sizeof(m.news.sandbox) - 1] = '\0';
		m.news.label[sizeof(m.news.label) - 1] = '\0';
		m.news.what[sizeof(m.news.what) - 1] = '\0';
		m.news.action[sizeof(m.news.action) - 1] = '\0';
		m.news.imported[sizeof(m.news.imported) - 1] = '\0';
		if (m.news.alert > ALERT_RULES)
			continue;
		record(&m);
	}
}

static void be_recorder(int fd)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	/* Who ends the daemon ends us by that; what was told before is still written. */
	(void)sigaction(SIGTERM, &ignore, NULL);
	(void)sigaction(SIGINT, &ignore, NULL);
	(void)sigaction(SIGHUP, &ignore, NULL);
	(void)prctl(PR_SET_NAME, "pinfold-record", 0, 0, 0);
	if (fd > 3)
		(void)close_range(3, (unsigned)fd - 1, 0);
	(void)close_range((unsigned)fd + 1, ~0u, 0);
	listen_until_the_end(fd);
	_exit(0);
}

void news_start(struct news *n)
{
	struct err none = ERR_INIT;
	auto_close int dir = FD_NONE;
	int ends[2];

	*n = (struct news){.socket = FD_NONE};
	/* Without a ledger nobody is needed. */
	if (record_open(NULL, &dir, &none) < 0 || dir < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		be_recorder(ends[0]);
	}
	(void)close(ends[0]);
	n->socket = ends[1];
	n->process = pid;
	if (pid < 0)
		fd_close(&n->socket);
}

void news_tell(struct news *n, const struct warden_news *one)
{
	struct message m = {.news = *one, .lost = n->lost};

	if (n->socket < 0)
		return;
	if (send(n->socket, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(m))
		n->lost = 0;
	else
		n->lost++;
}

void news_end(struct news *n)
{
	fd_close(&n->socket);
	if (n->process > 0)
		while (waitpid(n->process, NULL, 0) < 0 && errno == EINTR)
			;
	n->process = 0;
}
