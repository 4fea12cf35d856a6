/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/private.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/settle.h"
#include "cmd/standing.h"
#include "cmd/verb.h"
#include "mcp/mcp.h"

static const char *const paragraphs[] = {
	"An MCP server that an agent starts and talks to: it offers tools to run commands and "
	"code, to read, write and list files, and to start and manage processes, each in a "
	"sandbox. One message a line on standard input and output; logs go to standard error.",
	"If there is a daemon, the sandboxes are there, and outlive this process by --idle. If "
	"there is none, the first tool call starts one that belongs to this process and ends with "
	"it. Nothing is made before that.",
	"Tools see nothing of the host except what --transfer-dir names.",
	NULL,
};

const struct verb_doc mcp_doc = {
	.usage = {"[options]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"For Claude Code:", "claude mcp add pinfold -- pinfold mcp"},
			{"For Codex:", "codex mcp add pinfold -- pinfold mcp"},
			{"With files of one directory:", "pinfold mcp --transfer-dir ~/data"},
		},
};

struct home {
	struct mcp_home ops;
	struct private_daemon daemon;
	bool own; /* not the shared daemon, even where there is one */
};

static int begin(struct mcp_home *h, int *ret_fd, struct err *e)
{
	struct home *home = (struct home *)h;
	struct pinfold_serve_options o = {
		.size = sizeof(o), .warm = 1, .python = 1, .node = UINT32_MAX, .r = UINT32_MAX};
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error none;
	size_t n = 0;

	if (!home->own && pinfold_sandbox_list(&list, &n, &none) == 0) {
		pinfold_sandbox_list_free(list);
		return 1;
	}
	private_stop(&home->daemon); /* one that died */
	if (private_begin(&home->daemon, &o, e) < 0)
		return -1;
	*ret_fd = home->daemon.log;
	return 0;
}

static int ready(struct mcp_home *h, struct err *e)
{
	return private_look(&((struct home *)h)->daemon, e);
}

/* What lives in a daemon of our own ends with us; told so, it need not wait for it. */
static void end(struct home *home)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error ignored;
	size_t n = 0;

	if (home->daemon.pid > 0 && pinfold_sandbox_list(&list, &n, &ignored) == 0) {
		for (size_t i = 0; i < n; i++)
			(void)pinfold_sandbox_destroy(list[i].id, &ignored);
		pinfold_sandbox_list_free(list);
	}
	private_stop(&home->daemon);
}

static enum mcp_structured structured_of(const char *word)
{
	return !word || !strcmp(word, "auto") ? MCP_STRUCTURED_AUTO
	       : !strcmp(word, "always")      ? MCP_STRUCTURED_ALWAYS
					      : MCP_STRUCTURED_NEVER;
}

int cmd_mcp(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct home home = {.ops = {.begin = begin, .ready = ready}, .daemon = PRIVATE_INIT};
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0 || standing_check(&r, "--policy", &e) < 0)
		return say_failure(&e, false);
	struct mcp_options o = {
		.core = r.tools && !strcmp(r.tools, "core"),
		.structured = structured_of(r.structured),
		.resource_links = r.resource_links,
		.transfer_dir = r.transfer_dir,
		.ask = r.ask,
		.idle_ms = r.idle_ms,
		.policy = r.policy_text,
		/* As a run of an ordinary user without a daemon; root's daemon holds all of
		 * them. */
		.limits = geteuid() == 0 ? NULL : "best-effort",
	};
	home.own = r.no_daemon;
	tools_register();
	int n = mcp_stdio(&o, &home.ops, &e);
	end(&home);
	settle_here();
	return n < 0 ? say_failure(&e, false) : 0;
}
