/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync FROM TO STATE: one synchronisation between two processes, by src/sync, for bench/sync.sh.
 * STATE has directories `from` and `to` in it, and `layer` when something else is to be looked up.
 * Prints what both say of it in one line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/session.h"

static int dir_in(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int tell(const char *who, int r, const struct sync_stats *s, const struct err *e)
{
	if (r < 0)
		fprintf(stderr, "%s: %s\n", who, e->text);
	else
		printf("%s: ms=%llu out=%llu in=%llu files=%llu read=%llu made=%llu need=%llu "
		       "found=%llu sent=%llu delta=%d\n",
		       who, (unsigned long long)s->ms, (unsigned long long)s->wire_out,
		       (unsigned long long)s->wire_in, (unsigned long long)s->files,
		       (unsigned long long)s->files_read, (unsigned long long)s->files_made,
		       (unsigned long long)s->chunks_need, (unsigned long long)s->chunks_found,
		       (unsigned long long)s->chunks_sent, s->is_delta);
	fflush(stdout);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct sync_stats stats;
	struct err e = ERR_INIT;
	int pair[2], status = 1;

	if (argc != 4 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 2;
	int state = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = fork();
	if (pid == 0) {
		struct sync_receive_opts opts = {
			.tree_fd = dir_in(AT_FDCWD, argv[2]),
			.state_fd = dir_in(state, "to"),
			.partial_fd = FD_NONE,
		};
		close(pair[0]);
		return tell("to", sync_receive(&opts, pair[1], &stats, &e), &stats, &e);
	}
	struct sync_send_opts opts = {
		.tree_fd = dir_in(AT_FDCWD, argv[1]),
		.state_fd = dir_in(state, "from"),
		.level = getenv("LEVEL") ? (int)strtol(getenv("LEVEL"), NULL, 10) : 0,
	};
	close(pair[1]);
	int r = tell("from", sync_send(&opts, pair[0], &stats, &e), &stats, &e);
	close(pair[0]);
	waitpid(pid, &status, 0);
	return r || status;
}
