/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/help.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/opt.h"
#include "cmd/request.h"
#include "cmd/say.h"

#define WIDTH 80
#define HELP_COLUMN 26

static const char *const paragraphs[] = {
	"Without a verb: lists the verbs. With one: explains it and its options.",
	NULL,
};

const struct verb_doc help_doc = {
	.usage = {"[VERB]"},
	.paragraphs = paragraphs,
	.examples = {{"All options of a run:", "pinfold help run"}},
};

static const char exit_statuses[] =
	"Exit status: the command's own; 128+N when signal N ended it; 124 timeout;\n"
	"125 Pinfold itself failed (nothing of the command ran); 126 not executable;\n"
	"127 not found; 137 memory.\n";

int help_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return say_unwritten(errno);
}

/* Prints words in lines of WIDTH; the cursor is at `column`, further lines begin at `indent`. */
static void print_wrapped(const char *text, int column, int indent)
{
	bool first = true;

	for (const char *p = text; *p;) {
		int len = (int)strcspn(p, " ");

		if (!first && column + 1 + len > WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (!first) {
			putchar(' ');
			column++;
		}
		printf("%.*s", len, p);
		column += len;
		p += len;
		p += strspn(p, " ");
		first = false;
	}
	putchar('\n');
}

static void print_option(const struct opt *o)
{
	char text[512];
	int column = printf("  %s%s%s%s", opt_dashes(o), o->name, o->meta ? " " : "",
			    o->meta ? o->meta : "");

	if (column >= HELP_COLUMN) {
		putchar('\n');
		column = 0;
	}
	printf("%*s", HELP_COLUMN - column, "");
	(void)snprintf(text, sizeof(text), "%s%s%s%s", o->help, o->standard ? " (default " : "",
		       o->standard ? o->standard : "", o->standard ? ")" : "");
	print_wrapped(text, HELP_COLUMN, HELP_COLUMN);
}

static void print_options(uint64_t verb)
{
	for (int g = 0; g < GROUP_COUNT; g++) {
		bool titled = false;

		for (const struct opt *o = opt_table; o->name; o++) {
			if ((int)o->group != g || !(o->verbs & verb) || !o->help)
				continue;
			if (!titled)
				printf("\n%s:\n", opt_group_titles[g]);
			titled = true;
			print_option(o);
		}
	}
}

int help_verb(const struct verb *v)
{
	const struct verb_doc *d = v->doc;

	for (int i = 0; i < VERB_USAGES && d->usage[i]; i++)
		printf("%s pinfold %s %s\n", i ? "      " : "Usage:", v->name, d->usage[i]);
	for (const char *const *p = d->paragraphs; *p; p++) {
		putchar('\n');
		print_wrapped(*p, 0, 0);
	}
	print_options(v->bit);
	printf("\nExamples:\n");
	for (int i = 0; i < 5 && d->examples[i].what; i++)
		printf("  %s\n      %s\n", d->examples[i].what, d->examples[i].command);
	if (v->bit & (VERB_RUN | VERB_SHELL))
		printf("\n%s", exit_statuses);
	return help_flush();
}

int help_overview(void)
{
	printf("Usage: pinfold VERB [options]\n\n"
	       "Runs untrusted code in a fresh sandbox.\n\n"
	       "Verbs:\n");
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->summary)
			printf("  %-10s%s\n", v->name, v->summary);
	printf("\nTry:\n"
	       "  pinfold run -- python3 -c 'print(6*7)'\n"
	       "  pinfold help run\n");
	return help_flush();
}

int cmd_help(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	if (argc > 1 && request_end(argc - 1, argv + 1, &e) < 0)
		return say_failure(&e, false);
	const struct verb *asked = argc ? verb_find(argv[0], &e) : NULL;
	if (argc && !asked)
		return say_failure(&e, false);
	return asked ? help_verb(asked) : help_overview();
}
