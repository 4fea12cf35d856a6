/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of libpinfold that are not the loop's (loop.c) or the result's
 * (result.c). */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "warden/control.h"
#include "engine/run_int.h"
#include "engine/said.h"
#include "warden/place.h"
#include "sandbox/hold.h"

/* Options of an older header end earlier; what they lack is zero. */
void options_take(struct pinfold_run_options *to, const struct pinfold_run_options *from)
{
	size_t n = from->size < sizeof(*to) ? from->size : sizeof(*to);

	memset(to, 0, sizeof(*to));
	memcpy(to, from, n);
}

struct pinfold_run *run_new(void)
{
	struct pinfold_run *run = malloc(sizeof(*run));

	if (!run)
		return NULL;
	memset(run, 0, offsetof(struct pinfold_run, denials));
	run->req.spec.dir_fd = FD_NONE;
	live_init(&run->live);
	record_init(&run->record);
	run->link = run->epoll = run->timer = run->listener = run->terminal = run->oom = FD_NONE;
	run->parting = run->parting_link = FD_NONE;
	run->gate_end = run->reports = run->guard_fd = run->guard_end = FD_NONE;
	run->recorded_fd = run->policy_fd = run->changes = run->changes_box = FD_NONE;
	run->out[0] = run->out[1] = run->input = FD_NONE;
	run->capture[0].artifact = run->capture[1].artifact = FD_NONE;
	return run;
}

int run_take_id(struct pinfold_run *run, const struct pinfold_run_options *o, struct err *e)
{
	if (!o->run_id)
		return 0;
	if (!id_is("run", o->run_id)) {
		(void)err_set(e, ERR_INVALID, "run_id: \"%.40s\" is no id of a run", o->run_id);
		return err_remedy(e, "leave it out: one is made");
	}
	memcpy(run->id, o->run_id, sizeof(run->id));
	return 0;
}

/* It is on record before the command runs; one that nobody else keeps anything of, while its sandbox
 * is made (start.c). */
static int record_first(struct pinfold_run *run, struct err *e)
{
	return run->link < 0 && !run->upper ? 0 : record_run_begin(run, e);
}

static void record_failure(struct pinfold_run *run, const struct err *e)
{
	struct err ignored = ERR_INIT;

	(void)record_run_begin(run, &ignored); /* it may have failed before that */
	record_run_end(run, e);
}

int run_begin(struct pinfold_run *run, struct err *e)
{
	int r = run->id[0] ? 0 : id_make("run", run->id, e);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++)
		capture_init(&run->capture[i],
			     HOLD_OUTPUT ? run->req.output_bytes : UINT64_C(1) << 32);
	alerts_begin(run);
	r = replay_begin(run, e);
	if (r >= 0)
		r = record_first(run, e);
	if (r >= 0)
		r = run_start(run, e);
	if (r >= 0)
		run_deny_secrets(run);
	/* One that the daemon leaves to us has not ended. */
	if (r < 0 && !run->failed && !run->refused)
		record_failure(run, e);
	/* Borrowed from the caller, who may free it now. */
	run->req.spec.code = NULL;
	run->options = NULL;
	if (r >= 0 || !run->failed)
		return r;
	/* The sandbox stood but the command could not be executed: a result of its own. */
	run_clean_host(run);
	fd_close(&run->out[0]);
	fd_close(&run->out[1]);
	workspace_end(run);
	replay_keep(run);
	record_run_end(run, NULL);
	run->state = RUN_ENDED;
	/* Always readable: the result is there to be taken. */
	run->epoll = eventfd(1, EFD_CLOEXEC);
	return run->epoll < 0 ? err_sys(e, "event loop") : 0;
}

static int start(struct pinfold_run *run, struct pinfold_run_options *o, struct err *e)
{
	auto_deps deps = {.store = NULL};
	int r = run_take_id(run, o, e);

	record_who(run, o);
	run->cancel_fd = o->cancel_fd;
	if (r >= 0)
		r = said_check(&(struct secrets_said){o->hide, o->show}, e);
	if (r >= 0)
		r = deps_prepare(o, NULL, NULL, &deps, e);
	if (r >= 0)
		r = remote_connect(o, run, e);
	if (r >= 0)
		r = request_init(&run->req, o, NULL, run->link >= 0, e);
	if (r >= 0)
		r = request_ceiling(&run->req, e);
	if (r >= 0)
		deps_attach(&run->req, &deps);
	/* From here on a failure is an end. */
	if (r < 0) {
		if (run->record.begun)
			record_run_end(run, e);
		else
			record_run_refused(run, o, e);
		return r;
	}
	return run_begin(run, e);
}

/* The daemon does not do this kind of thing; we can. It is the same run. */
static int start_here(struct pinfold_run **run, struct pinfold_run_options *o, struct err *e)
{
	struct pinfold_run *again = run_new();
	char id[ID_SIZE];

	*e = (struct err)ERR_INIT;
	if (!again)
		return err_sys(e, "run");
	memcpy(id, (*run)->id, sizeof(id));
	o->flags |= PINFOLD_LOCAL;
	o->run_id = id;
	again->record = (*run)->record;
	record_init(&(*run)->record);
	pinfold_run_free(*run);
	*run = again;
	int r = start(again, o, e);
	o->run_id = NULL;
	return r;
}

int run_launch(const struct pinfold_run_options *options, struct pinfold_run **ret_run,
	       struct err *e)
{
	struct pinfold_run_options o;
	struct pinfold_run *run = run_new();
	int r = -ENOMEM;

	options_take(&o, options);
	if (run)
		r = start(run, &o, e);
	else
		(void)err_sys(e, "run");
	if (r < 0 && run && run->refused && !(o.flags & PINFOLD_DAEMON))
		r = start_here(&run, &o, e);
	if (r < 0)
		pinfold_run_free(run);
	else
		*ret_run = run;
	return r;
}

int pinfold_run_start(const struct pinfold_run_options *options, struct pinfold_run **ret_run,
		      struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(options && ret_run && ret_error);
	if (run_launch(options, ret_run, &e) >= 0)
		return 0;
	error_public(&e, ret_error);
	return -1;
}

int pinfold_run_fd(const struct pinfold_run *run)
{
	return run->epoll;
}

void pinfold_run_close_output(struct pinfold_run *run, int stream)
{
	assert(stream == 1 || stream == 2);
	fd_close(&run->out[stream - 1]);
}

int pinfold_run_stdin_fd(const struct pinfold_run *run)
{
	return run->input < 0 ? -1 : run->input;
}

void pinfold_run_stdin_close(struct pinfold_run *run)
{
	/* A terminal's input ends with its end-of-file character; closing would hang it up. */
	if (run->terminal >= 0)
		(void)!write(run->terminal, "\4", 1);
	else
		fd_close(&run->input);
}

void pinfold_run_resize(struct pinfold_run *run, unsigned rows, unsigned cols)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};

	if (run->follows && run->req.spec.pty) {
		struct pinfold_error ignored; /* as below: a terminal that is gone has no size */

		(void)pinfold_process_resize(run->req.spec.id, run->followed, rows, cols, &ignored);
	}
	if (run->terminal >= 0)
		(void)ioctl(run->terminal, TIOCSWINSZ, &size);
}

int pinfold_run_has_terminal(const struct pinfold_run *run)
{
	return run->req.spec.pty;
}

void pinfold_run_signal(struct pinfold_run *run, int signo)
{
	if (run->live.sb.control >= 0)
		control_send(run->live.sb.control, MSG_SIGNAL, signo);
	if (signo == SIGCONT)
		alerts_resumed(run);
}

void pinfold_run_stop(struct pinfold_run *run, int force)
{
	run_stop(run, STOP_CALLER, force != 0);
}

void pinfold_run_wait(struct pinfold_run *run)
{
	struct pinfold_event ev;

	pinfold_run_hold(run, 0);
	while (run->state != RUN_ENDED || !run->result_told)
		(void)pinfold_run_next(run, -1, &ev);
}

const char *pinfold_run_id(const struct pinfold_run *run)
{
	return run->id;
}

const char *pinfold_run_sandbox(const struct pinfold_run *run)
{
	return run->req.spec.id;
}

const char *pinfold_run_status(const struct pinfold_run *run)
{
	return run->status;
}

int pinfold_run_exit_status(const struct pinfold_run *run)
{
	return run->exit_status;
}

const struct pinfold_error *pinfold_run_error(const struct pinfold_run *run)
{
	return run->failed ? &run->error : NULL;
}

const char *pinfold_run_note(const struct pinfold_run *run, unsigned i)
{
	return i < run->n_notes ? run->notes[i] : NULL;
}

void pinfold_run_free(struct pinfold_run *run)
{
	if (!run)
		return;
	run_clean_host(run);
	record_run_end(run, NULL); /* nobody waited for it */
	record_done(&run->record);
	replay_free(run->replay);
	upper_drop(run->upper);
	free(run->rows);
	free(run->requests);
	free(run->names);
	value_free(run->retried);
	free(run->shared);
	fd_close(&run->epoll);
	fd_close(&run->timer);
	fd_close(&run->terminal);
	fd_close(&run->out[0]);
	fd_close(&run->out[1]);
	fd_close(&run->input);
	for (int i = 0; i < 2; i++)
		capture_done(&run->capture[i]);
	for (unsigned i = 0; i < run->n_files; i++)
		free(run->files[i].path);
	free(run->files);
	for (unsigned i = 0; i < run->n_notes; i++)
		free(run->notes[i]);
	request_done(&run->req);
	remote_leave(run);
	fd_close(&run->parting_link);
	fd_close(&run->parting);
	free(run);
}

const char *pinfold_version(void)
{
	return PINFOLD_VERSION;
}

static int told(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r >= 0)
		return 0;
	error_public(e, ret_error);
	return -1;
}

int pinfold_home(char *ret, size_t size, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	return told(place_data(ret, size, &e), &e, ret_error);
}

int pinfold_socket(char *ret, size_t size, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	return told(place_socket(ret, size, &e), &e, ret_error);
}
