/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations, counts: what is accepted, what is refused and that the refusal explains. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

typedef int parser(const char *text, uint64_t *ret, struct err *e);

#define KIB UINT64_C(1024)
#define GOOD(p, t, v)                                                                              \
	{                                                                                          \
#p, p, t, v, NULL                                                                  \
	}
#define BAD(p, t, say)                                                                             \
	{                                                                                          \
#p, p, t, 0, say                                                                   \
	}

static const struct {
	const char *name;
	parser *parse;
	const char *text;
	uint64_t value;
	const char *refusal; /* part of the message, NULL when the text is good */
} cases[] = {
	GOOD(parse_size, "1", 1),
	GOOD(parse_size, "4096", 4096),
	GOOD(parse_size, "512B", 512),
	GOOD(parse_size, "64k", 64 * KIB),
	GOOD(parse_size, "64K", 64 * KIB),
	GOOD(parse_size, "64KB", 64 * KIB),
	GOOD(parse_size, "64KiB", 64 * KIB),
	GOOD(parse_size, "512M", 512 * KIB * KIB),
	GOOD(parse_size, "512MiB", 512 * KIB * KIB),
	GOOD(parse_size, "512Mi", 512 * KIB * KIB),
	GOOD(parse_size, "1Gi", KIB *KIB *KIB),
	GOOD(parse_size, "1G", KIB *KIB *KIB),
	GOOD(parse_size, "1.5G", 3 * KIB * KIB * KIB / 2),
	GOOD(parse_size, ".5k", 512),
	GOOD(parse_size, "0.5T", KIB *KIB *KIB *KIB / 2),
	GOOD(parse_size, "1.9999999999999999999999k", 2047),
	GOOD(parse_size, "9223372036854775807", INT64_MAX),
	GOOD(parse_size, "0008", 8),
	BAD(parse_size, "", "is not a size"),
	BAD(parse_size, "0", "more than zero"),
	BAD(parse_size, "0.0G", "more than zero"),
	BAD(parse_size, "0.00001k", "too small"),
	BAD(parse_size, "1.5", "is not a size"),
	BAD(parse_size, "1.5B", "is not a size"),
	BAD(parse_size, "-1", "is negative"),
	BAD(parse_size, "-.5M", "is negative"),
	BAD(parse_size, "+1", "is not a size"),
	BAD(parse_size, " 1", "is not a size"),
	BAD(parse_size, "1 M", "is not a size"),
	BAD(parse_size, "1e9", "is not a size"),
	BAD(parse_size, "0x10", "is not a size"),
	BAD(parse_size, "1.", "is not a size"),
	BAD(parse_size, ".", "is not a size"),
	BAD(parse_size, "1.2.3M", "is not a size"),
	BAD(parse_size, "M", "is not a size"),
	BAD(parse_size, "1M5", "is not a size"),
	BAD(parse_size, "1Mi5", "is not a size"),
	BAD(parse_size, "1i", "is not a size"),
	BAD(parse_size, "1MiBs", "is not a size"),
	BAD(parse_size, "1s", "is not a size"),
	BAD(parse_size, "nan", "is not a size"),
	BAD(parse_size, "inf", "is not a size"),
	BAD(parse_size, "9223372036854775808", "too large"),
	BAD(parse_size, "18446744073709551616", "too large"),
	BAD(parse_size, "99999999999999999999999999999999999", "too large"),
	BAD(parse_size, "8388608T", "too large"),
	BAD(parse_size, "16777217T", "too large"),
	GOOD(parse_duration, "60s", 60000),
	GOOD(parse_duration, "60", 60000),
	GOOD(parse_duration, "500ms", 500),
	GOOD(parse_duration, "1.5s", 1500),
	GOOD(parse_duration, "0.25", 250),
	GOOD(parse_duration, "1.5ms", 1),
	GOOD(parse_duration, "2m", 120000),
	GOOD(parse_duration, "1h", 3600000),
	GOOD(parse_duration, "1d", 86400000),
	GOOD(parse_duration, "36500d", PARSE_MS_MAX),
	BAD(parse_duration, "36501d", "too large"),
	BAD(parse_duration, "", "is not a duration"),
	BAD(parse_duration, "0", "more than zero"),
	BAD(parse_duration, "0s", "more than zero"),
	BAD(parse_duration, "0.0001s", "too small"),
	BAD(parse_duration, "-1s", "is negative"),
	BAD(parse_duration, "2M", "is not a duration"),
	BAD(parse_duration, "2 m", "is not a duration"),
	GOOD(parse_duration, "1m30s", 90000),
	GOOD(parse_duration, "1h30m", 5400000),
	GOOD(parse_duration, "1.5m500ms", 90500),
	BAD(parse_duration, "1m30", "is not a duration"),
	BAD(parse_duration, "1m 30s", "is not a duration"),
	BAD(parse_duration, "1m-30s", "is not a duration"),
	BAD(parse_duration, "0m0s", "more than zero"),
	BAD(parse_duration, "36500d1ms", "too large"),
	BAD(parse_duration, "99999999999999999999s99999999999999999999s", "too large"),
	BAD(parse_duration, "soon", "is not a duration"),
	BAD(parse_duration, "18446744073709551615s", "too large"),
	GOOD(parse_count, "128", 128),
	GOOD(parse_count, "2147483647", INT32_MAX),
	BAD(parse_count, "2147483648", "too large"),
	BAD(parse_count, "0", "more than zero"),
	BAD(parse_count, "-3", "is negative"),
	BAD(parse_count, "1.5", "is not a whole number"),
	BAD(parse_count, "1k", "is not a whole number"),
	BAD(parse_count, "", "is not a whole number"),
	GOOD(parse_cpus, "1", 1000),
	GOOD(parse_cpus, "0.5", 500),
	GOOD(parse_cpus, "1.0", 1000),
	GOOD(parse_cpus, "0.001", 1),
	BAD(parse_cpus, "0.0001", "too small"),
	BAD(parse_cpus, "0", "more than zero"),
	BAD(parse_cpus, "-1", "is negative"),
	BAD(parse_cpus, "two", "is not a number of processors"),
	BAD(parse_cpus, "1000001", "too large"),
};

#define UNTOUCHED UINT64_C(0xdeadbeefcafe)

static int good(unsigned i)
{
	struct err e = ERR_INIT;
	uint64_t v = UNTOUCHED;
	int r = cases[i].parse(cases[i].text, &v, &e);

	if (!cases[i].refusal)
		return r == 0 && v == cases[i].value;
	/* A refusal leaves the result alone, quotes the text and says what to give instead. */
	return r < 0 && v == UNTOUCHED && e.kind == ERR_INVALID && e.remedy[0] &&
	       strstr(e.text, cases[i].refusal) && strstr(e.text, cases[i].text);
}

int main(void)
{
	unsigned count = sizeof(cases) / sizeof(cases[0]);
	unsigned bad = 0;

	printf("1..%u\n", count);
	for (unsigned i = 0; i < count; i++) {
		int ok = good(i);

		bad += !ok;
		printf("%sok %u - %s(\"%s\") %s\n", ok ? "" : "not ", i + 1, cases[i].name,
		       cases[i].text, cases[i].refusal ? cases[i].refusal : "is accepted");
	}
	return bad != 0;
}
