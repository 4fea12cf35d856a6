/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: questions to a person */
#ifndef PINFOLD_APPROVAL_H
#define PINFOLD_APPROVAL_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Approvals: a question that a person answers, elsewhere, while whoever asked waits. A box is a
 * directory of the asker's own where questions lie; `pinfold approvals` and `pinfold approve` look
 * into that of the data directory. A question goes when its asker frees it or dies.
 */
enum pinfold_answer {
	PINFOLD_ANSWER_NONE,	/* not yet */
	PINFOLD_ANSWER_ONCE,	/* yes, this time */
	PINFOLD_ANSWER_SANDBOX, /* yes, as long as the sandbox lives */
	PINFOLD_ANSWER_FOR,	/* yes, for a time */
	PINFOLD_ANSWER_NO,
	PINFOLD_ANSWER_LATE, /* nobody answered in time: no */
};

struct pinfold_question {
	size_t size;
	const char *kind;    /* "network", "transfer", "command" */
	const char *what;    /* "GET https://example.org/x" */
	const char *sandbox; /* id or name; NULL: none */
	const char *tenant;  /* whose it is, NULL: the user's own */
	const char *who;     /* on whose behalf: a client's name; or NULL */
	const char *why;     /* what the agent says it wants it for; or NULL. Nobody checked it */
	uint64_t timeout_ms; /* 0: two minutes */
	const char *run;     /* for the ledger: of which run it is; or NULL */
};

struct pinfold_approval_info {
	char id[32];
	char kind[32];
	char what[1024]; /* texts are hostile: escape them before a terminal sees them */
	char sandbox[64];
	char tenant[64];
	char who[128];
	char why[512];
	uint64_t asked_ms, until_ms; /* since 1970 */
};

struct pinfold_approval; /* a question that is open */

/* The box of a data directory (NULL: the contract's): a descriptor, to be closed by the caller. */
PINFOLD_API int pinfold_approvals_open(const char *home, struct pinfold_error *ret_error);
PINFOLD_API int pinfold_approval_ask(int box, const struct pinfold_question *question,
				     struct pinfold_approval **ret_approval,
				     struct pinfold_error *ret_error);
PINFOLD_API const char *pinfold_approval_id(const struct pinfold_approval *approval);
/* Readable when pinfold_approval_look() may have news. */
PINFOLD_API int pinfold_approval_fd(const struct pinfold_approval *approval);
/* Does not wait. *ret_seconds is set with PINFOLD_ANSWER_FOR. */
PINFOLD_API enum pinfold_answer pinfold_approval_look(struct pinfold_approval *approval,
						      uint64_t *ret_seconds);
PINFOLD_API void pinfold_approval_free(struct pinfold_approval *approval);
/* Those that are open, oldest first; free(*ret_list) is the caller's. */
PINFOLD_API int pinfold_approval_list(int box, struct pinfold_approval_info **ret_list,
				      size_t *ret_n, struct pinfold_error *ret_error);
PINFOLD_API int pinfold_approval_get(int box, const char *id,
				     struct pinfold_approval_info *ret_info,
				     struct pinfold_error *ret_error);
/* Only ONCE, SANDBOX, FOR (with seconds) and NO. 0: the asker has it. */
PINFOLD_API int pinfold_approval_answer(int box, const char *id, enum pinfold_answer answer,
					uint64_t seconds, struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
