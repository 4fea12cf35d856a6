/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold allow --explain-command: what the commands of a policy would say. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cmd/allow.h"
#include "cmd/help.h"
#include "cmd/show.h"
#include "egress/command.h"

/* Blanks between words; nothing is quoted, and no shell is asked. Returns the length with its
 * NUL. */
static size_t split(char *line)
{
	char *to = line;

	for (const char *at = line; *at; at++)
		if (*at != ' ')
			*to++ = *at;
		else if (to > line && to[-1])
			*to++ = '\0';
	if (to == line || to[-1])
		*to++ = '\0';
	return (size_t)(to - line);
}

static void judge(const struct policy *p, const char *line, char *words,
		  struct command_verdict *ret)
{
	const struct command c = {.kind = COMMAND_EXEC, .words = words, .len = split(words)};
	const struct command gone = {.kind = COMMAND_DELETE, .path = line + strlen("delete ")};
	struct command_verdict other;

	policy_command(p, &c, ret);
	if (strncmp(line, "delete /", strlen("delete /")) != 0)
		return;
	policy_command(p, &gone, &other);
	if (other.action < ret->action)
		*ret = other;
}

static void print_text(const struct command_verdict *v, const char *line)
{
	static const char *const words[] = {
		[EGRESS_DENY] = "denied", [EGRESS_ASK] = "ask", [EGRESS_ALLOW] = "allowed"};

	printf("%s  ", words[v->action]);
	show_text(line);
	if (v->action == EGRESS_ALLOW) {
		puts("  because  no rule of commands matches it");
		return;
	}
	fputs("  rule     ", stdout);
	show_text(v->text);
	fputs("  from     ", stdout);
	char from[600];
	(void)snprintf(from, sizeof(from), v->line ? "%s, line %u%s" : "%s%.0u%s", v->source,
		       v->line, v->is_ceiling ? ", a ceiling" : "");
	show_text(from);
	if (v->reason[0]) {
		fputs("  reason   ", stdout);
		show_text(v->reason);
	}
}

static int print_json(const struct command_verdict *v, const char *line)
{
	static const char *const words[] = {
		[EGRESS_DENY] = "denied", [EGRESS_ASK] = "ask", [EGRESS_ALLOW] = "allowed"};
	struct json j;

	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_bytes(&j, "command", line, strlen(line));
	json_str(&j, "verdict", words[v->action]);
	if (v->action == EGRESS_ALLOW) {
		json_none(&j, "rule");
	} else {
		json_open(&j, "rule", '{');
		json_bytes(&j, "text", v->text, strlen(v->text));
		json_bytes(&j, "source", v->source, strlen(v->source));
		json_u64(&j, "line", v->line);
		json_bool(&j, "ceiling", v->is_ceiling);
		json_close(&j, '}');
	}
	json_str(&j, "reason", v->reason[0] ? v->reason : NULL);
	json_close(&j, '}');
	return show_end(&j);
}

int allow_command(const struct request *r, const struct policy *p, struct err *e)
{
	static const int statuses[] = {[EGRESS_DENY] = 1, [EGRESS_ASK] = 2, [EGRESS_ALLOW] = 0};
	auto_free char *words = strdup(r->explain_command);
	struct command_verdict v;

	if (!words)
		return err_sys(e, "--explain-command");
	if (strspn(words, " ") == strlen(words)) {
		(void)err_set(e, ERR_INVALID, "--explain-command: is empty");
		return err_remedy(e, "give the words of a command: 'git push origin'");
	}
	judge(p, r->explain_command, words, &v);
	if (!r->json)
		print_text(&v, r->explain_command);
	else if (print_json(&v, r->explain_command) < 0)
		return -EIO;
	if (!r->json && help_flush() != 0)
		return EXIT_PINFOLD;
	return statuses[v.action];
}
