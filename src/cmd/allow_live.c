/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold allow ID: what a sandbox that runs may reach, shown and changed. */
#include "cmd/allow.h"

#include <fcntl.h>
#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/value.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"

static const char *text_of(const struct value *row, const char *key)
{
	const char *text = value_str(value_get(row, key));

	return text ? text : "";
}

static void print_rules(const struct value *rules)
{
	if (value_len(rules) == 0)
		printf("nothing may be reached\n");
	for (size_t i = 0; i < value_len(rules); i++) {
		const struct value *row = value_at(rules, i);
		char line[1024];

		(void)snprintf(line, sizeof(line), "%s%s  (%s)",
			       value_true(value_get(row, "ceiling")) ? "ceiling: " : "",
			       text_of(row, "text"), text_of(row, "source"));
		show_text(line);
	}
}

static void print_network(const struct value *rows)
{
	for (size_t i = 0; i < value_len(rows); i++) {
		const struct value *row = value_at(rows, i);
		char line[1024];

		(void)snprintf(line, sizeof(line),
			       "%-8s %s:%lld  %lld times, %lld bytes in, %lld out",
			       text_of(row, "verdict"), text_of(row, "host"),
			       (long long)value_int(value_get(row, "port")),
			       (long long)value_int(value_get(row, "count")),
			       (long long)value_int(value_get(row, "bytes_in")),
			       (long long)value_int(value_get(row, "bytes_out")));
		show_text(line);
	}
}

static int show(const struct request *r, const char *id)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	auto_free char *text = NULL;
	auto_value *doc = NULL;

	if (pinfold_policy_show(id, &text, &error) < 0)
		return say_library_failure(&error, r->json);
	if (r->json) {
		printf("%s", text);
		return help_flush();
	}
	if (value_parse(text, strlen(text), &doc, &e) < 0)
		return say_failure(&e, false);
	print_rules(value_get(doc, "rules"));
	print_network(value_get(doc, "network"));
	return help_flush();
}

static int change(const struct request *r, const char *id)
{
	const struct pinfold_policy p = {.size = sizeof(p),
					 .allow = r->run.allow,
					 .text = r->run.policy,
					 .name = r->run.policy_name,
					 .adds = !r->run.policy,
					 .own = 1};
	struct pinfold_error error;
	auto_free char *note = NULL;
	unsigned closed = 0;

	if (pinfold_policy_set(id, &p, &closed, &note, &error) < 0)
		return say_library_failure(&error, r->json);
	if (note)
		say("%s", note);
	if (r->json)
		printf("{\"sandbox\": \"%s\", \"closed\": %u}\n", id, closed);
	else if (closed)
		say("%u connection%s closed", closed, closed == 1 ? " was" : "s were");
	return help_flush();
}

int allow_live(const struct request *r, const char *id)
{
	struct err e = ERR_INIT;

	if (r->explain || r->method || r->run.dir) {
		(void)err_set(&e, ERR_INVALID, "%s: not with the ID of a sandbox",
			      r->explain  ? "--explain"
			      : r->method ? "--method"
					  : "--dir");
		(void)err_remedy(&e, "leave one of the two out");
		return say_failure(&e, r->json);
	}
	if (!r->run.policy && !(r->run.allow && r->run.allow[0]))
		return show(r, id);
	if (r->show_policy) {
		(void)err_set(&e, ERR_INVALID, "--show: not with --allow or --policy");
		(void)err_remedy(&e, "look at it, or change it");
		return say_failure(&e, r->json);
	}
	return change(r, id);
}

/* The caller's descriptors are not ours to hold; all of our own close with an exec. */
static void drop_foreign(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd); /* a pipeline must not wait for us */
	for (int fd = 3; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			(void)close(fd);
	}
}

void allow_stay(void)
{
	struct pinfold_error ignored;

	if (pinfold_policy_held() == 0)
		return;
	(void)fflush(NULL);
	(void)prctl(PR_SET_NAME, "pinfold-egress", 0, 0, 0);
	if (fork() != 0)
		return;
	(void)setsid();
	drop_foreign();
	if (chdir("/") == 0)
		(void)pinfold_policy_stay(-1, &ignored);
	_exit(0);
}
