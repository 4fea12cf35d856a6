/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in a sandbox that lives. Its guest writes what the kernel says there into a file in memory
 * of ours; hostile code has chosen its own names, so nothing of it is believed to be well-formed.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "engine/session_int.h"

#define PATIENCE_MS 5000
#define PROCESSES_MAX 100000u

/* Behind the name, which may hold anything: the fields of proc(5) from the third on. */
static void take_stat(const char *stat, struct pinfold_process *ret)
{
	const char *rest = strrchr(stat, ')');
	unsigned long utime = 0, stime = 0, threads = 0;
	long rss = 0;
	int parent = 0;

	ret->state = '?';
	if (!rest ||
	    sscanf(rest + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %lu "
		   "%*d %*u %*u %ld",
		   &ret->state, &parent, &utime, &stime, &threads, &rss) != 6)
		return;
	ret->parent = parent > 0 ? (uint32_t)parent : 0;
	ret->threads = (uint32_t)threads;
	ret->cpu_ms = (utime + stime) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK);
	ret->memory_bytes = rss > 0 ? (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Nobody wants to read our driver's text: the interpreter's name says more. */
static void take_session(const char *words, uint32_t n, struct pinfold_process *ret)
{
	const char *name = memrchr(words, '/', strnlen(words, n));

	name = name ? name + 1 : words;
	(void)snprintf(ret->command, sizeof(ret->command), "%.*s (session)",
		       (int)strnlen(name, n - (uint32_t)(name - words)), name);
}

/* Its words; without any, its name in brackets, as ps shows it. */
static void take_command(const struct msg_process *p, const char *stat, struct pinfold_process *ret)
{
	uint32_t n = p->command_len < sizeof(ret->command) - 1 ? p->command_len
							       : sizeof(ret->command) - 1;
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');

	if (session_is_command(p->command, n)) {
		take_session(p->command, n, ret);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		ret->command[i] = p->command[i] ? p->command[i] : ' ';
	while (n > 0 && ret->command[n - 1] == ' ')
		n--;
	ret->command[n] = '\0';
	if (n == 0 && open && close > open)
		(void)snprintf(ret->command, sizeof(ret->command), "[%.*s]",
			       (int)(close - open - 1), open + 1);
}

static void take_process(const struct msg_process *p, struct pinfold_process *ret)
{
	char stat[sizeof(p->stat) + 1];
	uint32_t n = p->stat_len < sizeof(p->stat) ? p->stat_len : sizeof(p->stat);

	memcpy(stat, p->stat, n);
	stat[n] = '\0';
	*ret = (struct pinfold_process){.pid = p->pid, .asked_for = p->asked_for != 0};
	take_stat(stat, ret);
	take_command(p, stat, ret);
}

static int take_all(int file, struct pinfold_process **ret, size_t *ret_n, struct err *e)
{
	struct msg_process p;
	struct stat st;

	if (fstat(file, &st) < 0)
		return err_sys(e, "list processes");
	size_t n = (size_t)st.st_size / sizeof(p);
	n = n < PROCESSES_MAX ? n : PROCESSES_MAX;
	auto_free struct pinfold_process *list = calloc(n + 1, sizeof(*list));
	if (!list)
		return err_sys(e, "list processes");
	for (size_t i = 0; i < n; i++) {
		if (pread(file, &p, sizeof(p), (off_t)(i * sizeof(p))) != (ssize_t)sizeof(p))
			return err_sys(e, "list processes");
		take_process(&p, &list[i]);
	}
	*ret = take_ptr(&list);
	*ret_n = n;
	return 0;
}

/* DONE, or the end of whoever was to say it. */
static int await_guest(int sock, struct err *e)
{
	struct pollfd pfd = {.fd = sock, .events = POLLIN};
	struct msg_guest msg;

	if (poll(&pfd, 1, PATIENCE_MS) == 1 &&
	    read(sock, &msg, sizeof(msg)) == (ssize_t)sizeof(msg))
		return 0;
	(void)err_set(e, ERR_TIMEOUT, "the sandbox does not answer");
	return err_remedy(e, "try again, or end it with pinfold kill");
}

static int ask(const char *id, int file, int *ret_sock, struct err *e)
{
	struct link_ask msg = {.op = LINK_PROCESSES};
	auto_close int link = FD_NONE;
	struct link_msg answer;
	int fds[2] = {FD_NONE, FD_NONE};

	(void)snprintf(msg.id, sizeof(msg.id), "%s", id);
	int r = remote_open(&link, e);
	if (r >= 0)
		r = remote_ask_with(link, &msg, file, e);
	if (r >= 0)
		r = remote_next(link, 0, &answer, fds, e);
	*ret_sock = take_fd(&fds[0]);
	fd_close(&fds[1]);
	if (r >= 0 && answer.kind == LINK_ERROR) {
		remote_error(&answer, e);
		return -EREMOTEIO;
	}
	return r >= 0 && *ret_sock < 0 ? err_set(e, ERR_INTERNAL, "the daemon gave no answer") : r;
}

int pinfold_sandbox_processes(const char *id, struct pinfold_process **ret_list, size_t *ret_n,
			      struct pinfold_error *ret_error)
{
	auto_close int file = memfd_create("processes", MFD_CLOEXEC), sock = FD_NONE;
	struct err e = ERR_INIT;
	int r = file < 0 ? err_sys(&e, "list processes") : sandbox_check_id(id, &e);

	if (r >= 0)
		r = ask(id, file, &sock, &e);
	if (r >= 0)
		r = await_guest(sock, &e);
	if (r >= 0)
		r = take_all(file, ret_list, ret_n, &e);
	if (r >= 0)
		return 0;
	error_public(&e, ret_error);
	return -1;
}

void pinfold_processes_free(struct pinfold_process *list)
{
	free(list);
}
