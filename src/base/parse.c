/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define NANO UINT64_C(1000000000)

struct unit {
	const char *name;
	uint64_t factor;
};

/* What kind of number is asked for: its units, its maximum and how to talk about it. */
struct kind {
	const char *not_one; /* said of what is none */
	const char *remedy;
	const struct unit *units;
	uint64_t max;
};

struct decimal {
	uint64_t whole;
	uint64_t nano; /* the fraction in billionths; finer digits are cut */
	bool has_fraction;
	bool too_large;
};

static const struct unit size_units[] = {
	{"", 1},
	{"b", 1},
	{"k", UINT64_C(1) << 10},
	{"kb", UINT64_C(1) << 10},
	{"kib", UINT64_C(1) << 10},
	{"m", UINT64_C(1) << 20},
	{"mb", UINT64_C(1) << 20},
	{"mib", UINT64_C(1) << 20},
	{"g", UINT64_C(1) << 30},
	{"gb", UINT64_C(1) << 30},
	{"gib", UINT64_C(1) << 30},
	{"t", UINT64_C(1) << 40},
	{"tb", UINT64_C(1) << 40},
	{"tib", UINT64_C(1) << 40},
	{NULL, 0},
};

static const struct unit duration_units[] = {
	{"", 1000},	    {"ms", 1},		 {"s", 1000}, {"m", 60 * 1000},
	{"h", 3600 * 1000}, {"d", 86400 * 1000}, {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};
static const struct unit cpus_units[] = {{"", 1000}, {NULL, 0}};

static const struct kind size_kind = {
	.not_one = "is not a size",
	.remedy = "give a size such as 64k, 512M, 1.5G or a number of bytes",
	.units = size_units,
	.max = PARSE_BYTES_MAX,
};

static const struct kind duration_kind = {
	.not_one = "is not a duration",
	.remedy = "give a time such as 500ms, 60s, 2m, 1h or a number of seconds",
	.units = duration_units,
	.max = PARSE_MS_MAX,
};

static const struct kind count_kind = {
	.not_one = "is not a whole number",
	.remedy = "give a whole number such as 128",
	.units = count_units,
	.max = PARSE_COUNT_MAX,
};

static const struct kind cpus_kind = {
	.not_one = "is not a number of processors",
	.remedy = "give a number such as 0.5 or 2",
	.units = cpus_units,
	.max = PARSE_CPUS_MILLI_MAX,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns where the number ends, NULL when there is none. */
static const char *scan_decimal(const char *p, struct decimal *ret)
{
	struct decimal d = {0};
	bool any = is_digit(*p);

	for (; is_digit(*p); p++)
		d.too_large |= __builtin_mul_overflow(d.whole, 10, &d.whole) ||
			       __builtin_add_overflow(d.whole, (uint64_t)(*p - '0'), &d.whole);
	if (*p == '.') {
		uint64_t scale = NANO / 10;

		if (!is_digit(p[1]))
			return NULL;
		for (p++; is_digit(*p); p++, scale /= 10)
			d.nano += (uint64_t)(*p - '0') * scale;
		d.has_fraction = true;
		any = true;
	}
	*ret = d;
	return any ? p : NULL;
}

static const struct unit *find_unit(const struct unit *units, const char *name, bool fold)
{
	for (; units->name; units++) {
		bool same = fold ? !strcasecmp(units->name, name) : !strcmp(units->name, name);
		if (same)
			return units;
	}
	return NULL;
}

static int refuse(const struct kind *k, const char *text, const char *why, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "\"%.80s\" %s", text, why);
	return err_remedy(e, "%s", k->remedy);
}

static int parse(const struct kind *k, const char *text, uint64_t *ret, struct err *e)
{
	struct decimal d;

	assert(text && ret && e);
	if (text[0] == '-' && (is_digit(text[1]) || text[1] == '.'))
		return refuse(k, text, "is negative", e);
	const char *end = scan_decimal(text, &d);
	const struct unit *u = end ? find_unit(k->units, end, k == &size_kind) : NULL;
	/* Half a byte and half a process do not exist; half a millisecond is cut below. */
	if (!u || (d.has_fraction && u->factor == 1 && k != &duration_kind))
		return refuse(k, text, k->not_one, e);
	unsigned __int128 v = (unsigned __int128)d.whole * u->factor;
	v += (unsigned __int128)d.nano * u->factor / NANO;
	if (d.too_large || v > k->max)
		return refuse(k, text, "is too large", e);
	if (v == 0)
		return refuse(k, text, d.nano ? "is too small" : "must be more than zero", e);
	*ret = (uint64_t)v;
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct err *e)
{
	return parse(&size_kind, text, ret_bytes, e);
}

int parse_duration(const char *text, uint64_t *ret_ms, struct err *e)
{
	return parse(&duration_kind, text, ret_ms, e);
}

int parse_count(const char *text, uint64_t *ret_count, struct err *e)
{
	return parse(&count_kind, text, ret_count, e);
}

int parse_cpus(const char *text, uint64_t *ret_milli, struct err *e)
{
	return parse(&cpus_kind, text, ret_milli, e);
}
