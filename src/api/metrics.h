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
/* A run has ended: its status, and the limit that ended it ("" for none). */
void metrics_run(struct metrics *m, const char *status);
void metrics_server(struct metrics *m, const struct server *s); /* where connections are counted */
/* Prometheus's text, malloced. */
char *metrics_text(struct metrics *m, struct api *api, size_t *ret_len);

#endif
