/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger as it grows: its events of one tenant, as server-sent events. Some of them are in chains
 * that this process may not read (what was done on the command line, in workspaces, what the daemon
 * tells of sandboxes): so the keeper starts `pinfold audit --follow` for the tenant. Its first line
 * is empty, or an error; each of the others is a place, which is the event's id here, a space, and
 * the event.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/handlers.h"
#include "api/keeper_int.h"
#include "base/fd.h"

#define AHEAD_MAX 256u	       /* events that the client has not taken yet */
#define LINES_MAX (128u << 10) /* what is read at once: more than any event with its place */

struct watching {
	struct call *c;
	struct feed *feed;
	bool begun;
	char *lines;
	size_t len;
};

static void now(char to[40])
{
	struct timespec ts;
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	(void)gmtime_r(&ts.tv_sec, &tm);
	size_t n = strftime(to, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to + n, 40 - n, ".%03uZ", (unsigned)(ts.tv_nsec / 1000000));
}

static void add_filters(struct keeper_words *w, const struct call *c)
{
	static const char *const names[] = {"kind", "run", "sandbox", "workspace", "host", "path"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (arg_str(c, names[i]))
			keeper_add(w, "--%s=%s", names[i], arg_str(c, names[i]));
}

/* Where it begins: behind what he has, at a place, or now. */
static int add_beginning(struct keeper_words *w, const struct call *c, struct err *e)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789:.";
	const char *last = c->last_place;
	char since[40];

	if (*last && strspn(last, plain) != strlen(last)) {
		(void)err_set(e, ERR_INVALID, "Last-Event-ID: not one that we gave");
		return err_remedy(e, "send the id of the last event that you have, or none");
	}
	/* A number is a place in each chain; 0 is where they begin anyway. */
	bool number = *last && strspn(last, "0123456789") == strlen(last);
	long long from = (long long)arg_int(c, "from", 0);
	if (number)
		(void)sscanf(last, "%18lld", &from); /* it is one */
	if (*last && !number) {
		keeper_add(w, "--cursor=%s", last);
	} else if (from > 0) {
		keeper_add(w, "--from=%lld", from);
	} else if (!number && !arg(c, "from")) {
		now(since);
		keeper_add(w, "--since=%s", since);
	}
	return 0;
}

/* Whole lines go on; what is left of one waits for the rest. */
static void tell_lines(struct watching *w)
{
	char *line = w->lines, *stop;

	if (!w->begun && w->len && *line == '\n') {
		w->begun = true;
		call_stream(w->c, w->feed);
	}
	while (w->begun && (stop = memchr(line, '\n', (size_t)(w->lines + w->len - line)))) {
		char *event = memchr(line, ' ', (size_t)(stop - line));

		*stop = '\0';
		if (event) {
			*event++ = '\0';
			feed_add_id(w->feed, "event", event, (size_t)(stop - event), line);
		}
		line = stop + 1;
	}
	w->len -= (size_t)(line - w->lines);
	memmove(w->lines, line, w->len);
}

static void read_lines(struct watching *w, int *fd)
{
	ssize_t n = w->len < LINES_MAX ? read(*fd, w->lines + w->len, LINES_MAX - w->len) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fd_close(fd);
		return;
	}
	w->len += (size_t)n;
	tell_lines(w);
}

/* Who is told to wait reads slowly, and slows nothing but his own reader. */
static bool may_read(const struct watching *w)
{
	return feed_ahead(w->feed) <= AHEAD_MAX;
}

static void wait_for_more(const struct watching *w, const struct keeper_child *k)
{
	bool reads = may_read(w);
	struct pollfd p[3] = {{.fd = reads ? k->out : -1, .events = POLLIN},
			      {.fd = k->reply, .events = POLLIN},
			      {.fd = call_cancelled_fd(w->c), .events = POLLIN}};

	(void)poll(p, 3, reads ? -1 : 20); /* whatever it says, we look */
}

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* It ends by an error alone: what it said instead of events is that. */
static int judge(const struct watching *w, struct keeper_child *k, struct err *e)
{
	int status = 0, r = keeper_take_reply(k, &status, e);

	if (r >= 0 && !w->begun && w->len)
		r = keeper_error(w->lines, w->len, e);
	if (r >= 0 || !e->text[0])
		r = err_set(e, ERR_INTERNAL, "the reader of the ledger ended with status %d",
			    status);
	return r;
}

static int attend(struct watching *w, struct keeper_child *k, struct err *e)
{
	while (!call_cancelled(w->c)) {
		wait_for_more(w, k);
		/* What it printed comes before its end. */
		if (may_read(w) && readable(k->out))
			read_lines(w, &k->out);
		else if (readable(k->reply))
			return judge(w, k, e);
	}
	keeper_tell_end(k);
	return 0;
}

int op_events(struct call *c, struct err *e)
{
	auto_child struct keeper_child k = KEEPER_CHILD_INIT;
	auto_free char *lines = malloc(LINES_MAX);
	auto_words words = {0};
	struct watching w = {.c = c, .lines = lines};

	keeper_add(&words, "audit");
	keeper_add(&words, "--json");
	keeper_add(&words, "--all");
	keeper_add(&words, "--follow");
	keeper_add(&words, "--cursors");
	add_filters(&words, c);
	int r = add_beginning(&words, c, e);
	if (r < 0)
		return r;
	w.feed = lines ? feed_new(c->api->loop) : NULL;
	if (!w.feed)
		return err_sys(e, "events");
	struct keeper_start s = {.words = &words};
	r = keeper_start(c, &s, &k, e);
	if (r >= 0)
		r = attend(&w, &k, e);
	feed_close(w.feed);
	feed_unref(w.feed);
	return r;
}
