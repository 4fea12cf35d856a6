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
	{"ki", UINT64_C(1) << 10},
	{"kib", UINT64_C(1) << 10},
	{"m", UINT64_C(1) << 20},
	{"mb", UINT64_C(1) << 20},
	{"mi", UINT64_C(1) << 20},
	{"mib", UINT64_C(1) << 20},
	{"g", UINT64_C(1) << 30},
	{"gb", UINT64_C(1) << 30},
	{"gi", UINT64_C(1) << 30},
	{"gib", UINT64_C(1) << 30},
	{"t", UINT64_C(1) << 40},
	{"tb", UINT64_C(1) << 40},
	{"ti", UINT64_C(1) << 40},
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
	.remedy = "give a time such as 500ms, 60s, 2m, 1h30m or a number of seconds",
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

static const struct unit *find_unit(const struct unit *units, const char *name, size_t n, bool fold)
{
	for (; units->name; units++) {
		bool same =
			fold ? !strncasecmp(units->name, name, n) : !strncmp(units->name, name, n);
		if (same && strlen(units->name) == n)
			return units;
	}
	return NULL;
}

static int refuse(const struct kind *k, const char *text, const char *why, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "\"%.80s\" %s", text, why);
	return err_remedy(e, "%s", k->remedy);
}

/*
 * One number and its unit, the first of text or one behind another. Returns where it ends, NULL when
 * it is none; what is too large for v is its maximum.
 */
static const char *scan_part(const struct kind *k, const char *p, bool first, unsigned __int128 *v,
			     bool *ret_fraction)
{
	struct decimal d;
	const char *name = scan_decimal(p, &d);

	if (!name)
		return NULL;
	size_t n = strcspn(name, k == &duration_kind ? ".0123456789" : "");
	const struct unit *u = find_unit(k->units, name, n, k == &size_kind);
	/* Half a byte and half a process do not exist; half a millisecond is cut. */
	if (!u || (d.has_fraction && u->factor == 1 && k != &duration_kind))
		return NULL;
	/* Seconds may go without their unit where nothing stands beside them. */
	if (n == 0 && !first)
		return NULL;
	*v = d.too_large ? UINT64_MAX
			 : (unsigned __int128)d.whole * u->factor +
				   (unsigned __int128)d.nano * u->factor / NANO;
	*ret_fraction = d.nano != 0;
	return name + n;
}

static int parse(const struct kind *k, const char *text, uint64_t *ret, struct err *e)
{
	unsigned __int128 sum = 0;
	bool fraction = false;
	const char *p = text;

	assert(text && ret && e);
	if (text[0] == '-' && (is_digit(text[1]) || text[1] == '.'))
		return refuse(k, text, "is negative", e);
	do {
		unsigned __int128 v;
		bool part;

		p = scan_part(k, p, p == text, &v, &part);
		if (!p)
			return refuse(k, text, k->not_one, e);
		fraction |= part;
		sum += v;
		if (sum > k->max)
			return refuse(k, text, "is too large", e);
	} while (*p);
	if (sum == 0)
		return refuse(k, text, fraction ? "is too small" : "must be more than zero", e);
	*ret = (uint64_t)sum;
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
