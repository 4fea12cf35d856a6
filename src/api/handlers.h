/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of ops.def, one function an operation, by file. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/op.h"

/* op_run.c */
op_fn op_run_create, op_run_list, op_run_get, op_run_stdout, op_run_stderr, op_run_events,
	op_run_cancel, op_run_file, op_run_receipt;
/* op_sandbox.c */
op_fn op_sandbox_create, op_sandbox_list, op_sandbox_get, op_sandbox_delete, op_sandbox_pause,
	op_sandbox_resume, op_sandbox_extend, op_sandbox_exec;
/* op_policy.c */
op_fn op_policy_get, op_policy_set;
/* op_fork.c */
op_fn op_sandbox_fork;
/* op_process.c */
op_fn op_process_list, op_process_get, op_process_output, op_process_signal, op_process_stdin,
	op_process_resize;
/* attach.c */
op_fn op_process_attach;
/* op_port.c */
op_fn op_port_list, op_port_open, op_port_close, op_port_forward;
/* op_file.c */
op_fn op_file_read, op_file_write, op_file_delete, op_file_list, op_file_stat, op_file_move,
	op_file_mkdir, op_file_watch;
/* op_tree.c */
op_fn op_tree_read, op_tree_write;
/* op_session.c */
op_fn op_session_create, op_session_list, op_session_execute, op_session_interrupt,
	op_session_input, op_session_delete;
/* op_workspace.c */
op_fn op_workspace_create, op_workspace_list, op_workspace_get, op_workspace_delete,
	op_workspace_exec, op_workspace_snapshot, op_workspace_undo, op_workspace_rollback,
	op_workspace_fork, op_workspace_diff, op_workspace_log, op_workspace_sync;
/* op_system.c */
op_fn op_healthz, op_readyz, op_metrics, op_openapi, op_events, op_version;
/* op_approval.c */
op_fn op_approval_list, op_approval_get, op_approval_answer;
/* op_usage.c */
op_fn op_usage, op_tenant_list;

#endif
