/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as data. One table (options.c) drives parsing, --help, the man page and the completions;
 * a new option is one row there.
 *
 * `--name VALUE` and `--name=VALUE` mean the same. Options end at `--` or at the first word that is
 * not one. Where an option is given twice the last one counts, but for lists.
 */
#ifndef CMD_OPT_H
#define CMD_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum opt_type {
	OPT_FLAG,     /* bool; takes no value */
	OPT_TEXT,     /* const char *; not empty */
	OPT_CODE,     /* const char *; may be empty */
	OPT_CHOICE,   /* const char *; one of `words` */
	OPT_ABSOLUTE, /* const char *; an absolute path */
	OPT_LIST,     /* struct opt_list; not empty, may be repeated */
	OPT_ENV,      /* struct opt_list; KEY=VALUE, may be repeated */
	OPT_SIZE,     /* uint64_t, bytes */
	OPT_DURATION, /* uint64_t, milliseconds */
	OPT_COUNT,    /* uint64_t */
	OPT_CPUS,     /* uint64_t, thousandths */
};

enum opt_group {
	GROUP_PROGRAM,
	GROUP_LIMITS,
	GROUP_ISOLATION,
	GROUP_OUTPUT,
	GROUP_OTHER,
	GROUP_COUNT
};

struct opt {
	const char *name; /* without dashes; one letter means a single dash */
	const char *meta; /* what the value is called; FILE and DIR complete as such; flag: NULL */
	enum opt_type type;
	enum opt_group group;
	uint64_t verbs;	      /* VERB_* bits of those that take it */
	size_t offset;	      /* of the field it sets, from the start of what opt_parse() fills */
	const char *help;     /* NULL: not shown; for programs of ours */
	const char *standard; /* the default as text, NULL for none */
	const char *words;    /* values to complete, separated by blanks; NULL for none */
	const char *hit;      /* for a limit: what happens when it is reached */
	bool zero;	      /* a count may be 0 */
};

struct opt_list {
	const char **items; /* owned; ended by NULL; the texts are borrowed from argv */
	size_t len;
	size_t room;
};

extern const struct opt opt_table[]; /* ended by a row without a name */
extern const char *const opt_group_titles[GROUP_COUNT];

/* Parses the options in front of argv into the fields of *into. Returns the number of words used,
 * `--` included, or a negative value; the error names the option. */
int opt_parse(uint64_t verb, int argc, char **argv, void *into, struct err *e);
/* Brings options that stand behind other words, up to a `--`, in front of them. */
void opt_front(uint64_t verb, int argc, char **argv);
/* Whether `word` stands among the options; for when they could not be parsed. */
bool opt_seen(int argc, char **argv, const char *word);
/* "--time", "-c": for messages. */
const char *opt_dashes(const struct opt *o);

#endif
