/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes below a directory as they happen, by inotify, which watches directories one by one. Of
 * each we know its name and the one above it, so that a path is right after a directory was moved.
 *
 * Whoever reads too slowly makes us wait; the kernel's queue then runs over, which is an event,
 * too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <time.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"

#define MASK                                                                                       \
	(IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR)
#define DEPTH_GUARD (int)FILES_WATCHES_MAX
#define LOOKS_MAX (4 * (int)FILES_WATCHES_MAX)
#define PAIR_NS 5000000 /* how long the other half of a move may take */

struct watched {
	int parent; /* its place in the table, -1: the directory itself */
	int unseen; /* its entries were not looked at yet */
	char name[FILES_NAME_SIZE];
};

static struct watched table[FILES_WATCHES_MAX];
static int numbers[FILES_WATCHES_MAX]; /* the kernel's, 0: a free place */
static int limit;		       /* no place behind it was ever used */

/* The first half of a move. */
static struct {
	uint32_t cookie; /* 0: none */
	int dir;
	int is_dir;
	char name[FILES_NAME_SIZE];
} moved;

static struct {
	int notify, below, sock;
	int is_asked; /* FILES_SYNC */
	const char *path;
} watch;

static int find(int number)
{
	for (int i = 0; i < limit; i++)
		if (numbers[i] == number)
			return i;
	return -1;
}

static int find_child(int dir, const char *name)
{
	for (int i = 0; i < limit; i++)
		if (numbers[i] && table[i].parent == dir && str_eq(table[i].name, name))
			return i;
	return -1;
}

static size_t put_name(char *buf, size_t at, const char *name)
{
	size_t n = str_len(name);

	if (n + 1 > at)
		return 0;
	at -= n;
	for (size_t i = 0; i < n; i++)
		buf[at + i] = name[i];
	return at;
}

/* From the end of `buf` to its beginning; NULL: it is too long. */
static const char *path_of(char buf[FILES_PATH_SIZE], int dir, const char *name)
{
	size_t at = put_name(buf, FILES_PATH_SIZE - 1, name);

	buf[FILES_PATH_SIZE - 1] = '\0';
	for (int up = 0; at && dir >= 0 && table[dir].parent >= 0; dir = table[dir].parent) {
		buf[--at] = '/';
		at = up++ < DEPTH_GUARD ? put_name(buf, at, table[dir].name) : 0;
	}
	return at ? buf + at : NULL;
}

static void tell(enum files_event event, const char *path, const char *from)
{
	static char data[2 * FILES_PATH_SIZE];
	struct files_answer answer = {.more = 1, .event = event};

	if (!path || !from) { /* one that cannot be named */
		answer.event = FILES_EVENT_OVERFLOW;
		path = from = "";
	}
	for (; *path; path++)
		data[answer.len++] = *path;
	data[answer.len++] = '\0';
	for (; *from; from++)
		data[answer.len++] = *from;
	files_say(&answer, data, -1);
}

static void tell_of(enum files_event event, int dir, const char *name)
{
	static char path[FILES_PATH_SIZE];

	tell(event, path_of(path, dir, name), "");
}

static long open_dir(int place)
{
	static char path[FILES_PATH_SIZE];
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *p = table[place].parent < 0
				? "."
				: path_of(path, table[place].parent, table[place].name);
	long top = files_look(watch.path, 0), r = -ENAMETOOLONG;

	if (top < 0)
		return top;
	if (p)
		r = sys4(SYS_openat2, top, p, &how, sizeof(how));
	(void)sys1(SYS_close, top); /* while it is open, its end is not told */
	return r;
}

/* Watch one more; its entries are looked at later. -E2BIG: there are too many. */
static long add(int parent, const char *name)
{
	int place = find(0);
	size_t n = str_len(name);
	char own[32];

	if (place < 0 && limit < (int)FILES_WATCHES_MAX)
		place = limit++;
	if (place < 0 || n >= FILES_NAME_SIZE)
		return -E2BIG;
	table[place].parent = parent;
	table[place].unseen = 1;
	for (size_t i = 0; i <= n; i++)
		table[place].name[i] = name[i];
	long fd = open_dir(place);
	if (fd < 0)
		return fd;
	files_own_path(own, (int)fd);
	long r = sys3(SYS_inotify_add_watch, watch.notify, own,
		      MASK | (parent < 0 ? IN_DELETE_SELF | IN_MOVE_SELF : 0));
	(void)sys1(SYS_close, fd);
	if (r < 0)
		return r == -ENOSPC ? -EMFILE : r;
	int known = find((int)r);
	if (known >= 0) { /* by another name, or a moment ago */
		table[known] = table[place];
		return 0;
	}
	numbers[place] = (int)r;
	return 0;
}

static int is_dir(int dir, const struct dirent_head *d)
{
	struct stat st;

	if (d->type)
		return d->type == DT_DIR;
	return sys4(SYS_newfstatat, dir, d->name, &st, AT_SYMLINK_NOFOLLOW) >= 0 &&
	       S_ISDIR(st.st_mode);
}

/* What is in a directory that was not watched from its first moment on. */
static long look_into(int place, int as_new)
{
	static char buf[4096] __attribute__((aligned(8)));
	long have, r = 0, fd = open_dir(place);

	while (fd >= 0 && r >= 0 && (have = sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long pos = 0; pos < have && r >= 0;) {
			const struct dirent_head *d = (const void *)(buf + pos);

			pos += d->reclen;
			if (str_eq(d->name, ".") || str_eq(d->name, ".."))
				continue;
			if (as_new)
				tell_of(FILES_EVENT_CREATE, place, d->name);
			if (is_dir((int)fd, d))
				r = add(place, d->name);
			if (r != -E2BIG && r != -EMFILE)
				r = 0; /* it went, or is closed to us */
		}
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
	return r;
}

/* All that add() has not looked into; those that it finds there, too. */
static long look_around(int as_new)
{
	long r = 0, looks = 0;

	for (int i = 0; i < limit && r >= 0; i++)
		if (numbers[i] && table[i].unseen) {
			if (looks++ == LOOKS_MAX)
				return -E2BIG; /* somebody makes them faster */
			table[i].unseen = 0;
			r = look_into(i, as_new);
			files_working();
			i = -1;
		}
	return r;
}

static void add_new(int dir, const char *name)
{
	long r = add(dir, name);

	if (r >= 0)
		r = look_around(1);
	if (r == -E2BIG || r == -EMFILE)
		tell(FILES_EVENT_OVERFLOW, "", "");
}

/* A directory that was moved away, and those below it. */
static void forget(int place)
{
	(void)sys2(SYS_inotify_rm_watch, watch.notify, numbers[place]);
	numbers[place] = 0;
	for (int i = 0; i < limit; i++)
		if (numbers[i] && table[i].parent == place)
			forget(i);
}

static void move_away(void)
{
	int place = moved.is_dir ? find_child(moved.dir, moved.name) : -1;

	tell_of(FILES_EVENT_REMOVE, moved.dir, moved.name);
	if (place >= 0)
		forget(place);
	moved.cookie = 0;
}

static void move_here(int dir, const char *name)
{
	static char from[FILES_PATH_SIZE], to[FILES_PATH_SIZE];
	int place = moved.is_dir ? find_child(moved.dir, moved.name) : -1;
	size_t n = str_len(name);

	tell(FILES_EVENT_RENAME, path_of(to, dir, name), path_of(from, moved.dir, moved.name));
	moved.cookie = 0;
	if (place < 0 || n >= FILES_NAME_SIZE)
		return;
	table[place].parent = dir;
	for (size_t i = 0; i <= n; i++)
		table[place].name[i] = name[i];
}

static void begin_move(int dir, const struct inotify_event *ev)
{
	moved.cookie = ev->cookie;
	moved.dir = dir;
	moved.is_dir = (ev->mask & IN_ISDIR) != 0;
	for (size_t i = 0; i < FILES_NAME_SIZE; i++)
		if (!(moved.name[i] = ev->name[i]))
			break;
	moved.name[FILES_NAME_SIZE - 1] = '\0';
}

/* The directory itself is gone, or is not where it was. */
static __attribute__((noreturn)) void end(void)
{
	tell(FILES_EVENT_REMOVE, "", "");
	guest_end(0);
}

/* A file without a name (O_TMPFILE) is told by one that the kernel made up: "#" and its number. Who
 * replaces files by such ones, as we do, would be heard of twice. */
static int has_no_name(int dir, const char *name)
{
	struct stat st;
	long fd = name[0] == '#' ? open_dir(dir) : -1;

	if (fd < 0)
		return 0;
	long r = sys4(SYS_newfstatat, fd, name, &st, AT_SYMLINK_NOFOLLOW);
	(void)sys1(SYS_close, fd);
	return r == -ENOENT;
}

static void take_named(int dir, const struct inotify_event *ev)
{
	int new_dir = (ev->mask & IN_ISDIR) && watch.below;

	if (ev->mask & IN_MOVED_FROM) {
		begin_move(dir, ev);
	} else if ((ev->mask & IN_MOVED_TO) && moved.cookie) {
		move_here(dir, ev->name);
	} else if (ev->mask & (IN_CREATE | IN_MOVED_TO)) {
		tell_of(FILES_EVENT_CREATE, dir, ev->name);
		if (new_dir)
			add_new(dir, ev->name);
	} else if (ev->mask & IN_DELETE) {
		tell_of(FILES_EVENT_REMOVE, dir, ev->name);
	} else if ((ev->mask & (IN_MODIFY | IN_ATTRIB)) && has_no_name(dir, ev->name)) {
		return;
	} else if (ev->mask & IN_MODIFY) {
		tell_of(FILES_EVENT_WRITE, dir, ev->name);
	} else if (ev->mask & IN_ATTRIB) {
		tell_of(FILES_EVENT_CHMOD, dir, ev->name);
	}
}

static void take(const struct inotify_event *ev)
{
	if (moved.cookie && !((ev->mask & IN_MOVED_TO) && ev->cookie == moved.cookie))
		move_away();
	if (ev->mask & IN_Q_OVERFLOW)
		tell(FILES_EVENT_OVERFLOW, "", "");
	int dir = find(ev->wd);
	if (dir < 0)
		return;
	if (table[dir].parent < 0 && (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF)))
		end();
	if (ev->mask & IN_IGNORED)
		numbers[dir] = 0;
	else if (ev->len)
		take_named(dir, ev);
}

/* The other side is gone, or wants to know when it has heard everything. */
static void hear(void)
{
	union {
		struct files_ask ask;
		char bytes[sizeof(struct files_ask) + 2];
	} q;
	long n = sys6(SYS_recvfrom, watch.sock, SYS_ARG(&q), sizeof(q), MSG_DONTWAIT, 0, 0);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0 || files_ask_check(&q.ask, (uint32_t)n) < 0 || q.ask.op != FILES_SYNC)
		guest_end(0);
	watch.is_asked = 1;
}

/* Until somebody says something, or for a moment while half a move is waiting. */
static void await(void)
{
	struct pollfd fds[2] = {
		{.fd = watch.notify, .events = POLLIN},
		{.fd = watch.sock, .events = POLLIN},
	};
	struct timespec moment = {.tv_nsec = PAIR_NS};

	if (watch.is_asked)
		return; /* to the end of the queue */
	long n = sys5(SYS_ppoll, fds, 2, moved.cookie ? &moment : NULL, NULL, 0);

	if (fds[1].revents)
		hear();
	if (n == 0)
		move_away();
}

static __attribute__((noreturn)) void follow(void)
{
	static char buf[16384] __attribute__((aligned(8)));

	for (;;) {
		await();
		long have = sys3(SYS_read, watch.notify, buf, sizeof(buf));

		for (long pos = 0; pos < have;) {
			const struct inotify_event *ev = (const void *)(buf + pos);

			pos += (long)(sizeof(*ev) + ev->len);
			take(ev);
		}
		if (watch.is_asked && have == -EAGAIN) { /* what came before the question is read */
			if (moved.cookie)
				move_away();
			tell(FILES_EVENT_SYNC, "", "");
			watch.is_asked = 0;
		}
	}
}

long files_watch(const struct files_ask *ask, int sock)
{
	struct files_answer begun = {.more = 1, .value = 1};
	long r = sys1(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC);

	watch.notify = (int)r;
	watch.path = files_ask_path(ask); /* no other question follows */
	watch.below = (ask->flags & FILES_BELOW) != 0;
	watch.sock = sock;
	if (r >= 0)
		r = add(-1, "");
	if (r >= 0 && watch.below)
		r = look_around(0);
	if (r < 0)
		return r; /* the other side closes the channel then */
	files_say(&begun, NULL, -1);
	follow();
}
