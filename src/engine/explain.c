/* SPDX-License-Identifier: Apache-2.0 */
/* What a failed step of the plan means to the person who has to fix it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "wire/msg.h"

static bool on_host(const char *path)
{
	struct stat st;

	return path[0] == '/' && stat(path, &st) == 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The command as the caller's own shell would find it: by its path, or on his PATH. */
static bool find_outside(const struct pinfold_run *run, const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH");

	if (run->req.flags & PINFOLD_FOREIGN)
		return false; /* the caller is elsewhere */
	if (strchr(name, '/')) {
		(void)snprintf(ret, size, "%s", name);
		return strlen(name) < size && is_program(name);
	}
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n > 0 && n + strlen(name) + 2 <= size) {
			(void)snprintf(ret, size, "%.*s/%s", (int)n, path, name);
			if (is_program(ret))
				return true;
		}
		path += path[n] ? n + 1 : n;
	}
	return false;
}

/* Opens the command if it is there inside: in the host's /usr, or in what --dir shows. */
static int open_inside(const struct pinfold_run *run, const char *name)
{
	const struct sandbox_spec *spec = &run->req.spec;
	bool in_work = strncmp(spec->workdir, "/work", 5) == 0;
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char path[4200];

	if (strncmp(name, "/work/", 6) == 0 && spec->dir_fd >= 0)
		return openat(spec->dir_fd, name + 6, flags);
	if (name[0] != '/' && strchr(name, '/') && in_work && spec->dir_fd >= 0) {
		(void)snprintf(path, sizeof(path), ".%.2000s/%.2000s", spec->workdir + 5, name);
		return openat(spec->dir_fd, path, flags);
	}
	if (spec_on_image(spec) ||
	    (strncmp(name, "/usr/", 5) != 0 && strncmp(name, "/bin/", 5) != 0))
		return -1;
	return open(name, flags);
}

/* It is there, and was not found even so: what its first line names is not. To the kernel the CR of
 * lines that end as on Windows is a part of the name. */
static bool find_interpreter(const struct pinfold_run *run, const char *name, char *ret,
			     size_t size, bool *ret_cr)
{
	char line[256];
	size_t len = 0;
	auto_close int fd = open_inside(run, name);

	if (fd < 0 || fd_read_max(fd, line, sizeof(line) - 1, &len) < 0)
		return false;
	line[len] = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return false;
	const char *from = line + 2 + strspn(line + 2, " \t");
	size_t end = strcspn(from, " \t\n");
	*ret_cr = end > 0 && from[end - 1] == '\r';
	(void)snprintf(ret, size, "%.*s", (int)(end - *ret_cr), from);
	return ret[0] != '\0';
}

static int explain_hidden(struct pinfold_run *run, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char text[320];

	if (run->req.spec.dir_fd >= 0)
		(void)snprintf(text, sizeof(text),
			       "it exists on the host but is hidden inside: copy it into the "
			       "directory that --dir shows, and call it as /work/%.60s",
			       base);
	else if (run->workspace[0])
		(void)snprintf(
			text, sizeof(text),
			"it exists on the host but is hidden inside: bring it in with pinfold cp "
			"%.80s %s: and call it as ./%.60s",
			strlen(path) > 80 ? "FILE" : path, run->workspace, base);
	else if (strncmp(path, "./", 2) == 0 && slash == path + 1)
		(void)snprintf(text, sizeof(text),
			       "it exists on the host but is hidden inside: show this directory "
			       "with --dir . --workdir /work");
	else
		(void)snprintf(
			text, sizeof(text),
			"it exists on the host but is hidden inside: show its directory with "
			"--dir %.*s and call it as /work/%.60s",
			slash ? (int)(slash - path < 80 ? slash - path : 0) : 1, slash ? path : ".",
			base);
	run_deny_path(run, path, text);
	return err_remedy(e, "%s", text);
}

static int explain_cr(const char *name, const char *interpreter, struct err *e)
{
	(void)err_set(e, ERR_MISSING,
		      "%s: its first line ends with a carriage return, so its interpreter is "
		      "\"%.200s\\r\", which is not in the sandbox",
		      name, interpreter);
	(void)err_detail(e, "command");
	return err_remedy(e, "its lines end as on Windows; sed -i 's/\\r$//' %.100s makes them LF",
			  name);
}

static bool is_of_system(const char *path)
{
	static const char *const tops[] = {"/usr/", "/bin/", "/sbin/", "/lib"};

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++)
		if (strncmp(path, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

static int explain_missing(struct pinfold_run *run, const char *name, struct err *e)
{
	char found[1024];
	bool cr = false;

	if (find_interpreter(run, name, found, sizeof(found), &cr)) {
		if (cr)
			return explain_cr(name, found, e);
		(void)err_set(e, ERR_MISSING, "%s: its interpreter %.200s is not in the sandbox",
			      name, found);
		(void)err_detail(e, "command");
		return err_remedy(e,
				  "name one that is there in its first line, such as #!/bin/sh "
				  "or #!/usr/bin/env python3, or start it with one: sh %.100s",
				  name);
	}
	(void)err_set(e, ERR_MISSING, "%s: command not found in the sandbox",
		      name[0] ? name : "\"\"");
	(void)err_detail(e, "command");
	if (find_outside(run, name, found, sizeof(found))) {
		auto_close int visible = open_inside(run, found);

		if (visible >= 0 && !strchr(name, '/'))
			return err_remedy(e, "it is not on the PATH inside: call it as %.200s",
					  found);
		/* What an image lacks of a system is not to be had from the host's. */
		if (!spec_on_image(&run->req.spec) || !is_of_system(found))
			return explain_hidden(run, found, e);
	}
	return err_remedy(e, "inside you find %s%s",
			  spec_on_image(&run->req.spec) ? "the image's files" : "the host's /usr",
			  !run->workspace[0] ? ", and the directory of --dir at /work"
			  : run->req.spec.dir_fd >= 0
				  ? ", the workspace's files, and its directory at /work"
				  : ", and the workspace's files");
}

static int explain_exec(struct pinfold_run *run, int error, struct err *e)
{
	const char *name = run->req.spec.argv[0];

	if (error == ENOENT || error == ENOTDIR)
		return explain_missing(run, name, e);
	errno = error;
	if (error == ENOEXEC)
		(void)err_set(e, ERR_INVALID, "%s: cannot be executed: %s", name, strerror(error));
	else
		(void)err_sys(e, "%s: cannot be executed", name);
	(void)err_detail(e, "command");
	if (error == EACCES)
		return err_remedy(e,
				  "it is a directory, or not executable: chmod +x, or start it "
				  "with its interpreter, as in sh %.100s",
				  name);
	if (error == ENOEXEC)
		return err_remedy(e, "it is no program for this machine; a script needs a first "
				     "line such as #!/bin/sh");
	if (error == E2BIG)
		return err_remedy(e, "its arguments and environment are too long: give data on "
				     "standard input or in a file");
	return err_remedy(e, "see whether it can be executed on the host");
}

static int explain_workdir(struct pinfold_run *run, int error, struct err *e)
{
	const char *dir = run->req.spec.workdir;

	errno = error;
	if (error == ELOOP)
		return err_set(e, ERR_INVALID, "--workdir: %s leads through a magic link", dir),
		       err_remedy(e, "name the directory itself, such as /home/user or /work");
	(void)err_sys(e, "--workdir: %s", dir);
	(void)err_detail(e, "workdir");
	if (error == ENOTDIR)
		return err_remedy(e, "it leads to a file: choose a directory, such as /home/user "
				     "or /work");
	if (error == EACCES)
		return err_remedy(e, "the sandbox's user may not enter it: choose another, such as "
				     "/home/user, or use --user root");
	if (run->req.flags & PINFOLD_FOREIGN || !on_host(dir))
		return err_remedy(
			e, "choose a directory that exists inside, such as /home/user or /work");
	run_deny_path(run, dir,
		      "the directory exists on the host but is hidden inside; show it with "
		      "--dir and use --workdir /work");
	return err_remedy(e,
			  "it exists on the host but is hidden inside: show it with --dir and use "
			  "--workdir /work");
}

static void remedy_for_step(unsigned op, int error, struct err *e)
{
	if (op == PLAN_PROC && error == EPERM)
		(void)err_remedy(e,
				 "this host's own /proc is partly covered, as in a container: run "
				 "pinfold outside of it, or give the container an unmasked /proc");
	else if (op == PLAN_LANDLOCK)
		(void)err_remedy(e, "enable Landlock: add landlock to the lsm= list of the kernel "
				    "command line");
	else if (op == PLAN_NETWORK && error == ENOSPC)
		(void)err_remedy(e, "raise /proc/sys/user/max_net_namespaces");
	else if (op == PLAN_KEYRING && error == EDQUOT)
		(void)err_remedy(e, "raise the sysctl kernel.keys.maxkeys");
	else if (op == PLAN_SECCOMP)
		(void)err_remedy(e, "the kernel needs CONFIG_SECCOMP_FILTER; another seccomp "
				    "listener around pinfold also prevents it");
	else
		(void)err_remedy(e, "run `pinfold doctor` to see what this host lacks");
}

/* The plan was given away; the same options make the same one. That of a daemon is another, with
 * other ids, and only the guest knows what its step was. */
static int explain_step(const struct pinfold_run *run, int step, unsigned op, int error,
			struct err *e)
{
	struct plan *plan = NULL;
	struct err ignored = ERR_INIT;
	const char *path = NULL;

	if (op == 0 || op > PLAN_OP_COUNT)
		return err_set(e, ERR_INTERNAL, "sandbox set-up failed at step %d: %s", step,
			       strerror(error));
	if (run->link < 0 && plan_new(&run->req.spec, &plan, &ignored) >= 0 &&
	    (unsigned)step < plan_block(plan)->n_steps)
		path = plan_str(plan_block(plan), plan_block(plan)->steps[step].s);
	if (op - 1 == PLAN_OVERLAY && error == EINVAL && run->req.spec.dir_fd >= 0 &&
	    (!path || strcmp(path, "work") == 0)) {
		plan_free(plan);
		(void)err_set(e, ERR_UNSUPPORTED, "--dir: it cannot be shown copy-on-write");
		return err_remedy(e, "an ordinary user cannot show a directory that has other "
				     "filesystems mounted below it: name one further down, or run "
				     "pinfold as root");
	}
	errno = error;
	(void)err_sys(e, "sandbox set-up, step %d, %s%s%s", step, plan_op_name(op - 1),
		      path ? " " : "", path ? path : "");
	(void)err_detail(e, "setup");
	remedy_for_step(op - 1, error, e);
	plan_free(plan);
	return -error;
}

static int explain_crowd(struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "there is no room for another process in the sandbox");
	(void)err_detail(e, "pids");
	(void)err_remedy(e, "end some that run in it, or make one with more --pids");
	return -EAGAIN;
}

int explain_failure(struct pinfold_run *run, int step, unsigned op, int error, struct err *e)
{
	if (error <= 0)
		error = EIO;
	if (step == MSG_STEP_FORK && error == EAGAIN)
		return explain_crowd(e);
	switch (step) {
	case MSG_STEP_EXEC:
		(void)explain_exec(run, error, e);
		run_fail(run, e, error == ENOENT || error == ENOTDIR ? 127 : 126);
		return -error;
	case MSG_STEP_WORKDIR:
		(void)explain_workdir(run, error, e);
		run_fail(run, e, 125);
		return -error;
	case MSG_STEP_UNSHARE:
		errno = error;
		(void)err_sys(e, "make network and ipc namespaces");
		(void)err_detail(e, "setup");
		return err_remedy(e,
				  "raise /proc/sys/user/max_net_namespaces and max_ipc_namespaces");
	case MSG_STEP_SESSION:
		errno = error;
		(void)err_sys(e, "give the interpreter its descriptor");
		return err_remedy(e, "a session needs a sandbox with --nofile 256 or more");
	case MSG_STEP_PLAN: return err_set(e, ERR_INTERNAL, "the guest cannot read its plan");
	case MSG_STEP_TERMINAL:
	case MSG_STEP_FORK:
	case MSG_STEP_USER:
	case MSG_STEP_LANDLOCK:
		errno = error;
		(void)err_sys(e, "start the command: %s",
			      step == MSG_STEP_FORK	  ? "fork"
			      : step == MSG_STEP_TERMINAL ? "terminal"
			      : step == MSG_STEP_USER	  ? "user"
							  : "Landlock");
		return -error;
	default: return explain_step(run, step, op, error, e);
	}
}
