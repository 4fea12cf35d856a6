/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. One row is all that the outside knows of an operation: its name, where
 * REST and MCP have it, its arguments, who may. Routing, checks, OpenAPI, tool schemas and help
 * come from the row; no route and no tool's name stands anywhere else. The rows are in ops.def.
 */
#ifndef API_OP_H
#define API_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/value.h"

struct call;

enum arg_type {
	ARG_STRING, /* max: bytes */
	ARG_BOOL,
	ARG_INT,      /* min, max */
	ARG_SIZE,     /* bytes, or a text such as "512M" */
	ARG_DURATION, /* milliseconds, or a text such as "10s"; min: of a number without a unit */
	ARG_CPUS,     /* a number of processors */
	ARG_CHOICE,   /* one of `choices` */
	ARG_COMMAND,  /* a line for the shell, or an array of words */
	ARG_STRINGS,  /* an array of strings */
	ARG_INTS,     /* an array of integers: min, max of each */
	ARG_MAP,      /* an object of strings */
	ARG_PTY,      /* true, or an object with rows and cols */
	ARG_DOCUMENT, /* a text, or an object, which becomes its text */
};

/* Where REST has it. */
#define IN_BODY 0x1u
#define IN_QUERY 0x2u
#define IN_PATH 0x4u
#define NEEDED 0x8u
#define OR_INT 0x10u /* ARG_STRING: an integer stands for its digits */

struct op_arg {
	const char *name;
	enum arg_type type;
	unsigned flags;
	int64_t min, max;    /* 0, 0: the type's own */
	const char *choices; /* with blanks between */
	const char *help;
	const char *standard; /* the default, for documents; NULL: none */
};

/* Who may; a token has a set of them. */
#define SCOPE_RUN 0x1u
#define SCOPE_FILES 0x2u
#define SCOPE_WORKSPACES 0x4u
#define SCOPE_APPROVE 0x8u
#define SCOPE_ADMIN 0x10u
#define SCOPE_ALL 0x1fu

#define OP_STREAM 0x1u	   /* ?stream=1 answers with events */
#define OP_RAW_BODY 0x2u   /* the body is bytes, not JSON */
#define OP_RAW_REPLY 0x4u  /* so is the answer */
#define OP_CREATED 0x8u	   /* answers 201 */
#define OP_OPEN 0x10u	   /* any token is good; soon over */
#define OP_PROBE 0x200000u /* and none is needed where the operator said so */
#define OP_EVENTS 0x20u	   /* always answers with events */
#define OP_DETACHED 0x40u  /* a caller who leaves does not end it */
#define OP_TAKES 0x1000u   /* may take the connection (call_take): its body is not read before */
#define OP_BELOW 0x2000u   /* all methods; all that is below stands for the last {name} */
#define OP_QUIET 0x80u	   /* changes and reveals nothing: no line in the log */

#define OP_STARTS 0x8000u    /* something that a tenant's quotas count */
#define OP_OUTLIVES 0x10000u /* with `detach` it is the runner's: elders.h */
#define OP_HOLDS 0x20000u    /* it has a sandbox of its own while it runs */
#define OP_RUNS 0x40000u     /* makes a run, whose own event says that it began */
#define OP_PLACES 0x100000u  /* what Last-Event-ID means is the handler's affair */
#define OP_FRONT 0x80000u    /* the front's own, whichever process has what it names: elders.h */

/* Tools only. */
#define TOOL_READS 0x100u
#define TOOL_DESTROYS 0x200u
#define TOOL_CORE 0x400u
#define TOOL_OPEN_WORLD 0x800u

typedef int op_fn(struct call *c, struct err *e);

struct op {
	const char *name;   /* "run.create": in the log and the audit */
	const char *method; /* NULL: REST has it not */
	const char *path;   /* "/v1/runs/{id}" */
	const char *tool;   /* NULL: MCP has it not */
	const char *title;  /* of the tool */
	const char *cli;    /* the verb, or NULL */
	unsigned scope;
	unsigned flags;
	op_fn *handler;
	const char *summary;
	const char *example; /* REST: a body, JSON */
	const char *event; /* arguments that its event in the ledger has, beside those of the path */
	const char *returns; /* REST: the schema's name in openapi.c */
	const struct op_arg *args;
	unsigned n_args;
};

/* All rows: those of ops.def, and what other rooms added before the first call. */
size_t op_count(void);
const struct op *op_at(size_t i);
void op_register(const struct op *rows, size_t n);

#define ARGS(...)                                                                                  \
	.args = (const struct op_arg[]){__VA_ARGS__},                                              \
	.n_args = sizeof((const struct op_arg[]){__VA_ARGS__}) / sizeof(struct op_arg)
#define OP(what, ...) {.name = what, __VA_ARGS__},

const char *scope_name(unsigned one);
/* "run,files" -> bits; 0 and an error that names what is wrong. */
unsigned scope_parse(const char *text, struct err *e);

/* The path of an operation with its first {name} filled: paths stand in the table alone. */
void op_route(const char *name, const char *id, char *ret, size_t size);

/* The row of a tool, or NULL. */
const struct op *op_of_tool(const char *tool);

/* All of `args` (an object) against the row: unknown ones, wrong types and values out of range are
 * refused by name. Sizes, durations and processors become integers (bytes, ms, thousandths), texts
 * of the query become what they stand for. */
int op_check(const struct op *op, struct value *args, struct err *e);

#endif
