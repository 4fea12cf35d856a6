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
#include "deps/missing.h"
#include "engine/alert.h"
#include "engine/capture.h"
#include "engine/deps_run.h"
#include "egress/policy.h"
#include "egress/source.h"
#include "egress/secret.h"
#include "engine/gitdir.h"
#include "engine/reuse.h"
#include "engine/record.h"
#include "engine/replay.h"
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
enum run_stop {
	STOP_NONE,
	STOP_TIME,
	STOP_CPU_TIME,
	STOP_MEMORY,
	STOP_DISK,
	STOP_CALLER,
	STOP_ALERT
};

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
	uint32_t serial;	       /* which question it is */
};

/* Of a row of the gate's table, as it was. */
struct run_shared {
	uint64_t count, bytes_in, bytes_out, ms;
};

/* Of what was looked into, one request. */
struct run_request {
	unsigned row; /* of the gate's table */
	unsigned status;
	uint64_t ms;
	char what[GATE_NOTED_SIZE]; /* method and path */
};

struct run_denial {
	const char *kind; /* network, syscall, path, approval, command */
	char what[GATE_WHAT_SIZE];
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

#define RUN_NOTES_MAX 24u

/* Everything built from the options; strings live as long as the request. */
#define REQUEST_ARGS 64u
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
	char **words;		      /* of the command, without lang; one block */
	char *argv[5 + REQUEST_ARGS]; /* of --lang, unless there are more */
	char **env;
	unsigned n_env;
	char *pool[32]; /* strings to free */
	unsigned n_pool;
	char *dir_real;
	struct secrets secrets;					/* of that directory */
	char path[1024];					/* PATH of the image, "" for none */
	char image_name[IMAGE_NAME_MAX + 1], image_digest[128]; /* "" for the host's */
	struct store *store; /* of an image without a workspace, which is held: NULL: none */
	int image_lock;
	char policy_note[SOURCE_NOTE_SIZE]; /* a pinfold.yaml that does not count; or "" */
	struct policy *policy;		    /* what may be reached, NULL: nothing */
	struct secret_set *injected; /* names and placeholders of what its rules inject, NULL: none */
	const struct pinfold_secrets_from *secrets_from;	    /* borrowed; NULL: the vault */
	uint64_t egress_bytes, egress_connections, egress_requests; /* 0: no limit */
	int egress_purse;					    /* borrowed; 0: none */
	bool records;
	const char *replays; /* digest of a recording; kept with the request; NULL: none */
	int approvals;	     /* box for questions to a person, borrowed; 0: the data directory's */
	char tenant[64];     /* on whose behalf they are asked, "" for nobody else's */
	char reason[201];    /* what it is for, by its own word; "" */
	enum alert_action on_alert;
	struct gitdir git;    /* of that directory, where it is elsewhere */
	struct run_deps deps; /* packages, held */
	int layers_fd;	      /* with spec.deps.passed: those of somebody else; borrowed */
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

	struct replay *replay; /* what is kept so that it can be run again; NULL: nothing */

	int epoll, timer, listener, terminal, oom;
	int link; /* to the daemon, FD_NONE: the sandbox is ours */
	int parting; /* the control socket of a guest that waits until we hang up: the last thing to do */
	int parting_link;		 /* and with it the link */
	char link_path[REUSE_PATH_SIZE]; /* where that leads */
	bool keep;		/* the daemon knows that the next run may come on it (reuse.h) */
	bool kept;		/* so did we */
	bool anew;		/* we may not: it was closed */
	bool settled;		/* the daemon has no more to say that anybody asks for */
	unsigned warm;		/* it was waiting ready-made; 2: with an interpreter */
	uint64_t cpu_before_us; /* which had used this much of the processor */
	bool refused;		/* the daemon does not do this kind */
	bool exec;		/* in a sandbox that lives: what ends is the command alone */
	bool awaited;		/* in the daemon: the guest itself says when it starts */
	struct link_layers layered_on; /* of that sandbox, as the daemon says */
	unsigned seen;		       /* how often the guest said what of them is used */
	enum alert_action box_alert;   /* what an alert does to that sandbox */
	uint64_t live_ms;	       /* how long that sandbox was to live */
	bool outlived;		       /* and it did not live longer than the command */
	bool follows;		       /* only listens to a command that is the daemon's own, */
	bool hangs_up;		       /* and left before it ended */
	uint32_t followed;	       /* its pid, as it was asked for */
	struct upper *upper;	/* of a workspace: what it writes to, NULL once that is settled */
	char workspace[64];	/* its name, "" for none */
	bool drops;		/* what it changes never was */
	const char *upper_kind; /* what its log calls this, */
	char command[1024];	/* and what it says that it was */
	struct space room;	/* what is left of the workspace's limits, */
	struct space free;	/* and of the filesystem, when it started */
	uint64_t measure_us;	/* when the upper is looked at again, */
	uint64_t written_us;	/* and files that are written to alone */
	uint64_t polled_us;	/* monotonic: when all limits were last looked at */
	bool disk_near;		/* the room on disk may soon be taken */
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
	uint64_t settle_us; /* when record_run_lives() is due */
	uint64_t drop_us;   /* when output that nobody takes is dropped, after a stop */
	bool gave_up;	    /* the sandbox cannot be killed */
	enum run_stop stop;

	int wait_status;
	bool have_status;
	struct rusage rusage;
	struct cgroup_usage usage;
	uint64_t polled_memory_peak, polled_pids_peak;
	uint64_t disk_bytes;
	bool disk_full, tmp_full, pids_full, files_full;
	bool room_full;	  /* of a workspace: its own disk limit, not the disk of the host */
	bool room_of_all; /* what its workspace may take is bounded by what all may */

	struct capture capture[2];
	char artifact[2][320];
	bool uses_gate; /* with a policy: */
	struct {
		bool due;
		struct gate_open msg;
		int fds[GATE_OPEN_FDS_MAX];
	} opening;	 /* what the gate is still to be told */
	int gate_end;	 /* the guest's end of a socket to the gate, until it has it */
	int reports;	 /* what the gate tells */
	int recorded_fd; /* what is being recorded, FD_NONE: nothing */
	struct {
		char sha256[65]; /* "": nothing was, or it could not be kept */
		uint64_t exchanges, bytes;
		bool is_whole;
	} recorded;
	int policy_fd;		  /* what it holds connections against, packed */
	int changes, changes_box; /* where that can be changed: egress_live.c */
	char *certs;		  /* spec.egress.ca and .certs, where connections are inspected */
	void *java_certs;	  /* spec.egress.java */
	struct gate_ca ca;
	struct gate_report *rows; /* GATE_ROWS_MAX of what it decided */
	char (*names)[256];	  /* GATE_NAMES_MAX of what addresses stand for, "" for not known */
	unsigned n_rows;
	uint64_t rows_omitted;
	struct run_request *requests; /* GATE_REQUESTS_MAX; of one that lives the last ones */
	unsigned n_requests;
	uint64_t requests_dropped; /* that were before those */
	uint64_t requests_lost;	   /* that the gate did not tell */
	struct guard *guard; /* what its policy's commands are asked about; NULL: it has none */
	int guard_fd;	     /* where the warden asks, FD_NONE: the sandbox is ours */
	int guard_end;	     /* his end, until he has it */
	struct moves *moves; /* renames of directories that are being helped with; or NULL */
	struct run_shared *shared; /* a command in one that lives: the sandbox's rows, before it */
	uint64_t shared_requests;  /* how many there were */
	bool lives;		   /* it is not waited for: nobody would hear a question */
	struct run_ask *asks; /* what a person is asked for, GATE_ASKS_MAX; NULL: nothing yet */
	char question[GATE_WHAT_SIZE + 64]; /* the last of it, to be told */
	bool question_untold;
	unsigned n_denials;
	uint64_t denials_omitted;
	struct run_alerts alerts;
	struct run_file *files;
	pinfold_kept_fn *file_fn; /* who wants to see each; or NULL */
	void *file_arg;
	unsigned n_files;
	uint64_t files_omitted;
	uint64_t hashed_bytes; /* at most the disk limit */

	const char *status;
	int exit_status;
	const char *limit_kind; /* NULL: no limit was hit */
	uint64_t limit_value;
	const char *limit_unit;
	char limit_hint[200];
	struct pinfold_error error;
	bool failed;
	char tail[1024]; /* of what it wrote to standard error */
	size_t tail_len;
	struct deps_missing missing; /* what it ended for; module "": nothing that we know of */
	char missing_asked[DEPS_NAME_SIZE +
			   16]; /* LANGUAGE:PACKAGE, "": not to be installed unasked */
	struct value *retried;	/* what the run before this one ended for; NULL: there was none */
	char *notes[RUN_NOTES_MAX];
	unsigned n_notes;

	bool started_told, result_told;
	unsigned denials_told;
	char line[512];
	/* From here on it is not zero at first: most of that is never used (run_new). */
	struct run_denial denials[RUN_DENIALS_MAX];
	char buf[65536];
};

/* What of a workspace a request is on. */
struct request_on {
	struct sandbox_layers layers;
	const struct store_image *image; /* borrowed; NULL: the host's */
};

/* request.c: options to request; everything that can be refused is refused here. `on`: a workspace,
 * or NULL. */
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
/* pin.c: what a deterministic run is pinned to, and its variables: NULL ends them. */
#define PIN_VARIABLES 12
int request_pin(struct request *r, const struct pinfold_run_options *o, struct err *e);
int pin_environment(const struct request *r, char *ret[PIN_VARIABLES], struct err *e);
/* Refuses it where commands join a sandbox that was made without. */
int pin_refuse(const struct pinfold_run_options *o, const char *what, struct err *e);
/* lang.c: the argument vector of `lang`. */
int request_lang(struct request *r, const struct pinfold_run_options *o, struct err *e);
/* The interpreter of a language that is one of ours. */
int lang_program(const char *name, const char **ret, struct err *e);
/* limits.c: what holds each limit; refuses what cannot be held unless best-effort. */
int request_limits(struct request *r, const struct pinfold_run_options *o, struct err *e);
int request_lose_scope(struct request *r, struct err *e);
/* The daemon says what holds. */
void request_held(struct request *r, bool group, bool volume);
/* Its limits and what holds them, as a member of an object. */
struct json;
void request_write_limits(const struct request *r, struct json *j);
/* Remember a heap string for the request's life. NULL: out of memory. */
const char *request_keep(struct request *r, char *s);

/* start.c */
int run_start(struct pinfold_run *run, struct err *e);
int run_make_stdio(struct pinfold_run *run, int theirs[3], struct err *e);
void run_clean_host(struct pinfold_run *run);
/* Ended by itself, well, and nobody asked for a document: nobody wants to know what it used. */
bool run_is_quiet(const struct pinfold_run *run);
/* remote.c: *ret_fd is FD_NONE where there is no daemon and none is asked for by name. */
int remote_connect(const struct pinfold_run_options *o, struct pinfold_run *run, struct err *e);
int remote_open(int *ret_fd, struct err *e);
int remote_open_exec(struct pinfold_run *run, struct err *e);
/* Ask for something; with a request, its block and descriptors go along. */
int remote_ask(int link, struct link_ask *msg, const struct request *req, const int stdio[3],
	       struct err *e);
/* One message, waited for: there may be a queue; no longer than until cancel_fd (0: none) is
 * readable. Nothing of it is believed beyond its own fields. */
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
void remote_tell(struct pinfold_run *run);
/* All is over: the link is kept, if it may be. */
void remote_leave(struct pinfold_run *run);
/* A command in a sandbox that lives has ended, and not without a complaint: the answer says whether
 * somebody was killed for want of memory, or could not be started. False: all went well, which is
 * not worth a question, or nobody can be asked. */
bool remote_ask_hit(const struct pinfold_run *run);
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
/* pinfold_run_start() */
int run_launch(const struct pinfold_run_options *options, struct pinfold_run **ret_run,
	       struct err *e);
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
/* Of a command that goes on in a sandbox that lives: what was imported until now. */
void run_look(struct pinfold_run *run);
uint64_t now_us(void);
/* egress.c: the policy of the options; ports to listen on. */
int request_policy(struct request *r, const struct pinfold_run_options *o, struct err *e);
/* What a ceiling's commands say to a sandbox without a policy; not for tools of ours, nor for one
 * more command. */
int request_ceiling(struct request *r, struct err *e);
/* Before the sandbox is made; nothing without a policy. */
int egress_begin(struct pinfold_run *run, struct err *e);
/* The same in two: to start a gate takes as long as the guest needs until it can be given its command.
 * Before the second part was called, nothing that it starts may run. */
int egress_prepare(struct pinfold_run *run, struct err *e);
int egress_open(struct pinfold_run *run, struct err *e);
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
/* Ports that every policy of a sandbox that lives has, whatever its rules name. */
void request_usual_ports(struct request *r);
/* egress_hold.c: the sandbox lives on without the run. 1: that was taken over. */
int egress_hold(struct pinfold_run *run, const char *sandbox, struct err *e);
/* Somebody will look after those. */
bool egress_attended(void);
/* A command in a sandbox whose way out this process holds: what is decided meanwhile is in its
 * result, too. Between the two. */
void egress_share_begin(struct pinfold_run *run);
void egress_share_end(struct pinfold_run *run);
/* One row of the gate's; not believed. */
void egress_take(struct pinfold_run *run, struct gate_report *r);
/* The sandbox has ended: hear the rest. */
void egress_end(struct pinfold_run *run);
/* egress_ask.c: a person is to be asked; his answer is there (false: no question has this fd). */
void egress_ask(struct pinfold_run *run, const struct gate_report *r);
/* Nobody waits for it any more. */
void egress_ask_withdrawn(struct pinfold_run *run, const struct gate_report *r);
/* How long a question of the run waits for its answer: less than the run lives. */
uint64_t run_question_ms(const struct pinfold_run *run);
/* On whose behalf a person is asked: in `own`, or borrowed. */
const char *run_asker(const struct pinfold_run *run, char own[32]);
/* Why, as who is asked reads it: what the run is for, if it said so, and what the policy says. */
void run_question_why(const struct pinfold_run *run, const char *policy, char *ret, size_t size);
/* egress_noted.c: a request that was looked into; how many there were; those of another run since
 * then, with its rows as they are here. */
void egress_noted(struct pinfold_run *run, const struct gate_report *r);
uint64_t egress_noted_count(const struct pinfold_run *run);
void egress_noted_since(struct pinfold_run *run, const struct pinfold_run *from, uint64_t seen,
			const unsigned rows[GATE_ROWS_MAX]);
bool egress_answered(struct pinfold_run *run, int fd);
void egress_ask_end(struct pinfold_run *run);
/* denial.c */
void run_deny_by_gate(struct pinfold_run *run, const char *kind, const struct notify_event *ev,
		      const char *what, uint64_t count);
void run_deny(struct pinfold_run *run, const char *kind, const struct notify_event *ev);
/* commands of a policy; kind: command, approval. */
void run_deny_command(struct pinfold_run *run, const char *kind, const char *what,
		      const char *hint);
void run_deny_path(struct pinfold_run *run, const char *what, const char *hint);
void run_hidden_arguments(struct pinfold_run *run);
void run_refused_rename(struct pinfold_run *run);
/* What of --dir is hidden. */
void run_deny_secrets(struct pinfold_run *run);
/* files.c */
void run_add_file(struct pinfold_run *run, const struct msg_guest *msg, const char *path, int fd);
void run_sort_files(struct pinfold_run *run);
/* result.c: "file", "directory" and the like. */
const char *run_file_type(uint32_t mode);
/* verdict.c: status, exit status, limit and notes from what happened. */
void run_judge(struct pinfold_run *run);
void run_fail(struct pinfold_run *run, const struct err *e, int exit_status);
/* poll.c: limits of a run without control group. */
void run_poll_usage(struct pinfold_run *run);
void run_judge_quota(struct pinfold_run *run);
/* Bytes that are free where a workspace's layers are. */
struct space run_disk_free(const struct pinfold_run *run);
/* artifact.c */
void run_start_artifact(struct pinfold_run *run, int stream);
void artifacts_sweep(void);
/* What is kept of a run to repeat it: a file to write; and to read, 1 in *ret_foreign where who
 * serves HTTP wrote it. -ENOENT: there is none. */
int artifact_for_replay(const struct pinfold_run *run, struct err *e);
int artifact_of_replay(const char *run, bool *ret_foreign, struct err *e);
/* A file beside them, and one of an earlier run. */
int artifact_create(const struct pinfold_run *run, const char *name, struct err *e);
int artifact_open(const char *run, const char *name, struct err *e);

void error_public(const struct err *e, struct pinfold_error *ret);
/* What somebody outside of the library says went wrong. Returns the negative value. */
int error_taken(const struct pinfold_error *from, struct err *e);
const char *held_name(enum held h);
/* For people: 512K, 1.5s, 366d. */
#define LIMIT_TEXT 32
const char *limit_size(uint64_t bytes, char text[LIMIT_TEXT]);
/* Of a workspace, whose commands could not start with less; 0: not given. */
int limit_check_disk(uint64_t bytes, struct err *e);
const char *limit_time(uint64_t ms, char text[LIMIT_TEXT]);

#endif
