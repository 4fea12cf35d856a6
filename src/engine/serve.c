/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinfold serve: one process tree. The process that was started becomes the warden; front is its
 * child, without privilege, and is started again when it dies. When the warden dies the kernel ends
 * front and every sandbox; what they had on the host is in the journal, and the next start removes
 * it.
 */
#include <assert.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/group.h"
#include "engine/front.h"
#include "engine/look.h"
#include "engine/news.h"
#include "engine/run_int.h"
#include "warden/place.h"
#include "warden/warden.h"

#define NOBODY 65534
#define GROUP_NAME "pinfold"
#define BACKLOG 512    /* who calls while front is busy; one more is told so by the kernel */
#define FIRST_PASSED 3 /* by systemd */
/* Descriptors: the warden's own with those of one request, of a run, of a sandbox that waits. */
#define FDS_OWN 32
#define FDS_RUNNING 12 /* one that lives and has background commands */
#define FDS_WAITING 8
/* What most programs import, and what costs little to keep. */
#define PRELOAD                                                                                    \
	"json,re,math,random,datetime,time,collections,itertools,functools,pathlib,subprocess,"    \
	"tempfile,csv,statistics,textwrap,hashlib,uuid,typing,dataclasses,traceback,string"

/* Forks share what these hold. */
#define PRELOAD_FORKED PRELOAD ",numpy,pandas,matplotlib"

struct serve {
	char path[108];
	int lock, listener;
	bool passed; /* the listening socket is systemd's */
	pid_t front, look;
	struct news news;
};

/* Front needs no file, no id and no right of ours. */
static int give_up_rights(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	/* Changing ids undid it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Front is started again from a warden that holds everybody's descriptors. */
static void keep_only(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

	if (low > 3)
		(void)close_range(3, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0u, 0);
}

static void reap(pid_t *child)
{
	int status;

	if (*child > 0)
		while (waitpid(*child, &status, 0) < 0 && errno == EINTR)
			;
	*child = 0;
}

static pid_t start_front(void *arg, int *ret_sock)
{
	struct serve *s = arg;
	int pair[2];

	reap(&s->front);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		keep_only(s->listener, pair[1]);
		(void)prctl(PR_SET_NAME, "pinfold-front", 0, 0, 0);
		if (give_up_rights() < 0 || front_run(s->listener, pair[1]) < 0)
			_exit(1);
		_exit(0);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -1;
	}
	s->front = pid;
	*ret_sock = pair[0];
	return pid;
}

static pid_t start_look(void *arg, int *ret_sock)
{
	struct serve *s = arg;
	int pair[2];

	reap(&s->look);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		keep_only(pair[1], pair[1]);
		if (give_up_rights() < 0)
			_exit(1);
		look_run(pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -1;
	}
	s->look = pid;
	*ret_sock = pair[0];
	return pid;
}

/* What systemd's sd_notify() does, which is one datagram. */
static void tell_systemd(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (!path || fd < 0 || (path[0] != '/' && path[0] != '@') ||
	    strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

static void news(void *arg, const struct warden_news *one)
{
	struct serve *s = arg;

	news_tell(&s->news, one);
}

static void ready(void *arg)
{
	const struct serve *s = arg;

	tell_systemd("READY=1");
	(void)fprintf(stderr, "pinfold: serving on %s\n", s->path);
}

static void stop_listening(void *arg)
{
	struct serve *s = arg;

	if (s->listener >= 0 && !s->passed)
		(void)unlink(s->path);
	fd_close(&s->listener);
}

static bool was_passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	char own[24];

	(void)snprintf(own, sizeof(own), "%d", (int)getpid());
	return pid && fds && strcmp(pid, own) == 0 && strcmp(fds, "1") == 0;
}

/* One daemon a socket: the lock beside it is held for as long as we live. */
static int take_lock(struct serve *s, struct err *e)
{
	char path[120], dir[120];

	(void)snprintf(path, sizeof(path), "%s.lock", s->path);
	(void)snprintf(dir, sizeof(dir), "%s", s->path);
	*strrchr(dir, '/') = '\0';
	if (access(dir, F_OK) < 0 && place_make(dir, e) < 0)
		return -ENOENT;
	if (geteuid() == 0 && strcmp(dir, "/run/pinfold") == 0)
		(void)chmod(dir, 0711); /* callers come through; what is in it is closed */
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return err_sys(e, "open %s", path);
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		(void)err_set(e, ERR_CONFLICT, "a daemon serves %s already", s->path);
		return err_remedy(e, "stop it first, or choose another place with --socket");
	}
	return 0;
}

static int make_listener(struct serve *s, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	gid_t group = geteuid() == 0 ? group_find(GROUP_NAME) : (gid_t)-1;

	if (geteuid() == 0 && group == (gid_t)-1)
		group = PINFOLD_API_ID; /* nobody has it but who serves HTTP for us */

	memcpy(at.sun_path, s->path, strlen(s->path) + 1);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return err_sys(e, "socket");
	/* Who died before us left his behind; the lock says that nobody listens there. */
	if (unlink(s->path) < 0 && errno != ENOENT)
		return err_sys(e, "remove %s", s->path);
	mode_t old = umask(0177);
	int r = bind(s->listener, (struct sockaddr *)&at, sizeof(at));
	(void)umask(old);
	if (r < 0)
		return err_sys(e, "bind %s", s->path);
	/* Where nobody can have that id (a user namespace), the socket stays root's alone. */
	if (group != (gid_t)-1 && (chown(s->path, 0, group) < 0 || chmod(s->path, 0660) < 0) &&
	    !(group == PINFOLD_API_ID && errno == EINVAL))
		return err_sys(e, "give %s to group " GROUP_NAME, s->path);
	return listen(s->listener, BACKLOG) < 0 ? err_sys(e, "listen on %s", s->path) : 0;
}

static int open_listener(struct serve *s, const char *path, struct err *e)
{
	if (path && (path[0] != '/' || strlen(path) >= sizeof(s->path) - 6)) {
		(void)err_set(e, ERR_INVALID, "--socket: not an absolute path of at most %zu bytes",
			      sizeof(s->path) - 7);
		return err_remedy(e, "name a path such as /run/pinfold/pinfold.sock");
	}
	if (path)
		(void)snprintf(s->path, sizeof(s->path), "%s", path);
	else if (place_socket(s->path, sizeof(s->path) - 6, e) < 0)
		return -EINVAL;
	if (was_passed()) {
		s->listener = FIRST_PASSED;
		s->passed = true;
		return fcntl(s->listener, F_SETFD, FD_CLOEXEC) < 0 ? err_sys(e, "LISTEN_FDS") : 0;
	}
	int r = take_lock(s, e);
	return r < 0 ? r : make_listener(s, e);
}

/* As many as there may be. */
static rlim_t raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return RLIM_INFINITY;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* or it stays as it is */
	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? RLIM_INFINITY : limit.rlim_cur;
}

/* Every sandbox is a handful of descriptors. Without one left nobody could even ask: so half of
 * them at most are for runs, and those that wait get what runs leave. */
static void fit_descriptors(struct warden_config *c, rlim_t limit)
{
	rlim_t room = limit > FDS_OWN ? limit - FDS_OWN : 0;
	bool cut = false;

	if (c->live_max > room / 2 / FDS_RUNNING) {
		c->live_max = (unsigned)(room / 2 / FDS_RUNNING);
		cut = true;
	}
	room = (room - c->live_max * FDS_RUNNING) / FDS_WAITING;
	c->waiting_max = room < UINT_MAX ? (unsigned)room : UINT_MAX;
	for (int kind = 0; kind < KINDS; kind++) {
		if (c->waiting[kind] > room) {
			c->waiting[kind] = (unsigned)room;
			cut = true;
		}
		room -= c->waiting[kind];
	}
	if (cut)
		(void)fprintf(stderr,
			      "pinfold: no more than %llu open files are allowed (ulimit -Hn): at "
			      "most %u runs at once, %u sandboxes and %u Pythons wait\n",
			      (unsigned long long)limit, c->live_max, c->waiting[KIND_PLAIN],
			      c->waiting[KIND_PYTHON]);
}

static unsigned count(uint32_t given, unsigned standard)
{
	return given == UINT32_MAX ? 0 : given ? given : standard;
}

/* An older header's struct is shorter; what it does not have is the default. */
static void take_options(struct pinfold_serve_options *ret, const struct pinfold_serve_options *o)
{
	*ret = (struct pinfold_serve_options){0};
	memcpy(ret, o, o->size < sizeof(*ret) ? o->size : sizeof(*ret));
}

int pinfold_serve(const struct pinfold_serve_options *options, struct pinfold_error *ret_error)
{
	struct pinfold_serve_options given, *o = &given;
	struct serve s = {.lock = FD_NONE, .listener = FD_NONE};
	struct err e = ERR_INIT;

	take_options(o, options);
	struct warden_config config = {
		.waiting = {[KIND_PLAIN] = count(o->warm, 4),
			    [KIND_PYTHON] =
				    count(o->python, access("/usr/bin/python3", X_OK) == 0 ? 2 : 0),
			    [KIND_NODE] = count(o->node, access("/usr/bin/node", X_OK) == 0),
			    [KIND_R] = count(o->r, 0)},
		.warm_memory = o->warm_memory,
		.live_max = o->max ? o->max : 64,
		.queue_max = count(o->queue, 256),
		.api_uid = PINFOLD_API_ID,
		.preload = o->preload ? o->preload : PRELOAD_FORKED,
		.preload_alone = o->preload ? o->preload : PRELOAD,
		.start_front = start_front,
		.start_look = start_look,
		.arg = &s,
		.ready = ready,
		.stop_listening = stop_listening,
		.renewed = o->renewed,
		.renewed_arg = o->renewed_arg,
		.news = news,
	};

	fit_descriptors(&config, raise_descriptors());
	int r = open_listener(&s, o->socket, &e);
	s.news.socket = FD_NONE;
	if (r >= 0) {
		news_start(&s.news);
		r = warden_serve(&config, &e);
	}
	tell_systemd("STOPPING=1");
	stop_listening(&s);
	reap(&s.front);
	reap(&s.look);
	news_end(&s.news);
	fd_close(&s.lock);
	if (r >= 0)
		return 0;
	error_public(&e, ret_error);
	return -1;
}
