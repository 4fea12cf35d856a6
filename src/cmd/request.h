/* SPDX-License-Identifier: Apache-2.0 */
/* A command line, checked: what the library is asked and what the CLI does around it. */
#ifndef CMD_REQUEST_H
#define CMD_REQUEST_H

#include <pinfold/deps.h>
#include <pinfold/ledger.h>
#include <pinfold/pinfold.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/fd.h"
#include "cmd/opt.h"
#include "cmd/verb.h"

#define REQUEST_CODE_MAX ((size_t)16 << 20) /* bytes of a program's text */

struct request {
	struct pinfold_run_options run; /* borrows from argv and from below */
	const char *explain, *method;	/* of allow, */
	const char *explain_command;	/* and this */
	bool record;			/* --record */
	bool show_policy;		/* the same */
	bool list, forget;		/* of trust */
	const char *policy_file;	/* of --policy */
	char *policy_text;		/* and what it holds; owned */
	struct opt_list env, allow, hide, show, metadata, apt, packages, give;
	const char *stdin_path;
	bool pty, json, raw, daemon, no_daemon, help, deterministic, only_binary;
	bool detach, follow, share, all, names, mirror, no_git, force, dry_run, revert, layer,
		repair, accept;
	const char *at, *to, *output_file;
	const char *url, *token_file; /* of push and pull */
	bool serve_sync;
	bool leaves;  /* a signal, or Ctrl-], ends our part and not the command */
	bool has_run; /* the command, or a part of it */
	const char *signal_name, *offset_text;
	int64_t offset;
	bool open_stdin;
	const char *socket, *preload; /* of serve */
	const char *http_socket, *tls_cert, *tls_key;
	uint64_t keep_bytes;
	bool no_http;
	const char *log;
	struct opt_list listen, hosts, origins, scopes;
	const char *tenant, *label; /* of token */
	const char *quota_live, *quota_runs, *quota_memory, *quota_disk, *quota_cpu, *quota_budget,
		*quota_egress[3]; /* of tenant */
	bool once;		  /* of top */
	uint64_t interval_ms;
	uint64_t ttl_ms, uses;
	const char *secret_file, *secret_command; /* of secret */
	uint64_t for_ms;			  /* an approval's */
	bool for_sandbox;
	struct pinfold_audit_options audit;
	const char *key, *anchor, *ledger; /* of verify */
	const char *lock_file, *sbom;	   /* of deps */
	bool source, yes, offline;
	uint64_t age_hours;
	const char *before, *format; /* of audit */
	const char *cursor_file;     /* the same */
	bool cursors;
	const char *witness_key, *witness_name, *old, *evidence;
	uint64_t approvals_fd;	     /* for the API: the box of questions */
	uint64_t hold_fd;	     /* of deps and secret, for the API: a socket */
	uint64_t result_fd, code_fd; /* what relay.h says, and program text; 0: none */
	uint64_t samples;	     /* of bench */
	uint64_t inodes;	     /* of new */
	uint64_t workspaces;	     /* of limit */
	bool total, unlimited;	     /* the same */
	uint64_t history_ms, last;   /* of gc */
	bool undone, sizes;	     /* of gc, of ls */
	const char *tools, *structured, *transfer_dir; /* of mcp */
	bool ask, resource_links;
	bool open_probes; /* of serve */
	bool conformance; /* of serve, in test builds */
	uint64_t idle_ms;
	uint64_t warm, warm_python, warm_node, warm_r, warm_memory, max, queue;

	char *code_text;     /* what was read of FILE or standard input */
	bool file_is_inside; /* FILE of --lang is one of the sandbox */
	bool code_is_stdin;  /* the program came from standard input, which is used up */
	int stdin_fd;	     /* to hand on to the command; < 0 for none */
	char again[PINFOLD_PACKAGE_SIZE]; /* the package that it is tried again with, "" for none */
	char *missed;			  /* what it ended for before, for the result */
	bool stdin_is_owned;		  /* opened by us */
};

#define REQUEST_INIT                                                                               \
	{                                                                                          \
		.run = {.size = sizeof(struct pinfold_run_options)}, .stdin_fd = FD_NONE,          \
		.warm = UINT64_MAX, .warm_python = UINT64_MAX, .warm_node = UINT64_MAX,            \
		.warm_r = UINT64_MAX, .queue = UINT64_MAX, .age_hours = UINT64_MAX                 \
	}

/* Parses the options of a verb. True: go on with the words behind the first *ret_used. False: the
 * verb has ended with *ret_status: help was asked for, or there was an error, which was said. */
bool request_begin(struct request *r, const struct verb *v, int argc, char **argv, int *ret_used,
		   int *ret_status);
/* Takes the words behind the options as what is to run, reads its text, and finds its standard
 * input. Nothing was started when it fails. */
int request_program(struct request *r, int argc, char **argv, struct err *e);
/* Refuses words where none are expected. */
int request_end(int argc, char **argv, struct err *e);
/* What the library has copied is not needed any more. */
void request_forget_code(struct request *r);
void request_done(struct request *r);

#define auto_request __attribute__((cleanup(request_done)))

#endif
