/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "api/tokens.h"
#include "base/fd.h"
#include "base/json.h"
#include "cmd/noted.h"
#include "cmd/request.h"
#include "cmd/secret.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "egress/vault.h"

static const char *const paragraphs[] = {
	"Secrets are keys that programs in a sandbox can use and never see. A rule of the policy "
	"says where a secret goes (inject). Inside, a variable of its name holds a placeholder; "
	"the gate replaces that by the value on the way to the host of the rule, and removes the "
	"value from what comes back.",
	"set reads the value from standard input, from --file, or from what --command prints (run "
	"once, now, by sh): one line, without its newline. It is kept encrypted in the data "
	"directory, with a key that is kept elsewhere, and is never shown.",
	"--ttl makes it expire after that time, --uses after that many sandboxes have had it.",
	"--tenant is for whoever runs a daemon: the secret is that tenant's, and only that "
	"tenant's runs over HTTP may inject it. Over HTTP no secret can be set, listed or read.",
	NULL,
};

const struct verb_doc secret_doc = {
	.usage = {"set NAME [--file FILE | --command WORDS] [--ttl TIME] ...",
		  "ls [--json] [--tenant T]", "rm NAME [--tenant T]"},
	.paragraphs = paragraphs,
	.examples = {{"Keep a key:", "pinfold secret set OPENAI_API_KEY <key.txt"},
		     {"One of a command's, for an hour:",
		      "pinfold secret set GH_TOKEN --command 'gh auth token' --ttl 1h"}},
};

static int check_name(const char *name, struct err *e)
{
	if (secret_is_name(name))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is no name of a secret", name);
	return err_remedy(e, "use up to 63 letters, digits and _, no digit in front");
}

/* Its name is on record, and how long it counts; never the value. */
static int keep(const char *home, const struct vault_entry *one, const char *value,
		const char *tenant, struct err *e)
{
	struct noted n = {.kind = "secret.set"};

	noted_word(&n, "secret", one->name);
	noted_word(&n, "of", tenant);
	if (one->expires_ms)
		value_set(n.data, "until", value_of_instant(one->expires_ms));
	if (one->uses_left != UINT32_MAX)
		value_set(n.data, "uses", value_of_u64(one->uses_left));
	int r = noted_begin(&n, e);
	return r < 0 ? r : noted_end(&n, vault_set(home, one, value, e), e);
}

static int set(const char *home, const char *name, const struct request *r, struct err *e)
{
	struct vault_entry one = {.uses_left = r->uses ? (uint32_t)r->uses : UINT32_MAX};
	char value[SECRET_READ_SIZE];
	size_t len = 0;

	if (check_name(name, e) < 0)
		return -EINVAL;
	if (r->uses >= UINT32_MAX)
		return err_set(e, ERR_INVALID, "--uses: too many");
	one.created_ms = (uint64_t)time(NULL) * 1000;
	one.expires_ms = r->ttl_ms ? one.created_ms + r->ttl_ms : 0;
	(void)snprintf(one.name, sizeof(one.name), "%s", name);
	int result = secret_read(r->secret_file, r->secret_command, value, &len, e);
	one.len = (uint32_t)len;
	if (result >= 0)
		result = keep(home, &one, value, r->tenant, e);
	explicit_bzero(value, sizeof(value));
	return result;
}

static int forget(const char *home, const char *name, const char *tenant, struct err *e)
{
	struct noted n = {.kind = "secret.remove"};

	if (check_name(name, e) < 0)
		return -EINVAL;
	noted_word(&n, "secret", name);
	noted_word(&n, "of", tenant);
	int r = noted_begin(&n, e);
	return r < 0 ? r : noted_end(&n, vault_remove(home, name, e), e);
}

static void put_instant(struct json *j, const char *key, uint64_t ms)
{
	auto_value *v = value_of_instant(ms);

	json_str(j, key, value_str(v));
}

static int put_json(const struct vault_entry *list, int n)
{
	struct json j;

	json_init(&j, STDOUT_FILENO);
	show_list_begin(&j);
	for (int i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_str(&j, "name", list[i].name);
		put_instant(&j, "created", list[i].created_ms);
		put_instant(&j, "expires", list[i].expires_ms);
		if (list[i].uses_left != UINT32_MAX)
			json_u64(&j, "uses_left", list[i].uses_left);
		else
			json_none(&j, "uses_left");
		json_close(&j, '}');
	}
	return show_list_end(&j);
}

static void put_text(const struct vault_entry *list, int n)
{
	uint64_t now = (uint64_t)time(NULL) * 1000;

	printf("%-32s  %-8s  %s\n", "NAME", "LEFT", "USES");
	for (int i = 0; i < n; i++) {
		char left[24] = "-", uses[16] = "-";

		if (list[i].expires_ms && list[i].expires_ms <= now)
			(void)snprintf(left, sizeof(left), "expired");
		else if (list[i].expires_ms)
			(void)show_span(list[i].expires_ms - now, left, sizeof(left));
		if (list[i].uses_left != UINT32_MAX)
			(void)snprintf(uses, sizeof(uses), "%u", list[i].uses_left);
		printf("%-32s  %-8s  %s\n", list[i].name, left, uses);
	}
}

static int list_all(const char *home, const struct request *r, struct err *e)
{
	auto_free struct vault_entry *list = calloc(VAULT_MAX, sizeof(*list));
	int n = list ? vault_list(home, list, e) : err_sys(e, "secrets");

	if (n < 0)
		return n;
	if (r->json)
		return put_json(list, n) < 0 ? -EIO : 0;
	put_text(list, n);
	return 0;
}

/* Where the keeper of workspaces looks for what is a tenant's; who runs the daemon is at home. */
static int find_home(const char *tenant, char *home, size_t size, struct err *e)
{
	struct pinfold_error failure;
	char own[32];

	if (pinfold_home(home, size, &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	(void)snprintf(own, sizeof(own), "uid-%u", (unsigned)geteuid());
	if (!tenant || strcmp(tenant, own) == 0)
		return 0;
	size_t n = strlen(home);
	if (tenant_is_valid(tenant) &&
	    (size_t)snprintf(home + n, size - n, "/tenants/%s", tenant) < size - n)
		return 0;
	(void)err_set(e, ERR_INVALID, "--tenant: \"%.80s\" is no name of a tenant", tenant);
	return err_remedy(e, "use that of a token, or uid-N");
}

static int refuse_words(int argc, char **argv, struct err *e)
{
	bool is_set = argc && strcmp(argv[0], "set") == 0;
	bool is_ls = argc && strcmp(argv[0], "ls") == 0;
	bool is_known = is_set || is_ls || (argc && strcmp(argv[0], "rm") == 0);

	if (is_known && argc == 1)
		(void)err_set(e, ERR_INVALID, "secret %s: NAME is missing", argv[0]);
	else if (is_known)
		(void)err_set(e, ERR_INVALID, "secret %s: \"%.80s\" is one word too many", argv[0],
			      argv[is_ls ? 1 : 2]);
	else if (argc)
		(void)err_set(e, ERR_INVALID, "secret: \"%.80s\" is none of set, ls, rm", argv[0]);
	else
		(void)err_set(e, ERR_INVALID, "secret: set, ls or rm is missing");
	if (is_set && argc > 2)
		return err_remedy(e,
				  "a value is not given as a word, which others could see: pinfold "
				  "secret set NAME reads it from standard input, or --file FILE");
	return err_remedy(
		e, "use pinfold secret set NAME, pinfold secret ls or pinfold secret rm NAME");
}

static int act(const struct request *r, int argc, char **argv, struct err *e)
{
	char home[4096];

	if (r->hold_fd && r->give.items)
		return secret_give(r, e);
	if (find_home(r->tenant, home, sizeof(home), e) < 0)
		return -EINVAL;
	if (argc == 2 && strcmp(argv[0], "set") == 0)
		return set(home, argv[1], r, e);
	if (argc == 1 && strcmp(argv[0], "ls") == 0)
		return list_all(home, r, e);
	if (argc == 2 && strcmp(argv[0], "rm") == 0)
		return forget(home, argv[1], r->tenant, e);
	return refuse_words(argc, argv, e);
}

int cmd_secret(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct rlimit none = {0, 0};
	struct err e = ERR_INIT;
	int used = 0, status = 0, n = 0;
	char *words[4], *options[64];

	/* Values are in no core dump, and nobody of this user looks into our memory. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Options may stand behind the words that say what to do. */
	while (n < 2 && n < argc && argv[n][0] != '-') {
		words[n] = argv[n];
		n++;
	}
	if (argc - n >= 63)
		return say_failure((err_set(&e, ERR_INVALID, "secret: too many words"), &e), false);
	for (int i = n; i <= argc; i++)
		options[i - n] = argv[i];
	if (!request_begin(&r, v, argc - n, options, &used, &status))
		return status;
	for (int i = used; i < argc - n && n < 4; i++)
		words[n++] = options[i];
	return act(&r, n, words, &e) < 0 ? say_failure(&e, r.json) : 0;
}
