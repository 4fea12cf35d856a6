/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions by hand, for shell tests: talk SANDBOX <COMMANDS. One command a line:
 *
 *	open NAME LANG		another session, used from now on
 *	use NAME
 *	run MS FLAGS AFTER	execute the lines up to "."; MS: time, 0 the default; FLAGS: n, no input;
 *				AFTER: interrupt after so many ms, 0: not
 *	answer TEXT		what the next question gets; `hush`: it gets no answer
 *	wait MS			events that come while nothing is executed
 *	restart, alive, close
 *
 * Events are printed as they come, one a line, output of one stream put together: its kind, how
 * many bytes, and the first of them with control characters escaped.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pinfold/pinfold.h"

#define SESSIONS 8
#define SHOWN 6000

static struct {
	char name[64];
	struct pinfold_session *s;
} sessions[SESSIONS];
static int current = -1;
static const char *sandbox;
static char answer[1024];
static int has_answer;

static struct {
	int kind;
	size_t bytes, kept;
	char text[SHOWN];
} open_line;

static void show(const char *kind, const void *data, size_t len, size_t total)
{
	const unsigned char *p = data;

	printf("%s %zu ", kind, total);
	for (size_t i = 0; i < len && i < SHOWN; i++)
		if (p[i] < 32 || p[i] == 127)
			printf("\\x%02x", p[i]);
		else
			putchar(p[i]);
	putchar('\n');
	fflush(stdout);
}

static void flush_line(void)
{
	if (open_line.kind)
		show(open_line.kind == PINFOLD_SESSION_STDOUT ? "stdout" : "stderr", open_line.text,
		     open_line.kept, open_line.bytes);
	open_line.kind = 0;
	open_line.bytes = open_line.kept = 0;
}

static void output(const struct pinfold_session_event *ev)
{
	if (open_line.kind != (int)ev->kind)
		flush_line();
	open_line.kind = ev->kind;
	open_line.bytes += ev->len;
	size_t n = SHOWN - open_line.kept < ev->len ? SHOWN - open_line.kept : ev->len;
	memcpy(open_line.text + open_line.kept, ev->data, n);
	open_line.kept += n;
}

/* 1: it was the last of a piece of code. */
static int tell(struct pinfold_session *s, const struct pinfold_session_event *ev)
{
	static const char *const names[] = {"?", "?", "?", "result", "error", "input", "done"};
	struct pinfold_error err;

	if (ev->kind <= PINFOLD_SESSION_STDERR) {
		output(ev);
		return 0;
	}
	flush_line();
	show(ev->is_main ? "main" : names[ev->kind], ev->data, ev->len, ev->len);
	if (ev->kind == PINFOLD_SESSION_INPUT &&
	    pinfold_session_input(s, has_answer ? answer : NULL, strlen(answer), &err) < 0)
		printf("refused %s\n", err.message);
	return ev->kind == PINFOLD_SESSION_DONE;
}

static struct pinfold_session *used(void)
{
	if (current < 0 || !sessions[current].s) {
		printf("no session\n");
		exit(1);
	}
	return sessions[current].s;
}

static void use(const char *name)
{
	for (int i = 0; i < SESSIONS; i++)
		if (strcmp(sessions[i].name, name) == 0)
			current = i;
}

static void open_one(const char *name, const char *lang)
{
	struct pinfold_session_options o = {.size = sizeof(o), .lang = lang};
	struct pinfold_error err;

	for (current = 0; current < SESSIONS - 1 && sessions[current].s; current++)
		;
	snprintf(sessions[current].name, sizeof(sessions[current].name), "%s", name);
	if (pinfold_session_open(sandbox, &o, &sessions[current].s, &err) < 0)
		printf("refused %s: %s\n", err.code, err.message);
	else
		printf("opened %s\n", pinfold_session_lang(sessions[current].s));
	fflush(stdout);
}

struct later {
	struct pinfold_session *s;
	long ms;
};

static void *interrupt(void *arg)
{
	struct later *l = arg;
	struct timespec ts = {l->ms / 1000, l->ms % 1000 * 1000000};

	nanosleep(&ts, NULL); /* tidy: a user interrupts at any time */
	pinfold_session_interrupt(l->s);
	return NULL;
}

static char *read_code(size_t *len)
{
	char line[65536], *code = calloc(1, 1);

	*len = 0;
	while (fgets(line, sizeof(line), stdin) && strcmp(line, ".\n") != 0) {
		code = realloc(code, *len + strlen(line) + 1);
		memcpy(code + *len, line, strlen(line) + 1);
		*len += strlen(line);
	}
	return code;
}

static void run(unsigned long ms, const char *flags, long after)
{
	struct pinfold_session *s = used();
	struct later later = {s, after};
	struct pinfold_session_event ev;
	struct pinfold_error err;
	pthread_t thread;
	size_t len;
	char *code = read_code(&len);

	if (pinfold_session_execute(s, code, len, ms,
				    strchr(flags, 'n') ? PINFOLD_EXECUTE_NO_INPUT : 0, &err) < 0) {
		printf("refused %s: %s\n", err.code, err.message);
		fflush(stdout);
		free(code);
		return;
	}
	if (after)
		pthread_create(&thread, NULL, interrupt, &later);
	while (pinfold_session_next(s, -1, &ev) > 0)
		if (tell(s, &ev))
			break;
	if (after)
		pthread_join(thread, NULL);
	free(code);
}

static void wait_for(int ms)
{
	struct pinfold_session_event ev;

	while (pinfold_session_next(used(), ms, &ev) > 0)
		(void)tell(used(), &ev);
	flush_line();
	printf("waited\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[1024], a[64], b[64];
	struct pinfold_error err;
	unsigned long ms;
	long after;

	sandbox = argc > 1 ? argv[1] : "";
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "open %63s %63s", a, b) == 2)
			open_one(a, b);
		else if (sscanf(line, "use %63s", a) == 1)
			use(a);
		else if (sscanf(line, "run %lu %63s %ld", &ms, a, &after) == 3)
			run(ms, a, after);
		else if (sscanf(line, "wait %lu", &ms) == 1)
			wait_for((int)ms);
		else if (strncmp(line, "answer ", 7) == 0)
			has_answer = 1, snprintf(answer, sizeof(answer), "%s", line + 7);
		else if (strcmp(line, "hush") == 0)
			has_answer = 0;
		else if (strcmp(line, "restart") == 0)
			printf("restart %d\n", pinfold_session_restart(used(), &err));
		else if (strcmp(line, "alive") == 0)
			printf("alive %d\n", pinfold_session_alive(used()));
		else if (strcmp(line, "close") == 0)
			pinfold_session_close(used()), sessions[current].s = NULL;
		else if (line[0])
			printf("? %s\n", line);
		fflush(stdout);
	}
	for (int i = 0; i < SESSIONS; i++)
		pinfold_session_close(sessions[i].s);
	return 0;
}
