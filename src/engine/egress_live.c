/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox may reach, changed while it runs. Who holds its way out has a datagram socket in
 * the data directory, gates/ID.sock; a question comes with a socket to answer on, and with the
 * packed policy where one is to be set. It goes on to the gate with that socket, so that who asked
 * hears from the gate itself that it holds.
 *
 *	SHOW	the packed policy and a document, two memfds
 *	SET	struct gate_taken
 *
 * The directory is the user's own, and the kernel says whose a question is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/passfd.h"
#include "egress/command.h"
#include "engine/egress_live.h"
#include "engine/guard.h"
#include "warden/place.h"

#define BOX_NAME "gates"
#define MAGIC 0x70666c70u
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

struct question {
	uint32_t magic, op;
};

static int open_box(struct err *e)
{
	char path[4096 + 16], data[4096];
	struct stat st;

	if (place_data(data, sizeof(data), e) < 0)
		return -EINVAL;
	if (snprintf(path, sizeof(path), "%s/" BOX_NAME, data) >= (int)sizeof(path))
		return err_set(e, ERR_INVALID, "the data directory's path is too long");
	if (place_make(path, e) < 0)
		return -EIO;
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(e, ERR_DENIED, "%s is not ours alone", path);
	return take_fd(&fd);
}

/* By way of the descriptor: a path may be longer than an address holds. */
static void address_of(int box, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%.64s", box, name);
}

static int reach(int box, const char *name)
{
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;

	address_of(box, name, &at);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Of processes that died. */
static void sweep(int box)
{
	int copy = openat(box, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;

	if (!dir) {
		fd_close(&copy);
		return;
	}
	while ((d = readdir(dir))) {
		auto_close int fd = strncmp(d->d_name, "sbx", 3) == 0 ? reach(box, d->d_name) : 0;

		if (fd == -ECONNREFUSED)
			(void)unlinkat(box, d->d_name, 0);
		fd = fd > 0 ? fd : FD_NONE;
	}
	(void)closedir(dir);
}

void egress_live_open(struct pinfold_run *run)
{
	struct err ignored = ERR_INIT; /* who cannot have one is asked in his own process alone */
	auto_close int box = run->uses_gate ? open_box(&ignored) : FD_NONE;
	auto_close int fd = FD_NONE;
	struct sockaddr_un at;
	char name[48];
	int one = 1;

	if (box < 0)
		return;
	sweep(box);
	(void)snprintf(name, sizeof(name), "%.31s.sock", run->req.spec.id);
	address_of(box, name, &at);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0) {
		(void)unlinkat(box, name, 0);
		return;
	}
	run->changes = take_fd(&fd);
	run->changes_box = take_fd(&box);
}

void egress_live_close(struct pinfold_run *run)
{
	char name[48];

	(void)snprintf(name, sizeof(name), "%.31s.sock", run->req.spec.id);
	if (run->changes_box >= 0)
		(void)unlinkat(run->changes_box, name, 0);
	fd_close(&run->changes);
	fd_close(&run->changes_box);
	fd_close(&run->policy_fd);
}

static bool is_among(const char *name, const char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* What was put inside when it was made cannot be put there now. */
static int check_change(const struct pinfold_run *run, const struct policy *p, struct err *e)
{
	const char *had[SECRET_SET_MAX], *wants[SECRET_SET_MAX];
	unsigned n_had = policy_secrets(run->req.policy, had, SECRET_SET_MAX);
	unsigned n = policy_secrets(p, wants, SECRET_SET_MAX);

	if (policy_inspects(p) && !run->req.spec.egress.inspects) {
		(void)err_set(
			e, ERR_CONFLICT,
			"the policy looks into https, and this sandbox was made without that");
		return err_remedy(e, "make one with a rule that names methods, paths or protocol "
				     "https");
	}
	if (guard_of(p) > run->req.spec.guard) {
		(void)err_set(e, ERR_CONFLICT,
			      "commands: this sandbox was made without rules of this kind");
		return err_remedy(e, "make one with a policy that has them");
	}
	for (unsigned i = 0; i < n && i < SECRET_SET_MAX; i++)
		if (!is_among(wants[i], had, n_had)) {
			(void)err_set(e, ERR_CONFLICT,
				      "inject: this sandbox was made without the secret %.63s",
				      wants[i]);
			return err_remedy(e, "make one with a policy that injects it");
		}
	return 0;
}

static int pass_on(struct pinfold_run *run, int policy, int reply, struct err *e)
{
	const struct gate_answer m = {.magic = GATE_MAGIC, .answer = GATE_POLICY};
	auto_policy *p = NULL;

	if (policy_of_file(policy, &p, e) < 0 || check_change(run, p, e) < 0)
		return -EINVAL;
	const int fds[] = {policy, reply};
	int r = passfd_send(run->reports, &m, sizeof(m), fds, 2);
	if (r < 0)
		return err_set(e, ERR_INTERNAL, "the gate of this sandbox is gone");
	int kept = fcntl(policy, F_DUPFD_CLOEXEC, 3);
	if (kept >= 0) {
		fd_close(&run->policy_fd);
		run->policy_fd = kept;
	}
	if (run->guard)
		guard_change(run, take_ptr(&p));
	return 0;
}

/* `named`: rules have names, commands have none. */
static void write_line(struct json *j, const struct policy_line *line, bool named)
{
	json_open(j, NULL, '{');
	json_str(j, "action", egress_action_name(line->action));
	if (named)
		json_bytes(j, "name", line->name, strlen(line->name));
	json_bytes(j, "text", line->text, strlen(line->text));
	json_bytes(j, "source", line->source, strlen(line->source));
	json_u64(j, "line", line->line);
	json_bool(j, "ceiling", line->is_ceiling);
	json_close(j, '}');
}

static void write_rules(struct json *j, const struct policy *p)
{
	struct policy_line line;

	json_open(j, "rules", '[');
	for (unsigned i = 0; p && policy_line(p, i, &line); i++)
		write_line(j, &line, true);
	json_close(j, ']');
	json_open(j, "commands", '[');
	for (unsigned i = 0; p && policy_command_line(p, i, &line); i++)
		write_line(j, &line, false);
	json_close(j, ']');
}

static int document(const struct pinfold_run *run, struct err *e)
{
	auto_close int fd = memfd_create("policy", MFD_CLOEXEC);
	struct err ignored = ERR_INIT;
	auto_policy *p = NULL;
	struct json j;

	if (fd < 0)
		return err_sys(e, "policy");
	(void)policy_of_file(run->policy_fd, &p, &ignored); /* it was taken once */
	json_init(&j, fd);
	json_open(&j, NULL, '{');
	json_str(&j, "sandbox", run->req.spec.id);
	json_open(&j, "ports", '[');
	for (unsigned i = 0; i < run->req.spec.egress.n_ports; i++)
		json_u64(&j, NULL, run->req.spec.egress.ports[i]);
	json_close(&j, ']');
	json_bool(&j, "inspects", run->req.spec.egress.inspects);
	write_rules(&j, p);
	result_network(&j, run);
	json_close(&j, '}');
	return json_end(&j) < 0 ? err_sys(e, "policy") : take_fd(&fd);
}

int egress_live_answer(struct pinfold_run *run, enum live_op op, int policy, int reply,
		       struct err *e)
{
	struct gate_taken said = {.magic = GATE_MAGIC};

	if (op == LIVE_SET)
		return pass_on(run, policy, reply, e);
	auto_close int doc = document(run, e);
	if (doc < 0)
		return doc;
	const int fds[] = {run->policy_fd, doc};
	return passfd_send(reply, &said, sizeof(said), fds, 2);
}

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(2 * sizeof(int))];
};

static void take_control(struct msghdr *msg, uid_t *ret_uid, int ret_fds[2])
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct ucred who;
		size_t len = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			*ret_uid = who.uid;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			memcpy(ret_fds, CMSG_DATA(c), len < 8 ? len : 8);
		}
	}
}

void egress_live_take(struct pinfold_run *run)
{
	struct question q = {0};
	union control control = {0};
	struct iovec data = {&q, sizeof(q)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct gate_taken said = {.magic = GATE_MAGIC};
	uid_t uid = (uid_t)-1;
	int fds[2] = {FD_NONE, FD_NONE};
	ssize_t n = recvmsg(run->changes, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return;
	take_control(&msg, &uid, fds);
	auto_close int reply = fds[0];
	auto_close int policy = fds[1];
	if (n != (ssize_t)sizeof(q) || q.magic != MAGIC || reply < 0 ||
	    (uid != geteuid() && uid != 0))
		return;
	said.result = egress_live_answer(run, q.op == LIVE_SET ? LIVE_SET : LIVE_SHOW, policy,
					 reply, &said.e);
	if (said.result < 0)
		(void)passfd_send(reply, &said, sizeof(said), NULL, 0); /* he may have gone */
}

int egress_live_ask(const char *id, enum live_op op, int policy, int reply, struct err *e)
{
	const struct question q = {MAGIC, op};
	const int fds[] = {reply, policy};
	struct err ignored = ERR_INIT; /* who has no such directory holds nothing there */
	auto_close int box = open_box(&ignored);
	char name[48];

	(void)snprintf(name, sizeof(name), "%.31s.sock", id);
	auto_close int fd = box < 0 ? FD_NONE : reach(box, name);
	if (fd == -ECONNREFUSED)
		(void)unlinkat(box, name, 0); /* of a process that died */
	if (fd < 0) {
		fd = FD_NONE;
		(void)err_set(e, ERR_CONFLICT, "nobody here holds a way out for %s", id);
		return err_remedy(e,
				  "a policy can be changed where the sandbox was made with one, by "
				  "who made it: one of the HTTP API's there, by its operation "
				  "sandbox.policy.set");
	}
	int r = passfd_send(fd, &q, sizeof(q), fds, 2);
	return r < 0 ? err_set(e, ERR_BUSY, "the process that holds %s does not listen", id) : 0;
}
