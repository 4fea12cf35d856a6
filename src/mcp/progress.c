/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That it still goes on, for clients that gave a token: every ten seconds, and when something was
 * printed, twice a second at most, with the last line of it. And log messages, for those who asked
 * for them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "mcp/mcp_int.h"
#include "mcp/text.h"

#define QUIET_MS 10000u
#define PAUSE_MS 500u

static const char *const levels[] = {"debug", "info",	  "notice", "warning",
				     "error", "critical", "alert",  "emergency"};

int log_level_of(const char *name)
{
	for (int i = 0; i < (int)(sizeof(levels) / sizeof(*levels)); i++)
		if (strcmp(levels[i], name) == 0)
			return i;
	return -1;
}

void request_log(struct request *r, const char *level, const char *text)
{
	struct value *params;

	if (r->log_level < 0 || log_level_of(level) < r->log_level)
		return;
	params = value_object();
	value_set(params, "level", value_of_str(level));
	value_set(params, "logger", value_of_str("pinfold"));
	value_set(params, "data", value_of_str(text));
	request_notify(r, "notifications/message", params);
}

static void tell(struct request *r)
{
	struct value *params = value_object();
	uint64_t now = loop_now_ms();
	char seconds[32], words[260];

	(void)snprintf(words, sizeof(words), "%s%s%s",
		       text_seconds(now - r->call->began_ms, seconds), *r->last_line ? ": " : "",
		       r->last_line);
	value_set(params, "progressToken", value_copy(r->token));
	value_set(params, "progress", value_of_u64(++r->progress));
	value_set(params, "message", value_of_str(words));
	r->progress_at_ms = now;
	timer_set(r->mcp->api->loop, &r->timer, now + QUIET_MS);
	request_notify(r, "notifications/progress", params);
}

static void fire(struct timer *t)
{
	tell((struct request *)((char *)t - offsetof(struct request, timer)));
}

void progress_begin(struct request *r)
{
	if (!r->token)
		return;
	r->timer.fire = fire;
	r->progress_at_ms = loop_now_ms();
	timer_set(r->mcp->api->loop, &r->timer, r->progress_at_ms + QUIET_MS);
}

void progress_end(struct request *r)
{
	if (r->mcp->api)
		timer_set(r->mcp->api->loop, &r->timer, 0);
	if (r->feed) {
		feed_leave(r->feed, &r->follower);
		feed_unref(r->feed);
		r->feed = NULL;
	}
}

/* The last line of a piece of output that is more than blanks. */
static void keep_line(struct request *r, const char *data, size_t len)
{
	auto_value *v = NULL;
	struct err ignored = ERR_INIT;
	struct tidy t;

	if (value_parse(data, len, &v, &ignored) < 0 || !value_str(value_get(v, "text")))
		return;
	const struct value *text = value_get(v, "text");
	tidy_init(&t);
	tidy_text(&t, value_str(text), value_len(text), 0);
	while (t.out.len && (t.out.data[t.out.len - 1] == '\n' || t.out.data[t.out.len - 1] == ' '))
		t.out.data[--t.out.len] = '\0';
	const char *line = t.out.len ? strrchr(t.out.data, '\n') : NULL;
	line = line ? line + 1 : t.out.data;
	if (t.out.len && *line)
		(void)snprintf(r->last_line, sizeof(r->last_line), "%s", line);
	tidy_done(&t);
}

static void more(struct follower *f)
{
	struct request *r = (struct request *)((char *)f - offsetof(struct request, follower));
	struct feed_event ev;
	auto_free char *last = NULL;
	size_t last_len = 0;
	char *data = NULL;

	while (feed_take(r->feed, f, &ev, &data) > 0) {
		if (strcmp(ev.name, "stdout") != 0 && strcmp(ev.name, "stderr") != 0) {
			free(data);
			continue;
		}
		free(last);
		last = data;
		last_len = ev.len;
	}
	if (!last || !r->call)
		return;
	keep_line(r, last, last_len);
	if (loop_now_ms() >= r->progress_at_ms + PAUSE_MS)
		tell(r);
	else
		timer_set(r->mcp->api->loop, &r->timer, r->progress_at_ms + PAUSE_MS);
}

static void follow(struct task *t)
{
	struct request *r = (struct request *)((char *)t - offsetof(struct request, follow_task));

	r->follower.more = more;
	feed_follow(r->feed, &r->follower);
	more(&r->follower);
}

/* Where we are: the handler's thread. Its call is done behind our task, so that finds the
 * request. */
void progress_follow(struct call *c, struct feed *feed)
{
	struct request *r = c->transport;

	if (!r->token || r->feed)
		return;
	r->feed = feed_ref(feed);
	r->follow_task.run = follow;
	loop_post(c->api->loop, &r->follow_task);
}
