/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the last process has ended: walk the uppers and report what changed. The tree was made by
 * hostile code, so: no link is followed, nothing but regular files is opened, depth and count are
 * bounded. The host side gets descriptors, never names to resolve.
 *
 * Of what stays on the host all is seen, however deep or locked away: only one directory is open at
 * a time, the way up is its "..", which nobody is left to move, and names that no longer fit into a
 * path are counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/sys.h"
#include "guest/guest.h"

#define DEPTH_MAX 65536
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

/* What is kept of a directory while the walk is below it. */
struct place {
	int64_t next;  /* the entry behind the one that the walk went into */
	uint32_t mode; /* that it gets back when it is left, 0: it has it */
};

struct walk {
	const struct guest_keep *keep;
	size_t prefix_len;
	int fd; /* the directory where the walk is */
	uint32_t depth;
	uint32_t unnamed; /* levels of them whose path does not fit */
	size_t len;	  /* of its path, or of the last that fitted */
	int64_t next;
	long have, pos; /* bytes in buf */
	uint32_t sent;
	uint64_t omitted;
	uint64_t bytes; /* on disk, of all that was seen */
	int disarm;	/* what stays on the host makes nobody anybody else */
	char path[MSG_NAME_MAX + 1];
	char buf[4096] __attribute__((aligned(8)));
};

static struct place places[DEPTH_MAX];
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
	if (guest_send(msg, w->path, fd) < 0)
		w->omitted++; /* the host side notices when we are cut off */
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

/* Its owner may have locked himself out of it. */
static int unlock(const struct walk *w, const char *name, uint32_t mode)
{
	return w->disarm && (mode & 0500) != 0500 &&
	       sys3(SYS_fchmodat, w->fd, name, (mode & 07777) | 0700) >= 0;
}

static void descend(struct walk *w, const char *name, const struct stat *st, size_t len)
{
	struct stat up;
	int unlocked = unlock(w, name, st->st_mode);
	long fd = -1;

	if (w->depth + 1 < DEPTH_MAX && (len || w->disarm))
		fd = sys3(SYS_openat, w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || sys4(SYS_newfstatat, fd, "..", &up, 0) < 0) {
		if (unlocked)
			(void)sys3(SYS_fchmodat, w->fd, name, st->st_mode & 07777);
		if (fd >= 0)
			(void)sys1(SYS_close, fd);
		w->omitted++;
		return;
	}
	if (len)
		report_hidden(w, (int)fd, len);
	places[w->depth++].next = w->next;
	places[w->depth].mode = unlocked ? st->st_mode : 0;
	(void)sys1(SYS_close, w->fd);
	w->fd = (int)fd;
	w->have = w->pos = 0;
	if (len)
		w->len = len;
	else
		w->unnamed++;
}

/* Back to the directory above; 0 when there is no way. */
static int ascend(struct walk *w)
{
	uint32_t mode = places[w->depth].mode;
	long up = sys3(SYS_openat, w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (mode)
		(void)sys2(SYS_fchmod, w->fd, mode & 07777);
	(void)sys1(SYS_close, w->fd);
	w->fd = (int)up;
	w->depth--;
	if (w->unnamed)
		w->unnamed--;
	else
		while (w->path[--w->len] != '/')
			;
	w->path[w->len] = '\0';
	return up >= 0 && sys3(SYS_lseek, up, places[w->depth].next, 0) >= 0;
}

static void visit(struct walk *w, const char *name)
{
	struct stat st;

	if (str_eq(name, ".") || str_eq(name, ".."))
		return;
	size_t len = w->unnamed ? 0 : join(w, w->len, name);
	if (sys4(SYS_newfstatat, w->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->omitted++;
		return;
	}
	w->bytes += (uint64_t)st.st_blocks * 512;
	if (w->disarm && S_ISREG(st.st_mode) && (st.st_mode & (S_ISUID | S_ISGID))) {
		st.st_mode &= ~(unsigned)(S_ISUID | S_ISGID);
		(void)sys3(SYS_fchmodat, w->fd, name,
			   st.st_mode & 07777); /* no link: it is regular */
	}
	if (len)
		report(w, w->fd, name, &st, len);
	else if (!S_ISDIR(st.st_mode))
		w->omitted++;
	if (S_ISDIR(st.st_mode))
		descend(w, name, &st, len);
}

static void walk_tree(struct walk *w)
{
	w->fd = w->keep->upper;
	w->len = w->prefix_len;
	w->depth = w->unnamed = 0;
	w->have = w->pos = 0;
	for (;;) {
		if (w->pos >= w->have) {
			w->have = sys3(SYS_getdents64, w->fd, w->buf, sizeof(w->buf));
			w->pos = 0;
			if (w->have <= 0) {
				if (w->depth == 0 || !ascend(w))
					break;
				w->have = 0;
				continue;
			}
		}
		struct dirent_head *d = (struct dirent_head *)(void *)(w->buf + w->pos);
		w->pos += d->reclen;
		w->next = d->off;
		visit(w, d->name);
	}
	(void)sys1(SYS_close, w->fd);
}

uint64_t guest_used(const struct guest *g)
{
	struct statfs fs = {0};

	if (g->n_keep == 0 || (g->plan->flags & PLAN_ON_HOST) ||
	    sys2(SYS_fstatfs, g->keep[0].upper, &fs) < 0)
		return 0;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

/* No block or no name left? Filesystems that make names as they go count none. */
static int is_full(const struct statfs *fs)
{
	uint64_t little = (uint64_t)fs->f_blocks / 8 * (uint64_t)fs->f_bsize;

	return (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize <
		       (little < FULL_BYTES ? little : FULL_BYTES) ||
	       (fs->f_files > 0 && fs->f_ffree < FULL_FILES);
}

/* Of the layer, and of /tmp where that is not in the same filesystem: a workspace, a volume. */
int guest_full(const struct guest *g)
{
	struct statfs fs = {0};
	struct stat layer, tmp;

	if (g->n_keep == 0 || sys2(SYS_fstatfs, g->keep[0].upper, &fs) < 0)
		return 0;
	int full = is_full(&fs) ? MSG_FULL_LAYER : 0;
	if (!(g->plan->flags & PLAN_HOST_LEVEL) && sys2(SYS_fstat, g->keep[0].upper, &layer) >= 0 &&
	    sys4(SYS_newfstatat, AT_FDCWD, "/tmp", &tmp, AT_SYMLINK_NOFOLLOW) >= 0 &&
	    tmp.st_dev != layer.st_dev && sys2(SYS_statfs, "/tmp", &fs) >= 0 &&
	    fs.f_type == TMPFS_MAGIC && is_full(&fs))
		full |= MSG_FULL_TMP;
	return full;
}

/* What the kernel would tell who waits for us, so that nobody has to. */
static void take_usage(struct msg_guest *msg)
{
	const long whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};

	for (unsigned i = 0; i < 2; i++) {
		struct rusage u;

		if (sys2(SYS_getrusage, whose[i], &u) < 0)
			continue;
		msg->cpu_us += guest_micros(&u.ru_utime) + guest_micros(&u.ru_stime);
		if ((uint64_t)u.ru_maxrss > msg->peak_kb)
			msg->peak_kb = (uint64_t)u.ru_maxrss;
	}
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
	take_usage(&msg);
	(void)guest_send(&msg, NULL, -1);
}
