/* SPDX-License-Identifier: Apache-2.0 */
/* Captured output: head and tail within the limit, exact counts, whole characters at the cut. */
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/capture.h"
#include "tap.h"

static void add_all(struct capture *c, const char *s, size_t step)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i += step)
		(void)capture_add(c, s + i, len - i < step ? len - i : step);
}

static const char *view(struct capture *c)
{
	static char text[256];
	struct capture_view v;

	capture_view(c, &v);
	snprintf(text, sizeof(text), "%.*s|%.*s", (int)v.head_len, v.head ? v.head : "",
		 (int)v.tail_len, v.tail ? v.tail : "");
	return text;
}

static void cuts(void)
{
	static const struct {
		uint64_t limit;
		const char *in, *out;
		int truncated;
	} cases[] = {
		{10, "", "|", 0},
		{10, "hello", "hello|", 0},
		{10, "helloworld", "hello|world", 0},
		{10, "hello_world", "hello|world", 1},
		{10, "hello, wonderful world", "hello|world", 1},
		{1, "abc", "a|", 1},
		{4,
		 "a\xe2\x82\xac"
		 "bcd\xe2\x82\xac",
		 "a|", 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t step = 1; step < 30; step += 7) {
			struct capture c;

			capture_init(&c, cases[i].limit);
			add_all(&c, cases[i].in, step);
			is_str(view(&c), cases[i].out, cases[i].in);
			is_int(capture_truncated(&c), cases[i].truncated, "truncated");
			is_int((int)c.total, (int)strlen(cases[i].in), "bytes");
			capture_done(&c);
		}
}

static void artifact(void)
{
	char path[] = "/tmp/pinfold-capture-XXXXXX", text[64] = "";
	int fd = mkstemp(path);
	struct capture c;

	unlink(path);
	capture_init(&c, 8);
	(void)capture_add(&c, "01234567", 8);
	capture_start_artifact(&c, dup(fd));
	(void)capture_add(&c, "89abcdef", 8);
	ok(pread(fd, text, sizeof(text) - 1, 0) == 16, "all of it is there");
	is_str(text, "0123456789abcdef", "in order");
	is_str(view(&c), "0123|cdef", "the result has both ends");
	capture_done(&c);
	close(fd);
}

static void controls(void)
{
	struct capture c;

	capture_init(&c, 100);
	(void)capture_add(&c, "plain\n\ttext", 11);
	ok(!c.control_bytes, "text is no control");
	(void)capture_add(&c, "\033[2J", 4);
	ok(c.control_bytes, "an escape sequence is");
	capture_done(&c);
}

int main(void)
{
	TAP_RUN(cuts);
	TAP_RUN(artifact);
	TAP_RUN(controls);
	return tap_done();
}
