/* SPDX-License-Identifier: Apache-2.0 */
/* A spec as a block for the daemon, and back. */
#ifndef SANDBOX_ASK_H
#define SANDBOX_ASK_H

#include "base/err.h"
#include "sandbox/spec.h"
#include "wire/ask.h"

/* A sealed memfd with the block; the caller's. */
int ask_write(const struct sandbox_spec *spec, bool best_effort, int *ret_fd, struct err *e);

struct ask {
	const struct ask_head *head; /* mapped, NULL: none */
	const char **vectors;	     /* argv and envp */
	const char **metadata;	     /* behind them; ends with NULL */
	bool held;		     /* more commands may come, from the guest */
	bool keep;		     /* the asker stays on his connection */
	uint64_t whose;		     /* whose turn it is: a key of the warden's queue */
};

/* Map and check a block from outside. It must be sealed: nobody can change it under our eyes. */
int ask_open(int fd, struct ask *ret, struct err *e);
/* What the block asks for. Pointers are into the ask; ids, level and id stay as they are. */
void ask_spec(const struct ask *ask, struct sandbox_spec *ret);
/* The words of its command with blanks between them, as far as there is room; "" for none. */
void ask_command(const struct ask *ask, char *text, size_t size);
void ask_close(struct ask *ask);

#endif
