/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background commands of a sandbox that lives. The daemon keeps what they print and knows how they
 * are doing; each function is one question to it. Standard input is written here, to a pipe that it
 * gives us.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"

#define WRITE_MS 5000	/* for a command that does not read */
#define ANSWER_MS 10000 /* for the rest of an answer that has begun */
#define LIST_MAX 4096u

static const char *status_of(const struct link_process *p)
{
	if (!(p->flags & LINK_OVER))
		return "running";
	switch (remote_stop(p->stop)) {
	case STOP_TIME: return "timeout";
	case STOP_MEMORY: return "oom";
	case STOP_CPU_TIME:
	case STOP_DISK:
	case STOP_ALERT:
	case STOP_CALLER: return "killed";
	case STOP_NONE: break;
	}
	if (!(p->flags & LINK_KNOWN))
		return "killed"; /* with its sandbox */
	return WIFEXITED(p->status) ? "exited" : "signaled";
}

static void take_state(const struct link_process *p, struct pinfold_process_state *ret)
{
	bool known = (p->flags & LINK_OVER) && (p->flags & LINK_KNOWN);

	*ret = (struct pinfold_process_state){
		.pid = p->pid,
		.running = !(p->flags & LINK_OVER),
		.exit_code = known && WIFEXITED(p->status) ? WEXITSTATUS(p->status) : -1,
		.signal = known && WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0,
		.status = status_of(p),
		.started_ms = p->started_ms,
		.ended_ms = p->ended_ms,
		.output_bytes = p->output_bytes,
		.output_from = p->output_from,
		.has_stdin = (p->flags & LINK_OPEN) != 0,
		.has_pty = (p->flags & LINK_PTY) != 0,
	};
	(void)snprintf(ret->command, sizeof(ret->command), "%.*s", (int)sizeof(p->command) - 1,
		       p->command);
}

static int prepare(const char *id, uint32_t pid, enum link_op op, struct link_ask *ret,
		   struct err *e)
{
	int r = sandbox_check_id(id, e);

	*ret = (struct link_ask){.op = op, .pid = pid};
	if (r >= 0)
		(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	return r;
}

static int take_list(int fd, uint64_t n, struct pinfold_process_state **ret, struct err *e)
{
	struct link_process p;

	if (fd < 0 || n > LIST_MAX)
		return err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	auto_free struct pinfold_process_state *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return err_sys(e, "list");
	for (uint64_t i = 0; i < n; i++) {
		if (pread(fd, &p, sizeof(p), (off_t)(i * sizeof(p))) != (ssize_t)sizeof(p))
			return err_sys(e, "list");
		take_state(&p, &list[i]);
	}
	*ret = take_ptr(&list);
	return 0;
}

int pinfold_process_list(const char *id, struct pinfold_process_state **ret_list, size_t *ret_n,
			 struct pinfold_error *ret_error)
{
	struct link_ask ask;
	struct link_msg msg;
	struct err e = ERR_INIT;
	auto_close int fd = FD_NONE;
	int r = prepare(id, 0, LINK_JOB_LIST, &ask, &e);

	if (r >= 0)
		r = sandbox_ask(&ask, NULL, NULL, &msg, &fd, &e);
	if (r >= 0)
		r = take_list(fd, msg.ok.value, ret_list, &e);
	if (r >= 0)
		*ret_n = (size_t)msg.ok.value;
	return sandbox_result(r, &e, ret_error);
}

void pinfold_process_list_free(struct pinfold_process_state *list)
{
	free(list);
}

static int signal_to(const char *id, uint32_t pid, int signo, uint32_t flags,
		     struct pinfold_error *ret_error)
{
	struct link_ask ask;
	struct link_msg msg;
	struct err e = ERR_INIT;
	int r = prepare(id, pid, LINK_JOB_SIGNAL, &ask, &e);

	ask.arg = signo > 0 ? (uint64_t)signo : 0;
	ask.flags |= flags;
	if (r >= 0)
		r = sandbox_ask(&ask, NULL, NULL, &msg, NULL, &e);
	return sandbox_result(r, &e, ret_error);
}

static bool is_there(const char *id, uint32_t pid)
{
	struct pinfold_process *list = NULL;
	struct pinfold_error ignored;
	bool found = false;
	size_t n = 0;

	if (pid > 1 && pinfold_sandbox_processes(id, &list, &n, &ignored) == 0)
		for (size_t i = 0; i < n; i++)
			found |= list[i].pid == pid;
	pinfold_processes_free(list);
	return found;
}

int pinfold_process_signal(const char *id, uint32_t pid, int signo, struct pinfold_error *ret_error)
{
	int r = signal_to(id, pid, signo, 0, ret_error);

	if (r < 0 && strncmp(ret_error->code, "not_found", 9) == 0 && is_there(id, pid))
		r = signal_to(id, pid, signo, LINK_ONE, ret_error);
	return r;
}

int pinfold_process_resize(const char *id, uint32_t pid, unsigned rows, unsigned cols,
			   struct pinfold_error *ret_error)
{
	struct link_ask ask;
	struct link_msg msg;
	struct err e = ERR_INIT;
	int r = prepare(id, pid, LINK_JOB_RESIZE, &ask, &e);

	if (r >= 0 && (rows == 0 || cols == 0 || rows > 65535 || cols > 65535)) {
		r = err_set(&e, ERR_INVALID, "rows and cols: from 1 to 65535");
		(void)err_remedy(&e, "give the size of a terminal, such as 24 and 80");
	}
	ask.arg = (uint64_t)rows << 16 | cols;
	if (r >= 0)
		r = sandbox_ask(&ask, NULL, NULL, &msg, NULL, &e);
	return sandbox_result(r, &e, ret_error);
}

static int left_ms(uint64_t until_us)
{
	uint64_t now = now_us();

	return until_us > now ? (int)((until_us - now + 999) / 1000) : 0;
}

/* Reading. */

struct message {
	struct link_msg msg;
	char rest[LINK_BLOCK_RUNS * sizeof(uint32_t) + LINK_OUTPUT_MAX];
};

/* One message; *ret_len is how much came behind it. 0: none until then, or he gave up. */
static int receive(int link, int cancel_fd, uint64_t until_us, struct message *m, size_t *ret_len,
		   struct err *e)
{
	struct pollfd pfd[2] = {{.fd = link, .events = POLLIN},
				{.fd = cancel_fd > 0 ? cancel_fd : -1, .events = POLLIN}};
	ssize_t n;

	while ((n = recv(link, m, sizeof(*m), MSG_DONTWAIT)) < 0 &&
	       (errno == EAGAIN || errno == EINTR)) {
		int r = poll(pfd, 2, left_ms(until_us));

		if (r == 0 || (r > 0 && pfd[1].revents))
			return 0;
	}
	if (n < (ssize_t)sizeof(m->msg)) {
		(void)err_set(e, ERR_INTERNAL, "the daemon ended, and the sandbox with it");
		return err_remedy(e, "look at the daemon's log, then run it again");
	}
	*ret_len = (size_t)n - sizeof(m->msg);
	return 1;
}

/* Nothing of what came is believed to add up. */
static int add_block(const struct message *m, size_t len, struct pinfold_process_output *out,
		     struct err *e)
{
	const struct link_block *b = &m->msg.block;
	size_t runs = b->n_runs * sizeof(uint32_t), sum = 0;

	if (b->n_runs > LINK_BLOCK_RUNS || b->len != len - runs || runs > len ||
	    out->len + b->len > LINK_READ_MAX || out->n_runs + b->n_runs > LINK_READ_RUNS ||
	    (out->len && b->offset != out->offset + out->len))
		return err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	char *data = realloc(out->data, out->len + b->len + 1);
	out->data = data ? data : out->data;
	struct pinfold_process_run *list =
		realloc(out->runs, (out->n_runs + b->n_runs + 1) * sizeof(*list));
	out->runs = list ? list : out->runs;
	if (!data || !list)
		return err_sys(e, "read");
	for (uint32_t i = 0; i < b->n_runs; i++) {
		uint32_t run;

		memcpy(&run, m->rest + i * sizeof(run), sizeof(run));
		sum += run >> 1;
		list[out->n_runs++] = (struct pinfold_process_run){1 + (int)(run & 1), run >> 1};
	}
	if (sum != b->len)
		return err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	if (!out->len)
		out->offset = b->offset;
	memcpy(data + out->len, m->rest + runs, b->len);
	out->len += b->len;
	data[out->len] = '\0'; /* for whoever prints it */
	return 0;
}

/* PROCESS, BLOCK*, PROCESS. Without the last one his time was over: the first is as good. */
static int take_output(int link, uint32_t wait_ms, int cancel_fd,
		       struct pinfold_process_output *out, struct err *e)
{
	auto_free struct message *m = malloc(sizeof(*m));
	uint64_t until = now_us() + ANSWER_MS * 1000;
	unsigned states = 0;
	size_t len = 0;
	int r = m ? 1 : err_sys(e, "read");

	while (r > 0 && states < 2) {
		r = receive(link, states && !out->len ? cancel_fd : 0, until, m, &len, e);
		if (r == 0 && states && !out->len)
			return 0;
		if (r == 0)
			return err_set(e, ERR_TIMEOUT, "the daemon does not answer"),
			       err_remedy(e, "try again");
		if (r < 0)
			return r;
		if (m->msg.kind == LINK_PROCESS) {
			take_state(&m->msg.process, &out->state);
			until = now_us() + (wait_ms ? (uint64_t)wait_ms : ANSWER_MS) * 1000;
			if (!states++) /* where it stands, until something comes */
				out->offset = out->state.output_bytes;
		} else if (m->msg.kind == LINK_BLOCK) {
			r = add_block(m, len, out, e) < 0 ? -EIO : 1;
			until = now_us() + ANSWER_MS * 1000;
		} else {
			remote_error(&m->msg, e);
			r = -EREMOTEIO;
		}
	}
	return r < 0 ? r : 0;
}

int pinfold_process_read(const char *id, uint32_t pid, int64_t offset, uint32_t wait_ms,
			 int cancel_fd, struct pinfold_process_output *ret_output,
			 struct pinfold_error *ret_error)
{
	auto_close int link = FD_NONE;
	struct link_ask ask;
	struct err e = ERR_INIT;
	int r = prepare(id, pid, LINK_JOB_READ, &ask, &e);

	memset(ret_output, 0, sizeof(*ret_output));
	ask.flags = wait_ms ? LINK_STAY : 0;
	ask.offset = offset;
	if (r >= 0)
		r = remote_open(&link, &e);
	if (r >= 0)
		r = remote_ask(link, &ask, NULL, NULL, &e);
	if (r >= 0)
		r = take_output(link, wait_ms, cancel_fd, ret_output, &e);
	if (r < 0)
		pinfold_process_output_free(ret_output);
	return sandbox_result(r, &e, ret_error);
}

void pinfold_process_output_free(struct pinfold_process_output *output)
{
	free(output->data);
	free(output->runs);
	memset(output, 0, sizeof(*output));
}

/* Writing. */

/* A command that is gone is an error to the caller, not his death: SIGPIPE is ours alone if it was
 * not waiting for him before. */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	const struct timespec now = {0};
	sigset_t pipe, before, waits;

	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)sigpending(&waits);
	(void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
	ssize_t n = write(fd, data, len);
	int error = errno;
	if (n < 0 && error == EPIPE && !sigismember(&waits, SIGPIPE))
		(void)sigtimedwait(&pipe, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

static int write_all(int fd, const char *data, size_t len, size_t *ret_written, struct err *e)
{
	uint64_t until = now_us() + WRITE_MS * 1000;
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	while (*ret_written < len) {
		ssize_t n = write_quietly(fd, data + *ret_written, len - *ret_written);

		if (n > 0) {
			*ret_written += (size_t)n;
			until = now_us() + WRITE_MS * 1000;
			continue;
		}
		if (n < 0 && errno == EPIPE) {
			(void)err_set(e, ERR_CONFLICT,
				      "the command reads no standard input any more");
			return err_remedy(e, "look whether it still runs");
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_sys(e, "standard input");
		if (poll(&pfd, 1, left_ms(until)) == 0) {
			(void)err_set(e, ERR_TIMEOUT,
				      "the command does not read its standard input");
			return err_remedy(e,
					  "try again when it does; %zu of %zu bytes were written",
					  *ret_written, len);
		}
	}
	return 0;
}

static int feed(struct link_ask *ask, const char *data, size_t len, bool end, size_t *ret_written,
		struct err *e)
{
	auto_close int fd = FD_NONE;
	struct link_msg msg;
	size_t typed = 0;
	int r = sandbox_ask(ask, NULL, NULL, &msg, &fd, e);

	if (r >= 0 && (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0))
		r = err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	if (r >= 0)
		r = write_all(fd, data, len, ret_written, e);
	if (r >= 0 && end && msg.ok.value) /* a terminal */
		r = write_all(fd, "\4", 1, &typed, e);
	return r;
}

int pinfold_process_write(const char *id, uint32_t pid, const void *data, size_t len,
			  int close_stdin, size_t *ret_written, struct pinfold_error *ret_error)
{
	struct link_ask ask;
	struct link_msg msg;
	struct err e = ERR_INIT;
	int r = prepare(id, pid, LINK_JOB_INPUT, &ask, &e);

	*ret_written = 0;
	if (r >= 0)
		r = feed(&ask, data, len, close_stdin != 0, ret_written, &e);
	if (r >= 0 && close_stdin) {
		ask.flags = LINK_CLOSE;
		r = sandbox_ask(&ask, NULL, NULL, &msg, NULL, &e);
		/* Who ended because of what he read has closed it himself. */
		if (r < 0 && len > 0 && e.kind == ERR_CONFLICT)
			r = 0;
	}
	return sandbox_result(r, &e, ret_error);
}
