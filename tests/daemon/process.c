/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background commands through libpinfold, for tests/daemon/09-process.sh. One verb a call; data
 * goes to standard output, what is said about it to standard error. Ends as pinfold does: 125 for
 * an error.
 */
#include <pinfold/pinfold.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct pinfold_error error;

static int fail(void)
{
	fprintf(stderr, "pinfold: %s: %s\npinfold: remedy: %s\n", error.code, error.message,
		error.remedy);
	return 125;
}

static long long number(const char *text)
{
	return strtoll(text, NULL, 10); /* tidy: the test wrote it */
}

static uint32_t pid_of(const char *text)
{
	return (uint32_t)number(text);
}

static void say_state(const struct pinfold_process_state *s)
{
	fprintf(stderr,
		"pid=%u running=%d code=%d signal=%d status=%s bytes=%" PRIu64 " from=%" PRIu64
		" stdin=%d pty=%d times=%d command=%s\n",
		s->pid, s->running, s->exit_code, s->signal, s->status, s->output_bytes,
		s->output_from, s->has_stdin, s->has_pty,
		s->started_ms > 0 && (s->running ? !s->ended_ms : s->ended_ms >= s->started_ms),
		s->command);
}

/* create KEY=VALUE... | create-for COMMAND... */
static int create(char **argv, int command)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	char id[PINFOLD_ID_SIZE];

	if (command)
		o.argv = (const char *const *)argv;
	else
		o.metadata = (const char *const *)argv;
	o.flags = command ? PINFOLD_SPAWN_STDIN : 0;
	o.limits = getenv("BEST");
	o.memory_bytes = 100u << 20;
	o.disk_bytes = 20u << 20;
	if (pinfold_sandbox_create(&o, id, &error) < 0)
		return fail();
	puts(id);
	return 0;
}

/* spawn ID plain|stdin|pty|user|root COMMAND... */
static int spawn(const char *id, const char *how, char **argv)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	uint32_t pid = 0;

	o.argv = (const char *const *)argv;
	o.flags = !strcmp(how, "stdin") ? PINFOLD_SPAWN_STDIN
		  : !strcmp(how, "pty") ? PINFOLD_PTY
					: 0;
	o.user = !strcmp(how, "user") || !strcmp(how, "root") ? how : NULL;
	if (pinfold_sandbox_spawn(id, &o, &pid, &error) < 0)
		return fail();
	printf("%u\n", pid);
	return 0;
}

static int list(const char *id)
{
	struct pinfold_process_state *all = NULL;
	size_t n = 0;

	if (pinfold_process_list(id, &all, &n, &error) < 0)
		return fail();
	printf("%zu\n", n);
	for (size_t i = 0; i < n; i++)
		say_state(&all[i]);
	pinfold_process_list_free(all);
	return 0;
}

/* read ID PID OFFSET WAIT_MS [CANCEL]: once. */
static int read_once(char **a, int cancel)
{
	struct pinfold_process_output out;
	int p[2] = {0, 0}, right = 1;
	size_t sum = 0;

	if (cancel && (pipe(p) < 0 || write(p[1], "x", 1) != 1))
		return 1;
	if (pinfold_process_read(a[0], pid_of(a[1]), number(a[2]), (uint32_t)number(a[3]), p[0],
				 &out, &error) < 0)
		return fail();
	fwrite(out.data, 1, out.len, stdout);
	fprintf(stderr, "offset=%" PRIu64 " len=%zu runs=", out.offset, out.len);
	for (size_t i = 0; i < out.n_runs; i++) {
		if (i < 20)
			fprintf(stderr, "%d:%zu,", out.runs[i].stream, out.runs[i].len);
		right = right && (out.runs[i].stream == 1 || out.runs[i].stream == 2);
		sum += out.runs[i].len;
	}
	fprintf(stderr, " adds=%d ", right && sum == out.len);
	say_state(&out.state);
	pinfold_process_output_free(&out);
	return 0;
}

/* stream ID PID PAUSE_MS: to its end, by offsets. What is skipped is counted. */
static int stream(const char *id, uint32_t pid, long pause_ms)
{
	struct pinfold_process_output out;
	const struct timespec pause = {.tv_sec = pause_ms / 1000,
				       .tv_nsec = pause_ms % 1000 * 1000000};
	uint64_t at = 0, got = 0, skipped = 0, reads = 0;

	for (;;) {
		if (pinfold_process_read(id, pid, (int64_t)at, 2000, 0, &out, &error) < 0)
			return fail();
		fwrite(out.data, 1, out.len, stdout);
		skipped += out.offset - at;
		got += out.len;
		at = out.offset + out.len;
		reads++;
		int over = !out.state.running && at == out.state.output_bytes;
		if (over)
			fprintf(stderr,
				"got=%" PRIu64 " skipped=%" PRIu64 " total=%" PRIu64
				" reads=%" PRIu64 " status=%s code=%d\n",
				got, skipped, out.state.output_bytes, reads, out.state.status,
				out.state.exit_code);
		pinfold_process_output_free(&out);
		if (over)
			return 0;
		(void)nanosleep(&pause, NULL); /* tidy: a slow reader is what is tested */
	}
}

/* write ID PID keep|close [BYTES]: standard input, or so many bytes of our own. */
static int write_to(char **a, int argc)
{
	size_t len = argc > 3 ? (size_t)number(a[3]) : 0, written = 0;
	char *data = calloc(1, len + 65536);

	if (!data)
		return 1;
	if (argc > 3)
		memset(data, 'w', len);
	else
		len = fread(data, 1, 65536, stdin);
	int r = pinfold_process_write(a[0], pid_of(a[1]), data, len, !strcmp(a[2], "close"),
				      &written, &error);
	free(data);
	printf("%zu\n", written);
	return r < 0 ? fail() : 0;
}

static int get(const char *id)
{
	struct pinfold_sandbox_info i;

	if (pinfold_sandbox_get(id, &i, &error) < 0)
		return fail();
	printf("%s %s %s %s memory=%" PRIu64 " pids=%" PRIu64 " disk=%" PRIu64 " cpus=%" PRIu64
	       " nofile=%" PRIu64 "\n",
	       i.id, i.status, i.isolation, i.image, i.memory_limit, i.pids_limit, i.disk_limit,
	       i.cpus_milli, i.nofile);
	if (i.memory_bytes == UINT64_MAX)
		printf("usage unknown\n");
	else
		printf("usage memory=%d cpu=%d processes=%" PRIu64 "\n",
		       i.memory_bytes > 0 && i.memory_bytes <= i.memory_limit, i.cpu_ms < 100000,
		       i.processes);
	for (const char *m = i.metadata; *m; m += strlen(m) + 1)
		printf("metadata %s\n", m);
	return 0;
}

/* hold ID PID: has the input of a terminal, and does with it what would stop who shares it. */
static int hold(const char *id, uint32_t pid)
{
	struct pinfold_run *run = NULL;
	struct stat st;
	char c;

	if (pinfold_sandbox_follow(id, pid, PINFOLD_FOLLOW_STAY | PINFOLD_FOLLOW_INPUT, &run,
				   &error) < 0)
		return fail();
	int fd = pinfold_run_stdin_fd(run);
	if (fd < 0 || fstat(fd, &st) < 0 || fcntl(fd, F_SETFL, 0) < 0)
		return 1;
	printf("terminal=%d fifo=%d readable=%d\n", isatty(fd), S_ISFIFO(st.st_mode),
	       read(fd, &c, 1) >= 0);
	fflush(stdout);
	(void)getchar(); /* until the test has looked */
	pinfold_run_free(run);
	return 0;
}

static int with_id(const char *verb, int argc, char **a)
{
	if (!strcmp(verb, "list"))
		return list(a[0]);
	if (!strcmp(verb, "get"))
		return get(a[0]);
	if (argc < 2)
		return 2;
	if (!strcmp(verb, "spawn"))
		return spawn(a[0], a[1], a + 2);
	if (!strcmp(verb, "hold"))
		return hold(a[0], pid_of(a[1]));
	if (argc < 3)
		return 2;
	if (!strcmp(verb, "read"))
		return read_once(a, argc > 4);
	if (!strcmp(verb, "stream"))
		return stream(a[0], pid_of(a[1]), (long)number(a[2]));
	if (!strcmp(verb, "write"))
		return write_to(a, argc);
	if (!strcmp(verb, "signal"))
		return pinfold_process_signal(a[0], pid_of(a[1]), (int)number(a[2]), &error) < 0
			       ? fail()
			       : 0;
	if (!strcmp(verb, "resize") && argc == 4)
		return pinfold_process_resize(a[0], pid_of(a[1]), (unsigned)number(a[2]),
					      (unsigned)number(a[3]), &error) < 0
			       ? fail()
			       : 0;
	return 2;
}

int main(int argc, char **argv)
{
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "create"))
		return create(argv + 2, 0);
	if (!strcmp(argv[1], "create-for"))
		return create(argv + 2, 1);
	return argc < 3 ? 2 : with_id(argv[1], argc - 2, argv + 2);
}
