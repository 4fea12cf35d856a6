/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's way out. The policy is decided here, before anything is made; a gate (egress/gate.c), a
 * process of its own, holds every connection against it. There is one gate for all runs of a
 * process, from the first that has a policy to the end of the last: no sandbox waits for one that
 * needs none.
 */
#include <fcntl.h>
#include <pinfold/policy.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/command.h"
#include "egress/preset.h"
#include "egress/source.h"
#include "egress/synthetic.h"
#include "engine/egress_live.h"
#include "engine/egress_record.h"
#include "engine/guard.h"
#include "sandbox/spawn.h"
#include "wire/gate.h"

/* For the gate to tell the rest of a run, which is on record: it may get no processor for seconds. One that is gone is
 * noticed at once. */
#define LAST_WORDS_MS 20000
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static struct {
	pthread_mutex_t lock;
	struct sandbox process;
	unsigned users;
	bool is_kept; /* from before this process gave up the right to start another */
} the_gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .process = SANDBOX_INIT};

/* It says something, or is gone. */
static bool has_word(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&pfd, 1, LAST_WORDS_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* It ends by itself when nobody holds the other end of its socket. */
static void end_gate(void)
{
	struct sandbox *p = &the_gate.process;

	fd_close(&p->control);
	if (p->pid > 0) {
		if (!has_word(p->pidfd))
			sandbox_kill(p);
		while (waitpid(p->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	fd_close(&p->pidfd);
	*p = (struct sandbox)SANDBOX_INIT;
}

static bool is_gone(void)
{
	struct pollfd pfd = {.fd = the_gate.process.pidfd, .events = POLLIN};

	return the_gate.process.pid <= 0 || poll(&pfd, 1, 0) != 0;
}

/* Counts us in, also when it fails. Sends to a gate that runs. */
static int use_gate(const struct gate_open *msg, const int fds[GATE_OPEN_FDS_MAX], struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&the_gate.lock);
	the_gate.users++;
	if (is_gone() && the_gate.is_kept) {
		(void)err_set(e, ERR_INTERNAL,
			      "the gate, by which the network is reached, is not there");
		r = err_remedy(e, "restart the daemon");
	} else if (is_gone()) {
		end_gate(); /* one that died is not missed by who had it: his connections broke */
		r = sandbox_spawn_gate(&the_gate.process, e);
	}
	if (r >= 0)
		r = passfd_send(the_gate.process.control, msg, sizeof(*msg), fds,
				GATE_OPEN_FDS_MAX);
	pthread_mutex_unlock(&the_gate.lock);
	if (r < 0 && !e->text[0]) {
		errno = -r;
		(void)err_sys(e, "talk to the gate");
	}
	return r;
}

int pinfold_gate_keep(struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	pthread_mutex_lock(&the_gate.lock);
	int r = is_gone() ? sandbox_spawn_gate(&the_gate.process, &e) : 0;
	if (!the_gate.is_kept) {
		the_gate.is_kept = true; /* also without one: none is started later */
		the_gate.users++;
	}
	pthread_mutex_unlock(&the_gate.lock);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

int pinfold_presets_keep(struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	int r = preset_keep(&e);

	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

void gate_leave(void)
{
	pthread_mutex_lock(&the_gate.lock);
	if (--the_gate.users == 0)
		end_gate();
	pthread_mutex_unlock(&the_gate.lock);
}

static int sealed(const char *name, const void *data, size_t len, int *ret_fd, struct err *e)
{
	auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fd_write_all(fd, data, len) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys(e, "%s", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

int policy_file(const struct policy *p, int *ret_fd, struct err *e)
{
	auto_free void *block = NULL;
	size_t len = 0;

	if (policy_pack(p, &block, &len, e) < 0)
		return -EINVAL;
	return sealed("policy", block, len, ret_fd, e);
}

int policy_of_file(int fd, struct policy **ret, struct err *e)
{
	struct stat st;

	if (fd < 0 || (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size <= 0 || (uint64_t)st.st_size > POLICY_PACK_MAX)
		return err_set(e, ERR_INVALID, "malformed policy");
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "policy");
	int r = policy_unpack(p, (size_t)st.st_size, ret, e);
	(void)munmap(p, (size_t)st.st_size);
	return r;
}

/* What use_gate() will be given. */
static void note_opening(struct pinfold_run *run, const struct gate_open *msg, int *policy,
			 int *intake, int *reports, int *more[3])
{
	int *fds = run->opening.fds;

	run->opening.due = true;
	run->opening.msg = *msg;
	fds[0] = take_fd(policy);
	fds[1] = take_fd(intake);
	fds[2] = take_fd(reports);
	unsigned n = GATE_OPEN_FDS;
	for (unsigned i = 0; i < 3; i++)
		if (*more[i] >= 0)
			fds[n++] = take_fd(more[i]);
	while (n < GATE_OPEN_FDS_MAX)
		fds[n++] = FD_NONE;
}

static void forget_opening(struct pinfold_run *run)
{
	for (unsigned i = 0; run->opening.due && i < GATE_OPEN_FDS_MAX; i++)
		fd_close(&run->opening.fds[i]);
	run->opening.due = false;
}

int egress_open(struct pinfold_run *run, struct err *e)
{
	if (!run->opening.due)
		return 0;
	run->uses_gate = true;
	int r = use_gate(&run->opening.msg, run->opening.fds, e);
	forget_opening(run);
	return r < 0 ? r : egress_record_begin(run, e);
}

int egress_begin(struct pinfold_run *run, struct err *e)
{
	int r = egress_prepare(run, e);

	return r < 0 ? r : egress_open(run, e);
}

int egress_prepare(struct pinfold_run *run, struct err *e)
{
	struct request *req = &run->req;
	struct gate_open msg = {.magic = GATE_MAGIC, .version = GATE_VERSION};
	const char *resolver = getenv("PINFOLD_RESOLVER");
	auto_close int policy = FD_NONE, intake = FD_NONE, reports = FD_NONE, roots = FD_NONE;
	auto_close int secrets = FD_NONE, purse = FD_NONE;
	int pair[2];

	if (!req->spec.egress.n_ports)
		return 0;
	msg.flags = !run->lives || egress_attended() ? GATE_MAY_ASK : 0;
	if (req->spec.egress.inspects)
		msg.flags |= GATE_INSPECTS;
	msg.bytes = req->egress_bytes;
	msg.connections = req->egress_connections;
	msg.requests = req->egress_requests;
	(void)snprintf(msg.sandbox, sizeof(msg.sandbox), "%s", req->spec.id);
	(void)snprintf(msg.resolver, sizeof(msg.resolver), "%s", resolver ? resolver : "");
	run->rows = calloc(GATE_ROWS_MAX, sizeof(*run->rows));
	run->names = calloc(GATE_NAMES_MAX, sizeof(*run->names));
	if (!run->rows || !run->names)
		return err_sys(e, "policy");
	if (policy_file(req->policy, &policy, e) < 0 || roots_file(run, &roots, e) < 0 ||
	    (req->injected && secrets_file(req, &secrets, e) < 0))
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "gate");
	run->gate_end = pair[0];
	intake = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "gate");
	run->reports = pair[0];
	reports = pair[1];
	req->spec.egress.gate = run->gate_end;
	req->spec.egress.is_heard = !run->lives;
	if (req->egress_purse) {
		msg.flags |= GATE_SHARES;
		purse = fcntl(req->egress_purse, F_DUPFD_CLOEXEC, 3);
		if (purse < 0)
			return err_sys(e, "gate");
	}
	run->policy_fd = fcntl(policy, F_DUPFD_CLOEXEC, 3);
	note_opening(run, &msg, &policy, &intake, &reports, (int *[]){&roots, &secrets, &purse});
	/* Its answer is a part of the tree. */
	if (!req->spec.egress.inspects)
		return 0;
	int r = egress_open(run, e);
	return r < 0 ? r : egress_trust(run, e);
}

static void deny(struct pinfold_run *run, const struct gate_report *r, uint64_t before)
{
	struct notify_event ev = {.network = true, .port = r->port, .hint = r->hint};

	(void)snprintf(ev.what, sizeof(ev.what), "%.95s", r->what);
	(void)snprintf(ev.host, sizeof(ev.host), "%.63s", r->host);
	bool by_person = strcmp(r->rule, GATE_RULE_APPROVAL) == 0;
	run_deny_by_gate(run, by_person ? "approval" : "network", &ev, r->what, r->count - before);
}

/* Of a process that handles hostile bytes: its word is shown, and bounded, and nothing more. */
void egress_take(struct pinfold_run *run, struct gate_report *r)
{
	r->host[sizeof(r->host) - 1] = r->rule[sizeof(r->rule) - 1] = '\0';
	r->what[sizeof(r->what) - 1] = r->hint[sizeof(r->hint) - 1] = '\0';
	if (r->row == GATE_ROWS_MAX) {
		run->rows_omitted = r->omitted;
		run->requests_lost = r->count;
	}
	if (r->row == GATE_ROWS_MAX + 1 && r->count >= 1 && r->count <= GATE_NAMES_MAX)
		memcpy(run->names[r->count - 1], r->host, sizeof(r->host));
	if (r->row == GATE_ROWS_MAX + 2)
		egress_ask(run, r);
	if (r->row == GATE_ROWS_MAX + 4)
		egress_ask_withdrawn(run, r);
	if (r->row == GATE_ROWS_MAX + 3)
		egress_noted(run, r);
	if (r->row > run->n_rows || r->row >= GATE_ROWS_MAX || r->verdict > GATE_PENDING)
		return;
	uint64_t before = r->row < run->n_rows ? run->rows[r->row].count : 0;
	if (r->row == run->n_rows)
		run->n_rows++;
	run->rows[r->row] = *r;
	if (r->verdict == GATE_DENIED && r->count > before)
		deny(run, r, before);
}

bool egress_report(struct pinfold_run *run)
{
	struct gate_report r;
	int n = passfd_receive(run->reports, &r, sizeof(r), NULL, 0, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n < 0)
		return false;
	egress_take(run, &r);
	return true;
}

/* Which of our addresses it is: their last bytes count. */
static unsigned number_of(const char *host)
{
	struct address a;

	if (!address_parse(host, strlen(host), &a) || !synthetic_is(&a))
		return 0;
	return a.is_ip6 ? (unsigned)a.bytes[14] << 8 | a.bytes[15]
			: (unsigned)a.bytes[2] << 8 | a.bytes[3];
}

void egress_name(struct pinfold_run *run, struct notify_event *ev)
{
	struct pollfd pfd = {.fd = run->reports, .events = POLLIN};
	unsigned n = run->names ? number_of(ev->host) : 0;

	if (!n || n > GATE_NAMES_MAX)
		return;
	while (!run->names[n - 1][0] && poll(&pfd, 1, 0) == 1 && egress_report(run))
		;
	if (!run->names[n - 1][0])
		return;
	int call = (int)strcspn(ev->what, " ");
	char text[16];

	(void)snprintf(text, sizeof(text), "%.*s", call < 15 ? call : 15, ev->what);
	(void)snprintf(ev->host, sizeof(ev->host), "%.63s", run->names[n - 1]);
	(void)snprintf(ev->what, sizeof(ev->what), "%s %.63s:%u", text, ev->host, ev->port);
}

void egress_end(struct pinfold_run *run)
{
	fd_close(&run->gate_end);
	forget_opening(run);
	egress_share_end(run);
	egress_live_close(run);
	egress_ask_end(run);
	if (run->reports >= 0)
		(void)shutdown(run->reports, SHUT_WR); /* the gate may be gone */
	while (run->reports >= 0 && has_word(run->reports) && egress_report(run))
		;
	fd_close(&run->reports);
	egress_record_end(run);
	free_ptr(&run->certs);
	free_ptr(&run->java_certs);
	if (run->uses_gate)
		gate_leave();
	run->uses_gate = false;
}

/* So that hosts can be allowed later that nobody named now. */
void request_usual_ports(struct request *r)
{
	static const uint16_t usual[] = {80, 443};
	uint16_t *ports = r->spec.egress.ports;
	unsigned n = r->spec.egress.n_ports;

	if (!r->policy || (!policy_has_network(r->policy) && !policy_rules(r->policy)))
		return;
	for (unsigned i = 0; i < 2; i++) {
		unsigned at = 0;

		while (at < n && ports[at] < usual[i])
			at++;
		if ((at < n && ports[at] == usual[i]) || n == POLICY_PORTS_MAX)
			continue;
		memmove(ports + at + 1, ports + at, (n - at) * sizeof(*ports));
		ports[at] = usual[i];
		n++;
	}
	r->spec.egress.n_ports = n;
}

static int check_guard_level(const struct request *r, struct err *e)
{
	if (r->spec.level != LEVEL_LANDLOCK)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "--isolation landlock: the policy has commands");
	return err_remedy(e, "use --isolation strict");
}

static int take_policy(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	bool own = o->flags & PINFOLD_OWN_POLICY, open = o->flags & PINFOLD_OPEN_POLICY;
	bool asked = (o->allow && o->allow[0]) || o->policy || open;
	struct policy_sources s = {
		.allow = o->allow,
		.text = o->policy,
		.text_name = o->policy_name ? o->policy_name : "policy",
		.with_own = own,
		.open = open,
		/* As it was opened: nobody resolves it twice. */
		.project = own && r->spec.dir_fd > 0 ? r->dir_real : NULL,
		.project_fd = r->spec.dir_fd,
	};

	r->approvals = o->approvals;
	r->egress_bytes = o->egress_bytes;
	r->egress_connections = o->egress_connections;
	r->egress_requests = o->egress_requests;
	r->egress_purse = o->egress_purse;
	r->secrets_from = o->secrets;
	(void)snprintf(r->tenant, sizeof(r->tenant), "%s", o->tenant ? o->tenant : "");
	if (!asked && !own)
		return 0;
	if (policy_gather(&s, &r->policy, r->policy_note, e) < 0) {
		/* Other files are named by their own. */
		if (o->policy_name && strncmp(e->text, o->policy_name, strlen(o->policy_name)) == 0)
			(void)err_wrap(e, "--policy");
		return -EINVAL;
	}
	r->spec.guard = guard_of(r->policy);
	if (!asked && policy_is_empty(r->policy) && !r->spec.guard) {
		policy_free(r->policy);
		r->policy = NULL;
		return 0;
	}
	if (r->spec.guard && check_guard_level(r, e) < 0)
		return -EINVAL;
	/* One of commands alone opens no way out. */
	if (asked ? !policy_has_network(r->policy) && !policy_rules(r->policy)
		  : policy_is_empty(r->policy))
		return 0;
	r->records = o->flags & PINFOLD_RECORD;
	if (o->replay && !(r->replays = request_keep(r, strdup(o->replay))))
		return err_sys(e, "recording");
	if (r->records || r->replays)
		policy_look_inside(r->policy);
	r->spec.egress.n_ports = policy_ports(r->policy, r->spec.egress.ports);
	if (!r->spec.egress.n_ports)
		request_usual_ports(r);
	r->spec.egress.inspects = policy_inspects(r->policy);
	return request_secrets(r, e);
}

/* What says something about the way out, where there is none. A tenant's purse narrows all of his
 * runs. */
static int refuse_unused(const struct pinfold_run_options *o, struct err *e)
{
	bool own = !o->egress_purse;
	const char *what = o->replay			  ? "--answers"
			   : own && o->egress_bytes	  ? "--egress-bytes"
			   : own && o->egress_connections ? "--egress-connections"
			   : own && o->egress_requests	  ? "--egress-requests"
							  : NULL;

	if (!what)
		return 0;
	(void)err_set(e, ERR_INVALID, "%s: this run has no policy, and so no network", what);
	return err_remedy(
		e, "say what it may reach with --allow HOST or --policy FILE, or leave %s out",
		what);
}

int request_policy(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	int k = take_policy(r, o, e);

	return k < 0 || r->spec.egress.n_ports ? k : refuse_unused(o, e);
}

int request_ceiling(struct request *r, struct err *e)
{
	auto_policy *p = NULL;

	if (r->policy)
		return 0;
	if (policy_ceilings(&p, e) < 0)
		return -EINVAL;
	r->spec.guard = guard_of(p);
	if (r->spec.guard)
		r->policy = take_ptr(&p);
	return r->spec.guard ? check_guard_level(r, e) : 0;
}
