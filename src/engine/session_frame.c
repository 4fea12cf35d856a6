/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the interpreter says in frames, and what is said to it. Its words are those of hostile code:
 * user code inside can write to the socket if it wants to. So a frame is at most FRAME_MAX, all of
 * one piece of code at most FRAME_ALL_MAX, and nothing is passed on that is not of its kind's
 * shape.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/value.h"
#include "engine/session_int.h"

#define MIME_MAX 100

static const struct {
	const char *mime;
	bool base64;
} types[] = {
	{"text/plain", false},
	{"text/html", false},
	{"text/markdown", false},
	{"image/svg+xml", false},
	{"image/png", true},
	{"image/jpeg", true},
	{"image/gif", true},
	{"image/webp", true},
	{"application/pdf", true},
	{"text/latex", false},
	{"application/javascript", false},
};

/* Any value: of application/json, and of what is written in it (application/vnd.vegalite.v5+json). */
static bool is_json_type(const char *mime)
{
	static const char plus[] = "+json", letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							"abcdefghijklmnopqrstuvwxyz0123456789.+-_";
	size_t n = strlen(mime), end = sizeof(plus) - 1, begin = sizeof("application/") - 1;

	if (strcmp(mime, "application/json") == 0)
		return true;
	return n > begin + end && n < MIME_MAX && strncmp(mime, "application/", begin) == 0 &&
	       strcmp(mime + n - end, plus) == 0 && strspn(mime + begin, letters) == n - begin;
}

static bool is_base64(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && ((s[n] >= 'A' && s[n] <= 'Z') || (s[n] >= 'a' && s[n] <= 'z') ||
			   (s[n] >= '0' && s[n] <= '9') || s[n] == '+' || s[n] == '/'))
		n++;
	return len - n <= 2 && strspn(s + n, "=") == len - n;
}

static bool is_data(const char *mime, const struct value *v)
{
	if (is_json_type(mime))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].mime, mime) != 0)
			continue;
		return value_kind(v) == VALUE_STRING &&
		       (!types[i].base64 || is_base64(value_str(v), value_len(v)));
	}
	return false;
}

static struct value *parse(const char *data, size_t len)
{
	struct value *v = NULL;
	struct err ignored = ERR_INIT;

	if (value_parse(data, len, &v, &ignored) < 0)
		return NULL;
	if (value_kind(v) == VALUE_OBJECT)
		return v;
	value_free(v);
	return NULL;
}

bool session_result_is_good(const char *data, size_t len)
{
	auto_value *v = parse(data, len);
	const char *key = NULL;

	if (!v || value_len(v) == 0)
		return false;
	while ((key = value_next_key(v, key)))
		if (!is_data(key, value_get(v, key)))
			return false;
	return true;
}

bool session_error_is_good(const char *data, size_t len)
{
	static const char *const keys[] = {"name", "value", "traceback"};
	auto_value *v = parse(data, len);

	if (!v || value_len(v) != 3)
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (value_kind(value_get(v, keys[i])) != VALUE_STRING)
			return false;
	return true;
}

const char *session_done_status(const char *data, size_t len, int *ret_exit_code)
{
	static const char *const words[] = {"ok", "error", "interrupted"};
	auto_value *v = parse(data, len);
	const struct value *said = value_get(v, "status");
	struct value *code = value_get(v, "exit_code");

	*ret_exit_code = -1;
	if (value_kind(code) == VALUE_INT && value_int(code) >= 0 && value_int(code) <= 255)
		*ret_exit_code = (int)value_int(code);
	for (unsigned i = 0; value_str(said) && i < 3; i++)
		if (strlen(words[i]) == value_len(said) && strcmp(words[i], value_str(said)) == 0)
			return words[i];
	return NULL;
}

void session_frame_drop(struct pinfold_session *s)
{
	free(s->in.data);
	s->in = (struct session_frame){0};
}

/* Some bytes to `to`: how many, or 0 when there are none for now or any more. */
static size_t take(struct pinfold_session *s, char *to, size_t max)
{
	ssize_t n = recv(s->run->input, to, max, MSG_DONTWAIT);

	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	s->deaf = true;
	(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->run->input, NULL);
	return 0;
}

static void begin(struct pinfold_session *s)
{
	struct session_frame *in = &s->in;

	if (!frame_take_head(in->head, &in->kind, &in->len)) {
		session_break(s, "protocol");
		return;
	}
	s->frames_bytes += in->len;
	if (s->frames_bytes > FRAME_ALL_MAX) {
		session_break(s, "results");
		return;
	}
	in->data = malloc((size_t)in->len + 1);
	if (!in->data)
		session_break(s, "memory");
}

/* What it wrote before it sent this is in the pipes by now, and maybe what it wrote after. */
static void finish(struct pinfold_session *s)
{
	s->in.data[s->in.len] = '\0';
	s->in.whole = true;
	for (int i = 0; i < 2; i++) {
		int n = 0;

		if (s->run->out[i] >= 0 && ioctl(s->run->out[i], FIONREAD, &n) == 0 && n > 0)
			s->in.before[i] = (size_t)n;
	}
}

void session_receive(struct pinfold_session *s)
{
	struct session_frame *in = &s->in;

	while (!in->whole && !s->deaf && !s->broken) {
		size_t n;

		if (!in->data) {
			n = take(s, in->head + in->n_head, FRAME_HEAD - in->n_head);
			in->n_head += (unsigned)n;
			if (in->n_head == FRAME_HEAD)
				begin(s);
		} else {
			n = in->got < in->len ? take(s, in->data + in->got, in->len - in->got) : 0;
			in->got += (uint32_t)n;
		}
		if (in->data && in->got == in->len)
			finish(s);
		else if (n == 0)
			return;
	}
}

void session_flush(struct pinfold_session *s)
{
	struct epoll_event ev = {.data.fd = s->run->input};

	while (s->out_at < s->out_len) {
		ssize_t n = send(s->run->input, s->out + s->out_at, s->out_len - s->out_at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			s->out_at = s->out_len; /* its end is told in another way */
		if (n <= 0)
			break;
		s->out_at += (size_t)n;
	}
	bool left = s->out_at < s->out_len;
	if (left == s->polls_out)
		return;
	s->polls_out = left;
	ev.events = EPOLLIN | (left ? EPOLLOUT : 0);
	(void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->run->input, &ev); /* ENOENT: it is deaf */
}

int session_send(struct pinfold_session *s, char kind, char prefix, const void *data, size_t len,
		 struct err *e)
{
	size_t rest = s->out_len - s->out_at, more = prefix != 0;
	char *out = malloc(rest + FRAME_HEAD + more + len);

	if (!out)
		return err_sys(e, "session");
	if (rest > 0)
		memcpy(out, s->out + s->out_at, rest);
	frame_put_head(out + rest, kind, (uint32_t)(len + more));
	if (prefix)
		out[rest + FRAME_HEAD] = prefix;
	if (len > 0)
		memcpy(out + rest + FRAME_HEAD + more, data, len);
	free(s->out);
	s->out = out;
	s->out_at = 0;
	s->out_len = rest + FRAME_HEAD + more + len;
	session_flush(s);
	return 0;
}
