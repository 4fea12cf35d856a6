/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a session, for REST and for tools. */
#ifndef API_EXECUTE_H
#define API_EXECUTE_H

#include "api/boxes.h"
#include "api/runs.h"

struct execution {
	const char *code;
	size_t code_len;
	uint64_t time_ms; /* 0: a minute */
	bool input;	  /* a line may be asked for: box_session_answer() */
	bool give_back;	  /* the session, before anybody hears the result; then `given` is set */
	bool given;
	char run[32]; /* id of its record; "": one is made */
	/* {"id", "status", "execution_count", "stdout", "stderr", "results": [{MIME: …,
	 * "is_main"}], "error", "files", "usage"}; taken by the caller. */
	struct value *result;
};

/* Who calls has the session (box_session()). Events of its record: started, stdout, stderr, output
 * (a result), error, input (it asks for a line), result. A call that is cancelled interrupts it. */
int execute(struct call *c, struct box *b, struct session *s, struct execution *x, struct err *e);

#endif
