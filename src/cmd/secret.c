/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "egress/vault.h"

static const char *const paragraphs[] = {
	"What programs in a sandbox may use and never see. A rule of the policy says where a secret "
	"goes (inject); inside there is a placeholder under its name, and the gate puts the value "
	"in its place on the way to that host, and takes it out of what comes back.",
	"set reads the value from standard input, or from --file; one line, without its end. It is "
	"kept encrypted in the data directory, with a key that lies elsewhere, and is never shown.",
	"--ttl ends it after that time, --uses after that many sandboxes that had it.",
	NULL,
};

const struct verb_doc secret_doc = {
	.usage = {"set NAME [--file FILE] [--ttl DURATION] [--uses N]", "ls [--json]", "rm NAME"},
	.paragraphs = paragraphs,
	.examples = {{"Keep a key:", "pinfold secret set OPENAI_API_KEY <key.txt"},
		     {"One of a command's, for an hour:",
		      "gh auth token | pinfold secret set GH_TOKEN --ttl 1h"}},
};

/* Somebody may look over the shoulder of who types it. */
static ssize_t read_terminal(char *value, size_t size)
{
	struct termios old, quiet;
	size_t len = 0;
	char c;

	if (tcgetattr(STDIN_FILENO, &old) < 0)
		return -errno;
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	(void)fprintf(stderr, "value: ");
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) < 0)
		return -errno;
	while (len < size && read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		value[len++] = c;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	(void)fprintf(stderr, "\n");
	return (ssize_t)len;
}

static int read_value(const char *file, char *value, size_t size, size_t *ret_len, struct err *e)
{
	auto_close int own = file ? open(file, O_RDONLY | O_CLOEXEC) : FD_NONE;
	size_t len = 0;

	if (file && own < 0)
		return err_sys(e, "--file: open %s", file);
	if (!file && isatty(STDIN_FILENO)) {
		ssize_t n = read_terminal(value, size);

		len = n < 0 ? 0 : (size_t)n;
	} else if (fd_read_max(file ? own : STDIN_FILENO, value, size, &len) < 0) {
		return err_sys(e, "read the value");
	}
	if (len && value[len - 1] == '\n')
		len--;
	if (len && value[len - 1] == '\r')
		len--;
	if (!secret_is_value(value, len)) {
		(void)err_set(e, ERR_INVALID, "the value is no line of %u to %u printable bytes",
			      SECRET_VALUE_MIN, SECRET_VALUE_MAX);
		return err_remedy(e, "give the key itself on standard input, or with --file");
	}
	*ret_len = len;
	return 0;
}

static int check_name(const char *name, struct err *e)
{
	if (secret_is_name(name))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is no name of a secret", name);
	return err_remedy(e, "use up to 63 letters, digits and _, no digit in front");
}

static int set(const char *home, const char *name, const struct request *r, struct err *e)
{
	struct vault_entry one = {.uses_left = r->uses ? (uint32_t)r->uses : UINT32_MAX};
	char value[SECRET_VALUE_MAX + 3];
	size_t len = 0;

	if (check_name(name, e) < 0)
		return -EINVAL;
	if (r->uses >= UINT32_MAX)
		return err_set(e, ERR_INVALID, "--uses: too many");
	one.created_ms = (uint64_t)time(NULL) * 1000;
	one.expires_ms = r->ttl_ms ? one.created_ms + r->ttl_ms : 0;
	(void)snprintf(one.name, sizeof(one.name), "%s", name);
	int result = read_value(r->secret_file, value, sizeof(value), &len, e);
	one.len = (uint32_t)len;
	if (result >= 0)
		result = vault_set(home, &one, value, e);
	explicit_bzero(value, sizeof(value));
	return result;
}

static void put_json(const struct vault_entry *list, int n)
{
	struct json j;

	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '[');
	for (int i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_str(&j, "name", list[i].name);
		json_u64(&j, "created_s", list[i].created_ms / 1000);
		if (list[i].expires_ms)
			json_u64(&j, "expires_s", list[i].expires_ms / 1000);
		else
			json_none(&j, "expires_s");
		if (list[i].uses_left != UINT32_MAX)
			json_u64(&j, "uses_left", list[i].uses_left);
		else
			json_none(&j, "uses_left");
		json_close(&j, '}');
	}
	json_close(&j, ']');
	(void)json_end(&j); /* a reader that left needs no more */
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
		put_json(list, n);
	else
		put_text(list, n);
	return 0;
}

static int act(const struct request *r, int argc, char **argv, struct err *e)
{
	struct pinfold_error failure;
	char home[4096];

	if (pinfold_home(home, sizeof(home), &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	if (argc == 2 && strcmp(argv[0], "set") == 0)
		return set(home, argv[1], r, e);
	if (argc == 1 && strcmp(argv[0], "ls") == 0)
		return list_all(home, r, e);
	if (argc == 2 && strcmp(argv[0], "rm") == 0)
		return check_name(argv[1], e) < 0 ? -EINVAL : vault_remove(home, argv[1], e);
	(void)err_set(e, ERR_INVALID, "secret: what is to be done is not clear");
	return err_remedy(e, "use pinfold secret set NAME, ls or rm NAME");
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
