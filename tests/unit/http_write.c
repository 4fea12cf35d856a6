/* SPDX-License-Identifier: Apache-2.0 */
/* What we send, ranges, and what clients accept. */
#include "http/accept.h"
#include "http/range.h"
#include "http/write.h"
#include "http_help.h"

static char text[1024];

static void heads(void)
{
	struct http_out o;

	http_out_init(&o, text, sizeof(text));
	http_out_status(&o, 404);
	http_out_field(&o, "Content-Type", "a/b; c=\"d\"");
	http_out_field_u64(&o, "Content-Length", UINT64_MAX);
	http_out_field_n(&o, "X", "yz", 1);
	http_out_field(&o, "Empty", "");
	int len = http_out_end(&o);
	text[len > 0 ? len : 0] = '\0';
	is_str(text,
	       "HTTP/1.1 404 Not Found\r\nContent-Type: a/b; c=\"d\"\r\n"
	       "Content-Length: 18446744073709551615\r\nX: y\r\nEmpty: \r\n\r\n",
	       "a response");

	http_out_init(&o, text, sizeof(text));
	http_out_request(&o, "GET", "/a?b", 4);
	http_out_field(&o, "Host", "a.test");
	len = http_out_end(&o);
	text[len > 0 ? len : 0] = '\0';
	is_str(text, "GET /a?b HTTP/1.1\r\nHost: a.test\r\n\r\n", "a request");
}

static int with_field(const char *name, const char *value, size_t len)
{
	struct http_out o;

	http_out_init(&o, text, sizeof(text));
	http_out_status(&o, 200);
	http_out_field_n(&o, name, value, len);
	http_out_field(&o, "Good", "yes");
	return http_out_end(&o);
}

static int with_line(const char *method, const char *target)
{
	struct http_out o;

	http_out_init(&o, text, sizeof(text));
	http_out_request(&o, method, target, strlen(target));
	return http_out_end(&o);
}

static void injections(void)
{
	is_int(with_field("Location", "/a\r\nSet-Cookie: b", 18), -EINVAL, "CR LF in a value");
	is_int(with_field("X", "a\nb", 3), -EINVAL, "LF in a value");
	is_int(with_field("X", "a\rb", 3), -EINVAL, "CR in a value");
	is_int(with_field("X", "a\0b", 3), -EINVAL, "NUL in a value");
	is_int(with_field("X", "a\033b", 3), -EINVAL, "ESC in a value");
	is_int(with_field("X", "a\x7f", 2), -EINVAL, "DEL in a value");
	ok(with_field("X", "a\tb\xc3\xa4", 5) > 0, "a tab and UTF-8");
	is_int(with_field("X: y\r\nZ", "a", 1), -EINVAL, "CR LF in a name");
	is_int(with_field("X ", "a", 1), -EINVAL, "a blank in a name");
	is_int(with_field("X:", "a", 1), -EINVAL, "a colon in a name");
	is_int(with_field("", "a", 1), -EINVAL, "no name");
	is_int(with_line("GET", "/ HTTP/1.1\r\nX: y"), -EINVAL, "a head in a target");
	is_int(with_line("GET", "/a b"), -EINVAL, "a blank in a target");
	is_int(with_line("GET", "/\xc3\xa4"), -EINVAL, "UTF-8 in a target");
	is_int(with_line("GET", ""), -EINVAL, "no target");
	is_int(with_line("GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", "/"), -EINVAL, "a head in a method");
	is_int(with_line("", "/"), -EINVAL, "no method");
}

/* For every size of the buffer: all of it or an error, and never a byte behind. */
static void bounded(void)
{
	unsigned wrong = 0;

	for (size_t size = 0; size < 80; size++) {
		char *buf = malloc(size ? size : 1);
		struct http_out o;

		http_out_init(&o, buf, size);
		http_out_status(&o, 200);
		http_out_field(&o, "Content-Type", "text/plain");
		int r = http_out_end(&o);
		wrong += r != (size < 45 ? -EMSGSIZE : 45);
		r = sse_frame(buf, size, "event", "7", "a\nb\n", 4);
		wrong += r != (size < 43 ? -EMSGSIZE : 43);
		free(buf);
	}
	is_int(wrong, 0, "buffers of every size");
}

static void chunk_heads(void)
{
	char out[HTTP_CHUNK_HEAD_MAX];

	is_int((int)http_chunk_head(out, 255), 4, "a small one");
	ok(memcmp(out, "ff\r\n", 4) == 0, "in hexadecimal");
	is_int((int)http_chunk_head(out, SIZE_MAX), 18, "the largest");
	is_str(http_status_text(200), "OK", "200");
	is_str(http_status_text(299), "Success", "a status that nobody knows");
	is_str(http_status_text(42), "Unknown", "no status");
}

static const char *date(time_t when)
{
	static char out[HTTP_DATE_SIZE];

	http_date(when, out);
	return out;
}

static void dates(void)
{
	is_str(date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT", "that of the RFC");
	is_str(date(0), "Thu, 01 Jan 1970 00:00:00 GMT", "the first");
	is_str(date(951782400), "Tue, 29 Feb 2000 00:00:00 GMT", "a leap day");
	is_str(date(-1), "Thu, 01 Jan 1970 00:00:00 GMT", "one before");
	is_str(date((time_t)INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT", "one far behind");
}

static const char *frame(const char *event, const char *id, const char *data, size_t len)
{
	int n = sse_frame(text, sizeof(text) - 1, event, id, data, len);

	text[n > 0 ? n : 0] = '\0';
	return n == -EINVAL ? "-EINVAL" : text;
}

static void events(void)
{
	is_str(frame("a", "1", "b", 1), "event: a\nid: 1\ndata: b\n\n", "an event");
	is_str(frame(NULL, NULL, "b", 1), "data: b\n\n", "data alone");
	is_str(frame(NULL, "2", NULL, 0), "id: 2\n\n", "an id alone");
	is_str(frame(NULL, NULL, "", 0), "data: \n\n", "no data");
	is_str(frame(NULL, NULL, "a\nb", 3), "data: a\ndata: b\n\n", "two lines");
	is_str(frame(NULL, NULL, "a\r\nb\rc\n", 7), "data: a\ndata: b\ndata: c\ndata: \n\n",
	       "all ends of lines");
	is_str(frame(NULL, NULL, "a\n\nevent: x\n\n", 13),
	       "data: a\ndata: \ndata: event: x\ndata: \ndata: \n\n",
	       "data that would be an event");
	is_str(frame("a\nb", NULL, "c", 1), "-EINVAL", "a line's end in the event's name");
	is_str(frame("a", "1\r2", "c", 1), "-EINVAL", "a line's end in the id");
	char lines[100];
	memset(lines, '\n', sizeof(lines));
	ok(sse_frame(text, SSE_FRAME_MAX(100), "", "", lines, 100) > 0, "the most that it takes");
}

static const char *range(const char *value, uint64_t size)
{
	static char out[HTTP_CONTENT_RANGE_SIZE];
	struct http_part part = {0};
	char *copy = copy_of(value, strlen(value));
	enum http_range r = http_range_parse(copy, strlen(value), size, &part);

	free(copy);
	if (r == HTTP_RANGE_ALL)
		return "all";
	http_content_range(r == HTTP_RANGE_PART ? &part : NULL, size, out);
	return out;
}

static void ranges(void)
{
	is_str(range("bytes=0-9", 100), "bytes 0-9/100", "ten bytes");
	is_str(range("bytes=90-", 100), "bytes 90-99/100", "to the end");
	is_str(range("bytes=-10", 100), "bytes 90-99/100", "the last ten");
	is_str(range("bytes=-1000", 100), "bytes 0-99/100", "more than there are");
	is_str(range("bytes=0-1000", 100), "bytes 0-99/100", "behind the end");
	is_str(range("bytes=99-99", 100), "bytes 99-99/100", "the last one");
	is_str(range("bytes=100-", 100), "bytes */100", "begins at the end");
	is_str(range("bytes=-0", 100), "bytes */100", "the last none");
	is_str(range("bytes=0-", 0), "bytes */0", "of nothing");
	is_str(range("bytes=-5", 0), "bytes */0", "the last of nothing");
	is_str(range("BYTES=1-2", 100), "bytes 1-2/100", "upper case");
	is_str(range("bytes=0-18446744073709551615", 100), "bytes 0-99/100", "2^64 - 1");
	is_str(range("bytes=0-99999999999999999999999", 100), "bytes 0-99/100", "more than 2^64");
	is_str(range("bytes=99999999999999999999999-", 100), "bytes */100", "from there");
	is_str(range("bytes=-99999999999999999999999", 100), "bytes 0-99/100", "the last of those");
	is_str(range("bytes=18446744073709551616-1", 100), "all", "not wrapped around");
	is_str(range("bytes=5-4", 100), "all", "backwards");
	is_str(range("bytes=0-1,3-4", 100), "all", "two ranges");
	is_str(range("bytes=-", 100), "all", "a dash alone");
	is_str(range("bytes=", 100), "all", "nothing");
	is_str(range("bytes", 100), "all", "the unit alone");
	is_str(range("bytes=1", 100), "all", "no dash");
	is_str(range("bytes=a-b", 100), "all", "letters");
	is_str(range("bytes=+1-2", 100), "all", "a sign");
	is_str(range("bytes=--5", 100), "all", "two dashes");
	is_str(range("bytes=1-2-3", 100), "all", "three positions");
	is_str(range("bytes=1 - 2", 100), "all", "blanks");
	is_str(range("items=0-1", 100), "all", "another unit");
	is_str(range("", 100), "all", "an empty field");
}

static struct http_head asked(const char *fields)
{
	static char request[512];
	struct http_error e = {0};
	struct http_head h;

	snprintf(request, sizeof(request), "GET / HTTP/1.0\r\n%s\r\n", fields);
	http_head_init(&h);
	if (http_head_parse(&h, request, strlen(request), HTTP_REQUEST, &e) <= 0)
		diag("%s: %s", fields, e.why);
	return h;
}

static const char *coding(const char *value)
{
	char field[256];

	snprintf(field, sizeof(field), "Accept-Encoding: %s\r\n", value);
	struct http_head h = asked(value ? field : "");
	return http_coding_name(http_accept_coding(&h));
}

static void codings(void)
{
	struct http_head h = asked("");

	is_int(http_accept_coding(&h), HTTP_IDENTITY, "no field");
	is_str(coding(""), "identity", "an empty one");
	is_str(coding("gzip"), "gzip", "gzip");
	is_str(coding("zstd"), "zstd", "zstd");
	is_str(coding("gzip, deflate, br, zstd"), "zstd", "a browser's");
	is_str(coding("GZIP"), "gzip", "upper case");
	is_str(coding("x-gzip"), "gzip", "an old name");
	is_str(coding("gzip;q=0"), "identity", "q=0");
	is_str(coding("gzip;q=0.000"), "identity", "q=0.000");
	is_str(coding("gzip; q=0.001"), "gzip", "q=0.001");
	is_str(coding("zstd;q=0.5, gzip"), "gzip", "the better one");
	is_str(coding("zstd;q=0, *"), "gzip", "all but zstd");
	is_str(coding("*;q=0"), "identity", "none");
	is_str(coding("*"), "zstd", "any");
	is_str(coding("identity, gzip;q=0.5"), "identity", "rather as it is");
	is_str(coding("gzip;q=2"), "identity", "q above 1");
	is_str(coding("gzip;q=-1"), "identity", "q below 0");
	is_str(coding("gzip;q="), "identity", "no q");
	is_str(coding("gzip;q=0.0001"), "identity", "too many digits");
	is_str(coding("gzipx"), "identity", "another word");
	is_str(coding("deflate, br"), "identity", "none of ours");
	is_str(coding(",,;q=1,;"), "identity", "nonsense");
	h = asked("Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n");
	is_int(http_accept_coding(&h), HTTP_GZIP, "in two fields");
}

static bool takes(const char *accept, const char *type)
{
	char field[256];

	snprintf(field, sizeof(field), "Accept: %s\r\n", accept);
	struct http_head h = asked(field);
	return http_accepts(&h, type);
}

static void types(void)
{
	struct http_head h = asked("");

	ok(http_accepts(&h, "a/b"), "no field: everything");
	ok(!http_accepts_by_name(&h, "a/b"), "but nothing by name");
	ok(takes("a/b", "a/b") && takes("A/B;c=d", "a/b"), "by name");
	ok(takes("a/*", "a/b") && takes("*/*", "a/b"), "by stars");
	ok(takes("x/y, a/b", "a/b"), "in a list");
	ok(!takes("a/c", "a/b") && !takes("a/bc", "a/b") && !takes("ab/*", "a/b"), "others");
	ok(!takes("a/b;q=0, */*", "a/b"), "q=0 by name against stars");
	ok(takes("a/b;q=0.1, */*;q=0", "a/b"), "by name against q=0 of stars");
	ok(!takes("", "a/b") && !takes("*", "a/b") && !takes("a", "a/b"), "nonsense");
	h = asked("Accept: application/json, text/event-stream\r\n");
	ok(http_accepts_by_name(&h, "text/event-stream"), "both of MCP");
	h = asked("Content-Type: Application/JSON; charset=utf-8\r\n");
	ok(http_content_is(&h, "application/json"), "a type with a parameter");
	ok(!http_content_is(&h, "application/jso"), "not a part of it");
	h = asked("");
	ok(!http_content_is(&h, "application/json"), "no type");
}

int main(void)
{
	TAP_RUN(heads);
	TAP_RUN(injections);
	TAP_RUN(bounded);
	TAP_RUN(chunk_heads);
	TAP_RUN(dates);
	TAP_RUN(events);
	TAP_RUN(ranges);
	TAP_RUN(codings);
	TAP_RUN(types);
	return tap_done();
}
