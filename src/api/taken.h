/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is a handler's own from now on: nobody else reads it, writes it or minds its
 * time. */
#ifndef API_TAKEN_H
#define API_TAKEN_H

#include "http/body.h"
#include "http/head.h"

struct taken {
	int fd; /* does not block */
	struct http_head head;
	char *head_bytes; /* what its slices point into */
	char *in;	  /* what came behind the head */
	size_t in_len;
	struct http_body body; /* of the request; nothing of it was read */
};

void taken_done(struct taken *t);

#endif
