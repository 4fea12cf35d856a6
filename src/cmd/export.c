/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/say.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static const char *const paragraphs[] = {
	"Writes what differs from the base image in a workspace as a tar file, in pax format: "
	"paths relative to /, in order, owners as inside, times with nanoseconds, holes as "
	"holes. The same snapshot is the same bytes, and pinfold import takes it to where it was. With --layer it is what one command "
	"changed, and what it removed, as a layer of an OCI image.",
	"Works while commands run, and sees where the workspace stood before them.",
	NULL,
};

const struct verb_doc export_doc = {
	.usage = {"[options] NAME [FILE]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"All of it:", "pinfold export -o demo.tar demo"},
			{"Compressed:", "pinfold export demo | zstd >demo.tar.zst"},
			{"Into another:", "pinfold export demo | pinfold import twin -"},
			{"What command 7 did:", "pinfold export --layer --at 7 -o layer.tar demo"},
		},
};

/* Where the archive goes: under a name of its own until it is whole. */
struct target {
	int fd;
	const char *path; /* NULL: it is written directly */
	char temp[PATH_MAX];
};

static int target_open(struct target *t, const char *path, struct err *e)
{
	struct stat st;

	*t = (struct target){.fd = STDOUT_FILENO};
	if (!path || strcmp(path, "-") == 0) {
		if (!isatty(STDOUT_FILENO))
			return 0;
		(void)err_set(e, ERR_INVALID, "an archive is not written to a terminal");
		return err_remedy(e, "name a FILE, or redirect standard output");
	}
	/* A pipe or a device is what it is. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		t->fd = open(path, O_WRONLY | O_CLOEXEC);
		return t->fd < 0 ? err_sys(e, "write %s", path) : 0;
	}
	int n = snprintf(t->temp, sizeof(t->temp), "%s.XXXXXX", path);
	if (n >= (int)sizeof(t->temp))
		return err_set(e, ERR_INVALID, "FILE: the path is too long");
	t->fd = mkostemp(t->temp, O_CLOEXEC);
	if (t->fd < 0)
		return err_sys(e, "write %s", path);
	t->path = path;
	return 0;
}

static int target_keep(struct target *t, struct err *e)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	if (!t->path)
		return 0;
	if (fchmod(t->fd, 0666 & ~mask) < 0 || fsync(t->fd) < 0 || rename(t->temp, t->path) < 0)
		return err_sys(e, "write %s", t->path);
	t->path = NULL;
	return 0;
}

static void target_done(struct target *t)
{
	if (t->path)
		(void)unlink(t->temp); /* it was ours, and is worth nothing */
	if (t->fd > STDERR_FILENO)
		(void)close(t->fd); /* what it had to say was asked */
}

/* A reader that has gone ends us as it ends every other verb. */
static void end_with_reader(const struct target *t)
{
	struct pollfd reader = {.fd = STDOUT_FILENO};

	if (t->fd == STDOUT_FILENO && poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR))
		(void)raise(SIGPIPE); /* else it is told as a failure */
}

int cmd_export(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_archive_stats stats;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	struct target t;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 1, &status))
		return status;
	if (n.word[0] && n.r.output_file) {
		(void)err_set(&e, ERR_INVALID, "-o: not with FILE");
		(void)err_remedy(&e, "leave one of the two out");
		return say_failure(&e, false);
	}
	if (target_open(&t, n.word[0] ? n.word[0] : n.r.output_file, &e) < 0)
		return say_failure(&e, false);
	if (pinfold_workspace_export(n.store, n.name, n.r.at, n.r.layer ? PINFOLD_EXPORT_LAYER : 0,
				     t.fd, &stats, &error) < 0) {
		end_with_reader(&t);
		status = say_library_failure(&error, false);
	} else if (target_keep(&t, &e) < 0)
		status = say_failure(&e, false);
	else if (stats.devices)
		say("%llu sockets and devices are left out", (unsigned long long)stats.devices);
	target_done(&t);
	return status;
}
