/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts in the daemon: who has a run or a command inside raises them and records them
 * (engine/alert.c), but only here can something be done while the caller of a refused call still
 * waits, and nobody may be there. By what the kernel told us, and, of commands in the background, by
 * what a process without rights found in their output (look.c): none of it is taken apart here.
 */
#include <stdio.h>
#include <string.h>

#include "alert/alert.h"
#include "warden/ward_int.h"

#define LOGGED_MAX 8u

/* What was done about one: for the log, and in the words of --on-alert. */
enum act { ACT_LOG, ACT_PAUSE, ACT_KILL };
static const struct {
	const char *log, *word;
} acts[] = {
	[ACT_LOG] = {"recorded", "log"},
	[ACT_PAUSE] = {"paused", "pause"},
	[ACT_KILL] = {"killed", "kill"},
};

/* The first few, where nobody has a command inside who would record them. */
static void tell_record(const struct warden *w, const struct ward *ward, enum alert_rule rule,
			const struct notify_event *ev, enum act done)
{
	struct warden_news news = {.alert = 1 + rule};

	(void)snprintf(news.what, sizeof(news.what), "%s", ev->what);
	(void)snprintf(news.action, sizeof(news.action), "%s", acts[done].word);
	if (!ward->visitors)
		warden_tell(w, ward, &news);
}

static void log_alert(const char *sandbox, enum alert_rule rule, const char *what, enum act done)
{
	(void)fprintf(stderr, "pinfold: sandbox %s: alert %s: %s: %s\n", sandbox, alert_name(rule),
		      what, acts[done].log);
}

/* Once: somebody who let it go on has seen it. */
static enum act act(struct ward *ward, bool *ret_answer)
{
	struct err e = ERR_INIT;

	if (ward->alarmed || !(ward->spec.alert_kills || ward->spec.alert_pauses))
		return ACT_LOG;
	ward->alarmed = true;
	if (ward->spec.alert_pauses) {
		int r = ward_set_paused(ward, true, &e);

		*ret_answer = r != 1;
		if (r >= 0)
			return ACT_PAUSE;
		if (!ward->held)
			return ACT_LOG; /* its caller has a way */
	}
	ward_kill(ward, LINK_STOP_ALERT);
	*ret_answer = false;
	return ACT_KILL;
}

bool ward_refused(const struct warden *w, struct ward *ward, const struct notify_event *ev)
{
	const struct alert_refusal r = {.network = ev->network, .what = ev->what, .host = ev->host};
	bool answer = true;

	if (notify_is_gated(&ward->spec.egress, ev))
		return true; /* nothing is refused yet: the gate decides, and tells who started it */
	unsigned raised = alert_refused(&ward->rate, &r, 1, warden_now_us() / 1000);

	for (enum alert_rule rule = 0; rule < ALERT_RULES; rule++) {
		if (!(raised & 1u << rule))
			continue;
		enum act done = act(ward, &answer);
		if (ward->alerts++ >= LOGGED_MAX || !ward->held)
			continue;
		log_alert(ward->spec.id, rule, ev->what, done);
		tell_record(w, ward, rule, ev, done);
	}
	if (!answer && ward->paused)
		ward->withheld = *ev;
	return answer;
}

/* The sandbox may be gone by now: its record is not. */
void ward_printed(struct warden *w, const struct look_found *f)
{
	struct ward *ward = ward_find(w, f->who.sandbox);
	struct warden_news news = {.alert = 1 + f->rule,
				   .pid = f->who.pid,
				   .owner = f->who.owner,
				   .drained = w->draining};
	bool none = true;
	enum act done = ward && ward->state == WARD_RUNNING ? act(ward, &none) : ACT_LOG;

	if (ward && ward->alerts++ >= LOGGED_MAX)
		return;
	log_alert(f->who.sandbox, f->rule, f->what, done);
	memcpy(news.sandbox, f->who.sandbox, sizeof(news.sandbox));
	memcpy(news.label, f->who.label, sizeof(news.label));
	memcpy(news.what, f->what, sizeof(news.what));
	(void)snprintf(news.action, sizeof(news.action), "%s", acts[done].word);
	if (w->config->news)
		w->config->news(w->config->arg, &news);
}
