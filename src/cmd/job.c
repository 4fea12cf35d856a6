/* SPDX-License-Identifier: Apache-2.0 */
/* A job from within: begun, minded, ended. */
#include "cmd/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/session.h"
#include "cmd/show.h"
#include "cmd/sig.h"

#define TIME_MS (10 * 60 * 1000) /* as of other commands that nobody waits for */

static int waiting = FD_NONE; /* who started us reads the id there */

struct job {
	int dir, out[2], control, lock;
	uint64_t written[2];
	bool started, over;
};

/* Words with blanks between. */
static void describe(const struct pinfold_run_options *o, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	if (o->lang)
		n = (size_t)snprintf(to, size, "%s%s%s", o->lang, o->code_name ? " " : "",
				     o->code_name ? o->code_name : "");
	for (unsigned i = 0; o->argv && o->argv[i] && n < size; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s", n ? " " : "", o->argv[i]);
}

static int write_about(const struct job *j, const struct request *r, const struct pinfold_run *run)
{
	char command[160];
	auto_value *v = value_object();
	uint64_t now = show_now_ms();

	describe(&r->run, command, sizeof(command));
	value_set(v, "run", value_of_str(pinfold_run_id(run)));
	value_set(v, "command", value_of_str(command));
	value_set(v, "created_ms", value_of_u64(now));
	value_set(v, "expires_ms", value_of_u64(now + r->run.time_ms));
	size_t len = 0;
	auto_free char *text = value_text(v, &len);
	auto_close int fd = openat(j->dir, "about", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return !text || fd < 0 ? -EIO : fd_write_all(fd, text, len);
}

static int make_files(struct job *j, const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;

	if (mkdir(path, 0700) < 0)
		return -errno;
	j->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dir < 0 || mkfifoat(j->dir, "control", 0600) < 0)
		return -errno;
	j->lock = openat(j->dir, "lock", flags, 0600);
	j->out[0] = openat(j->dir, "stdout", flags, 0600);
	j->out[1] = openat(j->dir, "stderr", flags, 0600);
	/* Writing, too: it is never at its end. */
	j->control = openat(j->dir, "control", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (j->lock < 0 || j->out[0] < 0 || j->out[1] < 0 || j->control < 0 ||
	    flock(j->lock, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return 0;
}

static int make_job(struct job *j, const struct request *r, const struct pinfold_run *run,
		    struct err *e)
{
	char home[400], path[480];
	struct pinfold_error error;

	if (pinfold_home(home, sizeof(home), &error) < 0)
		return err_set(e, ERR_INTERNAL, "%s", error.message);
	(void)snprintf(path, sizeof(path), "%s/jobs", home);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "%s", path);
	(void)snprintf(path, sizeof(path), "%s/jobs/%s", home, pinfold_run_sandbox(run));
	int k = make_files(j, path);
	if (k >= 0)
		k = write_about(j, r, run);
	if (k < 0) {
		errno = -k;
		return err_sys(e, "%s", path);
	}
	return 0;
}

static void keep_output(struct job *j, int i, const void *data, size_t len)
{
	uint64_t room = JOB_OUTPUT_MAX - j->written[i];

	if (len > room)
		len = (size_t)room;
	/* A full disk takes no more of it, and the command goes on. */
	if (len && fd_write_all(j->out[i], data, len) >= 0)
		j->written[i] += len;
}

static void take_events(struct job *j, struct pinfold_run *run)
{
	struct pinfold_event ev;

	while (!j->over && pinfold_run_next(run, 0, &ev) > 0) {
		j->over = ev.kind == PINFOLD_EVENT_RESULT;
		j->started |= ev.kind == PINFOLD_EVENT_STARTED;
		if (ev.kind == PINFOLD_EVENT_STDOUT || ev.kind == PINFOLD_EVENT_STDERR)
			keep_output(j, ev.kind == PINFOLD_EVENT_STDERR, ev.data, ev.len);
	}
}

static void take_orders(const struct job *j, struct pinfold_run *run)
{
	uint8_t signo[16];
	ssize_t n = read(j->control, signo, sizeof(signo));

	for (ssize_t i = 0; i < n; i++)
		if (signo[i] == SIGKILL)
			pinfold_run_stop(run, 1);
		else if (signo[i] > 0 && signo[i] < 65)
			pinfold_run_signal(run, signo[i]);
	if (sig_take())
		pinfold_run_stop(run, 0);
}

/* Until the command's program runs, or until all of it is over. */
static void stay(struct job *j, struct pinfold_run *run, bool to_end)
{
	struct pollfd p[] = {
		{.fd = pinfold_run_fd(run), .events = POLLIN},
		{.fd = j->control, .events = POLLIN},
		{.fd = sig_fd(), .events = POLLIN},
	};

	for (take_events(j, run); !j->over && (to_end || !j->started); take_events(j, run)) {
		(void)poll(p, sizeof(p) / sizeof(p[0]), -1);
		take_orders(j, run);
	}
}

static void write_result(const struct job *j, const struct pinfold_run *run)
{
	auto_close int fd = openat(j->dir, "result.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	/* Without it the job looks as if it had been killed: what is in the workspace is not. */
	if (fd >= 0 && pinfold_run_write_json(run, fd) >= 0)
		(void)renameat(j->dir, "result.new", j->dir, "result");
}

/* Nobody who waits for the end of our output waits for the command. */
static void let_go(const struct pinfold_run *run)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)fd_write_all(waiting, pinfold_run_sandbox(run), strlen(pinfold_run_sandbox(run)));
	fd_close(&waiting);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
}

int job_mind(const struct request *r, struct pinfold_run *run)
{
	struct job j = {FD_NONE, {FD_NONE, FD_NONE}, FD_NONE, FD_NONE, {0}, false, false};
	struct err e = ERR_INIT;

	if (make_job(&j, r, run, &e) < 0) {
		pinfold_run_stop(run, 1);
		pinfold_run_wait(run);
		return say_failure(&e, r->json);
	}
	stay(&j, run, false);
	bool failed = !j.started && pinfold_run_error(run);
	if (failed)
		(void)say_library_failure(pinfold_run_error(run), r->json);
	else
		let_go(run);
	stay(&j, run, true);
	if (failed) /* there was no command to look after */
		job_forget(pinfold_run_sandbox(run));
	else
		write_result(&j, run);
	int status = pinfold_run_exit_status(run);
	fd_close(&j.out[0]);
	fd_close(&j.out[1]);
	fd_close(&j.control);
	fd_close(&j.dir);
	return status; /* the lock goes with us, when the workspace is free, too */
}

static int check(const struct request *r, struct err *e)
{
	const char *what = r->pty	     ? "--pty"
			   : r->open_stdin   ? "--stdin-open"
			   : r->metadata.len ? "--metadata"
					     : NULL;

	if (!what)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%s: not with --detach in a workspace", what);
	return err_remedy(e, "leave it out; pinfold run --detach has it, in a fresh sandbox");
}

/* What the other process says: the id, or nothing, when it has said why itself. */
static int wait_for_id(const struct request *r, int from, pid_t pid)
{
	char id[PINFOLD_ID_SIZE] = "";
	size_t len = 0;
	int status = 0;

	(void)fd_read_max(from, id, sizeof(id) - 1, &len);
	if (len == 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
								: EXIT_PINFOLD;
	}
	printf(r->json ? "{\"sandbox\": \"%s\"}\n" : "%s\n", id);
	return help_flush();
}

int job_start(struct request *r, const char *name, uint32_t flags, bool fresh)
{
	struct err e = ERR_INIT;
	int ends[2];

	if (check(r, &e) < 0)
		return say_failure(&e, r->json);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(&e, "pipe"), say_failure(&e, r->json);
	job_sweep();
	pid_t pid = fork();
	if (pid != 0) {
		(void)close(ends[1]);
		int status = pid < 0 ? (err_sys(&e, "fork"), say_failure(&e, r->json))
				     : wait_for_id(r, ends[0], pid);
		(void)close(ends[0]);
		return status;
	}
	(void)close(ends[0]);
	waiting = ends[1];
	(void)setsid(); /* a terminal that goes is none of its business */
	r->run.flags |= PINFOLD_NO_STDIN | PINFOLD_CAPTURE;
	r->run.time_ms = r->run.time_ms ? r->run.time_ms : TIME_MS;
	r->stdin_fd = FD_NONE;
	return session_workspace(r, name, flags, fresh);
}
