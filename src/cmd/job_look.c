/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from outside: listed, followed, ended, forgotten. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "cmd/escape.h"
#include "cmd/job.h"
#include "cmd/say.h"
#include "cmd/show.h"

#define KEEP_MS (60 * 60 * 1000)
#define LOOK_MS 50 /* between two looks for more output */
#define ABOUT_MAX ((size_t)8 << 20)

static const char *const names[] = {"stdout", "stderr"};

static int open_home(const char *below)
{
	char path[480];
	struct pinfold_error error;

	if (pinfold_home(path, sizeof(path) - 64, &error) < 0)
		return -ENOENT;
	size_t n = strlen(path);
	(void)snprintf(path + n, sizeof(path) - n, "/%s", below);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int open_job(int jobs, const char *sandbox)
{
	int fd = openat(jobs, sandbox, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

bool job_lives(int dir)
{
	auto_close int lock = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) < 0;
}

struct value *job_read(int dir, const char *name)
{
	auto_free char *text = NULL;
	struct value *v = NULL;
	struct err ignored = ERR_INIT;
	struct stat st;
	size_t len = 0;
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size > ABOUT_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (!text || fd_read_max(fd, text, (size_t)st.st_size, &len) < 0 ||
	    value_parse(text, len, &v, &ignored) < 0)
		return NULL;
	return v;
}

/* One after the other, until `each` says something else than 0. */
static int walk(int (*each)(int jobs, const char *sandbox, void *arg), void *arg)
{
	int base = open_home("jobs"), r = 0;
	DIR *all = base < 0 ? NULL : fdopendir(base);
	const struct dirent *d;

	while (all && r == 0 && (d = readdir(all)))
		if (id_is("sbx", d->d_name))
			r = each(dirfd(all), d->d_name, arg);
	if (all)
		(void)closedir(all);
	else
		fd_close(&base);
	return r;
}

struct wanted {
	const char *run;
	int dir;
};

static int is_run(int jobs, const char *sandbox, void *arg)
{
	struct wanted *w = arg;
	auto_close int dir = open_job(jobs, sandbox);
	auto_value *about = dir < 0 ? NULL : job_read(dir, "about");
	const char *run = value_str(value_get(about, "run"));

	if (!run || strcmp(run, w->run) != 0)
		return 0;
	w->dir = take_fd(&dir);
	return 1;
}

int job_open(const char *id)
{
	struct wanted w = {id, -ENOENT};

	if (id_is("run", id)) {
		(void)walk(is_run, &w);
		return w.dir;
	}
	auto_close int jobs = open_home("jobs");
	return jobs < 0 ? jobs : id_is("sbx", id) ? open_job(jobs, id) : -ENOENT;
}

static void forget(int jobs, const char *sandbox)
{
	static const char *const files[] = {"about",  "stdout", "stderr",    "control",
					    "result", "lock",	"result.new"};
	auto_close int dir = open_job(jobs, sandbox);

	for (size_t i = 0; dir >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(dir, files[i], 0); /* what was never there is gone, too */
	(void)unlinkat(jobs, sandbox, AT_REMOVEDIR);
}

void job_forget(const char *sandbox)
{
	auto_close int jobs = open_home("jobs");

	if (jobs >= 0)
		forget(jobs, sandbox);
}

static uint64_t ended_ms(int dir)
{
	struct stat st;

	/* Its last file: the result, or of one that was killed what it printed last. */
	if (fstatat(dir, "result", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(dir, "stdout", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 1;
	return (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
}

static int sweep_one(int jobs, const char *sandbox, void *arg)
{
	auto_close int dir = open_job(jobs, sandbox);

	(void)arg;
	/* Without what says of it: it is just being made, or never was. */
	if (dir >= 0 && !job_lives(dir) && ended_ms(dir) + KEEP_MS < show_now_ms())
		forget(jobs, sandbox);
	return 0;
}

void job_sweep(void)
{
	(void)walk(sweep_one, NULL);
}

struct listing {
	struct pinfold_sandbox_info **list;
	size_t *n;
};

static void put_end(struct pinfold_sandbox_info *s, int dir)
{
	static const char *const words[] = {"exited", "signaled", "timeout",
					    "oom",    "killed",	  "failed"};
	auto_value *result = job_read(dir, "result");
	const char *status = value_str(value_get(result, "status"));

	s->status = "killed";
	for (size_t i = 0; status && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], status) == 0)
			s->status = words[i];
	if (value_kind(value_get(result, "exit_code")) == VALUE_INT)
		s->exit_code = (int)value_int(value_get(result, "exit_code"));
	s->signal = (int)value_int(value_get(result, "signal"));
	s->ended_ms = ended_ms(dir);
}

static int list_one(int jobs, const char *sandbox, void *arg)
{
	struct listing *l = arg;
	auto_close int dir = open_job(jobs, sandbox);
	auto_value *about = dir < 0 ? NULL : job_read(dir, "about");
	const char *command = value_str(value_get(about, "command"));

	if (!about)
		return 0; /* it is being made, or removed */
	struct pinfold_sandbox_info *more = reallocarray(*l->list, *l->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*l->list = more;
	more += (*l->n)++;
	*more = (struct pinfold_sandbox_info){
		.status = "running",
		.uid = (uint32_t)geteuid(),
		.detached = 1,
		.exit_code = -1,
		.created_ms = (uint64_t)value_int(value_get(about, "created_ms")),
		.expires_ms = (uint64_t)value_int(value_get(about, "expires_ms")),
		.memory_bytes = UINT64_MAX,
		.isolation = "strict",
		.image = "host",
	};
	(void)snprintf(more->id, sizeof(more->id), "%s", sandbox);
	(void)snprintf(more->command, sizeof(more->command), "%s", command ? command : "");
	if (!job_lives(dir))
		put_end(more, dir);
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct pinfold_sandbox_info *x = a, *y = b;

	return x->created_ms < y->created_ms ? -1 : x->created_ms > y->created_ms;
}

int job_list(struct pinfold_sandbox_info **list, size_t *n)
{
	struct listing l = {list, n};
	int r = walk(list_one, &l);

	if (*n)
		qsort(*list, *n, sizeof(**list), by_age);
	return r;
}

struct tail {
	int fd;
	bool escaped;
	struct escape escape;
};

/* What there is by now. Returns whether anything was. */
static bool pass_on(struct tail *t, int to)
{
	char data[16384], text[4 * sizeof(data)];
	bool any = false;
	ssize_t n;

	while (t->fd >= 0 && (n = read(t->fd, data, sizeof(data))) > 0) {
		size_t used = 0, done = 0;

		any = true;
		while (t->escaped && done < (size_t)n) {
			size_t len = escape_feed(&t->escape, data + done, (size_t)n - done, &used,
						 text, sizeof(text));
			done += used;
			(void)fd_write_all(to, text, len); /* who reads it may have gone */
		}
		if (!t->escaped && fd_write_all(to, data, (size_t)n) < 0)
			break;
	}
	return any;
}

/* Of both streams, as the daemon counts them, there is no common offset: of each. */
static void seek(int fd, const struct request *r, bool now)
{
	if (now)
		(void)lseek(fd, 0, SEEK_END);
	else if (r->offset_text && r->offset < 0 && lseek(fd, r->offset, SEEK_END) < 0)
		(void)lseek(fd, 0, SEEK_SET);
	else if (r->offset_text && r->offset > 0)
		(void)lseek(fd, r->offset, SEEK_SET);
}

static int status_of(int dir)
{
	auto_value *result = job_read(dir, "result");
	const struct value *code = value_get(result, "exit_code");
	const char *status = value_str(value_get(result, "status"));

	if (status && strcmp(status, "timeout") == 0)
		return 124;
	if (value_kind(code) == VALUE_INT)
		return (int)value_int(code);
	int64_t signo = value_int(value_get(result, "signal"));
	return signo ? 128 + (int)signo : 137;
}

static int print_result(int dir)
{
	auto_close int fd = openat(dir, "result", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct tail t = {.fd = fd};
	struct err e = ERR_INIT;

	if (fd >= 0) {
		(void)pass_on(&t, STDOUT_FILENO);
		return fd_write_all(STDOUT_FILENO, "\n", 1) < 0 ? EXIT_PINFOLD : 0;
	}
	(void)err_set(&e, ERR_MISSING, "it has no result%s", job_lives(dir) ? " yet" : "");
	(void)err_remedy(&e, job_lives(dir) ? "wait for it: pinfold logs --follow --json ID"
					    : "it was killed together with who minded it");
	return say_failure(&e, true);
}

int job_follow(const struct request *r, int dir, bool stay, bool now)
{
	struct tail t[2];
	bool lives = true;

	for (int i = 0; i < 2; i++) {
		t[i] = (struct tail){.fd = openat(dir, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
				     .escaped = isatty(i + 1) && !r->raw};
		seek(t[i].fd, r, now);
	}
	/* Looked at before the last look for output: what came in between is seen. */
	for (bool more = true; more;) {
		lives = stay && job_lives(dir);
		bool any = false;

		for (int i = 0; i < 2 && !r->json; i++)
			any |= pass_on(&t[i], i + 1);
		more = lives;
		if (lives && !any)
			(void)poll(NULL, 0, LOOK_MS);
	}
	fd_close(&t[0].fd);
	fd_close(&t[1].fd);
	int status = r->json ? print_result(dir) : 0;
	return status || !stay ? status : status_of(dir);
}

int job_signal(int dir, const char *id, int signo, struct pinfold_error *error)
{
	const uint8_t word = (uint8_t)signo;
	auto_close int jobs = open_home("jobs");
	auto_close int control = openat(dir, "control", O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	*error = (struct pinfold_error){.code = ""};
	if (!job_lives(dir)) {
		forget(jobs, id);
		return 0;
	}
	if (control < 0 || write(control, &word, 1) != 1) {
		(void)snprintf(error->code, sizeof(error->code), "internal");
		(void)snprintf(error->message, sizeof(error->message),
			       "%s: the process that looks after it does not listen: %s", id,
			       strerror(errno));
		return -1;
	}
	while (signo == SIGKILL && job_lives(dir))
		(void)poll(NULL, 0, LOOK_MS / 5);
	return 0;
}

int job_artifacts(const char *run)
{
	char below[64];
	struct err e = ERR_INIT;
	bool any = false;

	(void)snprintf(below, sizeof(below), "artifacts/%s", run);
	auto_close int dir = open_home(below);
	for (int i = 0; dir >= 0 && i < 2; i++) {
		auto_close int fd = openat(dir, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		struct tail t = {.fd = fd, .escaped = isatty(i + 1)};

		any |= fd >= 0;
		(void)pass_on(&t, i + 1);
	}
	if (any)
		return 0;
	(void)err_set(&e, ERR_MISSING, "no output of %s is kept", run);
	(void)err_remedy(&e,
			 "of a run, what --output had no room for is kept for an hour (--keep); "
			 "of a detached one all of it");
	return say_failure(&e, false);
}
