/* SPDX-License-Identifier: Apache-2.0 */
/* What head.c asks of the other files while it reads. All refuse as http_head_parse() does. */
#ifndef HTTP_HEAD_INT_H
#define HTTP_HEAD_INT_H

#include "http/head.h"

/* target.c: which form the target has; of those with a host sets h->host and h->where. */
int target_check(struct http_head *h, struct http_error *e);
/* field.c: what the field that was just added means. */
int field_take(struct http_head *h, enum http_side side, struct http_error *e);
/* field.c: what all fields together mean. */
int field_finish(struct http_head *h, enum http_side side, struct http_error *e);

#endif
