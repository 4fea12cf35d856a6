/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SECRET_H
#define CMD_SECRET_H

#include <stddef.h>

#include "base/err.h"
#include "egress/secret.h"

#define SECRET_READ_SIZE (SECRET_VALUE_MAX + 3) /* with the end of its line, and one too many */

/* The value, without the end of its line: from the file, from what the command prints, or (both
 * NULL) from standard input. */
int secret_read(const char *file, const char *command, char value[SECRET_READ_SIZE],
		size_t *ret_len, struct err *e);

/* --give, for the API: values by --hold-fd. */
struct request;
int secret_give(const struct request *r, struct err *e);

#endif
