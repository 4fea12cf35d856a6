/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/redact.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void becomes(const char *word, const char *want)
{
	char text[256];
	bool next = false;

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
					    "0123456789012345678"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		becomes(words[i], words[i]);
}

static void test_goes(void)
{
	becomes("--password=hunter2", "--password=" REDACTED);
	becomes("API_TOKEN=abc", "API_TOKEN=" REDACTED);
	becomes("https://me:pw@example.org/x?key=1",
		"https://" REDACTED "@example.org/x?" REDACTED);
	becomes("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_" REDACTED);
	becomes("echo canary-9f8e7d6c5b4a39281706 > f", "echo canary-" REDACTED " > f");
	becomes("curl -H 'Authorization: Bearer abc.def' x",
		"curl -H 'Authorization: " REDACTED " " REDACTED "' x");
}

static void test_next(void)
{
	char text[64];
	bool next = false;

	(void)redact("--token", &next, text, sizeof(text));
	is_str(text, "--token", "a name stays");
	ok(next, "and says that a secret follows");
	(void)redact("swordfish", &next, text, sizeof(text));
	is_str(text, REDACTED, "which is taken");
	ok(!next, "and no other");
}

static void test_long(void)
{
	char word[400], text[32];
	bool next = false;

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
