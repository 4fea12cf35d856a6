/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold trust: a person says that a project's pinfold.yaml may count. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/help.h"
#include "cmd/noted.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "egress/trust.h"

static const char *const paragraphs[] = {
	"A pinfold.yaml in a project proposes what its runs may reach. It is only a proposal, since "
	"an agent may have written it: pinfold run --dir takes it into account after you have trusted "
	"it, and again after every change. Read it first.",
	"PATH is the file or its directory; without it the current directory. What was trusted is "
	"remembered by a hash in `trusted` of the configuration directory.",
	NULL,
};

const struct verb_doc trust_doc = {
	.usage = {"[--json] [PATH]", "--forget [PATH]", "--list [--json]"},
	.paragraphs = paragraphs,
	.examples = {{"Trust the proposal of this project:", "pinfold trust"},
		     {"What is trusted?", "pinfold trust --list"},
		     {"No longer:", "pinfold trust --forget ~/project"}},
};

static const char *state_word(enum trust_state state)
{
	static const char *const words[] = {
		[TRUST_NONE] = "gone",
		[TRUST_YES] = "trusted",
		[TRUST_NO] = "changed",
		[TRUST_CHANGED] = "changed",
	};

	return words[state];
}

static int print_one(const char *path, enum trust_state state, void *arg)
{
	(void)arg;
	printf("%-8s ", state_word(state));
	show_text(path);
	return 0;
}

static int put_one(const char *path, enum trust_state state, void *arg)
{
	struct json *j = arg;

	json_open(j, NULL, '{');
	json_bytes(j, "path", path, strlen(path));
	json_str(j, "state", state_word(state));
	json_close(j, '}');
	return 0;
}

static int list(bool as_json, struct err *e)
{
	struct json j;

	if (!as_json)
		return trust_list(print_one, NULL, e) < 0 ? -EINVAL : help_flush();
	show_list_begin(&j);
	if (trust_list(put_one, &j, e) < 0)
		return -EINVAL;
	return show_list_end(&j) < 0 ? -EIO : 0;
}

static int add(const char *path, bool as_json, struct err *e)
{
	auto_trust struct trust t = {.text = NULL};
	struct noted n = {.kind = "trust.add"};
	struct json j;

	noted_word(&n, "path", path);
	if (noted_begin(&n, e) < 0)
		return -EIO;
	int r = trust_add(path, &t, e);
	noted_word(&n, "file", r < 0 ? NULL : t.path);
	if (noted_end(&n, r, e) < 0)
		return -EINVAL;
	if (!as_json) {
		printf("trusted: ");
		show_text(t.path);
		return help_flush();
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_bytes(&j, "path", t.path, strlen(t.path));
	json_str(&j, "state", state_word(t.state));
	json_close(&j, '}');
	return show_end(&j) < 0 ? -EIO : 0;
}

static int forget(const char *path, struct err *e)
{
	struct noted n = {.kind = "trust.forget"};

	noted_word(&n, "path", path);
	int r = noted_begin(&n, e);
	return r < 0 ? r : noted_end(&n, trust_forget(path, e), e);
}

int cmd_trust(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0, result;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	int words = argc - used, taken = words > 0 && !r.list;
	const char *path = taken ? argv[used] : ".";
	if (r.list && r.forget) {
		(void)err_set(&e, ERR_INVALID, "--list and --forget exclude each other");
		result = err_remedy(&e, "use one of them");
	} else if (request_end(words - taken, argv + used + taken, &e) < 0) {
		result = -EINVAL;
	} else if (r.list) {
		result = list(r.json, &e);
	} else {
		result = r.forget ? forget(path, &e) : add(path, r.json, &e);
	}
	return result < 0 ? say_failure(&e, r.json) : result;
}
