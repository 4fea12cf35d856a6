/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What include/pinfold/pinfold.h promises, tried by a program that knows nothing else. Prints a
 * line for each promise, `ok NAME` or `not ok NAME`; 16-library.sh makes TAP of it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/pinfold.h>

#define PATIENCE_MS 15000

struct text {
	char data[4096];
	size_t len;
};

static void promise(bool kept, const char *name)
{
	printf("%s %s\n", kept ? "ok" : "not ok", name);
	fflush(stdout);
}

static struct pinfold_run *start(const char *script, uint32_t flags)
{
	static const char *argv[] = {"sh", "-c", NULL, NULL};
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error e;

	argv[2] = script;
	o.argv = argv;
	o.flags = flags;
	o.time_ms = 10000;
	if (pinfold_run_start(&o, &run, &e) == 0)
		return run;
	printf("# %s: %s\n", e.code, e.message);
	return NULL;
}

static void append(struct text *t, const void *data, size_t len)
{
	if (t->len + len > sizeof(t->data))
		return;
	memcpy(t->data + t->len, data, len);
	t->len += len;
}

/* Waits with poll, as the header says; true when the result came. */
static bool follow(struct pinfold_run *run, struct text *out)
{
	struct pinfold_event ev;
	struct pollfd p = {.fd = pinfold_run_fd(run), .events = POLLIN};

	for (;;) {
		while (pinfold_run_next(run, 0, &ev) > 0) {
			if (ev.kind == PINFOLD_EVENT_RESULT)
				return true;
			if (ev.kind == PINFOLD_EVENT_STDOUT)
				append(out, ev.data, ev.len);
		}
		if (poll(&p, 1, PATIENCE_MS) <= 0)
			return false;
	}
}

static bool is(const struct text *t, const char *want)
{
	return t->len == strlen(want) && memcmp(t->data, want, t->len) == 0;
}

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void results(void)
{
	struct text out = {.len = 0};
	struct pinfold_event ev;
	struct pinfold_run *run = start("echo hello; exit 7", PINFOLD_NO_STDIN);

	promise(run && pinfold_run_stdin_fd(run) == -1, "without input: no descriptor for it");
	promise(run && follow(run, &out), "the result comes when its descriptor is polled");
	promise(is(&out, "hello\n"), "the output came before it");
	promise(run && pinfold_run_exit_status(run) == 7, "the exit status");
	promise(run && strcmp(pinfold_run_status(run), "exited") == 0, "the status");
	promise(run && strncmp(pinfold_run_id(run), "run", 3) == 0, "the id");
	promise(run && !pinfold_run_error(run), "no error");
	promise(run && pinfold_run_next(run, 0, &ev) == 0, "there is nothing after the result");
	pinfold_run_free(run);
	pinfold_run_free(NULL);
}

static void failures(void)
{
	const char *missing[] = {"no-such-command", NULL}, *none[] = {NULL};
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error e;
	struct text out = {.len = 0};

	o.argv = missing;
	promise(pinfold_run_start(&o, &run, &e) == 0 && run && follow(run, &out),
		"a command that is not found has a result that can be polled for");
	promise(run && pinfold_run_exit_status(run) == 127 && pinfold_run_error(run) &&
			strncmp(pinfold_run_error(run)->code, "not_found", 9) == 0,
		"and an error");
	pinfold_run_free(run);
	run = NULL;
	o.argv = none;
	promise(pinfold_run_start(&o, &run, &e) == -1 && !run &&
			strcmp(e.code, "invalid_argument") == 0 && e.message[0] && e.remedy[0],
		"no command is an error with a remedy");
	o.argv = missing;
	o.memory_bytes = 1;
	promise(pinfold_run_start(&o, &run, &e) == -1 && strstr(e.message, "memory"),
		"a limit that cannot be is refused by name");
}

static void older_header(void)
{
	const char *argv[] = {"true", NULL};
	struct pinfold_run_options o;
	struct pinfold_run *run = NULL;
	struct pinfold_error e;

	/* What lies behind the size of an older header is not ours to read. */
	memset(&o, 0xff, sizeof(o));
	memset(&o, 0, offsetof(struct pinfold_run_options, time_ms));
	o.size = offsetof(struct pinfold_run_options, time_ms);
	o.argv = argv;
	bool started = pinfold_run_start(&o, &run, &e) == 0;
	if (started)
		pinfold_run_wait(run);
	promise(started && pinfold_run_exit_status(run) == 0, "options of an older header");
	pinfold_run_free(run);
}

static void input(void)
{
	struct text out = {.len = 0};
	struct pinfold_run *run = start("read a; read b; echo \"$b $a\"", 0);
	int fd = run ? pinfold_run_stdin_fd(run) : -1;

	promise(fd >= 0 && write(fd, "one\ntwo", 7) == 7, "input can be written");
	if (run)
		pinfold_run_stdin_close(run);
	promise(run && pinfold_run_stdin_fd(run) == -1, "and closed");
	promise(run && follow(run, &out) && is(&out, "two one\n"), "and arrives");
	pinfold_run_free(run);
}

static void control(void)
{
	struct text out = {.len = 0};
	struct pinfold_event ev;
	struct pinfold_run *run = NULL;

	run = start("trap 'echo got it; exit 3' USR1; echo on; while :; do :; done", 0);
	do
		ev.kind = PINFOLD_EVENT_RESULT;
	while (run && pinfold_run_next(run, PATIENCE_MS, &ev) > 0 &&
	       ev.kind != PINFOLD_EVENT_STDOUT);
	if (run)
		pinfold_run_signal(run, SIGUSR1);
	promise(run && follow(run, &out) && is(&out, "got it\n"), "a signal reaches the command");
	pinfold_run_free(run);
	run = start("trap '' TERM; while :; do :; done", 0);
	if (run) {
		pinfold_run_stop(run, 1);
		pinfold_run_wait(run);
	}
	promise(run && strcmp(pinfold_run_status(run), "killed") == 0, "a run can be killed");
	pinfold_run_free(run);
	run = start("yes", 0);
	if (run)
		pinfold_run_hold(run, 1);
	bool quiet = run != NULL;
	for (int i = 0; run && i < 3; i++)
		while (pinfold_run_next(run, 50, &ev) > 0)
			quiet = quiet && ev.kind != PINFOLD_EVENT_STDOUT;
	promise(quiet, "a run on hold gives no output");
	pinfold_run_free(run);
}

static void many(void)
{
	struct pinfold_run *runs[4];
	struct text out[4] = {{.len = 0}};
	bool good = true;
	int before = open_descriptors();

	for (int i = 0; i < 4; i++)
		runs[i] = start(i % 2 ? "echo odd" : "read x; echo even", 0);
	for (int i = 3; i >= 0; i--) {
		if (runs[i] && i % 2 == 0)
			pinfold_run_stdin_close(runs[i]);
		good = good && runs[i] && follow(runs[i], &out[i]) &&
		       is(&out[i], i % 2 ? "odd\n" : "even\n");
	}
	promise(good, "four runs side by side");
	for (int i = 0; i < 4; i++)
		pinfold_run_free(runs[i]);
	for (int i = 0; i < 8; i++)
		pinfold_run_free(start("exec tail -f /dev/null", 0));
	promise(open_descriptors() == before, "freeing ends runs and leaves no descriptor");
}

int main(void)
{
	promise(pinfold_version()[0] != '\0', "there is a version");
	results();
	failures();
	older_header();
	input();
	control();
	many();
	printf("done\n");
	return 0;
}
