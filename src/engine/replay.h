/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a run so that it can be run again, in artifacts/RUN/replay of the data directory:
 * mode 0600, gone with the artifacts. One JSON object:
 *
 *	version		1
 *	request		the options; texts as base64, since they are any bytes
 *	why_not		a text: it cannot be run again; or null
 *	dir		path and digest of --dir; or null
 *	workspace	name and snapshot before; or null
 *	deps		layers of packages, as deps_again() has them; or null
 *	image		digest of the one that was named
 *	recording	digest of what servers answered; of a run that could reach some
 *	input		what it was given to read, as base64
 *	outcome		status, exit_status, and of output and files what is compared
 */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include <pinfold/replay.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/value.h"

#define REPLAY_VERSION 1
#define REPLAY_FLAGS (PINFOLD_DETERMINISTIC | PINFOLD_OWN_POLICY)
#define REPLAY_COMPARED 0x80000000u /* of flags: its outcome is looked at, nothing is kept */
#define REPLAY_INPUT_MAX (1u << 20)
#define REPLAY_HEAD_MAX (256u << 10) /* of each stream, to show where it differs */

struct replay_stream {
	struct hash hash;
	uint64_t bytes;
	char *head;
	size_t head_len;
};

struct replay {
	struct value *kept; /* all but input and outcome */
	struct replay_stream output[2];
	char *input;
	size_t input_len;
	bool input_lost; /* there was more than is kept */
};

/* Do these options ask for it, or for its outcome? */
bool request_is_kept(const struct pinfold_run_options *o);
/* replay_keep.c: nothing of all this where the options do not ask for it. */
int replay_begin(struct pinfold_run *run, struct err *e);
void replay_output(struct pinfold_run *run, int stream, const void *data, size_t len);
/* The result is complete. That it could not be kept is no failure of the run. */
void replay_keep(struct pinfold_run *run);
void replay_free(struct replay *r);
struct value *replay_outcome(const struct pinfold_run *run);

/* dir_digest.c: of all that a directory holds, but for the paths of `hidden` (NULL ends them, or
 * NULL): names, modes, contents. ERR_LIMIT: there is too much. */
int dir_digest(int dir, const char *const *hidden, char ret[HASH_TEXT_SIZE], struct err *e);

#endif
