/* SPDX-License-Identifier: Apache-2.0 */
/* Where the value of a secret comes from: a terminal, standard input, a file, a command. */
#include "cmd/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/secret.h"

static struct termios shown; /* as it was, for who interrupts us */

static void on_signal(int sig)
{
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
	(void)raise(sig); /* for its own sake, once we return */
}

/* Somebody may look over the shoulder of who types it. */
static ssize_t read_terminal(char *value, size_t size)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	enum { ENDING = sizeof(ending) / sizeof(ending[0]) };
	struct sigaction restore = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction old[ENDING];
	struct termios quiet;
	size_t len = 0;
	char c;

	if (tcgetattr(STDIN_FILENO, &shown) < 0)
		return -errno;
	quiet = shown;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	for (int i = 0; i < ENDING; i++)
		(void)sigaction(ending[i], &restore, &old[i]);
	(void)fprintf(stderr, "value: ");
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) < 0)
		return -errno;
	while (len < size && read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		value[len++] = c;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
	for (int i = 0; i < ENDING; i++)
		(void)sigaction(ending[i], &old[i], NULL);
	(void)fprintf(stderr, "\n");
	return (ssize_t)len;
}

/* What it prints; its standard input and error are ours. */
static int read_command(const char *command, char *value, size_t size, size_t *ret_len,
			struct err *e)
{
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "--command");
	auto_close int from = ends[0];
	auto_close int to = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "--command");
	if (pid == 0) {
		if (dup2(to, STDOUT_FILENO) >= 0)
			(void)execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	fd_close(&to);
	int r = fd_read_max(from, value, size, ret_len);
	fd_close(&from); /* who prints more than a value has is ended */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	(void)err_set(e, ERR_INVALID, "--command: it failed, or printed more than a value");
	return err_remedy(e, "nothing was changed; see that it prints the value, one line, and "
			     "nothing else");
}

static int read_some(const char *file, const char *command, char *value, size_t size,
		     size_t *ret_len, struct err *e)
{
	auto_close int own = file ? open(file, O_RDONLY | O_CLOEXEC) : FD_NONE;

	if (file && command) {
		(void)err_set(e, ERR_INVALID, "--command: not with --file");
		return err_remedy(e, "use one of them");
	}
	if (file && own < 0)
		return err_sys(e, "--file: open %s", file);
	if (command)
		return read_command(command, value, size, ret_len, e);
	if (!file && isatty(STDIN_FILENO)) {
		ssize_t n = read_terminal(value, size);

		*ret_len = n < 0 ? 0 : (size_t)n;
		return 0;
	}
	return fd_read_max(file ? own : STDIN_FILENO, value, size, ret_len) < 0
		       ? err_sys(e, "read the value")
		       : 0;
}

int secret_read(const char *file, const char *command, char value[SECRET_READ_SIZE],
		size_t *ret_len, struct err *e)
{
	size_t len = 0;

	if (read_some(file, command, value, SECRET_READ_SIZE, &len, e) < 0)
		return -EINVAL;
	if (len && value[len - 1] == '\n')
		len--;
	if (len && value[len - 1] == '\r')
		len--;
	if (!secret_is_value(value, len)) {
		(void)err_set(e, ERR_INVALID, "the value is no line of %u to %u printable bytes",
			      SECRET_VALUE_MIN, SECRET_VALUE_MAX);
		return err_remedy(
			e, "give the key itself on standard input, with --file or by --command");
	}
	*ret_len = len;
	return 0;
}
