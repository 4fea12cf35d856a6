/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a session: hostile code can write any bytes to the socket. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "engine/session_int.h"
#include "tap.h"

/* A session whose interpreter is us. */
struct rig {
	struct pinfold_session *s;
	int theirs;
};

static void rig_open(struct rig *r)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int pair[2];

	value_init();
	r->s = calloc(1, sizeof(*r->s));
	r->s->run = run_new();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	r->s->run->input = pair[0];
	r->theirs = pair[1];
	r->s->epoll = epoll_create1(EPOLL_CLOEXEC);
	ev.data.fd = pair[0];
	(void)epoll_ctl(r->s->epoll, EPOLL_CTL_ADD, pair[0], &ev);
	r->s->timer = r->s->wake = FD_NONE;
}

static void rig_close(struct rig *r)
{
	fd_close(&r->theirs);
	r->s->ended = true; /* there is no command to wait for */
	pinfold_session_close(r->s);
}

static void say(struct rig *r, const char *bytes, size_t len)
{
	if (send(r->theirs, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		exit(1);
}

static void heads(void)
{
	static const struct {
		const char *head;
		int good;
		uint32_t len;
	} cases[] = {
		{"R00000000", 1, 0},	{"D0000001a", 1, 26},  {"P01000000", 1, 16 << 20},
		{"P01000001", 0, 0},	{"Rffffffff", 0, 0},   {"R80000000", 0, 0},
		{"R0000001A", 0, 0},	{"R-0000001", 0, 0},   {"R+0000001", 0, 0},
		{"R 0000001", 0, 0},	{"X00000001", 0, 0},   {"r00000001", 0, 0},
		{"\00000000001", 0, 0}, {"R0000000\0", 0, 0},  {"R0x000001", 0, 0},
		{"N00000001", 0, 0},	{"B00000001", 0, 0},   {"{\"status\"", 0, 0},
		{"H00000000", 1, 0},	{"I00000100", 1, 256}, {"E00000001", 1, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char kind = '?';
		uint32_t len = 0;

		is_int(frame_take_head(cases[i].head, &kind, &len), cases[i].good, cases[i].head);
		is_int((int)len, (int)cases[i].len, "its length");
	}
}

static void there_and_back(void)
{
	char head[FRAME_HEAD + 1] = "", kind;
	uint32_t len;

	frame_put_head(head, 'D', 0xabcdef);
	is_str(head, "D00abcdef", "a head as written");
	ok(frame_take_head(head, &kind, &len) && kind == 'D' && len == 0xabcdef, "and read");
}

static void pieces(void)
{
	static const char bytes[] = "R00000005{\"a\"}H00000000D00000002{}";
	struct rig r;

	for (size_t step = 1; step < sizeof(bytes); step += 4) {
		char kinds[8] = "";
		unsigned n = 0;

		rig_open(&r);
		for (size_t i = 0; i < sizeof(bytes) - 1; i += step) {
			size_t rest = sizeof(bytes) - 1 - i;

			say(&r, bytes + i, rest < step ? rest : step);
			for (session_receive(r.s); r.s->in.whole && n < 7; session_receive(r.s)) {
				kinds[n++] = r.s->in.kind;
				if (r.s->in.kind == 'R')
					is_str(r.s->in.data, "{\"a\"}", "its bytes");
				session_frame_drop(r.s);
			}
		}
		is_str(kinds, "RHD", "three frames, however they come");
		ok(!r.s->broken && !r.s->deaf, "nothing wrong with that");
		rig_close(&r);
	}
}

static void broken(void)
{
	static const char *const words[] = {"junk junk junk", "{\"status\":\"ok\"}", "Zffffffff",
					    "R01000001", "D0000000g"};
	struct rig r;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		rig_open(&r);
		say(&r, words[i], strlen(words[i]));
		session_receive(r.s);
		is_str(r.s->broken ? r.s->broken : "", "protocol", words[i]);
		ok(!r.s->in.whole, "and is no frame");
		rig_close(&r);
	}
	rig_open(&r);
	say(&r, "R00000010{", 10);
	fd_close(&r.theirs);
	session_receive(r.s);
	session_receive(r.s);
	ok(!r.s->in.whole && r.s->deaf, "the half of a frame is none");
	rig_close(&r);
}

static void too_much(void)
{
	struct rig r;
	char *mega = calloc(1, 1 << 20);
	unsigned n = 0;

	rig_open(&r);
	(void)fcntl(r.theirs, F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < 100 && !r.s->broken; i++) {
		size_t at = 0;

		say(&r, "P00100000", 9);
		while (at < 1 << 20 && !r.s->broken) {
			ssize_t k = send(r.theirs, mega + at, (1 << 20) - at, MSG_NOSIGNAL);

			at += k > 0 ? (size_t)k : 0;
			session_receive(r.s);
			if (r.s->in.whole) {
				n++;
				session_frame_drop(r.s);
			}
		}
	}
	is_str(r.s->broken ? r.s->broken : "", "results", "more than one piece of code may send");
	is_int((int)n, 64, "MiB");
	free(mega);
	rig_close(&r);
}

static void shapes(void)
{
	static const struct {
		const char *text;
		int result, error;
	} cases[] = {
		{"{\"text/plain\":\"a\"}", 1, 0},
		{"{\"text/plain\":\"a\",\"image/png\":\"aGk=\"}", 1, 0},
		{"{\"image/png\":\"aGk\"}", 1, 0},
		{"{\"image/png\":\"a<k=\"}", 0, 0},
		{"{\"image/png\":\"====\"}", 0, 0},
		{"{\"image/jpeg\":\"a\\u0000==\"}", 0, 0},
		{"{\"application/json\":[{\"a\":null}]}", 1, 0},
		{"{\"text/plain\":1}", 0, 0},
		{"{\"text/html\":null}", 0, 0},
		{"{\"text/x\":\"\"}", 0, 0},
		{"{}", 0, 0},
		{"[]", 0, 0},
		{"\"\"", 0, 0},
		{"", 0, 0},
		{"{\"text/plain\":\"a\"} ", 1, 0},
		{"{\"text/plain\":\"a\"}x", 0, 0},
		{"{\"text/plain\":\"\xff\"}", 0, 0},
		{"{\"text/plain\":\"a\",\"text/plain\":\"b\"}", 0, 0},
		{"{\"name\":\"a\",\"value\":\"b\",\"traceback\":\"c\"}", 0, 1},
		{"{\"name\":\"a\",\"value\":\"b\"}", 0, 0},
		{"{\"name\":\"a\",\"value\":\"b\",\"traceback\":[]}", 0, 0},
		{"{\"name\":\"a\",\"value\":\"b\",\"traceback\":\"c\",\"more\":1}", 0, 0},
	};

	value_init();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *t = cases[i].text;

		is_int(session_result_is_good(t, strlen(t)), cases[i].result, t);
		is_int(session_error_is_good(t, strlen(t)), cases[i].error, "as an error");
	}
}

static void ends(void)
{
	static const struct {
		const char *text, *status;
		int code;
	} cases[] = {
		{"{\"status\":\"ok\"}", "ok", -1},
		{"{\"status\":\"error\",\"exit_code\":7}", "error", 7},
		{"{\"status\":\"interrupted\",\"exit_code\":-1}", "interrupted", -1},
		{"{\"status\":\"ok\",\"exit_code\":256}", "ok", -1},
		{"{\"status\":\"ok\",\"exit_code\":\"0\"}", "ok", -1},
		{"{\"status\":\"died\"}", "", -1},
		{"{\"status\":\"timeout\"}", "", -1},
		{"{\"status\":\"ok\\u0000\"}", "", -1},
		{"{\"status\":1}", "", -1},
		{"{", "", -1},
		{"", "", -1},
	};

	value_init();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int code = 99;
		const char *s = session_done_status(cases[i].text, strlen(cases[i].text), &code);

		is_str(s ? s : "", cases[i].status, cases[i].text);
		is_int(code, cases[i].code, "its code");
	}
}

int main(void)
{
	TAP_RUN(heads);
	TAP_RUN(there_and_back);
	TAP_RUN(pieces);
	TAP_RUN(broken);
	TAP_RUN(too_much);
	TAP_RUN(shapes);
	TAP_RUN(ends);
	return tap_done();
}
