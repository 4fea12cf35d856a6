/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two D-Bus calls, StartTransientUnit and StopUnit, over the manager's private socket, where no bus
 * daemon is in between: authentication by uid, one message, one answer. The library for it
 * (libsystemd) would be loaded by every run to be used by few.
 *
 * Message (little endian, values aligned to their size):
 *	'l' type flags version | u32 body length | u32 serial | array of header fields | body
 */
#include "sandbox/scope.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define ROOT "/sys/fs/cgroup"
#define WAIT_MS 2000
#define STOP_WAIT_MS 200 /* a run that cleans up after others does not wait long */
#define FIELD_PATH 1
#define FIELD_INTERFACE 2
#define FIELD_MEMBER 3
#define FIELD_SIGNATURE 8

struct bytes {
	unsigned char data[2048];
	size_t len;
	bool full;
};

static void put(struct bytes *b, const void *data, size_t len)
{
	if (b->len + len > sizeof(b->data)) {
		b->full = true;
		return;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void align(struct bytes *b, size_t to)
{
	static const unsigned char zero[8];

	put(b, zero, (to - b->len % to) % to);
}

static void put_u8(struct bytes *b, unsigned v)
{
	unsigned char c = (unsigned char)v;

	put(b, &c, 1);
}

static void put_u32(struct bytes *b, uint32_t v)
{
	const unsigned char c[4] = {v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24 & 255};

	align(b, 4);
	put(b, c, 4);
}

static void put_u64(struct bytes *b, uint64_t v)
{
	align(b, 8);
	put_u32(b, (uint32_t)v);
	put_u32(b, (uint32_t)(v >> 32));
}

static void put_string(struct bytes *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	put(b, s, strlen(s) + 1);
}

static void put_signature(struct bytes *b, const char *s)
{
	put_u8(b, (unsigned)strlen(s));
	put(b, s, strlen(s) + 1);
}

static void put_field(struct bytes *b, unsigned field, const char *type, const char *value)
{
	align(b, 8);
	put_u8(b, field);
	put_signature(b, type);
	if (type[0] == 'g')
		put_signature(b, value);
	else
		put_string(b, value);
}

/* Room for an array's length, filled in by array_end(); elements start aligned to `to`. */
static size_t array_begin(struct bytes *b, size_t to, size_t *ret_start)
{
	put_u32(b, 0);
	size_t at = b->len - 4;

	align(b, to);
	*ret_start = b->len;
	return at;
}

static void array_end(struct bytes *b, size_t at, size_t start)
{
	uint32_t n = (uint32_t)(b->len - start);
	const unsigned char c[4] = {n & 255, n >> 8 & 255, n >> 16 & 255, n >> 24 & 255};

	if (!b->full)
		memcpy(b->data + at, c, 4);
}

static void put_property(struct bytes *b, const char *name, const char *type)
{
	align(b, 8);
	put_string(b, name);
	put_signature(b, type);
}

static void put_number(struct bytes *b, const char *name, uint64_t value)
{
	put_property(b, name, "t");
	put_u64(b, value);
}

static void put_start(struct bytes *b, const char *unit, const pid_t pids[2],
		      const struct cgroup_limits *l)
{
	size_t at, start, pids_at, pids_start;

	put_string(b, unit);
	put_string(b, "fail");
	at = array_begin(b, 8, &start);
	put_property(b, "PIDs", "au");
	pids_at = array_begin(b, 4, &pids_start);
	put_u32(b, (uint32_t)pids[0]);
	put_u32(b, (uint32_t)pids[1]);
	array_end(b, pids_at, pids_start);
	put_number(b, "TasksMax", l->pids + 2); /* systemd has a limit of its own; guest, keeper */
	put_property(b, "Delegate", "b");
	put_u32(b, 1);
	put_property(b, "CollectMode", "s");
	put_string(b, "inactive-or-failed");
	array_end(b, at, start);
	at = array_begin(b, 8, &start); /* no auxiliary units */
	array_end(b, at, start);
}

static void put_call(struct bytes *m, const char *member, const char *signature,
		     const struct bytes *body)
{
	size_t at, start;

	put(m, "l\1\0\1", 4); /* little endian, method call, no flags, version 1 */
	put_u32(m, (uint32_t)body->len);
	put_u32(m, 1);
	at = array_begin(m, 8, &start);
	put_field(m, FIELD_PATH, "o", "/org/freedesktop/systemd1");
	put_field(m, FIELD_INTERFACE, "s", "org.freedesktop.systemd1.Manager");
	put_field(m, FIELD_MEMBER, "s", member);
	put_field(m, FIELD_SIGNATURE, "g", signature);
	array_end(m, at, start);
	align(m, 8);
	put(m, body->data, body->len);
}

static bool socket_path(struct sockaddr_un *ret)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	ret->sun_family = AF_UNIX;
	if (!dir || dir[0] != '/')
		return false;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/systemd/private", dir);
	return n > 0 && (size_t)n < sizeof(ret->sun_path);
}

bool scope_available(void)
{
	struct sockaddr_un addr;
	struct statfs fs;
	struct stat st;

	return geteuid() != 0 && socket_path(&addr) && stat(addr.sun_path, &st) == 0 &&
	       S_ISSOCK(st.st_mode) && st.st_uid == geteuid() && statfs(ROOT, &fs) == 0 &&
	       (long)fs.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * EXTERNAL: the kernel tells the manager our uid, we name the same in hexadecimal digits. BEGIN
 * goes with it, not after the answer: systemd does not look at a call that it reads in one piece
 * with BEGIN until it hears more from us.
 */
static int authenticate(int fd, struct err *e)
{
	char uid[16], text[96], answer[128] = "";
	size_t n;

	(void)snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	n = (size_t)snprintf(text, sizeof(text), "%cAUTH EXTERNAL ", 0);
	for (const char *p = uid; *p; p++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", (unsigned char)*p);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "\r\nBEGIN\r\n");
	if (fd_write_all(fd, text, n) < 0 || read(fd, answer, sizeof(answer) - 1) <= 0 ||
	    strncmp(answer, "OK", 2) != 0)
		return err_set(e, ERR_UNAUTHENTICATED, "systemd does not accept us");
	return 0;
}

/* The answer's second byte is its type: 2 a return, 3 an error. Signals (4) may come before. */
static int await_answer(int fd, struct err *e)
{
	unsigned char head[16], rest[4096];
	size_t n;

	for (int i = 0; i < 16; i++) {
		if (fd_read_max(fd, head, sizeof(head), &n) < 0 || n != sizeof(head))
			return err_set(e, ERR_INTERNAL, "systemd gave no answer");
		uint32_t body, fields;
		memcpy(&body, head + 4, 4);
		memcpy(&fields, head + 12, 4);
		uint64_t left = ((uint64_t)fields + 7) / 8 * 8 + body;
		while (left > 0) {
			size_t want = left < sizeof(rest) ? (size_t)left : sizeof(rest);

			if (fd_read_max(fd, rest, want, &n) < 0 || n != want)
				return err_set(e, ERR_INTERNAL, "systemd's answer ended early");
			left -= n;
		}
		if (head[1] == 2)
			return 0;
		if (head[1] == 3)
			return err_set(e, ERR_DENIED, "systemd refused the scope");
	}
	return err_set(e, ERR_INTERNAL, "systemd gave no answer");
}

/* One call and its answer. */
static int ask(const char *member, const char *signature, const struct bytes *body,
	       unsigned wait_ms, struct err *e)
{
	struct timeval patience = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
	struct sockaddr_un addr;
	struct bytes call = {.len = 0};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	put_call(&call, member, signature, body);
	if (body->full || call.full || !socket_path(&addr))
		return err_set(e, ERR_INTERNAL, "systemd cannot be asked");
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_sys(e, "connect to systemd");
	int r = authenticate(fd, e);
	if (r >= 0 && fd_write_all(fd, call.data, call.len) < 0)
		r = err_sys(e, "talk to systemd");
	return r < 0 ? r : await_answer(fd, e);
}

/* The job is queued when the answer comes; the process moves a moment later. */
static int await_group(pid_t pid, const char *unit, char *ret, size_t size, struct err *e)
{
	struct timespec pause = {.tv_nsec = 500000};
	char path[64], text[1024];

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	for (int i = 0; i < WAIT_MS * 2; i++) {
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		size_t n = 0;

		if (fd < 0 || fd_read_max(fd, text, sizeof(text) - 1, &n) < 0)
			return err_sys(e, "read %s", path);
		text[n] = '\0';
		char *own = strstr(text, "0::");
		if (own && strstr(own, unit)) {
			own[strcspn(own, "\n")] = '\0';
			(void)snprintf(ret, size, ROOT "%s", own + 3);
			return 0;
		}
		(void)nanosleep(&pause, NULL);
	}
	return err_set(e, ERR_TIMEOUT, "systemd did not make the scope in time");
}

static int make_leaf(const char *scope, const char *leaf, pid_t pid, char *ret, struct err *e)
{
	int n = snprintf(ret, CGROUP_PATH_MAX, "%s/%s", scope, leaf);

	if (n >= CGROUP_PATH_MAX)
		return err_set(e, ERR_INTERNAL, "the path of the scope is too long");
	if (mkdir(ret, 0755) < 0)
		return err_sys(e, "make control group %s", ret);
	return cgroup_put(ret, "cgroup.procs", (uint64_t)pid, e);
}

/* Controllers are only for groups below one that has no process of its own. */
static int divide(const char *scope, const pid_t pids[2], struct cgroup *ret, struct err *e)
{
	char keep[CGROUP_PATH_MAX];
	int r = make_leaf(scope, "keep", pids[1], keep, e);

	if (r >= 0)
		r = make_leaf(scope, "box", pids[0], ret->part[CG_UNIFIED], e);
	if (r >= 0)
		r = cgroup_put_text(scope, "cgroup.subtree_control", "+memory +pids +cpu", e);
	return r;
}

void scope_name(const char *id, char ret[SCOPE_NAME_MAX])
{
	(void)snprintf(ret, SCOPE_NAME_MAX, CGROUP_PREFIX "%s.scope", id);
}

int scope_enter(struct scope *scope, const struct sandbox *guest, const char *id,
		const struct cgroup_limits *limits, struct cgroup *ret, struct err *e)
{
	char dir[CGROUP_PATH_MAX], other[CGROUP_PATH_MAX], *unit = scope->owed;
	struct bytes body = {.len = 0};

	memset(ret, 0, sizeof(*ret));
	int r = sandbox_spawn_idle(&scope->keeper, e);
	if (r < 0)
		return r;
	scope_name(id, unit);
	const pid_t pids[2] = {guest->pid, scope->keeper.pid};
	put_start(&body, unit, pids, limits);
	r = ask("StartTransientUnit", "ssa(sv)a(sa(sv))", &body, WAIT_MS, e);
	if (r >= 0)
		r = await_group(pids[0], unit, dir, sizeof(dir), e);
	if (r >= 0)
		r = await_group(pids[1], unit, other, sizeof(other), e);
	if (r < 0)
		return r;
	scope->owed[0] = '\0';
	r = divide(dir, pids, ret, e);
	if (r >= 0)
		r = cgroup_v2_ops.limit(ret, limits, e);
	if (r < 0)
		return r;
	ret->ops = &cgroup_v2_ops;
	ret->adopted = true;
	return 0;
}

int scope_stop(const char *name)
{
	struct bytes body = {.len = 0};
	struct err e = ERR_INIT;

	put_string(&body, name);
	put_string(&body, "replace");
	int r = ask("StopUnit", "ss", &body, STOP_WAIT_MS, &e);
	return r < 0 && e.kind != ERR_DENIED ? r : 0; /* refused: there is no such unit */
}

void scope_leave(struct scope *scope)
{
	struct sandbox *keeper = &scope->keeper;
	struct err e = ERR_INIT;

	(void)sandbox_started(keeper, &e); /* whether or not, it ends here */
	fd_close(&keeper->control);
	if (keeper->pid > 0) {
		sandbox_kill(keeper);
		while (waitpid(keeper->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	keeper->pid = 0;
	fd_close(&keeper->pidfd);
	if (scope->owed[0])
		(void)scope_stop(scope->owed); /* a silent systemd does not hear this, either */
	scope->owed[0] = '\0';
}
