/* SPDX-License-Identifier: Apache-2.0 */
/* What to run, from the arguments of a call. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include "api/call.h"
#include "api/runs.h"
#include "pinfold/pinfold.h"

/* What one has that names neither. */
#define MEMORY_DEFAULT (512ull << 20)
#define DISK_DEFAULT (256ull << 20)

struct wanted {
	struct pinfold_run_options o;	       /* pointers into the call's arguments */
	const char **argv, **env;	       /* owned */
	const char **allow, **packages, **apt; /* of these only the lists */
	struct run_input input;
	char command[256]; /* for lists */
};

/* All that the row has of command, lang, code, args, env, workdir, stdin, the limits, isolation,
 * user and the rest. needs_command: refuse without one. */
int wanted_take(struct wanted *w, const struct call *c, bool needs_command, struct err *e);
void wanted_done(struct wanted *w);
/* Before a sandbox is asked for: may he have such a disk? */
int options_check_disk(const struct pinfold_run_options *o, const struct who *who, struct err *e);

#endif
