/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of a channel to the file server in a sandbox (guest/files.c). What comes from
 * there is checked whole (wire/files.h), descriptors are looked at, and silence is an error.
 */
#ifndef ENGINE_LIVE_FILES_H
#define ENGINE_LIVE_FILES_H

#include <stdint.h>

#include "base/err.h"
#include "pinfold/pinfold.h"
#include "wire/files.h"

struct pinfold_files {
	char id[PINFOLD_ID_SIZE]; /* "" in tests: there is no other server to be had */
	int sock;		  /* FD_NONE: the next question asks for a server first */
	int patience_ms;	  /* how long it may be silent */
	uint32_t seq;
	uint32_t server;   /* how many there have been */
	uint64_t begun_us; /* the question */
	enum files_op op;
	const char *about; /* the path of the question, borrowed until its last answer */
	uint32_t len;	   /* bytes behind the answer */
	union {
		struct files_answer answer;
		char bytes[sizeof(struct files_answer) + FILES_DATA_MAX];
	} got;
};

struct files_question {
	enum files_op op;
	uint32_t flags, mode;
	const char *path, *path2; /* as the caller gave them; NULL: none */
	const char *target;	  /* in the place of the second, as it is */
};

/* For a socket whose other end serves already; takes it. NULL: out of memory. */
struct pinfold_files *files_new(const char *id, int sock);
/* The bytes behind the last answer. */
const char *files_data(const struct pinfold_files *f);
/* Absolute, without slashes at its end. */
int files_absolute(const char *path, char to[FILES_PATH_SIZE], struct err *e);
/* Ask; the answers are then to be taken until the last. */
int files_ask(struct pinfold_files *f, const struct files_question *q, struct err *e);
/* The next answer: 1 when more follow, 0 for the last, or -errno. *ret_fd is what came along,
 * which only they who expect one are given. */
int files_next(struct pinfold_files *f, int *ret_fd, struct err *e);
/* Take the one answer that counts. */
int files_take(struct pinfold_files *f, int *ret_fd, struct err *e);
/* An error if the sandbox is paused. Where signals pause it, its file server may still answer a
 * moment after that. */
int files_awake(struct pinfold_files *f, struct err *e);
/* Both. */
int files_do(struct pinfold_files *f, const struct files_question *q, int *ret_fd, struct err *e);
/* The server is of no more use. */
void files_drop(struct pinfold_files *f);
void files_take_info(const struct files_info *info, struct pinfold_file_info *ret);
/* 0, or -1 and the public error. */
int files_result(int r, const struct err *e, struct pinfold_error *ret_error);

#endif
