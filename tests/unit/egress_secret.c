/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets on their way out and back. */
#include <stdbool.h>

#include "egress/secret.h"
#include "tap.h"

#define VALUE "sk-live/0123456789+abc\"def"

static struct secret_set all;
static const struct egress_inject bearer = {EGRESS_HEADER, "API_KEY", "Authorization", "Bearer "};
static const struct egress_inject own_header = {EGRESS_HEADER, "API_KEY", "X-Api-Key", ""};
static const struct egress_inject query = {EGRESS_QUERY, "API_KEY", "key", ""};
static const struct egress_inject basic = {EGRESS_BASIC, "API_KEY", "user", ""};

static void fill(void)
{
	uint8_t random[SECRET_RANDOM];

	all = (struct secret_set){.magic = SECRET_SET_MAGIC, .n = 2};
	for (unsigned i = 0; i < 2; i++) {
		struct secret *s = &all.list[i];

		memset(random, (int)(7 + i), sizeof(random));
		secret_mark(random, s->placeholder);
		snprintf(s->name, sizeof(s->name), "%s", i ? "OTHER" : "API_KEY");
		snprintf(s->value, sizeof(s->value), "%s", i ? "another-secret" : VALUE);
		s->len = (uint32_t)strlen(s->value);
	}
}

/* A request; the text lives as long as the head is looked at. */
static struct http_head *head(const char *text)
{
	static struct http_head h;
	static char buf[8192];
	struct http_error e = {0, ""};

	http_head_init(&h);
	snprintf(buf, sizeof(buf), "%s", text);
	if (http_head_parse(&h, buf, strlen(buf), HTTP_REQUEST, &e) <= 0)
		diag("%s", e.why);
	return &h;
}

static bool brokered; /* another rule injects for the host */

static enum secret_finding check(const struct egress_inject *in, const char *target,
				 const char *fields)
{
	struct egress_verdict v = {.n_inject = in ? 1 : 0, .is_brokered = in || brokered};
	char text[4096];
	const char *why = NULL;

	if (in)
		v.inject[0] = *in;

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: api.test\r\n%s\r\n", target, fields);
	return secret_check(&all, head(text), &v, 1000, &why);
}

static char *field(const char *front, const char *value, const char *behind)
{
	static char text[1024];

	snprintf(text, sizeof(text), "%s%s%s", front, value, behind);
	return text;
}

static void names(void)
{
	char mark[SECRET_MARK_LEN + 1], other[SECRET_MARK_LEN + 1];
	uint8_t random[SECRET_RANDOM] = {0};

	ok(secret_is_name("OPENAI_API_KEY") && secret_is_name("_x1"), "names of variables");
	ok(!secret_is_name("") && !secret_is_name("1x") && !secret_is_name("a-b") &&
		   !secret_is_name("a b") && !secret_is_name("../x"),
	   "and no others");
	ok(secret_is_value("12345678", 8) && !secret_is_value("1234567", 7), "not too short");
	ok(!secret_is_value("1234\r\nX: y", 10) && !secret_is_value("1234567\0", 8) &&
		   !secret_is_value(" 12345678", 9),
	   "nothing that a header could not have");
	secret_mark(random, mark);
	random[SECRET_RANDOM - 1] = 1;
	secret_mark(random, other);
	is_int((long)strlen(mark), SECRET_MARK_LEN, "placeholders have one length");
	ok(strcmp(mark, other) != 0, "every bit counts");
	ok(secret_set_is_good(&all), "a good block");
	struct secret_set bad = all;
	bad.n = SECRET_SET_MAX + 1;
	ok(!secret_set_is_good(&bad), "too many");
	bad = all;
	bad.list[1].len = SECRET_VALUE_MAX + 1;
	ok(!secret_set_is_good(&bad), "too long");
	bad = all;
	memset(bad.list[0].name, 'a', sizeof(bad.list[0].name));
	ok(!secret_set_is_good(&bad), "a name without an end");
	bad = all;
	bad.list[0].placeholder[3] = '\0';
	ok(!secret_set_is_good(&bad), "half a placeholder");
}

static void findings(void)
{
	const char *mark = all.list[0].placeholder, *other = all.list[1].placeholder;

	is_int(check(&bearer, "/", ""), SECRET_FINE, "nothing of the client's own");
	is_int(check(&bearer, "/", field("Authorization: Bearer ", mark, "\r\n")), SECRET_FINE,
	       "the placeholder in its place");
	is_int(check(&bearer, "/", field("authorization: bearer ", mark, "\r\n")), SECRET_FINE,
	       "in other letters");
	is_int(check(&bearer, "/", "Authorization: Bearer mine\r\n"), SECRET_FOREIGN,
	       "a key of the client's own");
	is_int(check(&bearer, "/", field("Authorization: Bearer ", mark, "x\r\n")), SECRET_FOREIGN,
	       "the placeholder and more");
	is_int(check(&bearer, "/", field("Authorization: Bearer ", other, "\r\n")), SECRET_FOREIGN,
	       "another's placeholder");
	is_int(check(&bearer, "/", "X-Api-Key: mine\r\n"), SECRET_FOREIGN,
	       "a key under another name");
	is_int(check(&own_header, "/", "Authorization: Basic bWluZQ==\r\n"), SECRET_FOREIGN,
	       "basic auth beside a header");
	is_int(check(&bearer, "/", field("X-Note: ", mark, "\r\n")), SECRET_STRAY,
	       "the placeholder in another header");
	is_int(check(&bearer, field("/log/", mark, ""), ""), SECRET_STRAY, "in a path");
	is_int(check(&bearer, field("/?q=", mark, ""), ""), SECRET_STRAY, "in a query");
	is_int(check(NULL, "/", field("Authorization: Bearer ", mark, "\r\n")), SECRET_STRAY,
	       "towards a host that no rule gives it to");
	is_int(check(NULL, "/", "Authorization: Bearer mine\r\n"), SECRET_FINE,
	       "where no secret is, clients have their own keys");
	brokered = true;
	is_int(check(NULL, "/files", "Authorization: Bearer mine\r\n"), SECRET_FOREIGN,
	       "but not where another rule of the host has one");
	is_int(check(NULL, "/files", "Cookie: session=mine\r\n"), SECRET_FOREIGN, "nor a cookie");
	is_int(check(NULL, "/files", "X_Api_Key: mine\r\n"), SECRET_FOREIGN,
	       "nor one that only some readers take for a key");
	is_int(check(NULL, "/files?a=b&access_token=mine", ""), SECRET_FOREIGN, "nor a parameter");
	is_int(check(NULL, "/files?a=b;access_token=mine", ""), SECRET_FOREIGN,
	       "however a server splits them");
	is_int(check(NULL, "/files?%61pi_KEY=mine", ""), SECRET_FOREIGN, "however it is spelt");
	is_int(check(NULL, "/files?page_token=2", "Accept: */*\r\n"), SECRET_FINE,
	       "others are none");
	brokered = false;
	is_int(check(&query, field("/?a=b&key=", mark, ""), ""), SECRET_FINE, "a parameter");
	is_int(check(&query, "/?key=mine", ""), SECRET_FOREIGN, "one of the client's own");
	is_int(check(&query, "/?key%5B%5D=mine", ""), SECRET_FOREIGN, "in a list");
	is_int(check(&query, "/?k%65y=mine", ""), SECRET_FOREIGN, "however it is spelt");
	is_int(check(&query, "/?KEY=mine", ""), SECRET_FOREIGN, "or written");
	is_int(check(&basic, "/", "Authorization: Basic dXNlcjptaW5l\r\n"), SECRET_FOREIGN,
	       "basic auth of the client's own");
	all.list[0].expires_ms = 1000;
	is_int(check(&bearer, "/", ""), SECRET_GONE, "one whose time is over");
	all.list[0].expires_ms = 0;
	struct egress_inject missing = bearer;
	missing.secret = "NOBODY";
	is_int(check(&missing, "/", ""), SECRET_GONE, "one that is not there");
}

static const char own_fields[] =
	"Authorization X-Authorization X-Forwarded-Authorization X_Api_Key x.api.key apikey X-ApiKey "
	"api-key X-Api-Token X-Auth-Token X-Auth-Key X-Auth X-Access-Token Token Private-Token "
	"Job-Token X-Vault-Token X-GitHub-Token X-Goog-Api-Key X-Amz-Security-Token "
	"Ocp-Apim-Subscription-Key X-RapidAPI-Key X-Functions-Key DD-API-KEY DD-APPLICATION-KEY "
	"Fastly-Key CF-Access-Client-Secret X-Jwt-Assertion Cookie Cookie2 Signature X-Password "
	"X-Secret Bearer";
static const char other_fields[] =
	"Accept User-Agent Content-Type Idempotency-Key X-Csrf-Token X-XSRF-TOKEN Sec-WebSocket-Key "
	"X-Next-Page-Token Surrogate-Key Proxy-Authorization X-Goog-Api-Client X-GitHub-Api-Version "
	"Git-Protocol X-Request-Id Npm-Auth-Type Authority Keyword Tokens-Used "
	"X-Amz-Server-Side-Encryption-Customer-Key OpenAI-Organization X- -";
static const char own_params[] =
	"access_token ACCESS%5FTOKEN accessToken access-token auth_token oauth_token id_token "
	"refresh_token private_token job_token token api_key apiKey apikey app_key hapikey "
	"subscription-key key KEY client_secret secret password pwd auth jwt sig signature "
	"X-Amz-Signature X-Amz-Credential X-Goog-Signature oauth_signature AWSAccessKeyId "
	"GoogleAccessId";
static const char other_params[] =
	"page_token next-token nextPageToken continuationToken sync_token key_id sort_key monkey "
	"author tokens signed se client_id";

/* Each word as a field, or behind `front` as a parameter. */
static void names_are(const char *words, const char *front, enum secret_finding want)
{
	char copy[2048], text[256], *at = NULL;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok_r(copy, " ", &at); word; word = strtok_r(NULL, " ", &at)) {
		snprintf(text, sizeof(text),
			 *front ? "%s%s=AIzaSyD-mine-0123456789_x" : "%s%s: x\r\n", front, word);
		is_int(*front ? check(NULL, text, "") : check(NULL, "/", text), want, word);
	}
}

static void own_keys(void)
{
	brokered = true;
	names_are(own_fields, "", SECRET_FOREIGN);
	names_are(other_fields, "", SECRET_FINE);
	names_are(own_params, "/?a=b&", SECRET_FOREIGN);
	names_are(other_params, "/?a=b&", SECRET_FINE);
	is_int(check(NULL, "/?key=dir/file.txt", ""), SECRET_FINE, "?key= of a path");
	is_int(check(NULL, "/?key=mine", ""), SECRET_FINE, "or of a word");
	is_int(check(NULL, "/?key=da39a3ee5e6b4b0d3255bfef95601890afd80709", ""), SECRET_FINE,
	       "or of a digest");
	brokered = false;
}

static void written(void)
{
	char buf[2048], want[512];
	struct http_out o;
	struct http_head *h;

	http_out_init(&o, buf, sizeof(buf));
	secret_put(&all, &bearer, 1, &o);
	int n = http_out_end(&o);
	snprintf(want, sizeof(want), "Authorization: Bearer %s\r\n\r\n", VALUE);
	ok(n == (int)strlen(want) && memcmp(buf, want, (size_t)n) == 0, "a header");
	http_out_init(&o, buf, sizeof(buf));
	secret_put(&all, &basic, 1, &o);
	n = http_out_end(&o);
	snprintf(want, sizeof(want), "Authorization: Basic %s\r\n\r\n",
		 "dXNlcjpzay1saXZlLzAxMjM0NTY3ODkrYWJjImRlZg==");
	ok(n == (int)strlen(want) && memcmp(buf, want, (size_t)n) == 0, "basic auth");
	h = head("GET /a?x=1&key=pfs_x&y HTTP/1.1\r\nHost: api.test\r\n\r\n");
	n = secret_target(&all, h, &query, 1, buf, sizeof(buf));
	buf[n] = '\0';
	is_str(buf, "/a?x=1&y&key=sk-live%2F0123456789%2Babc%22def", "a parameter");
	h = head("GET /a HTTP/1.1\r\nHost: api.test\r\n\r\n");
	n = secret_target(&all, h, &query, 1, buf, sizeof(buf));
	buf[n] = '\0';
	is_str(buf, "/a?key=sk-live%2F0123456789%2Babc%22def", "where there was none");
	is_int(secret_target(&all, h, &query, 1, buf, 8), -1, "no room");
}

static void scanned(void)
{
	const char *mark = all.list[1].placeholder;
	char text[200];

	snprintf(text, sizeof(text), "{\"stolen\": \"%s\"}", mark);
	size_t len = strlen(text);
	for (size_t cut = 1; cut < len; cut++) {
		struct secret_scan c = {.len = 0};
		bool found = secret_scan(&c, text, cut) || secret_scan(&c, text + cut, len - cut);

		if (!found)
			ok(false, "a placeholder that is cut in two");
	}
	struct secret_scan c = {.len = 0};
	bool found = false;
	for (size_t i = 0; i < len; i++)
		found |= secret_scan(&c, text + i, 1);
	ok(found, "a placeholder in a body, byte by byte and cut anywhere");
	c = (struct secret_scan){.len = 0};
	ok(!secret_scan(&c, "pfs_nothing of ours", 19), "something alike");
}

static bool found_in_pieces(const char *text)
{
	bool all_found = true;
	size_t len = strlen(text);

	for (size_t cut = 1; cut < len; cut++) {
		struct secret_scan c = {.len = 0};
		bool a = secret_scan(&c, text, cut);

		all_found = all_found && (a || secret_scan(&c, text + cut, len - cut));
	}
	return all_found;
}

/* pfs_ and four times a2bz7c3d, which is no sandbox's here. */
static void disguised(void)
{
	ok(found_in_pieces("x pfs_a2bz7c3da2bz7c3da2bz7c3da2bz7c3d"), "another sandbox's");
	ok(found_in_pieces("Basic cGZzX2EyYno3YzNkYTJiejdjM2RhMmJ6N2MzZGEyYno3YzNk"), "in base64");
	ok(found_in_pieces("Basic eHBmc19hMmJ6N2MzZGEyYno3YzNkYTJiejdjM2RhMmJ6N2MzZA=="),
	   "behind one byte");
	ok(found_in_pieces("Basic dTpwZnNfYTJiejdjM2RhMmJ6N2MzZGEyYno3YzNkYTJiejdjM2Q="),
	   "behind two");
	ok(found_in_pieces(
		   "7066735f6132627a376333646132627a376333646132627a376333646132627a37633364"),
	   "in hexadecimal");
	ok(found_in_pieces(
		   "7066735F6132627A376333646132627A376333646132627A376333646132627A37633364"),
	   "in capitals");
	ok(found_in_pieces(
		   "a=%70%66%73%5f%61%32%62%7a%37%63%33%64%61%32%62%7a%37%63%33%64%61%32%62%7a%37%63%33%64%61%32%62%7a%37%63%33%64&b"),
	   "with escapes");
	ok(!mark_in("pfs_a2bz7c3da2bz7c3da2bz7c3da2bz7c3", 35), "one that is too short is none");
	ok(!mark_in("cGZzX2EyYno3YzNkYTJiejdjM2Q", 27), "nor is half of one");
}

/* The text as it comes out when it goes in by pieces. */
static void out(const char *text, size_t piece, char ret[4096])
{
	static char room[4096 + REDACT_FORM_MAX];
	struct redact *r = redact_new(&all);
	size_t n = 0, len = strlen(text);

	for (size_t at = 0; at < len; at += piece) {
		size_t k = redact_feed(r, text + at, len - at < piece ? len - at : piece, room);

		memcpy(ret + n, room, k);
		n += k;
	}
	size_t k = redact_end(r, room);
	memcpy(ret + n, room, k);
	ret[n + k] = '\0';
	redact_free(r);
}

/* Text with a zero behind or in front of each byte. */
static void redacted_wide(bool big)
{
	static const char text[] = "x=" VALUE ".";
	struct redact *r = redact_new(&all);
	char wide[2 * sizeof(text)] = "";
	bool any = false;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		wide[2 * i + big] = text[i];
	(void)redact_whole(r, wide, 2 * (sizeof(text) - 1));
	for (size_t i = 2; i < sizeof(text) - 2; i++)
		any |= wide[2 * i + big] != '*';
	ok(!any && wide[big] == 'x', big ? "in UTF-16, the other way round" : "in UTF-16");
	redact_free(r);
}

static void redacted_one(const char *text, const char *secret, const char *name)
{
	char got[4096];
	bool good = true;

	for (size_t piece = 1; piece <= strlen(text); piece++) {
		out(text, piece, got);
		good = good && strlen(got) == strlen(text) && !strstr(got, secret);
	}
	ok(good, name);
}

static void redacted(void)
{
	redacted_wide(false);
	redacted_wide(true);
	char got[4096];

	redacted_one("x=" VALUE ".", VALUE, "a value, however it is cut");
	redacted_one(VALUE VALUE, VALUE, "two, one behind the other");
	redacted_one("sk-live/sk-live/0123456789+abc\"def", VALUE, "behind its own beginning");
	redacted_one("another-" VALUE "another-secret", "another-secret", "and another's");
	redacted_one("?key=sk-live%2F0123456789%2Babc%22def&", "0123456789", "in a URL");
	redacted_one("{\"k\": \"sk-live/0123456789+abc\\\"def\"}", "0123456789", "in JSON");
	redacted_one("Basic dXNlcjpzay1saXZlLzAxMjM0NTY3ODkrYWJjImRlZg==", "aXZlLzAxMjM0NTY3",
		     "in base64");
	redacted_one("?key=sk-live%2f0123456789%2babc%22def&", "0123456789",
		     "in a URL, in small letters");
	redacted_one("{\"k\": \"sk-live\\/0123456789+abc\\\"def\"}", "0123456789", "with \\/");
	redacted_one("eD8-c2stbGl2ZS8wMTIzNDU2Nzg5K2FiYyJkZWY=", "MDEyMzQ1Njc",
		     "in base64 of URLs");
	redacted_one("736b2d6c6976652f303132333435363738392b61626322646566", "30313233343536",
		     "in hexadecimal");
	redacted_one("/?k=sk-live/0123456789%2Babc%22def&", "0123456789",
		     "in a URL that keeps its slashes");
	redacted_one("{\"k\": \"sk-live\\u002f0123456789\\u002Babc\\u0022def\"}", "0123456789",
		     "in JSON with \\u");
	redacted_one("<b>sk-live&#x2F;0123456789&#43;abc&quot;def</b>", "0123456789", "in HTML");
	redacted_one(
		"%73%6b%2D%6c%69%76%65%2f%30%31%32%33%34%35%36%37%38%39%2b%61%62%63%22%64%65%66",
		"%30%31%32", "with everything escaped");
	redacted_one("/login?next=%2Fa%3Fkey%3Dsk-live%252F0123456789%252babc%2522def&",
		     "0123456789", "in a URL within a URL");
	redacted_one("{\"log\": \"{\\\"k\\\": \\\"sk-live\\\\\\/0123456789+abc\\\\\\\"def\\\"}\"}",
		     "0123456789", "in JSON within JSON");
	redacted_one("\"\\\"sk-live\\\\u002f0123456789\\\\u002Babc\\\\u0022def\\\"\"", "0123456789",
		     "with \\\\u");
	out("100% & \\u00 &quot;sk-live%2F\\", 3, got);
	is_str(got, "100% & \\u00 &quot;sk-live%2F\\", "escapes of other things stay");
	out("nothing of the kind: sk-liv, sk-live/01234", 5, got);
	is_str(got, "nothing of the kind: sk-liv, sk-live/01234", "what is not one stays");
	out("a" VALUE "b", 3, got);
	is_str(got, "a**************************b", "stars");
}

/* A value whose base64 has signs that URLs and JSON escape. */
static void redacted_packed(void)
{
	struct secret *s = &all.list[1];

	snprintf(s->value, sizeof(s->value), "tok~en?>?~~1234>");
	s->len = (uint32_t)strlen(s->value);
	redacted_one("Basic dXNlcjp0b2t+ZW4/Pj9+fjEyMzQ+", "Pj9", "base64 with + and /");
	redacted_one("{\"a\": \"Basic dXNlcjp0b2t+ZW4\\/Pj9+fjEyMzQ+\"}", "Pj9",
		     "the same in JSON of PHP");
	redacted_one("?a=Basic%20dXNlcjp0b2t%2BZW4%2FPj9%2bfjEyMzQ%2B", "Pj9", "in a URL");
	redacted_one("dTp0b2t\\u002bZW4\\u002FPj9\\u002BfjEyMzQ+", "Pj9", "in JSON with \\u");
	redacted_one("dG9rfmVuPz4&#x2F;fn4xMjM0Pg==", "fn4x", "in HTML");
	redacted_one("dXNlcjp0b2t-ZW4_Pj9-fjEyMzQ-", "Pj9", "that of URLs");
	snprintf(s->value, sizeof(s->value), "100%%sure/xyz");
	s->len = (uint32_t)strlen(s->value);
	redacted_one("a 100%sure/xyz", "xyz", "a value with %");
	redacted_one("?a=100%25sure%2Fxyz&", "xyz", "in a URL");
	redacted_one("?a=100%2525sure%252Fxyz&", "xyz", "in a URL within a URL");
	redacted_one("\"100\\u0025sure\\/xyz\" 100&#37;sure/xyz", "xyz", "in JSON and in HTML");
	fill();
}

int main(void)
{
	fill();
	TAP_RUN(names);
	TAP_RUN(findings);
	TAP_RUN(own_keys);
	TAP_RUN(written);
	TAP_RUN(scanned);
	TAP_RUN(disguised);
	TAP_RUN(redacted);
	TAP_RUN(redacted_packed);
	return tap_done();
}
