/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/limit.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Changes what a workspace may hold. Commands that are running keep what they began with. "
	"A limit below what it already holds is accepted; then nothing more can be written to it.",
	"With --total, limits all workspaces of this data directory together: their bytes, with "
	"those of images and packages, and their number. A user has one data directory, and so "
	"has each tenant of the HTTP API. There is no such limit until one is set; --unlimited "
	"takes both away.",
	"Without a limit to set, it shows the present ones.",
	NULL,
};

const struct verb_doc limit_doc = {
	.usage = {"[--json] [--disk SIZE] [--inodes COUNT] NAME",
		  "[--json] --total [--disk SIZE] [--workspaces COUNT] [--unlimited]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"A workspace is full:", "pinfold limit --disk 20G demo"},
			{"For all together:", "pinfold limit --total --disk 100G --workspaces 50"},
			{"What may I have?", "pinfold limit --total"},
		},
};

static int end(struct json *j)
{
	json_close(j, '}');
	return show_end(j) < 0 ? EXIT_PINFOLD : 0;
}

static int show_workspace(struct named *n)
{
	struct pinfold_workspace_info w;
	struct pinfold_error error;
	char size[24];
	struct json j;

	if (pinfold_workspace_get(n->store, n->name, &w, &error) < 0)
		return say_library_failure(&error, n->r.json);
	if (!n->r.json) {
		printf("disk      %s\ninodes    %llu\n",
		       show_size(w.disk_limit_bytes, size, sizeof(size)),
		       (unsigned long long)w.inode_limit);
		return help_flush();
	}
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_str(&j, "name", w.name);
	json_u64(&j, "disk_limit_bytes", w.disk_limit_bytes);
	json_u64(&j, "inode_limit", w.inode_limit);
	return end(&j);
}

static void put_limit(struct json *j, const char *key, uint64_t value)
{
	if (value)
		json_u64(j, key, value);
	else
		json_none(j, key);
}

static int show_total(const struct pinfold_total *t, bool json)
{
	char most[24] = "no limit", used[24], count[24] = "no limit";
	struct json j;

	if (json) {
		json_init(&j, STDOUT_FILENO);
		json_open(&j, NULL, '{');
		put_limit(&j, "disk_limit_bytes", t->disk_bytes);
		json_u64(&j, "disk_bytes", t->disk_used_bytes);
		put_limit(&j, "workspace_limit", t->workspaces);
		json_u64(&j, "workspaces", t->workspaces_used);
		return end(&j);
	}
	if (t->disk_bytes)
		(void)show_size(t->disk_bytes, most, sizeof(most));
	if (t->workspaces)
		(void)snprintf(count, sizeof(count), "%llu", (unsigned long long)t->workspaces);
	printf("disk        %s of %s\nworkspaces  %llu of %s\n",
	       show_size(t->disk_used_bytes, used, sizeof(used)), most,
	       (unsigned long long)t->workspaces_used, count);
	return help_flush();
}

static int limit_total(struct named *n)
{
	struct pinfold_error error;
	struct pinfold_total t;
	const struct request *r = &n->r;

	if (pinfold_total_get(n->store, &t, &error) < 0)
		return say_library_failure(&error, r->json);
	t.disk_bytes = r->run.disk_bytes ? r->run.disk_bytes : r->unlimited ? 0 : t.disk_bytes;
	t.workspaces = r->workspaces ? r->workspaces : r->unlimited ? 0 : t.workspaces;
	if ((r->run.disk_bytes || r->workspaces || r->unlimited) &&
	    pinfold_total_set(n->store, &t, &error) < 0)
		return say_library_failure(&error, r->json);
	return show_total(&t, r->json);
}

static int check(const struct request *r, int words, struct err *e)
{
	if (r->total ? words > 0 || r->inodes : words != 1 || r->workspaces || r->unlimited) {
		(void)err_set(e, ERR_INVALID, "%s",
			      r->total	   ? "--total: takes no NAME and no --inodes"
			      : words == 1 ? "--workspaces, --unlimited: need --total"
					   : "NAME: is missing, or is not one");
		return err_remedy(e, "name one workspace, or say --total");
	}
	return 0;
}

int cmd_limit(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, -1, 0, &status))
		return status;
	if (check(&n.r, n.name ? 1 : 0, &e) < 0)
		return say_failure(&e, n.r.json);
	if (n.r.total)
		return limit_total(&n);
	if ((n.r.run.disk_bytes || n.r.inodes) &&
	    pinfold_workspace_limit(n.store, n.name, n.r.run.disk_bytes, n.r.inodes, &error) < 0)
		return say_library_failure(&error, n.r.json);
	return show_workspace(&n);
}
