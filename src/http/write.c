/* SPDX-License-Identifier: Apache-2.0 */
#include "http/write.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "http/chars_int.h"

/* RFC 9110 and those of its neighbours that are in use. */
static const struct {
	uint16_t status;
	const char *text;
} statuses[] = {
	{100, "Continue"},
	{101, "Switching Protocols"},
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{204, "No Content"},
	{206, "Partial Content"},
	{301, "Moved Permanently"},
	{302, "Found"},
	{303, "See Other"},
	{304, "Not Modified"},
	{307, "Temporary Redirect"},
	{308, "Permanent Redirect"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{407, "Proxy Authentication Required"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{410, "Gone"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{416, "Range Not Satisfiable"},
	{417, "Expectation Failed"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{425, "Too Early"},
	{426, "Upgrade Required"},
	{428, "Precondition Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
	{507, "Insufficient Storage"},
};

const char *http_status_text(unsigned status)
{
	static const char *const hundreds[] = {"Informational", "Success", "Redirection",
					       "Client Error", "Server Error"};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return statuses[i].text;
	return status >= 100 && status < 600 ? hundreds[status / 100 - 1] : "Unknown";
}

void http_out_init(struct http_out *o, char *buf, size_t size)
{
	assert(o && buf && size <= INT32_MAX);
	*o = (struct http_out){.buf = buf, .size = size};
}

static void put(struct http_out *o, const char *p, size_t n)
{
	if (o->error)
		return;
	if (n > o->size - o->len) {
		o->error = -EMSGSIZE;
		return;
	}
	if (n > 0)
		memcpy(o->buf + o->len, p, n);
	o->len += n;
}

static void put_str(struct http_out *o, const char *text)
{
	put(o, text, strlen(text));
}

void http_out_status(struct http_out *o, unsigned status)
{
	char line[20];

	assert(status >= 100 && status <= 599);
	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
	put_str(o, line);
	put_str(o, http_status_text(status));
	put_str(o, "\r\n");
}

/* What a line of ours may hold, so that it stays one line. */
static bool is_text(const char *p, size_t n, bool has_blanks)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == 0x7f || (c < 0x20 && !(has_blanks && c == '\t')) ||
		    (!has_blanks && (c == ' ' || c >= 0x80)))
			return false;
	}
	return true;
}

void http_out_request(struct http_out *o, const char *method, const char *target, size_t target_len)
{
	size_t n = strlen(method);

	if (n == 0 || !chars_all(&chars_token, method, n) || target_len == 0 ||
	    !is_text(target, target_len, false))
		o->error = o->error ? o->error : -EINVAL;
	put(o, method, n);
	put_str(o, " ");
	put(o, target, target_len);
	put_str(o, " HTTP/1.1\r\n");
}

static void put_field(struct http_out *o, const struct http_field *f)
{
	if (f->name_len == 0 || !chars_all(&chars_token, f->name, f->name_len) ||
	    !is_text(f->value, f->value_len, true))
		o->error = o->error ? o->error : -EINVAL;
	put(o, f->name, f->name_len);
	put_str(o, ": ");
	put(o, f->value, f->value_len);
	put_str(o, "\r\n");
}

void http_out_copy(struct http_out *o, const struct http_field *f)
{
	put_field(o, f);
}

void http_out_field_n(struct http_out *o, const char *name, const char *value, size_t len)
{
	size_t name_len = strlen(name);

	if (len > UINT32_MAX || name_len > UINT32_MAX) {
		o->error = o->error ? o->error : -EMSGSIZE;
		return;
	}
	put_field(o, &(struct http_field){
			     .name = name,
			     .value = value,
			     .name_len = (uint32_t)name_len,
			     .value_len = (uint32_t)len,
		     });
}

void http_out_field(struct http_out *o, const char *name, const char *value)
{
	http_out_field_n(o, name, value, strlen(value));
}

void http_out_field_u64(struct http_out *o, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	http_out_field(o, name, text);
}

int http_out_end(struct http_out *o)
{
	put_str(o, "\r\n");
	return o->error ? o->error : (int)o->len;
}

size_t http_chunk_head(char out[HTTP_CHUNK_HEAD_MAX], size_t n)
{
	char line[HTTP_CHUNK_HEAD_MAX];
	int len = snprintf(line, sizeof(line), "%zx\r\n", n);

	assert(n > 0); /* the one of size 0 ends the body */
	memcpy(out, line, (size_t)len);
	return (size_t)len;
}

/* By hand: the words of strftime() are the locale's. */
void http_date(time_t when, char ret[HTTP_DATE_SIZE])
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const time_t last = 253402300799; /* of the year 9999 */
	struct tm tm = {0};

	when = when < 0 ? 0 : when > last ? last : when;
	(void)gmtime_r(&when, &tm);
	(void)snprintf(ret, HTTP_DATE_SIZE, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
		       days + 3 * tm.tm_wday, (unsigned)tm.tm_mday % 100, months + 3 * tm.tm_mon,
		       (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
		       (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

static void put_line(struct http_out *o, const char *name, const char *text, size_t n)
{
	put_str(o, name);
	put(o, text, n);
	put_str(o, "\n");
}

static void put_name(struct http_out *o, const char *name, const char *text)
{
	if (!text)
		return;
	if (strpbrk(text, "\r\n"))
		o->error = o->error ? o->error : -EINVAL;
	put_line(o, name, text, strlen(text));
}

static void put_data(struct http_out *o, const char *data, size_t len)
{
	size_t begin = 0;

	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n' && data[i] != '\r')
			continue;
		put_line(o, "data: ", data + begin, i - begin);
		if (data[i] == '\r' && i + 1 < len && data[i + 1] == '\n')
			i++;
		begin = i + 1;
	}
	put_line(o, "data: ", data + begin, len - begin);
}

int sse_frame(char *buf, size_t size, const char *event, const char *id, const char *data,
	      size_t len)
{
	struct http_out o;

	http_out_init(&o, buf, size);
	put_name(&o, "event: ", event);
	put_name(&o, "id: ", id);
	if (len > 0 || data)
		put_data(&o, data, len);
	put_str(&o, "\n");
	return o.error ? o.error : (int)o.len;
}
