/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings that we have; accept.h says which one a client wants. */
#ifndef HTTP_CODING_H
#define HTTP_CODING_H

enum http_coding { HTTP_IDENTITY, HTTP_GZIP, HTTP_ZSTD };

#endif
