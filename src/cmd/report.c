/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report.h"

#include <pinfold/pinfold.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cmd/help.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "measure/table.h"

static const char note[] =
	"A busy machine makes every time above worthless: look at the ratios, and "
	"only within one table.";

/* Thousandths, as the writer has them for milliseconds; null where there is none. */
static void json_thousandths(struct json *j, const char *key, double value)
{
	if (value > 0)
		json_ms(j, key, (uint64_t)(value * 1000 + 0.5));
	else
		json_none(j, key);
}

static void json_row(struct json *j, const struct contest *t, const struct contender *c)
{
	static const struct {
		unsigned percent;
		const char *ms, *ratio;
	} columns[] = {{50, "p50_ms", "p50_ratio"},
		       {90, "p90_ms", "p90_ratio"},
		       {99, "p99_ms", "p99_ratio"}};
	const struct contender *base = contender_find(t->c, t->n, c->base ? c->base : "bare");

	json_open(j, NULL, '{');
	json_str(j, "name", c->name);
	json_open(j, "command", '[');
	for (char **word = c->argv; *word; word++)
		json_str(j, NULL, *word);
	json_close(j, ']');
	json_u64(j, "samples", c->n);
	json_str(j, "compared_with", base ? base->name : NULL);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		double ns = (double)contender_percentile(c, columns[i].percent);
		double other = base ? (double)contender_percentile(base, columns[i].percent) : 0;

		json_thousandths(j, columns[i].ms, ns / 1e6);
		json_thousandths(j, columns[i].ratio, other > 0 ? ns / other : 0);
	}
	json_u64(j, "failures", c->failures);
	json_str(j, "last_failure", c->failures ? c->reason : NULL);
	json_close(j, '}');
}

static int print_json(const struct contest *t, double load)
{
	struct json j;

	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_str(&j, "version", pinfold_version());
	json_thousandths(&j, "load_average", load);
	json_u64(&j, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	json_open(&j, "rows", '[');
	for (size_t i = 0; i < t->n; i++)
		json_row(&j, t, &t->c[i]);
	json_close(&j, ']');
	json_str(&j, "note", note);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

static int print_text(struct contest *t, double load)
{
	const struct look look = {.base = "bare", .peer = "bubblewrap"};

	table_print(stdout, t->c, t->n, &look);
	printf("%s\nLoad average before: %.2f on %ld processors.\n", note, load,
	       sysconf(_SC_NPROCESSORS_ONLN));
	return help_flush();
}

int report(struct contest *t, double load, bool json)
{
	return json ? print_json(t, load) : print_text(t, load);
}
