/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that a policy asks a person about, or denies: `commands:` of a policy file. Pure, as the
 * rest of policies. What no rule matches is allowed; deny beats ask; rules of a ceiling count
 * beside.
 *
 * A rule for programs is a few words, "git push --force": the program's name, and words that have
 * to follow it. Options between them are skipped; where a word may be an option's value or the next
 * word, both readings count. A word that begins with - may stand anywhere behind. * stands for any
 * characters of a word. Also git-push is `git push`.
 *
 * A rule for what is deleted is "outside PATH..." or "inside PATH...". What a sandbox has in memory
 * alone (/tmp, /run, /dev) is nobody's loss.
 */
#ifndef EGRESS_COMMAND_H
#define EGRESS_COMMAND_H

#include "egress/policy.h"

#define COMMANDS_MAX 256u     /* rules of one policy */
#define COMMAND_WORDS_MAX 16u /* of one rule */
#define COMMAND_TEXT_MAX 512u
#define COMMAND_REASON_MAX 200u

enum command_kind { COMMAND_EXEC, COMMAND_DELETE };

/* All pointers are borrowed. */
struct command_draft {
	enum egress_action action; /* EGRESS_DENY or EGRESS_ASK */
	enum command_kind kind;
	const char *pattern;
	const char *reason; /* for who is asked or refused; NULL: none */
	const char *source;
	uint32_t line;
};

/* The error says what is wrong with the rule; the caller says where it stands. */
int policy_add_command(struct policy *p, const struct command_draft *d, struct err *e);

/* Something that is about to happen. Borrowed. */
struct command {
	enum command_kind kind;
	const char *program; /* EXEC: what is executed, links followed; or NULL */
	const char *words;   /* EXEC: argv, each with its NUL */
	size_t len;	     /* of words */
	bool is_cut;	     /* there were more words, or longer ones */
	const char *path;    /* DELETE: absolute and plain */
	const char *to;	     /* DELETE: it is moved there; NULL: it goes */
};

struct command_verdict {
	enum egress_action action;	    /* EGRESS_ALLOW: no rule matches, all else is empty */
	const char *text, *reason, *source; /* "ask git push"; of the policy */
	uint32_t line;
	bool is_ceiling;
};

void policy_command(const struct policy *p, const struct command *c, struct command_verdict *ret);
/* Has it, or a ceiling of it, rules of this kind? */
bool policy_guards(const struct policy *p, enum command_kind kind);
/* Are allow, ask or deny there? A policy of commands alone opens no way out. */
bool policy_has_network(const struct policy *p);
/* The i-th of these rules, as policy_line(). */
bool policy_command_line(const struct policy *p, unsigned i, struct policy_line *ret);

#endif
