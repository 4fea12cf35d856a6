/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/table.h"

#include <string.h>

#define CELLS 9

struct row {
	char cell[CELLS][64];
};

static void put_ms(char *cell, size_t size, uint64_t ns)
{
	if (ns == 0)
		(void)snprintf(cell, size, "-");
	else
		(void)snprintf(cell, size, "%.3f", (double)ns / 1e6);
}

static void put_ratio(char *cell, size_t size, uint64_t ns, uint64_t other)
{
	if (ns == 0 || other == 0)
		(void)snprintf(cell, size, "-");
	else
		(void)snprintf(cell, size, "%.2f", (double)ns / (double)other);
}

static void row_fill(struct row *row, const struct contender *c, const struct contender *base,
		     const struct contender *peer)
{
	static const unsigned percents[] = {50, 90, 99};
	static const unsigned compared[] = {50, 99};
	size_t k = 0;

	(void)snprintf(row->cell[k++], sizeof(row->cell[0]), "%s", c->name);
	(void)snprintf(row->cell[k++], sizeof(row->cell[0]), "%zu", c->n);
	for (size_t i = 0; i < 3; i++)
		put_ms(row->cell[k++], sizeof(row->cell[0]), contender_percentile(c, percents[i]));
	for (size_t i = 0; i < 2; i++)
		put_ratio(row->cell[k++], sizeof(row->cell[0]),
			  contender_percentile(c, compared[i]),
			  base ? contender_percentile(base, compared[i]) : 0);
	for (size_t i = 0; i < 2; i++)
		put_ratio(row->cell[k++], sizeof(row->cell[0]),
			  contender_percentile(c, compared[i]),
			  peer ? contender_percentile(peer, compared[i]) : 0);
}

static void row_print(FILE *out, const struct row *row, size_t cells, bool markdown)
{
	for (size_t i = 0; i < cells; i++) {
		if (markdown)
			fprintf(out, "| %s ", row->cell[i]);
		else
			fprintf(out, i ? "%10s" : "%-17s", row->cell[i]);
	}
	fputs(markdown ? "|\n" : "\n", out);
}

static void failures_print(FILE *out, const struct contender *c, size_t n, bool markdown)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += c[i].failures;
		if (c[i].failures)
			fprintf(out, "%s%s: failed in %zu, last with %s\n", markdown ? "- " : "",
				c[i].name, c[i].failures, c[i].reason);
	}
	if (sum)
		fputs("\n", out);
}

void table_print(FILE *out, struct contender *c, size_t n, const struct look *look)
{
	static const struct row head = {{"contender", "samples", "p50 ms", "p90 ms", "p99 ms",
					 "p50/bare", "p99/bare", "p50/bwrap", "p99/bwrap"}};
	static const struct row rule = {
		{"---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:"}};
	size_t cells = contender_find(c, n, look->peer) ? CELLS : CELLS - 2;
	struct row row;

	if (look->title)
		fprintf(out, "%s%s\n\n", look->markdown ? "### " : "", look->title);
	row_print(out, &head, cells, look->markdown);
	if (look->markdown)
		row_print(out, &rule, cells, true);
	contenders_sort(c, n);
	for (size_t i = 0; i < n; i++) {
		/* Who has a base of its own does something else than the peer does. */
		row_fill(&row, &c[i], contender_find(c, n, c[i].base ? c[i].base : look->base),
			 contender_find(c, n, c[i].base ? NULL : look->peer));
		if (c[i].n)
			row_print(out, &row, cells, look->markdown);
	}
	fputs("\n", out);
	failures_print(out, c, n, look->markdown);
}

/* As a shell would take it back. */
static void word_print(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./=:,+@%";

	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

void commands_print(FILE *out, const struct contender *c, size_t n, const struct look *look)
{
	fputs(look->markdown ? "<details><summary>Command lines</summary>\n\n```\n"
			     : "Command lines:\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s:", c[i].name);
		for (char **word = c[i].argv; *word; word++) {
			fputc(' ', out);
			word_print(out, *word);
		}
		fputc('\n', out);
	}
	fputs(look->markdown ? "```\n\n</details>\n\n" : "\n", out);
}
