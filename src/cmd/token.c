/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/ledger.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/tokens.h"
#include "base/json.h"
#include "cmd/http.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

#define SCOPES "run,files,workspaces"

static const char *const paragraphs[] = {
	"Tokens for the HTTP API, for callers on TCP. new prints the token, once: only its hash "
	"is kept. ls lists them, rm ID removes one, from the next request on.",
	"A tenant sees its own runs, sandboxes and workspaces and nothing of any other. Its "
	"scopes say what a token may do: run (runs, sandboxes, sessions), files, workspaces, "
	"approve, admin (metrics).",
	NULL,
};

const struct verb_doc token_doc = {
	.usage = {"new [--scope SCOPES] [--tenant NAME] [options]", "ls [--json]", "rm ID"},
	.paragraphs = paragraphs,
	.examples = {{"A key for one agent, for a day:",
		      "pinfold token new --tenant agent-1 --ttl 1d"},
		     {"Use it:", "curl -H \"Authorization: Bearer $TOKEN\" "
				 "http://127.0.0.1:8787/v1/runs"}},
};

static void put_scopes(struct json *j, unsigned scopes)
{
	json_open(j, "scopes", '[');
	for (unsigned bit = 1; bit & SCOPE_ALL; bit <<= 1)
		if (scopes & bit)
			json_str(j, NULL, scope_name(bit));
	json_close(j, ']');
}

static void put_token(struct json *j, const struct token *t, const char *text)
{
	json_str(j, "id", t->id);
	if (text)
		json_str(j, "token", text);
	json_str(j, "tenant", t->tenant);
	put_scopes(j, t->scopes);
	json_str(j, "label", t->label);
	show_instant(j, "created", t->created_s * 1000);
	show_instant(j, "expires", t->expires_s * 1000);
	json_u64(j, "created_s", t->created_s);
	if (t->expires_s)
		json_u64(j, "expires_s", t->expires_s);
	else
		json_none(j, "expires_s");
}

/* For the ledger: the id, never the token. */
static int note(const char *kind, const char *phase, const char *id, const char *tenant,
		struct err *e)
{
	struct pinfold_error failure;
	char data[96];
	struct pinfold_ledger_event ev = {
		.size = sizeof(ev), .kind = kind, .phase = phase, .tenant = tenant, .data = data};

	(void)snprintf(data, sizeof(data), "{\"token\":\"%.40s\"%s}", id,
		       strcmp(phase, "end") == 0 ? ",\"status\":\"ok\"" : "");
	if (pinfold_ledger_add(&ev, &failure) == 0)
		return 0;
	(void)err_set(e, ERR_INTERNAL, "%s", failure.message);
	return err_remedy(e, "%s", failure.remedy);
}

static int remove_one(int dir, const char *id, struct err *e)
{
	/* What is no id is refused by who looks for it; it is not worth a line. */
	bool is_id = id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0';
	int result = is_id ? note("token.remove", "begin", id, NULL, e) : 0;

	if (result >= 0)
		result = token_remove(dir, id, e);
	return result < 0 || !is_id ? result : note("token.remove", "end", id, NULL, e);
}

/* Of all --scope together; 0: one of them is wrong. */
static unsigned scopes_of(const struct request *r, struct err *e)
{
	unsigned all = 0, one = 1;

	if (!r->scopes.len)
		return scope_parse(SCOPES, e);
	for (size_t i = 0; i < r->scopes.len && one; i++)
		all |= one = scope_parse(r->scopes.items[i], e);
	return one ? all : 0;
}

static int make(int dir, const struct request *r, struct err *e)
{
	struct token wanted = {.scopes = scopes_of(r, e)}, made;
	char text[TOKEN_SIZE];

	if (!wanted.scopes)
		return -EINVAL;
	(void)snprintf(wanted.tenant, sizeof(wanted.tenant), "%s",
		       r->tenant ? r->tenant : "default");
	if (!tenant_is_valid(r->tenant ? r->tenant : "default")) {
		(void)err_set(e, ERR_INVALID, "--tenant: \"%.80s\" is no name", r->tenant);
		return err_remedy(e, "use up to 63 of a-z, 0-9 and -, beginning with no -");
	}
	if (strncmp(wanted.tenant, "uid-", 4) == 0) {
		(void)err_set(e, ERR_INVALID,
			      "--tenant: names with uid- are of users of this machine");
		return err_remedy(e, "choose a name that begins otherwise");
	}
	if (r->label && (strlen(r->label) >= TOKEN_LABEL_SIZE || strpbrk(r->label, "\n\r\033"))) {
		(void)err_set(e, ERR_INVALID,
			      "--label: longer than %u bytes, or more than one line",
			      TOKEN_LABEL_SIZE - 1);
		return err_remedy(e, "use a few words");
	}
	(void)snprintf(wanted.label, sizeof(wanted.label), "%s", r->label ? r->label : "");
	if (r->ttl_ms)
		wanted.expires_s = (uint64_t)time(NULL) + (r->ttl_ms + 999) / 1000;
	int result = note("token.new", "begin", "", wanted.tenant, e);
	if (result >= 0)
		result = token_make(dir, &wanted, &made, text, e);
	if (result >= 0)
		result = note("token.new", "end", made.id, made.tenant, e);
	if (result < 0)
		return result;
	if (r->json) {
		struct json j;

		json_init(&j, STDOUT_FILENO);
		json_open(&j, NULL, '{');
		put_token(&j, &made, text);
		json_close(&j, '}');
		return show_end(&j);
	}
	printf("%s\n", text);
	return 0;
}

static void print_list(const struct token *list, size_t n)
{
	char left[24];
	uint64_t now = (uint64_t)time(NULL);

	printf("%-29s  %-16s  %-28s  %-7s  %s\n", "ID", "TENANT", "SCOPES", "LEFT", "LABEL");
	for (size_t i = 0; i < n; i++) {
		char scopes[80] = "";

		for (unsigned bit = 1; bit & SCOPE_ALL; bit <<= 1)
			if (list[i].scopes & bit) {
				strncat(scopes, *scopes ? "," : "", 2);
				strncat(scopes, scope_name(bit), 16);
			}
		(void)snprintf(left, sizeof(left), "-");
		if (list[i].expires_s && list[i].expires_s <= now)
			(void)snprintf(left, sizeof(left), "expired");
		else if (list[i].expires_s)
			(void)show_span((list[i].expires_s - now) * 1000, left, sizeof(left));
		printf("%-29s  %-16s  %-28s  %-7s  ", list[i].id, list[i].tenant, scopes, left);
		show_text(list[i].label);
	}
}

static int list_all(int dir, const struct request *r, struct err *e)
{
	auto_free struct token *list = NULL;
	size_t n = 0;
	int result = token_list(dir, &list, &n, e);

	if (result < 0)
		return result;
	if (!r->json) {
		print_list(list, n);
		return 0;
	}
	struct json j;
	show_list_begin(&j);
	for (size_t i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		put_token(&j, &list[i], NULL);
		json_close(&j, '}');
	}
	return show_list_end(&j);
}

static int act(const struct request *r, int argc, char **argv, struct err *e)
{
	struct pinfold_error failure;
	char home[4096];

	if (argc < 1) {
		(void)err_set(e, ERR_INVALID, "token: what is to be done is missing");
		return err_remedy(e, "use pinfold token new, ls or rm ID");
	}
	if (pinfold_home(home, sizeof(home), &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	auto_close int dir = http_open_dir(home, e);
	if (dir < 0)
		return dir;
	if (strcmp(argv[0], "new") == 0 && argc == 1)
		return make(dir, r, e);
	if (strcmp(argv[0], "ls") == 0 && argc == 1)
		return list_all(dir, r, e);
	if (strcmp(argv[0], "rm") == 0 && argc == 2)
		return remove_one(dir, argv[1], e);
	(void)err_set(e, ERR_INVALID, "token: \"%.40s\" with %d more words is nothing we do",
		      argv[0], argc - 1);
	return err_remedy(e, "use pinfold token new, ls or rm ID");
}

int cmd_token(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	return act(&r, argc - used, argv + used, &e) < 0 ? say_failure(&e, r.json) : 0;
}
