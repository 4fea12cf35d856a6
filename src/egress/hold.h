/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protections of the way out, by name, as sandbox/hold.h has them for the sandbox: `make
 * DROP=gate-sni` builds a pinfold without one, so that the tests that attack it can be seen to
 * fail.
 */
#ifndef EGRESS_HOLD_H
#define EGRESS_HOLD_H

/* a sandbox leaves connections to the others of a gate */
#ifdef DROP_GATE_SHARE
#define HOLD_GATE_SHARE 0
#else
#define HOLD_GATE_SHARE 1
#endif
/* every connection is held against the policy */
#ifdef DROP_GATE_POLICY
#define HOLD_GATE_POLICY 0
#else
#define HOLD_GATE_POLICY 1
#endif
/* names lead to public addresses only */
#ifdef DROP_GATE_ADDRESS
#define HOLD_GATE_ADDRESS 0
#else
#define HOLD_GATE_ADDRESS 1
#endif
/* and not to the host's own */
#ifdef DROP_GATE_OWN
#define HOLD_GATE_OWN 0
#else
#define HOLD_GATE_OWN 1
#endif
/* a ClientHello names the host that is connected to */
#ifdef DROP_GATE_SNI
#define HOLD_GATE_SNI 0
#else
#define HOLD_GATE_SNI 1
#endif
/* so does a second one, that a server asks for */
#ifdef DROP_GATE_SECOND
#define HOLD_GATE_SECOND 0
#else
#define HOLD_GATE_SECOND 1
#endif
/* and hides no name */
#ifdef DROP_GATE_ECH
#define HOLD_GATE_ECH 0
#else
#define HOLD_GATE_ECH 1
#endif
/* so does the Host of a request */
#ifdef DROP_GATE_HOST
#define HOLD_GATE_HOST 0
#else
#define HOLD_GATE_HOST 1
#endif
/* each request of a connection is judged */
#ifdef DROP_GATE_EACH
#define HOLD_GATE_EACH 0
#else
#define HOLD_GATE_EACH 1
#endif
/* fields of the client's own connection go no further */
#ifdef DROP_GATE_HOP
#define HOLD_GATE_HOP 0
#else
#define HOLD_GATE_HOP 1
#endif
/* nor do fields behind a body, but for a few */
#ifdef DROP_GATE_TRAILER
#define HOLD_GATE_TRAILER 0
#else
#define HOLD_GATE_TRAILER 1
#endif
/* no path with a second reading */
#ifdef DROP_GATE_PATH
#define HOLD_GATE_PATH 0
#else
#define HOLD_GATE_PATH 1
#endif
/* nor a method in a field that is not allowed */
#ifdef DROP_GATE_OVERRIDE
#define HOLD_GATE_OVERRIDE 0
#else
#define HOLD_GATE_OVERRIDE 1
#endif
/* no name is answered that no rule names */
#ifdef DROP_GATE_NAMES
#define HOLD_GATE_NAMES 0
#else
#define HOLD_GATE_NAMES 1
#endif
/* few different names below a wildcard */
#ifdef DROP_GATE_WILD
#define HOLD_GATE_WILD 0
#else
#define HOLD_GATE_WILD 1
#endif
/* limits of bytes */
#ifdef DROP_GATE_BYTES
#define HOLD_GATE_BYTES 0
#else
#define HOLD_GATE_BYTES 1
#endif
/* certificates of servers */
#ifdef DROP_GATE_VERIFY
#define HOLD_GATE_VERIFY 0
#else
#define HOLD_GATE_VERIFY 1
#endif
/* and of those that TLS is passed through to */
#ifdef DROP_GATE_CERTIFICATE
#define HOLD_GATE_CERTIFICATE 0
#else
#define HOLD_GATE_CERTIFICATE 1
#endif
/* a server that knows us again had shown its certificate for this very name */
#ifdef DROP_GATE_RESUME
#define HOLD_GATE_RESUME 0
#else
#define HOLD_GATE_RESUME 1
#endif
/* what a server says unasked answers nobody's next request */
#ifdef DROP_GATE_SPARE
#define HOLD_GATE_SPARE 0
#else
#define HOLD_GATE_SPARE 1
#endif
/* nor does one that served with a secret serve without, or with another */
#ifdef DROP_GATE_ERRAND
#define HOLD_GATE_ERRAND 0
#else
#define HOLD_GATE_ERRAND 1
#endif
/* placeholders go nowhere else */
#ifdef DROP_GATE_STRAY
#define HOLD_GATE_STRAY 0
#else
#define HOLD_GATE_STRAY 1
#endif
/* no key of the client's own where the gate has one */
#ifdef DROP_GATE_FOREIGN
#define HOLD_GATE_FOREIGN 0
#else
#define HOLD_GATE_FOREIGN 1
#endif
/* values do not come back */
#ifdef DROP_GATE_REDACT
#define HOLD_GATE_REDACT 0
#else
#define HOLD_GATE_REDACT 1
#endif
/* what follows many refusals is on record, too */
#ifdef DROP_GATE_ROWS
#define HOLD_GATE_ROWS 0
#else
#define HOLD_GATE_ROWS 1
#endif
/* a yes is to what was asked for, and to nothing else */
#ifdef DROP_GATE_ASKED
#define HOLD_GATE_ASKED 0
#else
#define HOLD_GATE_ASKED 1
#endif
/* the gate has none: no id of anybody's, no capability */
#ifdef DROP_GATE_RIGHTS
#define HOLD_GATE_RIGHTS 0
#else
#define HOLD_GATE_RIGHTS 1
#endif
/* nor system calls that it does not need */
#ifdef DROP_GATE_FILTER
#define HOLD_GATE_FILTER 0
#else
#define HOLD_GATE_FILTER 1
#endif

#endif
