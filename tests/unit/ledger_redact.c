/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/redact.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void becomes(const char *word, const char *want)
{
	char text[256];
	struct redact_state next = {.script = true}; /* of a shell, behind -c */

	(void)redact(word, &next, text, sizeof(text));
	is_str(text, want, word);
}

static void test_stays(void)
{
	static const char *const words[] = {"python3",
					    "-c",
					    "print(6*7)",
					    "/usr/lib/x86_64-linux-gnu/libc.so.6",
					    "--output=x",
					    "make",
					    "-j16",
					    "https://example.org/a/b",
					    "2026-01-01",
					    "a=1",
					    "build-2024-release",
					    "/home/user/data.csv",
					    "internationalization",
					    "0123456789012345678",
					    "ssh -p2222 host",
					    "gcc -pthread -pedantic x.c",
					    "find . -print",
					    "docker run -u 1000:1000 x",
					    "git push -u origin HEAD:main",
					    "python3 -u a.py",
					    "PWD=/home/user",
					    "pytest -k pass tests/test_pass.py",
					    "author=Jane",
					    "bypass=1",
					    "--color=auto",
					    "sk-learn-contributed-modules",
					    "sk-SK",
					    "src/Foo/Bar/Baz/main.c",
					    "InternationalizationTestFactoryBuilder",
					    "echo PASS: 3 tests",
					    "echo auth works",
					    "AKIRA",
					    "eyJ"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		becomes(words[i], words[i]);
}

static void test_goes(void)
{
	becomes("--password=hunter2", "--password=" REDACTED);
	becomes("API_TOKEN=abc", "API_TOKEN=" REDACTED);
	becomes("https://me:pw@example.org/x?key=1",
		"https://" REDACTED "@example.org/x?" REDACTED);
	becomes("DB_PASS=swordfish", "DB_PASS=" REDACTED);
	becomes("PGPASS=swordfish", "PGPASS=" REDACTED);
	becomes("MYSQL_PWD=swordfish x", "MYSQL_PWD=" REDACTED " x");
	becomes("--auth=me:swordfish", "--auth=" REDACTED);
	becomes("x --pass swordfish y", "x --pass " REDACTED " y");
	becomes("-passin pass:swordfish", "-passin pass:" REDACTED);
	becomes("curl -u me:swordfish x", "curl -u me:" REDACTED " x");
	becomes("curl --user=me:swordfish x", "curl --user=me:" REDACTED " x");
	becomes("/usr/bin/mysql -pswordfish db", "/usr/bin/mysql -p" REDACTED " db");
	becomes("AKIAIOSFODNN7EXAMPLE", "AKIA" REDACTED);
	becomes("key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "key " REDACTED);
	becomes("sk-proj-aB3dE6gH9jK2mN5p", "sk-" REDACTED);
	becomes("glpat-aB3dE6gH9jK2mN5p", "glpat-" REDACTED);
	becomes("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF", "eyJ" REDACTED);
	becomes("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_" REDACTED);
	becomes("echo canary-9f8e7d6c5b4a39281706 > f", "echo canary-" REDACTED " > f");
	becomes("curl -H 'Authorization: Bearer abc.def' x",
		"curl -H 'Authorization: " REDACTED "' x");
}

/* A name that is only named, or whose command ends, takes nothing away from what comes then. */
static void test_more_stays(void)
{
	static const char *const words[] = {
		"echo $API_KEY; exit 3",
		"echo \"$API_KEY\" | wc -c && exit 3",
		"echo ${API_TOKEN} more words",
		"test -n \"$TOKEN\" || exit 3",
		"cat /etc/passwd /etc/hosts",
		"curl -H @headers https://example.org/x; exit 3",
		"echo $SECRET >out.txt; cat out.txt",
		"unset API_TOKEN; make all",
		"read -s PASSWORD\nmake all",
		"cat password.txt | sort; ls",
		"python3 -c 'import secrets; print(1)'",
		"make CFLAGS='-O2 -g' all",
		"don't panic: it's all right",
		"https://example.org/page#readme next",
		"curl https://example.org/a; exit 3",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		becomes(words[i], words[i]);
	becomes("TOKEN=swordfish make; exit 3", "TOKEN=" REDACTED " make; exit 3");
	becomes("x --password 'sword fish'; exit 3", "x --password '" REDACTED "'; exit 3");
	becomes("curl 'https://x.org/?a=1&sig=swordfish'; exit 3",
		"curl 'https://x.org/?" REDACTED "'; exit 3");
}

/* Whatever way it is written: nothing of these words is left. */
static void test_nothing_remains(void)
{
	static const char *const ways[] = {
		"{\"password\":\"%\"}",
		"{\"password\": \"%\", \"user\": \"bob\"}",
		"{\"user\":\"bob\",\"pass\":\"%\"}",
		"{\"pwd\" : \"%\"}",
		"{user: 'bob', pass: '%'}",
		"curl -d '{\"token\":\"%\"}' x",
		"curl -d \"{\\\"token\\\":\\\"%\\\"}\" x",
		"{\"passwords\": [\"%\", \"%\"]}",
		"password = '%'",
		"$password = \"%\"",
		"my $password = '%';",
		"os.environ[\"API_TOKEN\"] = \"%\"",
		"login(\"password\", \"%\")",
		"login(user, password=\"%\")",
		"connect(password = '%', host = 'x')",
		"x --password \"%\" y",
		"x --password='%' y",
		"x --password '%' y",
		"PASSWORD=\"%\" make",
		"export PASSWORD='%'",
		"curl -H 'X-Api-Key: %' x",
		"curl -H \"Authorization: Basic %\" x",
		"curl -H \"Authorization: Bearer %\" x",
		"curl -H 'Cookie: session=%' x",
		"curl -u 'me:%' x",
		"curl -u \"me:%\" x",
		"sshpass -p '%' ssh x",
		"mysql -p'%' x",
		"<password>%</password>",
		"password:\n  \"%\"",
		"--password \\\n  '%'",
		"if token != '%': exit(1)",
		"[ \"$TOKEN\" = '%' ]",
		"the password is '%'",
		"\"my password\" \"%\"",
	};
	static const char *const values[] = {"zebraquilt",  "zebra,quilt", "zebra quilt",
					     "zebra;quilt", "zebra&quilt", "zebra(quilt)",
					     "zebra|quilt"};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			struct redact_state none = {.script = true};
			char word[256] = "", text[256];

			/* Tags have no quotes around what is in them. */
			if (*ways[i] == '<' && k > 1)
				continue;
			for (const char *p = ways[i]; *p; p++)
				(void)snprintf(word + strlen(word), sizeof(word) - strlen(word),
					       "%.*s", *p == '%' ? 16 : 1,
					       *p == '%' ? values[k] : p);
			(void)redact(word, &none, text, sizeof(text));
			if (strstr(text, "zebra") || strstr(text, "quilt"))
				ok(false, text);
		}
	ok(true, "all ways were tried");
}

/* Words of their own, without a shell. */
static void test_words(void)
{
	static const struct {
		const char *first, *second;
	} pairs[] = {
		{"--password", "zebra quilt"},
		{"--password", "zebra;quilt|zebra"},
		{"--password=zebra quilt", "x"},
		{"--password=zebra;quilt", "x"},
		{"PASSWORD=zebra quilt", "x"},
		{"-u", "me:zebra quilt;zebra"},
		{"-H", "Authorization: Basic zebra quilt"},
		{"-H", "X-Api-Key: zebra;quilt"},
		{"sshpass", "-pzebra quilt"},
		{"https://me:zebra&quilt@example.org/", "x"},
		{"https://example.org/?a=1&b=zebra&c=quilt", "x"},
		{"https://example.org/#access_token=zebra&x=quilt", "x"},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct redact_state next = {0};

		(void)redact(pairs[i].first, &next, text, 128);
		(void)redact(pairs[i].second, &next, text + strlen(text), 128);
		ok(!strstr(text, "zebra") && !strstr(text, "quilt"), text);
	}
	struct redact_state next = {0};
	(void)redact("-c", &next, text, sizeof(text));
	(void)redact("TOKEN=x make; exit 3", &next, text, sizeof(text));
	is_str(text, "TOKEN=" REDACTED " make; exit 3", "a script goes on behind its variables");
}

static void test_next(void)
{
	char text[64];
	struct redact_state next = {0};

	(void)redact("--token", &next, text, sizeof(text));
	is_str(text, "--token", "a name stays");
	ok(next.secret, "and says that a secret follows");
	(void)redact("swordfish", &next, text, sizeof(text));
	is_str(text, REDACTED, "which is taken");
	ok(!next.secret, "and no other");
}

static void test_long(void)
{
	char word[400], text[32];
	struct redact_state next = {0};

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	size_t n = redact(word, &next, text, sizeof(text));
	ok(n < sizeof(text), "fits");
	has_str(text, "\xe2\x80\xa6", "and says that there was more");
	n = redact("\xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4 \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
		   &next, text, 12);
	ok(n < 12, "also of letters of two bytes");
}

int main(void)
{
	TAP_RUN(test_stays);
	TAP_RUN(test_goes);
	TAP_RUN(test_more_stays);
	TAP_RUN(test_nothing_remains);
	TAP_RUN(test_words);
	TAP_RUN(test_next);
	TAP_RUN(test_long);
	return tap_done();
}
