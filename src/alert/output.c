/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/output.h"

#include <assert.h>
#include <string.h>

#include "alert/find.h"
#include "alert/prompt.h"
#include "base/utf8.h"

#define STRING_MAX 4096u
#define STRING_MIN 2u /* shorter ones come about by chance in binary data */
#define BEHIND 8u     /* bytes of text that a short sequence has before it, for the same reason */
#define NUMBER_MAX 10000u

struct sight {
	struct alert_output *o;
	alert_output_fn *found;
	void *arg;
};

void alert_output_init(struct alert_output *o, bool pty)
{
	*o = (struct alert_output){.pty = pty};
}

static void tell(const struct sight *s, const char *what)
{
	if (!s->o->pty)
		s->found(ALERT_TERMINAL, what, s->arg);
}

/* What a command is, by its number; NULL: what programs print in good faith. */
static const char *command_of(unsigned number, unsigned char first)
{
	switch (number) {
	case 7:	  /* the working directory */
	case 8:	  /* links */
	case 133: /* marks of a shell's prompt */
	case 633: return NULL;
	case 9: return first == '4' ? NULL : "a notification (OSC 9)"; /* 9;4 is progress */
	case 0:
	case 1:
	case 2: return "the window's title (OSC 0, 1, 2)";
	case 777: return "a notification (OSC 777)";
	default: return "a command to the terminal (OSC)";
	}
}

/* Requests: what the terminal answers arrives as if it had been typed. */
static const char *request_of(const struct alert_output *o, unsigned char last)
{
	bool plain = !o->several && o->after_text;

	switch (last) {
	case 'n':
		return plain && (o->number == 5 || o->number == 6 || o->mark == '?')
			       ? "a report of the cursor's place"
			       : NULL;
	case 'c': return plain && o->number == 0 ? "a report of the terminal's kind" : NULL;
	case 'x': return plain && o->number < 2 ? "a report of the terminal's settings" : NULL;
	case 't':
		return plain && o->number >= 11 && o->number <= 21 ? "a report of the window"
								   : NULL;
	case 'q': return plain && o->mark == '>' ? "a report of the terminal's kind" : NULL;
	case 'u': return plain && o->mark == '?' ? "a report of the terminal's settings" : NULL;
	case 'p':
		return o->after_text && o->sign == '$' ? "a report of the terminal's settings"
						       : NULL;
	case 'y': return o->after_text && o->sign == '*' ? "a report of the window" : NULL;
	case 'i': return plain && (o->number == 4 || o->number == 5) ? "printing" : NULL;
	case 'h':
		return o->mark == '?' && o->number >= 1000 && o->number <= 1016 && o->number != 1004
			       ? "reports of the mouse"
			       : NULL;
	default: return NULL;
	}
}

static void on_escape(struct alert_output *o, const struct sight *s, unsigned char c)
{
	o->state = OUTPUT_GROUND;
	o->number = o->length = 0;
	o->mark = o->sign = 0;
	o->several = o->is_command = false;
	o->what = NULL;
	switch (c) {
	case '[': o->state = OUTPUT_CSI; break;
	case ']':
		o->state = OUTPUT_OSC_NUMBER;
		o->is_command = true;
		break;
	case 'P':
		o->state = OUTPUT_STRING;
		o->what = "a control string to the terminal (DCS)";
		break;
	case '_':
	case '^':
	case 'X':
		o->state = OUTPUT_STRING;
		o->what = "a control string to the terminal (APC, PM, SOS)";
		break;
	case 'Z':
		if (o->after_text)
			tell(s, "a report of the terminal's kind");
		break;
	case 0x1b: o->state = OUTPUT_ESCAPE; break;
	default: break;
	}
}

static void on_csi(struct alert_output *o, const struct sight *s, unsigned char c)
{
	if (c >= '0' && c <= '9') {
		o->number = o->number < NUMBER_MAX ? o->number * 10 + (c - '0') : NUMBER_MAX;
	} else if (c >= '<' && c <= '?') {
		o->mark = (char)c;
	} else if (c >= 0x20 && c <= 0x3f) {
		o->several = true;
		o->sign = c < '0' ? (char)c : 0;
	} else {
		const char *what = c >= 0x40 && c <= 0x7e ? request_of(o, c) : NULL;

		o->state = c == 0x1b ? OUTPUT_ESCAPE : OUTPUT_GROUND;
		if (what)
			tell(s, what);
	}
	if (++o->length > 32)
		o->state = OUTPUT_GROUND;
}

static void on_osc_number(struct alert_output *o, unsigned char c)
{
	if (c >= '0' && c <= '9' && o->number < NUMBER_MAX) {
		o->number = o->number * 10 + (c - '0');
		o->length++;
	} else {
		o->state = c == ';' && o->length ? OUTPUT_OSC_FIRST : OUTPUT_GROUND;
	}
}

static void on_string(struct alert_output *o, const struct sight *s, unsigned char c)
{
	bool ends = o->state == OUTPUT_STRING_END ? c == '\\' : c == 0x07 && o->is_command;

	if (ends && o->what && o->length >= STRING_MIN && (o->after_text || o->is_command))
		tell(s, o->what);
	if (ends) {
		o->state = OUTPUT_GROUND;
	} else if (o->state == OUTPUT_STRING_END) {
		on_escape(o, s, c);
	} else if (c == 0x1b) {
		o->state = OUTPUT_STRING_END;
	} else if (c < 0x20 || ++o->length > STRING_MAX) {
		o->state = OUTPUT_GROUND;
	}
}

static void on_osc_first(struct alert_output *o, const struct sight *s, unsigned char c)
{
	o->state = OUTPUT_STRING;
	if (o->number == 52) /* however it goes on, and also with a terminal of its own */
		s->found(ALERT_TERMINAL, "the clipboard (OSC 52)", s->arg);
	else
		o->what = command_of(o->number, c);
	on_string(o, s, c);
}

static void on_byte(struct alert_output *o, const struct sight *s, unsigned char c)
{
	switch (o->state) {
	case OUTPUT_GROUND: break;
	case OUTPUT_ESCAPE: on_escape(o, s, c); break;
	case OUTPUT_CSI: on_csi(o, s, c); break;
	case OUTPUT_OSC_NUMBER: on_osc_number(o, c); break;
	case OUTPUT_OSC_FIRST: on_osc_first(o, s, c); break;
	case OUTPUT_STRING:
	case OUTPUT_STRING_END: on_string(o, s, c); break;
	}
}

/* Is what lies before p[at] text, as far as we look? Some of it may be in what was kept. */
static bool is_behind_text(const struct alert_output *o, const unsigned char *p, size_t at)
{
	unsigned char last[BEHIND];
	size_t here = at < BEHIND ? at : BEHIND, n = BEHIND - here, from = 0;

	n = n < o->n_kept ? n : o->n_kept;
	memcpy(last, o->kept + o->n_kept - n, n);
	memcpy(last + n, p + at - here, here);
	n += here;
	while (from < n && from < 3 && (last[from] & 0xc0) == 0x80)
		from++; /* the rest of a character that began earlier */
	for (size_t i = from; i < n; i++)
		if (last[i] == 0x7f || (last[i] < 0x20 && !memchr("\t\n\r\b\a\x1b", last[i], 6)))
			return false;
	return utf8_valid((const char *)last + from, n - from);
}

/* Go on with a sequence; returns where it ends, at most `len`. */
static size_t follow(struct alert_output *o, const struct sight *s, const unsigned char *p,
		     size_t at, size_t len)
{
	while (at < len && o->state != OUTPUT_GROUND)
		on_byte(o, s, p[at++]);
	return at;
}

/* Is a prompt at p[at]? False: that depends on what comes. */
static bool on_prompt(const struct sight *s, const unsigned char *p, size_t at, size_t len)
{
	const char *what = NULL;
	enum prompt_verdict v = prompt_at(p, at, len, &what);

	if (v == PROMPT_YES)
		s->found(ALERT_PROMPT, what, s->arg);
	return v != PROMPT_MORE;
}

/* Prompts that were open, and those that reach back behind the beginning of the new bytes. What is
 * kept of few bytes is the end of both. */
static void look_at_seam(struct alert_output *o, const struct sight *s, const unsigned char *p,
			 size_t len)
{
	unsigned char seam[OUTPUT_KEPT * 2];
	size_t more = len < OUTPUT_KEPT ? len : OUTPUT_KEPT, n = o->n_kept + more;
	size_t stop = len > more ? o->n_kept + OUTPUT_BACK : n, i = o->open;

	memcpy(seam, o->kept, o->n_kept);
	memcpy(seam + o->n_kept, p, more);
	while ((i = find_noted(seam, i, n)) < stop && (seam[i] == 0x1b || on_prompt(s, seam, i, n)))
		i++;
	if (len > more)
		return;
	o->n_kept = (unsigned)(n < OUTPUT_KEPT ? n : OUTPUT_KEPT);
	o->open = (unsigned)((i < n ? i : n) - (n - o->n_kept));
	memcpy(o->kept, seam + n - o->n_kept, o->n_kept);
}

void alert_output_look(struct alert_output *o, const void *data, size_t len, alert_output_fn *found,
		       void *arg)
{
	const struct sight s = {.o = o, .found = found, .arg = arg};
	const unsigned char *p = data;
	size_t fed = follow(o, &s, p, 0, len), open = len;
	bool small = len <= OUTPUT_KEPT;

	for (size_t i = 0; (i = find_noted(p, i, len)) < len; i++) {
		if (p[i] == 0x1b && i >= fed) {
			o->after_text = is_behind_text(o, p, i);
			o->state = OUTPUT_ESCAPE;
			fed = follow(o, &s, p, i + 1, len);
		} else if (p[i] != 0x1b && i >= OUTPUT_BACK && !small && open == len &&
			   !on_prompt(&s, p, i, len)) {
			open = i;
		}
	}
	look_at_seam(o, &s, p, len);
	if (small)
		return;
	memcpy(o->kept, p + len - OUTPUT_KEPT, OUTPUT_KEPT);
	o->n_kept = OUTPUT_KEPT;
	o->open = (unsigned)(open - (len - OUTPUT_KEPT));
}
