/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages that were installed once: a set is one frozen layer with the part usr, found by its key
 * (the hash of interpreter, platform and lock; deps/lock.h).
 *
 *	depset_begin()  -->  depset_commit(): it is there, for everybody
 *	                \->  making_end() alone: it never was
 *
 * And what was asked for before: a text of who asked leads to a text of what came of it, so that
 * the same question needs no network and no sandbox.
 */
#ifndef STORE_DEPSET_H
#define STORE_DEPSET_H

#include "base/hash.h"
#include "store/making.h"
#include "store/stack.h"
#include "store/store.h"

#define DEPSET_LOCK (-(INT64_C(1) << 40)) /* as IMAGE_LOCK: one further down for each set */
#define DEPSET_UNUSED_MS (INT64_C(30) * 24 * 3600 * 1000) /* then a set is collected */

/* Instead of a language: no packages, but what installing them needs (engine/deps_layer.c). */
#define DEPSET_GROUND "ground"

struct depset {
	int64_t id;
	char key[HASH_TEXT_SIZE];
	char lang[16];
	uint32_t number; /* of its layer */
	int64_t made_ms, used_ms;
	uint64_t files, bytes;
	bool on_disk; /* it survives whatever becomes of the machine */
	char *lock;   /* what is in it (deps/lock.h); owned */
};
void depset_done(struct depset *d);
#define auto_depset __attribute__((cleanup(depset_done))) struct depset

int depset_begin(struct store *s, struct making *ret, struct err *e);
/* key, lang, lock, files and bytes say what it is. Where another was faster, his is the one. It
 * need not be on disk: should the machine fall before depset_settle(), there is none. */
int depset_commit(struct making *m, const struct depset *set, struct err *e);

/* Write to disk what was committed since the last time. */
int depset_settle(struct store *s, struct err *e);

/* What is in it is not what was put there: nobody finds it any more; who runs on it goes on. */
int depset_disown(struct store *s, int64_t id, struct err *e);

/* Find it, and hold it while something runs on it. 1, or 0: there is none. */
int depset_hold(struct store *s, const char *key, struct depset *ret, int *ret_lock, struct err *e);
/* The last used first; stops when `each` returns < 0. */
int depset_each(struct store *s, int (*each)(const struct depset *set, void *arg), void *arg,
		struct err *e);
/* Forget those that nobody used for so long and nobody holds. Their space is given back by
 * store_collect(). */
int depset_forget(struct store *s, int64_t unused_ms, unsigned *ret_n, struct err *e);

/* *ret is malloced. 1, or 0: nobody asked that. */
int depset_recall(struct store *s, const char *ask, char **ret, struct err *e);
int depset_remember(struct store *s, const char *ask, const char *answer, struct err *e);

#endif
