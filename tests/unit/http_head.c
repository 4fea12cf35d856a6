/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: what is a request or a response, and what is refused; in one piece and in many alike. */
#include "http_help.h"

#define HOST "Host: a.test\r\n"

/* A text, NULs and all. */
struct head_case {
	const char *name, *text;
	size_t len;
	int status;
};
#define CASE(name, text, status)                                                                   \
	{                                                                                          \
		name, text, sizeof(text) - 1, status                                               \
	}
#define LINE(name, line, status) CASE(name, line "\r\n" HOST "\r\n", status)
#define FIELD(name, field, status) CASE(name, "POST / HTTP/1.1\r\n" HOST field "\r\n\r\n", status)
#define NAMED(name, host, status) CASE(name, "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n", status)
#define TARGET(name, target, status) LINE(name, "GET " target " HTTP/1.1", status)

static const struct head_case lines[] = {
	LINE("GET", "GET / HTTP/1.1", 0),
	LINE("HTTP/1.0", "GET / HTTP/1.0", 0),
	LINE("a method of its own", "PROPFIND / HTTP/1.1", 0),
	LINE("a method of odd characters", "M-SEARCH!#$%&'*+.^_`|~ / HTTP/1.1", 0),
	LINE("a method in lower case is another", "get / HTTP/1.1", 0),
	CASE("nothing", "", WANT_MORE),
	CASE("half a method", "GE", WANT_MORE),
	CASE("half a head", "GET / HTTP/1.1\r\nHost: a.te", WANT_MORE),
	CASE("all but the last byte", "GET / HTTP/1.1\r\n" HOST "\r", WANT_MORE),
	CASE("a blank line first", "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400),
	CASE("a bare LF first", "\nGET / HTTP/1.1\r\n" HOST "\r\n", 400),
	LINE("a blank first", " GET / HTTP/1.1", 400),
	LINE("no method", " / HTTP/1.1", 400),
	LINE("HTTP/0.9", "GET /", 400),
	CASE("HTTP/0.9 is refused without a head behind", "GET /\r\n", 400),
	LINE("one word", "GET", 400),
	LINE("two blanks behind the method", "GET  / HTTP/1.1", 400),
	LINE("two blanks behind the target", "GET /  HTTP/1.1", 400),
	LINE("a blank at the end", "GET / HTTP/1.1 ", 400),
	LINE("a blank in the target", "GET /a b HTTP/1.1", 400),
	LINE("a second version", "GET / HTTP/1.1 HTTP/1.1", 400),
	LINE("a tab for a blank", "GET\t/ HTTP/1.1", 400),
	LINE("a tab behind the target", "GET /\tHTTP/1.1", 400),
	LINE("a vertical tab", "GET /\v HTTP/1.1", 400),
	LINE("a form feed", "GET /\f HTTP/1.1", 400),
	LINE("DEL", "GET /\x7f HTTP/1.1", 400),
	LINE("NUL in the method", "G\0ET / HTTP/1.1", 400),
	LINE("NUL in the target", "GET /\0 HTTP/1.1", 400),
	LINE("NUL in the version", "GET / HTTP/1.1\0", 400),
	LINE("a colon in the method", "GE:T / HTTP/1.1", 400),
	LINE("a slash in the method", "GE/T / HTTP/1.1", 400),
	LINE("a bracket in the method", "GE(T / HTTP/1.1", 400),
	LINE("UTF-8 in the method", "G\xc3\x8bT / HTTP/1.1", 400),
	LINE("UTF-8 in the target", "GET /\xc3\xa4 HTTP/1.1", 400),
	CASE("UTF-8 is refused before the line is whole", "GET /\xc3", 400),
	LINE("Latin-1 in the target", "GET /\xe4 HTTP/1.1", 400),
	LINE("a method of 32 characters", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1", 0),
	LINE("a method of 33 characters", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1", 501),
	LINE("HTTP/1.2", "GET / HTTP/1.2", 505),
	LINE("HTTP/2.0", "GET / HTTP/2.0", 505),
	LINE("HTTP/0.9, said", "GET / HTTP/0.9", 505),
	LINE("HTTP/9.9", "GET / HTTP/9.9", 505),
	LINE("HTTP/1.9", "GET / HTTP/1.9", 505),
	LINE("HTTP/1", "GET / HTTP/1", 400),
	LINE("HTTP/1.", "GET / HTTP/1.", 400),
	LINE("HTTP/1.10", "GET / HTTP/1.10", 400),
	LINE("HTTP/11", "GET / HTTP/11", 400),
	LINE("HTTP/01.1", "GET / HTTP/01.1", 400),
	LINE("HTTP/+1.1", "GET / HTTP/+1.1", 400),
	LINE("HTTP/1,1", "GET / HTTP/1,1", 400),
	LINE("http/1.1", "GET / http/1.1", 400),
	LINE("Http/1.1", "GET / Http/1.1", 400),
	LINE("HTTPS/1.1", "GET / HTTPS/1.1", 400),
	LINE("a blank in the version", "GET / HTTP/ 1.1", 400),
	LINE("no version but a word", "GET / ICY", 400),
	CASE("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
	CASE("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
	CASE("SSH", "SSH-2.0-OpenSSH_9.2\r\n", 400),
	CASE("SMTP", "EHLO a.test\r\n", 400),
	CASE("Redis", "*1\r\n$4\r\nPING\r\n", 400),
	CASE("a response for a request", "HTTP/1.1 200 OK\r\n\r\n", 400),
	CASE("JSON", "{\"a\": 1}\r\n", 400),
	CASE("a bare LF ends the line", "GET / HTTP/1.1\n" HOST "\r\n", 400),
	CASE("bare LFs only", "GET / HTTP/1.1\nHost: a.test\n\n", 400),
	CASE("a bare CR ends the line", "GET / HTTP/1.1\r" HOST "\r\n", 400),
	CASE("a bare CR within the line", "GET /\ra HTTP/1.1\r\n" HOST "\r\n", 400),
	CASE("CR CR LF", "GET / HTTP/1.1\r\r\n" HOST "\r\n", 400),
	CASE("LF CR", "GET / HTTP/1.1\n\r" HOST "\r\n", 400),
	CASE("a bare LF ends a field", "GET / HTTP/1.1\r\nHost: a.test\nX: y\r\n\r\n", 400),
	CASE("a bare LF ends the head", "GET / HTTP/1.1\r\n" HOST "\n", 400),
	CASE("a bare CR ends the head", "GET / HTTP/1.1\r\n" HOST "\rX: y\r\n\r\n", 400),
	CASE("CR CR LF ends the head", "GET / HTTP/1.1\r\n" HOST "\r\r\n", 400),
};

static const struct head_case targets[] = {
	TARGET("a path", "/a/b.c;d=e,f:g@h!$&'()*+~_-", 0),
	TARGET("a query", "/?a=b&c=d/e?f", 0),
	TARGET("an empty query", "/?", 0),
	TARGET("escapes", "/%20%C3%A4%2f%7E", 0),
	TARGET("what browsers do not escape, in a path", "/a[0]|b^c", 0),
	TARGET("what browsers do not escape, in a query", "/?a[]={b}`c\\d^e|f", 0),
	TARGET("dots are the router's", "/a/../../b", 0),
	TARGET("many slashes are the router's", "//a.test//b", 0),
	TARGET("nothing behind an escape", "/%", 400),
	TARGET("one digit of an escape", "/%2", 400),
	TARGET("an escape cut by the query", "/%2?0", 400),
	TARGET("an escape of letters", "/%zz", 400),
	TARGET("an escape with a sign", "/%+1", 400),
	TARGET("an escape with a blank digit", "/%2%20", 400),
	TARGET("%u", "/%u0041", 400),
	TARGET("%00 in the path", "/a%00b", 400),
	TARGET("%00 at the end", "/a%00", 400),
	TARGET("%00 in the query", "/?a=%00", 400),
	TARGET("%0 in the query", "/?a=%0", 400),
	TARGET("an escaped line end is decoded by nobody here", "/?a=%0d%0a", 0),
	TARGET("a fragment", "/a#b", 400),
	TARGET("a fragment in the query", "/?a#b", 400),
	TARGET("a backslash in the path", "/a\\b", 400),
	TARGET("a backslash first", "\\a", 400),
	TARGET("a quote", "/a\"b", 400),
	TARGET("a quote in the query", "/?a\"b", 400),
	TARGET("angle brackets", "/<script>", 400),
	TARGET("angle brackets in the query", "/?<script>", 400),
	TARGET("braces in the path", "/{id}", 400),
	TARGET("a relative path", "a/b", 400),
	TARGET("a query alone", "?a", 400),
	TARGET("dots alone", "..", 400),
	TARGET("a star with GET", "*", 400),
	TARGET("two stars", "**", 400),
	TARGET("a star and a path", "*/a", 400),
	TARGET("a host with GET", "a.test:80", 400),
	TARGET("an address", "http://a.test/x?y", 0),
	TARGET("an address without a path", "http://a.test", 0),
	TARGET("an address with a query alone", "http://a.test?y", 0),
	TARGET("an address with the port of http", "http://a.test:80/", 0),
	TARGET("an address of https", "https://a.test/", 0),
	TARGET("an address of https with its port", "https://a.test:443/", 0),
	TARGET("the scheme in upper case", "HTTP://A.TEST/", 0),
	TARGET("http with the port of https", "http://a.test:443/", 400),
	TARGET("https with the port of http", "https://a.test:80/", 400),
	TARGET("another host than the field's", "http://b.test/", 400),
	TARGET("a port that the field has not", "http://a.test:81/", 400),
	TARGET("a host that begins like the field's", "http://a.test.evil.test/", 400),
	TARGET("a trailing dot that the field has not", "http://a.test./", 400),
	TARGET("a user", "http://a.test@a.test/", 400),
	TARGET("a user and a password", "http://u:p@a.test/", 400),
	TARGET("no host", "http:///a", 400),
	TARGET("no host, a query", "http://?a", 400),
	TARGET("one slash", "http:/a.test/", 400),
	TARGET("no slash", "http:a.test", 400),
	TARGET("backslashes", "http:\\\\a.test/", 400),
	TARGET("a backslash in the host", "http://a.test\\b/", 400),
	TARGET("a backslash in the address's path", "http://a.test/\\b", 400),
	TARGET("an escape in the host", "http://a%2etest/", 400),
	TARGET("a NUL in the host", "http://a.test%00.evil.test/", 400),
	TARGET("a fragment behind the host", "http://a.test#b", 400),
	TARGET("ftp", "ftp://a.test/", 400),
	TARGET("file", "file:///etc/passwd", 400),
	TARGET("ws", "ws://a.test/", 400),
	TARGET("gopher", "gopher://a.test/", 400),
	TARGET("javascript", "javascript:alert(1)", 400),
	LINE("a star with OPTIONS", "OPTIONS * HTTP/1.1", 0),
	LINE("a path with OPTIONS", "OPTIONS /a HTTP/1.1", 0),
	LINE("CONNECT", "CONNECT a.test:443 HTTP/1.1", 0),
	LINE("CONNECT without a port", "CONNECT a.test HTTP/1.1", 400),
	LINE("CONNECT with an empty port", "CONNECT a.test: HTTP/1.1", 400),
	LINE("CONNECT to port 0", "CONNECT a.test:0 HTTP/1.1", 400),
	LINE("CONNECT to port 65536", "CONNECT a.test:65536 HTTP/1.1", 400),
	LINE("CONNECT to a port of letters", "CONNECT a.test:https HTTP/1.1", 400),
	LINE("CONNECT to a signed port", "CONNECT a.test:+443 HTTP/1.1", 400),
	LINE("CONNECT to a path", "CONNECT /a HTTP/1.1", 400),
	LINE("CONNECT to a host with a path", "CONNECT a.test:443/ HTTP/1.1", 400),
	LINE("CONNECT to an address", "CONNECT http://a.test:443 HTTP/1.1", 400),
	LINE("CONNECT with a user", "CONNECT u@a.test:443 HTTP/1.1", 400),
	LINE("CONNECT to another host than the field's", "CONNECT b.test:443 HTTP/1.1", 400),
	LINE("CONNECT to a star", "CONNECT * HTTP/1.1", 400),
	CASE("CONNECT, the field with the same port",
	     "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", 0),
	CASE("CONNECT, the field with another port",
	     "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n", 400),
	CASE("CONNECT to IPv6", "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n", 0),
	CASE("CONNECT in HTTP/1.0 without Host", "CONNECT a.test:443 HTTP/1.0\r\n\r\n", 0),
	CASE("CONNECT with a body",
	     "CONNECT a.test:443 HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n", 400),
	CASE("CONNECT with chunks",
	     "CONNECT a.test:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400),
	CASE("CONNECT with a body of no bytes",
	     "CONNECT a.test:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 0),
	CASE("TRACE with a body", "TRACE / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n", 400),
};

#define LABEL "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 63 */
static const struct head_case hosts[] = {
	NAMED("a name", "a.test", 0),
	NAMED("a name and a port", "a.test:8080", 0),
	NAMED("one label", "localhost", 0),
	NAMED("upper case", "A.TEST", 0),
	NAMED("a trailing dot", "a.test.", 0),
	NAMED("an underscore", "my_container", 0),
	NAMED("IPv4", "127.0.0.1:80", 0),
	NAMED("digits are the policy's", "2130706433", 0),
	NAMED("IPv6", "[2001:db8::1]", 0),
	NAMED("IPv6 and a port", "[::1]:8080", 0),
	NAMED("IPv6 with IPv4 in it", "[::ffff:127.0.0.1]", 0),
	NAMED("punycode", "xn--bcher-kva.test", 0),
	NAMED("blanks around it", "  a.test\t ", 0),
	NAMED("a label of 63", LABEL ".test", 0),
	NAMED("a label of 64", LABEL "a.test", 400),
	NAMED("253 characters",
	      LABEL "." LABEL "." LABEL
		    ".bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
	      0),
	NAMED("254 characters",
	      LABEL "." LABEL "." LABEL
		    ".bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
	      400),
	CASE("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
	CASE("no Host but another field", "GET / HTTP/1.1\r\nX-Host: a.test\r\n\r\n", 400),
	CASE("no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 0),
	CASE("no Host beside an address", "GET http://a.test/ HTTP/1.1\r\n\r\n", 400),
	CASE("two Hosts", "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400),
	CASE("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400),
	CASE("two Hosts, other case", "GET / HTTP/1.1\r\n" HOST "hOST: b.test\r\n\r\n", 400),
	CASE("two Hosts, others between", "GET / HTTP/1.1\r\n" HOST "A: b\r\nHost: b.test\r\n\r\n",
	     400),
	NAMED("empty", "", 400),
	NAMED("a bad Host in HTTP/1.0 is bad", "a b", 400),
	NAMED("two names", "a.test, b.test", 400),
	NAMED("a blank", "a .test", 400),
	NAMED("a user", "u@a.test", 400),
	NAMED("a path", "a.test/", 400),
	NAMED("a query", "a.test?", 400),
	NAMED("a fragment", "a.test#", 400),
	NAMED("a backslash", "a.test\\", 400),
	NAMED("a scheme", "http://a.test", 400),
	NAMED("an escape", "a%2etest", 400),
	NAMED("an escaped NUL", "a.test%00", 400),
	NAMED("UTF-8",
	      "b\xc3\xbc"
	      "cher.test",
	      400),
	NAMED("an ideographic full stop", "a\xe3\x80\x82test", 400),
	NAMED("a dot alone", ".", 400),
	NAMED("two dots", "..", 400),
	NAMED("a dot first", ".a.test", 400),
	NAMED("two dots between", "a..test", 400),
	NAMED("two dots behind", "a.test..", 400),
	NAMED("an empty port", "a.test:", 400),
	NAMED("port 0", "a.test:0", 400),
	NAMED("port 65535", "a.test:65535", 0),
	NAMED("port 65536", "a.test:65536", 400),
	NAMED("port 99999999999", "a.test:99999999999", 400),
	NAMED("a port of letters", "a.test:http", 400),
	NAMED("a signed port", "a.test:-1", 400),
	NAMED("a hexadecimal port", "a.test:0x50", 400),
	NAMED("two ports", "a.test:80:80", 400),
	NAMED("a blank in front of the port", "a.test :80", 400),
	NAMED("a port alone", ":80", 400),
	NAMED("IPv6 without brackets", "::1", 400),
	NAMED("IPv6 without its last bracket", "[::1", 400),
	NAMED("IPv6 without its first bracket", "::1]", 400),
	NAMED("text behind the bracket", "[::1]a", 400),
	NAMED("an empty port behind the bracket", "[::1]:", 400),
	NAMED("a zone", "[fe80::1%eth0]", 400),
	NAMED("an escaped zone", "[fe80::1%25eth0]", 400),
	NAMED("empty brackets", "[]", 400),
	NAMED("a name in brackets", "[a.test]", 400),
	NAMED("IPv4 in brackets", "[127.0.0.1]", 400),
	NAMED("an address of the future", "[v1.a]", 400),
	NAMED("two brackets", "[[::1]]", 400),
	NAMED("five digits of IPv6", "[00001::]", 400),
	NAMED("a star", "*", 400),
	NAMED("a star in front", "*.test", 400),
	NAMED("a quote", "\"a.test\"", 400),
	NAMED("a semicolon", "a.test;b", 400),
	NAMED("a tab", "a\ttest", 400),
};

static const struct head_case fields[] = {
	FIELD("a value", "X: y", 0),
	FIELD("no blank", "X:y", 0),
	FIELD("many blanks", "X: \t y \t", 0),
	FIELD("no value", "X:", 0),
	FIELD("a value of blanks", "X:   \t", 0),
	FIELD("colons in a value", "X: a:b:c", 0),
	FIELD("quotes, brackets, UTF-8", "X: \"a\" <b> \xc3\xa4", 0),
	FIELD("a tab in a value", "X: a\tb", 0),
	FIELD("a name of odd characters", "x!#$%&'*+-.^_`|~9: y", 0),
	FIELD("a name of one character", "x: y", 0),
	FIELD("no colon", "X", 400),
	FIELD("no name", ": y", 400),
	FIELD("a colon alone", ":", 400),
	FIELD("a blank in front of the colon", "X : y", 400),
	FIELD("a tab in front of the colon", "X\t: y", 400),
	FIELD("a blank within the name", "X Y: z", 400),
	FIELD("a folded line", "X: y\r\n z", 400),
	FIELD("a line folded by a tab", "X: y\r\n\tz", 400),
	FIELD("a folded length", "X: y\r\n Content-Length: 5", 400),
	CASE("the first field is folded", "GET / HTTP/1.1\r\n X: y\r\n" HOST "\r\n", 400),
	CASE("a blank line with a blank", "GET / HTTP/1.1\r\n" HOST " \r\n\r\n", 400),
	FIELD("NUL in a name", "X\0Y: z", 400),
	FIELD("NUL in a value", "X: y\0z", 400),
	FIELD("NUL behind a value", "X: y\0", 400),
	FIELD("CR in a value", "X: y\rz", 400),
	FIELD("LF in a value", "X: y\nz", 400),
	FIELD("ESC in a value", "X: \033[2J", 400),
	FIELD("backspace in a value", "X: a\bb", 400),
	FIELD("DEL in a value", "X: a\x7f", 400),
	FIELD("UTF-8 in a name", "\xc3\x84: y", 400),
	FIELD("a slash in a name", "X/Y: z", 400),
	FIELD("a bracket in a name", "X(Y): z", 400),
	FIELD("a comma in a name", "X,Y: z", 400),
	FIELD("a semicolon in a name", "X;Y: z", 400),
	FIELD("a quote in a name", "\"X\": z", 400),
	FIELD("an equals sign in a name", "X=Y: z", 400),
	FIELD("an at sign in a name", "X@Y: z", 400),
	FIELD("a backslash in a name", "X\\Y: z", 400),
	FIELD("a brace in a name", "X{Y}: z", 400),
	FIELD("two of a field that may be there twice", "X: y\r\nX: y", 0),
	FIELD("two credentials", "Authorization: a\r\nAuthorization: b", 400),
	FIELD("two credentials in other case", "Authorization: a\r\nAUTHORIZATION: a", 400),
	FIELD("two origins", "Origin: http://a.test\r\nOrigin: null", 400),
	FIELD("two types", "Content-Type: text/plain\r\nContent-Type: application/json", 400),
	FIELD("two ranges", "Range: bytes=0-1\r\nRange: bytes=2-3", 400),
	FIELD("two sessions", "Mcp-Session-Id: a\r\nMcp-Session-Id: b", 400),
	FIELD("Accept twice", "Accept: a/b\r\nAccept: c/d", 0),
	FIELD("Connection twice", "Connection: close\r\nConnection: keep-alive", 0),
	FIELD("Connection with empty elements", "Connection: , close,, x ,", 0),
	FIELD("Connection of no names", "Connection: a b", 400),
	FIELD("Connection of quotes", "Connection: \"close\"", 400),
	FIELD("Connection that names Host", "Connection: close, hOST", 400),
	FIELD("Connection that names the length", "Connection: Content-Length", 400),
	FIELD("Connection that names the coding", "Connection: transfer-encoding", 400),
	FIELD("Expect", "Expect: 100-continue", 0),
	FIELD("Expect in upper case", "Expect: 100-CONTINUE", 0),
	FIELD("Expect of something else", "Expect: 200-ok", 417),
	FIELD("Expect of nothing", "Expect:", 417),
	FIELD("Expect of two", "Expect: 100-continue, x", 417),
	FIELD("two Expects", "Expect: 100-continue\r\nExpect: 100-continue", 400),
	CASE("Expect in HTTP/1.0 is no matter", "POST / HTTP/1.0\r\nExpect: x\r\n\r\n", 0),
	FIELD("two Upgrades", "Upgrade: a\r\nUpgrade: b", 400),
};

static const struct head_case framing[] = {
	FIELD("a length", "Content-Length: 5", 0),
	FIELD("a length of 0", "Content-Length: 0", 0),
	FIELD("zeros in front", "Content-Length: 005", 0),
	FIELD("blanks around", "Content-Length: \t5 \t", 0),
	FIELD("18 digits", "Content-Length: 999999999999999999", 0),
	FIELD("19 digits", "Content-Length: 9223372036854775807", 413),
	FIELD("2^64", "Content-Length: 18446744073709551616", 413),
	FIELD("2^64 + 5", "Content-Length: 18446744073709551621", 413),
	FIELD("2^32 + 5 is what it says", "Content-Length: 4294967301", 0),
	FIELD("no digits", "Content-Length:", 400),
	FIELD("blanks only", "Content-Length:   ", 400),
	FIELD("a plus", "Content-Length: +5", 400),
	FIELD("a minus", "Content-Length: -5", 400),
	FIELD("minus 0", "Content-Length: -0", 400),
	FIELD("hexadecimal", "Content-Length: 0x5", 400),
	FIELD("hexadecimal digits", "Content-Length: 5a", 400),
	FIELD("a fraction", "Content-Length: 5.0", 400),
	FIELD("an exponent", "Content-Length: 5e0", 400),
	FIELD("a blank within", "Content-Length: 5 0", 400),
	FIELD("a tab within", "Content-Length: 5\t0", 400),
	FIELD("an underscore", "Content-Length: 1_0", 400),
	FIELD("quotes", "Content-Length: \"5\"", 400),
	FIELD("a list of equals", "Content-Length: 5, 5", 400),
	FIELD("a list of others", "Content-Length: 5, 6", 400),
	FIELD("a comma behind", "Content-Length: 5,", 400),
	FIELD("a comma in front", "Content-Length: ,5", 400),
	FIELD("a semicolon behind", "Content-Length: 5;", 400),
	FIELD("text behind", "Content-Length: 5 bytes", 400),
	FIELD("NUL behind", "Content-Length: 5\0", 400),
	FIELD("other digits", "Content-Length: \xd9\xa5", 400),
	FIELD("two lengths, equal", "Content-Length: 5\r\nContent-Length: 5", 400),
	FIELD("two lengths", "Content-Length: 5\r\nContent-Length: 6", 400),
	FIELD("two lengths in other case", "Content-Length: 5\r\ncontent-LENGTH: 5", 400),
	FIELD("a blank in front of its colon", "Content-Length : 5", 400),
	FIELD("an underscore is another field", "Content_Length: x", 0),
	FIELD("chunks", "Transfer-Encoding: chunked", 0),
	FIELD("chunks in upper case", "Transfer-Encoding: CHUNKED", 0),
	FIELD("blanks around chunks", "Transfer-Encoding: \t chunked \t", 0),
	FIELD("length and chunks", "Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
	FIELD("chunks and length", "Transfer-Encoding: chunked\r\nContent-Length: 5", 400),
	FIELD("chunks and length 0", "Transfer-Encoding: chunked\r\nContent-Length: 0", 400),
	FIELD("chunks and a bad length", "Transfer-Encoding: chunked\r\nContent-Length: x", 400),
	FIELD("a bad coding and a length", "Transfer-Encoding: x\r\nContent-Length: 5", 501),
	FIELD("chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
	FIELD("identity, then chunks", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
	      501),
	FIELD("chunks, then identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
	      400),
	FIELD("a list of two chunked", "Transfer-Encoding: chunked, chunked", 501),
	FIELD("gzip in front", "Transfer-Encoding: gzip, chunked", 501),
	FIELD("identity behind", "Transfer-Encoding: chunked, identity", 501),
	FIELD("identity", "Transfer-Encoding: identity", 501),
	FIELD("gzip", "Transfer-Encoding: gzip", 501),
	FIELD("no coding", "Transfer-Encoding:", 501),
	FIELD("xchunked", "Transfer-Encoding: xchunked", 501),
	FIELD("chunkedx", "Transfer-Encoding: chunkedx", 501),
	FIELD("chunk", "Transfer-Encoding: chunk", 501),
	FIELD("a parameter", "Transfer-Encoding: chunked;q=1", 501),
	FIELD("a comma behind chunked", "Transfer-Encoding: chunked,", 501),
	FIELD("a comma in front of chunked", "Transfer-Encoding: ,chunked", 501),
	FIELD("quoted chunked", "Transfer-Encoding: \"chunked\"", 501),
	FIELD("a vertical tab in front", "Transfer-Encoding: \vchunked", 400),
	FIELD("a form feed behind", "Transfer-Encoding: chunked\f", 400),
	FIELD("NUL behind chunked", "Transfer-Encoding: chunked\0", 400),
	FIELD("a no-break space",
	      "Transfer-Encoding: \xa0"
	      "chunked",
	      501),
	FIELD("a long s",
	      "Transfer-Encoding: chun\xc5\xbf"
	      "ked",
	      501),
	FIELD("a Kelvin sign",
	      "Transfer-Encoding: chun\xe2\x84\xaa"
	      "ed",
	      501),
	FIELD("folded chunks", "Transfer-Encoding:\r\n chunked", 501),
	FIELD("a blank in front of the coding's colon", "Transfer-Encoding : chunked", 400),
	FIELD("chunks in another name", "X-Transfer-Encoding: chunked", 0),
	CASE("chunks in HTTP/1.0", "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
	     400),
	CASE("a length in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n", 0),
	CASE("GET with a body", "GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n", 0),
};

static const struct head_case responses[] = {
	CASE("200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0),
	CASE("HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n", 0),
	CASE("no reason", "HTTP/1.1 200 \r\n\r\n", 0),
	CASE("no blank behind the status", "HTTP/1.1 200\r\n\r\n", 0),
	CASE("a reason of words, tabs and UTF-8", "HTTP/1.1 404 Nicht\tgefunden \xc3\xa4\r\n\r\n",
	     0),
	CASE("100", "HTTP/1.1 100 Continue\r\n\r\n", 0),
	CASE("101", "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", 0),
	CASE("599", "HTTP/1.1 599 X\r\n\r\n", 0),
	CASE("half of one", "HTTP/1.1 2", WANT_MORE),
	CASE("099", "HTTP/1.1 099 X\r\n\r\n", 502),
	CASE("600", "HTTP/1.1 600 X\r\n\r\n", 502),
	CASE("1000", "HTTP/1.1 1000 X\r\n\r\n", 502),
	CASE("two digits", "HTTP/1.1 20 X\r\n\r\n", 502),
	CASE("a sign", "HTTP/1.1 +20 X\r\n\r\n", 502),
	CASE("letters", "HTTP/1.1 2OO X\r\n\r\n", 502),
	CASE("two blanks", "HTTP/1.1  200 X\r\n\r\n", 502),
	CASE("a tab", "HTTP/1.1\t200 X\r\n\r\n", 502),
	CASE("text behind the status", "HTTP/1.1 200X\r\n\r\n", 502),
	CASE("no status", "HTTP/1.1\r\n\r\n", 502),
	CASE("no version", "200 OK\r\n\r\n", 502),
	CASE("ICY", "ICY 200 OK\r\n\r\n", 502),
	CASE("HTTP/2", "HTTP/2 200\r\n\r\n", 502),
	CASE("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", 502),
	CASE("HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", 502),
	CASE("a blank line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", 502),
	CASE("a bare LF", "HTTP/1.1 200 OK\n\n", 502),
	CASE("a bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", 502),
	CASE("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", 502),
	CASE("HTML", "<html>\r\n", 502),
	CASE("a length beside chunks",
	     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 502),
	CASE("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
	     502),
	CASE("two equal lengths",
	     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 502),
	CASE("a length too large",
	     "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", 502),
	CASE("gzip as coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 502),
	CASE("chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 502),
	CASE("two places to go to",
	     "HTTP/1.1 302 X\r\nLocation: http://a.test/\r\nLocation: http://b.test/\r\n\r\n", 502),
	CASE("a folded place to go to", "HTTP/1.1 302 X\r\nLocation: /\r\n x\r\n\r\n", 502),
	CASE("204 with a length", "HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\n", 502),
	CASE("204 with length 0", "HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n", 0),
	CASE("204 with chunks", "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n", 502),
	CASE("100 with a length", "HTTP/1.1 100 X\r\nContent-Length: 5\r\n\r\n", 502),
	CASE("101 with chunks", "HTTP/1.1 101 X\r\nTransfer-Encoding: chunked\r\n\r\n", 502),
	CASE("304 with the length that there would be",
	     "HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", 0),
	CASE("many cookies", "HTTP/1.1 200 X\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n", 0),
	CASE("Host is no matter", "HTTP/1.1 200 X\r\nHost: a b\r\nHost: c\r\n\r\n", 0),
	CASE("Expect is no matter", "HTTP/1.1 200 X\r\nExpect: x\r\n\r\n", 0),
};

static void run(const struct head_case *cases, size_t n, enum http_side side)
{
	for (size_t i = 0; i < n; i++)
		head_is(cases[i].name, cases[i].text, cases[i].len, side, cases[i].status);
}
#define RUN(cases, side) run(cases, sizeof(cases) / sizeof(cases[0]), side)

static void first_lines(void)
{
	RUN(lines, HTTP_REQUEST);
}

static void request_targets(void)
{
	RUN(targets, HTTP_REQUEST);
}

static void request_hosts(void)
{
	RUN(hosts, HTTP_REQUEST);
}

static void request_fields(void)
{
	RUN(fields, HTTP_REQUEST);
}

static void request_framing(void)
{
	RUN(framing, HTTP_REQUEST);
}

static void all_responses(void)
{
	RUN(responses, HTTP_RESPONSE);
}

/* Every byte at every place of a small head: none but those that a place may have. */
static void every_byte(void)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n";
	unsigned accepted = 0, differing = 0, odd = 0;

	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		for (unsigned c = 0; c < 256; c++) {
			char copy[sizeof(text)];

			memcpy(copy, text, sizeof(text));
			copy[at] = (char)c;
			struct head_answer a =
				feed_head(copy, sizeof(text) - 1, HTTP_REQUEST, 64, false);
			struct head_answer b =
				feed_head(copy, sizeof(text) - 1, HTTP_REQUEST, 1, false);
			accepted += a.used > 0;
			differing += !same_answer(a, b);
			odd += a.used > 0 && c < 32 && c != '\t' && c != (unsigned char)text[at];
		}
	}
	is_int(differing, 0, "every byte at every place: the same answer in pieces");
	is_int(odd, 0, "no control character is accepted anywhere");
	diag("%u of %zu were heads", accepted, 256 * (sizeof(text) - 1));
}

/* A head of `n` bytes before its blank line: `lead`, then one field that fills. */
static char *filled(const char *lead, size_t n, const char *tail)
{
	char *p = malloc(n + strlen(tail) + 1);

	memset(p, 'a', n);
	memcpy(p, lead, strlen(lead));
	memcpy(p + n, tail, strlen(tail) + 1);
	return p;
}

static void line_limit(void)
{
	char *p = filled("GET /", HTTP_LINE_MAX - 9, " HTTP/1.1\r\nHost: a.test\r\n\r\n");

	head_is("a first line of 8 KiB", p, strlen(p), HTTP_REQUEST, 0);
	free(p);
	p = filled("GET /", HTTP_LINE_MAX - 8, " HTTP/1.1\r\nHost: a.test\r\n\r\n");
	head_is("a first line of 8 KiB and one", p, strlen(p), HTTP_REQUEST, 414);
	head_is("it is refused before its end", p, HTTP_LINE_MAX + 1, HTTP_REQUEST, 414);
	head_is("but not before the limit", p, HTTP_LINE_MAX, HTTP_REQUEST, WANT_MORE);
	free(p);
	p = filled("GET /", 65536, " HTTP/1.1\r\nHost: a.test\r\n\r\n");
	head_is("a target of 64 KiB", p, strlen(p), HTTP_REQUEST, 414);
	free(p);
	p = filled("HTTP/1.1 200 ", HTTP_LINE_MAX + 1, "\r\n\r\n");
	head_is("a reason that is too long", p, strlen(p), HTTP_RESPONSE, 502);
	free(p);
}

static void head_limit(void)
{
	static const char lead[] = "GET / HTTP/1.1\r\nHost: a.test\r\nX: ";
	char *p = filled(lead, HTTP_HEAD_MAX - 4, "\r\n\r\n");

	head_is("a head of 32 KiB", p, strlen(p), HTTP_REQUEST, 0);
	free(p);
	p = filled(lead, HTTP_HEAD_MAX - 3, "\r\n\r\n");
	head_is("a head of 32 KiB and one", p, strlen(p), HTTP_REQUEST, 431);
	free(p);
	p = filled(lead, 102400, "\r\n\r\n");
	head_is("a field of 100 KB", p, strlen(p), HTTP_REQUEST, 431);
	free(p);
	p = filled("GET / HTTP/1.1\r\nHost: a.test\r\n", 40000, ": b\r\n\r\n");
	head_is("a name of 40 KB", p, strlen(p), HTTP_REQUEST, 431);
	free(p);
}

static char *with_fields(unsigned n)
{
	static const char lead[] = "GET / HTTP/1.1\r\nHost: a.test\r\n";
	char *p = malloc(sizeof(lead) + 5 * (size_t)n + 3);
	size_t at = sizeof(lead) - 1;

	memcpy(p, lead, at);
	for (unsigned i = 0; i < n; i++, at += 5)
		memcpy(p + at, "a:b\r\n", 5);
	memcpy(p + at, "\r\n", 3);
	return p;
}

static void field_limit(void)
{
	char *p = with_fields(99);

	head_is("100 fields", p, strlen(p), HTTP_REQUEST, 0);
	free(p);
	p = with_fields(100);
	head_is("101 fields", p, strlen(p), HTTP_REQUEST, 431);
	free(p);
	p = with_fields(10000);
	head_is("10,000 fields", p, strlen(p), HTTP_REQUEST, 431);
	free(p);
}

static struct http_head parsed(const char *text, enum http_side side)
{
	struct http_error e = {0};
	struct http_head h;

	http_head_init(&h);
	if (http_head_parse(&h, text, strlen(text), side, &e) != (int)strlen(text))
		diag("refused: %s: %s", e.why ? e.why : "-", text);
	return h;
}

static const char *slice(const char *p, size_t n)
{
	static char text[4][256];
	static unsigned at;
	char *out = text[at++ % 4];

	snprintf(out, 256, "%.*s", p ? (int)n : 6, p ? p : "(null)");
	return out;
}

static void meaning(void)
{
	struct http_head h = parsed("PATCH http://A.test:81/x?y HTTP/1.1\r\nHost: a.TEST:81\r\n"
				    "Accept:\t a , b \r\nEmpty:\r\nExpect: 100-continue\r\n"
				    "Content-Length: 42\r\n\r\n",
				    HTTP_REQUEST);

	is_int(h.method, HTTP_PATCH, "method");
	is_str(slice(h.method_text, h.method_len), "PATCH", "its text");
	is_int(h.form, HTTP_ABSOLUTE, "form");
	is_str(slice(h.target, h.target_len), "http://A.test:81/x?y", "target");
	is_str(slice(h.host, h.host_len), "A.test:81", "the host is the target's");
	is_str(slice(h.where.name, h.where.name_len), "A.test", "its name");
	is_int(h.where.port, 81, "its port");
	is_int(h.minor, 1, "version");
	is_int(h.content_length, 42, "length");
	ok(!h.chunked && h.keep_alive && h.expect_continue && !h.upgrade, "flags");
	is_int(h.n_fields, 5, "number of fields");
	is_str(slice(h.fields[1].value, h.fields[1].value_len), "a , b",
	       "a value without its blanks");
	is_int(h.fields[2].value_len, 0, "an empty value");
	ok(http_head_lists(&h, "accept", "b") && !http_head_lists(&h, "accept", "c"), "lists");
	ok(!http_head_field(&h, "nothing"), "a field that is not there");

	h = parsed("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", HTTP_REQUEST);
	is_str(slice(h.where.name, h.where.name_len), "::1", "IPv6 without brackets");
	ok(h.where.is_ip6 && h.where.port == 80, "its port");
	is_int(h.content_length, -1, "no length");

	h = parsed("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n", HTTP_RESPONSE);
	is_int(h.status, 404, "status");
	is_str(slice(h.reason, h.reason_len), "Not Found", "reason");
	ok(h.keep_alive, "a response with a length keeps the connection");
	h = parsed("HTTP/1.1 200 OK\r\n\r\n", HTTP_RESPONSE);
	ok(!h.keep_alive, "one that is read to its end does not");
}

static bool keeps(const char *version, const char *connection)
{
	char text[256];

	snprintf(text, sizeof(text), "GET / HTTP/%s\r\nHost: a\r\n%s\r\n", version, connection);
	return parsed(text, HTTP_REQUEST).keep_alive;
}

static void connection(void)
{
	ok(keeps("1.1", ""), "1.1 stays");
	ok(!keeps("1.1", "Connection: close\r\n"), "1.1 with close does not");
	ok(!keeps("1.1", "Connection: x, CLOSE\r\n"), "close in a list");
	ok(!keeps("1.1", "Connection: keep-alive\r\nConnection: close\r\n"), "close wins");
	ok(keeps("1.1", "Connection: xclose\r\n"), "a word that ends with close");
	ok(!keeps("1.0", ""), "1.0 does not stay");
	ok(keeps("1.0", "Connection: Keep-Alive\r\n"), "unless it says so");
	ok(!keeps("1.0", "Connection: close, keep-alive\r\n"), "and not close");
}

static void upgrades(void)
{
	struct http_head h = parsed("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
				    "Connection: keep-alive, Upgrade\r\n\r\n",
				    HTTP_REQUEST);

	is_str(slice(h.upgrade, h.upgrade_len), "websocket", "Upgrade that Connection names");
	h = parsed("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n", HTTP_REQUEST);
	ok(!h.upgrade, "Upgrade that it does not name");
	h = parsed("GET / HTTP/1.0\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", HTTP_REQUEST);
	ok(!h.upgrade, "Upgrade in HTTP/1.0");
}

static void hops(void)
{
	static const char *const passed[] = {"host", "accept", "cookie", "x-other",
					     "content-length"};
	static const char *const dropped[] = {"connection", "x-inject",	  "te",
					      "trailer",    "keep-alive", "proxy-authorization",
					      "upgrade"};
	struct http_head h = parsed("GET / HTTP/1.1\r\nHost: a\r\nAccept: b\r\nX-Inject: c\r\n"
				    "Connection: close, x-INJECT\r\nTE: trailers\r\nTrailer: d\r\n"
				    "Keep-Alive: e\r\nProxy-Authorization: f\r\nUpgrade: g\r\n"
				    "Cookie: h\r\nX-Other: i\r\nContent-Length: 0\r\n\r\n",
				    HTTP_REQUEST);

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		ok(!http_field_is_hop(&h, http_head_field(&h, passed[i])), passed[i]);
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		ok(http_field_is_hop(&h, http_head_field(&h, dropped[i])), dropped[i]);
}

/* Byte by byte costs as much as whole, not its square: counted in bytes looked at, by a buffer that
 * is destroyed behind the parser. */
static void looked_at_once(void)
{
	static char text[] =
		"GET / HTTP/1.1\r\nHost: a.test\r\nX: yyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n";
	struct http_error e;
	struct http_head h;
	int used = 0;

	http_head_init(&h);
	for (size_t n = 1; n < sizeof(text) && used == 0; n++) {
		used = http_head_parse(&h, text, n, HTTP_REQUEST, &e);
		/* The line that is not whole yet is looked at once more when it is. */
		for (size_t i = 0; i < h.line; i++)
			text[i] = '\0';
	}
	is_int(used, (int)sizeof(text) - 1, "bytes of whole lines are not looked at again");
}

static void after_refusal(void)
{
	static const char text[] = "GET / HTTP/1.1\r\nX\r\nHost: a.test\r\n\r\n";
	struct http_error e = {0};
	struct http_head h;

	http_head_init(&h);
	ok(http_head_parse(&h, text, sizeof(text) - 1, HTTP_REQUEST, &e) < 0, "refused");
	ok(http_head_parse(&h, text, sizeof(text) - 1, HTTP_REQUEST, &e) < 0, "refused for good");
	char *other = copy_of("GET / HTTP/1.0\r\n\r\n", 18);
	ok(http_head_parse(&h, other, 18, HTTP_REQUEST, &e) < 0, "elsewhere, too");
	free(other);
}

int main(void)
{
	TAP_RUN(first_lines);
	TAP_RUN(request_targets);
	TAP_RUN(request_hosts);
	TAP_RUN(request_fields);
	TAP_RUN(request_framing);
	TAP_RUN(all_responses);
	TAP_RUN(every_byte);
	TAP_RUN(line_limit);
	TAP_RUN(head_limit);
	TAP_RUN(field_limit);
	TAP_RUN(meaning);
	TAP_RUN(connection);
	TAP_RUN(upgrades);
	TAP_RUN(hops);
	TAP_RUN(looked_at_once);
	TAP_RUN(after_refusal);
	return tap_done();
}
