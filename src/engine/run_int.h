/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, from options to result. For the files of engine/ only.
 *
 *	STARTING --> RUNNING --> STOPPING --> DRAINING --> ENDED
 *	                 \_____________________^
 *
 * STARTING  the guest walks its plan (only inside pinfold_run_start)
 * RUNNING   the command's program was executed
 * STOPPING  a limit or the caller ends it: SIGTERM was sent, SIGKILL follows
 * DRAINING  the guest is gone and what it had on the host is removed; output may be left in pipes
 * ENDED     the result is complete
 */
#ifndef ENGINE_RUN_INT_H
#define ENGINE_RUN_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/id.h"
#include "engine/capture.h"
#include "egress/policy.h"
#include "egress/source.h"
#include "egress/secret.h"
#include "engine/gitdir.h"
#include "engine/record.h"
#include "engine/secrets.h"
#include "kernel/cgroup.h"
#include "pinfold/pinfold.h"
#include "sandbox/hold.h"
#include "sandbox/notify.h"
#include "sandbox/spec.h"
#include "store/image.h"
#include "store/upper.h"
#include "warden/live.h"
#include "wire/gate.h"
#include "wire/link.h"
#include "wire/msg.h"

enum run_state { RUN_STARTING, RUN_RUNNING, RUN_STOPPING, RUN_DRAINING, RUN_ENDED };

/* Why a run is being ended. The first reason counts. */
enum run_stop { STOP_NONE, STOP_TIME, STOP_CPU_TIME, STOP_MEMORY, STOP_DISK, STOP_CALLER };

/* How well a limit holds, by the words of the contract. */
enum held {
	HELD_ABSENT,
	HELD_CGROUP,
	HELD_RLIMIT,
	HELD_TMPFS,
	HELD_QUOTA,
	HELD_TIMER,
	HELD_POLLED
};

struct run_held {
	enum held memory, pids, cpus, disk, time, cpu_time, nofile;
};

#define RUN_DENIALS_MAX 100u
struct run_ask {
	struct pinfold_approval *open; /* NULL: none has this number */
};

struct run_denial {
	const char *kind; /* network, syscall, path */
	char what[192];
	char hint[256];
	char host[64];
	uint16_t port;
	bool by_gate; /* it has a row of its own in the gate's table */
	uint64_t count;
};

#define RUN_FILES_MAX (HOLD_FILES_BOUND ? 1000u : 100000u)
struct run_file {
	char *path;
	size_t path_len;
	uint32_t mode;
	uint32_t change;
	uint64_t size;
	char sha256[65]; /* "" when it was not read */
};

#define RUN_NOTES_MAX 16u

/* Everything built from the options; strings live as long as the request. */
struct request {
	struct sandbox_spec spec;
	struct run_held held;
	struct cgroup_host cgroups;
	bool remote; /* the daemon holds its limits */
	bool scope;  /* a control group will be asked of systemd */
	bool best_effort;
	bool rough; /* the layer is over the host's directories and tmpfs is no good for that */
	uint64_t output_bytes;
	uint64_t keep_ms;
	uint32_t flags;
	char **words; /* of the command, without lang; one block */
	char *argv[4 + 1024];
	char **env;
	unsigned n_env;
	char *pool[32]; /* strings to free */
	unsigned n_pool;
	char *dir_real;
	struct secrets secrets; /* of that directory */
	char path[1024];	/* PATH of the image, "" for none */
	struct store *store;	/* of an image without a workspace, which is held: NULL: none */
	int image_lock;
	char policy_note[SOURCE_NOTE_SIZE]; /* a pinfold.yaml that does not count; or "" */
	struct policy *policy;		    /* what may be reached, NULL: nothing */
	struct secret_set *injected; /* names and placeholders of what its rules inject, NULL: none */
	int approvals;	   /* box for questions to a person, borrowed; 0: the data directory's */
	char tenant[64];   /* on whose behalf they are asked, "" for nobody else's */
	struct gitdir git; /* of that directory, where it is elsewhere */
};

struct pinfold_store {
	struct store *store;
};

struct pinfold_run {
	enum run_state state;
	struct request req;
	char id[ID_SIZE];
	struct live live;
	struct record record;			   /* what the ledger knows of it */
	const struct pinfold_run_options *options; /* while it starts; borrowed */

	int epoll, timer, listener, terminal, oom;
	int link;		/* to the daemon, FD_NONE: the sandbox is ours */
	unsigned warm;		/* it was waiting ready-made; 2: with an interpreter */
	uint64_t cpu_before_us; /* which had used this much of the processor */
	bool refused;		/* the daemon does not do this kind */
	bool exec;		/* in a sandbox that lives: what ends is the command alone */
	uint64_t live_ms;	/* how long that sandbox was to live */
	bool outlived;		/* and it did not live longer than the command */
	bool follows;		/* only listens to a command that is the daemon's own, */
	bool hangs_up;		/* and left before it ended */
	uint32_t followed;	/* its pid, as it was asked for */
	struct upper *upper;	/* of a workspace: what it writes to, NULL once that is settled */
	char workspace[64];	/* its name, "" for none */
	const char *upper_kind; /* what its log calls this, */
	char command[1024];	/* and what it says that it was */
	struct space room;	/* what is left of the workspace's limits, */
	struct space free;	/* and of the filesystem, when it started */
	uint64_t measure_us;	/* when the upper is looked at again */
	uint64_t looked_us;	/* monotonic: when the layer was last measured */
	uint64_t snapshot;	/* number of what came of it, 0: nothing */
	bool socket;		/* standard input is a stream socket, for a tool of ours */
	uint64_t skipped;	/* bytes that were not kept for us */
	int cancel_fd;		/* the caller's; readable: give up waiting for the daemon */
	int out[2];		/* read ends of the command's stdout and stderr */
	int input;		/* write end of its stdin */
	bool held_back;		/* pinfold_run_hold() */
	bool guest_done;	/* MSG_DONE came */

	uint64_t started_us, ended_us;
	uint64_t deadline_us, kill_us, force_us, give_up_us, poll_us; /* 0: not set */
	uint64_t drop_us; /* when output that nobody takes is dropped, after a stop */
	bool gave_up;	  /* the sandbox cannot be killed */
	enum run_stop stop;

	int wait_status;
	bool have_status;
	struct rusage rusage;
	struct cgroup_usage usage;
	uint64_t polled_memory_peak, polled_pids_peak;
	uint64_t disk_bytes;
	bool disk_full, pids_full, files_full;

	struct capture capture[2];
	char artifact[2][320];
	bool uses_gate; /* with a policy: */
	int gate_end;	/* the guest's end of a socket to the gate, until it has it */
	int reports;	/* what the gate tells */
	char *certs;	/* spec.egress.ca and .certs, where connections are inspected */
	struct gate_ca ca;
	struct gate_report *rows; /* GATE_ROWS_MAX of what it decided */
	char (*names)[256];	  /* GATE_NAMES_MAX of what addresses stand for, "" for not known */
	unsigned n_rows;
	uint64_t rows_omitted;
	bool lives;	      /* it is not waited for: nobody would hear a question */
	struct run_ask *asks; /* what a person is asked for, GATE_ASKS_MAX; NULL: nothing yet */
	char question[320];   /* the last of it, to be told */
	bool question_untold;
	struct run_denial denials[RUN_DENIALS_MAX];
	unsigned n_denials;
	uint64_t denials_omitted;
	struct run_file *files;
	unsigned n_files;
	uint64_t files_omitted;
	uint64_t hashed_bytes; /* at most the disk limit */

	const char *status;
	int exit_status;
	const char *limit_kind; /* NULL: no limit was hit */
	uint64_t limit_value;
	const char *limit_unit;
	char limit_hint[160];
	struct pinfold_error error;
	bool failed;
	char *notes[RUN_NOTES_MAX];
	unsigned n_notes;

	bool started_told, result_told;
	unsigned denials_told;
	char line[512];
	char buf[65536];
};

/* What of a workspace a request is on. */
struct request_on {
	struct sandbox_layers layers;
	const struct store_image *image; /* borrowed; NULL: the host's */
};

/* request.c: options to request; everything that can be refused is refused here. `on`: a workspace, or
 * NULL. */
int request_init(struct request *r, const struct pinfold_run_options *o,
		 const struct request_on *on, bool remote, struct err *e);
void request_done(struct request *r);
/* request_image.c: the options name an image of the store. */
bool names_image(const struct pinfold_run_options *o);
/* Its layer, and that it stays. */
int request_image(struct request *r, const struct pinfold_run_options *o, struct err *e);
/* PATH in an image, "" for what every sandbox has. */
void request_image_path(struct request *r, const struct store_image *image);
/* Where in the image a program of this name is, to be freed; NULL: nowhere, or out of memory. */
char *request_image_program(const struct request *r, const char *name);
/* lang.c: the argument vector of `lang`. */
int request_lang(struct request *r, const struct pinfold_run_options *o, struct err *e);
/* The interpreter of a language that is one of ours. */
int lang_program(const char *name, const char **ret, struct err *e);
/* limits.c: what holds each limit; refuses what cannot be held unless best-effort. */
int request_limits(struct request *r, const struct pinfold_run_options *o, struct err *e);
int request_lose_scope(struct request *r, struct err *e);
/* The daemon says what holds. */
void request_held(struct request *r, bool group, bool volume);
/* Remember a heap string for the request's life. NULL: out of memory. */
const char *request_keep(struct request *r, char *s);

/* start.c */
int run_start(struct pinfold_run *run, struct err *e);
int run_make_stdio(struct pinfold_run *run, int theirs[3], struct err *e);
void run_clean_host(struct pinfold_run *run);
/* remote.c: *ret_fd is FD_NONE where there is no daemon and none is asked for by name. */
int remote_connect(const struct pinfold_run_options *o, int *ret_fd, struct err *e);
int remote_open(int *ret_fd, struct err *e);
/* Ask for something; with a request, its block and descriptors go along. */
int remote_ask(int link, struct link_ask *msg, const struct request *req, const int stdio[3],
	       struct err *e);
/* One message, waited for: there may be a queue; no longer than until cancel_fd (0: none) is readable.
 * Nothing of it is believed beyond its own fields. */
int remote_next(int link, int cancel_fd, struct link_msg *msg, int fds[2], struct err *e);
/* The same with one descriptor and no request. */
int remote_ask_with(int link, struct link_ask *msg, int fd, struct err *e);
void remote_error(const struct link_msg *msg, struct err *e);
enum run_stop remote_stop(uint32_t stop);
int remote_start(struct pinfold_run *run, struct err *e);
/* Take one message of the warden; true: the sandbox is gone. */
bool remote_message(struct pinfold_run *run);
void remote_kill(const struct pinfold_run *run);
/* PINFOLD_PROMPT: the guest is done. */
void remote_tell(const struct pinfold_run *run);
/* follow.c: take one message of what is followed; 1: *ret is an event. */
int follow_message(struct pinfold_run *run, struct pinfold_event *ret);
/* Hang up. */
void follow_end(struct pinfold_run *run);
/* sandbox.c */
int sandbox_check_id(const char *id, struct err *e);
/* pinfold_sandbox_exec(); session: the command is an interpreter that stays, `input` its socket. */
int sandbox_exec(const char *id, const struct pinfold_run_options *o, bool session,
		 struct pinfold_run **ret, struct err *e);
/* One question, one answer; *ret_fd is what came along. */
int sandbox_ask(struct link_ask *ask, const struct request *req, struct pinfold_run *explain,
		struct link_msg *ret, int *ret_fd, struct err *e);
int sandbox_result(int r, const struct err *e, struct pinfold_error *ret_error);
/* public.c */
struct pinfold_run *run_new(void);
/* Start what the request says; its result may be that it could not be executed. */
/* The id that the options have, if they have one. */
int run_take_id(struct pinfold_run *run, const struct pinfold_run_options *o, struct err *e);
int run_begin(struct pinfold_run *run, struct err *e);
void options_take(struct pinfold_run_options *to, const struct pinfold_run_options *from);
/* workspace_run.c: the command has ended, and what it changed is the workspace from now on. */
void workspace_end(struct pinfold_run *run);
/* scratch.c: names the private directory of level landlock. Nothing at other levels. */
int scratch_name(struct pinfold_run *run, struct err *e);
/* explain.c: what a failed step means, with a remedy. `op`: 1 + what it was to do. */
int explain_failure(struct pinfold_run *run, int step, unsigned op, int error, struct err *e);
/* loop.c */
void run_stop(struct pinfold_run *run, enum run_stop why, bool at_once);
void run_arm_timer(struct pinfold_run *run);
uint64_t now_us(void);
/* egress.c: the policy of the options; ports to listen on. */
int request_policy(struct request *r, const struct pinfold_run_options *o, struct err *e);
/* Before the sandbox is made; nothing without a policy. */
int egress_begin(struct pinfold_run *run, struct err *e);
/* egress_trust.c: the certificates by which the gate believes servers, as a sealed file; what the
 * sandbox has to trust, from the gate. */
int roots_file(struct pinfold_run *run, int *ret_fd, struct err *e);
int egress_trust(struct pinfold_run *run, struct err *e);
/* egress_secret.c: placeholders for what the policy injects; their values, as a sealed file. */
int request_secrets(struct request *r, struct err *e);
int secrets_file(const struct request *r, int *ret_fd, struct err *e);
/* Take one message of the gate; false: there will be no more. */
bool egress_report(struct pinfold_run *run);
/* What the address stands for, where it is one of the gate's. */
void egress_name(struct pinfold_run *run, struct notify_event *ev);
/* The sandbox lives on without the run. */
int egress_hold(struct pinfold_run *run, struct err *e);
/* The sandbox has ended: hear the rest. */
void egress_end(struct pinfold_run *run);
/* egress_ask.c: a person is to be asked; his answer is there (false: no question has this fd). */
void egress_ask(struct pinfold_run *run, const struct gate_report *r);
bool egress_answered(struct pinfold_run *run, int fd);
void egress_ask_end(struct pinfold_run *run);
/* denial.c */
void run_deny_by_gate(struct pinfold_run *run, const char *kind, const struct notify_event *ev,
		      const char *what, uint64_t count);
void run_deny(struct pinfold_run *run, const char *kind, const struct notify_event *ev);
void run_deny_path(struct pinfold_run *run, const char *what, const char *hint);
void run_hidden_arguments(struct pinfold_run *run);
/* What of --dir is hidden. */
void run_deny_secrets(struct pinfold_run *run);
/* files.c */
void run_add_file(struct pinfold_run *run, const struct msg_guest *msg, const char *path, int fd);
void run_sort_files(struct pinfold_run *run);
/* verdict.c: status, exit status, limit and notes from what happened. */
void run_judge(struct pinfold_run *run);
void run_fail(struct pinfold_run *run, const struct err *e, int exit_status);
/* poll.c: limits of a run without control group. */
void run_poll_usage(struct pinfold_run *run);
/* Bytes that are free where a workspace's layers are. */
struct space run_disk_free(const struct pinfold_run *run);
/* artifact.c */
void run_start_artifact(struct pinfold_run *run, int stream);
void artifacts_sweep(void);

void error_public(const struct err *e, struct pinfold_error *ret);
const char *held_name(enum held h);

#endif
