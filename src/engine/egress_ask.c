/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate holds until a person has answered: the question goes into a box (approval.c), the
 * answer to the gate. Whatever fails on the way is a no. */
#include <pinfold/approval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "engine/run_int.h"

#define QUESTION_MS (2u * 60 * 1000) /* how long a question waits, */
#define AFTER_MS 5000u		     /* and what of a run's time is left then */

static void answer(struct pinfold_run *run, uint32_t ask, enum gate_said said, uint64_t seconds)
{
	const struct gate_answer m = {.magic = GATE_MAGIC,
				      .ask = ask,
				      .answer = said,
				      .serial = run->asks ? run->asks[ask].serial : 0,
				      .seconds = seconds};

	(void)passfd_send(run->reports, &m, sizeof(m), NULL,
			  0); /* a gate that died lets nobody through */
}

/* Who was asked for and is refused has to be told so while he still runs: the last of its time is
 * his. */
uint64_t run_question_ms(const struct pinfold_run *run)
{
	uint64_t now = now_us();
	uint64_t left = run->deadline_us > now ? (run->deadline_us - now) / 1000 : 0;
	uint64_t after = left / 2 < AFTER_MS ? left / 2 : AFTER_MS;

	if (!run->deadline_us)
		return QUESTION_MS;
	left -= after;
	return left < 1 ? 1 : left < QUESTION_MS ? left : QUESTION_MS;
}

/* On whose behalf: as the client calls itself, by a token, or the user. */
const char *run_asker(const struct pinfold_run *run, char own[32])
{
	const struct record_who *w = &run->record.who;

	if (w->client[0] || w->token[0])
		return w->client[0] ? w->client : w->token;
	(void)snprintf(own, 32, "uid %u", (unsigned)getuid());
	return own;
}

void run_question_why(const struct pinfold_run *run, const char *policy, char *ret, size_t size)
{
	const char *reason = run->req.reason;

	(void)snprintf(ret, size, *reason ? "%s (%s)" : "%s%s", *reason ? reason : policy,
		       *reason ? policy : "");
}

static int put_question(struct pinfold_run *run, const struct gate_report *r, uint32_t ask)
{
	char user[32], why[400], said[128];
	const struct pinfold_question q = {.size = sizeof(q),
					   .kind = "network",
					   .what = r->what,
					   .who = run_asker(run, user),
					   .why = why,
					   .sandbox = run->req.spec.id,
					   .run = run->record.begun ? run->id : NULL,
					   .timeout_ms = run_question_ms(run),
					   .tenant = run->req.tenant[0] ? run->req.tenant : NULL};
	struct pinfold_error failure;
	auto_close int own =
		run->req.approvals > 0 ? FD_NONE : pinfold_approvals_open(NULL, &failure);
	int box = run->req.approvals > 0 ? run->req.approvals : own;
	struct pinfold_approval *a = NULL;

	(void)snprintf(said, sizeof(said), "the policy says %.95s", r->rule);
	run_question_why(run, said, why, sizeof(why));
	if (box < 0 || pinfold_approval_ask(box, &q, &a, &failure) < 0)
		return -1;
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = pinfold_approval_fd(a)};
	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0) {
		pinfold_approval_free(a);
		return -1;
	}
	run->asks[ask].open = a;
	(void)snprintf(run->question, sizeof(run->question), "%s %s", pinfold_approval_id(a),
		       r->what);
	run->question_untold = true;
	return 0;
}

void egress_ask(struct pinfold_run *run, const struct gate_report *r)
{
	uint32_t ask = (uint32_t)r->count;

	if (r->count >= GATE_ASKS_MAX)
		return;
	if (!run->asks)
		run->asks = calloc(GATE_ASKS_MAX, sizeof(*run->asks));
	if (!run->asks)
		return; /* it waits until the run ends */
	/* Its number is used again: of the one before nobody hears the answer any more. */
	pinfold_approval_free(run->asks[ask].open);
	run->asks[ask] = (struct run_ask){.serial = (uint32_t)r->bytes_in};
	if (put_question(run, r, ask) < 0)
		answer(run, ask, GATE_LATE, 0);
}

void egress_ask_withdrawn(struct pinfold_run *run, const struct gate_report *r)
{
	struct run_ask *a = run->asks && r->count < GATE_ASKS_MAX ? &run->asks[r->count] : NULL;

	if (!a || !a->open || a->serial != r->bytes_in)
		return;
	pinfold_approval_free(a->open);
	a->open = NULL;
}

static void pass_on(struct pinfold_run *run, uint32_t ask, enum pinfold_answer said,
		    uint64_t seconds)
{
	switch (said) {
	case PINFOLD_ANSWER_NONE: return;
	case PINFOLD_ANSWER_ONCE: answer(run, ask, GATE_ONCE, 0); break;
	case PINFOLD_ANSWER_SANDBOX: answer(run, ask, GATE_YES, 0); break;
	case PINFOLD_ANSWER_FOR: answer(run, ask, GATE_YES, seconds); break;
	case PINFOLD_ANSWER_NO: answer(run, ask, GATE_NO, 0); break;
	case PINFOLD_ANSWER_LATE: answer(run, ask, GATE_LATE, 0); break;
	}
	pinfold_approval_free(run->asks[ask].open);
	run->asks[ask].open = NULL;
}

bool egress_answered(struct pinfold_run *run, int fd)
{
	for (uint32_t i = 0; run->asks && i < GATE_ASKS_MAX; i++) {
		uint64_t seconds = 0;

		if (!run->asks[i].open || pinfold_approval_fd(run->asks[i].open) != fd)
			continue;
		enum pinfold_answer said = pinfold_approval_look(run->asks[i].open, &seconds);
		pass_on(run, i, said, seconds);
		return true;
	}
	return false;
}

void egress_ask_end(struct pinfold_run *run)
{
	for (uint32_t i = 0; run->asks && i < GATE_ASKS_MAX; i++)
		pinfold_approval_free(run->asks[i].open);
	free(run->asks);
	run->asks = NULL;
}
