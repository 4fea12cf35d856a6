/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of tools.def, and what they share. All for handlers' threads. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "api/boxes.h"
#include "api/call.h"
#include "api/op.h"
#include "mcp/text.h"

struct mcp;
struct pinfold_run_options;
struct record;

/* tool_run.c */
op_fn tool_exec;
/* tool_code.c */
op_fn tool_run_code;
/* tool_process.c */
op_fn tool_process_read, tool_process_write;
/* tool_file.c, tool_edit.c */
op_fn tool_read_file, tool_write_file, tool_edit_file, tool_list_files;
/* tool_box.c */
op_fn tool_create, tool_status, tool_destroy;
/* tool_transfer.c */
op_fn tool_transfer;
/* tool_access.c */
op_fn tool_request_access;

/* A policy that allows nothing: there is a way out, which leads nowhere until somebody allows a
 * host. */
#define ACCESS_NONE "allow: []"
/* The one that the server was started with, or that. */
const char *access_policy(const struct call *c);
/* What sandbox_create asks for of the network: within what the operator allows, or a person does.
 * 0: it is in `o`, which borrows from *ret_list (to be freed); 1: asked, the call comes again. */
int access_of_new(struct call *c, const char *sandbox, struct pinfold_run_options *o,
		  const char ***ret_list, struct err *e);
const char *access_word(const struct box *b); /* none, allowlist or open */
/* "network" of a sandbox, and what it may reach. */
void access_describe(const struct box *b, struct value *to);

#define BOX_DEFAULT "default"

/* A tool's name, for texts: it stands in tools.def alone. */
const char *tool_name(op_fn *handler);
struct mcp *tool_mcp(const struct call *c);
/* The sandbox that a call names; the default one is made. */
struct box *tool_box(struct call *c, struct err *e);
/* The same for code; with deps, one that is made has what the code imports. */
struct box *tool_box_for(struct call *c, const char *lang, const struct value *code, struct err *e);
/* tool_show.c: the package that somebody missed who ended with this text, and what to do. */
void note_missing(struct text *notes, const char *text);
void note_package(struct text *notes, const char *package); /* NULL: none */
const char *box_label(const struct box *b);
/* A path inside, absolute, from what a model wrote: relative, a file: URI or one of ours. */
int tool_path(const char *given, char ret[4096], struct err *e);
/* Behind "files/" of a URI: is that a path from / on? Others are below the working directory. */
bool is_below_root(const char *path);

/* The answer: a text, or the text of `json` (taken), with it as structured content where wanted. */
int tool_reply(struct call *c, struct text *t, struct err *e);
int tool_reply_json(struct call *c, struct value *json, struct err *e);
/* An image behind the text. `base64` is taken. */
void tool_add_image(struct call *c, struct value *base64, const char *mime);
/* For programs: _meta, and structured content where it is always wanted. Taken. */
void tool_add_meta(struct call *c, struct value *exec);
/* resources.c: a file of a sandbox, as lists have it. */
struct value *resource_of(const char *sandbox, const char *path, const char *name, uint64_t size);

#define IMAGE_MAX 700000u
#define IMAGES_MAX 4u

/* tool_show.c: how a run went, for a model. */
struct outcome {
	const struct box *box;
	const char *run; /* "r17" */
	struct record *rec;
	const char *title;   /* "exit 0 in 1.2s" */
	const char *session; /* or NULL */
	uint64_t wall_ms;
	size_t max_chars;
	bool so_far;	     /* it was stopped */
	bool brief;	     /* empty streams are not worth a line */
	const char *value;   /* of the last expression, or NULL */
	struct text notes;   /* lines behind all that */
	struct value *files; /* what changed, as show_changes() made it; or NULL */
	bool cut;	     /* out: something was left out */
};
void show_run(struct text *t, struct outcome *o);
/* Links to what changed, behind the text, where the server was told to give them. */
void show_links(struct call *c, const struct outcome *o);
/* A note for each of `alerts` of a result. */
void tool_add_alerts(struct text *notes, const struct value *doc);
/* tool_run.c: of a command that has ended, as its own call would have. False: it was none. */
bool shown_run(struct call *c, struct box *b, struct record *rec, struct text *t);

/* "/.pinfold/runs/r17/stdout": the whole output of a run. */
bool is_run_path(const char *path);
struct record *run_of_path(struct call *c, const struct box *b, const char *path, int *ret_stream,
			   struct err *e);
/* By "r17". */
struct record *run_of_name(struct call *c, const struct box *b, const char *name, struct err *e);

#endif
