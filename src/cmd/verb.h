/* SPDX-License-Identifier: Apache-2.0 */
/* A verb is one row of the table in main.c: its name, its function, its options and its help. */
#ifndef CMD_VERB_H
#define CMD_VERB_H

#include "base/err.h"

/* Which verbs an option belongs to. */
#define VERB_RUN 0x01u
#define VERB_SHELL 0x02u
#define VERB_PLAN 0x04u
#define VERB_DOCTOR 0x08u
#define VERB_VERSION 0x10u
#define VERB_PLAIN 0x20u /* takes no option but --help */
#define VERB_SERVE 0x40u
#define VERB_EXEC 0x80u
#define VERB_PS 0x100u
#define VERB_LOGS 0x200u
#define VERB_KILL 0x400u
#define VERB_BENCH 0x800u
#define VERB_NEW 0x1000u
#define VERB_DATA 0x2000u /* takes --json and nothing else */
#define VERB_LOG 0x4000u
#define VERB_FORK 0x8000u
#define VERB_DIFF 0x10000u
#define VERB_CP 0x20000u
#define VERB_PUSH 0x40000u
#define VERB_PULL 0x80000u
#define VERB_WATCH 0x100000u
#define VERB_REVIEW 0x200000u
#define VERB_APPLY 0x400000u
#define VERB_EXPORT 0x800000u
#define VERB_IMPORT 0x1000000u
#define VERB_FSCK 0x2000000u
#define VERB_MCP 0x4000000u
#define VERB_TOKEN 0x8000000u
#define VERB_IMAGE 0x10000000u
#define VERB_AUDIT 0x20000000u
#define VERB_VERIFY 0x40000000u
#define VERB_ALL 0xffffffffu

#define EXIT_PINFOLD 125 /* Pinfold itself failed: nothing of the command ran */

struct verb_example {
	const char *what;
	const char *command;
};

struct verb_doc {
	const char *usage[3];	       /* what follows the name; ended by NULL when shorter */
	const char *const *paragraphs; /* ended by NULL */
	struct verb_example examples[5];
};

struct verb {
	const char *name;
	const char *summary; /* NULL: not shown */
	/* argv begins behind the verb and ends with NULL. Returns the exit status. */
	int (*run)(const struct verb *v, int argc, char **argv);
	unsigned bit;
	const struct verb_doc *doc;
};

extern const struct verb verb_table[]; /* ended by a row without a name */

/* NULL and an error that suggests one when there is no such verb. */
const struct verb *verb_find(const char *name, struct err *e);

int cmd_run(const struct verb *v, int argc, char **argv);
int cmd_shell(const struct verb *v, int argc, char **argv);
int cmd_plan(const struct verb *v, int argc, char **argv);
int cmd_doctor(const struct verb *v, int argc, char **argv);
int cmd_version(const struct verb *v, int argc, char **argv);
int cmd_help(const struct verb *v, int argc, char **argv);
int cmd_serve(const struct verb *v, int argc, char **argv);
int cmd_exec(const struct verb *v, int argc, char **argv);
int cmd_ps(const struct verb *v, int argc, char **argv);
int cmd_logs(const struct verb *v, int argc, char **argv);
int cmd_attach(const struct verb *v, int argc, char **argv);
int cmd_kill(const struct verb *v, int argc, char **argv);
int cmd_pause(const struct verb *v, int argc, char **argv);
int cmd_resume(const struct verb *v, int argc, char **argv);
int cmd_extend(const struct verb *v, int argc, char **argv);
int cmd_bench(const struct verb *v, int argc, char **argv);
int cmd_new(const struct verb *v, int argc, char **argv);
int cmd_ls(const struct verb *v, int argc, char **argv);
int cmd_info(const struct verb *v, int argc, char **argv);
int cmd_rm(const struct verb *v, int argc, char **argv);
int cmd_snap(const struct verb *v, int argc, char **argv);
int cmd_log(const struct verb *v, int argc, char **argv);
int cmd_undo(const struct verb *v, int argc, char **argv);
int cmd_rollback(const struct verb *v, int argc, char **argv);
int cmd_diff(const struct verb *v, int argc, char **argv);
int cmd_review(const struct verb *v, int argc, char **argv);
int cmd_apply(const struct verb *v, int argc, char **argv);
int cmd_cp(const struct verb *v, int argc, char **argv);
int cmd_push(const struct verb *v, int argc, char **argv);
int cmd_pull(const struct verb *v, int argc, char **argv);
int cmd_watch(const struct verb *v, int argc, char **argv);
int cmd_fork(const struct verb *v, int argc, char **argv);
int cmd_export(const struct verb *v, int argc, char **argv);
int cmd_import(const struct verb *v, int argc, char **argv);
int cmd_image(const struct verb *v, int argc, char **argv);
int cmd_fsck(const struct verb *v, int argc, char **argv);
int cmd_mcp(const struct verb *v, int argc, char **argv);
int cmd_token(const struct verb *v, int argc, char **argv);
int cmd_audit(const struct verb *v, int argc, char **argv);
int cmd_receipt(const struct verb *v, int argc, char **argv);
int cmd_verify(const struct verb *v, int argc, char **argv);
int cmd_docs(const struct verb *v, int argc, char **argv);

extern const struct verb_doc run_doc, shell_doc, plan_doc, doctor_doc, version_doc, help_doc,
	serve_doc, docs_doc, exec_doc, ps_doc, logs_doc, attach_doc, kill_doc, pause_doc,
	resume_doc, extend_doc, bench_doc, new_doc, ls_doc, info_doc, rm_doc, snap_doc, log_doc,
	undo_doc, rollback_doc, fork_doc, diff_doc, cp_doc, push_doc, pull_doc, watch_doc,
	review_doc, apply_doc, export_doc, import_doc, fsck_doc, token_doc, image_doc, mcp_doc,
	audit_doc, receipt_doc, verify_doc;

#endif
