/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which packages a program really used: their main files are watched, before anything of the
 * program runs, each until it is opened for the first time. The kernel tells, so a program cannot
 * hide what it opened, whichever way it ends; it can open what it does not use.
 *
 * The list is strings, each with its NUL: paths of a package, then an empty one; so package by
 * package.
 */
#include <errno.h>
#include <sys/inotify.h>

#include "base/sys.h"
#include "guest/guest.h"

#define WATCHES_MAX 1024u
#define PACKAGES_MAX MSG_NAME_MAX

static struct {
	int notify; /* 0: nothing is watched */
	unsigned n; /* packages */
	int told;
	char state[PACKAGES_MAX + 1];
	uint16_t whose[WATCHES_MAX + 1]; /* by number of the watch: 1 + package */
} seen;

/* One that is not there (a file that could not be compiled) is no reason not to know. */
static void watch(const char *path)
{
	char *state = &seen.state[seen.n];
	long number = seen.notify < 0 ? seen.notify
				      : sys3(SYS_inotify_add_watch, seen.notify, path,
					     IN_OPEN | IN_ONESHOT | IN_DONT_FOLLOW);

	if (number == -ENOENT)
		return;
	if (number <= 0 || number > (long)WATCHES_MAX) {
		*state = MSG_SEEN_BROKEN;
		return;
	}
	seen.whose[number] = (uint16_t)(seen.n + 1);
	if (*state == MSG_SEEN_UNKNOWN)
		*state = MSG_SEEN_NO;
}

int guest_seen_step(const struct guest *g, const struct plan_step *step)
{
	const char *p = plan_str(g->plan, step->t), *end = p + step->len;

	if (step->len == 0 || end[-1] != '\0')
		return -EINVAL;
	seen.notify = (int)sys1(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC);
	seen.state[0] = MSG_SEEN_UNKNOWN;
	for (; p < end && seen.n < PACKAGES_MAX; p += str_len(p) + 1) {
		if (*p)
			watch(p);
		else
			seen.state[++seen.n] = MSG_SEEN_UNKNOWN;
	}
	return 0;
}

static void note(const struct inotify_event *ev)
{
	unsigned who = ev->wd > 0 && ev->wd <= (int)WATCHES_MAX ? seen.whose[ev->wd] : 0;

	if (who && (ev->mask & IN_OPEN))
		seen.state[who - 1] = MSG_SEEN_YES;
}

/* Was something opened since the last look? */
static int look(void)
{
	static char buf[4096] __attribute__((aligned(8)));
	int any = 0;
	long have;

	while (seen.notify >= 0 && (have = sys3(SYS_read, seen.notify, buf, sizeof(buf))) > 0) {
		for (long pos = 0; pos + (long)sizeof(struct inotify_event) <= have;) {
			const struct inotify_event *ev = (const void *)(buf + pos);

			note(ev);
			any = 1;
			pos += (long)(sizeof(*ev) + ev->len);
		}
	}
	return any;
}

static void tell(void)
{
	struct msg_guest msg = {.kind = MSG_SEEN, .len = seen.n};

	seen.told = 1;
	(void)guest_send(&msg, seen.state, -1); /* the host side notices when we are cut off */
}

void guest_seen_tell_to(int sock)
{
	struct msg_guest msg = {.kind = MSG_SEEN, .len = seen.n};

	if (seen.n)
		(void)guest_send_to(sock, &msg, seen.state, -1); /* he may be gone */
}

void guest_seen_tell(void)
{
	if (seen.n == 0)
		return;
	(void)look();
	tell();
}

void guest_seen_more(void)
{
	if (seen.n && (look() || !seen.told))
		tell();
}
