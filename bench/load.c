/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What connections and bytes cost over HTTP. The daemon is $PINFOLD_SOCKET's.
 *
 *	load -k N -P PID [-u UID] [-e PATH]
 *					N connections that say nothing more after one request, or with -e as
 *					many event streams of PATH: KiB that the process PID takes more
 *	load -d PORT PATH [-a TOKEN]	one download from that port of the loopback: bytes and seconds
 *
 * Prints the numbers alone. A connection that is closed or refused is an error.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "common.h"

static int smaps = -1; /* opened before we became a user who may not */

static void smaps_open(unsigned long pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%lu/smaps_rollup", pid);
	smaps = open(path, O_RDONLY | O_CLOEXEC);
	if (smaps < 0)
		err(1, "%s", path);
}

static unsigned long proportional_kib(void)
{
	char text[4096];
	unsigned long kib = 0;
	ssize_t n = pread(smaps, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, "Pss:");
	if (!at || sscanf(at, "Pss: %lu kB", &kib) != 1)
		errx(1, "smaps_rollup says nothing");
	return kib;
}

/* Only the head of a stream comes: nothing happens in it. */
static void connections(size_t n, const char *stream)
{
	struct rlimit many = {n + 64, n + 64};
	static struct client c;
	int *kept = calloc(n, sizeof(*kept));

	if (!kept || setrlimit(RLIMIT_NOFILE, &many) < 0)
		err(1, "%zu descriptors", n);
	client_unix(&c);
	(void)client_call(&c, "GET", "/healthz", NULL);
	unsigned long before = proportional_kib();
	for (size_t i = 0; i < n; i++) {
		client_unix(&c);
		kept[i] = c.in;
		if (stream)
			(void)client_begin(&c, stream);
		else if (client_call(&c, "GET", "/healthz", NULL) != 200)
			errx(1, "connection %zu: %.200s", i, c.answer);
	}
	printf("%ld\n", (long)proportional_kib() - (long)before);
	client_unix(&c);
	if (client_call(&c, "GET", "/healthz", NULL) != 200)
		errx(1, "one more is not answered");
	for (size_t i = 0; i < n; i++) {
		char byte;

		/* Still there: nothing to read, and not at its end. */
		if (!stream && recv(kept[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
			errx(1, "connection %zu was closed", i);
		(void)close(kept[i]);
	}
	free(kept);
}

static void download(unsigned port, const char *path, const char *token)
{
	static struct client c;
	static char sink[1u << 20];

	client_tcp(&c, port, token);
	uint64_t begin = now_ns();
	int64_t length = client_begin(&c, path), got = (int64_t)c.len;
	while (got < length) {
		ssize_t n = read(c.in, sink, sizeof(sink));

		if (n <= 0)
			err(1, "%s: ended after %lld", path, (long long)got);
		got += n;
	}
	printf("%lld %.6f\n", (long long)got, (double)(now_ns() - begin) / 1e9);
	client_done(&c);
}

int main(int argc, char **argv)
{
	const char *stream = NULL, *token = NULL;
	unsigned long n = 0, uid = 0, port = 0;
	int opt = 0;

	while ((opt = getopt(argc, argv, "k:P:u:e:d:a:")) != -1) {
		switch (opt) {
		case 'k': n = parse_number(optarg, "-k"); break;
		case 'P': smaps_open(parse_number(optarg, "-P")); break;
		case 'u': uid = parse_number(optarg, "-u"); break;
		case 'e': stream = optarg; break;
		case 'd': port = parse_number(optarg, "-d"); break;
		case 'a': token = optarg; break;
		default: errx(2, "see the top of load.c");
		}
	}
	if (uid)
		become_user(uid);
	if (n && smaps >= 0)
		connections(n, stream);
	else if (port && optind + 1 == argc)
		download((unsigned)port, argv[optind], token);
	else
		errx(2, "see the top of load.c");
	return 0;
}
