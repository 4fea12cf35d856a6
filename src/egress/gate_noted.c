/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked of a server, and what it said: method, path without its query, status and time,
 * told to the starter when the answer begins; and what was not sent. Of a busy sandbox some each
 * minute are; the others are counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/gate_int.h"

#define METHOD_SHOWN 24u

static void line_of(const struct egress_request *q, char ret[GATE_NOTED_SIZE])
{
	size_t method = q->method_len < METHOD_SHOWN ? q->method_len : METHOD_SHOWN;
	size_t room = GATE_NOTED_SIZE - method - 2;

	(void)snprintf(ret, GATE_NOTED_SIZE, "%.*s %.*s", (int)method, q->method,
		       (int)(q->path_len < room ? q->path_len : room), q->path);
}

void noted_begin(struct noted *a, const struct egress_request *q)
{
	char line[GATE_NOTED_SIZE];

	line_of(q, line);
	free(a->line);
	a->line = strdup(line);
	a->at_ms = gate.now_ms;
}

static bool may_tell(struct box *b)
{
	uint64_t minute = gate.now_ms / 60000;

	if (b->noted_minute != minute)
		b->n_noted = 0;
	b->noted_minute = minute;
	return b->reports.fd >= 0 && !b->is_dead && !b->is_stuck && b->n_noted < GATE_REQUESTS_MAX;
}

static void tell(struct box *b, const struct row *row, const char *line, unsigned status,
		 uint64_t ms)
{
	struct gate_report r = {.row = GATE_ROWS_MAX + 3,
				.count = status,
				.bytes_in = row ? row->report.row : GATE_ROWS_MAX,
				.bytes_out = ms};

	(void)snprintf(r.what, sizeof(r.what), "%s", line);
	if (row && may_tell(b) && box_tell(b, &r)) {
		b->n_noted++;
		return;
	}
	b->noted_omitted++;
	b->omitted_changed = true;
}

void noted_end(struct noted *a, struct conn *c, unsigned status)
{
	if (!a->line)
		return;
	tell(c->box, c->row, a->line, status, gate.now_ms - a->at_ms);
	noted_drop(a);
}

void noted_refused(struct box *b, const struct row *r, const struct egress_request *q,
		   unsigned status)
{
	char line[GATE_NOTED_SIZE];

	line_of(q, line);
	tell(b, r, line, status, 0);
}

void noted_drop(struct noted *a)
{
	free(a->line);
	a->line = NULL;
}
