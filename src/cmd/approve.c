/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a person: the verbs approvals, approve and deny. */
#include <pinfold/approval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "cmd/escape.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const list_words[] = {
	"Lists what waits for a person's approval: what was asked for, for which sandbox, and how "
	"long it still waits. No answer in time counts as no.",
	NULL,
};
static const char *const approve_words[] = {
	"Approves the question ID: once, with --sandbox for as long as the sandbox lives, with "
	"--for for that long.",
	NULL,
};
static const char *const deny_words[] = {"Answers the question ID with no.", NULL};

const struct verb_doc approvals_doc = {
	.usage = {"[--json]"},
	.paragraphs = list_words,
	.examples = {{"What waits?", "pinfold approvals"}},
};
const struct verb_doc approve_doc = {
	.usage = {"[--sandbox | --for DURATION] ID"},
	.paragraphs = approve_words,
	.examples = {{"Yes, once:", "pinfold approve apr23obkllw7ujkznydjemmzwszti"},
		     {"For ten minutes:",
		      "pinfold approve --for 10m apr23obkllw7ujkznydjemmzwszti"}},
};
const struct verb_doc deny_doc = {
	.usage = {"ID"},
	.paragraphs = deny_words,
	.examples = {{"No:", "pinfold deny apr23obkllw7ujkznydjemmzwszti"}},
};

/* Of our own runs, and of who serves HTTP beside our daemon. */
#define BOXES 2

struct boxes {
	int fd[BOXES];
};

static void boxes_close(struct boxes *b)
{
	for (unsigned i = 0; i < BOXES; i++)
		fd_close(&b->fd[i]);
}

static int boxes_open(struct boxes *b, struct pinfold_error *failure)
{
	char home[4096], api[4096 + 8];

	if (pinfold_home(home, sizeof(home), failure) < 0)
		return -1;
	(void)snprintf(api, sizeof(api), "%s/api", home);
	b->fd[0] = pinfold_approvals_open(home, failure);
	b->fd[1] = b->fd[0] < 0 ? FD_NONE : pinfold_approvals_open(api, failure);
	return b->fd[0] < 0 || b->fd[1] < 0 ? -1 : 0;
}

static void print_item(const struct pinfold_approval_info *a)
{
	uint64_t now = show_now_ms();
	char left[24];

	(void)show_span(a->until_ms > now ? a->until_ms - now : 0, left, sizeof(left));
	printf("%s  %-5s  ", a->id, left);
	char line[sizeof(a->what) + sizeof(a->kind) + sizeof(a->sandbox) + sizeof(a->who) + 32];
	(void)snprintf(line, sizeof(line), "%s: %s%s%s%s%s", a->kind, a->what,
		       *a->sandbox ? ", for sandbox " : "", a->sandbox, *a->who ? ", by " : "",
		       a->who);
	show_text(line);
	if (*a->why) {
		printf("%-31s  %-5s  ", "", "");
		(void)snprintf(line, sizeof(line), "it says: %s", a->why);
		show_text(line);
	}
}

static void put_item(struct json *j, const struct pinfold_approval_info *a)
{
	json_open(j, NULL, '{');
	json_str(j, "id", a->id);
	json_str(j, "kind", a->kind);
	json_bytes(j, "what", a->what, strlen(a->what));
	json_str(j, "sandbox", *a->sandbox ? a->sandbox : NULL);
	json_str(j, "tenant", *a->tenant ? a->tenant : NULL);
	json_str(j, "who", *a->who ? a->who : NULL);
	json_str(j, "why", *a->why ? a->why : NULL);
	show_time(j, "asked", a->asked_ms);
	show_time(j, "until", a->until_ms);
	json_close(j, '}');
}

int cmd_approvals(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	__attribute__((cleanup(boxes_close))) struct boxes b = {{FD_NONE, FD_NONE}};
	struct pinfold_error failure;
	struct json j;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	struct err e = ERR_INIT;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	if (boxes_open(&b, &failure) < 0)
		return say_library_failure(&failure, r.json);
	if (r.json)
		show_list_begin(&j);
	else
		printf("%-29s  %-5s  %s\n", "ID", "LEFT", "WHAT");
	for (unsigned i = 0; i < BOXES; i++) {
		auto_free struct pinfold_approval_info *list = NULL;
		size_t n = 0;

		if (pinfold_approval_list(b.fd[i], &list, &n, &failure) < 0)
			return say_library_failure(&failure, r.json);
		for (size_t k = 0; k < n; k++)
			r.json ? put_item(&j, &list[k]) : print_item(&list[k]);
	}
	return r.json && show_list_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

/* In whichever box it lies. */
static int answer(const char *id, enum pinfold_answer how, uint64_t seconds,
		  struct pinfold_error *failure)
{
	__attribute__((cleanup(boxes_close))) struct boxes b = {{FD_NONE, FD_NONE}};
	auto_free struct pinfold_approval_info *info = malloc(sizeof(*info));
	unsigned i = 0;

	if (!info || boxes_open(&b, failure) < 0)
		return -1;
	while (i + 1 < BOXES && pinfold_approval_get(b.fd[i], id, info, failure) < 0)
		i++;
	return pinfold_approval_answer(b.fd[i], id, how, seconds, failure);
}

static int answer_verb(const struct verb *v, int argc, char **argv, bool yes)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error failure;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	struct err e = ERR_INIT;
	if (r.for_ms && r.for_sandbox)
		(void)err_set(&e, ERR_INVALID, "--for and --sandbox are two answers");
	else if (argc - used != 1)
		(void)err_set(&e, ERR_INVALID, "%s: needs the id of one question", v->name);
	if (e.text[0]) {
		(void)err_remedy(&e, "pinfold approvals lists what waits");
		return say_failure(&e, false);
	}
	enum pinfold_answer how = !yes		  ? PINFOLD_ANSWER_NO
				  : r.for_ms	  ? PINFOLD_ANSWER_FOR
				  : r.for_sandbox ? PINFOLD_ANSWER_SANDBOX
						  : PINFOLD_ANSWER_ONCE;
	if (answer(argv[used], how, (r.for_ms + 999) / 1000, &failure) < 0)
		return say_library_failure(&failure, false);
	return 0;
}

int cmd_approve(const struct verb *v, int argc, char **argv)
{
	return answer_verb(v, argc, argv, true);
}

int cmd_deny(const struct verb *v, int argc, char **argv)
{
	return answer_verb(v, argc, argv, false);
}
