/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for Prometheus. Any thread. */
#ifndef API_METRICS_H
#define API_METRICS_H

#include "api/call.h"

struct metrics;
struct server;

int metrics_new(struct metrics **ret, struct err *e);
void metrics_free(struct metrics *m);
/* An operation has ended, after so long. */
void metrics_call(struct metrics *m, const struct op *op, bool failed, uint64_t us);
/* Phases of a run: until its command runs, and the command. */
enum phase { PHASE_START, PHASE_COMMAND, PHASES };
void metrics_phase(struct metrics *m, enum phase p, uint64_t us);
uint64_t metrics_now_us(void); /* monotonic */
/* A run has ended. */
struct metrics_ended {
	const char *status;
	const char *limit; /* that was hit; NULL: none */
	unsigned denials, alerts;
	uint64_t wall_us;
};
void metrics_run(struct metrics *m, const struct metrics_ended *ended);
void metrics_server(struct metrics *m, const struct server *s); /* where connections are counted */
/* Prometheus's text, malloced. */
char *metrics_text(struct metrics *m, struct api *api, size_t *ret_len);

#endif
