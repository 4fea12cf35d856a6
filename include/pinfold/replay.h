/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are run again: docs/replay.md. */
#ifndef PINFOLD_REPLAY_H
#define PINFOLD_REPLAY_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This much was written to the standard input of a run: its hash is in the ledger, and a replay has
 * it, too. */
PINFOLD_API void pinfold_run_keep_input(struct pinfold_run *run, const void *data, size_t len);

/* One thing that came out differently. Texts are valid during the call. */
struct pinfold_replay_difference {
	const char *what; /* status, exit_status, stdout, stderr, file, files_omitted */
	const char *path; /* of a file, else NULL */
	uint64_t line;	  /* of output: where it begins, from 1; 0: not known */
	uint64_t offset;
	const char *before,
		*after; /* what there was, as text; of output: the line, or the rest of it */
	size_t before_len, after_len;
};
typedef void pinfold_replay_fn(const struct pinfold_replay_difference *difference, void *arg);

struct pinfold_replay_result {
	char run[PINFOLD_ID_SIZE];    /* what was run again, */
	char replay[PINFOLD_ID_SIZE]; /* and the run that did */
	int identical;
	int exit_status; /* of the replay */
	uint64_t stdout_bytes, stderr_bytes, files;
	uint64_t differences;
};

/* From now on what runs of this process need to be run again is kept in this directory, which stays
 * open; -1: in the data directory, as ever. Of one that serves others it is api/artifacts:
 * pinfold_replay() looks there, too. */
PINFOLD_API void pinfold_replay_use(int dir_fd);

/*
 * Run it again, with what was kept of it, and compare status, output and changed files; `each` is
 * called with the first difference of each kind, and with every file. 0 and *ret_result, whether it
 * came out the same or not; -1 and *ret_error: nothing ran.
 */
PINFOLD_API int pinfold_replay(const char *run, pinfold_replay_fn *each, void *arg,
			       struct pinfold_replay_result *ret_result,
			       struct pinfold_error *ret_error);
/* The same with flags: PINFOLD_DETERMINISTIC pins what the run itself did not. */
PINFOLD_API int pinfold_replay_as(const char *run, uint32_t flags, pinfold_replay_fn *each,
				  void *arg, struct pinfold_replay_result *ret_result,
				  struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
