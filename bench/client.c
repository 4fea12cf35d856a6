/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void client_unix(struct client *c)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *daemon = getenv("PINFOLD_SOCKET");
	size_t n = daemon ? strlen(daemon) : 0;

	if (n < 6 || n + 6 > sizeof(at.sun_path))
		errx(2, "PINFOLD_SOCKET does not name the daemon's socket");
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%.*s-http.sock", (int)n - 5, daemon);
	*c = (struct client){.in = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	c->out = c->in;
	if (c->in < 0 || connect(c->in, (const struct sockaddr *)&at, sizeof(at)) < 0)
		err(1, "%s", at.sun_path);
}

void client_tcp(struct client *c, unsigned port, const char *token)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	*c = (struct client){.in = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .token = token};
	c->out = c->in;
	if (c->in < 0 || connect(c->in, (const struct sockaddr *)&at, sizeof(at)) < 0)
		err(1, "port %u", port);
}

static void put(struct client *c, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(c->out, data, len);

		if (n <= 0)
			err(1, "request");
		data += n;
		len -= (size_t)n;
	}
}

static size_t more(struct client *c)
{
	ssize_t n = read(c->in, c->answer + c->len, ANSWER_SIZE - 1 - c->len);

	if (n <= 0)
		errx(1, "no answer, after: %.200s", c->answer);
	c->len += (size_t)n;
	c->answer[c->len] = '\0';
	return (size_t)n;
}

static void ask(struct client *c, const char *method, const char *path, const char *body)
{
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
			 "%s%s%sContent-Length: %zu\r\n\r\n%s",
			 method, path, c->token ? "Authorization: Bearer " : "",
			 c->token ? c->token : "", c->token ? "\r\n" : "", body ? strlen(body) : 0,
			 body ? body : "");

	if (n < 0 || (size_t)n >= sizeof(text))
		errx(1, "request too long");
	put(c, text, (size_t)n);
	c->len = 0;
	c->answer[0] = '\0';
}

/* Reads until the head is whole, and takes it off. Returns the status. */
static int take_head(struct client *c, int64_t *ret_length)
{
	char *end;
	int status = 0;

	while (!(end = strstr(c->answer, "\r\n\r\n")))
		(void)more(c);
	*end = '\0';
	const char *length = strcasestr(c->answer, "\r\nContent-Length: ");
	*ret_length = length ? strtoll(length + 18, NULL, 10) : -1; /* tidy: the daemon wrote it */
	if (sscanf(c->answer, "HTTP/1.1 %d", &status) != 1)
		errx(1, "not HTTP: %.200s", c->answer);
	c->len -= (size_t)(end + 4 - c->answer);
	memmove(c->answer, end + 4, c->len);
	c->answer[c->len] = '\0';
	return status;
}

int client_call(struct client *c, const char *method, const char *path, const char *body)
{
	int64_t length = 0;

	ask(c, method, path, body);
	int status = take_head(c, &length);
	if (length >= (int64_t)ANSWER_SIZE)
		errx(1, "%s: too long an answer", path);
	while ((int64_t)c->len < length)
		(void)more(c);
	return status;
}

int64_t client_begin(struct client *c, const char *path)
{
	int64_t length = 0;

	ask(c, "GET", path, NULL);
	int status = take_head(c, &length);
	if (status != 200)
		errx(1, "%s: %d %.200s", path, status, c->answer);
	return length;
}

bool client_string(const struct client *c, const char *name, char *to, size_t size)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "\"%s\":\"", name);
	const char *at = strstr(c->answer, key);
	if (!at)
		return false;
	at += strlen(key);
	(void)snprintf(to, size, "%.*s", (int)strcspn(at, "\""), at);
	return true;
}

static void line(struct client *c, const char *text)
{
	put(c, text, strlen(text));
	c->len = 0;
	do
		(void)more(c);
	while (c->answer[c->len - 1] != '\n');
}

void client_mcp(struct client *c, const char *program)
{
	posix_spawn_file_actions_t actions;
	char *argv[] = {(char *)program, (char[]){"mcp"}, NULL};
	int ask_pipe[2], answer_pipe[2];

	*c = (struct client){0};
	if (pipe2(ask_pipe, O_CLOEXEC) < 0 || pipe2(answer_pipe, O_CLOEXEC) < 0)
		err(1, "pipe");
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ask_pipe[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, answer_pipe[1], STDOUT_FILENO);
	if (posix_spawn(&c->pid, program, &actions, NULL, argv, environ) != 0)
		err(1, "%s mcp", program);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ask_pipe[0]);
	(void)close(answer_pipe[1]);
	c->out = ask_pipe[1];
	c->in = answer_pipe[0];
	line(c, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
		"\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n");
	static const char told[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	put(c, told, sizeof(told) - 1);
}

void client_tool(struct client *c, const char *tool, const char *arguments)
{
	char text[2048];

	(void)snprintf(text, sizeof(text),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		       "\"name\":\"%s\",\"arguments\":%s}}\n",
		       tool, arguments);
	line(c, text);
}

void client_done(struct client *c)
{
	(void)close(c->in);
	if (!c->pid)
		return;
	(void)close(c->out);
	(void)waitpid(c->pid, NULL, 0); /* it ends at the end of its input */
}
