/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces by name: new, ls, info, rm, and what all their verbs share. */
#include "cmd/workspace.h"

#include <pinfold/gc.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/settle.h"
#include "cmd/show.h"
#include "cmd/verb.h"

bool store_ready(struct pinfold_store **ret, bool json)
{
	struct pinfold_error error;

	if (pinfold_store_open(NULL, ret, &error) == 0)
		return true;
	(void)say_library_failure(&error, json);
	return false;
}

void store_leave(struct pinfold_store **store)
{
	if (*store && pinfold_store_unsettled(*store))
		settle_store();
	pinfold_store_close(*store);
	*store = NULL;
}

/* The n-th word of a usage that has to be given. */
static void word_of_usage(const char *usage, int n, char *ret, size_t size)
{
	for (size_t len; *usage; usage += len + strspn(usage + len, " ")) {
		len = usage[0] == '[' ? strcspn(usage, "]") + 1 : strcspn(usage, " .");
		if (usage[0] == '[' || n-- > 0)
			continue;
		(void)snprintf(ret, size, "%.*s", (int)len, usage);
		return;
	}
	(void)snprintf(ret, size, "a word");
}

static int take_words(struct named *n, const struct verb *v, int argc, char **argv, int least,
		      int most, struct err *e)
{
	const char *usage = v->doc->usage[0];
	char word[32];

	for (int i = 0; i <= least; i++) {
		if (i < argc && argv[i][0])
			continue;
		word_of_usage(usage, i, word, sizeof(word));
		(void)err_set(e, ERR_INVALID, "%s: is missing", word);
		return err_remedy(e, "write pinfold %s %s%s", v->name, usage,
				  i ? "" : "; pinfold ls lists the workspaces");
	}
	if (argc > 1 + most)
		return request_end(argc - 1 - most, argv + 1 + most, e);
	n->name = argv[0];
	n->words = argv + 1;
	for (int i = 0; i < argc - 1 && i < 2; i++)
		n->word[i] = argv[1 + i];
	return 0;
}

bool named_begin(struct named *n, const struct verb *v, int argc, char **argv, int least, int most,
		 int *ret_status)
{
	struct err e = ERR_INIT;
	char **words = NULL;
	int used = 0, count = 0;

	/* Options may stand before and behind the words. */
	words = n->all = calloc((size_t)argc + 1, sizeof(*words));
	if (!words) {
		*ret_status = EXIT_PINFOLD;
		return false;
	}
	for (int left = argc; left > 0; left--, argv++) {
		if (!request_begin(&n->r, v, left, argv, &used, ret_status))
			return false;
		left -= used;
		argv += used;
		if (left > 0)
			words[count++] = *argv;
		else
			break;
	}
	if (take_words(n, v, count, words, least, most, &e) < 0) {
		*ret_status = say_failure(&e, n->r.json);
		return false;
	}
	if (store_ready(&n->store, n->r.json))
		return true;
	*ret_status = EXIT_PINFOLD;
	return false;
}

void named_done(struct named *n)
{
	pinfold_store_close(n->store);
	free(n->all);
	request_done(&n->r);
}

static const char *const new_paragraphs[] = {
	"Makes a workspace: files that last. Each command that pinfold exec runs in it is a fresh "
	"sandbox; what it changes stays, as a layer of its own that pinfold undo takes back.",
	"With --dir, a directory of the host is shown at /work, copy-on-write: it is never written. "
	"With --image, it begins with the files of an image (pinfold image).",
	NULL,
};

const struct verb_doc new_doc = {
	.usage = {"[options] NAME"},
	.paragraphs = new_paragraphs,
	.examples =
		{
			{"A place for a project:",
			 "pinfold new demo; pinfold exec demo -- sh -c 'echo hello > a.txt'"},
			{"On top of this directory:", "pinfold new review --dir ."},
			{"On an image:", "pinfold new tools --image alpine"},
		},
};

int cmd_new(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	struct json j;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 0, &status))
		return status;
	struct pinfold_workspace_options o = {.size = sizeof(o),
					      .dir = n.r.run.dir,
					      .disk_bytes = n.r.run.disk_bytes,
					      .inodes = n.r.inodes,
					      .hide = (const char *const *)n.r.hide.items,
					      .show = (const char *const *)n.r.show.items,
					      .image = n.r.run.image};
	if (pinfold_workspace_new(n.store, n.name, &o, &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (!n.r.json)
		return 0;
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_str(&j, "name", n.name);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

static void put_workspace(struct json *j, const struct pinfold_workspace_info *w)
{
	json_open(j, NULL, '{');
	json_str(j, "name", w->name);
	json_str(j, "status", w->busy ? "busy" : "idle");
	json_u64(j, "snapshot", w->head);
	show_time(j, "created", w->created_ms);
	json_u64(j, "layers", w->layers);
	json_u64(j, "own_bytes", w->own_bytes);
	json_u64(j, "shared_bytes", w->shared_bytes);
	json_u64(j, "disk_limit_bytes", w->disk_limit_bytes);
	json_str(j, "disk_held_by", w->disk_quota ? "quota" : "polled");
	json_u64(j, "inode_limit", w->inode_limit);
	json_str(j, "image", w->image);
	if (w->dir[0])
		json_bytes(j, "dir", w->dir, strlen(w->dir));
	else
		json_none(j, "dir");
	json_close(j, '}');
}

static const char *const ls_paragraphs[] = {
	"Lists the workspaces. OWN is what removing one gives back; SHARED is what others have, too.",
	"With --sizes, the last line is what all workspaces and images have together, where every "
	"layer counts once.",
	NULL,
};

const struct verb_doc ls_doc = {
	.usage = {"[--json] [--sizes]"},
	.paragraphs = ls_paragraphs,
	.examples = {{"What is there?", "pinfold ls"},
		     {"In a script:", "pinfold ls --json"},
		     {"What does it take?", "pinfold ls --sizes"}},
};

static void print_table(const struct pinfold_workspace_info *list, size_t n)
{
	char age[24], own[24], shared[24];
	uint64_t now = show_now_ms();

	printf("%-24s  %-6s  %8s  %8s  %8s  %5s  %s\n", "NAME", "STATUS", "SNAPSHOT", "OWN",
	       "SHARED", "AGE", "DIR");
	for (size_t i = 0; i < n; i++) {
		const struct pinfold_workspace_info *w = &list[i];

		printf("%-24s  %-6s  %8llu  %8s  %8s  %5s  ", w->name, w->busy ? "busy" : "idle",
		       (unsigned long long)w->head, show_size(w->own_bytes, own, sizeof(own)),
		       show_size(w->shared_bytes, shared, sizeof(shared)),
		       show_span(now > w->created_ms ? now - w->created_ms : 0, age, sizeof(age)));
		show_text(w->dir[0] ? w->dir : "-");
	}
}

static void print_sizes(const struct pinfold_store_sizes *s)
{
	char all[24], shared[24], left[24];

	printf("together %s in %llu layers, %s of it shared; %s free\n",
	       show_size(s->bytes, all, sizeof(all)), (unsigned long long)s->layers,
	       show_size(s->shared_bytes, shared, sizeof(shared)),
	       show_size(s->free_bytes, left, sizeof(left)));
}

static int put_list(const struct pinfold_workspace_info *list, size_t n,
		    const struct pinfold_store_sizes *sizes)
{
	struct json j;

	show_list_begin(&j);
	for (size_t i = 0; i < n; i++)
		put_workspace(&j, &list[i]);
	if (!sizes)
		return show_list_end(&j) < 0 ? EXIT_PINFOLD : 0;
	json_close(&j, ']');
	json_none(&j, "next");
	json_open(&j, "sizes", '{');
	json_u64(&j, "layers", sizes->layers);
	json_u64(&j, "bytes", sizes->bytes);
	json_u64(&j, "shared_bytes", sizes->shared_bytes);
	json_u64(&j, "free_bytes", sizes->free_bytes);
	json_close(&j, '}');
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

int cmd_ls(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_workspace_info *list = NULL;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	struct pinfold_store_sizes sizes;
	size_t count = 0;
	int used = 0, status = 0;

	if (!request_begin(&n.r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, n.r.json);
	if (!store_ready(&n.store, n.r.json))
		return EXIT_PINFOLD;
	if (pinfold_workspace_list(n.store, &list, &count, &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (n.r.sizes && pinfold_store_sizes(n.store, &sizes, &error) < 0) {
		pinfold_workspace_list_free(list);
		return say_library_failure(&error, n.r.json);
	}
	if (n.r.json) {
		status = put_list(list, count, n.r.sizes ? &sizes : NULL);
	} else {
		print_table(list, count);
		if (n.r.sizes)
			print_sizes(&sizes);
		status = help_flush();
	}
	pinfold_workspace_list_free(list);
	return status;
}

static const char *const info_paragraphs[] = {
	"Shows the state of a workspace: its snapshot, its size, its limits.",
	NULL,
};

const struct verb_doc info_doc = {
	.usage = {"[--json] NAME"},
	.paragraphs = info_paragraphs,
	.examples = {{"How large is it?", "pinfold info demo"}},
};

int cmd_info(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_workspace_info w;
	struct pinfold_error error;
	char own[24], shared[24], limit[24];
	struct json j;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 0, &status))
		return status;
	if (pinfold_workspace_get(n.store, n.name, &w, &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (n.r.json) {
		json_init(&j, STDOUT_FILENO);
		put_workspace(&j, &w);
		return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
	}
	printf("name      %s\nstatus    %s\nsnapshot  %llu\nlayers    %u\n", w.name,
	       w.busy ? "busy" : "idle", (unsigned long long)w.head, w.layers);
	printf("disk      %s of its own, %s shared, of at most %s, %s\n",
	       show_size(w.own_bytes, own, sizeof(own)),
	       show_size(w.shared_bytes, shared, sizeof(shared)),
	       show_size(w.disk_limit_bytes, limit, sizeof(limit)),
	       w.disk_quota ? "held by a quota" : "looked at while a command runs");
	printf("image     %s\ndir       ", w.image);
	show_text(w.dir[0] ? w.dir : "-");
	return help_flush();
}

static const char *const rm_paragraphs[] = {
	"Removes workspaces with their history and gives their space back. Workspaces that were forked from "
	"one stay as they are. One in which a command runs is not removed: it is busy.",
	NULL,
};

const struct verb_doc rm_doc = {
	.usage = {"[options] NAME..."},
	.paragraphs = rm_paragraphs,
	.examples = {{"Away with it:", "pinfold rm demo"}},
};

int cmd_rm(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, argc, &status))
		return status;
	/* All are tried; as data there is one error, and so the first ends it. */
	for (char **name = n.words - 1; *name && !(status && n.r.json); name++)
		if (pinfold_workspace_remove(n.store, *name, &error) < 0 &&
		    !(n.r.force && strcmp(error.code, "not_found") == 0))
			status = say_library_failure(&error, n.r.json);
	return status;
}
