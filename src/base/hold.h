/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protections of rooms that stand between callers, and between files and us, by name; `make
 * DROP=name` builds a pinfold without that one. sandbox/hold.h has those of a sandbox and says what
 * this is for, egress/hold.h those of the way out.
 */
#ifndef BASE_HOLD_H
#define BASE_HOLD_H

/* a Host that is not ours is refused */
#ifdef DROP_API_HOST
#define HOLD_API_HOST 0
#else
#define HOLD_API_HOST 1
#endif
/* and so is an Origin */
#ifdef DROP_API_ORIGIN
#define HOLD_API_ORIGIN 0
#else
#define HOLD_API_ORIGIN 1
#endif
/* a token is good for its scopes alone */
#ifdef DROP_API_SCOPE
#define HOLD_API_SCOPE 0
#else
#define HOLD_API_SCOPE 1
#endif
/* an id that is somebody else's is not there */
#ifdef DROP_API_TENANT
#define HOLD_API_TENANT 0
#else
#define HOLD_API_TENANT 1
#endif
/* who speaks HTTP has given up what he does not need */
#ifdef DROP_API_RIGHTS
#define HOLD_API_RIGHTS 0
#else
#define HOLD_API_RIGHTS 1
#endif
/* a token ends when its time is over */
#ifdef DROP_API_EXPIRY
#define HOLD_API_EXPIRY 0
#else
#define HOLD_API_EXPIRY 1
#endif
/* a tenant has no more than his quotas */
#ifdef DROP_API_QUOTA
#define HOLD_API_QUOTA 0
#else
#define HOLD_API_QUOTA 1
#endif
/* what is a tenant's, secrets too, is in a directory of his own */
#ifdef DROP_KEEPER_TENANT
#define HOLD_KEEPER_TENANT 0
#else
#define HOLD_KEEPER_TENANT 1
#endif
/* who ends TLS has given up what he does not need */
#ifdef DROP_TLS_RIGHTS
#define HOLD_TLS_RIGHTS 0
#else
#define HOLD_TLS_RIGHTS 1
#endif
/* what a client brings back of a question is what it was given */
#ifdef DROP_MCP_STATE
#define HOLD_MCP_STATE 0
#else
#define HOLD_MCP_STATE 1
#endif
/* sandboxes of another user are not there, either */
#ifdef DROP_OWNER
#define HOLD_OWNER 0
#else
#define HOLD_OWNER 1
#endif
/* names in an archive stay below where it goes */
#ifdef DROP_ARCHIVE_NAMES
#define HOLD_ARCHIVE_NAMES 0
#else
#define HOLD_ARCHIVE_NAMES 1
#endif
/* nothing is made through a link */
#ifdef DROP_ARCHIVE_LINKS
#define HOLD_ARCHIVE_LINKS 0
#else
#define HOLD_ARCHIVE_LINKS 1
#endif
/* no bit that gives somebody's rights comes out of one */
#ifdef DROP_ARCHIVE_MODES
#define HOLD_ARCHIVE_MODES 0
#else
#define HOLD_ARCHIVE_MODES 1
#endif
/* what an agent's tool moves stays in the directory for that */
#ifdef DROP_TRANSFER_BENEATH
#define HOLD_TRANSFER_BENEATH 0
#else
#define HOLD_TRANSFER_BENEATH 1
#endif
/* changes are written to a directory through no link that leads out of it */
#ifdef DROP_APPLY_BENEATH
#define HOLD_APPLY_BENEATH 0
#else
#define HOLD_APPLY_BENEATH 1
#endif
/* what looks like a secret is not in the record */
#ifdef DROP_RECORD_REDACT
#define HOLD_RECORD_REDACT 0
#else
#define HOLD_RECORD_REDACT 1
#endif
/* a checkpoint counts only with the signature of its chain */
#ifdef DROP_LEDGER_SIGNED
#define HOLD_LEDGER_SIGNED 0
#else
#define HOLD_LEDGER_SIGNED 1
#endif
/* and what a witness signed only with his */
#ifdef DROP_WITNESS_SIGNED
#define HOLD_WITNESS_SIGNED 0
#else
#define HOLD_WITNESS_SIGNED 1
#endif
/* a witness signs nothing but what goes on from what he signed */
#ifdef DROP_WITNESS_GOES_ON
#define HOLD_WITNESS_GOES_ON 0
#else
#define HOLD_WITNESS_GOES_ON 1
#endif
/* a receipt counts only with the signature of its chain */
#ifdef DROP_RECEIPT_SIGNED
#define HOLD_RECEIPT_SIGNED 0
#else
#define HOLD_RECEIPT_SIGNED 1
#endif
/* nobody looks into the process that has the private key */
#ifdef DROP_NOTARY_PRIVATE
#define HOLD_NOTARY_PRIVATE 0
#else
#define HOLD_NOTARY_PRIVATE 1
#endif
/* a tenant hears of its own events alone */
#ifdef DROP_EVENT_TENANT
#define HOLD_EVENT_TENANT 0
#else
#define HOLD_EVENT_TENANT 1
#endif
/* a package is what its lock says */
#ifdef DROP_PACKAGE_HASH
#define HOLD_PACKAGE_HASH 0
#else
#define HOLD_PACKAGE_HASH 1
#endif
/* what makes a package again of a layer runs nothing of that layer */
#ifdef DROP_PACKAGE_BARE
#define HOLD_PACKAGE_BARE 0
#else
#define HOLD_PACKAGE_BARE 1
#endif
/* names in a package stay below where it goes; package-names is taken out of the driver itself
 * (deps/drivers.c), the archive's names stand behind it. What looks like a typing error of another
 * package is not installed */
#ifdef DROP_PACKAGE_TYPO
#define HOLD_PACKAGE_TYPO 0
#else
#define HOLD_PACKAGE_TYPO 1
#endif
/* nor what came to the index today */
#ifdef DROP_PACKAGE_AGE
#define HOLD_PACKAGE_AGE 0
#else
#define HOLD_PACKAGE_AGE 1
#endif
/* who wrote a manifest does not say where packages come from */
#ifdef DROP_PACKAGE_INDEX
#define HOLD_PACKAGE_INDEX 0
#else
#define HOLD_PACKAGE_INDEX 1
#endif
/* an interpreter that waits with packages is for who brings just these, to import just that */
#ifdef DROP_PACKAGE_WARM
#define HOLD_PACKAGE_WARM 0
#else
#define HOLD_PACKAGE_WARM 1
#endif

#endif
