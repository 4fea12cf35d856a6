/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/session.h"

#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/job.h"
#include "cmd/relay.h"
#include "cmd/say.h"
#include "cmd/sig.h"
#include "cmd/stream.h"
#include "cmd/term.h"
#include "cmd/workspace.h"

#define EXIT_AGAIN (-1)	   /* nobody sees it */
#define EXIT_OUTPUT_LOST 1 /* the command ended well, but what it printed could not be written */

static void set_flags(struct request *r)
{
	/* Nobody at a terminal, and no script, waits for the daemon to tidy up. */
	r->run.flags |= PINFOLD_PROMPT;
	if (r->json)
		r->run.flags |= PINFOLD_CAPTURE;
	if (!r->pty)
		return;
	const char *term = getenv("TERM");
	r->run.flags |= PINFOLD_PTY;
	r->run.term = term && *term ? term : "xterm-256color";
	(void)term_size(&r->run.rows, &r->run.cols); /* without one the library's size holds */
}

/* Returns whether output was lost. */
static bool say_lost_output(const struct stream *s)
{
	bool lost = false;

	for (int i = 0; i < 2; i++) {
		if (!s->sinks[i].error)
			continue;
		if (i == 0)
			(void)say_unwritten(s->sinks[i].error);
		else
			say("internal: cannot write to standard error: %s",
			    strerror(s->sinks[i].error));
		lost = true;
	}
	return lost;
}

static void say_result(const struct pinfold_run *run)
{
	const struct pinfold_error *error = pinfold_run_error(run);
	const char *note = NULL;

	if (error)
		say_error(error);
	for (unsigned i = 0; (note = pinfold_run_note(run, i)); i++)
		say("%s", note);
}

/* Returns whether the document was lost; a reader that went away did not want it. */
static bool write_document(const struct pinfold_run *run)
{
	int bad = 0;

	if (relay_on())
		return relay_result(run) < 0;
	if (pinfold_run_write_json(run, STDOUT_FILENO) < 0)
		bad = -errno;
	if (!bad)
		bad = fd_write_all(STDOUT_FILENO, "\n", 1);
	return bad && say_unwritten(-bad) != 0;
}

static int finish(const struct request *r, const struct stream *s)
{
	const struct pinfold_run *run = s->run;

	if (!relay_on() && stream_mid_line(s) &&
	    (pinfold_run_error(run) || pinfold_run_note(run, 0)))
		(void)fd_write_all(STDERR_FILENO, "\n", 1); /* only for looks */
	bool lost = say_lost_output(s);
	if (r->json)
		lost |= write_document(run);
	say_result(run);
	if (s->signo && !r->leaves)
		return 128 + s->signo;
	int status = pinfold_run_exit_status(run);
	return lost && status == 0 ? EXIT_OUTPUT_LOST : status;
}

/* With --deps retry, once: it ended because a module was not there, and we know the package. */
static bool is_tried_again(struct request *r, const struct pinfold_run *run)
{
	const char *package = pinfold_run_missing(run);
	const char *mode = r->run.deps ? r->run.deps : getenv("PINFOLD_DEPS");

	if (r->again[0] || !package || !mode || strcmp(mode, "retry") != 0)
		return false;
	const char **more = realloc(r->packages.items, (r->packages.len + 2) * sizeof(*more));
	if (!more)
		return false;
	(void)snprintf(r->again, sizeof(r->again), "%s", package);
	r->missed = pinfold_run_missing_json(run);
	r->packages.items = more;
	more[r->packages.len++] = r->again;
	more[r->packages.len] = NULL;
	r->run.packages = more;
	say("no module of package %s: it is installed, for the program to be run again", package);
	if (r->stdin_is_owned)
		(void)lseek(r->stdin_fd, 0, SEEK_SET); /* what is no file cannot be read twice */
	return true;
}

static bool pauses(const struct request *r)
{
	return r->run.on_alert && strcmp(r->run.on_alert, "pause") == 0;
}

static int attend(struct request *r, struct pinfold_run *run)
{
	bool terminal = r->pty && !r->json && isatty(STDIN_FILENO);
	struct stream_options o = {
		.stdin_fd = r->stdin_fd,
		.quiet = r->json && !relay_on(),
		.raw = r->raw || r->pty,
		.terminal = terminal,
		.leaves = r->leaves && terminal,
		.pauses = pauses(r),
	};
	struct stream s;

	if (terminal)
		term_raw(STDIN_FILENO);
	stream_init(&s, run, &o);
	stream_loop(&s);
	term_restore();
	/* What follows may wait for a reader: a signal ends us again, the sandbox is gone. */
	sig_done();
	int status = is_tried_again(r, run) ? EXIT_AGAIN : finish(r, &s);
	stream_done(&s);
	return status;
}

/* Did anything of the command? What failed for another reason may have left something. */
static bool did_run(const struct pinfold_run *run)
{
	const struct pinfold_error *error = pinfold_run_error(run);

	return !error || (strncmp(error->code, "not_found", 9) != 0 &&
			  strncmp(error->code, "denied", 6) != 0);
}

/* Takes the run when it was started. */
static int stay(struct request *r, int started, struct pinfold_run *run,
		const struct pinfold_error *error)
{
	if (started < 0) {
		int signo = sig_take();

		sig_done();
		/* He waited in the daemon's queue, and was told to leave it. */
		if (signo && strcmp(error->code, "busy.cancelled") == 0)
			return 128 + signo;
		return say_library_failure(error, r->json);
	}
	if (r->pty)
		sig_terminal();
	else if (pauses(r))
		sig_continue();
	if (r->missed)
		pinfold_run_set_retried(run, r->missed);
	free_ptr(&r->missed);
	relay_started(run);
	int status = r->detach ? job_mind(r, run) : attend(r, run);
	r->has_run = did_run(run);
	if (status != EXIT_AGAIN)
		request_forget_code(r);
	pinfold_run_free(run);
	return status;
}

/* In a sandbox of its own, or in one that lives. */
static int start_in(struct request *r, const char *id)
{
	struct pinfold_error error = {.code = ""};
	struct pinfold_run *run = NULL;
	struct err e = ERR_INIT;

	set_flags(r);
	if (sig_init(&e) < 0)
		return say_failure(&e, r->json);
	r->run.cancel_fd = sig_fd();
	int started = id ? pinfold_sandbox_exec(id, &r->run, &run, &error)
			 : pinfold_run_start(&r->run, &run, &error);
	return stay(r, started, run, &error);
}

int session_run(struct request *r)
{
	int status = start_in(r, NULL);

	return status == EXIT_AGAIN ? start_in(r, NULL) : status;
}

int session_exec(struct request *r, const char *id)
{
	return start_in(r, id);
}

static int make_workspace(struct pinfold_store *store, struct request *r, const char *name,
			  struct pinfold_error *error)
{
	struct pinfold_workspace_options o = {.size = sizeof(o),
					      .dir = r->run.dir,
					      .disk_bytes = r->run.disk_bytes,
					      .image = r->run.image,
					      .hide = r->run.dir ? r->run.hide : NULL,
					      .show = r->run.dir ? r->run.show : NULL};

	r->run.dir = r->run.image = NULL;
	r->run.name = NULL;
	int made = pinfold_workspace_new(store, name, &o, error);
	char text[sizeof(error->message)];
	/* The library does not know which option its argument came from. */
	if (made < 0 && (error->message[0] == '"' || strcmp(error->code, "conflict") == 0)) {
		(void)snprintf(text, sizeof(text), "--name: %.400s", error->message);
		(void)snprintf(error->message, sizeof(error->message), "%s", text);
	}
	return made;
}

int session_workspace(struct request *r, const char *name, uint32_t flags, bool fresh)
{
	struct pinfold_error error = {.code = ""}, ignored;
	struct pinfold_store *store = NULL;
	struct pinfold_run *run = NULL;
	struct err e = ERR_INIT;

	set_flags(r);
	if (!store_ready(&store, r->json))
		return EXIT_PINFOLD;
	int started = sig_init(&e);
	if (started < 0) {
		pinfold_store_close(store);
		return say_failure(&e, r->json);
	}
	if (fresh)
		started = make_workspace(store, r, name, &error);
	bool is_made = started == 0;
	if (is_made)
		started = pinfold_workspace_exec(store, name, &r->run, flags, &run, &error);
	int status = stay(r, started, run, &error);
	/* There is nothing to keep, and the name is wanted when it is tried again. */
	if (fresh && is_made && !r->has_run)
		(void)pinfold_workspace_remove(store, name, &ignored);
	store_leave(&store);
	if (status == EXIT_AGAIN)
		return session_workspace(r, name, flags, false);
	return status;
}

int session_follow(struct request *r, const char *id, uint32_t pid, uint32_t flags)
{
	struct pinfold_error error = {.code = ""};
	struct pinfold_run *run = NULL;
	struct err e = ERR_INIT;

	flags |= r->json ? PINFOLD_FOLLOW_KEEP : 0;
	r->leaves = true;
	if (sig_init(&e) < 0)
		return say_failure(&e, r->json);
	int started = r->offset_text
			      ? pinfold_sandbox_follow_from(id, pid, flags, r->offset, &run, &error)
			      : pinfold_sandbox_follow(id, pid, flags, &run, &error);
	bool input = started == 0 && pinfold_run_stdin_fd(run) >= 0;
	r->pty = input && pinfold_run_has_terminal(run);
	r->stdin_fd = input ? STDIN_FILENO : FD_NONE;
	uint16_t rows = 0, cols = 0;
	if (r->pty && term_size(&rows, &cols))
		pinfold_run_resize(run, rows, cols);
	return stay(r, started, run, &error);
}
