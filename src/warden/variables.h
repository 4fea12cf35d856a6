/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that a sandbox was made with: for every command that comes later, whoever sends it.
 * What every command has anyway (wire/environ.h) is not kept; a command's own come before the
 * sandbox's.
 */
#ifndef WARDEN_VARIABLES_H
#define WARDEN_VARIABLES_H

#include "warden/ward_int.h"

#define VARIABLES_BYTES_MAX (128u << 10) /* of one sandbox: we hold them as long as it lives */

int variables_keep(struct ward *ward, const struct ask *ask, struct err *e);
/* Put them into a command's spec. What it points to is good until the next call. */
void variables_give(const struct ward *ward, struct sandbox_spec *spec);

#endif
