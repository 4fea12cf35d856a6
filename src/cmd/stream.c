/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/stream.h"

#include <pinfold/replay.h>

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/relay.h"
#include "cmd/say.h"
#include "cmd/sig.h"
#include "cmd/term.h"

#define KEY_LEAVE 0x1d /* Ctrl-] */

#define EVENTS_PER_ROUND 32 /* then signals and input get their turn */
#define DRAIN_AFTER_STOP_MS 1000
#define BACKGROUND_CHECK_MS 250

enum slot { SLOT_RUN, SLOT_SIGNAL, SLOT_INPUT, SLOT_COMMAND, SLOT_OUT, SLOT_ERR, SLOT_COUNT };

static long long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

void stream_init(struct stream *s, struct pinfold_run *run, const struct stream_options *o)
{
	*s = (struct stream){.run = run,
			     .quiet = o->quiet,
			     .raw = o->raw,
			     .terminal = o->terminal,
			     .pauses = o->pauses,
			     .resumes = o->pauses,
			     .leaves = o->leaves};
	feed_init(&s->feed, o->stdin_fd);
}

/* At the first output, so that a silent command does not pay for it. */
static void open_sinks(struct stream *s)
{
	if (s->lanes[0].sink)
		return;
	sink_init(&s->sinks[0], STDOUT_FILENO);
	sink_init(&s->sinks[1], STDERR_FILENO);
	s->same_file = same_file(STDOUT_FILENO, STDERR_FILENO);
	/* One pipe or terminal for both: one buffer keeps the order. A file may have two
	 * offsets. */
	bool one = s->same_file && s->sinks[0].out.kind != OWNFD_PLAIN;
	s->lanes[0].sink = &s->sinks[0];
	s->lanes[1].sink = &s->sinks[one ? 0 : 1];
#ifndef DROP_ESCAPE
	for (int i = 0; i < 2; i++)
		s->lanes[i].escaped = s->lanes[i].sink->out.tty && !s->raw;
#endif
}

void stream_done(struct stream *s)
{
	if (s->lanes[0].sink) {
		sink_done(&s->sinks[0]);
		sink_done(&s->sinks[1]);
	}
	feed_done(&s->feed);
}

static size_t pending(const struct stream *s)
{
	size_t a = sink_pending(&s->sinks[0]), b = sink_pending(&s->sinks[1]);

	return a > b ? a : b;
}

static void lane_put(struct lane *l, const char *data, size_t len)
{
	char text[4096];

	if (!l->escaped) {
		sink_put(l->sink, data, len);
		return;
	}
	while (len > 0) {
		size_t used = 0;
		size_t n = escape_feed(&l->escape, data, len, &used, text, sizeof(text));

		sink_put(l->sink, text, n);
		data += used;
		len -= used;
	}
}

static void lane_end(struct lane *l)
{
	char text[ESCAPE_ROOM];

	if (l->escaped)
		sink_put(l->sink, text, escape_end(&l->escape, text, sizeof(text)));
}

static void update_hold(struct stream *s)
{
	size_t n = pending(s);
	bool hold = s->held ? n > SINK_LOW : n >= SINK_HIGH;

	if (hold != s->held)
		pinfold_run_hold(s->run, hold);
	s->held = hold;
}

/* A reader that has gone is gone for the command, too: it gets SIGPIPE as in any pipeline. */
static void put_output(struct stream *s, int lane, const struct pinfold_event *ev)
{
	lane_put(&s->lanes[lane], ev->data, ev->len);
	if (s->lanes[lane].sink->dropped)
		pinfold_run_close_output(s->run, lane + 1);
}

static bool was_stopped(const char *status)
{
	return strcmp(status, "timeout") == 0 || strcmp(status, "killed") == 0 ||
	       strcmp(status, "oom") == 0;
}

/* "ID WHAT": somebody has to know that it waits for him. */
static void say_question(const char *text, size_t len)
{
	size_t id = len < 29 ? len : 29, what = len < 30 ? len : 30;

	relay_question(text, len);
	say("waits for approval: %.*s; pinfold approve %.*s, or pinfold deny %.*s",
	    (int)(len - what), text + what, (int)id, text, (int)id, text);
}

/* Alerts are among the notes of the result. Of one that pauses the run somebody has to know now. */
static void on_alert(struct stream *s, const struct pinfold_event *ev)
{
	relay_alert(ev->data, ev->len);
	if (s->pauses && !relay_on())
		say("alert %.*s: it is paused; to let it go on: pinfold resume %s in the daemon, "
		    "else kill -CONT %d",
		    (int)ev->len, (const char *)ev->data, pinfold_run_sandbox(s->run),
		    (int)getpid());
	s->pauses = false;
}

static void on_event(struct stream *s, const struct pinfold_event *ev)
{
	switch (ev->kind) {
	case PINFOLD_EVENT_STDOUT:
	case PINFOLD_EVENT_STDERR:
		if (s->quiet)
			break;
		open_sinks(s);
		put_output(s, ev->kind == PINFOLD_EVENT_STDERR, ev);
		break;
	case PINFOLD_EVENT_RESULT:
		s->ended = true;
		s->stopped = s->signals || was_stopped(pinfold_run_status(s->run));
		s->give_up_ms = now_ms() + DRAIN_AFTER_STOP_MS;
		lane_end(&s->lanes[0]);
		lane_end(&s->lanes[1]);
		break;
	case PINFOLD_EVENT_STARTED: break;
	case PINFOLD_EVENT_ASK: say_question(ev->data, ev->len); break;
	case PINFOLD_EVENT_ALERT: on_alert(s, ev); break;
	case PINFOLD_EVENT_DENIAL: /* is among the notes of the result, once */
		relay_denial(s->run);
		break;
	}
}

static void take_events(struct stream *s)
{
	struct pinfold_event ev;

	s->more = false;
	for (int i = 0; i < EVENTS_PER_ROUND && !s->ended; i++) {
		if (pinfold_run_next(s->run, 0, &ev) <= 0)
			return;
		on_event(s, &ev);
		if (!s->ended)
			update_hold(s);
	}
	s->more = !s->ended;
}

static void take_signals(struct stream *s)
{
	uint16_t rows = 0, cols = 0;

	for (int signo = sig_take(); signo; signo = sig_take()) {
		if (signo == SIGWINCH || signo == SIGCONT) {
			if (signo == SIGCONT && s->resumes)
				pinfold_run_signal(s->run, SIGCONT);
			if (signo == SIGCONT && s->terminal)
				term_raw(STDIN_FILENO);
			if (term_size(&rows, &cols))
				pinfold_run_resize(s->run, rows, cols);
			continue;
		}
		if (!s->signals++)
			s->signo = signo;
		if (s->ended) {
			s->stopped = true;
			s->give_up_ms = now_ms();
		} else
			pinfold_run_stop(s->run, s->signals > 1);
	}
}

static void relay_input(struct stream *s, const struct pollfd *p)
{
	int to = p[SLOT_COMMAND].fd;

	if (to < 0)
		return;
	if (p[SLOT_INPUT].revents) {
		feed_read(&s->feed);
		pinfold_run_keep_input(s->run, s->feed.buf + s->feed.off, s->feed.len);
	}
	if (s->leaves && s->feed.len && memchr(s->feed.buf + s->feed.off, KEY_LEAVE, s->feed.len)) {
		pinfold_run_stop(s->run, 0);
		return;
	}
	if ((p[SLOT_COMMAND].revents & (POLLERR | POLLHUP)) || !feed_write(&s->feed, to))
		pinfold_run_stdin_close(s->run);
}

static struct pollfd slot(bool wanted, int fd, short events)
{
	return (struct pollfd){.fd = wanted ? fd : -1, .events = events};
}

static bool waits_for_foreground(const struct stream *s)
{
	return !s->ended && feed_wants_input(&s->feed) && feed_in_background(&s->feed);
}

static void watch(struct stream *s, struct pollfd *p)
{
	int command = s->ended ? -1 : pinfold_run_stdin_fd(s->run);
	bool input = command >= 0 && feed_wants_input(&s->feed) && !waits_for_foreground(s);

	p[SLOT_RUN] = slot(!s->ended, pinfold_run_fd(s->run), POLLIN);
	p[SLOT_SIGNAL] = slot(true, sig_fd(), POLLIN);
	p[SLOT_INPUT] = slot(input, s->feed.in.fd, POLLIN);
	/* Without events poll still tells when the command closes its side. */
	p[SLOT_COMMAND] = slot(true, command, s->feed.len ? POLLOUT : 0);
	for (int i = 0; i < 2; i++)
		p[SLOT_OUT + i] = slot(sink_pending(&s->sinks[i]), s->sinks[i].out.fd, POLLOUT);
}

static int next_timeout(const struct stream *s)
{
	if (s->ended && s->stopped) {
		long long left = s->give_up_ms - now_ms();

		return left > 0 ? (int)left : 0;
	}
	if (s->more)
		return 0;
	return waits_for_foreground(s) ? BACKGROUND_CHECK_MS : -1;
}

/* The run was stopped, by a signal or a limit: a reader that takes nothing does not keep us. */
static void give_up_late(struct stream *s)
{
	if (!s->ended || !s->stopped || now_ms() < s->give_up_ms)
		return;
	sink_drop(&s->sinks[0]);
	sink_drop(&s->sinks[1]);
}

void stream_loop(struct stream *s)
{
	struct pollfd p[SLOT_COUNT];

	assert(s->run && !s->ended);
	/* An input that is empty from the start ends at once. */
	if (s->feed.ended && pinfold_run_stdin_fd(s->run) >= 0)
		pinfold_run_stdin_close(s->run);
	while (!s->ended || pending(s)) {
		watch(s, p);
		if (poll(p, SLOT_COUNT, next_timeout(s)) < 0)
			continue; /* EINTR: the pipe of signals is readable now */
		if (p[SLOT_SIGNAL].revents)
			take_signals(s);
		relay_input(s, p);
		sink_flush(&s->sinks[0]);
		sink_flush(&s->sinks[1]);
		if (!s->ended) {
			update_hold(s);
			take_events(s);
		}
		give_up_late(s);
	}
}

bool stream_mid_line(const struct stream *s)
{
	const struct lane *err = &s->lanes[1];

	return err->sink && (err->sink->mid_line || (s->same_file && s->sinks[0].mid_line));
}
