/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of HTTP servers for bench/egress: by itself, inside a sandbox, or by a proxy's CONNECT.
 *
 *	flow open HOST PORT COUNT	so many new connections, one after the other: name, connection, TLS
 *					handshake; prints the microseconds of each
 *	flow ask HOST PORT N SECONDS	GET /small over and over on N connections with TLS; requests a second
 *	flow stream HOST PORT N SECONDS	GET /big over and over on N connections; bytes a second
 *	flow hold HOST PORT N		N connections with TLS and a request on each, then says so and waits for the end of its input
 *
 * $FLOW_PROXY=ADDRESS:PORT is asked to CONNECT first, $FLOW_AT=ADDRESS:PORT is connected to in the
 * place of HOST and PORT. Port 443 and those above 8000 speak TLS. Certificates are those of
 * $SSL_CERT_FILE.
 */
#include <err.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (256 << 10)
#define THREADS_MAX 256

struct line {
	int fd;
	SSL *tls; /* NULL: in the clear */
};

static const char *host, *port;
static SSL_CTX *context;
static atomic_ullong done;
static atomic_uint n_ready; /* lines that had the beginning of an answer */
static _Thread_local bool is_ready;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long long number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (end == text)
		errx(2, "not a number: %.20s", text);
	return n;
}

static int connect_to(const char *name, const char *service)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int on = 1, fd = -1;
	int r = getaddrinfo(name, service, &hints, &list);

	if (r)
		errx(1, "%s: %s", name, gai_strerror(r));
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		err(1, "%s:%s", name, service);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* ADDRESS:PORT of a variable. */
static int connect_by(const char *variable)
{
	char text[128], *colon;

	snprintf(text, sizeof(text), "%s", getenv(variable));
	colon = strrchr(text, ':');
	if (!colon)
		errx(1, "%s is no ADDRESS:PORT", variable);
	*colon = '\0';
	return connect_to(text, colon + 1);
}

static int tunnel(void)
{
	int fd = connect_by("FLOW_PROXY");
	char text[512];
	int n = snprintf(text, sizeof(text), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", host,
			 port, host, port);
	size_t got = 0;

	if (write(fd, text, (size_t)n) != n)
		err(1, "CONNECT");
	do {
		ssize_t m = read(fd, text + got, sizeof(text) - 1 - got);

		if (m <= 0)
			errx(1, "CONNECT ends");
		got += (size_t)m;
		text[got] = '\0';
	} while (!strstr(text, "\r\n\r\n"));
	if (strncmp(text, "HTTP/1.1 200", 12) != 0)
		errx(1, "CONNECT: %.40s", text);
	return fd;
}

static void line_open(struct line *l)
{
	unsigned long long at = number(port);

	*l = (struct line){.fd = getenv("FLOW_PROXY") ? tunnel()
				 : getenv("FLOW_AT")  ? connect_by("FLOW_AT")
						      : connect_to(host, port)};
	if (at != 443 && at < 8000)
		return;
	l->tls = SSL_new(context);
	if (!l->tls || SSL_set_fd(l->tls, l->fd) != 1 ||
	    SSL_set_tlsext_host_name(l->tls, host) != 1 || SSL_set1_host(l->tls, host) != 1 ||
	    SSL_connect(l->tls) != 1)
		errx(1, "TLS: %s", X509_verify_cert_error_string(SSL_get_verify_result(l->tls)));
}

static void line_close(struct line *l)
{
	SSL_free(l->tls);
	close(l->fd);
}

static void line_write(struct line *l, const char *text)
{
	int n = (int)strlen(text);

	if ((l->tls ? SSL_write(l->tls, text, n) : (int)write(l->fd, text, (size_t)n)) != n)
		errx(1, "write");
}

static size_t line_read(struct line *l, char *to, size_t size)
{
	ssize_t n = l->tls ? SSL_read(l->tls, to, (int)size) : read(l->fd, to, size);

	if (n <= 0)
		errx(1, "the connection ends");
	return (size_t)n;
}

/* One answer; what is read of it counts as it comes. */
static void exchange(struct line *l, const char *request, char *buffer, bool counts_bytes)
{
	size_t got = 0, head, length;
	char *end = NULL, *field;

	line_write(l, request);
	while (!end) {
		got += line_read(l, buffer + got, BUFFER - 1 - got);
		buffer[got] = '\0';
		end = strstr(buffer, "\r\n\r\n");
	}
	field = strcasestr(buffer, "\ncontent-length:");
	if (strncmp(buffer, "HTTP/1.1 200", 12) != 0 || !field)
		errx(1, "answer: %.60s", buffer);
	head = (size_t)(end + 4 - buffer);
	n_ready += !is_ready;
	is_ready = true;
	length = number(field + 16);
	for (size_t have = got - head; have < length;) {
		size_t n = line_read(l, buffer, BUFFER);

		have += n;
		if (counts_bytes)
			done += n;
	}
	if (!counts_bytes)
		done++;
}

static void make_request(char request[256], const char *path)
{
	snprintf(request, 256, "GET %s HTTP/1.1\r\nHost: %s%s%s\r\n\r\n", path, host,
		 strcmp(port, "443") != 0 ? ":" : "", strcmp(port, "443") != 0 ? port : "");
}

static void *work(void *arg)
{
	const char *path = arg;
	char request[256], *buffer = malloc(BUFFER);
	struct line l;

	if (!buffer)
		err(1, "memory");
	make_request(request, path);
	line_open(&l);
	for (;;)
		exchange(&l, request, buffer, path[1] == 'b');
}

static void rate(char *path, unsigned n, double seconds)
{
	pthread_t threads[THREADS_MAX];
	double start;
	unsigned long long before;

	for (unsigned i = 0; i < n && i < THREADS_MAX; i++)
		if (pthread_create(&threads[i], NULL, work, path))
			errx(1, "thread");
	for (unsigned i = 0; n_ready < n && i < 3000; i++)
		usleep(10000);
	if (n_ready < n)
		errx(1, "%u of %u connections have an answer", n_ready, n);
	start = now();
	before = done;
	usleep((useconds_t)(seconds * 1e6));
	printf("%.0f\n", (double)(done - before) / (now() - start));
	fflush(stdout);
	_exit(0); /* what is under way does not matter */
}

static void open_all(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		double start = now();
		struct line l;

		line_open(&l);
		printf("%.0f\n", (now() - start) * 1e6);
		line_close(&l);
	}
}

static void hold(unsigned n)
{
	char c, request[256], *buffer = malloc(BUFFER);

	if (!buffer)
		err(1, "memory");
	make_request(request, "/small");
	for (unsigned i = 0; i < n; i++) {
		struct line l;

		line_open(&l); /* never closed */
		exchange(&l, request, buffer, false);
	}
	puts("held");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		errx(2, "flow open|ask|stream|hold HOST PORT N [SECONDS]");
	host = argv[2];
	port = argv[3];
	unsigned n = (unsigned)number(argv[4]);
	double seconds = argc > 5 ? strtod(argv[5], NULL) : 1;

	signal(SIGPIPE, SIG_IGN); /* tidy: a bench */
	context = SSL_CTX_new(TLS_client_method());
	if (!context || SSL_CTX_set_default_verify_paths(context) != 1)
		errx(1, "no certificates");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (strcmp(argv[1], "open") == 0)
		open_all(n);
	else if (strcmp(argv[1], "hold") == 0)
		hold(n);
	else
		rate(argv[1][0] == 'a' ? "/small" : "/big", n, seconds);
	return 0;
}
