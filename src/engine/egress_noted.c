/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the gate looked into, as it tells of them: bounded, the oldest go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run_int.h"

#define STATUS_MAX 999u

static void add(struct pinfold_run *run, const struct run_request *q)
{
	enum { HALF = GATE_REQUESTS_MAX / 2 };

	if (!run->requests && !(run->requests = calloc(GATE_REQUESTS_MAX, sizeof(*q)))) {
		run->requests_dropped++;
		return;
	}
	if (run->n_requests == GATE_REQUESTS_MAX) {
		memmove(run->requests, run->requests + HALF,
			(GATE_REQUESTS_MAX - HALF) * sizeof(*q));
		run->n_requests -= HALF;
		run->requests_dropped += HALF;
	}
	run->requests[run->n_requests++] = *q;
}

void egress_noted(struct pinfold_run *run, const struct gate_report *r)
{
	struct run_request q = {.row = (unsigned)r->bytes_in, .ms = r->bytes_out};

	if (r->bytes_in >= GATE_ROWS_MAX || r->count > STATUS_MAX)
		return;
	q.status = (unsigned)r->count;
	(void)snprintf(q.what, sizeof(q.what), "%.*s", (int)sizeof(q.what) - 1, r->what);
	add(run, &q);
}

uint64_t egress_noted_count(const struct pinfold_run *run)
{
	return run->requests_dropped + run->n_requests;
}

void egress_noted_since(struct pinfold_run *run, const struct pinfold_run *from, uint64_t seen,
			const unsigned rows[GATE_ROWS_MAX])
{
	for (unsigned i = 0; i < from->n_requests; i++) {
		struct run_request q = from->requests[i];

		if (from->requests_dropped + i < seen)
			continue;
		q.row = rows[q.row];
		if (q.row < GATE_ROWS_MAX)
			add(run, &q);
	}
	if (from->requests_dropped > seen)
		run->requests_dropped += from->requests_dropped - seen;
}
