/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller who gives sockets where ours gives pipes, so that a program inside can pass him
 * descriptors: sockets COMMAND... Linked with --wrap=pipe2; prints what the command does.
 */
#include <stdio.h>
#include <sys/socket.h>

#include <pinfold/pinfold.h>

int __wrap_pipe2(int ends[2], int flags);

int __wrap_pipe2(int ends[2], int flags)
{
	return socketpair(AF_UNIX, SOCK_STREAM | (flags & SOCK_CLOEXEC), 0, ends);
}

int main(int argc, char **argv)
{
	struct pinfold_run_options options = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error error;
	struct pinfold_event ev;

	(void)argc;
	options.argv = (const char *const *)argv + 1;
	options.flags = PINFOLD_NO_STDIN | PINFOLD_DAEMON;
	if (pinfold_run_start(&options, &run, &error) < 0) {
		fprintf(stderr, "%s: %s (%s)\n", error.code, error.message, error.remedy);
		return 125;
	}
	while (pinfold_run_next(run, -1, &ev) > 0)
		if (ev.kind == PINFOLD_EVENT_STDOUT)
			fwrite(ev.data, 1, ev.len, stdout);
	int status = pinfold_run_exit_status(run);
	pinfold_run_free(run);
	return status;
}
