/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: everything below the data directory that outlives a command.
 *
 *	store.db	what there is (db.c has the tables)
 *	layers/N/	one layer: root, usr, work; while it is open also w.root, w.usr, w.work
 *	origins/N	a file of the host as it was (origin.h)
 *	locks/W		of workspace W: held by who runs in it
 *	lock		held by who has the store open, alone by who repairs it
 *	reserve		nothing, to be given up on a full disk (reserve.h)
 *
 * What a row describes is made after the row was written and removed before the row is, so after a
 * crash at any moment every directory has a row; an open layer whose lock nobody holds is rubbish.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/spec.h"

struct db;

#define STORE_NAME_MAX 63u
#define STORE_LABEL_MAX 63u

/* A dead one is never taken up again; its files are being removed. */
enum layer_state { LAYER_OPEN = 0, LAYER_FROZEN = 1, LAYER_DEAD = 2 };

struct store {
	struct db *db;
	char *home;
	char *layers_path;
	int home_fd, layers_fd, lock_fd;
	uint64_t layers_dev, layers_ino;
	bool changed;	   /* by us: there are layers that a power cut could take back */
	bool owned;	   /* we are root: files of a layer have the ids seen inside */
	bool gave_reserve; /* reserve.h */
};

/* The same for who repairs it: nobody else has it open, nor can open it. Waits a moment for those
 * who settle. ERR_BUSY. */
int store_open_alone(const char *home, struct store **ret, struct err *e);
int store_open(const char *home, struct store **ret, struct err *e);
void store_close(struct store *s);

/* Is it a name of a workspace, a label of a snapshot? */
int store_check_name(const char *name, struct err *e);
int store_check_label(const char *label, struct err *e);

int64_t store_now_ms(void);
/* The clock of the kernel's that files get their times from: it stands still between two ticks. */
int64_t store_file_now_ns(void);

#endif
