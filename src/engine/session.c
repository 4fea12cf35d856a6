/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: the public functions and their loop. One set of descriptors: the command's own
 * (engine's loop.c keeps it), the socket with frames, a timer, and an eventfd by which other
 * threads interrupt.
 *
 * A frame is told after the output that was in the pipes when it came, so that events have the
 * order in which the code made them. Only frames are results: the pipes carry bytes and nothing
 * else.
 */
#include <assert.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "base/value.h"
#include "engine/session_int.h"

#define CODE_MAX (8u << 20)
#define LINE_MAX_BYTES (1u << 20)
#define TIME_MS 60000u
#define TIME_MAX_MS (7ull * 24 * 3600 * 1000)
#define GRACE_US 2000000u
#define SETTLE_US 20000u /* from the frame's arrival until the driver is in the user's code */
#define ENV_COUNT_MAX 1024u

static const char bad_result[] = "{\"text/plain\":\"[a result that was malformed is left out]\"}";
static const char bad_error[] =
	"{\"name\":\"Error\",\"value\":\"\",\"traceback\":\"[an error that was malformed]\"}";

static int refuse(const struct err *e, struct pinfold_error *ret_error)
{
	error_public(e, ret_error);
	return -1;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return !a ? b : !b ? a : a < b ? a : b;
}

static void arm(struct pinfold_session *s)
{
	uint64_t at = sooner(s->deadline_us, sooner(s->kill_us, s->signal_us));
	struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(at / 1000000),
					       .tv_nsec = (long)(at % 1000000) * 1000}};

	(void)timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &spec, NULL); /* valid by construction */
}

void session_break(struct pinfold_session *s, const char *why)
{
	if (!s->broken)
		s->broken = why;
	pinfold_run_stop(s->run, 1);
}

/* Opening */

static int copy_strings(const char *const *from, char ***ret)
{
	size_t n = 0;

	while (from && from[n] && n < ENV_COUNT_MAX)
		n++;
	if (n == 0)
		return 0;
	char **to = calloc(n + 1, sizeof(*to));
	*ret = to;
	for (size_t i = 0; to && i < n; i++)
		if (!(to[i] = strdup(from[i])))
			return -ENOMEM;
	return to ? 0 : -ENOMEM;
}

static int make_set(struct pinfold_session *s, struct err *e)
{
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	const int fds[] = {s->timer, s->wake};
	for (int i = 0; i < 2; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.fd = fds[i]};

		if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fds[i], &ev) < 0)
			return err_sys(e, "session");
	}
	return 0;
}

/* The interpreter could not be executed, and the command's result says why. */
static int check_started(struct pinfold_session *s, struct pinfold_error *ret_error)
{
	if (!s->run->failed)
		return 0;
	*ret_error = s->run->error;
	return -1;
}

int pinfold_session_open(const char *sandbox_id, const struct pinfold_session_options *options,
			 struct pinfold_session **ret, struct pinfold_error *ret_error)
{
	struct pinfold_session_options o = {0};
	struct pinfold_session *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT;

	assert(sandbox_id && options && ret && ret_error);
	memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	if (!s) {
		(void)err_sys(&e, "session");
		return refuse(&e, ret_error);
	}
	value_init();
	s->epoll = s->timer = s->wake = FD_NONE;
	s->exit_code = -1;
	int r = session_find_lang(o.lang, &s->lang, &e);
	if (r >= 0)
		r = sandbox_check_id(sandbox_id, &e);
	if (r >= 0 &&
	    (copy_strings(o.env, &s->env) < 0 || (o.workdir && !(s->workdir = strdup(o.workdir))) ||
	     (o.packages_json && !(s->packages_json = strdup(o.packages_json)))))
		r = err_sys(&e, "session");
	if (r >= 0)
		r = make_set(s, &e);
	if (r >= 0) {
		(void)snprintf(s->sandbox, sizeof(s->sandbox), "%s", sandbox_id);
		(void)snprintf(s->tenant, sizeof(s->tenant), "%s", o.tenant ? o.tenant : "");
		r = session_start(s, &e);
	}
	if (r < 0)
		(void)refuse(&e, ret_error);
	if (r < 0 || check_started(s, ret_error) < 0) {
		pinfold_session_close(s);
		return -1;
	}
	*ret = s;
	return 0;
}

/* The caller's side */

static int check_code(const char *code, size_t len, uint64_t time_ms, struct err *e)
{
	if (len > CODE_MAX)
		return err_set(e, ERR_LIMIT, "code: more than 8 MiB");
	if (!utf8_valid(code, len) || (len > 0 && memchr(code, 0, len)))
		return err_set(e, ERR_INVALID, "code: not UTF-8 text without NUL");
	if (time_ms > TIME_MAX_MS)
		return err_set(e, ERR_INVALID, "time: more than 7 days");
	return 0;
}

static int check_idle(const struct pinfold_session *s, struct err *e)
{
	if (s->state == SESSION_BUSY) {
		(void)err_set(e, ERR_BUSY, "the session is executing code");
		return err_remedy(e, "wait until it is done, or interrupt it");
	}
	if (!pinfold_session_alive(s)) {
		(void)err_set(e, ERR_CONFLICT, "the session's interpreter has ended");
		return err_remedy(e, "restart the session");
	}
	return 0;
}

int pinfold_session_execute(struct pinfold_session *s, const char *code, size_t len,
			    uint64_t time_ms, uint32_t flags, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	bool refuses = flags & PINFOLD_EXECUTE_NO_INPUT;

	assert(s && (code || len == 0) && ret_error);
	int r = check_code(code, len, time_ms, &e);
	if (r >= 0)
		r = check_idle(s, &e);
	if (r >= 0)
		r = session_send(s, 'X', refuses ? 'n' : ' ', code, len, &e);
	if (r < 0)
		return refuse(&e, ret_error);
	s->state = SESSION_BUSY;
	s->refuses = refuses;
	s->timed_out = s->asking = false;
	s->frames_bytes = 0;
	s->exit_code = -1;
	s->run->alerts.n = s->run->alerts.told =
		0; /* who reads this result has not read the last */
	s->count++;
	s->began_us = now_us();
	s->deadline_us = s->began_us + (time_ms ? time_ms : TIME_MS) * 1000;
	s->signal_us = s->kill_us = 0;
	arm(s);
	return 0;
}

int pinfold_session_input(struct pinfold_session *s, const char *text, size_t len,
			  struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	int r = 0;

	if (s->state != SESSION_BUSY || !s->asking)
		r = err_set(&e, ERR_CONFLICT, "the session does not ask for input");
	else if (text && (len > LINE_MAX_BYTES || !utf8_valid(text, len) || memchr(text, 0, len)))
		r = err_set(&e, ERR_INVALID, "text: not UTF-8 of at most 1 MiB without NUL");
	else
		r = session_send(s, text ? 'I' : 'N', 0, text, text ? len : 0, &e);
	if (r < 0)
		return refuse(&e, ret_error);
	s->asking = false;
	return 0;
}

void pinfold_session_interrupt(struct pinfold_session *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one)); /* full: it is awake */
}

int pinfold_session_fd(const struct pinfold_session *s)
{
	return s->epoll;
}

const char *pinfold_session_lang(const struct pinfold_session *s)
{
	return session_lang_name(s->lang);
}

int pinfold_session_alive(const struct pinfold_session *s)
{
	/* While code is executed its end is to be told first. */
	return s->state == SESSION_BUSY ||
	       (s->state == SESSION_IDLE && s->run && !s->ended && !s->broken);
}

int pinfold_session_restart(struct pinfold_session *s, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	session_kill(s);
	if (session_start(s, &e) < 0) {
		session_kill(s);
		return refuse(&e, ret_error);
	}
	if (check_started(s, ret_error) == 0)
		return 0;
	session_kill(s);
	return -1;
}

char *pinfold_session_packages(struct pinfold_session *s)
{
	assert(s);
	if (!s->run || !s->run->req.deps.packages)
		return NULL;
	/* A guest without any has nothing to say, and would be waited for. */
	if (value_len(s->run->req.deps.packages))
		run_look(s->run);
	return value_text(s->run->req.deps.packages, NULL);
}

void pinfold_session_close(struct pinfold_session *s)
{
	if (!s)
		return;
	session_kill(s);
	for (char **p = s->env; p && *p; p++)
		free(*p);
	free(s->env);
	free(s->workdir);
	free(s->packages_json);
	fd_close(&s->epoll);
	fd_close(&s->timer);
	fd_close(&s->wake);
	free(s);
}

/* The loop */

/* A signal that comes before the driver is in the user's code would be lost, and one that comes
 * before the driver itself is there would kill the interpreter. */
static void interrupt_now(struct pinfold_session *s, uint64_t now)
{
	int unread = 0;

	s->signal_us = 0;
	if (s->state != SESSION_BUSY)
		return;
	if (!s->ready || now < s->began_us + SETTLE_US || s->out_at < s->out_len ||
	    (ioctl(s->run->input, SIOCOUTQ, &unread) == 0 && unread > 0))
		s->signal_us = now + SETTLE_US;
	else
		pinfold_run_signal(s->run, SIGINT);
	arm(s);
}

static void on_timer(struct pinfold_session *s)
{
	uint64_t ticks, now = now_us();

	(void)!read(s->timer, &ticks, sizeof(ticks)); /* only to make it quiet */
	if (s->deadline_us && now >= s->deadline_us) {
		s->deadline_us = 0;
		s->timed_out = true;
		s->kill_us = now + GRACE_US;
		interrupt_now(s, now);
	} else if (s->signal_us && now >= s->signal_us) {
		interrupt_now(s, now);
	}
	if (s->kill_us && now >= s->kill_us) {
		s->kill_us = 0;
		session_break(s, s->timed_out ? "timeout" : "protocol");
	}
	arm(s);
}

static void on_wake(struct pinfold_session *s)
{
	uint64_t n;

	(void)!read(s->wake, &n, sizeof(n)); /* only to make it quiet */
	interrupt_now(s, now_us());
}

/* It closed its socket. It is about to end; else it is of no use any more. */
static void on_deaf(struct pinfold_session *s)
{
	if (!s->deaf || s->ended || s->kill_us)
		return;
	s->kill_us = now_us() + GRACE_US;
	arm(s);
}

static void put_number(char *to, size_t size, int n)
{
	if (n < 0)
		(void)snprintf(to, size, "null");
	else
		(void)snprintf(to, size, "%d", n);
}

static int tell_done(struct pinfold_session *s, const char *status,
		     struct pinfold_session_event *ret)
{
	const struct pinfold_run *run = s->run;
	bool known = s->ended && run->have_status;
	int code = known && WIFEXITED(run->wait_status) ? WEXITSTATUS(run->wait_status) : -1;
	int signo = known && WIFSIGNALED(run->wait_status) ? WTERMSIG(run->wait_status) : -1;
	const char *reason = s->broken ? s->broken : s->ended ? run->status : NULL;
	char exit_code[16], sig[16];

	put_number(exit_code, sizeof(exit_code), s->ended ? code : s->exit_code);
	put_number(sig, sizeof(sig), signo);
	int n = snprintf(s->done, sizeof(s->done),
			 "{\"status\":\"%s\",\"execution_count\":%llu,\"wall_ms\":%.3f,"
			 "\"exit_code\":%s,\"signal\":%s,\"reason\":%s%s%s,\"alive\":%s}",
			 status, (unsigned long long)s->count,
			 (double)(now_us() - s->began_us) / 1000, exit_code, sig,
			 reason ? "\"" : "", reason ? reason : "null", reason ? "\"" : "",
			 s->ended ? "false" : "true");
	*ret = (struct pinfold_session_event){PINFOLD_SESSION_DONE, s->done, (size_t)n, 0};
	s->state = s->ended ? SESSION_OVER : SESSION_IDLE;
	s->asking = false;
	s->deadline_us = s->kill_us = s->signal_us = 0;
	arm(s);
	return 1;
}

static int tell_frame(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	struct session_frame *in = &s->in;
	bool result = in->kind == 'R' || in->kind == 'P';
	struct err ignored = ERR_INIT;

	*ret = (struct pinfold_session_event){
		.kind = result		  ? PINFOLD_SESSION_RESULT
			: in->kind == 'E' ? PINFOLD_SESSION_ERROR
					  : PINFOLD_SESSION_INPUT,
		.data = in->data,
		.len = in->len,
		.is_main = in->kind == 'R',
	};
	if (result && !session_result_is_good(in->data, in->len)) {
		ret->data = bad_result;
		ret->len = sizeof(bad_result) - 1;
	} else if (in->kind == 'E' && !session_error_is_good(in->data, in->len)) {
		ret->data = bad_error;
		ret->len = sizeof(bad_error) - 1;
	} else if (in->kind == 'I' && (s->state != SESSION_BUSY || s->refuses || s->asking)) {
		(void)session_send(s, 'N', 0, NULL, 0, &ignored); /* our driver does not ask then */
		return 0;
	} else if (in->kind == 'I') {
		s->asking = true;
	}
	return 1;
}

/* A whole frame, and nothing is left that was written before it. Its bytes are the event's until
 * the next call. */
static int take_frame(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	switch (s->in.kind) {
	case 'H': s->ready = true; return 0;
	case 'D': {
		const char *status = session_done_status(s->in.data, s->in.len, &s->exit_code);

		if (s->state != SESSION_BUSY)
			return 0; /* nobody asked */
		if (!status)
			status = "error";
		if (s->timed_out && strcmp(status, "ok") != 0)
			status = "timeout";
		return tell_done(s, status, ret);
	}
	default: return tell_frame(s, ret);
	}
}

static int tell_output(struct pinfold_session *s, int stream, size_t max,
		       struct pinfold_session_event *ret)
{
	size_t want = max < sizeof(s->buf) ? max : sizeof(s->buf);
	ssize_t n = s->run->out[stream] < 0 ? 0 : read(s->run->out[stream], s->buf, want);

	if (n <= 0)
		return 0;
	alerts_output(s->run, stream, s->buf, (size_t)n);
	*ret = (struct pinfold_session_event){
		.kind = stream == 0 ? PINFOLD_SESSION_STDOUT : PINFOLD_SESSION_STDERR,
		.data = s->buf,
		.len = (size_t)n,
	};
	return (int)n;
}

static int tell_alert(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	struct run_alerts *all = &s->run->alerts;

	if (all->told >= all->n)
		return 0;
	const struct run_alert *a = &all->list[all->told++];
	int n = snprintf((char *)s->buf, sizeof(s->buf), "%s %s", alert_name(a->rule), a->what);
	*ret = (struct pinfold_session_event){
		.kind = PINFOLD_SESSION_ALERT, .data = s->buf, .len = (size_t)n};
	return 1;
}

static int tell_before(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	for (int i = 0; i < 2; i++) {
		if (s->in.before[i] == 0)
			continue;
		int n = tell_output(s, i, s->in.before[i], ret);
		if (n > 0) {
			s->in.before[i] -= (size_t)n;
			return 1;
		}
		s->in.before[i] = 0;
	}
	return 0;
}

/* Things to tell that need no waiting. */
static int pending(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	for (;;) {
		if (tell_alert(s, ret))
			return 1;
		if (s->in.whole && !s->in.told) {
			if (tell_before(s, ret))
				return 1;
			int r = take_frame(s, ret);
			s->in.told = true;
			if (r > 0)
				return 1;
		}
		if (s->in.whole)
			session_frame_drop(s);
		if (!s->ended || s->state == SESSION_OVER)
			return 0;
		/* What it said last is still in the socket. */
		session_receive(s);
		if (s->in.whole)
			continue;
		if (s->state == SESSION_BUSY)
			return tell_done(s, s->timed_out ? "timeout" : "died", ret);
		s->state = SESSION_OVER;
		return 0;
	}
}

/* The command's own events: output, and its end. */
static int on_run(struct pinfold_session *s, struct pinfold_session_event *ret)
{
	struct pinfold_event ev;

	if (pinfold_run_next(s->run, 0, &ev) == 0)
		return 0;
	switch (ev.kind) {
	case PINFOLD_EVENT_STDOUT:
	case PINFOLD_EVENT_STDERR:
		*ret = (struct pinfold_session_event){
			.kind = ev.kind == PINFOLD_EVENT_STDOUT ? PINFOLD_SESSION_STDOUT
								: PINFOLD_SESSION_STDERR,
			.data = ev.data,
			.len = ev.len,
		};
		return 1;
	case PINFOLD_EVENT_RESULT:
		(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, pinfold_run_fd(s->run), NULL);
		s->ended = true;
		return 0;
	case PINFOLD_EVENT_ALERT:
		*ret = (struct pinfold_session_event){
			.kind = PINFOLD_SESSION_ALERT, .data = ev.data, .len = ev.len};
		return 1;
	case PINFOLD_EVENT_STARTED:
	case PINFOLD_EVENT_ASK:
	case PINFOLD_EVENT_DENIAL: return 0;
	}
	return 0;
}

static int dispatch(struct pinfold_session *s, const struct epoll_event *ev,
		    struct pinfold_session_event *ret)
{
	if (ev->data.fd == s->timer) {
		on_timer(s);
	} else if (ev->data.fd == s->wake) {
		on_wake(s);
	} else if (ev->data.fd == s->run->input) {
		if (ev->events & EPOLLOUT)
			session_flush(s);
		session_receive(s);
		on_deaf(s);
	} else {
		return on_run(s, ret);
	}
	return 0;
}

int pinfold_session_next(struct pinfold_session *s, int timeout_ms,
			 struct pinfold_session_event *ret_event)
{
	uint64_t until = timeout_ms < 0 ? 0 : now_us() + (uint64_t)timeout_ms * 1000;

	assert(s && ret_event);
	for (;;) {
		struct epoll_event ev;
		int wait = timeout_ms;

		if (s->state == SESSION_OVER)
			return 0;
		if (pending(s, ret_event))
			return 1;
		if (s->state == SESSION_OVER)
			return 0;
		if (timeout_ms > 0) {
			uint64_t now = now_us();

			wait = now >= until ? 0 : (int)((until - now) / 1000) + 1;
		}
		int n = epoll_wait(s->epoll, &ev, 1, wait);
		if (n > 0 && dispatch(s, &ev, ret_event) > 0)
			return 1;
		if (n == 0 || (n < 0 && errno == EINTR && timeout_ms >= 0))
			return 0;
	}
}
