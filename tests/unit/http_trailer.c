/* SPDX-License-Identifier: Apache-2.0 */
/* Fields behind a body: kept as they came, however they were cut, and which of them may go on. */
#include "http/trailer.h"

#include <stdbool.h>

#include "http/body.h"
#include "http_help.h"

static bool may(const char *name, enum http_side side)
{
	const struct http_field f = {.name = name, .name_len = (uint32_t)strlen(name)};

	return http_trailer_may(&f, side);
}

static void kept(void)
{
	static const char text[] =
		"3\r\nabc\r\n0\r\nGrpc-Status: 0\r\nx-a:\t b c \r\nE:\r\n\r\nGET";
	static const char want[] = "Grpc-Status: 0\r\nx-a:\t b c \r\nE:\r\n";
	char room[HTTP_TRAILERS_ROOM];

	for (size_t step = 1; step < sizeof(text); step++) {
		struct http_body b = {
			.kind = HTTP_BODY_CHUNKED, .bytes_max = 100, .status = 400, .kept = room};
		struct http_error e;
		int r = 0;

		for (size_t at = 0, used = 0; r == 0 && at < sizeof(text) - 1; at += used) {
			size_t n = sizeof(text) - 1 - at < step ? sizeof(text) - 1 - at : step, len;
			const char *data;

			r = http_body_feed(&b, text + at, n, &used, &data, &len, &e);
		}
		if (r != 1 || b.kept_len != sizeof(want) - 1 || memcmp(room, want, b.kept_len) != 0)
			diag("step %zu: %d, %zu bytes", step, r, b.kept_len);
		else if (step == sizeof(text) - 1)
			ok(true, "trailers are kept, wherever pieces end");
	}
	const char *lines = want;
	size_t left = sizeof(want) - 1;
	struct http_field f;
	char got[64] = "";
	while (http_trailer_next(&lines, &left, &f))
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "[%.*s=%.*s]",
			       (int)f.name_len, f.name, (int)f.value_len, f.value);
	is_str(got, "[Grpc-Status=0][x-a=b c][E=]", "and are fields");
	left = 5;
	lines = "a: b\r";
	ok(!http_trailer_next(&lines, &left, &f), "half a line is none");
}

static void allowed(void)
{
	static const char *const both[] = {"grpc-status", "Grpc-Message", "grpc-status-details-bin",
					   "trace-bin",	  "Digest",	  "x-amz-checksum-crc32"};
	static const char *const back[] = {"x-anything", "server-timing", "Request-Id",
					   "retry-info", "Elapsed",	  "my_own"};
	static const char *const never[] = {"content-length",
					    "transfer-encoding",
					    "host",
					    "connection",
					    "te",
					    "trailer",
					    "upgrade",
					    "content-type",
					    "content-encoding",
					    "content-range",
					    "authorization",
					    "cookie",
					    "set-cookie",
					    "location",
					    "www-authenticate",
					    "proxy-authorization",
					    "expect",
					    "range",
					    "keep-alive",
					    "cache-control",
					    "forwarded",
					    "Set-Cookie",
					    "content_length",
					    "proxy-anything",
					    "sec-websocket-accept",
					    "access-control-allow-origin",
					    "if-match",
					    "strict-transport-security",
					    ""};

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		ok(may(both[i], HTTP_REQUEST) && may(both[i], HTTP_RESPONSE), both[i]);
	for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++)
		ok(!may(back[i], HTTP_REQUEST) && may(back[i], HTTP_RESPONSE), back[i]);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		ok(!may(never[i], HTTP_REQUEST) && !may(never[i], HTTP_RESPONSE), never[i]);
	ok(!may("x-http-method-override", HTTP_REQUEST), "nor another method behind a request");
}

int main(void)
{
	TAP_RUN(kept);
	TAP_RUN(allowed);
	return tap_done();
}
