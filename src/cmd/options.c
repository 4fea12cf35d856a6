/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all options. --help, the man page and the completions are printed from it. */
#include <stddef.h>

#include "cmd/opt.h"
#include "cmd/request.h"
#include "cmd/verb.h"

#define AT(field) offsetof(struct request, field)
#define RUN (VERB_RUN | VERB_PLAN)
#define RUN_EXEC (VERB_RUN | VERB_PLAN | VERB_EXEC)
#define RUN_SHELL_EXEC (RUN_SHELL | VERB_EXEC)
#define RUN_SHELL (VERB_RUN | VERB_PLAN | VERB_SHELL)
/* What exec takes for a workspace, and refuses for a sandbox that lives. */
#define LIMITS (RUN_SHELL | VERB_EXEC)

const char *const opt_group_titles[GROUP_COUNT] = {
	[GROUP_PROGRAM] = "What runs", [GROUP_LIMITS] = "Limits", [GROUP_ISOLATION] = "Isolation",
	[GROUP_OUTPUT] = "Output",     [GROUP_OTHER] = "Other",
};

const struct opt opt_table[] = {
	{"lang", "LANG", OPT_CHOICE, GROUP_PROGRAM, RUN_EXEC, AT(run.lang),
	 .help = "Run a program in this language instead of a COMMAND: python, node, bash or r",
	 .words = "python node bash r"},
	{"c", "CODE", OPT_CODE, GROUP_PROGRAM, RUN_EXEC, AT(run.code),
	 .help = "With --lang: the text of the program"},
	{"dir", "DIR", OPT_TEXT, GROUP_PROGRAM, RUN_SHELL | VERB_NEW, AT(run.dir),
	 .help = "Show this directory of the host at /work, copy-on-write; it is never written"},
	{"workdir", "PATH", OPT_ABSOLUTE, GROUP_PROGRAM, RUN_SHELL_EXEC, AT(run.workdir),
	 .help = "Working directory inside", .standard = "/home/user"},
	{"env", "KEY=VALUE", OPT_ENV, GROUP_PROGRAM, RUN_SHELL_EXEC, AT(env),
	 .help = "Set a variable inside; may be repeated. Nothing of the caller's is seen"},
	{"stdin", "FILE", OPT_TEXT, GROUP_PROGRAM, RUN_EXEC, AT(stdin_path),
	 .help = "Read standard input from this file of the host; - is the caller's own",
	 .standard = "-"},
	{"pty", NULL, OPT_FLAG, GROUP_PROGRAM, RUN_EXEC, AT(pty),
	 .help = "Give the command a terminal of its own"},
	{"user", "USER", OPT_TEXT, GROUP_PROGRAM, LIMITS, AT(run.user),
	 .help = "Who the command is inside: user (uid 1000), or root (uid 0) for package managers",
	 .standard = "user", .words = "user root"},

	{"time", "DURATION", OPT_DURATION, GROUP_LIMITS, RUN_SHELL_EXEC, AT(run.time_ms),
	 .help = "Wall clock limit", .standard = "60s; detached 10m; shell 24h",
	 .hit = "SIGTERM, after the grace SIGKILL to all; status timeout, exit 124"},
	{"grace", "DURATION", OPT_DURATION, GROUP_LIMITS, RUN_SHELL_EXEC, AT(run.grace_ms),
	 .help = "Time between SIGTERM and SIGKILL", .standard = "2s", .hit = "SIGKILL to all"},
	{"cpu-time", "DURATION", OPT_DURATION, GROUP_LIMITS, LIMITS, AT(run.cpu_time_ms),
	 .help = "Processor time of all processes together", .standard = "none",
	 .hit = "status killed, exit 137"},
	{"cpus", "NUMBER", OPT_CPUS, GROUP_LIMITS, LIMITS, AT(run.cpus_milli),
	 .help = "How many processors may be busy at once", .standard = "1.0", .hit = "throttled"},
	{"memory", "SIZE", OPT_SIZE, GROUP_LIMITS, LIMITS, AT(run.memory_bytes),
	 .help = "Memory, tmpfs and page tables included", .standard = "512M",
	 .hit = "status oom, exit 137"},
	{"pids", "COUNT", OPT_COUNT, GROUP_LIMITS, LIMITS, AT(run.pids),
	 .help = "Processes and threads", .standard = "128", .hit = "fork fails; reported"},
	{"disk", "SIZE", OPT_SIZE, GROUP_LIMITS, LIMITS | VERB_NEW, AT(run.disk_bytes),
	 .help = "What may be written to files", .standard = "256M; a workspace 10G",
	 .hit = "ENOSPC; reported"},
	{"nofile", "COUNT", OPT_COUNT, GROUP_LIMITS, LIMITS, AT(run.nofile),
	 .help = "Open files of one process", .standard = "1024", .hit = "EMFILE"},
	{"output", "SIZE", OPT_SIZE, GROUP_LIMITS, RUN_EXEC, AT(run.output_bytes),
	 .help = "With --json: how much of each stream is in the result", .standard = "1M",
	 .hit = "head and tail are kept, truncated is set"},
	{"limits", "MODE", OPT_CHOICE, GROUP_LIMITS, LIMITS, AT(run.limits),
	 .help = "Where a limit cannot be enforced: strict refuses, best-effort runs and says so",
	 .standard = "strict for root, else best-effort", .words = "strict best-effort"},

	{"isolation", "LEVEL", OPT_TEXT, GROUP_ISOLATION, RUN_SHELL, AT(run.isolation),
	 .help = "Level of isolation: strict, or landlock where user namespaces are forbidden",
	 .standard = "strict", .words = "strict landlock"},
	{"image", "NAME", OPT_TEXT, GROUP_ISOLATION, RUN_SHELL, AT(run.image),
	 .help = "Root file system: host shows the host's /usr and nothing else of it",
	 .standard = "host", .words = "host"},
	{"allow", "HOST[:PORT]", OPT_LIST, GROUP_ISOLATION, RUN_SHELL, AT(allow),
	 .help = "Let the sandbox reach this host; may be repeated", .later = true},
	{"policy", "FILE", OPT_TEXT, GROUP_ISOLATION, RUN_SHELL, AT(run.policy),
	 .help = "Network policy", .later = true},
	{"deps", "MODE", OPT_CHOICE, GROUP_ISOLATION, RUN_SHELL, AT(run.deps),
	 .help = "How missing packages are found; only off in this version", .standard = "off",
	 .words = "auto manifest retry off"},

	{"json", NULL, OPT_FLAG, GROUP_OUTPUT,
	 RUN_EXEC | VERB_DOCTOR | VERB_VERSION | VERB_PS | VERB_LOGS | VERB_BENCH | VERB_NEW |
		 VERB_DATA | VERB_LOG | VERB_FORK | VERB_DIFF | VERB_CP | VERB_REVIEW | VERB_APPLY,
	 AT(json), .help = "Print one JSON document instead of text"},
	{"raw", NULL, OPT_FLAG, GROUP_OUTPUT, RUN_EXEC, AT(raw),
	 .help = "Pass control sequences to a terminal; otherwise they are shown escaped"},
	{"keep", "DURATION", OPT_DURATION, GROUP_OUTPUT, RUN_EXEC, AT(run.keep_ms),
	 .help = "With --json: how long output that did not fit is kept as a file",
	 .standard = "1h"},
	{"name", "NAME", OPT_TEXT, GROUP_OUTPUT, RUN_SHELL, AT(run.name),
	 .help = "Keep the changes as a workspace of this name"},
	{"share", NULL, OPT_FLAG, GROUP_PROGRAM, VERB_EXEC | VERB_SHELL, AT(share),
	 .help = "In a workspace: run beside other commands that share it; who ends last is on top"},
	{"all", NULL, OPT_FLAG, GROUP_OUTPUT, VERB_LOG, AT(all),
	 .help = "Also what was taken back in the last hour"},
	{"names", NULL, OPT_FLAG, GROUP_OUTPUT, VERB_DIFF | VERB_REVIEW, AT(names),
	 .help = "Names only, no text"},
	{"dry-run", NULL, OPT_FLAG, GROUP_OTHER, VERB_APPLY, AT(dry_run),
	 .help = "Write nothing: say what would be written, or why not"},
	{"revert", NULL, OPT_FLAG, GROUP_OTHER, VERB_APPLY, AT(revert),
	 .help = "Take the last apply back, or then the one before it"},
	{"command", "N", OPT_TEXT, GROUP_OTHER, VERB_DIFF, AT(at),
	 .help = "What this one did, by its number in the log"},
	{"at", "SNAPSHOT", OPT_TEXT, GROUP_OTHER, VERB_FORK | VERB_CP, AT(at),
	 .help = "This snapshot, by its number or label", .standard = "where the workspace stands"},

	{"detach", NULL, OPT_FLAG, GROUP_PROGRAM, VERB_RUN | VERB_EXEC, AT(detach),
	 .help = "Run in the background: print the id and return. It lives in the daemon until it "
		 "ends or --time is over"},
	{"d", NULL, OPT_FLAG, GROUP_PROGRAM, VERB_RUN | VERB_EXEC, AT(detach),
	 .help = "The same as --detach"},
	{"follow", NULL, OPT_FLAG, GROUP_OUTPUT, VERB_LOGS, AT(follow),
	 .help = "Go on until the command ends"},
	{"f", NULL, OPT_FLAG, GROUP_OUTPUT, VERB_LOGS, AT(follow), .help = "The same as --follow"},
	{"signal", "SIGNAL", OPT_TEXT, GROUP_OTHER, VERB_KILL, AT(signal_name),
	 .help = "Send this signal to every process, by name or number; KILL ends the sandbox",
	 .standard = "KILL", .words = "TERM INT HUP QUIT USR1 USR2 STOP CONT KILL"},

	{"socket", "PATH", OPT_ABSOLUTE, GROUP_OTHER, VERB_SERVE, AT(socket),
	 .help = "Where to listen",
	 .standard = "$PINFOLD_SOCKET, or $XDG_RUNTIME_DIR/pinfold.sock, "
		     "or /run/pinfold/pinfold.sock"},
	{"warm", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(warm),
	 .help = "Sandboxes that wait ready-made, at least; more where more are wanted at a time",
	 .standard = "4", .zero = true},
	{"warm-python", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(warm_python),
	 .help = "Pythons that wait, started, each in a sandbox of its own, at least; for --lang python",
	 .standard = "2, where there is a python3", .zero = true},
	{"warm-memory", "SIZE", OPT_SIZE, GROUP_OTHER, VERB_SERVE, AT(warm_memory),
	 .help = "What all that wait may hold together; they are fewer then",
	 .standard = "256M, or what --warm and --warm-python take"},
	{"warm-node", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(warm_node),
	 .help = "Nodes that wait in the same way, for --lang node",
	 .standard = "1, where there is a node", .zero = true},
	{"warm-r", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(warm_r),
	 .help = "Rs that wait in the same way, for --lang r", .standard = "0", .zero = true},
	{"preload", "MODULES", OPT_TEXT, GROUP_OTHER, VERB_SERVE, AT(preload),
	 .help = "Modules that a waiting Python has imported, with commas between them",
	 .standard =
		 "the usual ones of its library; for root, whose share them, also numpy, pandas "
		 "and matplotlib"},
	{"max", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(max),
	 .help = "Runs at once; one more waits", .standard = "64"},
	{"samples", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_BENCH, AT(samples),
	 .help = "Samples of each; a percentile with too few is left out", .standard = "100"},
	{"queue", "COUNT", OPT_COUNT, GROUP_OTHER, VERB_SERVE, AT(queue),
	 .help = "Runs that wait then, up to half a minute; one more is refused with the code busy",
	 .standard = "256", .zero = true},
	{"daemon", NULL, OPT_FLAG, GROUP_OTHER, RUN_SHELL, AT(daemon),
	 .help = "Run in the daemon, or fail; otherwise it is used where there is one"},
	{"no-daemon", NULL, OPT_FLAG, GROUP_OTHER, RUN_SHELL, AT(no_daemon),
	 .help = "Run in this process, even where there is a daemon"},
	{"help", NULL, OPT_FLAG, GROUP_OTHER, VERB_ALL, AT(help), .help = "Print this help"},
	{.name = NULL},
};
