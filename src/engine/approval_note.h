/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a person in the ledger: that it was asked, and what came of it; each has one
 * event. */
#ifndef ENGINE_APPROVAL_NOTE_H
#define ENGINE_APPROVAL_NOTE_H

#include <pinfold/approval.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"

struct approval_note {
	char id[ID_SIZE], run[ID_SIZE], tenant[64], sandbox[64];
	bool open; /* the ledger has the question, and not yet what came of it */
};

/* What nobody could read up later is not asked: negative. */
int approval_note_asked(struct approval_note *n, const char *id, const struct pinfold_question *q,
			struct err *e);
/* The first answer counts; NONE: it was withdrawn. uid -1: nobody said it. */
int approval_note_answered(struct approval_note *n, enum pinfold_answer answer, uint64_t seconds,
			   uid_t uid);

#endif
