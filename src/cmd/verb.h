/* SPDX-License-Identifier: Apache-2.0 */
/* A verb is one row of the table in main.c: its name, its function, its options and its help. */
#ifndef CMD_VERB_H
#define CMD_VERB_H

#include <stdint.h>

#include "base/err.h"

/* Which verbs an option belongs to. */
#define VERB_BIT(n) (UINT64_C(1) << (n))
#define VERB_RUN VERB_BIT(0)
#define VERB_SHELL VERB_BIT(1)
#define VERB_PLAN VERB_BIT(2)
#define VERB_DOCTOR VERB_BIT(3)
#define VERB_VERSION VERB_BIT(4)
#define VERB_PLAIN VERB_BIT(5) /* takes no option but --help */
#define VERB_SERVE VERB_BIT(6)
#define VERB_EXEC VERB_BIT(7)
#define VERB_PS VERB_BIT(8)
#define VERB_LOGS VERB_BIT(9)
#define VERB_KILL VERB_BIT(10)
#define VERB_BENCH VERB_BIT(11)
#define VERB_NEW VERB_BIT(12)
#define VERB_DATA VERB_BIT(13) /* takes --json and nothing else */
#define VERB_LOG VERB_BIT(14)
#define VERB_FORK VERB_BIT(15)
#define VERB_DIFF VERB_BIT(16)
#define VERB_CP VERB_BIT(17)
#define VERB_PUSH VERB_BIT(18)
#define VERB_PULL VERB_BIT(19)
#define VERB_WATCH VERB_BIT(20)
#define VERB_REVIEW VERB_BIT(21)
#define VERB_APPLY VERB_BIT(22)
#define VERB_EXPORT VERB_BIT(23)
#define VERB_IMPORT VERB_BIT(24)
#define VERB_FSCK VERB_BIT(25)
#define VERB_MCP VERB_BIT(26)
#define VERB_TOKEN VERB_BIT(27)
#define VERB_IMAGE VERB_BIT(28)
#define VERB_ALLOW VERB_BIT(29)
#define VERB_TRUST VERB_BIT(30)
#define VERB_APPROVE VERB_BIT(31)
#define VERB_SECRET VERB_BIT(32)
#define VERB_AUDIT VERB_BIT(33)
#define VERB_RECEIPT VERB_BIT(34)
#define VERB_VERIFY VERB_BIT(35)
#define VERB_REPLAY VERB_BIT(36)
#define VERB_DEPS VERB_BIT(37)
#define VERB_TENANT VERB_BIT(38)
#define VERB_TOP VERB_BIT(39)
#define VERB_GC VERB_BIT(40)
#define VERB_LS VERB_BIT(41)
#define VERB_LIMIT VERB_BIT(42)
#define VERB_RM VERB_BIT(43)
#define VERB_ALL UINT64_MAX

#define EXIT_PINFOLD 125 /* Pinfold itself failed: nothing of the command ran */

struct verb_example {
	const char *what;
	const char *command;
};

#define VERB_USAGES 5

struct verb_doc {
	const char *usage[VERB_USAGES]; /* what follows the name; ended by NULL when shorter */
	const char *const *paragraphs;	/* ended by NULL */
	struct verb_example examples[5];
};

struct verb {
	const char *name;
	const char *summary; /* NULL: not shown */
	/* argv begins behind the verb and ends with NULL. Returns the exit status. */
	int (*run)(const struct verb *v, int argc, char **argv);
	uint64_t bit;
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
int cmd_limit(const struct verb *v, int argc, char **argv);
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
int cmd_gc(const struct verb *v, int argc, char **argv);
int cmd_fsck(const struct verb *v, int argc, char **argv);
int cmd_mcp(const struct verb *v, int argc, char **argv);
int cmd_approvals(const struct verb *v, int argc, char **argv);
int cmd_approve(const struct verb *v, int argc, char **argv);
int cmd_deny(const struct verb *v, int argc, char **argv);
int cmd_deps(const struct verb *v, int argc, char **argv);
int cmd_top(const struct verb *v, int argc, char **argv);
int cmd_token(const struct verb *v, int argc, char **argv);
int cmd_audit(const struct verb *v, int argc, char **argv);
int cmd_receipt(const struct verb *v, int argc, char **argv);
int cmd_verify(const struct verb *v, int argc, char **argv);
int cmd_replay(const struct verb *v, int argc, char **argv);
int cmd_allow(const struct verb *v, int argc, char **argv);
int cmd_trust(const struct verb *v, int argc, char **argv);
int cmd_secret(const struct verb *v, int argc, char **argv);
int cmd_tenant(const struct verb *v, int argc, char **argv);
int cmd_docs(const struct verb *v, int argc, char **argv);

extern const struct verb_doc allow_doc, trust_doc, run_doc, shell_doc, plan_doc, doctor_doc,
	version_doc, help_doc, serve_doc, docs_doc, exec_doc, ps_doc, logs_doc, attach_doc,
	kill_doc, pause_doc, resume_doc, extend_doc, bench_doc, new_doc, ls_doc, info_doc, rm_doc,
	limit_doc, snap_doc, log_doc, undo_doc, rollback_doc, fork_doc, diff_doc, cp_doc, push_doc,
	pull_doc, watch_doc, review_doc, apply_doc, export_doc, import_doc, fsck_doc, gc_doc,
	token_doc, secret_doc, image_doc, approvals_doc, deps_doc, approve_doc, deny_doc, top_doc,
	tenant_doc, mcp_doc, audit_doc, receipt_doc, verify_doc, replay_doc;

#endif
