/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to a server in a sandbox, and its answer. Both are parsed whole and written anew, so
 * that neither side can make the other read something else than we did; nothing that belongs to us
 * or to the client's browser goes in, and nothing that would act on our origin comes out.
 */
#ifndef API_PROXY_H
#define API_PROXY_H

#include "api/taken.h"
#include "base/err.h"

struct proxy_target {
	const char *prefix; /* of the URL, without a slash at its end */
	const char *rest;   /* the target behind it, with its query */
	unsigned port;
	const char *websocket; /* what one is accepted with; "": none is wanted */
	const char *request_id;
};

/* Until the answer is whole or either side is gone, or `cancel` is readable. `inside` may still be
 * connecting; both descriptors stay the caller's. -errno: the client was told nothing yet. */
int proxy_run(struct taken *client, int inside, const struct proxy_target *to, int cancel,
	      struct err *e);

#endif
