/* SPDX-License-Identifier: Apache-2.0 */
/* Root file systems that sandboxes can begin with: image import, ls, info, rm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Imports a root file system as an image, which run, shell and new then use instead of the "
	"host's /usr: --image NAME. SRC is a tar file (plain, or compressed with gzip, xz or "
	"zstd), an archive of docker save, an OCI layout (in a tar, or a directory), a directory, "
	"or - for standard input. NAME may have a :TAG.",
	"What an archive names by a digest has to match it. Names that lead out, devices and "
	"set-id bits never get in. Of an image's configuration only PATH is used; info shows the "
	"rest. An image never changes, and cannot be removed while a workspace stands on it.",
	NULL,
};

const struct verb_doc image_doc = {
	.usage = {"import [--disk SIZE] [--json] NAME SRC", "ls [--json]", "info|rm [--json] NAME"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"From docker:", "docker save alpine | pinfold image import alpine -"},
			{"A program in it:", "pinfold run --image alpine -- cat /etc/os-release"},
			{"What is there?", "pinfold image ls"},
			{"Away with it:", "pinfold image rm alpine"},
		},
};

static void put_env(struct json *j, const char *env)
{
	json_open(j, "env", '[');
	for (size_t n = 0; *env; env += n + (env[n] == '\n')) {
		n = strcspn(env, "\n");
		json_bytes(j, NULL, env, n);
	}
	json_close(j, ']');
}

static void put_image(struct json *j, const struct pinfold_image_info *i)
{
	json_open(j, NULL, '{');
	json_str(j, "name", i->name);
	json_str(j, "digest", i->digest);
	json_bytes(j, "source", i->source, strlen(i->source));
	show_time(j, "created", i->created_ms);
	json_u64(j, "layers", i->layers);
	json_u64(j, "files", i->files);
	json_u64(j, "bytes", i->bytes);
	json_u64(j, "workspaces", i->workspaces);
	put_env(j, i->env);
	json_bytes(j, "command", i->command, strlen(i->command));
	json_bytes(j, "workdir", i->workdir, strlen(i->workdir));
	json_close(j, '}');
}

static int show_one(const struct pinfold_image_info *i, bool as_json)
{
	char size[24];
	struct json j;

	if (as_json) {
		json_init(&j, STDOUT_FILENO);
		put_image(&j, i);
		return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
	}
	printf("name        %s\ndigest      %s\nsize        %s in %llu files\n", i->name, i->digest,
	       show_size(i->bytes, size, sizeof(size)), (unsigned long long)i->files);
	printf("layers      %llu\nworkspaces  %llu\n", (unsigned long long)i->layers,
	       (unsigned long long)i->workspaces);
	printf("source      ");
	show_text(i->source[0] ? i->source : "-");
	printf("command     ");
	show_text(i->command[0] ? i->command : "-");
	printf("workdir     ");
	show_text(i->workdir[0] ? i->workdir : "-");
	for (const char *env = i->env; *env;) {
		char line[sizeof(i->env)];
		size_t n = strcspn(env, "\n");

		(void)snprintf(line, sizeof(line), "%.*s", (int)n, env);
		printf("env         ");
		show_text(line);
		env += n + (env[n] == '\n');
	}
	return help_flush();
}

static int info(struct named *n)
{
	struct pinfold_image_info i;
	struct pinfold_error error;

	if (pinfold_image_get(n->store, n->word[0], &i, &error) < 0)
		return say_library_failure(&error, n->r.json);
	return show_one(&i, n->r.json);
}

static int import(struct named *n)
{
	const char *src = n->word[1];
	auto_close int fd = strcmp(src, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						  : open(src, O_RDONLY | O_CLOEXEC);
	struct pinfold_image_options o = {
		.size = sizeof(o), .source = src, .disk_bytes = n->r.run.disk_bytes};
	struct pinfold_archive_stats s;
	struct pinfold_error error;
	struct err e = ERR_INIT;

	if (fd < 0) {
		(void)err_sys(&e, "%s", src);
		(void)err_remedy(&e,
				 "name a file or directory that exists, or - for standard input");
		return say_failure(&e, n->r.json);
	}
	if (pinfold_image_import(n->store, n->word[0], fd, &o, &s, &error) < 0)
		return say_library_failure(&error, n->r.json);
	if (s.devices || s.setid || s.attributes)
		say("left out: %llu devices, set-id bits of %llu, %llu attributes",
		    (unsigned long long)s.devices, (unsigned long long)s.setid,
		    (unsigned long long)s.attributes);
	return info(n);
}

static int list(struct named *n)
{
	struct pinfold_image_info *all = NULL;
	struct pinfold_error error;
	char size[24], age[24];
	uint64_t now = show_now_ms();
	size_t count = 0;
	struct json j;

	if (pinfold_image_list(n->store, &all, &count, &error) < 0)
		return say_library_failure(&error, n->r.json);
	if (n->r.json)
		show_list_begin(&j);
	else
		printf("%-24s  %8s  %8s  %10s  %5s  %s\n", "NAME", "SIZE", "FILES", "WORKSPACES",
		       "AGE", "DIGEST");
	for (size_t i = 0; i < count; i++) {
		if (n->r.json) {
			put_image(&j, &all[i]);
			continue;
		}
		printf("%-24s  %8s  %8llu  %10llu  %5s  %.19s\n", all[i].name,
		       show_size(all[i].bytes, size, sizeof(size)),
		       (unsigned long long)all[i].files, (unsigned long long)all[i].workspaces,
		       show_span(now > all[i].created_ms ? now - all[i].created_ms : 0, age,
				 sizeof(age)),
		       all[i].digest);
	}
	pinfold_image_list_free(all);
	if (n->r.json)
		return show_list_end(&j) < 0 ? EXIT_PINFOLD : 0;
	return help_flush();
}

static int discard(struct named *n)
{
	struct pinfold_error error;

	if (pinfold_image_remove(n->store, n->word[0], &error) < 0)
		return say_library_failure(&error, n->r.json);
	return 0;
}

static const struct part {
	const char *name;
	int words;
	int (*run)(struct named *n);
} parts[] = {{"import", 2, import}, {"ls", 0, list}, {"info", 1, info}, {"rm", 1, discard}};

static int find(const struct named *n, const struct part **ret, struct err *e)
{
	const char *name = n->name ? n->name : "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !*ret; i++)
		if (strcmp(parts[i].name, name) == 0)
			*ret = &parts[i];
	if (!*ret) {
		(void)err_set(e, ERR_INVALID, "image: \"%.40s\" is none of its verbs", name);
		return err_remedy(e, "use import, ls, info or rm");
	}
	int have = 0;
	while (have < 2 && n->word[have] && n->word[have][0])
		have++;
	if (have != (*ret)->words) {
		(void)err_set(e, ERR_INVALID, "image %s: takes %d words, and there are %d", name,
			      (*ret)->words, have);
		return err_remedy(e, "pinfold image --help shows them");
	}
	if (n->r.run.disk_bytes && (*ret)->run != import)
		return err_set(e, ERR_INVALID, "--disk: only with image import");
	return 0;
}

int cmd_image(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	const struct part *part = NULL;
	struct err e = ERR_INIT;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, -1, 2, &status))
		return status;
	if (find(&n, &part, &e) < 0)
		return say_failure(&e, n.r.json);
	status = part->run(&n);
	store_leave(&n.store);
	return status;
}
