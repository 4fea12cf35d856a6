/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <err.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

unsigned long parse_number(const char *text, const char *what)
{
	unsigned long value = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || value > 100000000)
			errx(2, "%s: not a number: %s", what, text);
		value = value * 10 + (unsigned long)(*p - '0');
	}
	if (!*text)
		errx(2, "%s: a number is missing", what);
	return value;
}

static void contender_parse(struct contender *c, char *word, char **argv, size_t samples)
{
	char *slash = strchr(word, '/');
	size_t max = samples;

	if (slash) {
		*slash = '\0';
		max = parse_number(slash + 1, word);
	}
	if (!contender_init(c, word + 1, argv, max > samples ? samples : max))
		err(1, "samples");
}

size_t contenders_parse(struct contender *ret, char **argv, size_t samples)
{
	size_t n = 0;

	for (char **p = argv; *p; p++) {
		if (**p != '@') {
			if (n == 0)
				errx(2, "%s: expected @NAME", *p);
			continue;
		}
		if (n == CONTENDERS_MAX)
			errx(2, "more than %d contenders", CONTENDERS_MAX);
		contender_parse(&ret[n++], *p, p + 1, samples);
		*p = NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (!ret[i].argv[0])
			errx(2, "@%s: no command", ret[i].name);
	return n;
}

/* Before become_user(), which may not write there. Closed by the end of the process. */
static FILE *results_open(const char *path)
{
	FILE *f = fopen(path, "ae");

	if (!f)
		err(1, "%s", path);
	return f;
}

bool option_take(struct options *o, int opt, const char *value)
{
	switch (opt) {
	case 'n': o->samples = parse_number(value, "-n"); break;
	case 'w': o->warmups = parse_number(value, "-w"); break;
	case 'u': o->uid = parse_number(value, "-u"); break;
	case 't': o->look.title = value; break;
	case 'o': o->results = results_open(value); break;
	case 'm': o->look.markdown = true; break;
	default: return false;
	}
	if (o->samples == 0)
		errx(2, "-n: at least one sample");
	return true;
}

static void become_user(unsigned long uid)
{
	if (setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0)
		err(1, "become user %lu", uid);
	/* As for a program that this user started: /proc of its children is the user's own. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		err(1, "become user %lu", uid);
}

FILE *begin(const struct options *o)
{
	int kept[3];

	if (streams_take(kept) < 0)
		err(1, "standard streams");
	FILE *out = fdopen(kept[1], "w");
	if (!out)
		err(1, "standard output");
	if (o->uid)
		become_user(o->uid);
	return out;
}

void results_print(const struct contender *c, size_t n, const struct options *o)
{
	for (size_t i = 0; o->results && i < n; i++)
		if (c[i].n)
			fprintf(o->results, "%s\t%s\t%llu\t%llu\n", o->look.title, c[i].name,
				(unsigned long long)contender_percentile(&c[i], 50),
				(unsigned long long)contender_percentile(&c[i], 99));
	if (o->results && fflush(o->results) != 0)
		err(1, "results");
}

int finish(FILE *out, struct contender *c, size_t n, const struct options *o)
{
	table_print(out, c, n, &o->look);
	results_print(c, n, o);
	contenders_done(c, n);
	return fclose(out) == 0 ? 0 : 1;
}
