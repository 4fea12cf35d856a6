/* SPDX-License-Identifier: Apache-2.0 */
/* The two heads of proxy.c, written anew: proxy_head.c. */
#ifndef API_PROXY_INT_H
#define API_PROXY_INT_H

#include "api/proxy.h"
#include "http/write.h"

#define PROXY_HEAD_SIZE (HTTP_HEAD_MAX + 4096u)

/* How a body is framed towards the next: as it came, where a length is known. */
enum framing { FRAME_NONE, FRAME_LENGTH, FRAME_CHUNKS, FRAME_TO_END };

/* Bytes of the head in `buf`, or -errno: it does not fit. */
int proxy_request_head(char buf[PROXY_HEAD_SIZE], const struct taken *client,
		       const struct proxy_target *to, enum framing framing);
int proxy_answer_head(char buf[PROXY_HEAD_SIZE], const struct http_head *answer,
		      const struct proxy_target *to, enum framing framing);
/* 101, and what belongs to it. */
int proxy_upgrade_head(char buf[PROXY_HEAD_SIZE], const struct http_head *answer,
		       const struct proxy_target *to);
/* Is it the acceptance of what was asked for? */
bool proxy_is_accepted(const struct http_head *answer, const struct proxy_target *to);

#endif
