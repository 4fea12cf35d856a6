/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames between a session's host side and the interpreter that stays (guest/session.*), over a
 * stream socket: one letter, eight hexadecimal digits (small letters) that say how many bytes
 * follow, the bytes. Plain enough for every one of those languages to read and write by itself.
 *
 *	to the interpreter	X  execute: ' ', or 'n' when input is refused; the code behind it
 *				I  the line that was asked for
 *				N  there will be no line
 *				B  the driver's own text, before anything else (R only)
 *	from it			H  ready; once
 *				P  something that the code shows: JSON object, MIME type -> data
 *				R  the same for the value of the last expression
 *				E  an error: JSON object with name, value, traceback
 *				I  a line is asked for; the prompt
 *				D  done: JSON object with status and maybe exit_code
 *
 * The code's output is not among them: it comes through pipes and is written before the frame that
 * follows it in the order of events.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD 9u
#define FRAME_MAX (16u << 20)	  /* bytes behind a head */
#define FRAME_ALL_MAX (64u << 20) /* from the interpreter for one piece of code */

void frame_put_head(char head[FRAME_HEAD], char kind, uint32_t len);
/* Of an interpreter's frame: nothing that it says is believed. False: it is none. */
bool frame_take_head(const char head[FRAME_HEAD], char *ret_kind, uint32_t *ret_len);

#endif
