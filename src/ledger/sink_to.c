/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to a sink: a directory, HTTP, syslog. Names of hosts are not looked up: what is far
 * away, or wants TLS, is for a forwarder on this machine. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "ledger/event.h"
#include "ledger/settle.h"
#include "ledger/sink.h"

#define WAIT_S 5
#define TAIL_BYTES (2 * EVENT_BYTES_MAX)
#define PRIORITY (13 * 8 + 6) /* log audit, informational */

struct address {
	bool http; /* else syslog */
	char host[64], path[256];
	struct sockaddr_storage sa;
	socklen_t len;
};

static bool parse_host(const char *host, unsigned port, struct address *a)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&a->sa;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->sa;

	a->sa = (struct sockaddr_storage){.ss_family = AF_INET};
	a->len = sizeof(*v4);
	v4->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &v4->sin_addr) == 1)
		return true;
	a->sa = (struct sockaddr_storage){.ss_family = AF_INET6};
	a->len = sizeof(*v6);
	v6->sin6_port = htons((uint16_t)port);
	return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
}

static int parse_address(const char *target, struct address *a, struct err *e)
{
	char host[64] = "";
	unsigned port = 0;
	int at = 0;

	*a = (struct address){.http = strncmp(target, "http://", 7) == 0};
	bool known = a->http || strncmp(target, "syslog://", 9) == 0;
	const char *p = known ? target + (a->http ? 7 : 9) : "";
	if (sscanf(p, "[%45[0-9a-fA-F:.]]:%5u%n", host, &port, &at) != 2 &&
	    sscanf(p, "%45[a-z0-9.]:%5u%n", host, &port, &at) != 2)
		at = 0;
	(void)snprintf(a->host, sizeof(a->host), "%.*s", at, p);
	(void)snprintf(a->path, sizeof(a->path), "%s", a->http && p[at] ? p + at : "/");
	if (at && port && port < 65536 && a->path[0] == '/' && strlen(p + at) < sizeof(a->path) &&
	    !a->path[strcspn(a->path, " \t\r\n")] && (a->http || !p[at]) &&
	    parse_host(host, port, a))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.100s\" is no place for a copy", target);
	return err_remedy(e, "give an absolute directory, http://ADDRESS:PORT/PATH or "
			     "syslog://ADDRESS:PORT; names of hosts and TLS are for a forwarder");
}

int sink_check(const char *target, struct err *e)
{
	struct address a;

	if (target[0] == '/' && strlen(target) < SINK_TARGET_SIZE && !strchr(target, '\n'))
		return 0;
	return parse_address(target, &a, e);
}

/* How many events are in the copy: the last line says it. One that is not whole is cut. */
static int count(int fd, uint64_t *ret, struct err *e)
{
	auto_free char *buf = malloc(TAIL_BYTES);
	struct event_head head;
	struct stat st;

	*ret = 0;
	if (!buf || fstat(fd, &st) < 0)
		return err_sys(e, "the copy");
	size_t len = st.st_size < (off_t)TAIL_BYTES ? (size_t)st.st_size : TAIL_BYTES;
	if (pread(fd, buf, len, st.st_size - (off_t)len) != (ssize_t)len)
		return err_sys(e, "the copy");
	char *stop = len ? memrchr(buf, '\n', len) : NULL;
	size_t torn = stop ? (size_t)(buf + len - stop - 1) : len;
	if (torn && ftruncate(fd, st.st_size - (off_t)torn) < 0)
		return err_sys(e, "the copy");
	char *line = stop ? memrchr(buf, '\n', (size_t)(stop - buf)) : NULL;
	line = line ? line + 1 : buf;
	if (!stop)
		return 0;
	if (!event_head(line, (size_t)(stop - line), &head))
		return err_set(e, ERR_CONFLICT, "the end of the copy is no event");
	*ret = head.at + 1;
	return 0;
}

static int copy_file(int from, int to, const char *name, struct err *e)
{
	auto_close int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = malloc(65536);
	size_t len = 0;

	if (in < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%s", name);
	auto_close int out =
		openat(to, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0 || !text || fd_read_max(in, text, 65536, &len) < 0 ||
	    fd_write_all(out, text, len) < 0)
		return err_sys(e, "copy %s", name);
	return 0;
}

/* The directory must be there: one that is not mounted is not made. */
static int open_dir(struct sink_to *to, int from, struct err *e)
{
	auto_close int top = open(to->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (top < 0 || (mkdirat(top, to->chain, 0700) < 0 && errno != EEXIST))
		return err_sys(e, "%s", to->target);
	to->fd = openat(top, to->chain, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (to->fd < 0)
		return err_sys(e, "%s", to->target);
	auto_close int fd =
		openat(to->fd, "events", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? err_sys(e, "the copy") : count(fd, &to->shipped, e);
	if (r >= 0)
		r = settle_last(to->fd, &to->last, e);
	to->any = r > 0;
	to->knows = true;
	if (r >= 0 && to->shipped == 0)
		r = copy_file(from, to->fd, "tombstone", e);
	return r;
}

int sink_put_keys(const struct sink_to *to, int from, struct err *e)
{
	static const char *const files[] = {"key.pem", "key.verifier", "keys"};
	int r = 0;

	for (size_t i = 0; to->knows && r >= 0 && i < sizeof(files) / sizeof(*files); i++)
		r = copy_file(from, to->fd, files[i], e);
	return r;
}

static int append(int dir, const char *name, const char *text, size_t len, struct err *e)
{
	auto_close int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || fd_write_all(fd, text, len) < 0 || fdatasync(fd) < 0)
		return err_sys(e, "write the copy of %s", name);
	return 0;
}

static int dial(const struct address *a, struct err *e)
{
	auto_close int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval wait = {.tv_sec = WAIT_S};

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&a->sa, a->len) < 0)
		return err_sys(e, "connect to %s", a->host);
	return take_fd(&fd);
}

static int send_all(int fd, const char *data, size_t len, struct err *e)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(e, "send");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* One request a connection; only the status of the answer counts. */
static int post(const struct sink_to *to, const char *type, uint64_t at, const char *body,
		size_t len, struct err *e)
{
	char head[1024], answer[16] = "";
	struct address a;
	size_t got = 0;

	if (parse_address(to->target, &a, e) < 0)
		return -EINVAL;
	auto_close int fd = dial(&a, e);
	if (fd < 0)
		return fd;
	int n = snprintf(
		head, sizeof(head),
		"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Pinfold-Chain: %s\r\nPinfold-From: %llu\r\nConnection: close\r\n\r\n",
		a.path, a.host, type, len, to->chain, (unsigned long long)at);
	int r = send_all(fd, head, (size_t)n, e);
	if (r >= 0)
		r = send_all(fd, body, len, e);
	while (r >= 0 && got < 12) {
		ssize_t k = recv(fd, answer + got, 12 - got, 0);

		if (k <= 0)
			return k < 0 ? err_sys(e, "no answer of %s", a.host)
				     : err_set(e, ERR_INTERNAL, "%s hung up", a.host);
		got += (size_t)k;
	}
	if (r < 0)
		return r;
	if (strncmp(answer, "HTTP/1.", 7) == 0 && answer[8] == ' ' && answer[9] == '2')
		return 0;
	return err_set(e, ERR_INTERNAL, "%s answers \"%s\"", a.host, answer);
}

static int frame(const struct sink_to *to, const char *time, const char *id, uint64_t at,
		 const char *text, size_t len, struct err *e)
{
	char head[512], host[65] = "-", count_text[24];

	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		(void)snprintf(host, sizeof(host), "-");
	int n = snprintf(head, sizeof(head),
			 "<%d>1 %s %s pinfold - %.32s [pinfold@32473 chain=\"%s\" at=\"%llu\"] ",
			 PRIORITY, time, host, id, to->chain, (unsigned long long)at);
	int c = snprintf(count_text, sizeof(count_text), "%zu ", (size_t)n + len);
	int r = send_all(to->fd, count_text, (size_t)c, e);
	if (r >= 0)
		r = send_all(to->fd, head, (size_t)n, e);
	return r < 0 ? r : send_all(to->fd, text, len, e);
}

static int put_frames(const struct sink_to *to, uint64_t at, const char *lines, size_t len,
		      struct err *e)
{
	int r = 0;

	for (const char *p = lines, *end = lines + len; r >= 0 && p < end; at++) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct err none = ERR_INIT;
		auto_value *v = NULL;

		(void)value_parse(p, (size_t)(stop - p), &v, &none);
		const char *time = value_str(value_get(v, "time"));
		const char *kind = value_str(value_get(v, "kind"));
		r = frame(to, time ? time : "-", kind ? kind : "-", at, p, (size_t)(stop - p), e);
		p = stop + 1;
	}
	return r;
}

int sink_open(struct sink_to *to, const char *target, const char *chain, int from, struct err *e)
{
	struct address a;

	to->target = target;
	to->chain = chain;
	if (target[0] == '/')
		return open_dir(to, from, e);
	int r = parse_address(target, &a, e);
	if (r < 0 || a.http)
		return r;
	to->fd = dial(&a, e);
	return to->fd < 0 ? to->fd : 0;
}

int sink_put(struct sink_to *to, uint64_t at, const char *lines, size_t len, struct err *e)
{
	if (to->target[0] == '/')
		return append(to->fd, "events", lines, len, e);
	if (to->target[0] == 'h')
		return post(to, "application/x-ndjson", at, lines, len, e);
	return put_frames(to, at, lines, len, e);
}

int sink_put_note(struct sink_to *to, const char *text, size_t len, struct err *e)
{
	char line[2 * NOTE_SIZE];

	if (to->target[0] == '/')
		return append(to->fd, "checkpoints", text, len, e);
	if (to->target[0] == 'h')
		return post(to, "text/plain; charset=utf-8", 0, text, len, e);
	/* One line, as a frame should be. */
	(void)note_base64(text, len, line);
	return frame(to, "-", "checkpoint", 0, line, strlen(line), e);
}

/* Syslog has no answers: that its kernel has all of it is what can be known. */
int sink_close(struct sink_to *to, struct err *e)
{
	int left = 0, r = 0;

	if (to->fd >= 0 && to->target[0] == 's') {
		for (unsigned i = 0; i < WAIT_S * 100; i++) {
			if (ioctl(to->fd, SIOCOUTQ, &left) < 0 || left == 0)
				break;
			(void)poll(NULL, 0, 10);
		}
		if (left)
			r = err_set(e, ERR_TIMEOUT, "%s does not take it", to->target);
	}
	fd_close(&to->fd);
	return r;
}
