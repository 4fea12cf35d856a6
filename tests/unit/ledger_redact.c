/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/redact.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void becomes(const char *word, const char *want)
{
	char text[256];
	struct redact_state next = {0};

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
		"curl -H 'Authorization: " REDACTED " " REDACTED "' x");
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
	TAP_RUN(test_next);
	TAP_RUN(test_long);
	return tap_done();
}
