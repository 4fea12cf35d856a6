/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP on standard input and output: one message a line. Output waits in a queue when the client
 * does not read, and no flag of the descriptors is touched: others may share them.
 *
 * It ends at end of file (what goes on then has a moment to finish), at SIGTERM, SIGINT and SIGHUP,
 * when nobody reads any more, and when the parent is gone without a word.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/serve.h"
#include "api/settler.h"
#include "base/fd.h"
#include "mcp/mcp_int.h"

#define READ_BYTES 65536u
#define PIPE_BYTES 4096u /* what a pipe that is writable takes without blocking */
#define QUEUE_MAX ((size_t)256 << 20)
#define PARENT_MS 2000u
#define END_MS 5000u /* for what goes on at end of file */

struct piece {
	struct piece *next;
	size_t len, at;
	char data[];
};

struct stdio {
	struct api api;
	struct mcp *mcp;
	struct peer *peer;
	struct watch in, out, sig;
	struct timer parent_timer, end_timer;
	pid_t parent;
	struct task again; /* input that cannot be waited for: a file */
	bool is_file, ending, in_socket, out_socket;
	char *line;
	size_t line_len, line_room;
	bool too_long; /* the rest of it is passed over */
	struct piece *first, **last;
	size_t queued;
	unsigned going; /* messages that have no answer yet */
};

struct stdio_sink {
	struct sink sink;
	struct stdio *io;
};

static void stop(struct stdio *io)
{
	loop_stop(io->api.loop);
}

static ssize_t put(struct stdio *io, const char *data, size_t len)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (io->out_socket)
		return send(STDOUT_FILENO, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (poll(&p, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(STDOUT_FILENO, data, len < PIPE_BYTES ? len : PIPE_BYTES);
}

static void flush(struct stdio *io)
{
	while (io->first) {
		struct piece *p = io->first;
		ssize_t n = put(io, p->data + p->at, p->len - p->at);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0) {
			stop(io); /* nobody reads any more */
			return;
		}
		p->at += (size_t)n;
		io->queued -= (size_t)n;
		if (p->at < p->len)
			continue;
		io->first = p->next;
		io->last = io->first ? io->last : &io->first;
		free(p);
	}
	(void)watch_set(&io->out, io->first ? EPOLLOUT : 0); /* a file is always writable */
	if (io->ending && !io->first && !io->going)
		stop(io);
}

static void queue(struct stdio *io, const char *text, size_t len)
{
	struct piece *p = io->queued < QUEUE_MAX ? malloc(sizeof(*p) + len + 1) : NULL;

	if (!p) {
		stop(io); /* a client that does not read what it asked for is no client */
		return;
	}
	*p = (struct piece){.len = len + 1};
	memcpy(p->data, text, len);
	p->data[len] = '\n';
	*io->last = p;
	io->last = &p->next;
	io->queued += len + 1;
}

static void sink_send(struct sink *s, const char *text, size_t len, bool last, int http)
{
	struct stdio_sink *mine = (struct stdio_sink *)s;
	struct stdio *io = mine->io;

	(void)http;
	if (text)
		queue(io, text, len);
	if (last) {
		io->going--;
		free(mine);
	}
	flush(io);
}

static void take_line(struct stdio *io, const char *text, size_t len)
{
	struct stdio_sink *s;

	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	if (!len && !io->too_long)
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		stop(io);
		return;
	}
	*s = (struct stdio_sink){.sink.send = sink_send, .io = io};
	io->going++;
	if (io->too_long) {
		struct rpc_error e = {0};

		(void)rpc_fail(&e, RPC_SHAPE, 0, "a message of more than %zu bytes",
			       RPC_MESSAGE_MAX);
		rpc_refuse(&s->sink, NULL, &e);
	} else {
		rpc_text(io->peer, &s->sink, text, len);
	}
}

static bool keep(struct stdio *io, const char *data, size_t len)
{
	size_t room = io->line_room ? io->line_room : READ_BYTES;

	if (io->too_long || io->line_len + len > RPC_MESSAGE_MAX) {
		io->too_long = true;
		io->line_len = 0;
		return true;
	}
	while (room < io->line_len + len)
		room *= 2;
	char *line = room > io->line_room ? realloc(io->line, room) : io->line;
	if (!line)
		return false;
	io->line = line;
	io->line_room = room;
	memcpy(line + io->line_len, data, len);
	io->line_len += len;
	return true;
}

static void end_line(struct stdio *io)
{
	take_line(io, io->line ? io->line : "", io->line_len);
	io->line_len = 0;
	io->too_long = false;
	if (io->line_room > 16 * READ_BYTES) { /* one large message is no reason to keep so much */
		free(io->line);
		io->line = NULL;
		io->line_room = 0;
	}
}

static void end_of_input(struct stdio *io)
{
	watch_done(&io->in);
	if (io->line_len)
		end_line(io);
	io->ending = true;
	timer_set(io->api.loop, &io->end_timer, loop_now_ms() + END_MS);
	flush(io);
}

static void read_some(struct stdio *io)
{
	char part[READ_BYTES];
	ssize_t n = read(STDIN_FILENO, part, sizeof(part));
	size_t at = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_of_input(io);
		return;
	}
	while (at < (size_t)n) {
		const char *end = memchr(part + at, '\n', (size_t)n - at);
		size_t len = end ? (size_t)(end - part) - at : (size_t)n - at;

		if (!keep(io, part + at, len)) {
			stop(io);
			return;
		}
		if (end)
			end_line(io);
		at += len + 1;
	}
	if (io->is_file)
		loop_post(io->api.loop, &io->again);
}

static void on_input(struct watch *w, uint32_t events)
{
	(void)events;
	read_some((struct stdio *)((char *)w - offsetof(struct stdio, in)));
}

static void on_again(struct task *t)
{
	read_some((struct stdio *)((char *)t - offsetof(struct stdio, again)));
}

static void on_room(struct watch *w, uint32_t events)
{
	(void)events;
	flush((struct stdio *)((char *)w - offsetof(struct stdio, out)));
}

static void on_signal(struct watch *w, uint32_t events)
{
	(void)events;
	stop((struct stdio *)((char *)w - offsetof(struct stdio, sig)));
}

static void on_end(struct timer *t)
{
	stop((struct stdio *)((char *)t - offsetof(struct stdio, end_timer)));
}

/* No signal tells of it: PR_SET_PDEATHSIG is about the thread that started us, which may just have
 * ended. */
static void on_parent(struct timer *t)
{
	struct stdio *io = (struct stdio *)((char *)t - offsetof(struct stdio, parent_timer));

	if (getppid() != io->parent)
		stop(io);
	timer_set(io->api.loop, t, loop_now_ms() + PARENT_MS);
}

static int watch_signals(struct stdio *io, int *ret_fd, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "block signals");
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*ret_fd < 0)
		return err_sys(e, "signalfd");
	watch_init(&io->sig, io->api.loop, *ret_fd, on_signal);
	(void)watch_set(&io->sig, EPOLLIN); /* an eventfd's like can always be watched */
	return 0;
}

static bool is_socket(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

static int begin(struct stdio *io, const struct mcp_options *o, struct err *e)
{
	struct who who = {.scopes = SCOPE_ALL};

	(void)snprintf(who.tenant, sizeof(who.tenant), "uid-%u", geteuid());
	if (api_open(&io->api, e) < 0 || settler_new(&io->api.settler, e) < 0 ||
	    mcp_new(&io->api, o, &io->mcp, e) < 0)
		return -EIO;
	io->peer = peer_new(io->mcp, &who);
	if (!io->peer)
		return err_sys(e, "connection");
	io->last = &io->first;
	io->parent = getppid();
	io->again.run = on_again;
	io->parent_timer.fire = on_parent;
	io->end_timer.fire = on_end;
	io->out_socket = is_socket(STDOUT_FILENO);
	watch_init(&io->in, io->api.loop, STDIN_FILENO, on_input);
	watch_init(&io->out, io->api.loop, STDOUT_FILENO, on_room);
	timer_set(io->api.loop, &io->parent_timer, loop_now_ms() + PARENT_MS);
	if (watch_set(&io->in, EPOLLIN) < 0) {
		io->is_file = true;
		loop_post(io->api.loop, &io->again);
	}
	return 0;
}

/* The process ends with this: threads that still wait for something are not waited for, so what
 * they use is not freed either. */
static void end(struct stdio *io)
{
	while (io->first) {
		struct piece *p = io->first;

		io->first = p->next;
		free(p);
	}
	free(io->line);
	if (!io->peer || io->going)
		return;
	peer_drop(io->peer);
	peer_unref(io->peer);
	mcp_free(io->mcp);
	api_close(&io->api);
}

int mcp_stdio(const struct mcp_options *o, struct mcp_home *home, struct err *e)
{
	auto_close int sig = FD_NONE;
	struct stdio *io = calloc(1, sizeof(*io));
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (!io)
		return err_sys(e, "MCP on standard input");
	(void)sigaction(SIGPIPE, &ignore, NULL); /* write() says so, too */
	int r = begin(io, o, e);
	if (r >= 0)
		r = watch_signals(io, &sig, e);
	if (r >= 0) {
		io->mcp->home = home;
		io->mcp->home_state = home ? HOME_COLD : HOME_READY;
		r = loop_run(io->api.loop, e);
	}
	io->going |= io->peer && io->peer->requests; /* answered, and still at work: asked.h */
	bool going = io->going;
	end(io);
	if (!going)
		free(io);
	return r;
}
