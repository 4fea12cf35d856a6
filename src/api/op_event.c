/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as it grows: its events of one tenant, as server-sent events. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "base/fd.h"
#include "pinfold/ledger.h"
#include "pinfold/pinfold.h"

#define AHEAD_MAX 256u /* events that the client has not taken yet */

struct watching {
	struct call *c;
	struct feed *feed;
};

/* An event's number is its place and one: 0 is nobody's. */
static uint64_t number_of(const char *line)
{
	unsigned long long at = 0;

	return sscanf(line, "{\"at\":%llu,", &at) == 1 ? at + 1 : 0;
}

static int tell(const char *line, size_t len, const char *chain, void *arg)
{
	struct watching *w = arg;
	struct pollfd p = {.fd = call_cancelled_fd(w->c), .events = POLLIN};

	(void)chain;
	if (line)
		feed_add_id(w->feed, "event", line, len, number_of(line));
	/* Who reads slowly slows the reading of the file, and nothing else. */
	while (feed_ahead(w->feed) > AHEAD_MAX && poll(&p, 1, 20) == 0)
		;
	return call_cancelled(w->c);
}

static void now(char to[40])
{
	struct timespec ts;
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	(void)gmtime_r(&ts.tv_sec, &tm);
	size_t n = strftime(to, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to + n, 40 - n, ".%03uZ", (unsigned)(ts.tv_nsec / 1000000));
}

int op_events(struct call *c, struct err *e)
{
	struct pinfold_audit_options o = {.size = sizeof(o),
					  .tenant = c->who.tenant,
					  .kind = arg_str(c, "kind"),
					  .run = arg_str(c, "run"),
					  .sandbox = arg_str(c, "sandbox"),
					  .workspace = arg_str(c, "workspace"),
					  .path = arg_str(c, "path"),
					  .flags = PINFOLD_AUDIT_FOLLOW | PINFOLD_AUDIT_BEGINS};
	struct watching w = {.c = c, .feed = feed_new(c->api->loop)};
	struct pinfold_error failure;
	char since[40];

	if (!w.feed)
		return err_sys(e, "events");
	o.from = c->last_event ? c->last_event : (uint64_t)arg_int(c, "from", 0);
	if (!c->last_event && !arg(c, "from")) {
		now(since);
		o.since = since;
	}
	c->last_event = 0; /* the feed has numbers of its own */
	call_stream(c, w.feed);
	int r = pinfold_audit(&o, tell, &w, &failure);
	feed_close(w.feed);
	feed_unref(w.feed);
	return r < 0 ? api_error(e, &failure) : 0;
}
