/* SPDX-License-Identifier: Apache-2.0 */
/* Is this a client's own credential? By its name; of values only that of ?key= is looked at. Pure. */
#ifndef EGRESS_CREDENTIAL_H
#define EGRESS_CREDENTIAL_H

#include <stdbool.h>

#include "http/head.h"
#include "http/target.h"

/* A field of a request: Authorization, Cookie, X-Api-Key, Job-Token and the like. Signs between words
 * do not matter, since readers that make variables of fields take x_api_key for x-api-key. */
bool credential_is_field(const struct http_field *f);
/* A parameter of its query: access_token, apiKey, X-Amz-Signature and the like. */
bool credential_is_param(const struct http_param *p);

#endif
