/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns bytes of an untrusted program into text that a terminal only displays. Pure; the state
 * between two calls is in struct escape, so a sequence may be split anywhere.
 *
 *	C0 controls, DEL		^@ ^[ ^H ^?	(\n and \t pass)
 *	\r				^M, because it lets text overprint what was shown before;
 *					\r\n passes
 *	C1 controls in UTF-8		<U+009B>
 *	what reorders, hides or breaks	<U+202E>	(bidi controls, line separators, BOM, tags)
 *	bytes that are not UTF-8	\x9b		(this includes 8-bit C1)
 *	all other UTF-8			passes
 *
 * It is for reading, not for decoding: a program may print "^[" itself.
 */
#ifndef CMD_ESCAPE_H
#define CMD_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that one byte of input, with what was held back before it, can become. */
#define ESCAPE_ROOM 32

struct escape {
	uint8_t held[4]; /* an UTF-8 sequence that is not complete yet */
	uint8_t held_len;
	bool held_cr;  /* a \r whose next byte is not known yet */
	bool one_line; /* \n is escaped too: for messages of one line */
};

/* Escapes from `in` into `out` until the input is used up or less than ESCAPE_ROOM bytes of room
 * are left. Returns the length of the output, *ret_used says how much of the input it covers. */
size_t escape_feed(struct escape *x, const void *in, size_t len, size_t *ret_used, char *out,
		   size_t room);
/* What is still held back when the input has ended; needs ESCAPE_ROOM bytes. */
size_t escape_end(struct escape *x, char *out, size_t room);
/* A whole text as one line, ended by NUL, cut where it does not fit. Needs room > ESCAPE_ROOM. */
void escape_line(const char *text, char *out, size_t room);

#endif
