/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader says at last where there is nothing else to say: it is done, or why not. */
#ifndef TREE_ANSWER_H
#define TREE_ANSWER_H

#include "tree/digest.h"
#include "tree/merge.h"
#include "tree/unpack.h"

#define TREE_ANSWER_VALUES 16

/* By what was asked for. */
union tree_answer {
	struct tree_unpack_stats unpack;
	struct tree_merge_stats merge;
	struct tree_digest digest;
	uint64_t values[TREE_ANSWER_VALUES];
};

int tree_answer_send(int fd, const union tree_answer *answer, struct err *e);
int tree_answer_send_error(int fd, const struct err *what, struct err *e);
/* The error of the other side becomes ours. Numbers are whatever it says. */
int tree_answer_read(int fd, union tree_answer *ret, struct err *e);

#endif
