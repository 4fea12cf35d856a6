/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/alert.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/run_int.h"
#include "warden/control.h"

static const char *const actions[] = {
	[ALERT_LOG] = "log", [ALERT_KILL] = "kill", [ALERT_PAUSE] = "pause"};

const char *alert_action_name(enum alert_action a)
{
	return actions[a];
}

int alert_action_of(const char *word, enum alert_action *ret, struct err *e)
{
	for (enum alert_action a = ALERT_LOG; word && a <= ALERT_PAUSE; a++) {
		if (strcmp(word, actions[a]) != 0)
			continue;
		*ret = a;
		return 0;
	}
	if (!word)
		return 0;
	(void)err_set(e, ERR_INVALID, "--on-alert: \"%.40s\" is not log, kill or pause", word);
	return err_remedy(e, "use --on-alert kill to end a run with its first alert");
}

void alerts_begin(struct pinfold_run *run)
{
	for (int i = 0; i < 2; i++)
		alert_output_init(&run->alerts.output[i], run->req.spec.pty);
}

/* In the daemon somebody can let it go on by its id; here, whoever has the run. */
static bool pause_it(struct pinfold_run *run)
{
	struct pinfold_error ignored;

	if (run->link >= 0 && pinfold_sandbox_pause(run->req.spec.id, &ignored) == 0)
		return true;
	if (run->live.sb.control < 0)
		return false;
	control_send(run->live.sb.control, MSG_SIGNAL, SIGSTOP);
	run->alerts.stopping = true;
	return true;
}

/* Once: somebody who let it go on has seen it. */
static enum alert_action act(struct pinfold_run *run)
{
	struct run_alerts *all = &run->alerts;
	enum alert_action on = run->box_alert != ALERT_LOG ? run->box_alert : run->req.on_alert;

	if (on == ALERT_LOG || all->acted ||
	    (run->state != RUN_RUNNING && run->state != RUN_STOPPING))
		return ALERT_LOG;
	all->acted = true;
	struct pinfold_error ignored;
	if (on == ALERT_PAUSE && pause_it(run))
		return ALERT_PAUSE;
	if (run->box_alert != ALERT_LOG)
		(void)pinfold_sandbox_destroy(run->req.spec.id, &ignored); /* or it is gone */
	run_stop(run, STOP_ALERT, true); /* also where it cannot be paused */
	return ALERT_KILL;
}

int alerts_answer(struct pinfold_run *run, const struct notify_event *ev)
{
	if (run->stop == STOP_ALERT)
		return 0;
	if (!run->alerts.stopping)
		return notify_answer(run->listener, ev);
	run->alerts.stopping = false;
	run->alerts.withheld = ev->id;
	run->alerts.withheld_network = ev->network;
	return 0;
}

void alerts_resumed(struct pinfold_run *run)
{
	const struct notify_event ev = {.id = run->alerts.withheld,
					.network = run->alerts.withheld_network};

	if (ev.id && run->listener >= 0)
		(void)notify_answer(run->listener, &ev); /* or he is gone */
	run->alerts.withheld = 0;
}

static void raise_alert(struct pinfold_run *run, enum alert_rule rule, const char *what,
			uint64_t count)
{
	struct run_alerts *all = &run->alerts;
	unsigned same = 0;

	for (unsigned i = 0; i < all->n; i++) {
		struct run_alert *a = &all->list[i];

		if (a->rule == rule && strncmp(a->what, what, sizeof(a->what) - 1) == 0) {
			a->count += count;
			return;
		}
		same += a->rule == rule;
	}
	if (all->n == RUN_ALERTS_MAX || same == RUN_ALERTS_OF_RULE) {
		all->omitted += count;
		return;
	}
	struct run_alert *a = &all->list[all->n++];
	*a = (struct run_alert){.rule = rule, .count = count};
	(void)snprintf(a->what, sizeof(a->what), "%s", what);
	a->action = act(run);
	record_run_alert(run, a);
}

static void on_output(enum alert_rule rule, const char *what, void *arg)
{
	raise_alert(arg, rule, what, 1);
}

void alerts_output(struct pinfold_run *run, int stream, const void *data, size_t len)
{
	if (HOLD_ALERTS && !run->req.spec.tool)
		alert_output_look(&run->alerts.output[stream], data, len, on_output, run);
}

void alerts_denial(struct pinfold_run *run, const struct notify_event *ev, const char *what,
		   uint64_t count)
{
	const struct alert_refusal r = {.network = ev->network, .what = what, .host = ev->host};
	unsigned raised = alert_refused(&run->alerts.rate, &r, count, now_us() / 1000);

	for (enum alert_rule rule = 0; HOLD_ALERTS && rule < ALERT_RULES; rule++)
		if (raised & 1u << rule)
			raise_alert(run, rule,
				    rule == ALERT_DENIALS ? "many refusals in ten seconds" : what,
				    rule == ALERT_DENIALS ? 1 : count);
}

void alerts_write(struct json *j, const struct pinfold_run *run)
{
	const struct run_alerts *all = &run->alerts;

	json_open(j, "alerts", '[');
	for (unsigned i = 0; i < all->n; i++) {
		const struct run_alert *a = &all->list[i];

		json_open(j, NULL, '{');
		json_str(j, "rule", alert_name(a->rule));
		json_str(j, "what", a->what);
		json_u64(j, "count", a->count);
		json_str(j, "action", alert_action_name(a->action));
		json_close(j, '}');
	}
	json_close(j, ']');
	if (all->omitted)
		json_u64(j, "alerts_omitted", all->omitted);
}

struct value *alert_value(const struct run_alert *a)
{
	struct value *v = value_object();

	value_set(v, "rule", value_of_str(alert_name(a->rule)));
	value_set(v, "what", record_redacted(a->what));
	value_set(v, "action", value_of_str(alert_action_name(a->action)));
	return v;
}
