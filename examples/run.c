/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command in a sandbox: its output goes through as it comes, then the result as JSON.
 *
 *	cc -Iinclude examples/run.c build/libpinfold.a -lcrypto -lsqlite3 -lzstd -ljansson -lyaml -lm -o run
 *	./run python3 -c 'print(6 * 7)'
 */
#include <stdio.h>

#include <pinfold/pinfold.h>

static int follow(struct pinfold_run *run)
{
	struct pinfold_event ev;

	while (pinfold_run_next(run, -1, &ev) > 0) {
		if (ev.kind == PINFOLD_EVENT_STDOUT)
			fwrite(ev.data, 1, ev.len, stdout);
		else if (ev.kind == PINFOLD_EVENT_STDERR)
			fwrite(ev.data, 1, ev.len, stderr);
		else if (ev.kind == PINFOLD_EVENT_DENIAL)
			fprintf(stderr, "refused: %.*s\n", (int)ev.len, (const char *)ev.data);
	}
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", pinfold_run_id(run), pinfold_run_status(run));
	pinfold_run_write_json(run, 1);
	puts("");
	return pinfold_run_exit_status(run);
}

int main(int argc, char **argv)
{
	struct pinfold_run_options options = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_error error;

	(void)argc; /* without a command the library says what is missing */
	options.argv = (const char *const *)argv + 1;
	options.flags = PINFOLD_CAPTURE | PINFOLD_NO_STDIN;
	options.time_ms = 10 * 1000;
	options.memory_bytes = 256u << 20;
	if (pinfold_run_start(&options, &run, &error) < 0) {
		fprintf(stderr, "%s: %s (%s)\n", error.code, error.message, error.remedy);
		return 125;
	}
	int status = follow(run);
	pinfold_run_free(run);
	return status;
}
