/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timed start. Each returns true and *ret_ns, or false with the reason in the contender. After
 * streams_take() only.
 */
#ifndef MEASURE_TIMED_H
#define MEASURE_TIMED_H

#include "measure/contender.h"

struct pinfold_run_options;

/*
 * From here on programs that are started read nothing and write to nobody, without any action in
 * posix_spawn() that would slow the bare one. What was there is kept in ret_kept; -1 with errno.
 */
int streams_take(int ret_kept[3]);
/* Puts back what was there, and closes the copies. */
void streams_give_back(const int kept[3]);
/* The first line that a program started since the last call wrote to standard error. */
void first_complaint(char *ret, size_t size);

/* posix_spawn() of argv to the end of waitpid(). */
bool timed_spawn(struct contender *c, uint64_t *ret_ns);
/* posix_spawn() of argv to the first byte that it prints. */
bool timed_spawn_byte(struct contender *c, uint64_t *ret_ns);

/* A run over libpinfold, from request to result, until nothing of it is left (run.c). */
bool timed_run(struct contender *c, const struct pinfold_run_options *o, uint64_t *ret_ns);
/* A command in a sandbox that lives. */
bool timed_exec(struct contender *c, const char *id, const struct pinfold_run_options *o,
		uint64_t *ret_ns);
/* A run to the first byte that it prints. */
bool timed_run_byte(struct contender *c, const struct pinfold_run_options *o, uint64_t *ret_ns);

uint64_t now_ns(void);

#endif
