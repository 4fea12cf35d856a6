/* SPDX-License-Identifier: Apache-2.0 */
/* How far somebody has read several chains. */
#include "engine/cursor.h"

#include <string.h>

#include "tap.h"

#define A "ledaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "ledbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void good(const char *text)
{
	struct err e = ERR_INIT;

	ok(cursor_check(text, &e) == 0, text ? text : "none");
}

static void bad(const char *text)
{
	struct err e = ERR_INIT;

	ok(cursor_check(text, &e) < 0 && e.kind == ERR_INVALID && e.remedy[0], text);
}

static void shapes(void)
{
	good(NULL);
	good("");
	good(A ":0");
	good(A ":12." B ":999999999999999999");
	bad("12");
	bad("nonsense");
	bad(A);
	bad(A ":");
	bad(A ":x");
	bad(A ":1.");
	bad(A ":1.." B ":2");
	bad(A ":1," B ":2");
	bad(A ":-1");
	bad(A ":1 ");
	bad(A ":1000000000000000000");
	bad("run"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaa"
	    ":1");
	bad("." A ":1");
}

static void places(void)
{
	char text[2 * 50] = "";

	cursor_add(text, sizeof(text), A, 12);
	cursor_add(text, sizeof(text), B, 0);
	is_str(text, A ":12." B ":0", "written");
	good(text);
	is_int((long long)cursor_place(text, A), 12, "the first");
	is_int((long long)cursor_place(text, B), 0, "the second");
	is_int((long long)cursor_place(text, "led"
					     "cccccccccccccccccccccccccc"),
	       0, "one that is not there begins at its first event");
	is_int((long long)cursor_place(NULL, A), 0, "nothing was seen");
	cursor_add(text, sizeof(text), A, UINT64_MAX);
	is_str(text, A ":12." B ":0", "what has no room is left out whole");
}

int main(void)
{
	TAP_RUN(shapes);
	TAP_RUN(places);
	return tap_done();
}
