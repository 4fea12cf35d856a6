/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/policy_int.h"

/* Words of a text with blanks between them; borrowed. */
struct words {
	struct word {
		const char *at;
		size_t len;
	} word[COMMAND_WORDS_MAX];
	unsigned n;
};

/* False: there are too many. */
static bool split(const char *text, struct words *ret)
{
	ret->n = 0;
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");

		if (ret->n == COMMAND_WORDS_MAX)
			return false;
		ret->word[ret->n++] = (struct word){text, len};
		text += len;
	}
	return true;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* The last part of a path. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Backs up to the last * only, so it takes no more than one length times the other. */
static bool fits(const struct word *pattern, const char *text, size_t len)
{
	const char *p = pattern->at, *end = p + pattern->len, *star = NULL, *from = NULL;
	const char *t = text;

	while (t < text + len) {
		if (p < end && *p == '*') {
			star = p++;
			from = t;
		} else if (p < end && *p == *t) {
			p++;
			t++;
		} else if (star) {
			p = star + 1;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

static int check_words(const struct words *w, struct err *e)
{
	const struct word *first = &w->word[0];

	if (w->n == 0)
		return err_set(e, ERR_INVALID, "is empty");
	if (memchr(first->at, '/', first->len) || first->at[0] == '-') {
		(void)err_set(e, ERR_INVALID, "does not begin with the name of a program");
		return err_remedy(e, "write its name without a path: git push");
	}
	if (strspn(first->at, "*") >= first->len) {
		(void)err_set(e, ERR_INVALID, "names every program");
		return err_remedy(e, "name one: git push");
	}
	return 0;
}

static bool is_plain(const struct word *path)
{
	const char *at = path->at, *end = at + path->len;

	if (*at != '/' || path->len == 1 || end[-1] == '/')
		return false;
	for (; at < end; at++) {
		size_t n = 0;

		while (at + 1 + n < end && at[1 + n] != '/')
			n++;
		if (n == 0 || (n <= 2 && strncmp(at + 1, "..", n) == 0))
			return false;
		at += n;
	}
	return true;
}

static bool is_word(const struct word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

static int check_places(const struct words *w, struct err *e)
{
	bool good =
		w->n >= 2 && (is_word(&w->word[0], "outside") || is_word(&w->word[0], "inside"));

	for (unsigned i = 1; good && i < w->n; i++)
		good = is_plain(&w->word[i]);
	if (good)
		return 0;
	(void)err_set(e, ERR_INVALID, "is not outside or inside, and absolute paths");
	return err_remedy(e, "write delete: outside /work/build");
}

static int check_draft(const struct command_draft *d, struct err *e)
{
	struct words w;

	if (strlen(d->pattern) > COMMAND_TEXT_MAX)
		return err_set(e, ERR_LIMIT, "is longer than %u bytes", COMMAND_TEXT_MAX);
	for (const char *c = d->pattern; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return err_set(e, ERR_INVALID, "has a control character");
	if (d->reason && strlen(d->reason) > COMMAND_REASON_MAX)
		return err_set(e, ERR_LIMIT, "reason: is longer than %u bytes", COMMAND_REASON_MAX);
	if (d->action != EGRESS_DENY && d->action != EGRESS_ASK)
		return err_set(e, ERR_INVALID, "is neither ask nor deny");
	if (!split(d->pattern, &w))
		return err_set(e, ERR_LIMIT, "has more than %u words", COMMAND_WORDS_MAX);
	return d->kind == COMMAND_EXEC ? check_words(&w, e) : check_places(&w, e);
}

int policy_add_command(struct policy *p, const struct command_draft *d, struct err *e)
{
	char text[COMMAND_TEXT_MAX + 32];
	struct command_rule r = {
		.action = (uint8_t)d->action, .kind = (uint8_t)d->kind, .line = d->line};

	assert(p && d->pattern);
	if (check_draft(d, e) < 0)
		return -EINVAL;
	if (p->n_commands == COMMANDS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u commands", COMMANDS_MAX);
	if (!p->commands)
		p->commands = calloc(COMMANDS_MAX, sizeof(*p->commands));
	if (!p->commands)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	(void)snprintf(text, sizeof(text), "%s %s%s", egress_action_name(d->action),
		       d->kind == COMMAND_DELETE ? "delete " : "", d->pattern);
	if (policy_keep(p, d->pattern, &r.pattern, e) < 0 || policy_keep(p, text, &r.text, e) < 0 ||
	    policy_keep(p, d->reason ? d->reason : "", &r.reason, e) < 0 ||
	    policy_keep(p, d->source ? d->source : "", &r.source, e) < 0)
		return -EINVAL;
	p->commands[p->n_commands++] = r;
	return 0;
}

/* Is the option somewhere? -f is also in -vf, and --force in --force=yes. */
static bool has_option(const struct word *want, const struct command *c)
{
	bool is_letter = want->len == 2;

	for (const char *w = c->words; w < c->words + c->len; w += strlen(w) + 1) {
		size_t name = strcspn(w, "=");

		if (fits(want, w, strlen(w)) || fits(want, w, name))
			return true;
		if (is_letter && is_option(w) && w[1] != '-' && strchr(w, want->at[1]))
			return true;
	}
	return c->is_cut;
}

static bool has_options(const struct words *rule, const struct command *c)
{
	for (unsigned i = 1; i < rule->n; i++)
		if (rule->word[i].at[0] == '-' && !has_option(&rule->word[i], c))
			return false;
	return true;
}

/* The rule's words from number `first` on that are no options, against what stands from `at` on.
 * How many of them can have been met before a word is a set of numbers, since a word may be an
 * option's value or not. */
static bool follows(const struct words *rule, unsigned first, const struct command *c,
		    const char *at)
{
	struct words want = {.n = 0};
	uint32_t now = 1, next = 0;

	for (unsigned i = first; i < rule->n; i++)
		if (rule->word[i].at[0] != '-')
			want.word[want.n++] = rule->word[i];
	for (; at < c->words + c->len && !(now & 1u << want.n); at += strlen(at) + 1) {
		const char *after = at + strlen(at) + 1;
		uint32_t met = 0, later = 0;

		if (is_option(at)) {
			met = now;
			if (!strchr(at, '=') && after < c->words + c->len && !is_option(after))
				later = now;
		}
		for (unsigned i = 0; !is_option(at) && i < want.n; i++)
			if ((now & 1u << i) && fits(&want.word[i], at, strlen(at)))
				met |= 1u << (i + 1);
		now = met | next;
		next = later;
	}
	now |= next;
	return (now & 1u << want.n) || (c->is_cut && now);
}

/* How many of the rule's first words the name of a program stands for; 0: it is another. */
static unsigned names(const struct words *rule, const char *name)
{
	char joined[COMMAND_TEXT_MAX + 1] = "";
	size_t len = 0;

	for (unsigned i = 0; i < rule->n && rule->word[i].at[0] != '-'; i++) {
		len += (size_t)snprintf(joined + len, sizeof(joined) - len, "%s%.*s", i ? "-" : "",
					(int)rule->word[i].len, rule->word[i].at);
		const struct word whole = {joined, len};
		if (fits(&whole, name, strlen(name)))
			return i + 1;
	}
	return 0;
}

/* ld-linux-x86-64.so.2, which takes a program as its argument. */
static bool is_loader(const char *name)
{
	return strncmp(name, "ld", 2) == 0 && strstr(name, ".so");
}

static bool matches_exec(const struct words *rule, const struct command *c)
{
	const char *program = c->program ? base_of(c->program) : "", *end = c->words + c->len;
	const char *rest = c->len ? c->words + strlen(c->words) + 1 : end;
	unsigned n = names(rule, program);

	if (!has_options(rule, c))
		return false;
	if (n && follows(rule, n, c, rest))
		return true;
	n = c->len ? names(rule, base_of(c->words)) : 0;
	if (n && follows(rule, n, c, rest))
		return true;
	for (const char *w = rest; is_loader(program) && w < end; w += strlen(w) + 1) {
		n = names(rule, base_of(w));
		if (n && follows(rule, n, c, w + strlen(w) + 1))
			return true;
	}
	return false;
}

static bool is_below(const char *path, const char *dir, size_t len)
{
	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static bool is_own(const char *path)
{
	static const char *const own[] = {"/tmp", "/run", "/dev"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (is_below(path, own[i], strlen(own[i])))
			return true;
	return false;
}

static bool is_guarded(const struct words *rule, const char *path)
{
	bool outside = is_word(&rule->word[0], "outside");

	for (unsigned i = 1; i < rule->n; i++) {
		const struct word *dir = &rule->word[i];

		if (is_below(path, dir->at, dir->len) || (!outside && is_word(dir, path)))
			return !outside;
	}
	return outside && !is_own(path);
}

static bool matches(const struct policy *p, const struct command_rule *r, const struct command *c)
{
	struct words rule;

	if (r->kind != c->kind || !split(policy_str(p, r->pattern), &rule))
		return false;
	if (c->kind == COMMAND_EXEC)
		return matches_exec(&rule, c);
	return is_guarded(&rule, c->path) && !(c->to && is_guarded(&rule, c->to));
}

void policy_command(const struct policy *p, const struct command *c, struct command_verdict *ret)
{
	bool is_ceiling = false;

	assert(p && c && ret);
	*ret = (struct command_verdict){
		.action = EGRESS_ALLOW, .text = "", .reason = "", .source = ""};
	for (; p; p = p->ceiling, is_ceiling = true)
		for (uint32_t i = 0; i < p->n_commands; i++) {
			const struct command_rule *r = &p->commands[i];

			if (r->action >= ret->action || !matches(p, r, c))
				continue;
			*ret = (struct command_verdict){
				.action = (enum egress_action)r->action,
				.text = policy_str(p, r->text),
				.reason = policy_str(p, r->reason),
				.source = policy_str(p, r->source),
				.line = r->line,
				.is_ceiling = is_ceiling,
			};
		}
}

bool policy_guards(const struct policy *p, enum command_kind kind)
{
	for (; p; p = p->ceiling)
		for (uint32_t i = 0; i < p->n_commands; i++)
			if (p->commands[i].kind == kind)
				return true;
	return false;
}

bool policy_has_network(const struct policy *p)
{
	return p->has_network;
}

bool policy_command_line(const struct policy *p, unsigned i, struct policy_line *ret)
{
	bool is_ceiling = false;

	for (; p && i >= p->n_commands; p = p->ceiling, is_ceiling = true)
		i -= p->n_commands;
	if (!p)
		return false;
	const struct command_rule *r = &p->commands[i];
	*ret = (struct policy_line){
		.action = (enum egress_action)r->action,
		.text = policy_str(p, r->text),
		.name = policy_str(p, r->text),
		.source = policy_str(p, r->source),
		.line = r->line,
		.is_ceiling = is_ceiling,
	};
	return true;
}
