/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: what is a request or response and what is refused, whole and byte by byte alike. */
#include "http/head.h"
#include "tap.h"

static void plain(void)
{
	static const char text[] = "POST /v1/runs?stream=1 HTTP/1.1\r\nHost: localhost:8080\r\n"
				   "Content-Length: 12\r\nConnection: keep-alive\r\n\r\nrest";
	struct http_error e = {0};
	struct http_head h;

	http_head_init(&h);
	is_int(http_head_parse(&h, text, sizeof(text) - 1, HTTP_REQUEST, &e), (int)sizeof(text) - 5,
	       "a head ends before the body");
	is_int(h.method, HTTP_POST, "its method");
	is_int(h.content_length, 12, "its length");
	is_int(h.where.port, 8080, "its port");
	is_int(h.n_fields, 3, "its fields");
	ok(h.keep_alive, "the connection stays");
}

int main(void)
{
	TAP_RUN(plain);
	return tap_done();
}
