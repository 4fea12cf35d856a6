/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate holds until a person has answered: the question goes into a box (approval.c), the
 * answer to the gate. Whatever fails on the way is a no. */
#include <pinfold/approval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "engine/run_int.h"

static void answer(struct pinfold_run *run, uint32_t ask, enum gate_said said, uint64_t seconds)
{
	const struct gate_answer m = {
		.magic = GATE_MAGIC, .ask = ask, .answer = said, .seconds = seconds};

	(void)passfd_send(run->reports, &m, sizeof(m), NULL,
			  0); /* a gate that died lets nobody through */
}

static int put_question(struct pinfold_run *run, const struct gate_report *r, uint32_t ask)
{
	const struct pinfold_question q = {.size = sizeof(q),
					   .kind = "network",
					   .what = r->what,
					   .sandbox = run->req.spec.id,
					   .tenant = run->req.tenant[0] ? run->req.tenant : NULL};
	struct pinfold_error failure;
	auto_close int own =
		run->req.approvals > 0 ? FD_NONE : pinfold_approvals_open(NULL, &failure);
	int box = run->req.approvals > 0 ? run->req.approvals : own;
	struct pinfold_approval *a = NULL;

	if (box < 0 || pinfold_approval_ask(box, &q, &a, &failure) < 0)
		return -1;
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = pinfold_approval_fd(a)};
	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0) {
		pinfold_approval_free(a);
		return -1;
	}
	run->asks[ask].open = a;
	(void)snprintf(run->asked, sizeof(run->asked), "%s %s", pinfold_approval_id(a), r->what);
	run->asked_untold = true;
	return 0;
}

void egress_ask(struct pinfold_run *run, const struct gate_report *r)
{
	uint32_t ask = (uint32_t)r->count;

	if (r->count >= GATE_ASKS_MAX)
		return;
	if (!run->asks)
		run->asks = calloc(GATE_ASKS_MAX, sizeof(*run->asks));
	if (!run->asks || run->asks[ask].open || put_question(run, r, ask) < 0)
		answer(run, ask, GATE_LATE, 0);
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
