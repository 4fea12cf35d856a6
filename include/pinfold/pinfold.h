/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpinfold: run untrusted code in a fresh sandbox.
 *
 *	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
 *	struct pinfold_run *run = NULL;
 *	struct pinfold_error err;
 *
 *	o.argv = (const char *const[]){"python3", "-c", "print(6*7)", NULL};
 *	if (pinfold_run_start(&o, &run, &err) < 0)
 *		die(err.message);
 *	struct pinfold_event ev;
 *	while (pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT)
 *		if (ev.kind == PINFOLD_EVENT_STDOUT)
 *			fwrite(ev.data, 1, ev.len, stdout);
 *	pinfold_run_free(run);
 *
 * A run belongs to one thread at a time; different runs are independent. Time limits are kept by
 * pinfold_run_next(), and by the sandbox itself one second later when nobody calls it.
 * Freeing a run that has not ended kills everything in its sandbox first.
 */
#ifndef PINFOLD_H
#define PINFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PINFOLD_API __attribute__((visibility("default")))

struct pinfold_run; /* one run and its sandbox */

/* What went wrong and what to do about it. docs/errors.md lists the codes. */
struct pinfold_error {
	char code[48];
	char message[640];
	char remedy[512];	 /* "" when there is none */
	uint32_t retry_after_ms; /* busy: worth trying again after that; 0: unknown */
};

#define PINFOLD_PTY 0x1u      /* give the command a terminal of its own */
#define PINFOLD_CAPTURE 0x2u  /* keep output and changed files for the result document */
#define PINFOLD_NO_STDIN 0x4u /* standard input is empty */
#define PINFOLD_DAEMON 0x8u   /* run in the daemon, or fail */
#define PINFOLD_LOCAL 0x10u   /* run in this process even when there is a daemon */
/* The run is for somebody who may not learn what is on this host: no hint tells it. */
#define PINFOLD_FOREIGN 0x40u
/* In the daemon: the result comes when the last process has ended, a moment before the sandbox is
 * gone. */
#define PINFOLD_PROMPT 0x80u
/* The caller's own policy.yaml and presets count, and so does a pinfold.yaml of `dir` that the
 * caller trusts. */
#define PINFOLD_OWN_POLICY 0x100u
/* Pin what can be pinned, so that it can be run again with the same outcome: docs/replay.md. */
#define PINFOLD_DETERMINISTIC 0x400u
/* Keep what servers answer (docs/egress.md); the result names the recording. */
#define PINFOLD_RECORD 0x800u
/* Everything that the operator's ceiling allows may be reached (docs/egress.md); an error if there
 * is no ceiling. */
#define PINFOLD_OPEN_POLICY 0x1000u
/* With deps: refuse packages of a lock that were built from source, or by their own scripts. */
#define PINFOLD_ONLY_BINARY 0x2000u
/* In the background: pinfold_process_write() reaches standard input; otherwise it is empty. */
#define PINFOLD_SPAWN_STDIN 0x20u
#define PINFOLD_LINE 0x4000u /* argv is bash, -c or -lc and a line that may need no bash */

struct pinfold_secrets_from;

/*
 * What to run and within which limits. Start from PINFOLD_RUN_OPTIONS_INIT; zero or NULL always
 * means the default (docs/limits.md). All pointers are borrowed until pinfold_run_start() returns.
 */
struct pinfold_run_options {
	size_t size; /* sizeof(struct pinfold_run_options) of the caller's header */

	const char *const *argv; /* command and arguments, or arguments of the program with `lang` */
	const char *lang;	 /* python, node, bash, r */
	const char *code;	 /* with lang: the program text; NULL: argv[0] is its file inside */
	size_t code_len;
	const char *code_name;	/* with lang: file name shown in error messages, NULL for -c */
	const char *const *env; /* "KEY=VALUE" in addition to the contract's variables */
	const char *workdir;	/* absolute path inside */
	const char *dir;	/* host directory shown copy-on-write at /work */
	const char *user;	/* user, root */
	const char *image;	/* host, or one that is in the store of the data directory */
	const char *isolation;	/* strict, landlock */
	const char *limits;	/* strict, best-effort */
	const char *term;	/* with PINFOLD_PTY: TERM inside */

	/* What it may reach: "host[:port]"…, NULL ends them; text of a policy (docs/egress.md). */
	const char *const *allow;
	const char *policy;
	/* auto, manifest, retry, off: provide the packages that its programs need (docs/deps.md). */
	const char *deps;
	const char *name; /* refused here: pinfold_workspace_exec() runs in a workspace */

	uint64_t time_ms;
	uint64_t grace_ms;
	uint64_t cpu_time_ms; /* 0: no limit */
	uint64_t cpus_milli;  /* 1000 = one processor */
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t disk_bytes;
	uint64_t nofile;
	uint64_t output_bytes;
	uint64_t keep_ms; /* how long artifacts are kept */

	uint32_t flags; /* PINFOLD_* */
	uint16_t rows;	/* with PINFOLD_PTY */
	uint16_t cols;
	int cancel_fd; /* give up when this becomes readable while the daemon lets us wait; 0: none */
	/* With dir: files that look like secrets are hidden. Patterns of names or paths, or
	 * NULL. */
	const char *const *hide; /* hide these, too */
	const char *const *show; /* do not hide these */
	/* Of a sandbox that lives: "key=value", kept with it and shown by pinfold_sandbox_get() and
	 * _list(). At most 16, keys of up to 64 bytes, values of up to 256, UTF-8; NULL ends
	 * them. */
	const char *const *metadata;
	const char *policy_name; /* what errors call the policy: its file; NULL: "policy" */
	/* Its id, "run" and 26 characters of base32, never used before; NULL: a new one. */
	const char *run_id;
	int approvals; /* the box for questions to a person; 0: that of the data directory */
	/* On whose behalf, for the ledger and for a person who is asked; NULL: the caller's
	 * own. */
	const char *tenant, *token, *client;
	/* With PINFOLD_DETERMINISTIC: what the clock shows at first, since 1970; 0: what
	 * docs/replay.md says. */
	int64_t clock_start_s;
	/* Packages to provide beside what deps finds: names as the index knows them, of the
	 * program's language (without one: python), or LANGUAGE:NAME; NULL ends them. */
	const char *const *packages;
	/* What to do at the first alert (docs/alerts.md): log, kill, pause. NULL: log. */
	const char *on_alert;
	/* Digest of a recording that answers instead of the network: nothing is connected to.
	 * NULL: none. */
	const char *replay;
	/* Limits for all that its policy allows together: bytes both ways, connections, HTTP
	 * requests. 0: no limit. */
	uint64_t egress_bytes, egress_connections, egress_requests;
	int egress_purse; /* count it there, too: pinfold_purse_open(); 0: nowhere else */
	/* Packages of the distribution, NAME or NAME=VERSION; NULL ends them. */
	const char *const *apt;
	/* For a sandbox that lives: packages from pinfold_deps_hold(); 0: none. Borrowed. */
	int packages_fd;
	/* What it is for, up to 200 bytes: shown to a person who is asked. NULL: not said. */
	const char *reason;
	/* Where the values come from that its policy injects: policy.h; NULL: the vault of the data
	 * directory. */
	const struct pinfold_secrets_from *secrets;
	/* What pinfold_deps_hold() said, for results; the id of the request, for the ledger. */
	const char *packages_json, *request;
};

#ifdef __cplusplus
#define PINFOLD_RUN_OPTIONS_INIT                                                                   \
	{                                                                                          \
		sizeof(struct pinfold_run_options)                                                 \
	}
#else
#define PINFOLD_RUN_OPTIONS_INIT                                                                   \
	{                                                                                          \
		.size = sizeof(struct pinfold_run_options)                                         \
	}
#endif

enum pinfold_event_kind {
	PINFOLD_EVENT_STARTED = 1, /* the command's program is running */
	PINFOLD_EVENT_STDOUT,	   /* data, len: bytes as they came; valid until the next call */
	PINFOLD_EVENT_STDERR,
	PINFOLD_EVENT_DENIAL, /* data, len: one line of text that says what was refused */
	PINFOLD_EVENT_RESULT, /* the run has ended and nothing of it is left; the last event */
	/* data, len: "ID WHAT": it waits until a person has answered: approval.h */
	PINFOLD_EVENT_ASK,
	PINFOLD_EVENT_ALERT, /* data, len: "RULE WHAT" */
};

struct pinfold_event {
	enum pinfold_event_kind kind;
	const void *data;
	size_t len;
};

/* What the last PINFOLD_EVENT_DENIAL was about; valid until the run is freed. Returns 0, or -1:
 * there was none. */
struct pinfold_denial {
	const char *kind; /* network, syscall, path, approval, command */
	const char *what, *hint;
	uint64_t count;
};
PINFOLD_API int pinfold_run_denial(const struct pinfold_run *run, struct pinfold_denial *ret);

/* Called for each regular file that the run added or changed, at its end, within
 * pinfold_run_next(). `fd` is borrowed, opened for reading and checked, at any offset; whoever made
 * the file chose what is in it. Set it after pinfold_run_start(), with PINFOLD_CAPTURE. */
typedef void pinfold_kept_fn(void *arg, const char *path, int fd, uint64_t size);
PINFOLD_API void pinfold_run_on_file(struct pinfold_run *run, pinfold_kept_fn *fn, void *arg);

/*
 * Check the options, make the sandbox, start the command. 0 and *ret_run, or -1 and *ret_error:
 * then nothing of the command ran and nothing is left on the host.
 */
PINFOLD_API int pinfold_run_start(const struct pinfold_run_options *options,
				  struct pinfold_run **ret_run, struct pinfold_error *ret_error);

/* Poll this descriptor for reading to learn when pinfold_run_next() has something to do. It also
 * becomes readable when a limit's time has come. Owned by the run. */
PINFOLD_API int pinfold_run_fd(const struct pinfold_run *run);

/* Wait at most timeout_ms (-1: for ever, 0: not at all) for the next event. 1: *ret_event is set;
 * 0: timed out. After PINFOLD_EVENT_RESULT every call returns 0. */
PINFOLD_API int pinfold_run_next(struct pinfold_run *run, int timeout_ms,
				 struct pinfold_event *ret_event);

/* hold != 0: read no more of the command's output until told otherwise. A command that writes on
 * blocks; its limits go on. For a reader that is slower than the sandbox. */
PINFOLD_API void pinfold_run_hold(struct pinfold_run *run, int hold);

/* Stop reading the command's stdout (1) or stderr (2): it gets SIGPIPE when it writes on, as in a
 * shell's pipeline whose reader has gone. */
PINFOLD_API void pinfold_run_close_output(struct pinfold_run *run, int stream);

/* Non-blocking descriptor to write the command's standard input to; -1 when there is none or it
 * is closed. Owned by the run: close it with pinfold_run_stdin_close(). */
PINFOLD_API int pinfold_run_stdin_fd(const struct pinfold_run *run);
PINFOLD_API void pinfold_run_stdin_close(struct pinfold_run *run);

PINFOLD_API void pinfold_run_resize(struct pinfold_run *run, unsigned rows, unsigned cols);

/* Send a signal to every process of the sandbox; the run goes on until they end. */
PINFOLD_API void pinfold_run_signal(struct pinfold_run *run, int signo);
/* End the run: SIGTERM, after the grace SIGKILL to all. force != 0: SIGKILL at once. */
PINFOLD_API void pinfold_run_stop(struct pinfold_run *run, int force);

/* Run until the result is there, dropping all other events. */
PINFOLD_API void pinfold_run_wait(struct pinfold_run *run);

/* After PINFOLD_EVENT_RESULT. Strings are owned by the run. */
PINFOLD_API const char *pinfold_run_id(const struct pinfold_run *run);
/* The sandbox that it runs in; known from the start on, as the run's own id is. */
PINFOLD_API const char *pinfold_run_sandbox(const struct pinfold_run *run);
PINFOLD_API const char *pinfold_run_status(const struct pinfold_run *run);
PINFOLD_API int pinfold_run_exit_status(const struct pinfold_run *run); /* 0..255 as the CLI's */
PINFOLD_API const struct pinfold_error *
pinfold_run_error(const struct pinfold_run *run); /* or NULL */
/* Line i (from 0) of what a person should know: a limit hit, a refusal. NULL: no more. */
PINFOLD_API const char *pinfold_run_note(const struct pinfold_run *run, unsigned i);
/* Some numbers of it, without the document. */
struct pinfold_run_summary {
	const char *limit; /* that was hit, by its kind; NULL: none */
	uint32_t denials;
	uint64_t wall_us, cpu_us;
	uint32_t alerts;
};
PINFOLD_API void pinfold_run_summary(const struct pinfold_run *run,
				     struct pinfold_run_summary *ret_summary);
/* The result document of the contract, as one line of JSON, written to fd. 0 or -1 with errno. */
PINFOLD_API int pinfold_run_write_json(const struct pinfold_run *run, int fd);

PINFOLD_API void pinfold_run_free(struct pinfold_run *run);

/* The document for a run that could not start: the same shape, status "failed". */
PINFOLD_API int pinfold_error_write_json(const struct pinfold_error *error, int fd);

/* The steps that pinfold_run_start() would take, written to fd as text or JSON; does nothing. */
PINFOLD_API int pinfold_plan_write(const struct pinfold_run_options *options, int json, int fd,
				   struct pinfold_error *ret_error);

/* What this host can enforce, level by level, and what is missing. Returns 0 when `strict` holds
 * with all limits, 1 when something is missing, -1 on a write error. */
PINFOLD_API int pinfold_doctor_write(int json, int fd);

/*
 * Sandboxes that live: made and kept by the daemon (an error where there is none), known by their
 * id, ended when their time is over. All return 0, or -1 and *ret_error.
 */
#define PINFOLD_ID_SIZE 32

/* Make one that lives for options->time_ms (0: ten minutes). A command in the options runs in the
 * background, and the sandbox ends with it; without one, it waits for pinfold_sandbox_exec(). */
PINFOLD_API int pinfold_sandbox_create(const struct pinfold_run_options *options,
				       char ret_id[PINFOLD_ID_SIZE],
				       struct pinfold_error *ret_error);
/* A command in it, with all that a run has: events, standard input, signals, a terminal, a time
 * limit. It ends with its first process; what that left in the background goes on. Of the options,
 * only the command, env, workdir, term, time, grace, output, flags and user count. user: NULL is
 * whoever the sandbox was made for; "user" is uid 1000 also where that is root. */
PINFOLD_API int pinfold_sandbox_exec(const char *id, const struct pinfold_run_options *options,
				     struct pinfold_run **ret_run, struct pinfold_error *ret_error);
/* The same in the background; its output is kept by the daemon. *ret_pid is its number inside. */
PINFOLD_API int pinfold_sandbox_spawn(const char *id, const struct pinfold_run_options *options,
				      uint32_t *ret_pid, struct pinfold_error *ret_error);
/* A run handle that has the output of a background command (pid, or 0: the sandbox's own) as
 * events; what is kept of it is as below. Stopping or freeing the handle leaves the command
 * alone. */
#define PINFOLD_FOLLOW_STAY 0x1u  /* until it ends, not only what is there */
#define PINFOLD_FOLLOW_NOW 0x2u	  /* from now on, not what was before */
#define PINFOLD_FOLLOW_INPUT 0x4u /* with its standard input, if that is open or a terminal */
#define PINFOLD_FOLLOW_KEEP 0x8u  /* with what it printed in the result document */
PINFOLD_API int pinfold_sandbox_follow(const char *id, uint32_t pid, uint32_t flags,
				       struct pinfold_run **ret_run,
				       struct pinfold_error *ret_error);
/* The same from an offset in what it printed; negative: from so many bytes before the end. */
PINFOLD_API int pinfold_sandbox_follow_from(const char *id, uint32_t pid, uint32_t flags,
					    int64_t offset, struct pinfold_run **ret_run,
					    struct pinfold_error *ret_error);
/* Does the command have a terminal? */
PINFOLD_API int pinfold_run_has_terminal(const struct pinfold_run *run);
/* Send a signal to every process in it. */
PINFOLD_API int pinfold_sandbox_signal(const char *id, int signo, struct pinfold_error *ret_error);
/* End it; nothing of it is left when this returns. What it printed is forgotten when it had
 * ended. */
PINFOLD_API int pinfold_sandbox_destroy(const char *id, struct pinfold_error *ret_error);
/* A paused one uses no processor; its time goes on. */
PINFOLD_API int pinfold_sandbox_pause(const char *id, struct pinfold_error *ret_error);
PINFOLD_API int pinfold_sandbox_resume(const char *id, struct pinfold_error *ret_error);
/* It lives for that long from now on. */
PINFOLD_API int pinfold_sandbox_extend(const char *id, uint64_t ms,
				       struct pinfold_error *ret_error);
/* The same because it was used: does nothing once pinfold_sandbox_extend() gave it a time. */
PINFOLD_API int pinfold_sandbox_touch(const char *id, uint64_t ms, struct pinfold_error *ret_error);

#define PINFOLD_METADATA_SIZE 5168

struct pinfold_sandbox_info {
	char id[PINFOLD_ID_SIZE];
	const char *status;  /* running, paused; of one that has ended: as of a run */
	uint32_t uid;	     /* whose it is */
	int detached;	     /* it lives by itself; else it belongs to a run that waits for it */
	uint32_t background; /* background commands that run in it */
	int exit_code;	     /* -1: none */
	int signal;	     /* 0: none */
	uint64_t created_ms, expires_ms, ended_ms; /* since 1970; 0: not */
	char command[160];			   /* words with blanks between; "" for none */
	uint64_t memory_limit, pids_limit, disk_limit, cpus_milli, nofile;
	/* Now; UINT64_MAX where no control group knows, in lists of more than 256, and at its
	 * end. */
	uint64_t memory_bytes, cpu_ms, processes;
	const char *isolation; /* the level that holds */
	const char *image;
	char metadata[PINFOLD_METADATA_SIZE]; /* "key=value" and NUL, each; the last is empty */
	uint32_t alerts;		      /* that system calls and connections raised */
};

/* One of them. The code is not_found where it is another's. */
PINFOLD_API int pinfold_sandbox_get(const char *id, struct pinfold_sandbox_info *ret_info,
				    struct pinfold_error *ret_error);
/* Those of the caller, for root everybody's; oldest first. */
PINFOLD_API int pinfold_sandbox_list(struct pinfold_sandbox_info **ret_list, size_t *ret_n,
				     struct pinfold_error *ret_error);
PINFOLD_API void pinfold_sandbox_list_free(struct pinfold_sandbox_info *list);

/* The daemon itself: who runs, who waits, and the sandboxes that wait ready-made. */
#define PINFOLD_POOLS 4
struct pinfold_daemon_info {
	struct {
		const char *kind; /* plain, python, node, r */
		uint32_t waiting; /* ready-made, or being made */
		uint32_t wanted;  /* as many as are to wait now */
	} pools[PINFOLD_POOLS];
	uint32_t running, running_max;
	uint32_t queued, queued_max;
	const char *pressure; /* on the host's memory: none, some, heavy */
};
PINFOLD_API int pinfold_daemon_info(struct pinfold_daemon_info *ret_info,
				    struct pinfold_error *ret_error);

/* A process in a sandbox that lives, by its number there. */
struct pinfold_process {
	uint32_t pid, parent;
	int asked_for; /* started by pinfold_sandbox_exec() or _spawn() */
	char state;    /* R, S, D, T, Z, as in proc(5) */
	uint32_t threads;
	uint64_t cpu_ms, memory_bytes;
	char command[512]; /* words with blanks between; bytes of the program's own choice */
};

PINFOLD_API int pinfold_sandbox_processes(const char *id, struct pinfold_process **ret_list,
					  size_t *ret_n, struct pinfold_error *ret_error);
PINFOLD_API void pinfold_processes_free(struct pinfold_process *list);

/*
 * Files of a sandbox that lives. A server of ours inside opens them, with the rights of a command
 * there, and passes descriptors out; no path of a sandbox is resolved on the host. Paths are
 * absolute, or below /home/user; names are any bytes. Links are followed as for any program inside,
 * but for those of /proc. A sandbox may slow, stop or end the server: an operation then fails with
 * `timeout` after ten seconds without a sign of life, or with `conflict.gone`; the next one starts
 * another server. All functions return 0, or -1 and *ret_error.
 */
struct pinfold_files; /* a channel to the files of one sandbox; for one thread at a time */

PINFOLD_API int pinfold_files_open(const char *id, struct pinfold_files **ret_files,
				   struct pinfold_error *ret_error);
/* Not 0: the server was not seen to end, and so the sandbox has not ended. Asks nobody. */
PINFOLD_API int pinfold_files_alive(const struct pinfold_files *files);
/* Writers must be committed or aborted before. */
PINFOLD_API void pinfold_files_close(struct pinfold_files *files);

struct pinfold_file_info {
	const char *type;  /* file, directory, symlink, fifo, socket, device */
	uint32_t mode;	   /* permission bits */
	uint32_t uid, gid; /* as seen inside */
	uint64_t size, links, inode;
	int64_t mtime_ns, ctime_ns; /* since 1970 */
	char target[4096];	    /* of a symlink, else "" */
};

#define PINFOLD_FILE_NOFOLLOW 0x1u
PINFOLD_API int pinfold_file_stat(struct pinfold_files *files, const char *path, uint32_t flags,
				  struct pinfold_file_info *ret_info,
				  struct pinfold_error *ret_error);
/* A regular file, to read: *ret_fd is the caller's. It may grow or shrink meanwhile, and holes cost
 * its maker nothing: do not map it, and read with a bound. ret_info may be NULL. */
PINFOLD_API int pinfold_file_open(struct pinfold_files *files, const char *path, int *ret_fd,
				  struct pinfold_file_info *ret_info,
				  struct pinfold_error *ret_error);

/* Write a file: bytes go to the writer's descriptor; commit makes them visible at once, in the
 * place of an older file (APPEND: at its end). Through a symlink, as any program would. mode 0: the
 * old one's, 0644 for a new file. Up to 16 at a time in a channel. */
#define PINFOLD_WRITE_APPEND 0x1u
#define PINFOLD_WRITE_NEW 0x2u	   /* conflict.exists where there is one */
#define PINFOLD_WRITE_PARENTS 0x4u /* make directories on the way */
struct pinfold_file_writer;
PINFOLD_API int pinfold_file_write(struct pinfold_files *files, const char *path, uint32_t flags,
				   uint32_t mode, struct pinfold_file_writer **ret_writer,
				   struct pinfold_error *ret_error);
/* Owned by the writer. Writing to it fails with ENOSPC when the sandbox's disk is full. */
PINFOLD_API int pinfold_file_writer_fd(const struct pinfold_file_writer *writer);
/* Both free the writer, whatever comes of it. */
PINFOLD_API int pinfold_file_commit(struct pinfold_file_writer *writer,
				    struct pinfold_error *ret_error);
PINFOLD_API void pinfold_file_abort(struct pinfold_file_writer *writer);

/* mode 0: 0755. parents != 0: with all above it, and no error when it is there. */
PINFOLD_API int pinfold_file_mkdir(struct pinfold_files *files, const char *path, uint32_t mode,
				   int parents, struct pinfold_error *ret_error);
/* As rename(2): a file at `to` is replaced; `to` is the new name, not a directory to move into. */
PINFOLD_API int pinfold_file_move(struct pinfold_files *files, const char *from, const char *to,
				  struct pinfold_error *ret_error);
/* A symbolic link at `path`; where it leads need not exist. */
PINFOLD_API int pinfold_file_symlink(struct pinfold_files *files, const char *target,
				     const char *path, struct pinfold_error *ret_error);
/* A link is removed itself. recursive == 0: a directory only when it is empty. */
PINFOLD_API int pinfold_file_remove(struct pinfold_files *files, const char *path, int recursive,
				    struct pinfold_error *ret_error);
PINFOLD_API int pinfold_file_chmod(struct pinfold_files *files, const char *path, uint32_t mode,
				   struct pinfold_error *ret_error);

/* Return nonzero to hear no more. What it gets is valid during the call. It may not use the
 * channel. */
typedef int pinfold_file_fn(const char *path, const struct pinfold_file_info *info, void *arg);
/* What is below a directory, in the order of names, each directory before what is in it. depth 1:
 * its entries; 0: all. changed_after_ns: only what has a later ctime; 0: all. Paths are absolute.
 * Directories that cannot be read, and paths of more than 4,095 bytes, are left out. */
PINFOLD_API int pinfold_file_list(struct pinfold_files *files, const char *path, unsigned depth,
				  int64_t changed_after_ns, pinfold_file_fn *each, void *arg,
				  struct pinfold_error *ret_error);

/* Changes of a directory's entries as they happen; recursive != 0: with all below, up to 4,096
 * directories. A channel of its own. */
struct pinfold_watch;
struct pinfold_watch_event {
	/* create, write, remove, rename, chmod; overflow: some were lost, or cannot be watched.
	 * What is made in a new directory may be told twice. */
	const char *kind;
	char path[4096]; /* absolute; of the directory itself: it was removed, and that was all */
	char from[4096]; /* rename: what it was before; else "" */
};
PINFOLD_API int pinfold_watch_open(const char *id, const char *path, int recursive,
				   struct pinfold_watch **ret_watch,
				   struct pinfold_error *ret_error);
/* Readable when pinfold_watch_next() has something. Owned by the watch. */
PINFOLD_API int pinfold_watch_fd(const struct pinfold_watch *watch);
/* Wait at most timeout_ms (-1: for ever). 1: *ret_event is set; 0: timed out; -1: it is over, the
 * sandbox or the directory is gone. */
PINFOLD_API int pinfold_watch_next(struct pinfold_watch *watch, int timeout_ms,
				   struct pinfold_watch_event *ret_event);
/* Ask for an event `sync` behind all that has happened until now. 0, or -1: it is over. */
PINFOLD_API int pinfold_watch_sync(struct pinfold_watch *watch);
PINFOLD_API void pinfold_watch_close(struct pinfold_watch *watch);

/*
 * Sessions: an interpreter that stays in a sandbox that lives and executes one piece of code after
 * the other; names, modules and threads stay. For one thread at a time, but for the interrupt. It
 * ends with the handle, or by itself: then it is over, and pinfold_session_restart() starts anew.
 */
struct pinfold_session;

struct pinfold_session_options {
	size_t size;		/* sizeof(struct pinfold_session_options) of the caller's header */
	const char *lang;	/* python, node, bash, r */
	const char *workdir;	/* absolute path inside, NULL: the default */
	const char *const *env; /* "KEY=VALUE" in addition, or NULL */
	const char *tenant;	/* whose it is, for the ledger; NULL: the user's own */
	const char *packages_json; /* of the sandbox, as pinfold_deps_hold() says, or NULL */
};
PINFOLD_API int pinfold_session_open(const char *sandbox_id,
				     const struct pinfold_session_options *options,
				     struct pinfold_session **ret, struct pinfold_error *ret_error);

/* Begin to execute: events follow until PINFOLD_SESSION_DONE. code: UTF-8 without NUL, at most 8
 * MiB. time_ms 0: 60 s; then it is interrupted, and the session killed if that does not end it in
 * two seconds. An error when code is being executed (busy) or it is over (conflict). */
#define PINFOLD_EXECUTE_NO_INPUT 0x1u /* who asks for input gets an error that says so */
PINFOLD_API int pinfold_session_execute(struct pinfold_session *s, const char *code, size_t len,
					uint64_t time_ms, uint32_t flags,
					struct pinfold_error *ret_error);

enum pinfold_session_event_kind {
	PINFOLD_SESSION_STDOUT = 1, /* bytes as they came; of background threads at any time */
	PINFOLD_SESSION_STDERR,
	/* JSON object, MIME type -> text, base64 for images but image/svg+xml and for
	 * application/pdf, any value for application/json and application/...+json. is_main: the
	 * value of the last expression; else what display() was given, or a figure. */
	PINFOLD_SESSION_RESULT,
	PINFOLD_SESSION_ERROR, /* JSON object: name, value, traceback; all text */
	PINFOLD_SESSION_INPUT, /* a line is asked for: the prompt; pinfold_session_input() answers */
	/* JSON object: status (ok, error, interrupted, timeout, died), execution_count, wall_ms,
	 * exit_code (bash: of the code; died: of the interpreter; else null), signal (that ended
	 * the interpreter, or null), reason (died, and killed after a timeout: exited, signaled,
	 * oom, killed, timeout, failed, protocol, results; else null), alive (it goes on). */
	PINFOLD_SESSION_DONE,
	PINFOLD_SESSION_ALERT, /* as PINFOLD_EVENT_ALERT, for each piece of code anew */
};

struct pinfold_session_event {
	enum pinfold_session_event_kind kind;
	const void *data; /* valid until the next call */
	size_t len;
	int is_main;
};

/* To poll for reading: whether pinfold_session_next() has something to do, once it returned 0. */
PINFOLD_API int pinfold_session_fd(const struct pinfold_session *s);
/* Wait at most timeout_ms (-1: for ever, 0: not at all). 1: *ret_event is set; 0: timed out, or the
 * session is over. Limits are kept by this function. */
PINFOLD_API int pinfold_session_next(struct pinfold_session *s, int timeout_ms,
				     struct pinfold_session_event *ret_event);
/* One line, without its end; text NULL: there is none. Conflict when none was asked for. */
PINFOLD_API int pinfold_session_input(struct pinfold_session *s, const char *text, size_t len,
				      struct pinfold_error *ret_error);
/* As Ctrl-C on a terminal: to the interpreter and what it started. Nothing while nothing is
 * executed. From any thread; what comes of it is told by pinfold_session_next(). */
PINFOLD_API void pinfold_session_interrupt(struct pinfold_session *s);
/* A new interpreter; nothing of the old one is left. The count begins again. */
PINFOLD_API int pinfold_session_restart(struct pinfold_session *s, struct pinfold_error *ret_error);
PINFOLD_API const char *pinfold_session_lang(const struct pinfold_session *s);
/* 0: over, and PINFOLD_SESSION_DONE was told if code was being executed. */
PINFOLD_API int pinfold_session_alive(const struct pinfold_session *s);
/* Of its sandbox, as a command's result has them: a JSON list, malloced; NULL: none are known. */
PINFOLD_API char *pinfold_session_packages(struct pinfold_session *s);
PINFOLD_API void pinfold_session_close(struct pinfold_session *s);

/* A stream to a port of the sandbox's loopback, connected inside with a command's rights. It does
 * not block and may still be connecting. Code conflict.port_closed: nothing listens there. */
PINFOLD_API int pinfold_port_connect(struct pinfold_files *files, unsigned port, int *ret_fd,
				     struct pinfold_error *ret_error);

/*
 * Background commands of a sandbox: that of pinfold_sandbox_create() and those of _spawn(), by
 * their number inside (0: the sandbox's own, or its first). Up to 64 run at a time; the last 64
 * that ended are remembered while the sandbox lives. Of what one printed, both streams in the order
 * in which they came, the first 64 KiB and the last 8 MiB are kept; less where all commands of the
 * daemon together printed more than 128 MiB. When a sandbox that was made for a command has ended,
 * all of it can be read for an hour.
 */
struct pinfold_process_state {
	uint32_t pid;
	int running;
	int exit_code;	    /* -1: none */
	int signal;	    /* 0: none */
	const char *status; /* running; else as of a run: exited, signaled, timeout, oom, killed */
	uint64_t started_ms, ended_ms; /* since 1970; 0: not */
	uint64_t output_bytes;	       /* printed so far */
	uint64_t output_from; /* from here on all of it is kept; before, only the first 64 KiB */
	char command[160];    /* words with blanks between */
	int has_stdin;	      /* pinfold_process_write() can be used */
	int has_pty;
};

/* In the order in which they were started. */
PINFOLD_API int pinfold_process_list(const char *id, struct pinfold_process_state **ret_list,
				     size_t *ret_n, struct pinfold_error *ret_error);
PINFOLD_API void pinfold_process_list_free(struct pinfold_process_state *list);

struct pinfold_process_run {
	int stream; /* 1, 2 */
	size_t len;
};

struct pinfold_process_output {
	uint64_t offset; /* of the first byte of data */
	size_t len;	 /* may be 0 */
	char *data;
	struct pinfold_process_run *runs; /* which bytes are of which stream; they add up to len */
	size_t n_runs;
	struct pinfold_process_state state; /* when there is no more of it: !running and
					     * offset + len == output_bytes */
};

/* What it printed, from `offset` on, counted from its first byte (negative: so many before the end;
 * beyond the end is the end), up to 1 MiB. Where older bytes were dropped the data begin later than
 * asked for. Waits at most wait_ms for something when there is nothing and it runs, or until
 * cancel_fd (0: none) is readable; then len is 0. */
PINFOLD_API int pinfold_process_read(const char *id, uint32_t pid, int64_t offset, uint32_t wait_ms,
				     int cancel_fd, struct pinfold_process_output *ret_output,
				     struct pinfold_error *ret_error);
PINFOLD_API void pinfold_process_output_free(struct pinfold_process_output *output);

/* To its standard input, or as if typed on its terminal. Waits at most 5 s where it does not read:
 * then the code is timeout, and *ret_written says how much it got. close_stdin: there is no more
 * after that (a terminal gets its end-of-file character). */
PINFOLD_API int pinfold_process_write(const char *id, uint32_t pid, const void *data, size_t len,
				      int close_stdin, size_t *ret_written,
				      struct pinfold_error *ret_error);
/* To its process group; where it is no background command, to it alone. */
PINFOLD_API int pinfold_process_signal(const char *id, uint32_t pid, int signo,
				       struct pinfold_error *ret_error);
/* Where it has a terminal. */
PINFOLD_API int pinfold_process_resize(const char *id, uint32_t pid, unsigned rows, unsigned cols,
				       struct pinfold_error *ret_error);

/*
 * Workspaces: files that last. Compute is fresh for each command; what it changed is a layer of its
 * own, which can be looked at, taken back or branched from, whatever the size of the workspace.
 * They are in the store of a data directory, which a handle holds open. A handle belongs to one
 * thread at a time. All functions return 0, or -1 and *ret_error.
 */
struct pinfold_store;

/* home: NULL for the contract's. It is made where it does not exist. */
PINFOLD_API int pinfold_store_open(const char *home, struct pinfold_store **ret_store,
				   struct pinfold_error *ret_error);
/* Runs that were started with it must be freed before. */
PINFOLD_API void pinfold_store_close(struct pinfold_store *store);
/* What can wait: give back the space of what was removed or undone an hour ago, merge layers, and
 * see to it that everything survives a power cut. To be called now and then; commands that end do
 * not wait for it. */
PINFOLD_API int pinfold_store_settle(struct pinfold_store *store, struct pinfold_error *ret_error);
/* Is there anything for it to do, because of what was done through this handle? */
PINFOLD_API int pinfold_store_unsettled(const struct pinfold_store *store);

struct pinfold_workspace_options {
	size_t size;
	const char *dir;     /* host directory shown copy-on-write at /work, NULL: none */
	uint64_t disk_bytes; /* all that its layers may hold; 0: the default */
	uint64_t inodes;     /* 0: the default */
	const char *image; /* root file system that it begins with, NULL or host: the host's /usr */
	const char *const *hide, *const *show; /* as of a run, remembered; end with NULL */
};

#define PINFOLD_NAME_SIZE 64

struct pinfold_workspace_info {
	char name[PINFOLD_NAME_SIZE];
	uint64_t created_ms;
	uint64_t head;	      /* number of the snapshot where it stands */
	uint32_t layers;      /* that are mounted for a command */
	int busy, disk_quota; /* a command is running in it; the kernel holds its limits */
	uint64_t disk_limit_bytes, inode_limit;
	uint64_t own_bytes;    /* what removing it would give back */
	uint64_t shared_bytes; /* what other workspaces have, too */
	char dir[4096];	       /* "" for none */
	char image[128];       /* "host", or the name of its image */
};

PINFOLD_API int pinfold_workspace_new(struct pinfold_store *store, const char *name,
				      const struct pinfold_workspace_options *options,
				      struct pinfold_error *ret_error);
PINFOLD_API int pinfold_workspace_get(struct pinfold_store *store, const char *name,
				      struct pinfold_workspace_info *ret_info,
				      struct pinfold_error *ret_error);
PINFOLD_API int pinfold_workspace_list(struct pinfold_store *store,
				       struct pinfold_workspace_info **ret_list, size_t *ret_n,
				       struct pinfold_error *ret_error);
PINFOLD_API void pinfold_workspace_list_free(struct pinfold_workspace_info *list);
/* Remove it and its history, and give its space back. */
PINFOLD_API int pinfold_workspace_remove(struct pinfold_store *store, const char *name,
					 struct pinfold_error *ret_error);

/* A command in it, as a run of its own. What it changed is there when PINFOLD_EVENT_RESULT comes;
 * freeing the run before that takes it back. The store must stay open until the run is freed. */
#define PINFOLD_WORKSPACE_SHARE 0x1u /* beside others; who ends last is on top */
#define PINFOLD_WORKSPACE_SHELL 0x2u /* in its log as "shell" */
PINFOLD_API int pinfold_workspace_exec(struct pinfold_store *store, const char *name,
				       const struct pinfold_run_options *options, uint32_t flags,
				       struct pinfold_run **ret_run,
				       struct pinfold_error *ret_error);

/* One point in the history of a workspace. */
struct pinfold_snapshot {
	uint64_t number;  /* in its workspace */
	char kind[16];	  /* new, fork, exec, shell, cp, push, import, snap, rollback */
	char label[64];	  /* "" for none */
	int current;	  /* the workspace stands here */
	int undone;	  /* it was taken back, and is kept for an hour */
	uint64_t made_ms; /* since 1970 */
	char run[PINFOLD_ID_SIZE];
	char command[1024]; /* words with blanks between; of fork and rollback: from where */
	char status[16];    /* as of a run, "" for others */
	int exit_status;
	uint64_t wall_us, files, bytes;
	int while_running; /* snap: a command was running, and stood still for stopped_us */
	uint64_t stopped_us;
};

/* A point to come back to; it is on disk when this returns. label may be NULL. While a command is
 * running it stands still until what it has changed so far is copied; the snapshot is beside the
 * history then. */
PINFOLD_API int pinfold_workspace_snap(struct pinfold_store *store, const char *name,
				       const char *label, struct pinfold_snapshot *ret_snapshot,
				       struct pinfold_error *ret_error);
/* Take back the last `count` commands, or rollbacks; *ret_snapshot is where it stands then. */
PINFOLD_API int pinfold_workspace_undo(struct pinfold_store *store, const char *name,
				       uint64_t count, struct pinfold_snapshot *ret_snapshot,
				       struct pinfold_error *ret_error);
/* Go to a snapshot, by its number or label; can be undone. */
PINFOLD_API int pinfold_workspace_rollback(struct pinfold_store *store, const char *name,
					   const char *snapshot,
					   struct pinfold_snapshot *ret_snapshot,
					   struct pinfold_error *ret_error);
/* A new workspace with the files of a snapshot (NULL: as it stands) of another. */
PINFOLD_API int pinfold_workspace_fork(struct pinfold_store *store, const char *name,
				       const char *snapshot, const char *new_name,
				       struct pinfold_error *ret_error);
/* From the newest to the oldest. */
#define PINFOLD_LOG_UNDONE 0x1u /* also what was taken back; what has a label is always there */
PINFOLD_API int pinfold_workspace_log(struct pinfold_store *store, const char *name, uint32_t flags,
				      struct pinfold_snapshot **ret_list, size_t *ret_n,
				      struct pinfold_error *ret_error);
PINFOLD_API void pinfold_workspace_log_free(struct pinfold_snapshot *list);

/* A file or tree out of a workspace, as it is in a snapshot (NULL: where it stands), or into it, as
 * a command that can be undone. Paths inside are absolute, or below /home/user. `to` is a directory
 * that exists, or the new name. Links are copied as links; who owns the copy is who makes it. */
PINFOLD_API int pinfold_workspace_copy_out(struct pinfold_store *store, const char *name,
					   const char *snapshot, const char *from, const char *to,
					   struct pinfold_error *ret_error);
PINFOLD_API int pinfold_workspace_copy_in(struct pinfold_store *store, const char *name,
					  const char *from, const char *to,
					  struct pinfold_error *ret_error);

/* Delta synchronisation with a directory of the host: only what the other side lacks travels. */
#define PINFOLD_SYNC_MIRROR 0x1u /* remove what the sender does not have */
#define PINFOLD_SYNC_NO_GIT 0x2u /* leave .git out */
#define PINFOLD_SYNC_ALL 0x4u	 /* also what .gitignore and .pinfoldignore name */
#define PINFOLD_SYNC_FORCE 0x8u	 /* pull: also over what changed in the directory since the last */

struct pinfold_sync_options {
	size_t size;
	const char *to; /* path inside; NULL: /home/user */
	uint32_t flags;
	/* Called now and then; bytes are of what the other side lacks. */
	void (*progress)(void *context, uint64_t files, uint64_t bytes_done, uint64_t bytes_total);
	void *context;
};

struct pinfold_sync_stats {
	uint64_t files, bytes; /* of the tree */
	uint64_t files_changed, files_removed;
	uint64_t chunks_sent;
	uint64_t wire_bytes; /* both ways */
	uint64_t skipped;    /* FIFOs, sockets, devices; of a pull also links out of the tree */
	uint64_t snapshot;   /* push: the number of what it made */
};

/* The directory's files into the workspace, as one command, whole or not at all; on disk when this
 * returns. Files that the workspace made itself stay. */
PINFOLD_API int pinfold_workspace_push(struct pinfold_store *store, const char *name,
				       const char *dir, const struct pinfold_sync_options *options,
				       struct pinfold_sync_stats *ret_stats,
				       struct pinfold_error *ret_error);
/* The workspace's files, as it stands, into the directory, as the caller; never through a link. */
PINFOLD_API int pinfold_workspace_pull(struct pinfold_store *store, const char *name,
				       const char *dir, const struct pinfold_sync_options *options,
				       struct pinfold_sync_stats *ret_stats,
				       struct pinfold_error *ret_error);

/* One path that differs between two snapshots. Valid during the call. */
struct pinfold_change {
	const char *change; /* added, modified, deleted */
	const char *type_old,
		*type_new; /* file, directory, symlink, fifo, socket, device; or NULL */
	const char *path;  /* absolute, any bytes; ends with a NUL */
	size_t path_len;
	uint32_t mode_old, mode_new;
	uint64_t size_old, size_new;
	char sha256_old[65], sha256_new[65]; /* of files, else "" */
	int binary;
	const char *patch_head; /* as git writes it; "" for what git does not know */
	const char *patch;	/* unified hunks, or NULL */
	size_t patch_len;
};

/* Return nonzero to hear no more. */
typedef int pinfold_change_fn(const struct pinfold_change *change, void *arg);

/* What differs between two snapshots, in the order of their paths. to NULL: where it stands; from
 * NULL: what was before `to`, so that it is what that command did. */
#define PINFOLD_DIFF_TEXT                                                                          \
	0x1u /* with patches; what became another type comes twice: it went, and came */
PINFOLD_API int pinfold_workspace_diff(struct pinfold_store *store, const char *name,
				       const char *from, const char *to, uint32_t flags,
				       pinfold_change_fn *each, void *arg, uint64_t *ret_omitted,
				       struct pinfold_error *ret_error);

/* One change of a workspace against the directory that it shows at /work. Valid during the call. */
struct pinfold_review {
	struct pinfold_change change; /* its path is relative to the directory */
	const char *runs_on_host;     /* why the host may run it without being told to, or NULL */
	const char *conflict;	      /* why it cannot be written, or NULL */
	const char *skipped;	      /* why it is left out, or NULL */
	const char *merges;	      /* both changed it, and apply can merge them; or NULL */
};

/* Return nonzero to hear no more. */
typedef int pinfold_review_fn(const struct pinfold_review *item, void *arg);

/* What a workspace changed of its directory, against what that is now. Something that became
 * another type comes twice: it went, and came. With PINFOLD_DIFF_TEXT the patches together are one
 * that git apply takes in the directory, but for binary files. */
PINFOLD_API int pinfold_workspace_review(struct pinfold_store *store, const char *name,
					 uint32_t flags, pinfold_review_fn *each, void *arg,
					 uint64_t *ret_omitted, struct pinfold_error *ret_error);

/*
 * Write changes to the directory: all, or those at or below `paths` (relative to it; NULL: all).
 * All or none: where the directory has changed since the workspace saw it, texts are merged by
 * lines; where that cannot be done, the code is conflict, `each` hears of every conflict, and
 * nothing is written. A process that is killed in the middle has written nothing either, once the
 * next of these functions has looked at the directory. Otherwise `each` hears what was written. A
 * link that leads out of the directory is a conflict unless `paths` names it.
 */
#define PINFOLD_APPLY_DRY_RUN 0x1u /* only say what would be written */
PINFOLD_API int pinfold_workspace_apply(struct pinfold_store *store, const char *name,
					const char *const *paths, uint32_t flags,
					pinfold_review_fn *each, void *arg,
					struct pinfold_error *ret_error);
/* Take the last apply back, or then the one before. Files that changed since are conflicts. */
PINFOLD_API int pinfold_workspace_revert(struct pinfold_store *store, const char *name,
					 uint32_t flags, pinfold_review_fn *each, void *arg,
					 struct pinfold_error *ret_error);

/*
 * Check the store of a data directory (NULL: the contract's): its database, every layer against
 * the content that was written down of it, every snapshot. Nobody else may have it open (busy).
 * each() is called for every problem; what it gets is valid during the call. 0: it was checked,
 * whatever was found.
 */
struct pinfold_fsck_problem {
	const char *kind; /* database, orphan, missing, unreadable, changed, row, snapshot, head */
	uint64_t layer;	  /* 0: it is about none */
	const char *message;
	const char *used_by; /* "NAME NUMBER NUMBER, NAME NUMBER": snapshots that need it; or "" */
	int repaired;
};
typedef void pinfold_fsck_fn(const struct pinfold_fsck_problem *problem, void *arg);

struct pinfold_fsck_stats {
	uint64_t workspaces, snapshots, layers;
	uint64_t recorded; /* layers whose content was written down for the first time */
	uint64_t problems, repaired;
};

#define PINFOLD_FSCK_REPAIR 0x1u
#define PINFOLD_FSCK_ACCEPT 0x2u /* layers that were changed are as they should be */
PINFOLD_API int pinfold_store_fsck(const char *home, uint32_t flags, pinfold_fsck_fn *each,
				   void *arg, struct pinfold_fsck_stats *ret_stats,
				   struct pinfold_error *ret_error);

/*
 * Be the daemon that runs of this user (as root: of everybody in group pinfold) go to when they
 * find its socket. Returns 0 after SIGTERM or SIGINT, or -1 and *ret_error. Uses fork() and changes
 * signal masks: for a process that does nothing else.
 */
struct pinfold_serve_options {
	size_t size;
	const char *socket; /* absolute path, NULL: the contract's */
	uint32_t warm; /* sandboxes that wait ready-made, at least; 0: the default, UINT32_MAX: none */
	uint32_t max;	      /* runs at once; 0: the default */
	uint32_t python;      /* Pythons that wait, each in a sandbox of its own; as `warm` */
	const char *preload;  /* modules that they have imported, with commas; NULL: the default */
	uint64_t warm_memory; /* bytes that all that wait may hold; 0: the default */
	uint32_t queue;	      /* requests that wait when `max` run; as `warm` */
	uint32_t node;	      /* nodes that wait, as `python` */
	uint32_t r;	      /* Rs that wait, as `python`; the default is none */
	/* Called on SIGHUP, which has what waits made again; it may not block. NULL: nothing. */
	void (*renewed)(void *arg);
	void *renewed_arg;
};

PINFOLD_API int pinfold_serve(const struct pinfold_serve_options *options,
			      struct pinfold_error *ret_error);

/* Start what runs with a network policy go out by, and keep it until this process ends: for one
 * that gives up the right to start processes. Else it is started when the first run needs it. */
PINFOLD_API int pinfold_gate_keep(struct pinfold_error *ret_error);

/* Where things are for this caller, as the contract says: the data directory, the daemon's
 * socket. */
PINFOLD_API int pinfold_home(char *ret, size_t size, struct pinfold_error *ret_error);
PINFOLD_API int pinfold_socket(char *ret, size_t size, struct pinfold_error *ret_error);
/* Who serves HTTP for root's daemon: an id of nobody else, that may connect to its socket. */
#define PINFOLD_API_ID 0x6ffffffeu

PINFOLD_API const char *pinfold_version(void);

#ifdef __cplusplus
}
#endif

#include "archive.h"
#endif
