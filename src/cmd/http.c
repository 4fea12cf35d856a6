/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of HTTP, and the start of its processes (http_int.h). */
#include "cmd/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pinfold/approval.h>
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/group.h"
#include "base/parse.h"
#include "cmd/http_int.h"

#define BACKLOG 1024

static int default_path(const struct http_options *o, const char *socket, char *ret, size_t size,
			struct err *e)
{
	size_t n = strlen(socket);

	if (o->unix_path && (o->unix_path[0] != '/' || strlen(o->unix_path) >= size))
		return err_set(e, ERR_INVALID,
			       "--http-socket: not an absolute path of at most %zu bytes",
			       size - 1);
	if (o->unix_path) {
		(void)snprintf(ret, size, "%s", o->unix_path);
		return 0;
	}
	if (n > 5 && strcmp(socket + n - 5, ".sock") == 0)
		n -= 5;
	if (n + 11 > size)
		return err_set(e, ERR_INVALID,
			       "--socket: too long a path for the one of HTTP beside it");
	(void)snprintf(ret, size, "%.*s-http.sock", (int)n, socket);
	return 0;
}

/* A socket of a daemon that is dead is removed; one that somebody serves is his. */
static int clear_path(const char *path, const struct sockaddr_un *at, struct err *e)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_sys(e, "socket");
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN) {
		(void)err_set(e, ERR_CONFLICT, "a daemon serves HTTP on %s already", path);
		return err_remedy(e, "stop it first, or choose another place with --http-socket");
	}
	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(e, "remove %s", path);
	return 0;
}

static int listen_unix(const char *path, struct api_listen *ret, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	gid_t group = geteuid() == 0 ? group_find(HTTP_GROUP) : (gid_t)-1;

	memcpy(at.sun_path, path, strlen(path) + 1);
	if (clear_path(path, &at, e) < 0)
		return -EEXIST;
	mode_t old = umask(0177);
	int r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&at, sizeof(at));
	(void)umask(old);
	if (r < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "listen on %s", path);
	if (group != (gid_t)-1 && (chown(path, 0, group) < 0 || chmod(path, 0660) < 0))
		return err_sys(e, "give %s to group " HTTP_GROUP, path);
	*ret = (struct api_listen){take_fd(&fd), API_UNIX};
	return 0;
}

static int bad_address(const char *address, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "--listen: \"%.80s\" is no HOST:PORT", address);
	return err_remedy(e, "use for example 127.0.0.1:8787 or [::1]:8787");
}

static int parse_address(const char *address, struct sockaddr_storage *ret, socklen_t *ret_len,
			 struct err *e)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(address, ':');
	char host[80];
	uint64_t port = 0;
	struct err ignored = ERR_INIT;

	*ret = (struct sockaddr_storage){0};
	if (!colon || colon - address >= (ptrdiff_t)sizeof(host) ||
	    parse_count(colon + 1, &port, &ignored) < 0 || port > 65535)
		return bad_address(address, e);
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	size_t n = strlen(host);
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*in6);
		return inet_pton(AF_INET6, host + 1, &in6->sin6_addr) == 1
			       ? 0
			       : bad_address(address, e);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)port);
	*ret_len = sizeof(*in);
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &in->sin_addr) ==
			       1
		       ? 0
		       : bad_address(address, e);
}

static int listen_tcp(const char *address, struct err *e)
{
	struct sockaddr_storage at;
	socklen_t len = 0;
	int one = 1;

	if (parse_address(address, &at, &len, e) < 0)
		return -EINVAL;
	auto_close int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
			 sizeof(one)); /* its connections have it */
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "listen on %s", address);
	return take_fd(&fd);
}

/* Tokens are root's; who serves may read them. */
int http_open_dir(const char *home, struct err *e)
{
	char path[4096 + 8];
	auto_close int fd = FD_NONE;

	(void)snprintf(path, sizeof(path), "%s/api", home);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", path);
		*p = '/';
	}
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	if (geteuid() == 0 && (fchown(fd, 0, PINFOLD_API_ID) < 0 || fchmod(fd, 0750) < 0)) {
		(void)err_sys(e, "give %s to the process that serves HTTP (id %u)", path,
			      PINFOLD_API_ID);
		return err_remedy(e, "where that id cannot be used, serve with --no-http");
	}
	return take_fd(&fd);
}

/* Where who serves puts his questions, and we answer them. */
static int open_approvals(const char *home, struct err *e)
{
	struct pinfold_error failure;
	char path[4096 + 8];

	(void)snprintf(path, sizeof(path), "%s/api", home);
	auto_close int fd = pinfold_approvals_open(path, &failure);
	if (fd < 0)
		return err_set(e, ERR_INTERNAL, "%s", failure.message);
	if (geteuid() == 0 && fchown(fd, PINFOLD_API_ID, PINFOLD_API_ID) < 0)
		return err_sys(e, "give %s/approvals to the process that serves HTTP", path);
	return take_fd(&fd);
}

/* What the one who serves writes himself: what tenants have used. */
static int open_state(int dir, struct err *e)
{
	if (mkdirat(dir, "state", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make api/state");
	auto_close int fd = openat(dir, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, PINFOLD_API_ID, PINFOLD_API_ID) < 0))
		return err_sys(e, "open api/state");
	return take_fd(&fd);
}

/* What runs over HTTP need to be run again. */
static int open_kept(int dir, struct err *e)
{
	if (mkdirat(dir, "artifacts", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make api/artifacts");
	auto_close int fd =
		openat(dir, "artifacts", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, PINFOLD_API_ID, PINFOLD_API_ID) < 0))
		return err_sys(e, "open api/artifacts");
	return take_fd(&fd);
}

/* The chain of who serves: he cannot write to that of the data directory. */
static int open_ledger(int dir, struct err *e)
{
	if (mkdirat(dir, "ledger", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the ledger's directory");
	auto_close int fd = openat(dir, "ledger", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "open the ledger's directory");
	if (geteuid() == 0 && fchown(fd, PINFOLD_API_ID, PINFOLD_API_ID) < 0)
		return err_sys(e, "give the ledger's directory to the process that serves HTTP");
	return take_fd(&fd);
}

/* TLS is for addresses: one that is given without them, or in half, is a mistake. */
static int check_tls(const struct http_options *o, struct err *e)
{
	if (!o->tls_cert && !o->tls_key)
		return 0;
	if (!o->tls_cert || !o->tls_key)
		return err_set(e, ERR_INVALID, "--tls-cert and --tls-key go together");
	if (!o->addresses || !o->addresses[0])
		return err_set(e, ERR_INVALID, "--tls-cert: without --listen nothing speaks TLS");
	return 0;
}

static int open_addresses(const struct http_options *o, struct side *s, struct err *e)
{
	struct api_config *c = &s->config;
	struct tls_side *t = &s->tls;

	for (unsigned i = 0; o->addresses && o->addresses[i]; i++) {
		if (i == TLS_LISTEN_MAX)
			return err_set(e, ERR_INVALID, "--listen: more than seven");
		int fd = listen_tcp(o->addresses[i], e);
		if (fd < 0)
			return fd;
		if (o->tls_cert)
			t->listen[t->n_listen++] = fd;
		else
			c->listen[c->n_listen++] = (struct api_listen){fd, API_TCP};
	}
	if (!o->tls_cert)
		return 0;
	t->cert_path = o->tls_cert;
	t->key_path = o->tls_key;
	int r = tls_open(t, e);
	if (r >= 0)
		c->listen[c->n_listen++] = (struct api_listen){t->door[0], API_DOOR};
	return r;
}

static int open_all(const struct http_options *o, struct side *s, struct http_side *ret,
		    struct err *e)
{
	struct api_config *c = &s->config;
	struct pinfold_error failure;
	int r = 0;

	if (o->daemon_socket)
		(void)snprintf(s->socket, sizeof(s->socket), "%s", o->daemon_socket);
	else if (pinfold_socket(s->socket, sizeof(s->socket), &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	if (pinfold_home(s->home, sizeof(s->home), &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	r = check_tls(o, e);
	if (r >= 0)
		r = default_path(o, s->socket, ret->path, sizeof(ret->path), e);
	if (r >= 0)
		r = c->dir = http_open_dir(s->home, e);
	if (r >= 0)
		r = c->approvals = open_approvals(s->home, e);
	if (r >= 0)
		r = c->state = open_state(c->dir, e);
	if (r >= 0)
		r = c->ledger = open_ledger(c->dir, e);
	if (r >= 0)
		r = c->kept = open_kept(c->dir, e);
	if (r >= 0)
		r = listen_unix(ret->path, &c->listen[c->n_listen++], e);
	if (r >= 0)
		r = open_addresses(o, s, e);
	c->hosts = o->hosts;
	c->origins = o->origins;
	c->open = o->conformance;
	c->open_probes = o->open_probes;
	c->log = o->log;
	c->keep_ms = o->keep_ms;
	s->mcp_policy = o->mcp_policy;
	c->keep_bytes = o->keep_bytes;
	return r;
}

static void close_all(struct side *s)
{
	for (unsigned i = 0; i < s->config.n_listen; i++)
		fd_close(&s->config.listen[i].fd);
	fd_close(&s->config.dir);
	fd_close(&s->config.approvals);
	fd_close(&s->config.state);
	fd_close(&s->config.ledger);
	fd_close(&s->config.kept);
	tls_forget(&s->tls);
}

/* Until the watcher has TLS ended, or says why not. */
static int await_tls(int ready, struct http_side *h, struct err *e)
{
	struct tls_answer a;
	size_t n = 0;
	int r = fd_read_max(ready, &a, sizeof(a), &n);

	if (r < 0 || n != sizeof(a))
		r = err_set(e, ERR_INTERNAL, "what ends TLS did not start");
	else if (a.result < 0)
		*e = a.e;
	if (r < 0 || a.result < 0)
		http_stop(h);
	return r < 0 ? r : a.result;
}

int http_start(const struct http_options *o, struct http_side *ret, struct err *e)
{
	struct side s = {.config = {.dir = FD_NONE,
				    .ledger = FD_NONE,
				    .kept = FD_NONE,
				    .state = FD_NONE,
				    .approvals = FD_NONE,
				    .keeper = FD_NONE,
				    .orders = FD_NONE},
			 .api = PROC_NONE,
			 .next = PROC_NONE,
			 .runs = PROC_NONE,
			 .elder = {PROC_NONE, PROC_NONE, PROC_NONE, PROC_NONE},
			 .door = FD_NONE,
			 .root = geteuid() == 0,
			 .tls = TLS_SIDE_INIT};
	int leash[2], ready[2];
	int r = open_all(o, &s, ret, e);

	if (r >= 0 && (pipe2(leash, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0))
		r = err_sys(e, "pipe");
	if (r < 0) {
		if (s.config.n_listen && s.config.listen[0].fd > 0)
			(void)unlink(ret->path); /* we made it; nobody else will */
		close_all(&s);
		return r;
	}
	s.leash = leash[0];
	ret->leash = leash[1];
	ret->pid = fork();
	if (ret->pid == 0) {
		(void)close(leash[1]);
		(void)close(ready[0]);
		http_watch(&s, ready[1]);
	}
	bool tls = s.tls.cert_path;
	(void)close(leash[0]);
	(void)close(ready[1]);
	close_all(&s);
	r = ret->pid < 0 ? err_sys(e, "fork") : 0;
	if (r >= 0 && tls)
		r = await_tls(ready[0], ret, e);
	(void)close(ready[0]);
	return r;
}

void http_renew(struct http_side *h)
{
	if (h->pid > 0)
		(void)!write(h->leash, "", 1); /* a pipe that is full has been told often enough */
}

void http_stop(struct http_side *h)
{
	if (h->pid <= 0)
		return;
	(void)unlink(h->path);
	fd_close(&h->leash);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}
