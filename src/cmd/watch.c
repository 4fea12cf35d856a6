/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps pushing as files change. inotify says that something happened, and the push finds out what:
 * so nothing is lost when events are, and a burst of them is one push.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/change.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

#define QUIET_MS 50 /* a burst of changes has ended */
#define DEPTH_MAX 64
#define EVENTS                                                                                     \
	(IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |        \
	 IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

static const char *const paragraphs[] = {
	"Brings a workspace up to date with DIR as pinfold push does, and again whenever something in DIR "
	"changes, until it is interrupted. Prints a line for each change that went over.",
	NULL,
};

const struct verb_doc watch_doc = {
	.usage = {"[options] NAME DIR"},
	.paragraphs = paragraphs,
	.examples = {{"While you edit:", "pinfold watch demo ."}},
};

/* A directory and those below it; adding one twice changes nothing. */
static int add_watches(int fd, const char *dir, int depth)
{
	char path[PATH_MAX];
	const struct dirent *d;

	if (inotify_add_watch(fd, dir, EVENTS) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	DIR *all = depth < DEPTH_MAX ? opendir(dir) : NULL;
	int r = 0;
	while (all && r == 0 && (d = readdir(all))) {
		if (d->d_type != DT_DIR || strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, d->d_name) < (int)sizeof(path))
			r = add_watches(fd, path, depth + 1);
	}
	if (all)
		(void)closedir(all); /* only read */
	return r;
}

static int put_change(const struct pinfold_change *c, void *arg)
{
	(void)arg;
	printf("%c ", change_letter(c));
	change_name(c->path, c->path_len);
	(void)putchar('\n');
	return 0;
}

static int push_once(struct named *n, uint64_t *last, struct pinfold_error *error)
{
	struct pinfold_sync_options o = {
		.size = sizeof(o),
		.to = n->r.to,
		.flags = (n->r.mirror ? PINFOLD_SYNC_MIRROR : 0) |
			 (n->r.all ? PINFOLD_SYNC_ALL : 0) |
			 (n->r.no_git ? PINFOLD_SYNC_NO_GIT : 0),
	};
	struct pinfold_sync_stats stats;
	uint64_t omitted = 0;

	if (pinfold_workspace_push(n->store, n->name, n->word[0], &o, &stats, error) < 0)
		return -1;
	bool first = *last == 0;
	*last = stats.snapshot;
	if (first)
		printf("%llu file%s, %llu changed\n", (unsigned long long)stats.files,
		       stats.files == 1 ? "" : "s", (unsigned long long)stats.files_changed);
	else if (pinfold_workspace_diff(n->store, n->name, NULL, NULL, 0, put_change, NULL,
					&omitted, error) < 0)
		return -1;
	(void)fflush(stdout);
	return 0;
}

/* Until something happened and then nothing for a moment. */
static int wait_for_change(int fd)
{
	char buf[65536] __attribute__((aligned(8)));
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int wait = -1;

	while (poll(&p, 1, wait) != 0) {
		if (read(fd, buf, sizeof(buf)) <= 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		wait = QUIET_MS;
	}
	return 0;
}

static bool worth_another(const struct pinfold_error *error)
{
	return strncmp(error->code, "busy", 4) == 0;
}

int cmd_watch(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	uint64_t last = 0;
	int status = 0, r = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
	auto_close int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	while (r >= 0) {
		r = fd < 0 ? -errno : add_watches(fd, n.word[0], 0);
		if (r < 0)
			break;
		if (push_once(&n, &last, &error) < 0) {
			/* A command is running there: its end is nothing that we hear of. */
			if (!worth_another(&error))
				return say_library_failure(&error, n.r.json);
			(void)poll(NULL, 0, 200);
			continue;
		}
		(void)pinfold_store_settle(n.store, &error); /* else the next one does */
		r = wait_for_change(fd);
	}
	say("internal: %s cannot be watched: %s", n.word[0], strerror(-r));
	if (r == -ENOSPC)
		say("remedy: raise the sysctl fs.inotify.max_user_watches");
	return EXIT_PINFOLD;
}
