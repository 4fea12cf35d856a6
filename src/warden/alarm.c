/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts in the daemon: who has a run or a command inside raises them and records them
 * (engine/alert.c), but only here can something be done while the caller of a refused call still
 * waits, and nobody may be there. Only by what the kernel told us: what a command prints is not
 * looked at in a process with privilege.
 */
#include <stdio.h>

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
			const struct notify_event *ev, const char *action)
{
	struct warden_news news = {.alert = 1 + rule};

	(void)snprintf(news.what, sizeof(news.what), "%s", ev->what);
	(void)snprintf(news.action, sizeof(news.action), "%s", action);
	if (!ward->visitors)
		warden_tell(w, ward, &news);
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
		(void)fprintf(stderr, "pinfold: sandbox %s: alert %s: %s: %s\n", ward->spec.id,
			      alert_name(rule), ev->what, acts[done].log);
		tell_record(w, ward, rule, ev, acts[done].word);
	}
	if (!answer && ward->paused)
		ward->withheld = *ev;
	return answer;
}
