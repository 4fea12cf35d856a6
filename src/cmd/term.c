/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/term.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static volatile sig_atomic_t raw_fd = -1; /* >= 0 while the terminal is in raw mode */

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* Changing the terminal of another job would stop us, and is not ours to do. */
static bool in_background(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group > 0 && group != getpgrp();
}

static void on_crash(int signo)
{
	term_restore();
	(void)raise(signo); /* SA_RESETHAND: now it does what it would have done */
}

static void catch_crashes(void)
{
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

	(void)sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		(void)sigaction(crashes[i], &sa, NULL);
}

void term_raw(int fd)
{
	struct termios raw;

	if (in_background(fd))
		return;
	if (raw_fd < 0) {
		if (tcgetattr(fd, &before) < 0)
			return;
		catch_crashes();
	}
	raw = before;
	cfmakeraw(&raw);
	raw_fd = fd;
	(void)tcsetattr(fd, TCSANOW, &raw); /* a terminal that stays as it is is still usable */
}

void term_restore(void)
{
	int fd = raw_fd;

	if (fd < 0)
		return;
	raw_fd = -1;
	if (!in_background(fd))
		(void)tcsetattr(fd, TCSANOW, &before); /* nothing else can be done */
}

bool term_size(uint16_t *ret_rows, uint16_t *ret_cols)
{
	struct winsize w;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col) {
			*ret_rows = w.ws_row;
			*ret_cols = w.ws_col;
			return true;
		}
	}
	return false;
}
