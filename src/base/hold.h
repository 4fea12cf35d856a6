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
/* a package is what its lock says */
#ifdef DROP_PACKAGE_HASH
#define HOLD_PACKAGE_HASH 0
#else
#define HOLD_PACKAGE_HASH 1
#endif

#endif
