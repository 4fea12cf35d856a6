/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a person: asked, listed, answered once, by who may; gone with the asker. */
#include <fcntl.h>
#include <pinfold/approval.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "tap.h"

#define STRANGER 65534

static char home[] = "/tmp/pinfold-unit-XXXXXX"; /* its ledger, too */
static struct pinfold_error failure;

static int open_box(void)
{
	return pinfold_approvals_open(home, &failure);
}

static struct pinfold_approval *ask_for(int box, uint64_t timeout_ms)
{
	struct pinfold_question q = {.size = sizeof(q),
				     .kind = "network",
				     .what = "GET http://example.org/\x1b[2J",
				     .sandbox = "dev",
				     .timeout_ms = timeout_ms};
	struct pinfold_approval *a = NULL;

	ok(pinfold_approval_ask(box, &q, &a, &failure) == 0, "asked");
	return a;
}

/* Somebody else answers; the exit status says what he was told. */
static pid_t answer_from_child(int box, const char *id, enum pinfold_answer how, uint64_t seconds,
			       uid_t uid)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (uid && (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			_exit(99);
		int r = pinfold_approval_answer(box, id, how, seconds, &failure);
		_exit(r == 0 ? 0 : strncmp(failure.code, "conflict", 8) == 0 ? 1 : 2);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status = 0;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static enum pinfold_answer wait_for(struct pinfold_approval *a, uint64_t *seconds)
{
	struct pollfd p = {.fd = pinfold_approval_fd(a), .events = POLLIN};

	(void)poll(&p, 1, 20000);
	return pinfold_approval_look(a, seconds);
}

static void answered(void)
{
	static const enum pinfold_answer all[] = {PINFOLD_ANSWER_ONCE, PINFOLD_ANSWER_SANDBOX,
						  PINFOLD_ANSWER_FOR, PINFOLD_ANSWER_NO};
	auto_close int box = open_box();

	ok(box >= 0, "a box");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct pinfold_approval *a = ask_for(box, 0);
		uint64_t seconds = 0, want = all[i] == PINFOLD_ANSWER_FOR ? 600 : 0;

		is_int(pinfold_approval_look(a, &seconds), PINFOLD_ANSWER_NONE, "not yet");
		pid_t pid = answer_from_child(box, pinfold_approval_id(a), all[i], want, 0);
		is_int((int)wait_for(a, &seconds), (int)all[i], "the answer");
		is_int((int)seconds, (int)want, "for how long");
		is_int(status_of(pid), 0, "who answered knows that it counted");
		pid = answer_from_child(box, pinfold_approval_id(a), PINFOLD_ANSWER_ONCE, 0, 0);
		is_int((int)wait_for(a, &seconds), (int)all[i], "the first answer counts");
		is_int(status_of(pid), 1, "the second is told so");
		pinfold_approval_free(a);
	}
}

/* Ids are in the order of their milliseconds. */
static void next_millisecond(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_REALTIME, &from);
	do
		clock_gettime(CLOCK_REALTIME, &now);
	while (now.tv_sec == from.tv_sec && now.tv_nsec / 1000000 == from.tv_nsec / 1000000);
}

static void listed(void)
{
	auto_close int box = open_box();
	struct pinfold_approval *one = ask_for(box, 0);
	struct pinfold_approval_info *list = NULL, info;
	size_t n = 0;

	next_millisecond();
	struct pinfold_approval *two = ask_for(box, 0);
	ok(pinfold_approval_list(box, &list, &n, &failure) == 0 && n == 2, "both");
	is_str(list[0].id, pinfold_approval_id(one), "the older one first");
	is_str(list[0].kind, "network", "its kind");
	is_str(list[0].what, "GET http://example.org/\x1b[2J", "what it is about, as it came");
	is_str(list[0].sandbox, "dev", "where");
	ok(list[0].until_ms - list[0].asked_ms == 120000, "two minutes");
	free(list);
	ok(pinfold_approval_get(box, pinfold_approval_id(two), &info, &failure) == 0, "one by id");
	pinfold_approval_free(one);
	pinfold_approval_free(two);
	ok(pinfold_approval_list(box, &list, &n, &failure) == 0 && n == 0, "none is left");
	free(list);
	ok(pinfold_approval_get(box, "../../etc/passwd", &info, &failure) < 0, "no path is an id");
	is_str(failure.code, "not_found.approval", "so it is not found");
}

static void late(void)
{
	auto_close int box = open_box();
	struct pinfold_approval *a = ask_for(box, 1);
	uint64_t seconds = 0;

	is_int((int)wait_for(a, &seconds), PINFOLD_ANSWER_LATE, "nobody answered");
	pid_t pid = answer_from_child(box, pinfold_approval_id(a), PINFOLD_ANSWER_ONCE, 0, 0);
	struct pollfd p = {.fd = pinfold_approval_fd(a), .events = POLLIN};
	int taken = -1;
	while (taken < 0 && poll(&p, 1, 20000) > 0) {
		is_int((int)pinfold_approval_look(a, &seconds), PINFOLD_ANSWER_LATE, "too late");
		taken = status_of(pid);
	}
	is_int(taken, 1, "who answers is told so");
	pinfold_approval_free(a);
}

static void dead_asker(void)
{
	auto_close int box = open_box();
	struct pinfold_approval_info *list = NULL;
	size_t n = 9;
	pid_t pid = fork();

	if (pid == 0) {
		(void)ask_for(box, 0);
		_exit(0); /* as one that was killed */
	}
	is_int(status_of(pid), 0, "it asked and died");
	ok(pinfold_approval_list(box, &list, &n, &failure) == 0 && n == 0, "nobody asks");
	free(list);
	DIR *d = fdopendir(dup(box));
	unsigned names = 0;
	while (readdir(d))
		names++;
	(void)closedir(d);
	is_int((int)names, 2, "nothing is left in the box");
}

/* As root: another user who was handed the box, and whom its modes would let in. */
static void stranger(void)
{
	auto_close int box = open_box();
	struct pinfold_approval *a = ask_for(box, 0);
	char name[64];
	uint64_t seconds = 0;

	if (geteuid() != 0) {
		diag("only root can be another user");
		pinfold_approval_free(a);
		return;
	}
	(void)snprintf(name, sizeof(name), "%s.sock", pinfold_approval_id(a));
	ok(fchmod(box, 0755) == 0 && fchmodat(box, name, 0777, 0) == 0 &&
		   fchmodat(box, pinfold_approval_id(a), 0644, 0) == 0 && chmod(home, 0755) == 0,
	   "open to all");
	pid_t pid =
		answer_from_child(box, pinfold_approval_id(a), PINFOLD_ANSWER_ONCE, 0, STRANGER);
	is_int((int)wait_for(a, &seconds), PINFOLD_ANSWER_NONE, "his yes is none");
	is_int(status_of(pid), 1, "and he is told so");
	(void)fchmod(box, 0700);
	pinfold_approval_free(a);
}

static void refused(void)
{
	auto_close int box = open_box();
	struct pinfold_approval *a = ask_for(box, 0);
	struct pinfold_question q = {.size = sizeof(q), .what = "no kind"};
	struct pinfold_approval *none = NULL;

	ok(pinfold_approval_ask(box, &q, &none, &failure) < 0, "a question without a kind");
	ok(pinfold_approval_answer(box, pinfold_approval_id(a), PINFOLD_ANSWER_LATE, 0, &failure) <
		   0,
	   "late is no answer");
	ok(pinfold_approval_answer(box, pinfold_approval_id(a), PINFOLD_ANSWER_FOR, 0, &failure) <
		   0,
	   "for no time is none either");
	ok(symlinkat("/etc/passwd", box, "apr00000000000000000000000000") == 0, "a link");
	struct pinfold_approval_info info;
	ok(pinfold_approval_get(box, "apr00000000000000000000000000", &info, &failure) < 0,
	   "is no question");
	(void)unlinkat(box, "apr00000000000000000000000000", 0);
	pinfold_approval_free(a);
	ok(fchmod(box, 0777) == 0 && open_box() < 0, "a box that others can write to is refused");
	is_str(failure.code, "denied", "as denied");
	(void)fchmod(box, 0700);
}

int main(void)
{
	if (!mkdtemp(home) || setenv("PINFOLD_HOME", home, 1) < 0)
		return 1;
	TAP_RUN(answered);
	TAP_RUN(listed);
	TAP_RUN(late);
	TAP_RUN(dead_asker);
	TAP_RUN(stranger);
	TAP_RUN(refused);
	(void)remove_tree(home);
	return tap_done();
}
