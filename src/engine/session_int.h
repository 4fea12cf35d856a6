/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that stays: a command in a sandbox that lives, whose standard input is a socket
 * for frames (wire/frame.h). For session*.c only.
 *
 *	IDLE --> BUSY --> IDLE ...        a piece of code, from its frame X to the interpreter's D
 *	   \_______\____> OVER            the interpreter has ended, whoever ended it
 */
#ifndef ENGINE_SESSION_INT_H
#define ENGINE_SESSION_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/run_int.h"
#include "pinfold/pinfold.h"
#include "wire/frame.h"

enum session_state { SESSION_IDLE, SESSION_BUSY, SESSION_OVER };

/* A frame on its way in. */
struct session_frame {
	char head[FRAME_HEAD];
	unsigned n_head;
	char kind;
	char *data; /* len + 1 bytes, the last one NUL */
	uint32_t len, got;
	bool whole;
	bool told;	  /* its bytes are the last event's */
	size_t before[2]; /* output that was written before it and is still to be told */
};

struct session_lang;

struct pinfold_session {
	const struct session_lang *lang;
	char sandbox[PINFOLD_ID_SIZE];
	char *workdir;	     /* NULL: the default */
	char **env;	     /* or NULL */
	char tenant[64];     /* "": nobody's */
	char *packages_json; /* of the sandbox, or NULL */
	const char *argv[8]; /* the command looks at it to the end */

	struct pinfold_run *run; /* the command */
	int epoll;		 /* the run's own, the socket, `timer`, `wake` */
	int timer;
	int wake; /* eventfd: somebody wants it interrupted */

	enum session_state state;
	bool ready;   /* it said so; before, a signal would kill it */
	bool ended;   /* nothing comes any more but what is in the socket */
	bool deaf;    /* the socket is at its end */
	bool asking;  /* it waits for a line */
	bool refuses; /* and is given none */
	bool timed_out;
	const char *broken; /* why we ended it ourselves, or NULL */

	uint64_t count;				  /* pieces of code */
	uint64_t began_us;			  /* of this one */
	uint64_t deadline_us, kill_us, signal_us; /* 0: not set */
	uint64_t frames_bytes;			  /* of this piece of code */
	int exit_code;				  /* that the driver told, -1: none */

	struct session_frame in;
	char *out; /* what the socket did not take yet */
	size_t out_len, out_at;
	bool polls_out;
	char done[512]; /* text of the last DONE */
	char buf[65536];
};

/* session_start.c: which language; the interpreter's command; its end. */
int session_find_lang(const char *name, const struct session_lang **ret, struct err *e);
const char *session_lang_name(const struct session_lang *lang);
/* Whether these words of a process are those of an interpreter with a driver of ours. */
bool session_is_command(const char *words, size_t len);
int session_start(struct pinfold_session *s, struct err *e);
void session_kill(struct pinfold_session *s);

/* session_frame.c: take what is in the socket, up to one whole frame. */
void session_receive(struct pinfold_session *s);
void session_frame_drop(struct pinfold_session *s);
/* Send, or keep for when the socket takes it. `prefix` of 0 is left out. */
int session_send(struct pinfold_session *s, char kind, char prefix, const void *data, size_t len,
		 struct err *e);
void session_flush(struct pinfold_session *s);
/* Is it JSON of the shape that its kind has? */
bool session_result_is_good(const char *data, size_t len);
bool session_error_is_good(const char *data, size_t len);
/* The driver's own word for how it went, one of ours; NULL: none. */
const char *session_done_status(const char *data, size_t len, int *ret_exit_code);

/* session.c: end an interpreter that breaks the rules. */
void session_break(struct pinfold_session *s, const char *why);

#endif
