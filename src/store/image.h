/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: root file systems by name, each one frozen layer. A workspace that was made from one has
 * that layer at the bottom of every stack, with LAYER_IMAGE, which tells that it is one.
 *
 *	store_image_begin()  -->  store_image_commit(): it is there, for good
 *	                     \->  making_end() alone: it never was
 */
#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "store/making.h"
#include "store/stack.h"
#include "store/store.h"

#define IMAGE_NAME_MAX 127u /* NAME:TAG, each up to 63 */
#define IMAGE_LOCK                                                                                 \
	(-1) /* number of no workspace: held by who makes an image; one further down
			       for each image that there is */

struct store_image {
	int64_t id;
	char name[IMAGE_NAME_MAX + 1];
	char source[256];
	char digest[128];
	/* Of its configuration; "" for what that does not say. */
	char env[4096]; /* KEY=VALUE, each on a line of its own */
	char command[1024];
	char workdir[256];
	int64_t made_ms;
	uint64_t layers; /* that it came in */
	uint64_t files, bytes;
	struct stack stack;
};

int store_image_check_name(const char *name, struct err *e);
/* ERR_CONFLICT: there is one of that name. */
int store_image_begin(struct store *s, const char *name, struct making *ret, struct err *e);
/* name, source, digest, env, command, workdir, layers, files and bytes say what it is; fills the
 * rest. On disk when it returns. */
int store_image_commit(struct making *m, struct store_image *image, struct err *e);

/* ERR_MISSING. */
int store_image_find(struct store *s, const char *name, struct store_image *ret, struct err *e);
/* The one that a stack stands on. 1, or 0: none. */
int store_image_of(struct store *s, const struct stack *stack, struct store_image *ret,
		   struct err *e);
/* In the order of their names; stops when `each` returns < 0. */
int store_image_each(struct store *s, int (*each)(const struct store_image *image, void *arg),
		     void *arg, struct err *e);
/* Find it, and hold it while something runs in it without a workspace, or is made from it. */
int store_image_hold(struct store *s, const char *name, struct store_image *ret, int *ret_lock,
		     struct err *e);
/* The value of a variable of its environment; its length is *ret_len. NULL: it has none. */
const char *store_image_env(const struct store_image *image, const char *name, size_t *ret_len);
/* How many workspaces stand on it. */
int store_image_users(struct store *s, const struct store_image *image, uint64_t *ret,
		      struct err *e);
/* ERR_CONFLICT: a workspace stands on it. ERR_BUSY: something runs in it. Its space is given back
 * by store_collect(). */
int store_image_remove(struct store *s, const char *name, struct err *e);

#endif
