/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy as one block, for another process of the same build. Integers are native.
 *
 *	struct pack_head	magic, version, length of the block, number of levels
 *	for each level, the policy first, then its ceilings:
 *		struct pack_level	numbers of rules, bytes of strings (a multiple of 8)
 *		struct rule[]		as in policy_int.h
 *		struct command_rule[]	the same
 *		strings			NUL behind the last one, then zeros
 *
 * The reader trusts no field: each rule is taken apart into a draft again and goes through
 * policy_add() like one that a person wrote.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "egress/command.h"
#include "egress/policy_int.h"

#define PACK_MAGIC UINT32_C(0x6c6f5045)
#define PACK_VERSION 2u

struct pack_head {
	uint32_t magic, version, size, levels;
};

struct pack_level {
	uint32_t n_rules, strings_len, n_commands, has_network;
};

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

int policy_pack(const struct policy *p, void **ret, size_t *ret_len, struct err *e)
{
	struct pack_head head = {.magic = PACK_MAGIC, .version = PACK_VERSION};
	size_t size = sizeof(head);

	for (const struct policy *at = p; at; at = at->ceiling, head.levels++)
		size += sizeof(struct pack_level) + at->n_rules * sizeof(struct rule) +
			at->n_commands * sizeof(struct command_rule) + padded(at->strings_len);
	if (size > POLICY_PACK_MAX)
		return err_set(e, ERR_LIMIT, "a policy of more than %u bytes", POLICY_PACK_MAX);
	char *block = calloc(1, size), *to = block;
	if (!block)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	head.size = (uint32_t)size;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	for (const struct policy *at = p; at; at = at->ceiling) {
		struct pack_level level = {at->n_rules, (uint32_t)padded(at->strings_len),
					   at->n_commands, at->has_network};

		memcpy(to, &level, sizeof(level));
		to += sizeof(level);
		if (at->n_rules)
			memcpy(to, at->rules, at->n_rules * sizeof(struct rule));
		to += at->n_rules * sizeof(struct rule);
		if (at->n_commands)
			memcpy(to, at->commands, at->n_commands * sizeof(struct command_rule));
		to += at->n_commands * sizeof(struct command_rule);
		memcpy(to, at->strings, at->strings_len);
		to += level.strings_len;
	}
	*ret = block;
	*ret_len = size;
	return 0;
}

/* What is left to be read of a block, and the strings of the level that is being read. */
struct reader {
	const char *at;
	size_t left;
	const char *strings;
	uint32_t strings_len;
};

static bool take(struct reader *r, void *to, size_t n)
{
	if (r->left < n)
		return false;
	memcpy(to, r->at, n);
	r->at += n;
	r->left -= n;
	return true;
}

/* NULL: not inside. The last byte is NUL, so every string ends. */
static const char *string_at(const struct reader *r, uint32_t at)
{
	return at < r->strings_len ? r->strings + at : NULL;
}

static bool draft_methods(const struct reader *r, const struct rule *rule, struct rule_draft *d,
			  char *copy, size_t size)
{
	const char *text = string_at(r, rule->methods);
	char *save = NULL;

	if (!text || strlen(text) >= size)
		return false;
	memcpy(copy, text, strlen(text) + 1);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (d->n_methods == RULE_METHODS_MAX)
			return false;
		d->methods[d->n_methods++] = word;
	}
	return true;
}

static bool draft_paths(const struct reader *r, const struct rule *rule, struct rule_draft *d)
{
	uint32_t at = rule->paths;

	if (rule->n_paths > RULE_PATHS_MAX)
		return false;
	for (unsigned i = 0; i < rule->n_paths; i++) {
		const char *path = string_at(r, at);

		if (!path)
			return false;
		d->paths[d->n_paths++] = path;
		at += (uint32_t)strlen(path) + 1;
	}
	return true;
}

static bool draft_inject(const struct reader *r, const struct rule *rule, struct rule_draft *d)
{
	if (rule->n_inject > EGRESS_INJECTS_MAX)
		return false;
	for (unsigned i = 0; i < rule->n_inject; i++) {
		const struct rule_inject *in = &rule->inject[i];

		d->inject[i] = (struct egress_inject){
			.where = in->where,
			.secret = string_at(r, in->secret),
			.key = string_at(r, in->key),
			.prefix = string_at(r, in->prefix),
		};
		if (in->where > EGRESS_BASIC || !d->inject[i].prefix)
			return false;
	}
	d->n_inject = rule->n_inject;
	return true;
}

static int add_packed(struct policy *p, const struct reader *r, const struct rule *rule,
		      struct err *e)
{
	struct rule_draft d = {.action = rule->action, .protocol = rule->protocol};
	char host[NAME_SIZE + 2], methods[RULE_METHODS_MAX * 34];
	const char *name = string_at(r, rule->name), *text = string_at(r, rule->host);

	d.source = string_at(r, rule->source);
	if (!name || !text || !d.source || strlen(text) > NAME_LEN_MAX || rule->kind > HOST_BELOW ||
	    rule->n_ports > RULE_PORTS_MAX ||
	    !draft_methods(r, rule, &d, methods, sizeof(methods)) || !draft_paths(r, rule, &d) ||
	    !draft_inject(r, rule, &d))
		return err_set(e, ERR_INVALID, "a packed policy with a rule that is none");
	host[0] = '\0';
	if (rule->kind == HOST_BELOW)
		memcpy(host, "*.", 3);
	memcpy(host + strlen(host), text, strlen(text) + 1);
	d.host = host;
	d.name = *name ? name : NULL;
	d.line = rule->line;
	d.limits = rule->limits;
	memcpy(d.ports, rule->ports, sizeof(d.ports));
	d.n_ports = rule->n_ports;
	return policy_add(p, &d, e);
}

static int add_packed_command(struct policy *p, struct reader *r, struct err *e)
{
	struct command_rule rule;

	if (!take(r, &rule, sizeof(rule)))
		return err_set(e, ERR_INVALID, "a packed policy that is cut");
	const struct command_draft d = {.action = rule.action,
					.kind = rule.kind,
					.pattern = string_at(r, rule.pattern),
					.reason = string_at(r, rule.reason),
					.source = string_at(r, rule.source),
					.line = rule.line};
	if (rule.kind > COMMAND_DELETE || !d.pattern || !d.reason || !d.source)
		return err_set(e, ERR_INVALID, "a packed policy with a command that is none");
	return policy_add_command(p, &d, e);
}

/* What stands before the strings of a level, in bytes; a level is checked for its counts first. */
static size_t rules_size(const struct pack_level *l)
{
	return l->n_rules * sizeof(struct rule) + l->n_commands * sizeof(struct command_rule);
}

static int unpack_level(struct reader *r, struct policy **ret, struct err *e)
{
	struct pack_level level;
	auto_policy *p = policy_new();

	if (!p)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	if (!take(r, &level, sizeof(level)) || level.n_rules > POLICY_RULES_MAX ||
	    level.n_commands > COMMANDS_MAX || level.has_network > 1 ||
	    r->left < rules_size(&level) || r->left - rules_size(&level) < level.strings_len ||
	    level.strings_len == 0)
		return err_set(e, ERR_INVALID, "a packed policy that is cut");
	p->has_network = level.has_network;
	r->strings = r->at + rules_size(&level);
	r->strings_len = level.strings_len;
	if (r->strings[0] != '\0' || r->strings[r->strings_len - 1] != '\0')
		return err_set(e, ERR_INVALID, "a packed policy whose strings do not end");
	for (uint32_t i = 0; i < level.n_rules; i++) {
		struct rule rule;

		if (!take(r, &rule, sizeof(rule)))
			return err_set(e, ERR_INVALID, "a packed policy that is cut");
		if (add_packed(p, r, &rule, e) < 0)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < level.n_commands; i++)
		if (add_packed_command(p, r, e) < 0)
			return -EINVAL;
	r->at += level.strings_len;
	r->left -= level.strings_len;
	*ret = take_ptr(&p);
	return 0;
}

int policy_unpack(const void *block, size_t len, struct policy **ret, struct err *e)
{
	struct reader r = {.at = block, .left = len};
	struct pack_head head;
	auto_policy *p = NULL;

	if (len > POLICY_PACK_MAX || !take(&r, &head, sizeof(head)) || head.magic != PACK_MAGIC ||
	    head.version != PACK_VERSION || head.size != len || head.levels == 0 ||
	    head.levels > POLICY_CEILINGS_MAX + 1)
		return err_set(e, ERR_INVALID, "not a packed policy of this version");
	for (uint32_t i = 0; i < head.levels; i++) {
		struct policy *level = NULL;

		if (unpack_level(&r, &level, e) < 0)
			return -EINVAL;
		if (!p)
			p = level;
		else if (policy_set_ceiling(p, level, e) < 0)
			return -EINVAL;
	}
	if (r.left)
		return err_set(e, ERR_INVALID, "a packed policy with bytes behind it");
	*ret = take_ptr(&p);
	return 0;
}
