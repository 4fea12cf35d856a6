/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts of one run: raised by the rules of alert/, told, recorded, and acted upon once. */
#ifndef ENGINE_ALERT_H
#define ENGINE_ALERT_H

#include <stdbool.h>
#include <stdint.h>

#include "alert/alert.h"
#include "alert/output.h"
#include "base/err.h"

struct json;
struct notify_event;
struct pinfold_run;
struct value;

enum alert_action { ALERT_LOG, ALERT_KILL, ALERT_PAUSE };

#define RUN_ALERTS_MAX 32u    /* different ones; more are only counted */
#define RUN_ALERTS_OF_RULE 8u /* so that one rule leaves room for the others */

struct run_alert {
	enum alert_rule rule;
	char what[192];
	uint64_t count;
	enum alert_action action; /* that was taken for it */
};

struct run_alerts {
	bool acted;
	bool stopping;	   /* SIGSTOP is on its way to it, */
	uint64_t withheld; /* whose call is answered when it goes on; 0: nobody's */
	bool withheld_network;
	struct run_alert list[RUN_ALERTS_MAX];
	unsigned n, told;
	uint64_t omitted;
	struct alert_rate rate;
	struct alert_output output[2];
};

/* "log", "kill" or "pause"; NULL is the first. */
int alert_action_of(const char *word, enum alert_action *ret, struct err *e);
const char *alert_action_name(enum alert_action a);

void alerts_begin(struct pinfold_run *run);
/* What the command printed. */
void alerts_output(struct pinfold_run *run, int stream, const void *data, size_t len);
/* Something was refused: so often more. */
void alerts_denial(struct pinfold_run *run, const struct notify_event *ev, const char *what,
		   uint64_t count);
/* Answer the refused call after that: not to who is killed for it, and to who is stopped when he
 * goes on, so that he cannot be faster than the signal. 0, or -errno: the listener is finished. */
int alerts_answer(struct pinfold_run *run, const struct notify_event *ev);
/* SIGCONT was sent. */
void alerts_resumed(struct pinfold_run *run);
/* `alerts` of the result document. */
void alerts_write(struct json *j, const struct pinfold_run *run);
/* What the ledger has of one. */
struct value *alert_value(const struct run_alert *a);

#endif
