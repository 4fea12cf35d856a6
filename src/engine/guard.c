/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/guard.h"

#include <errno.h>
#include <pinfold/approval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/passfd.h"
#include "egress/command.h"
#include "engine/guard_text.h"
#include "engine/moves.h"

#define ASKS_MAX 32u /* different things that a person is asked for, in one sandbox */
#define WHAT_MAX 900u
#define NO_HINT "a person refused it; do not try again, go on without it"
#define LATE_HINT "a person has to approve it, and nobody answered in time (pinfold approvals)"

/* FREE --> OPEN --> FREE | YES | NO; YES --> FREE when its time is over. */
enum ask_state { ASK_FREE, ASK_OPEN, ASK_YES, ASK_NO };

struct guard_question {
	enum ask_state state;
	uint8_t key[HASH_BYTES];
	struct pinfold_approval *open;
	uint64_t until_us; /* of a YES; UINT64_MAX: as long as the sandbox lives */
	uint32_t pid;	   /* of a YES or NO that is one process's; 0: everybody's */
	bool is_delete, is_late;
};

struct guard {
	struct policy *policy; /* what it was changed to, or NULL: the request's */
	struct guard_question asks[ASKS_MAX];
	struct waiter {
		uint64_t id;
		unsigned ask;
		uint32_t pid;
		char what[sizeof(((struct run_denial *)0)->what)];
	} waiting[GUARD_WAITING_MAX];
	unsigned n_waiting;
	struct guard_ask now; /* the one that is being decided */
};

enum sandbox_guard guard_of(const struct policy *p)
{
	return policy_guards(p, COMMAND_DELETE) ? GUARD_DELETES
	       : policy_guards(p, COMMAND_EXEC) ? GUARD_PROGRAMS
						: GUARD_NOTHING;
}

int guard_begin(struct pinfold_run *run, struct err *e)
{
	struct sandbox_spec *spec = &run->req.spec;
	bool remote = run->link >= 0 || run->lives;
	int pair[2];

	if (!spec->guard) {
		moves_begin(run);
		return 0;
	}
	if (run->lives && !egress_attended()) {
		(void)err_set(e, ERR_UNSUPPORTED, "commands: nobody stays here who could decide");
		return err_remedy(e, "call pinfold_policy_attend(), or leave commands out");
	}
	run->guard = calloc(1, sizeof(*run->guard));
	if (!run->guard)
		return err_sys(e, "policy");
	if (!remote)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "policy");
	run->guard_fd = pair[0];
	spec->guard_fd = run->guard_end = pair[1];
	return 0;
}

static void reply(struct pinfold_run *run, uint64_t id, uint32_t refused, const char *what,
		  const char *hint)
{
	struct guard_answer m = {.magic = GUARD_MAGIC, .refused = refused, .id = id};

	if (run->guard_fd < 0) {
		(void)guard_reply(run->listener, id, refused ? -EPERM : 0); /* or he is gone */
		return;
	}
	(void)snprintf(m.what, sizeof(m.what), "%.*s", (int)sizeof(m.what) - 1, what);
	(void)snprintf(m.hint, sizeof(m.hint), "%.*s", (int)sizeof(m.hint) - 1, hint);
	(void)passfd_send(run->guard_fd, &m, sizeof(m), NULL, 0); /* or he is refused */
}

static void refuse(struct pinfold_run *run, uint64_t id, uint32_t by, const char *what,
		   const char *hint)
{
	run_deny_command(run, by == GUARD_BY_RULE ? "command" : "approval", what, hint);
	reply(run, id, by, what, hint);
}

static enum egress_action judge(const struct policy *p, const struct guard_ask *a,
				struct command_verdict *ret)
{
	const char *second = a->text + strlen(a->text) + 1;
	struct command c = {.kind = a->kind == GUARD_EXEC ? COMMAND_EXEC : COMMAND_DELETE,
			    .program = a->text,
			    .words = second,
			    .len = (size_t)(a->text + a->len - second),
			    .is_cut = a->is_cut,
			    .path = a->text,
			    .to = a->kind == GUARD_DELETE ? NULL : second};
	struct command_verdict other;

	policy_command(p, &c, ret);
	if (a->kind != GUARD_SWAP)
		return ret->action;
	c.path = second;
	c.to = a->text;
	policy_command(p, &c, &other);
	if (other.action < ret->action)
		*ret = other;
	return ret->action;
}

static void key_of(const struct guard_ask *a, const struct command_verdict *v,
		   uint8_t ret[HASH_BYTES])
{
	if (a->kind == GUARD_EXEC)
		hash_bytes(a->text, a->len, ret);
	else
		hash_bytes(v->text, strlen(v->text), ret);
}

static struct guard_question *find(struct guard *g, const uint8_t key[HASH_BYTES], uint32_t pid)
{
	for (unsigned i = 0; i < ASKS_MAX; i++) {
		struct guard_question *q = &g->asks[i];

		if (q->state == ASK_YES && now_us() >= q->until_us)
			q->state = ASK_FREE;
		if (q->state != ASK_FREE && memcmp(q->key, key, HASH_BYTES) == 0 &&
		    (!q->pid || q->pid == pid))
			return q;
	}
	return NULL;
}

/* One of a process alone can go: at worst it is asked for again. */
static struct guard_question *place(struct guard *g)
{
	struct guard_question *old = NULL;

	for (unsigned i = 0; i < ASKS_MAX; i++) {
		if (g->asks[i].state == ASK_FREE)
			return &g->asks[i];
		if (g->asks[i].state != ASK_OPEN && g->asks[i].pid)
			old = &g->asks[i];
	}
	return old;
}

static int put_question(struct pinfold_run *run, struct guard_question *q, const char *what,
			const struct command_verdict *v)
{
	char user[32], why[512], said[440];
	const struct pinfold_question asked = {.size = sizeof(asked),
					       .kind = "command",
					       .what = what,
					       .who = run_asker(run, user),
					       .why = why,
					       .sandbox = run->req.spec.id,
					       .run = run->record.begun ? run->id : NULL,
					       .timeout_ms = run_question_ms(run),
					       .tenant =
						       run->req.tenant[0] ? run->req.tenant : NULL};
	struct pinfold_error failure;
	auto_close int own =
		run->req.approvals > 0 ? FD_NONE : pinfold_approvals_open(NULL, &failure);
	int box = run->req.approvals > 0 ? run->req.approvals : own;
	struct pinfold_approval *a = NULL;

	(void)snprintf(said, sizeof(said), "the policy says %.200s%s%.200s", v->text,
		       v->reason[0] ? ": " : "", v->reason);
	run_question_why(run, said, why, sizeof(why));
	if (box < 0 || pinfold_approval_ask(box, &asked, &a, &failure) < 0)
		return -1;
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = pinfold_approval_fd(a)};
	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0) {
		pinfold_approval_free(a);
		return -1;
	}
	q->open = a;
	(void)snprintf(run->question, sizeof(run->question), "%s %.250s", pinfold_approval_id(a),
		       what);
	run->question_untold = true;
	return 0;
}

/* Waits for the answer, with all who wait for the same. */
static void ask(struct pinfold_run *run, const struct guard_ask *a, const char *what,
		const struct command_verdict *v)
{
	struct guard *g = run->guard;
	uint8_t key[HASH_BYTES];

	key_of(a, v, key);
	struct guard_question *q = find(g, key, a->pid);
	if (q && q->state == ASK_YES) {
		reply(run, a->id, 0, "", "");
		return;
	}
	if (q && q->state == ASK_NO) {
		refuse(run, a->id, GUARD_BY_PERSON, what, q->is_late ? LATE_HINT : NO_HINT);
		return;
	}
	bool is_new = !q;
	q = q ? q : place(g);
	if (!q || g->n_waiting == GUARD_WAITING_MAX) {
		refuse(run, a->id, GUARD_BY_PERSON, what, "too many questions are open");
		return;
	}
	if (is_new) {
		*q = (struct guard_question){.is_delete = a->kind != GUARD_EXEC};
		memcpy(q->key, key, sizeof(key));
		if (put_question(run, q, what, v) < 0) {
			refuse(run, a->id, GUARD_BY_PERSON, what, "nobody can be asked here");
			return;
		}
		q->state = ASK_OPEN;
	}
	struct waiter *w = &g->waiting[g->n_waiting++];
	*w = (struct waiter){.id = a->id, .ask = (unsigned)(q - g->asks), .pid = a->pid};
	(void)snprintf(w->what, sizeof(w->what), "%.*s", (int)sizeof(w->what) - 1, what);
}

static void decide(struct pinfold_run *run, const struct guard_ask *a)
{
	const struct policy *p = run->guard->policy ? run->guard->policy : run->req.policy;
	struct command_verdict v;
	char what[WHAT_MAX], hint[256];
	enum egress_action action = judge(p, a, &v);

	if (action == EGRESS_ALLOW) {
		reply(run, a->id, 0, "", "");
		return;
	}
	guard_text(a, what, sizeof(what));
	if (action == EGRESS_ASK) {
		ask(run, a, what, &v);
		return;
	}
	(void)snprintf(hint, sizeof(hint),
		       "the policy denies this on purpose (%.70s)%s%.100s; do not look for another "
		       "way",
		       v.text, v.reason[0] ? ": " : "", v.reason);
	refuse(run, a->id, GUARD_BY_RULE, what, hint);
}

int guard_event(struct pinfold_run *run, const struct notify_event *ev)
{
	if (!run->guard && run->req.spec.moves)
		return moves_event(run, ev);
	if (!run->guard)
		return guard_reply(run->listener, ev->id, -EPERM);
	int r = guard_read(run->listener, ev, &run->guard->now);
	if (r > 0)
		decide(run, &run->guard->now);
	return r < 0 ? r : 0;
}

bool guard_message(struct pinfold_run *run)
{
	struct guard_ask *a = &run->guard->now;
	int n = passfd_receive(run->guard_fd, a, sizeof(*a), NULL, 0, MSG_DONTWAIT);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n < 0)
		return false;
	if (guard_ask_fits(a))
		decide(run, a);
	else
		reply(run, a->id, GUARD_BY_RULE, "", "");
	return true;
}

static void wake(struct pinfold_run *run, unsigned ask, bool yes, const char *hint)
{
	struct guard *g = run->guard;

	for (unsigned i = 0; i < g->n_waiting;) {
		struct waiter w = g->waiting[i];

		if (w.ask != ask) {
			i++;
			continue;
		}
		g->waiting[i] = g->waiting[--g->n_waiting];
		if (yes)
			reply(run, w.id, 0, "", "");
		else
			refuse(run, w.id, GUARD_BY_PERSON, w.what, hint);
	}
}

static void settle(struct pinfold_run *run, unsigned ask, enum pinfold_answer said,
		   uint64_t seconds)
{
	struct guard_question *q = &run->guard->asks[ask];
	const char *hint = said == PINFOLD_ANSWER_NO ? NO_HINT : LATE_HINT;
	bool yes = said != PINFOLD_ANSWER_NO && said != PINFOLD_ANSWER_LATE;
	bool is_lasting = said == PINFOLD_ANSWER_SANDBOX || said == PINFOLD_ANSWER_FOR;
	bool is_of_one =
		said == PINFOLD_ANSWER_LATE || (said == PINFOLD_ANSWER_ONCE && q->is_delete);

	q->state = !is_lasting && !is_of_one && yes ? ASK_FREE : yes ? ASK_YES : ASK_NO;
	q->is_late = said == PINFOLD_ANSWER_LATE;
	q->until_us = seconds ? now_us() + seconds * 1000000 : UINT64_MAX;
	for (unsigned i = 0; is_of_one && i < run->guard->n_waiting; i++)
		if (run->guard->waiting[i].ask == ask)
			q->pid = run->guard->waiting[i].pid;
	wake(run, ask, yes, hint);
}

bool guard_answered(struct pinfold_run *run, int fd)
{
	if (moves_answered(run, fd))
		return true;
	for (unsigned i = 0; run->guard && i < ASKS_MAX; i++) {
		struct guard_question *q = &run->guard->asks[i];
		uint64_t seconds = 0;

		if (!q->open || pinfold_approval_fd(q->open) != fd)
			continue;
		enum pinfold_answer said = pinfold_approval_look(q->open, &seconds);
		if (said == PINFOLD_ANSWER_NONE)
			return true;
		pinfold_approval_free(q->open);
		q->open = NULL;
		settle(run, i, said, said == PINFOLD_ANSWER_FOR ? seconds : 0);
		return true;
	}
	return false;
}

void guard_change(struct pinfold_run *run, struct policy *taken)
{
	policy_free(run->guard->policy);
	run->guard->policy = taken;
}

void guard_end(struct pinfold_run *run)
{
	fd_close(&run->guard_fd);
	fd_close(&run->guard_end);
	moves_end(run);
	if (!run->guard)
		return;
	for (unsigned i = 0; i < ASKS_MAX; i++)
		pinfold_approval_free(run->guard->asks[i].open);
	policy_free(run->guard->policy);
	free(run->guard);
	run->guard = NULL;
}
