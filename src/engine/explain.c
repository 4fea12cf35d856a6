/* SPDX-License-Identifier: Apache-2.0 */
/* What a failed step of the plan means to the person who has to fix it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/run_int.h"
#include "wire/msg.h"

static bool on_host(const char *path)
{
	struct stat st;

	return path[0] == '/' && stat(path, &st) == 0;
}

static int explain_exec(struct pinfold_run *run, int error, struct err *e)
{
	const char *name = run->req.spec.argv[0];

	if (error == ENOENT || error == ENOTDIR) {
		(void)err_set(e, ERR_MISSING, "%s: command not found in the sandbox", name);
		(void)err_detail(e, "command");
		if (on_host(name)) {
			run_deny_path(run, name,
				      "it exists on the host but is hidden inside; bring its "
				      "directory in with --dir (it appears at /work)");
			return err_remedy(e,
					  "it exists on the host but is hidden inside: bring its "
					  "directory in with --dir and call it as /work/…");
		}
		return err_remedy(e, "inside are %s, and --dir at /work",
				  spec_on_image(&run->req.spec) ? "the image's files"
								: "the host's /usr");
	}
	errno = error;
	(void)err_sys(e, "%s: cannot be executed", name);
	return err_detail(e, "command");
}

static int explain_workdir(struct pinfold_run *run, int error, struct err *e)
{
	const char *dir = run->req.spec.workdir;

	errno = error;
	if (error == ELOOP)
		return err_set(e, ERR_INVALID, "--workdir: %s leads through a magic link", dir);
	(void)err_sys(e, "--workdir: %s", dir);
	(void)err_detail(e, "workdir");
	if (!on_host(dir))
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
	else if (op == PLAN_OVERLAY && error == EINVAL)
		(void)err_remedy(
			e, "a directory that has other filesystems mounted below it cannot be "
			   "shown copy-on-write by an ordinary user");
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
	errno = error;
	(void)err_sys(e, "sandbox set-up, step %d, %s%s%s", step, plan_op_name(op - 1),
		      path ? " " : "", path ? path : "");
	(void)err_detail(e, "setup");
	remedy_for_step(op - 1, error, e);
	plan_free(plan);
	return -error;
}

int explain_failure(struct pinfold_run *run, int step, unsigned op, int error, struct err *e)
{
	if (error <= 0)
		error = EIO;
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
