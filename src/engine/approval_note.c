/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/approval_note.h"

#include <pinfold/ledger.h>
#include <stdio.h>

#include "base/fd.h"
#include "engine/record.h"

static int add(const struct approval_note *n, const char *kind, struct value *data, struct err *e)
{
	value_set(data, "approval", value_of_str(n->id));
	auto_free char *text = value_text(data, NULL);
	struct pinfold_error failure;
	struct pinfold_ledger_event ev = {.size = sizeof(ev),
					  .kind = kind,
					  .phase = "end",
					  .run = n->run,
					  .sandbox = n->sandbox,
					  .tenant = n->tenant,
					  .data = text};

	value_free(data);
	if (!text)
		return err_sys(e, "question");
	if (pinfold_ledger_add(&ev, &failure) == 0) {
		record_settle(); /* a person takes his time */
		return 0;
	}
	(void)err_set(e, ERR_INTERNAL, "%s", failure.message);
	(void)err_detail(e, "ledger");
	return err_remedy(e, "%s", failure.remedy);
}

int approval_note_asked(struct approval_note *n, const char *id, const struct pinfold_question *q,
			struct err *e)
{
	struct value *data = value_object();

	(void)snprintf(n->id, sizeof(n->id), "%s", id);
	(void)snprintf(n->run, sizeof(n->run), "%s", q->run ? q->run : "");
	(void)snprintf(n->tenant, sizeof(n->tenant), "%s", q->tenant ? q->tenant : "");
	(void)snprintf(n->sandbox, sizeof(n->sandbox), "%s", q->sandbox ? q->sandbox : "");
	value_set(data, "about", record_word(q->kind));
	value_set(data, "what", record_redacted(q->what));
	if (q->who)
		value_set(data, "client", record_word(q->who));
	if (q->why)
		value_set(data, "why", record_redacted(q->why));
	int r = add(n, "approval.asked", data, e);
	n->open = r >= 0;
	return r;
}

int approval_note_answered(struct approval_note *n, enum pinfold_answer answer, uint64_t seconds,
			   uid_t uid)
{
	static const char *const words[] = {
		[PINFOLD_ANSWER_NONE] = "withdrawn",  [PINFOLD_ANSWER_ONCE] = "once",
		[PINFOLD_ANSWER_SANDBOX] = "sandbox", [PINFOLD_ANSWER_FOR] = "for",
		[PINFOLD_ANSWER_NO] = "no",	      [PINFOLD_ANSWER_LATE] = "late",
	};
	struct err none = ERR_INIT;

	if (!n->open)
		return 0;
	n->open = false;
	struct value *data = value_object();
	value_set(data, "answer", value_of_str(words[answer]));
	if (answer == PINFOLD_ANSWER_FOR)
		value_set(data, "seconds", value_of_u64(seconds));
	if (uid != (uid_t)-1)
		value_set(data, "by_uid", value_of_int(uid));
	return add(n, "approval.answered", data, &none);
}
