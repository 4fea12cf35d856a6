/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream of a command's output, looked at as it comes: does it carry what a terminal would act
 * on, or what looks like instructions to a model?
 *
 * For a terminal, without one of its own: control strings (ESC P, X, ^, _), commands (ESC ]) but
 * for links, progress and the shell's marks, requests that a terminal answers as if they were typed
 * (ESC [ n, c, t and the like), mouse reports and printing. Colours, cursor movements and erasing
 * are what programs print. With a terminal of its own (--pty) a program may use all of that; there
 * only the clipboard counts. Bytes 0x80-0x9f, which few terminals take for the same, are not looked
 * at.
 */
#ifndef ALERT_OUTPUT_H
#define ALERT_OUTPUT_H

#include "alert/alert.h"

#define OUTPUT_BACK 64u	 /* how far what we look for reaches back from where it is noticed, */
#define OUTPUT_AHEAD 32u /* and forward */
#define OUTPUT_KEPT (OUTPUT_BACK + OUTPUT_AHEAD)

enum output_state {
	OUTPUT_GROUND,
	OUTPUT_ESCAPE,	   /* after ESC */
	OUTPUT_CSI,	   /* after ESC [ */
	OUTPUT_OSC_NUMBER, /* after ESC ] */
	OUTPUT_OSC_FIRST,  /* its first byte after the number */
	OUTPUT_STRING,	   /* the rest of it, or a control string */
	OUTPUT_STRING_END, /* ESC in it: \ ends it */
};

struct alert_output {
	bool pty;
	enum output_state state;
	unsigned number;  /* of a command; of CSI: its only parameter */
	unsigned length;  /* of a string so far */
	char mark;	  /* CSI: ? or > before its parameters */
	char sign;	  /* CSI: the byte right before its end, if that is no parameter */
	bool several;	  /* CSI: it has more than one, or bytes between */
	bool after_text;  /* it began behind text, not in the middle of binary data */
	bool is_command;  /* ESC ], which BEL ends, too */
	const char *what; /* what the string is, when it ends well; NULL: nothing to tell */
	/* The last bytes, and from where in them on nothing was decided yet about prompts. */
	unsigned char kept[OUTPUT_KEPT];
	unsigned n_kept, open;
};

/* `what` is a static text of ours. */
typedef void alert_output_fn(enum alert_rule rule, const char *what, void *arg);

void alert_output_init(struct alert_output *o, bool pty);
void alert_output_look(struct alert_output *o, const void *data, size_t len, alert_output_fn *found,
		       void *arg);

#endif
