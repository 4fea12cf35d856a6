/* SPDX-License-Identifier: Apache-2.0 */
/* What `pinfold audit WORD` does beside printing events. */
#ifndef CMD_AUDIT_H
#define CMD_AUDIT_H

#include <pinfold/ledger.h>

#include "base/value.h"
#include "cmd/request.h"

#define AUDIT_INSTANT_SIZE 40

/* audit.c: a duration before now, or an instant; as an instant. */
const char *audit_instant(const char *text, char to[AUDIT_INSTANT_SIZE]);

/* audit_cursor.c: how far was printed, in a file that outlives us. `text` is the library's to
 * write. */
struct audit_cursor {
	const char *path; /* NULL: none */
	char *text, *kept;
};
/* Fills where `o` begins and where the text goes. */
int audit_cursor_open(struct audit_cursor *c, struct pinfold_audit_options *o, bool wanted,
		      struct err *e);
/* When all that it says was printed; an error is said. */
int audit_cursor_keep(struct audit_cursor *c);
void audit_cursor_done(struct audit_cursor *c);
#define auto_cursor __attribute__((cleanup(audit_cursor_done)))

/* verify.c: a small file, or standard input (NULL), ended by NUL; malloced. */
char *audit_slurp(const char *path, size_t *ret_len, struct err *e);

/* audit_sink.c: sink add, ls, rm, ship. */
int audit_sink(const struct request *r, int argc, char **argv);

/* audit_witness.c: a checkpoint for a witness, his answer, and what becomes of it. */
int audit_checkpoint(const struct request *r);
int audit_witness(const struct request *r, const char *dir);
int audit_cosign(const struct request *r);

/* audit_keep.c: key, rotate, prune. Exit status. */
int audit_key(const struct request *r);
int audit_rotate(const struct request *r);
int audit_prune(const struct request *r);
int audit_proof(const struct request *r, const char *event);

/* ocsf.c: an event as one of the Open Cybersecurity Schema Framework, 1.3; to be freed. `line` is
 * what it was made of, and is in it: what was signed can be checked there, too. */
struct value *ocsf_of(const struct value *event, const char *line, size_t len);

#endif
