/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinfold: run untrusted code in a fresh sandbox.
 *
 * One row per verb. A verb parses its options (options.c is the one table of them) and calls the
 * library through include/pinfold/pinfold.h. How a sandbox is made is not known in this room.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/help.h"
#include "cmd/opt.h"
#include "cmd/say.h"
#include "cmd/settle.h"
#include "base/suggest.h"
#include "cmd/verb.h"

#define FILES_WANTED 65536u
#define STACK_WANTED (1u << 20)
#define STACK_NEEDED (128u << 10)

const struct verb verb_table[] = {
	{"run", "run a command or a program in a fresh sandbox", cmd_run, VERB_RUN, &run_doc},
	{"shell", "an interactive shell in a fresh sandbox", cmd_shell, VERB_SHELL, &shell_doc},
	{"plan", "print the steps of a run without doing them", cmd_plan, VERB_PLAN, &plan_doc},
	{"serve", "run the daemon, which keeps sandboxes ready-made", cmd_serve, VERB_SERVE,
	 &serve_doc},
	{"mcp", "give an agent tools: MCP on standard input and output", cmd_mcp, VERB_MCP,
	 &mcp_doc},
	{"approvals", "list what waits for approval", cmd_approvals, VERB_DATA, &approvals_doc},
	{"approve", "approve something that waits", cmd_approve, VERB_APPROVE, &approve_doc},
	{"deny", "refuse something that waits", cmd_deny, VERB_PLAIN, &deny_doc},
	{"deps", "find, lock and fetch the packages that programs need", cmd_deps, VERB_DEPS,
	 &deps_doc},
	{"token", "make, list and remove tokens for the HTTP API", cmd_token, VERB_TOKEN,
	 &token_doc},
	{"allow", "say what a policy lets a sandbox reach, or change it", cmd_allow, VERB_ALLOW,
	 &allow_doc},
	{"trust", "trust the pinfold.yaml of a project", cmd_trust, VERB_TRUST, &trust_doc},
	{"secret", "keep keys that programs can use and never see", cmd_secret, VERB_SECRET,
	 &secret_doc},
	{"tenant", "set and list quotas of tenants of the HTTP API", cmd_tenant, VERB_TENANT,
	 &tenant_doc},
	{"new", "make a workspace: files that last", cmd_new, VERB_NEW, &new_doc},
	{"ls", "list the workspaces", cmd_ls, VERB_LS, &ls_doc},
	{"info", "show the state of a workspace", cmd_info, VERB_DATA, &info_doc},
	{"limit", "change how much workspaces may hold", cmd_limit, VERB_LIMIT, &limit_doc},
	{"rm", "remove a workspace", cmd_rm, VERB_RM, &rm_doc},
	{"exec", "run a command in a workspace, or in a sandbox that lives", cmd_exec, VERB_EXEC,
	 &exec_doc},
	{"cp", "copy files into a workspace or out of it", cmd_cp, VERB_CP, &cp_doc},
	{"push", "bring a workspace up to date with a directory", cmd_push, VERB_PUSH, &push_doc},
	{"watch", "keep pushing as files change", cmd_watch, VERB_WATCH, &watch_doc},
	{"pull", "bring a directory up to date with a workspace", cmd_pull, VERB_PULL, &pull_doc},
	{"log", "list what happened in a workspace", cmd_log, VERB_LOG, &log_doc},
	{"diff", "show what a command changed in a workspace", cmd_diff, VERB_DIFF, &diff_doc},
	{"review", "show what a workspace changed of its directory, as a patch", cmd_review,
	 VERB_REVIEW, &review_doc},
	{"apply", "write those changes to the directory, or take them back", cmd_apply, VERB_APPLY,
	 &apply_doc},
	{"snap", "mark the state of a workspace", cmd_snap, VERB_DATA, &snap_doc},
	{"undo", "take back the last commands of a workspace", cmd_undo, VERB_DATA, &undo_doc},
	{"rollback", "bring a workspace back to a snapshot", cmd_rollback, VERB_DATA,
	 &rollback_doc},
	{"fork", "make a workspace from another", cmd_fork, VERB_FORK, &fork_doc},
	{"export", "write a workspace, or one layer, as a tar file", cmd_export, VERB_EXPORT,
	 &export_doc},
	{"import", "bring files into a workspace from a tar file or an image", cmd_import,
	 VERB_IMPORT, &import_doc},
	{"image", "import, list and remove root file systems", cmd_image, VERB_IMAGE, &image_doc},
	{"gc", "free the space of what nobody needs", cmd_gc, VERB_GC, &gc_doc},
	{"fsck", "check the data directory, and repair it", cmd_fsck, VERB_FSCK, &fsck_doc},
	{"audit", "print the ledger: who did what, and how it ended", cmd_audit, VERB_AUDIT,
	 &audit_doc},
	{"receipt", "print the signed receipt of a run", cmd_receipt, VERB_RECEIPT, &receipt_doc},
	{"verify", "check the ledger, or a receipt", cmd_verify, VERB_VERIFY, &verify_doc},
	{"replay", "repeat a run, and say whether the result is the same", cmd_replay, VERB_REPLAY,
	 &replay_doc},
	{"ps", "list the sandboxes that live", cmd_ps, VERB_PS, &ps_doc},
	{"top", "show what runs in the daemon, continuously", cmd_top, VERB_TOP, &top_doc},
	{"logs", "print what a detached command printed", cmd_logs, VERB_LOGS, &logs_doc},
	{"attach", "follow a detached command", cmd_attach, VERB_PLAIN, &attach_doc},
	{"kill", "end a sandbox, or send it a signal", cmd_kill, VERB_KILL, &kill_doc},
	{"pause", "pause everything in a sandbox", cmd_pause, VERB_PLAIN, &pause_doc},
	{"resume", "continue a paused sandbox", cmd_resume, VERB_PLAIN, &resume_doc},
	{"extend", "let a sandbox live longer", cmd_extend, VERB_PLAIN, &extend_doc},
	{"doctor", "say what this host can enforce", cmd_doctor, VERB_DOCTOR, &doctor_doc},
	{"bench", "measure what a sandbox costs on this machine", cmd_bench, VERB_BENCH,
	 &bench_doc},
	{"version", "print the version", cmd_version, VERB_VERSION, &version_doc},
	{"help", "explain a verb", cmd_help, VERB_PLAIN, &help_doc},
	{"docs", NULL, cmd_docs, VERB_PLAIN, &docs_doc},
	{.name = NULL},
};

static const struct verb *unknown_verb(const char *name, struct err *e)
{
	struct nearest near = NEAREST_INIT;

	for (const struct verb *v = verb_table; v->name; v++)
		if (v->summary)
			nearest_try(&near, name, strlen(name), v->name);
	(void)err_set(e, ERR_INVALID, "%.80s: there is no such verb", name);
	if (near.name)
		(void)err_remedy(e, "did you mean pinfold %s?", near.name);
	(void)err_remedy(e, "pinfold help lists the verbs; pinfold run -- COMMAND runs a command");
	return NULL;
}

const struct verb *verb_find(const char *name, struct err *e)
{
	static const char *const aliases[][2] = {
		{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcmp(name, aliases[i][0]))
			name = aliases[i][1];
	for (const struct verb *v = verb_table; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return unknown_verb(name, e);
}

/* A caller may have closed 0, 1 or 2. The next descriptor opened would take that number, and a
 * program's output would be written into it. */
static int fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}

/* With ulimit -f, a write beyond the limit must fail, not end us. A handler, and not SIG_IGN, because
 * the programs that we start would inherit that. */
static void on_too_large(int signo)
{
	(void)signo;
}

/* The soft limit exists for programs that call select(), which we do not. What runs inside gets the
 * limit of --nofile, and ours is to be above that (guest/identity.c). */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_WANTED)
		return;
	files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
	(void)setrlimit(RLIMIT_NOFILE, &files); /* else a later error says what is too low */
}

/* With too small a stack we would end in the middle of something, without a word. */
static int check_stack(struct err *e)
{
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_WANTED)
		return 0;
	stack.rlim_cur = stack.rlim_max < STACK_WANTED ? stack.rlim_max : STACK_WANTED;
	(void)setrlimit(RLIMIT_STACK, &stack); /* it may be enough as it is */
	if (stack.rlim_cur >= STACK_NEEDED)
		return 0;
	(void)err_set(e, ERR_LIMIT, "pinfold itself may have a stack of %llu KiB only",
		      (unsigned long long)stack.rlim_cur >> 10);
	return err_remedy(e, "raise that limit: ulimit -s 1024");
}

/* A umask that takes rights from the owner would make us create files, and a data directory, that we
 * could not open again. What it takes from group and others stays. */
static void keep_owner(void)
{
	mode_t mask = umask(S_IRWXG | S_IRWXO);

	(void)umask(mask & (S_IRWXG | S_IRWXO));
}

int main(int argc, char **argv)
{
	const struct sigaction too_large = {.sa_handler = on_too_large, .sa_flags = SA_RESTART};
	struct err e = ERR_INIT;

	if (fill_standard_descriptors() < 0)
		return EXIT_PINFOLD;
	raise_files();
	keep_owner();
	(void)sigaction(SIGXFSZ, &too_large, NULL); /* cannot fail for this signal */
	if (check_stack(&e) < 0)
		return say_failure(&e, opt_seen(argc - 1, argv + 1, "--json"));
	if (argc < 2)
		return help_overview();
	const struct verb *v = verb_find(argv[1], &e);
	if (!v)
		return say_failure(&e, opt_seen(argc - 2, argv + 2, "--json"));
	say_as_run(v->bit & (VERB_RUN | VERB_SHELL | VERB_EXEC));
	settle_begin(argc, argv);
	int status = v->run(v, argc - 2, argv + 2);
	if (fflush(stdout) != 0 && say_unwritten(errno) != 0 && status == 0)
		status = EXIT_PINFOLD;
	settle_leave();
	return status;
}
