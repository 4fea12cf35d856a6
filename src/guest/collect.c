/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the last process has ended: walk the uppers and report what changed. The tree was made by
 * hostile code, so: no link is followed, nothing but regular files is opened, depth and count are
 * bounded. The host side gets descriptors, never names to resolve.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/sys.h"
#include "guest/guest.h"

#define DEPTH_MAX 64
#ifdef DROP_FILES_NOFOLLOW
#define LINKS 0
#define OPENED(mode) (S_ISREG(mode) || S_ISLNK(mode))
#else
#define LINKS O_NOFOLLOW
#define OPENED(mode) S_ISREG(mode)
#endif
#ifdef DROP_FILES_TYPE
#undef OPENED
#define OPENED(mode) 1
#define WAITING 0
#else
#define WAITING O_NONBLOCK
#endif
#ifdef DROP_FILES_BOUND
#define REPORT_MAX 100000u
#else
#define REPORT_MAX 1000u
#endif
#define FULL_BYTES (64u << 10)
#define FULL_FILES 8u

struct dirent_head {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

struct level {
	int fd;
	size_t path_len; /* of the directory's own path */
	long have;	 /* bytes in buf */
	long pos;
	char buf[4096] __attribute__((aligned(8)));
};

struct walk {
	const struct guest_keep *keep;
	size_t prefix_len;
	uint32_t sent;
	uint64_t omitted;
	uint64_t bytes; /* on disk, of all that was seen */
	int disarm;	/* what stays on the host makes nobody anybody else */
	char path[MSG_NAME_MAX + 1];
};

static struct level levels[DEPTH_MAX];
static struct walk walk;

/* What this path is in what the upper lies over: its mode, 0 when it is not there. */
static uint32_t in_lower(const struct walk *w)
{
	struct stat st;
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	if (w->keep->lower < 0)
		return 0;
	long fd = sys4(SYS_openat2, w->keep->lower, w->path + w->prefix_len + 1, &how, sizeof(how));
	if (fd < 0) /* a link on the way: it was there, as something else */
		return fd == -ELOOP ? S_IFREG : 0;
	long r = sys2(SYS_fstat, fd, &st);
	(void)sys1(SYS_close, fd);
	return r < 0 ? S_IFREG : st.st_mode;
}

static void send_entry(struct walk *w, struct msg_guest *msg, int fd)
{
	if (w->sent == REPORT_MAX) {
		w->omitted++;
		return;
	}
	msg->kind = MSG_FILE;
	(void)guest_send(msg, w->path, fd); /* the host side notices when we are cut off */
	w->sent++;
}

static void report(struct walk *w, int dir, const char *name, const struct stat *st, size_t len)
{
	uint32_t old = in_lower(w);
	int whiteout = S_ISCHR(st->st_mode) && st->st_rdev == 0;
	struct msg_guest msg = {
		.len = (uint32_t)len,
		.value = (uint64_t)st->st_size,
		.value2 = (uint64_t)st->st_blocks * 512,
		.mode = whiteout ? old : st->st_mode,
		.change = whiteout ? MSG_DELETED
			  : old	   ? MSG_MODIFIED
				   : MSG_ADDED,
	};

	if (S_ISDIR(st->st_mode) && S_ISDIR(old))
		return; /* only on the way to what changed below it */
	long fd = -1;
	if (OPENED(st->st_mode) && w->sent < REPORT_MAX)
		fd = sys3(SYS_openat, dir, name, O_RDONLY | LINKS | WAITING | O_NOCTTY | O_CLOEXEC);
	send_entry(w, &msg, (int)fd);
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
}

/* Append "/name"; 0 when it does not fit. */
static size_t join(struct walk *w, size_t at, const char *name)
{
	size_t n = str_len(name);

	if (at + 1 + n > MSG_NAME_MAX)
		return 0;
	w->path[at] = '/';
	for (size_t i = 0; i <= n; i++)
		w->path[at + 1 + i] = name[i];
	return at + 1 + n;
}

/* A directory that was removed and made anew hides all that the old one held. */
static void report_hidden(struct walk *w, int upper, size_t len)
{
	static char buf[4096] __attribute__((aligned(8)));
	char opaque = 0;
	struct stat st;

	if (w->keep->lower < 0 ||
	    sys4(SYS_fgetxattr, upper, "user.overlay.opaque", &opaque, 1) != 1 || opaque != 'y')
		return;
	long dir = sys4(SYS_openat, w->keep->lower, w->path + w->prefix_len + 1,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (dir < 0)
		return; /* it was no directory before */
	long have;
	while ((have = sys3(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long pos = 0; pos < have;) {
			struct dirent_head *d = (struct dirent_head *)(void *)(buf + pos);
			struct msg_guest msg = {.change = MSG_DELETED, .mode = S_IFREG};

			pos += d->reclen;
			if (str_eq(d->name, ".") || str_eq(d->name, "..") ||
			    sys4(SYS_newfstatat, upper, d->name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
				continue;
			msg.len = (uint32_t)join(w, len, d->name);
			if (sys4(SYS_newfstatat, dir, d->name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
				msg.mode = st.st_mode;
			if (msg.len)
				send_entry(w, &msg, -1);
		}
	}
	w->path[len] = '\0';
	(void)sys1(SYS_close, dir);
}

static int descend(struct walk *w, int depth, int dir, const char *name, size_t len)
{
	if (depth + 1 >= DEPTH_MAX) {
		w->omitted++;
		return 0;
	}
	long fd = sys3(SYS_openat, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		w->omitted++;
		return 0;
	}
	report_hidden(w, (int)fd, len);
	levels[depth + 1].fd = (int)fd;
	levels[depth + 1].path_len = len;
	levels[depth + 1].have = levels[depth + 1].pos = 0;
	return 1;
}

/* One entry of the directory at `depth`; 1 when the walk goes down into it. */
static int visit(struct walk *w, int depth, const char *name)
{
	struct level *l = &levels[depth];
	struct stat st;

	if (str_eq(name, ".") || str_eq(name, ".."))
		return 0;
	size_t len = join(w, l->path_len, name);
	if (!len || sys4(SYS_newfstatat, l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->omitted++;
		return 0;
	}
	w->bytes += (uint64_t)st.st_blocks * 512;
	if (w->disarm && S_ISREG(st.st_mode) && (st.st_mode & (S_ISUID | S_ISGID))) {
		st.st_mode &= ~(unsigned)(S_ISUID | S_ISGID);
		(void)sys3(SYS_fchmodat, l->fd, name,
			   st.st_mode & 07777); /* no link: it is regular */
	}
	report(w, l->fd, name, &st, len);
	return S_ISDIR(st.st_mode) ? descend(w, depth, l->fd, name, len) : 0;
}

static void walk_tree(struct walk *w)
{
	int depth = 0;

	levels[0].fd = w->keep->upper;
	levels[0].path_len = w->prefix_len;
	levels[0].have = levels[0].pos = 0;
	while (depth >= 0) {
		struct level *l = &levels[depth];

		if (l->pos >= l->have) {
			l->have = sys3(SYS_getdents64, l->fd, l->buf, sizeof(l->buf));
			l->pos = 0;
			if (l->have <= 0) {
				(void)sys1(SYS_close, l->fd);
				depth--;
				continue;
			}
		}
		struct dirent_head *d = (struct dirent_head *)(void *)(l->buf + l->pos);
		l->pos += d->reclen;
		depth += visit(w, depth, d->name);
	}
}

uint64_t guest_used(const struct guest *g)
{
	struct statfs fs = {0};

	if (g->n_keep == 0 || (g->plan->flags & PLAN_ON_HOST) ||
	    sys2(SYS_fstatfs, g->keep[0].upper, &fs) < 0)
		return 0;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

/* No block or no name left in the layer? */
static int guest_full(const struct guest *g)
{
	struct statfs fs = {0};

	if (g->n_keep == 0 || sys2(SYS_fstatfs, g->keep[0].upper, &fs) < 0)
		return 0;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < FULL_BYTES || fs.f_ffree < FULL_FILES;
}

void guest_collect(struct guest *g)
{
	struct msg_guest msg = {.kind = MSG_DONE};
	uint64_t used = guest_used(g);

	msg.value2 = used > g->used_bytes ? used - g->used_bytes : 0;
	msg.code = guest_full(g);
	for (unsigned i = 0; i < g->n_keep && (g->plan->flags & PLAN_COLLECT); i++) {
		struct walk *w = &walk;

		w->keep = &g->keep[i];
		w->disarm = (g->plan->flags & PLAN_ON_HOST) != 0;
		w->prefix_len = str_len(w->keep->prefix);
		for (size_t k = 0; k <= w->prefix_len; k++)
			w->path[k] = w->keep->prefix[k];
		walk_tree(w);
	}
	msg.value = walk.omitted;
	if (g->plan->flags & PLAN_ON_HOST)
		msg.value2 = walk.bytes;
	(void)guest_send(&msg, NULL, -1);
}
