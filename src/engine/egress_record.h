/* SPDX-License-Identifier: Apache-2.0 */
/* What servers answered, kept, and given again. */
#ifndef ENGINE_EGRESS_RECORD_H
#define ENGINE_EGRESS_RECORD_H

#include "engine/run_int.h"

/* egress_record.c: the gate records, or answers from a recording, as the request says. */
int egress_record_begin(struct pinfold_run *run, struct err *e);
/* What was recorded is kept; run->recorded says what it is. */
void egress_record_end(struct pinfold_run *run);

/* egress_tape.c: the recording of that digest, as the gate takes it: a sealed memfd. Every file of
 * it is hashed again; ERR_MISSING: one is not there, ERR_INVALID: it is not what its name says. */
int recording_tape(const char *sha256, int *ret_fd, struct err *e);

#endif
