/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets at rest: one file in the data directory, encrypted as a whole, with a key that lies
 * elsewhere. Who copies the data directory has nothing; who can read both is the user himself.
 *
 *	file	"pfvault1", nonce (12), zeros (4), records encrypted by AES-256-GCM, tag (16)
 *	record	struct vault_entry, then its value; all of the file is authenticated
 *	key	32 random bytes: $CREDENTIALS_DIRECTORY/pinfold-vault.key (systemd's), else
 *		/etc/pinfold/vault.key for root, else $XDG_CONFIG_HOME/pinfold/vault.key
 *
 * A file is replaced at once or not at all; one process writes at a time. An old file put in place
 * of a new one is not noticed.
 */
#ifndef EGRESS_VAULT_H
#define EGRESS_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "egress/secret.h"

#define VAULT_MAX 256u

struct vault_entry {
	char name[SECRET_NAME_SIZE];
	uint64_t created_ms, expires_ms; /* 0: never */
	uint32_t uses_left;		 /* UINT32_MAX: any number */
	uint32_t len;
};

/* In the data directory `home`, which is made when it is not there. Replaces one of the same
 * name. */
int vault_set(const char *home, const struct vault_entry *entry, const char *value, struct err *e);
/* ERR_MISSING: there is none of that name. */
int vault_remove(const char *home, const char *name, struct err *e);
/* Names and numbers, no values; ret has room for VAULT_MAX. Returns how many. */
int vault_list(const char *home, struct vault_entry *ret, struct err *e);
/*
 * Take values for a sandbox: fills value, len and expires_ms of each of `s` by its name, and counts
 * one use of each. All or none. ERR_MISSING names the first that is not there or is used up.
 */
int vault_take(const char *home, struct secret_set *s, struct err *e);

/* Where its key is; makes none. 1: it is there, and good; 0: there is none yet. */
int vault_key(char *ret_path, size_t size, struct err *e);

#endif
