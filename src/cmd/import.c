/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
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
	"Brings files into a workspace, below --to PATH. Without it, what pinfold export wrote "
	"goes to where it was, and everything else to /home/user. SRC is a tar file (plain, or "
	"compressed with gzip, xz or zstd), an image as docker save and OCI tools write it, whose "
	"layers are stacked, a directory, or - for standard input. A workspace that does not "
	"exist is made.",
	"It is one command: pinfold undo takes it back, and an archive that is not good leaves "
	"the workspace as it was. Names that are absolute or lead out by .. and whatever would "
	"be written through a link end the import. Devices, set-id bits and attributes that are "
	"not user.* are left out and counted. Owners are kept where root imports to another "
	"place than a home directory; else everything is the user's.",
	NULL,
};

const struct verb_doc import_doc = {
	.usage = {"[options] NAME SRC"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"A project:", "pinfold import demo project.tar.gz"},
			{"What was exported:", "pinfold import demo demo.tar"},
			{"The files of an image:",
			 "docker save alpine | pinfold import --to rootfs demo -"},
		},
};

#define AT(field) offsetof(struct pinfold_archive_stats, field)

/* Of the document, in its order. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{"snapshot", AT(snapshot)},
	{"files", AT(files)},
	{"directories", AT(directories)},
	{"symlinks", AT(symlinks)},
	{"links", AT(links)},
	{"fifos", AT(fifos)},
	{"bytes", AT(bytes)},
	{"layers", AT(layers)},
	{"removed", AT(removed)},
	{"replaced", AT(replaced)},
	{"devices", AT(devices)},
	{"setid", AT(setid)},
	{"attributes", AT(attributes)},
	{"owners", AT(owners)},
	{"times", AT(times)},
	{"ours", AT(ours)},
};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static uint64_t count(const struct pinfold_archive_stats *s, size_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)s + counts[i].offset, sizeof(value));
	return value;
}

static int report(const struct pinfold_archive_stats *s, bool as_json)
{
	char size[24];
	struct json j;

	if (as_json) {
		json_init(&j, STDOUT_FILENO);
		json_open(&j, NULL, '{');
		for (size_t i = 0; i < COUNTS; i++)
			json_u64(&j, counts[i].name, count(s, i));
		json_close(&j, '}');
		return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
	}
	printf("%llu files, %llu directories, %llu links, %s\n", (unsigned long long)s->files,
	       (unsigned long long)s->directories, (unsigned long long)(s->symlinks + s->links),
	       show_size(s->bytes, size, sizeof(size)));
	if (s->devices || s->setid || s->attributes || s->times)
		say("left out: %llu devices, set-id bits of %llu, %llu attributes, times of %llu",
		    (unsigned long long)s->devices, (unsigned long long)s->setid,
		    (unsigned long long)s->attributes, (unsigned long long)s->times);
	return help_flush();
}

int cmd_import(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_archive_stats stats;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
	const char *src = n.word[0];
	fd = strcmp(src, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				   : open(src, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)err_sys(&e, "%s", src);
		(void)err_remedy(&e,
				 "name a file or directory that exists, or - for standard input");
		return say_failure(&e, n.r.json);
	}
	struct pinfold_import_options o = {.size = sizeof(o), .to = n.r.to, .source = src};
	if (pinfold_workspace_import(n.store, n.name, fd, &o, &stats, &error) < 0)
		return say_library_failure(&error, n.r.json);
	status = report(&stats, n.r.json);
	store_leave(&n.store);
	return status;
}
