/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request that becomes a stream (Upgrade: pinfold-sync). TLS is not spoken here: it would be in
 * every start of this program. A tunnel (ssh -L) or a proxy on this machine does it.
 */
#include "cmd/sync_url.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "api/op.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/value.h"

#define HEAD_MAX 16384u
#define BODY_MAX 65536u
#define WAIT_S 60

static int bad_url(const char *url, struct err *e)
{
	bool tls = strncmp(url, "https://", 8) == 0;

	(void)err_set(e, tls ? ERR_UNSUPPORTED : ERR_INVALID, "--url: \"%.100s\" %s", url,
		      tls ? "is TLS, which is not spoken here" : "is no address of a daemon");
	return err_remedy(e,
			  tls ? "forward a port with ssh -L, or a TLS proxy, and use http:// there"
			      : "use http://HOST:PORT or unix:/path/of/the-http.sock");
}

static int connect_unix(const char *path, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(e, ERR_INVALID, "--url: the path is too long for a socket");
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return err_sys(e, "connect to %s", path);
	return take_fd(&fd);
}

/* HOST:PORT, [HOST]:PORT; in numbers: a static program has no resolver. */
static bool parse_address(const char *where, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(where, ':');
	size_t n = colon ? (size_t)(colon - where) : 0;
	struct err ignored = ERR_INIT;
	uint64_t port = 0;
	char host[80];

	if (n < 2 || n >= sizeof(host) || parse_count(colon + 1, &port, &ignored) < 0 || !port ||
	    port > 65535)
		return false;
	bool bracket = where[0] == '[' && where[n - 1] == ']';
	(void)snprintf(host, sizeof(host), "%.*s", (int)(bracket ? n - 2 : n), where + bracket);
	*ret = (struct sockaddr_storage){.ss_family = bracket ? AF_INET6 : AF_INET};
	*ret_len = bracket ? sizeof(*in6) : sizeof(*in);
	if (bracket) {
		in6->sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
	}
	in->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &in->sin_addr) ==
	       1;
}

static int connect_tcp(const char *where, struct err *e)
{
	struct sockaddr_storage at;
	socklen_t len = 0;

	if (!parse_address(where, &at, &len)) {
		(void)err_set(e, ERR_INVALID, "--url: \"%.80s\" is no address and port", where);
		return err_remedy(e, "give an address in numbers, or localhost, and a port");
	}
	auto_close int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, len) < 0)
		return err_sys(e, "connect to %s", where);
	return take_fd(&fd);
}

static int reach(const char *url, char host[128], struct err *e)
{
	char where[128];

	(void)snprintf(host, 128, "localhost");
	if (strncmp(url, "unix:", 5) == 0)
		return connect_unix(url + 5, e);
	if (strncmp(url, "http://", 7) != 0 || strlen(url) >= sizeof(where))
		return bad_url(url, e);
	(void)snprintf(where, sizeof(where), "%s", url + 7);
	size_t n = strlen(where);
	if (n && where[n - 1] == '/')
		where[n - 1] = '\0';
	if (strchr(where, '/'))
		return bad_url(url, e);
	(void)snprintf(host, 128, "%s", where);
	return connect_tcp(where, e);
}

static int read_token(const char *path, char token[256], struct err *e)
{
	size_t len = 0;

	*token = '\0';
	if (!path)
		return 0;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_max(fd, token, 255, &len) < 0)
		return err_sys(e, "--token-file: read %s", path);
	token[len] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	if (!*token ||
	    strspn(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			  "-._~+/=") != strlen(token))
		return err_set(e, ERR_INVALID, "--token-file: %s holds no token", path);
	return 0;
}

static void add_encoded(FILE *f, const char *text)
{
	for (; *text; text++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/",
			   *text))
			(void)fputc(*text, f);
		else
			(void)fprintf(f, "%%%02X", (unsigned char)*text);
}

static int send_request(const struct sync_url *u, int fd, const char *host, const char *token,
			struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	char path[128];

	if (!f)
		return err_sys(e, "request");
	/* Where the name belongs it is put by hand: it may need more room than the table's paths
	 * do. */
	op_route("workspace.sync", "\n", path, sizeof(path));
	size_t before = strcspn(path, "\n");
	(void)fprintf(f, "POST %.*s", (int)before, path);
	add_encoded(f, u->name);
	(void)fprintf(f, "%s?direction=%s&key=%s%s", path + before + 1, u->push ? "push" : "pull",
		      u->key, u->mirror ? "&mirror=true" : "");
	if (u->to) {
		(void)fprintf(f, "&to=");
		add_encoded(f, u->to);
	}
	(void)fprintf(f,
		      " HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: pinfold-sync\r\n",
		      host);
	if (*token)
		(void)fprintf(f, "Authorization: Bearer %s\r\n", token);
	(void)fprintf(f, "Content-Length: 0\r\n\r\n");
	if (fclose(f) != 0 || fd_write_all(fd, text, len) < 0)
		return err_sys(e, "send to the daemon");
	return 0;
}

/* A byte at a time: what is behind the head belongs to others. */
static int read_head(int fd, char *head, struct err *e)
{
	size_t n = 0;

	while (n + 1 < HEAD_MAX) {
		ssize_t got = recv(fd, head + n, 1, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_set(e, ERR_INTERNAL, "the daemon closed the connection");
		n++;
		head[n] = '\0';
		if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
			return 0;
	}
	return err_set(e, ERR_INTERNAL, "what answers is no daemon of ours");
}

/* Its error becomes ours. */
int sync_url_end(int fd, char **ret_text, size_t *ret_len, struct err *e)
{
	auto_free char *text = malloc(BODY_MAX + 1);
	auto_value *v = NULL;
	struct err ignored = ERR_INIT;
	size_t len = 0;

	if (!text || fd_read_max(fd, text, BODY_MAX, &len) < 0)
		return err_sys(e, "read the daemon's answer");
	text[len] = '\0';
	if (value_parse(text, len, &v, &ignored) < 0)
		return err_set(e, ERR_INTERNAL, "the daemon's answer is cut off");
	const struct value *error = value_get(v, "error");
	const char *code = value_str(value_get(error, "code")),
		   *message = value_str(value_get(error, "message")),
		   *remedy = value_str(value_get(error, "remedy"));
	for (unsigned kind = 0; code && kind < ERR_KINDS; kind++) {
		const char *name = err_code((enum err_kind)kind);
		size_t n = strlen(name);

		if (strncmp(code, name, n) != 0 || (code[n] && code[n] != '.'))
			continue;
		(void)err_set(e, (enum err_kind)kind, "%s", message ? message : "");
		if (code[n])
			(void)err_detail(e, code + n + 1);
		return remedy && *remedy ? err_remedy(e, "%s", remedy) : -EIO;
	}
	if (code)
		return err_set(e, ERR_INTERNAL, "%s", message ? message : code);
	if (ret_text) {
		*ret_text = take_ptr(&text);
		*ret_len = len;
	}
	return 0;
}

int sync_url_open(const struct sync_url *u, int *ret_fd, struct err *e)
{
	char host[128], token[256];
	struct timeval wait = {.tv_sec = WAIT_S}, none = {0};
	auto_free char *head = calloc(1, HEAD_MAX);
	int r = head ? read_token(u->token_file, token, e) : err_sys(e, "answer");

	if (r < 0)
		return r;
	auto_close int fd = reach(u->url, host, e);
	if (fd < 0)
		return fd;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	r = send_request(u, fd, host, token, e);
	if (r >= 0)
		r = read_head(fd, head, e);
	if (r < 0)
		return r;
	if (strncmp(head, "HTTP/1.1 101 ", 13) == 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
		*ret_fd = take_fd(&fd);
		return 0;
	}
	(void)shutdown(fd, SHUT_WR);
	r = sync_url_end(fd, NULL, NULL, e);
	return r < 0 ? r : err_set(e, ERR_INTERNAL, "the daemon does not synchronise");
}
