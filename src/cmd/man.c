/* SPDX-License-Identifier: Apache-2.0 */
/* The man page, as mdoc. What is in a table comes from it; the rest is here. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/docs.h"
#include "cmd/opt.h"
#include "cmd/verb.h"

#define MAN_DATE "November 15, 2026"

#define LINE 68 /* columns of source, after which a line of text ends */

/* A line that begins with . or ' would be a macro, a bare - a hyphen that breaks and cannot be
 * copied into a shell. A sentence begins on a line of its own, as mdoc wants it. */
static void put_roff(const char *s, bool wrap)
{
	char before = '\n';

	for (int column = 0; *s; s++, column++) {
		bool sentence = before == '.' && s[1] >= 'A' && s[1] <= 'Z';
		char c = *s;

		if (c == ' ' && wrap && (sentence || column >= LINE)) {
			c = '\n';
			column = 0;
		}
		if (before == '\n' && (c == '.' || c == '\''))
			printf("\\&");
		if (c == '\\')
			printf("\\e");
		else if (c == '-' && (s[1] == '-' || strchr(" \n([|-", before)))
			printf("\\-");
		else
			putchar(c);
		before = c;
	}
	putchar('\n');
}

static void put_text(const char *s)
{
	put_roff(s, true);
}

static void put_synopsis(void)
{
	printf(".Sh SYNOPSIS\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		for (int i = 0; v->summary && i < VERB_USAGES && v->doc->usage[i]; i++) {
			printf(".Nm\n.Cm %s\n", v->name);
			put_roff(v->doc->usage[i], false);
		}
	}
}

static void put_description(void)
{
	printf(".Sh DESCRIPTION\n.Nm\n");
	put_text("runs untrusted code where it can do no harm: in a sandbox that is made for one "
		 "command, caps what it uses, explains what stopped it and leaves nothing behind. "
		 "It needs no daemon, no configuration and no root.");
	printf(".Pp\n");
	put_text("Inside there is the host's /usr, which nothing can change, an /etc made for the "
		 "sandbox, and private /tmp, /run and /dev/shm. The user is user (uid 1000) in "
		 "/home/user, without a capability. There is no network. Of the environment only "
		 "PATH, HOME, USER, LANG, caches under /tmp, TERM with a terminal, and what --env "
		 "gives are set.");
}

static void put_verbs(void)
{
	printf(".Sh VERBS\n.Bl -tag -width Ds\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->summary)
			continue;
		printf(".It Nm Cm %s\n", v->name);
		for (const char *const *p = v->doc->paragraphs; *p; p++) {
			if (p != v->doc->paragraphs)
				printf(".Pp\n");
			put_text(*p);
		}
	}
	printf(".El\n");
}

static void put_option(const struct opt *o)
{
	char text[256];

	printf(".It Fl %s%s", o->name[1] ? "-" : "", o->name);
	if (o->meta)
		printf(" Ar %s", o->meta);
	putchar('\n');
	(void)snprintf(text, sizeof(text), "%s.", o->help);
	put_text(text);
	if (o->standard) {
		(void)snprintf(text, sizeof(text), "Default: %s.", o->standard);
		put_text(text);
	}
	if ((o->verbs & VERB_RUN) && !(o->verbs & VERB_SHELL))
		printf("Not with\n.Cm shell .\n");
}

static void put_options(void)
{
	printf(".Sh OPTIONS\n");
	put_text("--name VALUE and --name=VALUE mean the same. Options end at -- or at the first "
		 "word that is not one. Where one is given twice the last counts, unless it may be "
		 "repeated.");
	put_text("SIZE is a number of bytes, or with k, M, G or T (powers of 1024) such as 512M or "
		 "1.5G. DURATION is a number of seconds, or with ms, s, m, h or d such as 500ms.");
	for (int g = 0; g < GROUP_COUNT; g++) {
		printf(".Ss %s\n.Bl -tag -width Ds\n", opt_group_titles[g]);
		for (const struct opt *o = opt_table; o->name; o++)
			if ((int)o->group == g && o->help)
				put_option(o);
		printf(".El\n");
	}
}

static void put_limits(void)
{
	printf(".Sh LIMITS\n.Bl -column \"--cpu-time\" \"60s, for shell 24h\"\n"
	       ".It Sy option Ta Sy default Ta Sy when it is reached\n");
	for (const struct opt *o = opt_table; o->name; o++)
		if (o->hit)
			printf(".It Fl -%s Ta %s Ta %s\n", o->name, o->standard, o->hit);
	printf(".El\n");
}

struct entry {
	const char *what; /* with its macro */
	const char *text;
};

static const struct entry environment[] = {
	{"Ev PINFOLD_HOME", "Data directory."},
	{"Ev XDG_DATA_HOME",
	 "For an ordinary user without PINFOLD_HOME: the data directory is pinfold in it."},
	{"Ev PINFOLD_CONFIG",
	 "Configuration directory: policy.yaml, settings.yaml, deps.names, and what was trusted. Else /etc/pinfold for root, "
	 "and pinfold in XDG_CONFIG_HOME or ~/.config for others."},
	{"Ev PINFOLD_DEPS",
	 "The default of --deps: auto, manifest, retry; never: nobody may use it. That of "
	 "the daemon counts for requests over HTTP."},
	{"Ev PINFOLD_LEDGER", "off: nothing is recorded, and results have no receipt."},
	{"Ev PINFOLD_LEDGER_SYNC",
	 "always: each event of the ledger is on disk before the answer; group: within 50 ms. Else what ledger.sync "
	 "in settings.yaml of the configuration directory says; without it, group."},
	{"Ev PINFOLD_LEDGER_SINK",
	 "Where a copy of the ledger goes, instead of what ledger.sink in settings.yaml says; none: nowhere but to "
	 "places of pinfold audit sink."},
	{"Ev PINFOLD_CEILING", "A file with one more ceiling for policies; it can only narrow."},
	{"Ev TERM", "Handed on to a command that has a terminal; xterm-256color when not set."},
	{NULL, NULL},
};

static const struct entry files[] = {
	{"Pa /etc/pinfold/ceiling.yaml", "What no policy goes beyond; the operator's."},
	{"Pa /var/lib/pinfold", "Data directory of root: output that did not fit into a result."},
	{"Pa ~/.local/share/pinfold", "The same of an ordinary user without XDG_DATA_HOME."},
	{"Pa /var/tmp/pinfold-UID", "The same of a user whose HOME is nowhere that he may write."},
	{NULL, NULL},
};

static const struct entry statuses[] = {
	{"0-255", "The command's own."},
	{"124", "The time limit was reached."},
	{"125", "Pinfold itself failed; nothing of the command ran."},
	{"126", "The command was found but could not be executed."},
	{"127", "The command was not found."},
	{"128+N", "Signal N ended the command, or Pinfold received it and ended the run."},
	{"137", "The memory or processor time limit was reached, or SIGKILL ended the command."},
	{NULL, NULL},
};

static void put_entries(const char *title, const char *intro, const struct entry *e)
{
	printf(".Sh %s\n", title);
	if (intro)
		put_text(intro);
	printf(".Bl -tag -width Ds\n");
	for (; e->what; e++) {
		printf(".It %s\n", e->what);
		put_text(e->text);
	}
	printf(".El\n");
}

static void put_examples(void)
{
	const char *separator = "";

	printf(".Sh EXAMPLES\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		for (int i = 0; v->summary && i < 5 && v->doc->examples[i].what; i++) {
			printf("%s", separator);
			put_text(v->doc->examples[i].what);
			printf(".Bd -literal -offset indent\n");
			put_roff(v->doc->examples[i].command, false);
			printf(".Ed\n");
			separator = ".Pp\n";
		}
	}
}

void docs_man(void)
{
	printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
	       ".Dd " MAN_DATE "\n.Dt PINFOLD 1\n.Os\n"
	       ".Sh NAME\n.Nm pinfold\n.Nd run untrusted code in a fresh sandbox\n");
	put_synopsis();
	put_description();
	put_verbs();
	put_options();
	put_limits();
	put_entries("ENVIRONMENT", NULL, environment);
	put_entries("FILES", NULL, files);
	put_entries("EXIT STATUS",
		    "Of run and shell. If standard output could not be written, for another reason "
		    "than a reader that went away, a status of 0 becomes 1.",
		    statuses);
	put_examples();
	printf(".Sh SEE ALSO\n.Xr bwrap 1 ,\n.Xr seccomp 2 ,\n.Xr cgroups 7 ,\n.Xr landlock 7 ,\n"
	       ".Xr namespaces 7\n");
}
