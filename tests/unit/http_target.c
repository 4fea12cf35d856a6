/* SPDX-License-Identifier: Apache-2.0 */
/* Targets in parts: splitting, escapes, parameters, and paths against templates. */
#include "http/target.h"
#include "http_help.h"

static struct http_target split(const char *method, const char *target)
{
	static char text[512];
	struct http_error e = {0};
	struct http_target t;
	struct http_head h;

	snprintf(text, sizeof(text), "%s %s HTTP/1.0\r\n\r\n", method, target);
	http_head_init(&h);
	if (http_head_parse(&h, text, strlen(text), HTTP_REQUEST, &e) <= 0)
		diag("%s: %s", target, e.why);
	http_target_split(&h, &t);
	return t;
}

static void splits(const char *method, const char *target, const char *path, const char *query)
{
	struct http_target t = split(method, target);
	bool same = t.path_len == strlen(path) && memcmp(t.path, path, t.path_len) == 0;

	same &= query ? t.query && t.query_len == strlen(query) &&
				memcmp(t.query, query, t.query_len) == 0
		      : !t.query;
	ok(same, target);
}

static void parts(void)
{
	splits("GET", "/a/b?c=d", "/a/b", "c=d");
	splits("GET", "/a", "/a", NULL);
	splits("GET", "/a?", "/a", "");
	splits("GET", "/?a?b", "/", "a?b");
	splits("GET", "http://a.test/b?c", "/b", "c");
	splits("GET", "https://a.test:444/b", "/b", NULL);
	splits("GET", "http://a.test", "", NULL);
	splits("GET", "http://a.test?b/c", "", "b/c");
	splits("CONNECT", "a.test:443", "", NULL);
	splits("OPTIONS", "*", "", NULL);
}

static void decodes(const char *name, const char *in, size_t len, bool plus, ssize_t r,
		    const char *want)
{
	char *copy = copy_of(in, len);
	char out[16];
	ssize_t got = http_decode(copy, len, plus, out, sizeof(out));

	ok(got == r && (r < 0 || memcmp(out, want, (size_t)r + 1) == 0), name);
	free(copy);
}

static void escapes(void)
{
	decodes("plain", "abc", 3, false, 3, "abc");
	decodes("nothing", "", 0, false, 0, "");
	decodes("both cases", "%2f%2F", 6, false, 2, "//");
	decodes("bytes above ASCII", "%c3%a4", 6, false, 2, "\xc3\xa4");
	decodes("once, not twice", "%252e", 5, false, 3, "%2e");
	decodes("a line end", "%0d%0a", 6, false, 2, "\r\n");
	decodes("plus stays", "a+b", 3, false, 3, "a+b");
	decodes("plus is a blank in forms", "a+b", 3, true, 3, "a b");
	decodes("an escaped plus is a plus", "a%2bb", 5, true, 3, "a+b");
	decodes("%00", "a%00", 4, false, -EINVAL, NULL);
	decodes("a raw NUL", "a\0b", 3, false, -EINVAL, NULL);
	decodes("cut behind %", "a%", 2, false, -EINVAL, NULL);
	decodes("cut behind a digit", "a%2", 3, false, -EINVAL, NULL);
	decodes("letters", "%zz", 3, false, -EINVAL, NULL);
	decodes("a sign", "%-1", 3, false, -EINVAL, NULL);
	decodes("as long as fits", "123456789012345", 15, false, 15, "123456789012345");
	decodes("one more", "1234567890123456", 16, false, -ENAMETOOLONG, NULL);
}

static void parameters(void)
{
	struct http_target t = split("GET", "/?a=1&b=&c&&=d&e=f=g&");
	static const char *const want[] = {"a=1", "b=", "c", "=d", "e=f=g"};
	struct http_query q;
	struct http_param p;
	size_t n = 0;

	http_query_init(&q, &t);
	while (http_query_next(&q, &p) && n < 5) {
		char text[32];

		snprintf(text, sizeof(text), "%.*s%s%.*s", (int)p.name_len, p.name,
			 p.value ? "=" : "", (int)p.value_len, p.value ? p.value : "");
		is_str(text, want[n++], "a parameter");
	}
	is_int((int)n, 5, "as many as there are");
	t = split("GET", "/");
	http_query_init(&q, &t);
	ok(!http_query_next(&q, &p), "no query");
	t = split("GET", "/?&&&");
	http_query_init(&q, &t);
	ok(!http_query_next(&q, &p), "a query of nothing");
}

#define FILES "/v1/sandboxes/{id}/files/list"
static const struct {
	const char *template, *path;
	int r;
	const char *first;
} paths[] = {
	{"/healthz", "/healthz", 1, NULL},
	{"/healthz", "/health", 0, NULL},
	{"/healthz", "/healthzz", 0, NULL},
	{"/healthz", "/HEALTHZ", 0, NULL},
	{"/healthz", "/health%7a", 1, NULL},
	{"/healthz", "/a/healthz", 0, NULL},
	{"/healthz", "/healthz/a", 0, NULL},
	{"/healthz", "/healthz/", -EINVAL, NULL},
	{"/", "/", 1, NULL},
	{"/a", "/", 0, NULL},
	{FILES, "/v1/sandboxes/sbx1/files/list", 1, "sbx1"},
	{FILES, "/v1/sandboxes/sbx1/files", 0, NULL},
	{FILES, "/v1/sandboxes/sbx1/files/list/x", 0, NULL},
	{FILES, "/v1/sandboxes/a%20b/files/list", 1, "a b"},
	{FILES, "/v1/sandboxes/%7Bid%7D/files/list", 1, "{id}"},
	{FILES, "/v1/sandboxes//files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/./files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/../files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/%2e/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/%2e%2E/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/.%2e/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/.../files/list", 1, "..."},
	{FILES, "/v1/sandboxes/a%2fb/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/a%2f..%2fb/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/a%00b/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/a%/files/list", -EINVAL, NULL},
	{FILES, "/v1/sandboxes/%252e%252e/files/list", 1, "%2e%2e"},
	{FILES, "//v1/sandboxes/a/files/list", -EINVAL, NULL},
	{FILES, "/v1/x/../sandboxes/a/files/list", -EINVAL, NULL},
	{FILES, "v1/sandboxes/a/files/list", -EINVAL, NULL},
	{FILES, "", -EINVAL, NULL},
	{FILES, "/nothing/./like/it", -EINVAL, NULL},
};

static void templates(void)
{
	struct http_path_args args;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		size_t len = strlen(paths[i].path);
		char *copy = copy_of(paths[i].path, len);
		int r = http_path_match(paths[i].template, copy, len, &args);

		if (is_int(r, paths[i].r, paths[i].path) && paths[i].first)
			is_str(args.value[0], paths[i].first, "what stands for the name");
		free(copy);
	}
	is_int(http_path_match("/a/{b}/c/{d}", "/a/1/c/2", 8, &args), 1, "two names");
	ok(args.n == 2 && !strcmp(args.value[0], "1") && !strcmp(args.value[1], "2"),
	   "both values");
}

static void long_segments(void)
{
	struct http_path_args args;
	char path[3000];

	memset(path, 'a', sizeof(path));
	path[0] = path[1500] = '/';
	is_int(http_path_match("/{a}", path, 1024, &args), 1, "a value that just fits");
	is_int(http_path_match("/{a}", path, 1025, &args), -ENAMETOOLONG, "one byte more");
	is_int(http_path_match("/{a}/{b}", path, sizeof(path), &args), -ENAMETOOLONG,
	       "two of them");
	path[1023] = '/';
	is_int(http_path_match("/{a}/{b}", path, 1200, &args), -ENAMETOOLONG, "together too long");
	path[1024] = '/';
	path[1023] = 'a';
	is_int(http_path_match("/{a}/{b}", path, 1030, &args), -ENAMETOOLONG,
	       "no room for the rest");
}

int main(void)
{
	TAP_RUN(parts);
	TAP_RUN(escapes);
	TAP_RUN(parameters);
	TAP_RUN(templates);
	TAP_RUN(long_segments);
	return tap_done();
}
