/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and their text: what was printed is parsed, and nothing else is. */
#include "store/stack.h"

#include "tap.h"

static struct err e = ERR_INIT;

static void round_trip(void)
{
	static const char text[] = "812:5,7:1,3:7";
	char again[STACK_TEXT_SIZE];
	struct stack s;

	is_int(stack_parse(text, &s, &e), 0, "three layers");
	is_int(s.n, 3, "are three");
	ok(s.layer[0].number == 812 && s.layer[0].parts == (LAYER_ROOT | LAYER_WORK),
	   "the topmost");
	ok(s.layer[2].number == 3 && s.layer[2].parts == 7, "the lowest");
	stack_print(&s, again);
	is_str(again, text, "and the same text again");
	ok(stack_has(&s, 7) && !stack_has(&s, 8) && !stack_has(&s, 81), "who is in it");
	is_int(stack_parse("", &s, &e), 0, "no layer");
	is_int(s.n, 0, "is none");
	stack_print(&s, again);
	is_str(again, "", "and no text");
	ok(!stack_has(&s, 0), "nobody is in it");
}

/* An image is the lowest of a stack, and says so. */
static void images(void)
{
	static const char *const bad[] = {"1:9,2:1", "1:9,2:9", "1:10", "1:15",
					  "1::",     "1:;",	"1:?"};
	struct stack s;

	is_int(stack_parse("7:1,2:9", &s, &e), 0, "an image below a layer");
	is_int((int)stack_image(&s), 2, "is the image");
	is_int(stack_parse("2:9", &s, &e), 0, "an image alone");
	is_int((int)stack_image(&s), 2, "is one, too");
	is_int(stack_parse("7:1,2:1", &s, &e), 0, "layers alone");
	is_int((int)stack_image(&s), 0, "stand on no image");
	is_int(stack_parse("", &s, &e), 0, "nothing");
	is_int((int)stack_image(&s), 0, "neither");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(stack_parse(bad[i], &s, &e) < 0, bad[i]);
}

static void fills(void)
{
	char text[STACK_TEXT_SIZE], again[STACK_TEXT_SIZE];
	struct stack s = {0}, t;
	bool good = true;

	for (uint32_t i = 0; i < STACK_MAX; i++)
		good = good && stack_push(&s, (struct sandbox_layer){999999999 - i, 7}, &e) == 0;
	ok(good, "as many as it holds");
	ok(s.layer[0].number == 999999999 - (STACK_MAX - 1), "the last is on top");
	ok(stack_push(&s, (struct sandbox_layer){1, 1}, &e) < 0 && e.kind == ERR_LIMIT,
	   "one more is refused");
	is_int(stack_push(&s, (struct sandbox_layer){1, 0}, &e), 0, "one without parts is none");
	is_int(s.n, STACK_MAX, "and not there");
	stack_print(&s, text);
	is_int(stack_parse(text, &t, &e), 0, "its text fits");
	stack_print(&t, again);
	is_str(again, text, "whole");
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ",1:1");
	ok(stack_parse(text, &t, &e) < 0, "and no more than that is read");
}

/* store.db may be anybody's bytes once the disk has gone bad. */
static void damaged(void)
{
	static const char *const texts[] = {
		"1",	    "1:",	   ":1",    "1:1,",	    ",1:1",
		"1:1,,2:1", "0:1",	   "1:0",   "1:8",	    "1:77",
		"-1:1",	    "1:-1",	   " 1:1",  "1: 1",	    "+1:1",
		"1:1 ",	    "a:1",	   "1:a",   "1;1",	    "../1:1",
		"1:1\n",    "1:1,../2",	   "0x1:1", "4294967297:1", "99999999999:1",
		"1:1,1:1",  "2:1,1:1,2:3",
	};
	struct stack s;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		e = (struct err)ERR_INIT;
		if (!ok(stack_parse(texts[i], &s, &e) < 0 && e.text[0],
			"a damaged text is refused"))
			diag("\"%s\"", texts[i]);
	}
}

int main(void)
{
	TAP_RUN(round_trip);
	TAP_RUN(images);
	TAP_RUN(fills);
	TAP_RUN(damaged);
	return tap_done();
}
